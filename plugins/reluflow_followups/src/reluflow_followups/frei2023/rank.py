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
SMALL, LARGE = -20.0, -6.0
LATE = 20.0  # log t from which on 1/t is nothing beside rtol
OUTSIDE_SLOPE = 0.2


def compute(*, scales, dim, out_scales, log_t1, rtol):
    import xarray as xr

    from reluflow_followups.frei2023 import _late
    from reluflow_followups.frei2023 import _orthogonal as of

    data, g = of.inside()
    log_t = np.geomspace(2.0, log_t1, 60)
    out, g_out = of.outside(d=dim)
    inside = [of.problem(data, g, s, of.SLOPE) for s in scales]
    within = [_path(problem, log_t, rtol) for problem in inside]
    without = [_path(of.problem(out, g_out, s, OUTSIDE_SLOPE), log_t, rtol) for s in out_scales]
    expected = [_expected(problem, log_t) for problem in inside]
    arrays: dict = {k: (("scale", "log_t"), [r[k] for r in within]) for k in within[0]}
    arrays |= {k: (("scale", "log_t"), [r[k] for r in expected]) for k in expected[0]}
    arrays |= {f"out_{k}": (("out_scale", "log_t"), [r[k] for r in without]) for k in without[0]}
    arrays |= {
        "limit": _stable(of.spectrum(_late.limit(inside[0]))),
        "condition": of.condition(data, of.SLOPE),
        "coherence": of.SLOPE**2 / (5 * of.condition(data, of.SLOPE)),
        "out_condition": of.condition(out, OUTSIDE_SLOPE),
    }
    coords = {"scale": scales, "log_t": log_t, "out_scale": out_scales}
    return xr.Dataset(arrays, coords=coords, attrs=dict(rtol=float(rtol), log_t1=float(log_t1), dim=int(dim)))


def _stable(s) -> float:
    return float(np.sum(s**2) / s[0] ** 2)


def _expected(problem, log_t) -> dict[str, list]:
    """The closed form of `_late` at the same moments, and from when on it is one."""
    from reluflow_followups.frei2023 import _late
    from reluflow_followups.frei2023 import _orthogonal as of

    found = _late.late(problem, log_t)
    s = [of.spectrum(w) for w in found.w]
    return {
        "closed_ratio": [v[2] / v[0] for v in s],
        "closed_stable": [_stable(v) for v in s],
        "closed_spread": list(found.margins.max(axis=1) / found.margins.min(axis=1) - 1),
        "settled": [float(v) for v in found.settled],
    }


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
        rows["stable"].append(_stable(s))
        rows["spread"].append(m.max() / m.min() - 1)
        rows["cosine"].append(z @ best / np.linalg.norm(z))
        rows["margin"].append(np.min(data.y * (data.x @ z)) / np.linalg.norm(z) / widest)
        rows["apart"].append(max(apart) / np.sqrt(np.mean(np.sum(w**2, axis=1))))
    return rows


def facts(ds) -> list[rf.Claim]:
    """Rank two at small scale at once, at every scale in the end as B / log t with a B that the start fixes.

    What the closed form of `_late` leaves out is of the order of n max |<x_i, x_k>| / |x_i|^2, relative to B. Outputs
    and weights of a run are right to 100 rtol. Inside the condition 1 - margin ratio is positive: the boundary is not
    exactly that of the hard margin.
    """
    last, small = ds.isel(log_t=-1), ds.sel(scale=SMALL)
    start, open_, right = float(np.exp(SMALL)), float(ds.coherence), 100 * ds.attrs["rtol"]
    large = ds.where(ds.scale >= LARGE, drop=True)
    settled, late = large.where((large.settled == 1) & (large.log_t >= LATE)), ds.log_t >= LATE
    ratio = np.abs(settled.ratio / settled.closed_ratio - 1)
    away = np.abs(large.closed_stable[:, -1] - ds.limit) * ds.log_t[-1]
    stable = np.abs(settled.stable - settled.closed_stable) * ds.log_t / away
    apart = np.abs(last.stable - small.stable[-1]).where(ds.scale >= LARGE) / np.exp(ds.scale)
    return [
        rf.Claim("near orthogonality over what the condition asks", float(ds.condition), ">=", 1.0),
        rf.Claim(
            "s3/s1 at small scale from log t = 20 on, largest, against the size of the start",
            float(small.ratio.where(late).max()),
            "<",
            start,
        ),
        rf.Claim(
            "neurons of one sign apart at small scale, at the end, relative, against the size of the start",
            float(small.apart[-1]),
            "<",
            start,
        ),
        rf.Claim("margin of the boundary over the hard margin, at the end, least", float(last.margin.min()), ">", 0.99),
        rf.Claim(
            "margin of the boundary over the hard margin, at the end, largest", float(last.margin.max()), "<", 1.0
        ),
        rf.Claim(
            "s3/s1 against its closed form once patterns have settled, scales from e^-6 up, relative",
            float(ratio.max()),
            "<=",
            open_,
        ),
        rf.Claim(
            "stable rank against its closed form there, times log t, over the same of the limit at the end",
            float(stable.max()),
            "<=",
            open_,
        ),
        rf.Claim(
            "distance of the stable rank from small scale's at the end, over the scale, largest over least minus 1",
            float(apart.max() / apart.min() - 1),
            "<=",
            open_,
        ),
        rf.Claim(
            "stable rank at small scale against its closed form from log t = 20 on",
            float(np.abs(small.stable - small.closed_stable).where(late).max()),
            "<=",
            right,
        ),
        rf.Claim(
            "spread of the margins against its closed form from log t = 20 on, small scale",
            float(np.abs(small.spread - small.closed_spread).where(late).max()),
            "<=",
            right,
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
    settled = ds.where(ds.settled == 1)
    for k, colour in enumerate(colours):
        away = np.abs(ds.stable[k] - ds.limit)
        one.plot(x, ds.ratio[k], color=colour)
        two.plot(x, away, color=colour)
        if ds.scale[k] >= LARGE or ds.scale[k] == SMALL:
            one.plot(x, settled.closed_ratio[k], color=look.THEORY, lw=0.9, ls="--")
            two.plot(x, np.abs(settled.closed_stable[k] - ds.limit), color=look.THEORY, lw=0.9, ls="--")
        for ax, end in ((one, ds.ratio[k, -1]), (two, away[-1])):
            if ax is one or ds.scale[k] >= LARGE:
                look.beside(ax, x[-1], float(end), f"$e^{{{float(ds.scale[k]):g}}}$", colour, dx=3, fontsize=6.5)
    one.set(yscale="log", ylabel="$s_3 / s_1$ of W")
    look.beside(one, 60.0, 3e-9, "closed form", look.THEORY)
    look.letter(one, "a", "rank two")
    small = float(np.abs(ds.stable.sel(scale=SMALL)[-1] - ds.limit))
    look.beside(two, x[-1], small, "small", colours[0], dx=3, fontsize=6.5)
    two.set(yscale="log", ylabel="stable rank, from its limit")
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
    apart = float(np.abs(last.stable.sel(scale=0.0) - last.stable.sel(scale=SMALL)) * ds.log_t[-1])
    return f"""Leaky ReLU, first layer trained, nearly orthogonal data. a: the third singular value of W over the
    first, from scales e^{float(ds.scale[0]):g} to e^{float(ds.scale[-1]):g}. From small scale rank two is there at
    once; from scale 1 and above it is reached too, like 1/log t: at t = e^{float(ds.log_t[-1]):,.0f} the ratio from
    scale 1 is {float(last.ratio.sel(scale=0.0)):.1e}. b: the stable rank goes to one limit,
    {float(ds.limit):.5f}, from every scale e^s, in the end as {apart:.2g} e^s / log t. Dashed: closed form, from the
    moment on at which it has every pattern settled (W = V log t + B, with V from the data alone and B from the start).
    The boundary has {float(last.margin.sel(scale=SMALL)):.4f} of the hard margin. c: normal data in {ds.attrs["dim"]}
    dimensions, which meet {float(ds.out_condition):.4f} of the condition: again one limit for all scales,
    {float(last.out_stable[0]):.3f}, with {float(last.out_margin[0]):.3f} of the hard margin. Small scale is not what
    makes the rank low; it is what makes it low soon."""
