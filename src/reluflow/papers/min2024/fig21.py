"""Figure 21 of [MMV24]: solutions are not unique; a neuron on the boundary may leave at any time (Appendix E.4)."""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.papers.min2024.example_e4 import leaving
from reluflow.plot import look

SETTINGS = {"quick": dict(leave=[0.0, 0.7, 1.4], t1=3.0), "full": dict(leave=[0.0, 0.7, 1.4], t1=3.0)}
STATED = {"paper": ("every leaving curve",)}


def compute(*, leave, t1):
    """x = (1, 0), y = +1, w = (0, 1), v = 1: solutions that leave at the times given, and what the engine returns."""
    import xarray as xr

    t = np.linspace(0.0, t1, 121)
    curves = [np.array(leaving(t, t0)) for t0 in leave]
    data = rf.Data(np.array([[1.0, 0.0]]), np.ones(1))
    start = lambda hair: rf.Problem(
        data, rf.Params(np.array([[hair, 1.0]]), np.array([np.hypot(hair, 1.0)])), loss="exponential", reduction="sum"
    )
    rest, near = solve(start(0.0), rf.Flow(), t1=t1), solve(start(1e-9), rf.Flow(rtol=1e-10), t1=t1)
    found = {
        "w": (("leave", "time"), np.array([c[0] for c in curves])),
        "v": (("leave", "time"), np.array([c[1] for c in curves])),
        "engine": ("time", np.array([p.arrays()[0][0, 0] for p in rest.at(t)])),
        "hair": ("time", np.array([p.arrays()[0][0, 0] for p in near.at(t)])),
        "marked": int(rest.stats.non_unique),
    }
    return xr.Dataset(found, coords={"leave": list(leave), "time": t})


def facts(ds) -> list[Claim]:
    """Every curve satisfies w' = v e^{-v w} while it moves (central differences: h^2/6 times the third derivative,
    at most about 4 here); the engine takes the regular, constant one and says that it chose; from a hair outside the
    flow is the one that leaves at 0. Slack of that: 100 rtol, and the hair times its growth e."""
    h = float(ds.time[1] - ds.time[0])
    gaps = []
    for k, t0 in enumerate(ds.leave.values):
        w, v = ds.w.values[k], ds.v.values[k]
        inside = np.flatnonzero(ds.time.values > t0 + 2 * h)[:-1]
        rate = (w[inside + 1] - w[inside - 1]) / (2 * h)
        gaps.append(float(np.max(np.abs(rate - v[inside] * np.exp(-v[inside] * w[inside])))))
    apart = float(np.abs(ds.hair - ds.w.isel(leave=0)).max()) if ds.leave[0] == 0 else np.nan
    return [
        Claim(
            "every leaving curve satisfies the equation while it moves, misses by",
            max(gaps),
            "<=",
            0.0,
            slack=4 * h**2 / 6,
        ),
        Claim("the engine's solution stays: largest |w_1|", float(np.abs(ds.engine).max()), "=", 0.0),
        Claim("decisions it marks as not unique", int(ds.marked), ">=", 1),
        Claim(
            "from 1e-9 outside: distance from the curve that leaves at 0", apart, "<=", 0.0, slack=1e-8 + np.e * 1e-9
        ),
    ]


def draw(ds):
    fig = look.figure(look.COLUMN, 2.3)
    ax = fig.subplots()
    for k, colour in enumerate(look.sequence(ds.sizes["leave"] + 1)[1:]):
        ax.plot(ds.time, ds.w[k], color=colour)
        look.beside(
            ax, float(ds.time[-1]), float(ds.w[k, -1]), f"leaves at {float(ds.leave[k]):g}", colour, dx=3, fontsize=7
        )
    ax.plot(ds.time, ds.engine, color=look.PLUS, lw=2)
    look.beside(ax, float(ds.time[-1]), 0.0, "stays: regular", look.PLUS, dx=3, fontsize=7)
    ax.plot(ds.time[::8], ds.hair[::8], "o", color=look.THEORY, ms=3)
    look.corner(ax, "dots: started 1e-9 outside", "upper left", look.THEORY, size=6.5)
    ax.set(xlabel="time", ylabel="<x, w>", xlim=(0, float(ds.time[-1])), ylim=(-0.05, None))
    return fig


def caption(ds) -> str:
    return """One datum x = (1, 0) with y = +1 and a neuron on its boundary, w = (0, 1), v = 1, relu'(0) = 0: staying
    for ever is a solution, and so is leaving at any time. The engine takes the regular one, which stays dead (red), and
    marks the choice as not unique; a neuron started a hair outside follows the curve that leaves at once (dots). The
    paper's figure is a drawing; this is computed."""
