"""Beyond [FVB+23]: the limit has rank two from every scale, and only the time to see it depends on the scale."""

from __future__ import annotations

import numpy as np

import reluflow as rf

SETTINGS = {
    "quick": dict(
        scales=[-20.0, -6.0, -2.0, 0.0, 2.0], dim=600, out_scales=[-20.0, -2.0, 1.0, 3.0], log_t1=1e5, rtol=1e-8
    ),
    "full": dict(
        scales=[-300.0, -20.0, -6.0, -4.0, -2.0, 0.0, 2.0, 4.0],
        dim=600,
        out_scales=[-20.0, -2.0, 1.0, 3.0],
        log_t1=1e6,
        rtol=1e-9,
    ),
}
SMALL = -20.0
OUTSIDE_SLOPE = 0.2


def compute(*, scales, dim, out_scales, log_t1, rtol):
    import xarray as xr

    from reluflow_followups.frei2023 import _orthogonal as of

    data, g = of.inside()
    log_t = np.geomspace(2.0, log_t1, 60)
    out, g_out = of.outside(d=dim)
    within = [_path(of.problem(data, g, s, of.SLOPE), log_t, rtol) for s in scales]
    without = [_path(of.problem(out, g_out, s, OUTSIDE_SLOPE), log_t, rtol) for s in out_scales]
    names = within[0].keys()
    arrays: dict = {k: (("scale", "log_t"), [r[k] for r in within]) for k in names}
    arrays |= {f"out_{k}": (("out_scale", "log_t"), [r[k] for r in without]) for k in names}
    arrays |= {
        "condition": of.condition(data, of.SLOPE),
        "out_condition": of.condition(out, OUTSIDE_SLOPE),
    }
    coords = {"scale": scales, "log_t": log_t, "out_scale": out_scales}
    return xr.Dataset(arrays, coords=coords, attrs=dict(rtol=float(rtol), log_t1=float(log_t1), dim=int(dim)))


def _path(problem, log_t, rtol) -> dict[str, list]:
    """Along a run: s3/s1, stable rank, spread of the margins, cosine and margin of the boundary over the best ones."""
    from reluflow_followups._margin import hard_margin
    from reluflow_followups.frei2023 import _orthogonal as of

    sol = rf.papers.solve(problem, rf.Flow(rtol=rtol), log_t1=float(log_t[-1]))
    data, slope, a = problem.data, problem.activation.slope, problem.init.a
    best = hard_margin(data)
    widest = float(np.min(data.y * (data.x @ best)))
    moments = sol.moments(log_t=log_t)
    rows: dict[str, list] = {k: [] for k in ("ratio", "stable", "spread", "cosine", "margin", "apart")}
    for log_w, w, f in zip(moments.log_scale, moments.w, moments.outputs, strict=True):
        w = np.exp(log_w - np.max(log_w))[:, None] * w
        s, z, m = of.spectrum(w), of.boundary(w, a, slope), data.y * f
        apart = [np.linalg.norm(w[a == v] - w[a == v].mean(axis=0), axis=1).max() for v in np.unique(a)]
        rows["ratio"].append(s[2] / s[0])
        rows["stable"].append(np.sum(s**2) / s[0] ** 2)
        rows["spread"].append(m.max() / m.min() - 1)
        rows["cosine"].append(z @ best / np.linalg.norm(z))
        rows["margin"].append(np.min(data.y * (data.x @ z)) / np.linalg.norm(z) / widest)
        rows["apart"].append(max(apart) / np.sqrt(np.mean(np.sum(w**2, axis=1))))
    return rows


def facts(ds) -> list[rf.Claim]:
    """Rank two at small scale at once, at every scale in the end like 1/log t; nearly the best linear boundary.

    Inside the condition 1 - margin ratio is positive: the boundary is not exactly that of the hard margin.
    """
    last, small = ds.isel(log_t=-1), ds.sel(scale=SMALL)
    late = ds.where(ds.log_t >= 0.2 * ds.log_t[-1], drop=True)
    scaled = (late.ratio * late.log_t).where(late.scale >= -6.0)
    drift = float((scaled.max("log_t") / scaled.min("log_t") - 1).max())
    limit = float(last.stable.sel(scale=SMALL))
    moved = float(np.abs(last.stable - limit).max())
    return [
        rf.Claim("near orthogonality over what the condition asks", float(ds.condition), ">=", 1.0),
        rf.Claim(
            "s3/s1 at small scale from log t = 10 on, largest",
            float(small.ratio.where(ds.log_t >= 10).max()),
            "<",
            1e-8,
        ),
        rf.Claim("neurons of one sign apart at small scale, at the end, relative", float(small.apart[-1]), "<", 1e-8),
        rf.Claim("margin of the boundary over the hard margin, at the end, least", float(last.margin.min()), ">", 0.99),
        rf.Claim(
            "margin of the boundary over the hard margin, at the end, largest", float(last.margin.max()), "<", 1.0
        ),
        rf.Claim("(s3/s1) log t late, largest over least minus 1, scales from e^-6 up", drift, "<=", 0.1),
        rf.Claim(
            "stable rank at the end, scales against each other, times log t", moved * float(ds.log_t[-1]), "<=", 10.0
        ),
        rf.Claim(
            "spread of the margins at the end, small scale, times log t",
            float(small.spread[-1] * ds.log_t[-1]),
            "<=",
            0.1,
        ),
        rf.Claim("outside the condition (ratio asked)", float(ds.out_condition), "<", 1.0),
        rf.Claim(
            "there: stable rank from all scales, largest over least minus 1",
            float(last.out_stable.max() / last.out_stable.min() - 1),
            "<=",
            0.02,
        ),
    ]


def draw(ds):
    from reluflow.plot import look

    fig = look.figure(look.PAGE, 2.5)
    one, two, three = fig.subplots(1, 3)
    colours = look.sequence(ds.sizes["scale"] + 1)[1:][::-1]
    x = ds.log_t.values
    for k, colour in enumerate(colours):
        one.plot(x, ds.ratio[k], color=colour)
        two.plot(x, ds.stable[k], color=colour)
        look.beside(one, x[-1], float(ds.ratio[k, -1]), f"$e^{{{float(ds.scale[k]):g}}}$", colour, dx=3, fontsize=6.5)
    middle = len(x) // 3
    top = float(ds.ratio[-1, -1]) * x[-1]
    one.plot(x[middle:], 3 * top / x[middle:], color=look.THEORY, lw=0.9, ls="--")
    look.beside(one, x[middle + 18], 3 * top / x[middle + 18], "1 / log t", look.THEORY, dx=4, dy=7)
    one.set(yscale="log", ylabel="$s_3 / s_1$ of W")
    look.letter(one, "a", "rank two")
    two.set(ylabel="stable rank", ylim=(1.0, 1.6))
    two.axhline(float(ds.stable[0, -1]), color=look.THEORY, lw=0.8, ls="--")
    look.letter(two, "b", "one limit")
    shades = look.sequence(ds.sizes["out_scale"] + 1)[1:][::-1]
    for k, colour in enumerate(shades):
        three.plot(x, ds.out_stable[k], color=colour)
        level = 2 + 3 * k  # labels at different heights of the curves
        at = min(int(np.argmin(np.abs(ds.out_stable[k].values - level))), len(x) - 20)
        look.beside(
            three, x[at], float(ds.out_stable[k, at]), f"$e^{{{float(ds.out_scale[k]):g}}}$", colour, dx=4, dy=5
        )
    three.set(ylabel="stable rank")
    look.letter(three, "c", "outside the condition")
    for ax in (one, two, three):
        ax.set(xscale="log", xlabel="log t")
    return fig


def caption(ds) -> str:
    last = ds.isel(log_t=-1)
    return f"""Leaky ReLU, first layer trained, nearly orthogonal data. a: the third singular value of W over the
    first, from scales e^{float(ds.scale[0]):g} to e^{float(ds.scale[-1]):g}. From small scale rank two is there at
    once; from scale 1 and above it is reached too, like 1/log t: at t = e^{float(ds.log_t[-1]):g} the ratio from
    scale 1 is {float(last.ratio.sel(scale=0.0)):.1e}. b: the stable rank goes to one limit,
    {float(last.stable.sel(scale=SMALL)):.5f} (dashed), from every scale. The boundary has
    {float(last.margin.sel(scale=SMALL)):.4f} of the hard margin. c: normal data in {ds.attrs["dim"]} dimensions,
    which meet {float(ds.out_condition):.4f} of the condition: again one limit for all scales,
    {float(last.out_stable[0]):.3f}, with {float(last.out_margin[0]):.3f} of the hard margin. Small scale is not what
    makes the rank low; it is what makes it low soon."""
