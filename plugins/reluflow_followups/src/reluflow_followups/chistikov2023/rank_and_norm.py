"""Beyond [CEL23]: rank one as the scale goes to 0, and data where the flow jumps past the network of least norm."""

from __future__ import annotations

import numpy as np

import reluflow as rf

SETTINGS = {
    "quick": dict(width=50, seeds=3, scales=11, points=13, sets=20, dims=[3, 4, 5], to=1e-3, rtol=1e-9),
    "full": dict(width=50, seeds=10, scales=21, points=25, sets=40, dims=[3, 4, 5], to=1e-5, rtol=1e-9),
}
WIDE, JUMP = (6, 9, 1), (3, 3, 1003)  # d, n, rng of the two data sets
TINY = (-20.0, -1000.0)
NEAR = (-8.0, -3.5)  # the last jump as the scale falls is looked for between these log scales


def compute(*, width, seeds, scales, points, sets, dims, to, rtol):
    import xarray as xr

    from reluflow_followups._bisect import switch
    from reluflow_followups.chistikov2023 import _inputs as of

    wide, jump = of.data(*WIDE), of.data(*JUMP)
    grid, near = np.linspace(-12.0, -2.0, scales), np.linspace(*NEAR, points)
    least = rf.bias.min_norm(jump)

    def size(log_scale, seed) -> float:
        return of.norm(of.end(jump, width, log_scale, seed, rtol)) if np.isfinite(log_scale) else np.nan

    norm = np.array([[size(s, k) for k in range(seeds)] for s in near])

    def is_teacher(log_scale, norm, k) -> bool:
        """What the start leaves beside the fit grows like the square of the scale, at both kinds of ends."""
        rest = (first[k] - 2.0) * np.exp(2 * (log_scale - NEAR[0]))
        return norm - rest > 0.5 * (2.0 + least.value)

    first, place = norm[0], []
    for k in range(seeds):
        to_teacher = [is_teacher(s, v, k) for s, v in zip(near, norm[:, k], strict=True)]
        i = max(to_teacher.index(False), 1) if not all(to_teacher) else len(near) - 1
        place.append(switch(near[i - 1], near[i], lambda s, k=k: is_teacher(s, size(s, k), k), to))
    tiny = [of.end(jump, width, s, 0, rtol) for s in TINY]
    arrays = {
        "ratio": (("scale", "seed"), [[of.ratio(of.end(wide, width, s, k, rtol)) for k in range(seeds)] for s in grid]),
        "ratio_tiny": ("tiny", [of.ratio(of.end(wide, width, s, 0, rtol)) for s in TINY]),
        "norm": (("near", "seed"), norm),
        "norm_tiny": ("tiny", [of.norm(sol) for sol in tiny]),
        "loss_tiny": ("tiny", [float(sol.loss[-1]) for sol in tiny]),
        "time_tiny": ("tiny", [float(sol.t_end) for sol in tiny]),
        "switch": ("seed", place),
        "beside": (("seed", "side"), [[size(p + s * 2 * to, k) for s in (-1, 1)] for k, p in enumerate(place)]),
        "least": least.value,
        "least_bound": least.lower,
        "minimal": (("dim", "set"), [[_gap(of.data(d, d, 1000 + k)) for k in range(sets)] for d in dims]),
    }
    coords = {"scale": grid, "near": near, "tiny": list(TINY), "seed": np.arange(seeds), "dim": dims}
    return xr.Dataset(arrays, coords=coords, attrs=dict(rtol=float(rtol), to=float(to), width=int(width)))


def _gap(data) -> float:
    """How much of the teacher's |theta|^2 = 2 the network of least norm saves."""
    return 2.0 - float(rf.bias.min_norm(data).value)


def facts(ds) -> list[rf.Claim]:
    """Rank one and |theta|^2 = 2 from small scales, a certified smaller norm, and a jump seen from both sides."""
    tol = 100 * ds.attrs["rtol"]
    small = ds.scale.values <= -6.0
    slope = np.polyfit(ds.scale.values[small], np.log(ds.ratio.values[small]).mean(axis=1), 1)[0]
    return [
        rf.Claim("s2/s1 of W at e^-20", float(ds.ratio_tiny.sel(tiny=-20.0)), "<", 1e-7),
        rf.Claim("power of the scale with which s2/s1 falls, from e^-6 down", float(slope), "=", 1.0, slack=0.1),
        rf.Claim(
            "|theta|^2 at e^-20 and e^-1000 against the teacher's 2, farthest",
            float(np.abs(ds.norm_tiny - 2).max()),
            "<=",
            1e-5,
        ),
        rf.Claim("loss there, largest", float(ds.loss_tiny.max()), "<=", tol**2),
        rf.Claim("least |theta|^2 of a network that fits, certified from above", float(ds.least), "<", 1.85631),
        rf.Claim("that certificate: value minus dual bound", float(ds.least - ds.least_bound), "<=", 1e-6),
        rf.Claim("starts whose jump was found, share", float(np.isfinite(ds.switch).mean()), "=", 1.0),
        rf.Claim(
            "|theta|^2 just below the jump minus just above, least",
            float((ds.beside[:, 0] - ds.beside[:, 1]).min()),
            ">",
            0.1,
        ),
        rf.Claim(
            "sets of three points where the teacher is not of least norm, share",
            float((ds.minimal.sel(dim=3) > 1e-6).mean()),
            ">",
            0.0,
        ),
    ]


def draw(ds):
    from reluflow.plot import look

    fig = look.figure(look.PAGE, 2.5)
    one, two, three = fig.subplots(1, 3, width_ratios=[1, 1.25, 0.8])
    one.plot(ds.scale, ds.ratio, "o", color=look.INK, ms=2.5, alpha=0.6, mew=0)
    middle = np.exp(np.log(ds.ratio.values[0]).mean() + (ds.scale.values - ds.scale.values[0]))
    one.plot(ds.scale, middle, color=look.THEORY, lw=1.0)
    at = int(np.argmin(np.abs(ds.scale.values + 8)))
    look.beside(one, ds.scale.values[at], middle[at], "proportional\nto the scale", look.THEORY, dx=8, dy=-8)
    one.set(yscale="log", xlabel="log scale", ylabel="$s_2 / s_1$ of W")
    look.letter(one, "a", "rank one")
    colours = (look.INK, look.PLUS, look.MINUS, *look.LINES)
    for k in ds.seed.values:
        shown = k < 3
        order = np.argsort([*ds.near.values, ds.switch[k] - 1e-6, ds.switch[k] + 1e-6])
        x = np.array([*ds.near.values, ds.switch[k] - 1e-6, ds.switch[k] + 1e-6])[order]
        y = np.array([*ds.norm[:, k].values, *ds.beside[k].values])[order]
        two.plot(x, y, color=colours[k] if shown else look.FAINT, lw=1.0 if shown else 0.5)
    two.axhline(2, color=look.FAINT, lw=0.8, ls=":")
    two.axhline(float(ds.least), color=look.THEORY, lw=1.2)
    look.beside(two, NEAR[0], 2, "teacher", look.FAINT, dx=2, dy=6)
    look.beside(two, NEAR[0], float(ds.least), "least norm", look.THEORY, dx=2, dy=-7)
    two.set(xlabel="log scale", ylabel="|θ|² at the end", ylim=(1.82, 2.12), xlim=NEAR)
    look.letter(two, "b", "the flow jumps")
    share = [float((ds.minimal.sel(dim=d) > 1e-6).mean()) for d in ds.dim.values]
    three.bar([str(d) for d in ds.dim.values], share, color=look.MINUS, width=0.6)
    three.set(xlabel="points = dimension", ylabel="share of data sets", ylim=(0, 1.25 * max(share)))
    look.letter(three, "c", "teacher not least")
    return fig


def caption(ds) -> str:
    d, n, _ = WIDE
    return f"""One teacher neuron, inputs within 45 degrees of it. a: {n} inputs in {d} dimensions,
    {ds.attrs["width"]} neurons: the second singular value of W falls in proportion to the scale (amber), so that the
    limit is one neuron. b: three inputs where one neuron, |theta|^2 = 2, is not the network of least norm,
    {float(ds.least):.6f} (amber, certified): as the scale falls the flow follows the least norm closely and then
    jumps to rank one, at e^{float(ds.switch[0]):.4f} from the first start and elsewhere from others (bisection to
    {ds.attrs["to"]:g}). At e^-1000 the run converges at t = {float(ds.time_tiny[-1]):.1e} with |theta|^2 - 2 =
    {float(ds.norm_tiny[-1] - 2):.0e}. c: among random data as many points as dimensions, how often the teacher is
    not of least norm."""
