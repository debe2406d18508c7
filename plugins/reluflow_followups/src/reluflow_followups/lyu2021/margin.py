"""Beyond [LLWA21]: convergence to the max-margin linear classifier, followed to t = e^690, with its rate 1/log t."""

from __future__ import annotations

import numpy as np

import reluflow as rf

SETTINGS = {
    "quick": dict(width=30, scales=[-30.0, 0.0], log_t1=690.0, rtol=1e-8),
    "full": dict(width=200, scales=[-1000.0, -30.0, 0.0], log_t1=100_000.0, rtol=1e-9),
}
RUNS = "mirrored from each scale, then the half without its mirror image from the first"


def compute(*, width, scales, log_t1, rtol):
    import xarray as xr

    from reluflow_followups._margin import hard_margin
    from reluflow_followups.lyu2021 import _symmetric as of

    half = of.half()
    both = of.mirrored(half)
    runs = [(both, s) for s in scales] + [(half, scales[0])]
    log_t = np.geomspace(3.0, log_t1, 100)
    b = hard_margin(both)
    rows: dict[str, list] = {name: [] for name in ("away", "share", "margin", "largest", "bound", "linear")}
    for data, log_scale in runs:
        init = rf.init.balanced(width, data.d, log_scale=log_scale, seed=0)
        problem = rf.Problem(data, init, loss="logistic", activation=rf.LeakyReLU(of.SLOPE))
        sol = rf.papers.solve(problem, rf.Flow(rtol=rtol), log_t1=log_t1)
        moments = sol.moments(log_t=log_t)
        best = rf.bias.max_margin(data, activation=problem.activation)
        away, share, linear = [], [], []
        for log_w, w, a in zip(moments.log_scale, moments.w, moments.a, strict=True):
            scaled = np.exp(log_w - np.max(log_w))
            w, a = scaled[:, None] * w, scaled * a
            part, other = of.linear_part(w, a, of.SLOPE), of.rest(w, a, data.x, of.SLOPE)
            away.append(_turn(part, b))
            share.append(np.sqrt(np.mean(other**2) / np.mean((data.x @ part + other) ** 2)))
            linear.append(np.min(data.y * (data.x @ part)) / np.linalg.norm(part))
        rows["away"].append(away)
        rows["share"].append(share)
        rows["linear"].append(linear)
        rows["margin"].append(rf.observe.normalised_margin(sol, log_t=log_t).values)
        rows["largest"].append(best.margin)
        rows["bound"].append(best.margin_bound)
    arrays: dict = {name: (("run", "log_t"), rows[name]) for name in ("away", "share", "margin", "linear")}
    arrays |= {name: ("run", rows[name]) for name in ("largest", "bound")}
    arrays["hard"] = float(np.min(both.y * (both.x @ b)))
    coords = {"log_t": log_t, "log_scale": ("run", [*scales, scales[0]]), "mirror": ("run", [1] * len(scales) + [0])}
    return xr.Dataset(arrays, coords=coords, attrs=dict(rtol=float(rtol), width=int(width), slope=of.SLOPE))


def _turn(u, v) -> float:
    """1 - cos between two vectors, without cancellation."""
    return 0.5 * float(np.sum((u / np.linalg.norm(u) - v / np.linalg.norm(v)) ** 2))


def facts(ds) -> list[rf.Claim]:
    """The small start on symmetric data: linear, max-margin, at the rate 1/log t; margins below certified maxima.

    Weights are right to 100 rtol, the margin, a ratio of their squares, to four times that.
    """
    tol = 400 * ds.attrs["rtol"]
    first = ds.isel(run=0)
    late, fitted = (first.where(first.log_t >= at, drop=True) for at in (20, 10))
    rate = (late.away * late.log_t).values
    over = (ds.margin - ds.bound).max()
    factor = (1 + ds.attrs["slope"]) / 4  # 2 margin = (1 + slope)/2 of the hard margin for a linear network
    return [
        rf.Claim("normalised margin above the certified largest, most", float(over), "<=", 0.0, slack=tol),
        rf.Claim(
            "largest margin over that of the linear network, symmetric data",
            float(first.largest / (factor * ds.hard)),
            "=",
            1.0,
            slack=1e-6,
        ),
        rf.Claim(
            "growth of the margin between two moments from log t = 10 on, least",
            float(fitted.margin.diff("log_t").min()),
            ">=",
            0.0,
            slack=tol,
        ),
        rf.Claim("(1 - cos) log t from log t = 20 on, least", float(rate.min()), ">=", 0.03),
        rf.Claim("(1 - cos) log t from log t = 20 on, largest", float(rate.max()), "<=", 0.06),
        rf.Claim(
            "growth of the non-linear share between two moments from log t = 10 on, largest",
            float(fitted.share.diff("log_t").max()),
            "<",
            0.0,
        ),
        rf.Claim("non-linear share at the end", float(first.share[-1]), "<", 3e-4),
        rf.Claim("non-linear share at the end without the mirror image", float(ds.share.isel(run=-1)[-1]), ">", 0.05),
        rf.Claim(
            "largest margin without it, over that of the linear network",
            float(ds.largest[-1] / first.largest),
            ">",
            1.01,
        ),
    ]


def draw(ds):
    from reluflow.plot import look

    fig = look.figure(look.PAGE, 2.5)
    one, two, three = fig.subplots(1, 3)
    colours = [look.INK, look.PLUS, look.PURPLE][-(ds.sizes["run"] - 1) :] + [look.MINUS]
    if ds.sizes["run"] == 3:
        colours = [look.INK, look.PLUS, look.MINUS]
    x = ds.log_t.values
    for k, colour in enumerate(colours):
        run = ds.isel(run=k)
        if int(run.mirror):
            one.plot(x, run.away, color=colour)
        two.plot(x, 1 - run.margin / run.largest, color=colour)
        three.plot(x, run.share, color=colour)
    one.plot(x, float(ds.away[0, -1]) * x[-1] / x, color=look.THEORY, lw=0.9, ls="--")
    look.beside(one, x[45], float(ds.away[0, -1]) * x[-1] / x[45], "1 / log t", look.THEORY, dx=6, dy=9)
    names = [f"from $e^{{{float(s):g}}}$" for s in ds.log_scale.values[:-1]] + ["not mirrored"]
    for k, (name, colour) in enumerate(zip(names, colours, strict=True)):
        look.corner(three, name + "\n" * (len(names) - 1 - k), "lower left", colour)
    one.set(ylabel="1 - cos to the hard margin")
    two.set(ylabel="1 - margin / largest")
    three.set(ylabel="non-linear share of f")
    for ax, name, title in ((one, "a", "direction"), (two, "b", "margin"), (three, "c", "is it linear?")):
        ax.set(xscale="log", yscale="log", xlabel="log t")
        look.letter(ax, name, title)
    return fig


def caption(ds) -> str:
    first = ds.isel(run=0)
    return f"""Leaky ReLU (slope {ds.attrs["slope"]:g}), logistic loss, twelve points symmetric under (x, y) -> (-x,
    -y). a: from small scale (black) the direction of the network's linear part approaches that of the hard-margin
    linear classifier like 1/log t (dashed), here followed to t = e^{float(ds.log_t[-1]):g}. b: the normalised margin
    approaches its certified maximum, {float(first.largest):.6f}, which on symmetric data a linear network attains.
    c: the share of f that is not linear. A start at scale 1 (red) goes to the same limit, but is not linear yet at t
    = e^{float(ds.log_t[-1]):g}. Without the mirrored half (blue) the limit is a network that is not linear, with a
    larger margin ({float(ds.largest[-1]):.6f})."""
