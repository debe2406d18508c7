r"""With weight decay the flow ends at the global optimum from large starts and at spurious points from small ones.

Over networks of any width L + (decay/2) |theta|^2 has one optimal function, found by a cone programme with a
certificate. A stationary point is optimal if and only if r = max_{|w| = 1} |sum_i g_i relu(<w, x_i>)| / decay <= 1, g =
-dL/df. Runs on a grid of scales and decays end at both kinds; r > 1 comes with the neuron that would lower the
objective."""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.plot import look

SETTINGS = {
    "quick": dict(width=60, scales=[0.0, -1.0, -2.0, -5.0], decays=[1e-3, 1e-2, 3e-2, 1e-1], rtol=1e-8),
    "full": dict(
        width=60, scales=np.linspace(1.0, -8.0, 28).tolist(), decays=np.geomspace(5e-4, 1.0, 28).tolist(), rtol=1e-8
    ),
}
# Of regularised.md: optimum, and objective over optimum at log scale -5, by data and decay.
KNOWN = {
    ("three", 1e-2): (0.0503377674, 1.86564),
    ("three", 1e-3): (0.0057357767, 15.3714),
    ("five", 1e-3): (0.0078501585, 1.04924),
}
LARGEST = {"three": 0.7149689193, "five": 0.1640121947}
SPAN = (-2.2, 2.2)


def compute(*, width, scales, decays, rtol):
    import xarray as xr

    data = {
        "three": rf.Data(np.array([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]]), np.array([1.1, 0.1, 0.8])),
        "five": rf.data.five_points(),
    }
    shape = (len(data), len(scales), len(decays))
    ratio, dual, still, improved = (np.full(shape, np.nan) for _ in range(4))
    optimum, gap = (np.full((len(data), len(decays)), np.nan) for _ in range(2))
    x = np.linspace(*SPAN, 441)
    rows = np.stack([x, np.ones_like(x)], axis=1)
    functions = np.zeros((2, len(x)))
    for d, (name, points) in enumerate(data.items()):
        for k, decay in enumerate(decays):
            best = rf.bias.min_norm(points, decay=decay)
            optimum[d, k], gap[d, k] = best.value, best.gap
            for s, scale in enumerate(scales):
                start = rf.init.balanced(width, 2, scale - np.log(width) / 2, seed=0)
                sol = solve(rf.Problem(points, start, decay=decay), rf.Flow(rtol=rtol), t1=60.0 / decay)
                found = rf.bias.optimal(sol)
                ratio[d, s, k], dual[d, s, k] = found.objective / best.value, found.ratio
                still[d, s, k] = found.stationarity
                if found.better is not None:
                    improved[d, s, k] = found.improved / found.objective
                if (
                    name == "three"
                    and s == len(scales) - 1
                    and k == int(np.argmin(np.abs(np.log(decays) - np.log(1e-2))))
                ):
                    w, a = sol.final.arrays()
                    functions[:] = best(rows), np.maximum(rows @ w.T, 0.0) @ a
    three = data["three"]
    return xr.Dataset(
        {
            "ratio": (("data", "scale", "decay"), ratio),
            "dual": (("data", "scale", "decay"), dual),
            "stationarity": (("data", "scale", "decay"), still),
            "improved": (("data", "scale", "decay"), improved),
            "optimum": (("data", "decay"), optimum),
            "gap": (("data", "decay"), gap),
            "function": (("way", "x"), functions),
            "point_x": ("datum", three.x[:, 0]),
            "point_y": ("datum", three.y),
        },
        coords=dict(data=list(data), scale=scales, decay=decays, way=["optimum", "flow"], x=x),
        attrs={"rtol": rtol, "width": width},
    )


def facts(ds) -> list[Claim]:
    """Verdicts are judged where a run rests; near the largest decay growth is slow, and some runs do not yet."""
    rests = ds.stationarity.values < 1e-6
    ratio, dual = ds.ratio.values, ds.dual.values
    spurious, optimal = rests & (dual > 1.0 + 1e-5), rests & (dual <= 1.0 + 1e-9)
    relative = float((ds.gap / ds.optimum).max())
    found = [
        Claim("every optimum is certified: largest gap, relative", relative, "<=", 1e-8),
        Claim("no run is below its optimum, least ratio", float(np.min(ratio)), ">=", 1.0, slack=1e-8),
        Claim("dual ratio <= 1 at rest means optimal, largest excess", _most(ratio[optimal] - 1), "<=", 1e-6),
        Claim("dual ratio > 1 at rest means spurious, least excess", _least(ratio[spurious] - 1), ">", 0.0),
        Claim(
            "one more neuron improves every spurious point, largest share left",
            _most(ds.improved.values[spurious]),
            "<",
            1.0,
        ),
        Claim("some runs end at the optimum, and some at spurious points", min(spurious.sum(), optimal.sum()), ">=", 1),
    ]
    for (name, decay), (value, over) in KNOWN.items():
        near = np.abs(ds.decay.values - decay) < 1e-12
        small = np.abs(ds.scale.values + 5.0) < 1e-12
        if np.any(near) and np.any(small):
            here = ds.sel(data=name).isel(decay=int(np.argmax(near)))
            text = f"{name} points, decay {decay:g}: "
            found.append(Claim(text + "the optimum", float(here.optimum), "=", value, slack=1e-10))
            at = float(here.ratio.isel(scale=int(np.argmax(small))))
            found.append(Claim(text + "objective over optimum at log scale -5", at, "=", over, slack=1e-5 * over))
    return found


def _most(values) -> float:
    return float(np.max(values, initial=0.0))


def _least(values) -> float:
    return float(np.min(values, initial=np.inf))


def draw(ds):
    from matplotlib.colors import LogNorm

    fig = look.figure(look.PAGE, 2.5)
    axes = fig.subplots(1, 3, width_ratios=[1, 1.18, 1])
    for ax, name, mark in zip(axes[:2], ("three", "five"), "ab"):
        excess = np.maximum(ds.ratio.sel(data=name).values - 1.0, 1e-7)
        shown = ax.pcolormesh(ds.scale, ds.decay, excess.T, norm=LogNorm(1e-7, 10.0), cmap="cividis", shading="nearest")
        ax.axhline(LARGEST[name], color="white", lw=1.0, ls="--")
        ax.set(yscale="log", xlabel="log of the initial scale", ylim=(min(ds.decay), max(ds.decay)))
        if mark == "a":
            ax.set_ylabel("decay")
        look.letter(ax, mark, f"{name} points")
    fig.colorbar(shown, ax=axes[1], label="objective / optimum − 1", ticks=[1e-7, 1e-5, 1e-3, 1e-1, 10])
    ax = axes[2]
    ax.plot(ds.x, ds.function.sel(way="optimum"), color=look.THEORY, lw=2.6, alpha=0.7)
    ax.plot(ds.x, ds.function.sel(way="flow"), color=look.INK, lw=1.2)
    ax.plot(ds.point_x, ds.point_y, "o", color=look.DATA, mec="white", mew=0.6, ms=5, zorder=5)
    ax.set(xlabel="x", ylabel="f(x)", xlim=(-1.6, 1.2), ylim=(-0.4, 3.2))
    look.corner(ax, "optimum", "upper right", look.THEORY, 7.5)
    look.corner(ax, "\nend of the flow", "upper right", look.INK, 7.5)
    look.letter(ax, "c", "decay 0.01")
    return fig


def caption(ds) -> str:
    rests = ds.stationarity.values < 1e-6
    bad = int(np.sum(rests & (ds.dual.values > 1 + 1e-5)))
    worst = float(ds.ratio.max())
    return f"""Does training with weight decay find the best network? a, b: the objective L + (decay/2) |theta|^2 at the
    end of the flow (t = 60/decay, width {ds.attrs["width"]}), over its minimum among networks of any width, minus 1,
    for three and five points on a line; dark is the optimum. Minima are those of a cone programme over all activation
    patterns, each with a dual certificate (gaps below {float((ds.gap / ds.optimum).max()):.1g}, relative). From large
    starts the flow finds the optimum, from small ones it ends at spurious points once the decay is small, up to
    {worst:.3g} times the minimum; {bad} of {ds.ratio.size} runs do. Each is proved spurious by a direction in which one
    more neuron lowers the objective. Above the dashed line (the largest pull at f = 0) the zero network is optimal;
    faint bands are runs that have not come to rest by then, near a decay at which another neuron begins to pay. c: a
    spurious end, from the smallest scale (ink), and the optimum (amber)."""
