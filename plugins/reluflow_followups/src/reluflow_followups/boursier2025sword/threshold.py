"""Beyond [BF25a]: the scale at which the three points are fitted again, by bisection, for every width and start."""

from __future__ import annotations

import numpy as np

import reluflow as rf

SETTINGS = {
    "quick": dict(
        widths=[20, 50, 100, 200], seeds=6, shown=50, scales=[-1000.0, -20.0, -5.0, -3.0], to=1e-3, rtol=1e-8
    ),
    "full": dict(
        widths=[20, 50, 100, 200, 500, 1000],
        seeds=20,
        shown=50,
        scales=[-100000.0, -1000.0, -20.0, -5.0, -4.0, -3.0],
        to=1e-4,
        rtol=1e-8,
    ),
}
RANGE = (-4.0, 1.5)  # log scale: spurious below; fitted above, if a neuron bends f upwards
NEAR = np.linspace(-3.5, 0.5, 17)  # scales of the ends shown


def compute(*, widths, seeds, shown, scales, to, rtol):
    import xarray as xr

    from reluflow_followups._bisect import switch
    from reluflow_followups.boursier2025sword import _points

    _, level = _points.least_squares(_points.data())

    unfinished = 0

    def end(width, log_scale, seed) -> float:
        nonlocal unfinished
        sol = rf.papers.solve(_points.problem(width, log_scale, seed), rf.Flow(rtol=rtol))
        unfinished += sol.outcome is not rf.Outcome.STATIONARY
        return float(sol.loss[-1])

    place = [[switch(*RANGE, lambda s, m=m, k=k: end(m, s, k) > level / 2, to) for k in range(seeds)] for m in widths]
    bends = [[_points.bends_upwards(_points.problem(m, 0.0, k)) for k in range(seeds)] for m in widths]
    arrays = {
        "switch": (("width", "seed"), place),
        "top": (("width", "seed"), [[end(m, RANGE[1], k) for k in range(seeds)] for m in widths]),
        "bends": (("width", "seed"), np.array(bends, float)),
        "tiny": (("scale", "seed"), [[end(shown, s, k) for k in range(seeds)] for s in scales]),
        "near": (("log_scale", "seed"), [[end(shown, s, k) for k in range(seeds)] for s in NEAR]),
        "level": level,
        "unfinished": unfinished,
    }
    coords = {"width": widths, "seed": np.arange(seeds), "scale": scales, "log_scale": NEAR}
    return xr.Dataset(arrays, coords=coords, attrs=dict(rtol=float(rtol), to=float(to), shown=int(shown)))


def facts(ds) -> list[rf.Claim]:
    """Only two ends occur; small scales are spurious for every start; a start switches, once on the grid shown, unless
    no neuron of it bends f upwards on the points (`_points.bends_upwards`): then it ends at the line from every scale.
    A start of m neurons has none with probability (1 - p)^m, p = (arctan 3/4 + arctan 1/8)/(2 pi): 7% at m = 20."""
    tol = 100 * ds.attrs["rtol"] * 1.1
    ends = np.concatenate([ds[name].values.ravel() for name in ("tiny", "near", "top")])
    level = float(ds.level)
    apart = np.minimum(np.abs(ends), np.abs(ends - level))
    spurious = ds.near.values > level / 2
    middle = ds.switch.sel(width=ds.attrs["shown"]).values
    agree = np.mean(spurious == (ds.log_scale.values[:, None] < middle))
    return [
        rf.Claim("end losses other than 0 and the line's, farthest", float(np.max(apart)), "<=", tol),
        rf.Claim(
            "loss over the line's from every start at e^-4 and below, least", _least_small(ds), "=", 1.0, slack=tol
        ),
        rf.Claim("runs that did not converge", int(ds.unfinished), "=", 0),
        rf.Claim(
            "starts with a neuron that bends f upwards whose switch was found, share",
            float(np.isfinite(ds.switch).where(ds.bends > 0).mean()),
            "=",
            1.0,
        ),
        rf.Claim(
            "starts that end at the line at the largest scale just where no neuron bends f upwards, share",
            float(((ds.top > level / 2) == (ds.bends == 0)).mean()),
            "=",
            1.0,
        ),
        rf.Claim("ends on a grid of scales that agree with one switch a start, share", float(agree), "=", 1.0),
        rf.Claim(
            "spread of the switch over starts at the largest width over that at the smallest",
            float(ds.switch[-1].std() / ds.switch[0].std()),
            "<",
            1.0,
        ),
    ]


def _least_small(ds) -> float:
    return float((ds.tiny.where(ds.scale <= -4.0, drop=True) / ds.level).min())


def draw(ds):
    from reluflow.plot import look

    fig = look.figure(look.PAGE, 2.5)
    one, two = fig.subplots(1, 2, width_ratios=[1, 1.15])
    for k, colour in zip(ds.seed.values, look.sequence(ds.sizes["seed"]), strict=True):
        place, top = float(ds.switch.sel(width=ds.attrs["shown"], seed=k)), float(ds.level)
        one.plot([NEAR[0], place, place, NEAR[-1]], [top, top, 0, 0], lw=0.8, color=colour)
        one.plot(ds.log_scale, ds.near.sel(seed=k), "o", ms=2.5, color=colour)
    one.axhline(float(ds.level), color=look.THEORY, lw=1.2)
    look.beside(one, 0.5, float(ds.level), "least-squares line", look.THEORY, dx=0, dy=6, ha="right")
    one.set(xlabel="log scale", ylabel="loss at the end", ylim=(-0.004, 0.1))
    look.letter(one, "a", f"{ds.sizes['seed']} starts of {ds.attrs['shown']} neurons")
    for m in ds.width.values:
        two.plot(np.full(ds.sizes["seed"], m), ds.switch.sel(width=m), "o", color=look.INK, ms=3, alpha=0.6, mew=0)
    two.plot(ds.width, ds.switch.median("seed"), color=look.PLUS, lw=1.0)
    look.beside(two, ds.width.values[0], float(ds.switch[0].median()), "median", look.PLUS, dx=8, dy=4)
    two.set(xscale="log", xlabel="width", ylabel="log scale of the switch")
    two.set_xticks(ds.width.values, [f"{m}" for m in ds.width.values])
    two.minorticks_off()
    look.corner(two, "above: fitted", "upper right", look.FAINT)
    look.corner(two, "below: the line, for ever", "lower right", look.FAINT)
    look.letter(two, "b", f"switch by bisection to {ds.attrs['to']:g}")
    return fig


def caption(ds) -> str:
    last = ds.switch.isel(width=-1)
    return f"""Where the failure of small scales ends. a: loss at the end of the flow, which is either 0 or that of
    the least-squares line ({float(ds.level):.6f}), nothing between. b: for each start the scale of the switch, found
    by bisection to {ds.attrs["to"]:g} in the logarithm: what takes
    {1 + int(np.ceil(np.log2((RANGE[1] - RANGE[0]) / ds.attrs["to"])))} converged runs for a dot. It differs between
    starts at small width and concentrates as the network grows, near e^{float(last.median()):.2f} =
    {float(np.exp(last.median())):.3f} for {int(last.width)} neurons: over-parameterisation does not remove the
    failure.{_without(ds)}"""


def _without(ds) -> str:
    none = int((ds.bends == 0).sum())
    starts = f"{none} start{'s' if none > 1 else ''} of {ds.bends.size}"
    return (
        f""" {starts} (not shown) ha{"ve" if none > 1 else "s"} no neuron with a > 0 that is active on some points
    only, cannot bend f upwards, and end{"" if none > 1 else "s"} at the line from every scale."""
        if none
        else ""
    )
