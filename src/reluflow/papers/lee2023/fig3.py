"""Figure 3 of [LSY23]: the magnitude with bounds restarted at four points, for one and two layers."""

import numpy as np

from reluflow._checks import one_of
from reluflow.claim import Claim
from reluflow.deep.train import legs
from reluflow.plot import look

STEPS, LASTS, FRAMES = (6e-4, 1e-4), (30_000, 2000), (601, 1001)
RESTARTS = ((0, 2500, 5000, 7500), (0, 120, 250, 500))
STARTS = ("MN", "LN")
SIZES = dict(d=100, k_star=1.2, reading="std", seed=0)
SETTINGS = {
    "quick": dict(n=4000, faster=[10, 1], start="expected", draws=1, **SIZES),
    "full": dict(n=10_000, faster=[1, 1], start="drawn", draws=5, **SIZES),
}

# The handbook's population predictions: v/v* at the restarts, (reading, layers, start); others are not in it.
TABLE = {
    ("std", 1, "MN"): (1, 0.716, 0.747, 0.851),
    ("std", 1, "LN"): (2, 1.151, 0.861, 0.850),
    ("std", 2, "MN"): (1, 0.784, 0.845, 0.983),
    ("std", 2, "LN"): (2, 0.885, 0.873, 0.984),
    ("variance", 1, "MN"): (1, 0.716, 0.747, 0.851),
    ("variance", 2, "MN"): (1, 0.791, 0.813, 0.959),
}
AIM = 0.1
STATED = {
    "paper": (
        "one layer: panels",
        "two layers: panels",
        "one layer: width",
        "two layers: width",
        "one layer, population: place",
        "two layers, population: place",
        "one layer, population: |w|",
        "one layer, 4 other",
        "two layers, 4 other",
    ),
    "handbook": ("population: v/v* at the restarts",),
}


def compute(*, n, faster, d, k_star, reading, start, draws, seed):
    import xarray as xr

    from reluflow.papers.lee2023 import _neurons as neurons

    one_of("reading", reading, neurons.READINGS)
    ratios = dict(zip(neurons.NAMES, neurons.RATIOS))
    arrays: dict[str, tuple] = {}
    counts = {}
    for m, (step, last, frames, restarts, quicker) in enumerate(zip(STEPS, LASTS, FRAMES, RESTARTS, faster)):
        made: dict[str, list] = {}
        etas = []
        for r in neurons.READINGS:
            for name in STARTS:
                problem = neurons.start_of(m + 1, k_star, ratios[name], r, d, start, seed)
                run = neurons.run(problem, step, quicker, last, n, d, seed, frames)
                etas.append(neurons.unit_step(problem, quicker * step))
                for prefix in ("", "population_"):
                    made.setdefault(f"{prefix}v", []).append(run[f"{prefix}v"])
                    bands = [neurons.band(run, problem, step, at, quicker, prefix) for at in restarts]
                    made.setdefault(f"{prefix}low", []).append([low for low, _ in bands])
                    made.setdefault(f"{prefix}high", []).append([high for _, high in bands])
        time = f"iteration{m + 1}"
        for key, value in made.items():
            inner = ("restart", time) if np.ndim(value) == 3 else (time,)
            arrays[f"{key}{m + 1}"] = (("reading", "start", *inner), np.reshape(value, (2, 2, *np.shape(value)[1:])))
        arrays[f"eta{m + 1}"] = (("reading", "start"), np.reshape(etas, (2, 2)))
        counts[time] = run["iteration"]
        more = [
            neurons.run(
                neurons.start_of(m + 1, k_star, ratios[x], reading, d, start, k), step, quicker, last, n, d, k, frames
            )
            for k in range(seed + 1, seed + draws)
            for x in STARTS
        ]
        thin = np.reshape([one["v"] for one in more], (draws - 1, 2, len(counts[time])))
        arrays[f"drawn_v{m + 1}"] = (("draw", "start", time), thin)
    ds = xr.Dataset(arrays, {"reading": list(neurons.READINGS), "start": list(STARTS), **counts})
    ds["at"] = (("layers", "restart"), np.array(RESTARTS))
    ds.attrs |= {"shown": reading, "n": n, "d": d, "begin": start}
    if n < 10_000 or max(faster) > 1:
        ds.attrs["note"] = f"quick: n = {n}, one layer with {faster[0]} times the paper's step (the same times)"
    return ds


def facts(ds) -> list[Claim]:
    r"""The handbook's v/v* at the restarts (population, within 10%); both bounds hold, and every restart narrows them,
    at every time after it; right after a restart the magnitude is nearer to the lower bound, at the end to the upper.

    Theorem A.1 is exact on the population, A.3 up to 4 eta v*^2 (here eta v*^2 is 1.4%); on a sample both are left by
    a share of sqrt(d/n), which is measured.
    """
    claims = _table(ds) if ds.attrs["begin"] == "expected" else []
    sampling = float(np.sqrt(ds.attrs["d"] / ds.attrs["n"]))
    for m in (1, 2):
        claims += _one(ds, m, sampling)
    return claims


def _table(ds) -> list[Claim]:
    rows = []
    for (reading, m, start), want in TABLE.items():
        v = ds[f"population_v{m}"].sel(reading=reading, start=start)
        for k, value in enumerate(want):
            found = float(v[int(np.searchsorted(ds[f"iteration{m}"], int(ds["at"][m - 1, k])))])
            rows.append((abs(found / value - 1), f"{found:.4g} for {value}, {reading}, {m} layers, {start}"))
    worst = max(rows)
    text = f"population: v/v* at the restarts, off the handbook's by, worst of {len(rows)}"
    return [Claim(text, worst[0], "<=", AIM, note=worst[1])]


def _one(ds, m: int, sampling: float) -> list[Claim]:
    name = ("one layer", "two layers")[m - 1]
    time, count = f"iteration{m}", ds[f"iteration{m}"].values
    low, high, v = (ds[f"{key}{m}"] for key in ("low", "high", "v"))
    ways = [legs(v.sel(reading=r, start=s).values) for r in ds.reading.values for s in ds.start.values]
    wide = high - low
    ratio = wide / wide.shift(restart=1)
    # Just after a restart the new band is a point; late, both are rounding.
    later = ratio.where((wide > 1e-9) & (ds[time] > ds["at"].isel(layers=m - 1)))
    after = {time: slice(1, None)}
    out = np.maximum(low - v, v - high).isel(after) / sampling
    people = [ds[f"population_{key}{m}"] for key in ("v", "low", "high")]
    over = np.maximum(people[1] - people[0], people[0] - people[2]).isel(after)
    place = (people[0] - people[1]) / (people[2] - people[1])
    soon = [
        place.isel({"restart": k, time: int(np.searchsorted(count, int(ds["at"][m - 1, k]))) + 1}) for k in range(4)
    ]
    claims = [
        Claim(f"{name}: panels in which |w| falls, then rises", sum(w == (-1, 1) for w in ways), "=", 4),
        Claim(f"{name}: width after a restart over that of the restart before, largest", float(later.max()), "<", 1.0),
        Claim(
            f"{name}, population: place in the band one frame after a restart",
            float(max(p.max() for p in soon)),
            "<=",
            0.5,
        ),
        Claim(
            f"{name}, population: place in the band at the end, least", float(place.isel({time: -1}).min()), ">=", 0.95
        ),
        Claim(f"{name}, sample: |w| outside its bounds by, over sqrt(d/n)", float(out.max()), "<=", 0.1, kind="fitted"),
    ]
    if ds.sizes["draw"]:
        ways = [legs(one) for one in ds[f"drawn_v{m}"].values.reshape(-1, len(count))]
        text = f"{name}, {ds.sizes['draw']} other draws: panels in which |w| falls, then rises"
        claims.append(Claim(text, sum(w == (-1, 1) for w in ways), "=", len(ways)))
    if m == 1:
        text = f"{name}, population: |w| outside A.1's bounds by"
        return [*claims, Claim(text, float(over.max()), "<=", 0.0, slack=1e-9)]
    text = f"{name}, population: |w| outside A.3's bounds by, over eta v*^2"
    return [*claims, Claim(text, float((over / ds.eta2).max()), "<=", 4.0, kind="fitted")]


def draw(ds):
    from reluflow.papers.lee2023 import _neurons as neurons

    shown = ds.attrs["shown"]
    other = neurons.other(shown)
    fig = look.figure(look.PAGE, 4.2)
    axes = fig.subplots(2, 2, sharey="col", sharex="row")
    colours = (look.THEORY, look.PLUS, look.GREEN, look.PURPLE)
    for m, row in enumerate(axes, start=1):
        T = ds[f"iteration{m}"].values
        for ax, start in zip(row, ds.start.values):
            one = ds.sel(reading=shown, start=start)
            v = one[f"v{m}"]
            ax.axhline(1.0, color=look.FAINT, lw=0.6)
            for k, colour in enumerate(colours):
                low, high = one[f"low{m}"][k], one[f"high{m}"][k]
                ax.fill_between(T, low, high, color=colour, alpha=0.14, lw=0)
                ax.plot(T, low, color=colour, lw=1.0)
                ax.plot(T, high, color=colour, lw=1.0)
            ax.plot(T, ds[f"v{m}"].sel(reading=other, start=start), color=look.FAINT, lw=1.1, ls="-.")
            for thin in ds[f"drawn_v{m}"].sel(start=start):
                ax.plot(T, thin, color=look.MINUS, lw=0.6, alpha=0.7)
            ax.plot(T, v, color=look.MINUS, lw=2.0)
            at = ds["at"][m - 1].values
            ax.plot(at, v[np.searchsorted(T, at)], "o", color=look.INK, ms=3.5, zorder=5)
            end = T[-1]
            ax.set_xlim(-0.01 * T[-1], end)
            look.iterations(ax.xaxis, "iteration" if m == 2 else "")
            if start == "MN":
                for k, colour in enumerate(colours):
                    height = float(one[f"low{m}"][k][-1])
                    text = f"from {at[k]:,}" if k else "bounds from 0"
                    look.beside(ax, end, height, text, colour, dx=-2, dy=-6, ha="right", fontsize=7)
        tallest = float(np.max(ds[f"drawn_v{m}"].sel(start="MN").values, initial=1.02))
        row[0].set_ylim(0.2, 1.02 * tallest)
        row[0].set_ylabel(f"{neurons.layers_of(m)}, |w| / |w*|", fontsize=8.5)
    neurons.titles(axes[0], ds.start.values, ds.v1.sel(reading=shown)[:, 0])
    lines = ((f"|w|, k a {neurons.WORDS[shown]}", look.MINUS), (f"|w|, k a {neurons.WORDS[other]}", look.FAINT))
    neurons.key(axes[0, 1], lines, 0.9, 0.1)
    return fig


def caption(ds) -> str:
    from reluflow.papers.lee2023 import _neurons as neurons

    word = neurons.WORDS[ds.attrs["shown"]]
    return f"""|w| in units of |w*| (blue) for one and two layers (rows), and its lower and upper bounds (Theorems A.1
    and A.3) restarted at four points (dots), one colour for each restart. Every restart narrows the band; right after
    it |w| follows the lower bound, later the upper one. The paper does not say from which norm; its text describes a
    fall and then a rise, which middle and large norms (columns) show. Descent on {ds.attrs["n"]} Gaussian points in
    R^{ds.attrs["d"]}, steps 6e-4 and 1e-4, k* = 1.2; k and k* are read as a {word} (blue), and as the other for the
    grey curve. The lower bounds end at |w*| (1 - ε)^(1/layers); for two layers the paper's Appendix D.1 prints (1 - ε)
    |w*|.{neurons.said_of_draws(ds)}"""
