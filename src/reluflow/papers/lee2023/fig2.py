"""Figure 2 of [LSY23]: the magnitude of neurons with one and two layers, with bounds from the start and from 20000."""

import numpy as np

from reluflow._checks import one_of
from reluflow.claim import Claim
from reluflow.deep.train import legs
from reluflow.papers.lee2023.fig1 import K_STAR, SIZES, STEPS
from reluflow.plot import look

SETTINGS = {
    "quick": dict(n=4000, faster=10, restart=20_000, start="expected", draws=1, **SIZES),
    "full": dict(n=10_000, faster=1, restart=20_000, start="drawn", draws=5, **SIZES),
}
EARLY, LATE = 0.05, 0.95  # of the band, from its lower edge
STATED = {
    "paper": (
        "SN: panels",
        "MN: panels",
        "LN: panels",
        "4 other draws",
        "population: place in the band",
        "sample: place in the band",
        "width of the restarted",
        "population, one layer",
    ),
    "handbook": ("lower bound's end", "two layers: the same"),
}


def compute(*, n, faster, restart, d, last, reading, start, draws, seed):
    import xarray as xr

    from reluflow.papers.lee2023 import _neurons as neurons

    one_of("reading", reading, neurons.READINGS)
    arrays: dict[str, list] = {}
    etas = []
    for r in neurons.READINGS:
        for layers, step, k_star in zip((1, 2), STEPS, K_STAR):
            for ratio in neurons.RATIOS:
                problem = neurons.start_of(layers, k_star, ratio, r, d, start, seed)
                made = neurons.run(problem, step, faster, last, n, d, seed)
                etas.append(neurons.unit_step(problem, faster * step))
                for prefix in ("", "population_"):
                    arrays.setdefault(f"{prefix}v", []).append(made[f"{prefix}v"])
                    arrays.setdefault(f"{prefix}eps", []).append(neurons.eps_of(made[f"{prefix}y"]))
                    bands = [neurons.band(made, problem, step, at, faster, prefix) for at in (0, restart)]
                    arrays.setdefault(f"{prefix}low", []).append([low for low, _ in bands])
                    arrays.setdefault(f"{prefix}high", []).append([high for _, high in bands])
    more = [
        neurons.run(neurons.start_of(layers, k_star, ratio, reading, d, start, k), step, faster, last, n, d, k)["v"]
        for k in range(seed + 1, seed + draws)
        for layers, step, k_star in zip((1, 2), STEPS, K_STAR)
        for ratio in neurons.RATIOS
    ]
    each, shape = ("reading", "layers", "start"), (2, 2, 3)

    def labelled(value):
        inner = ("from", "iteration") if np.ndim(value) == 3 else ("iteration",)
        return (*each, *inner), np.reshape(value, (*shape, *np.shape(value)[1:]))

    ds = xr.Dataset(
        {key: labelled(value) for key, value in arrays.items()} | {"eta": (each, np.reshape(etas, shape))},
        {
            "reading": list(neurons.READINGS),
            "layers": [1, 2],
            "start": list(neurons.NAMES),
            "from": [0, restart],
            "iteration": made["iteration"],
        },
        {"shown": reading, "n": n, "d": d, "begin": start},
    )
    thin = np.reshape(more, (draws - 1, 2, 3, len(made["iteration"])))
    ds["drawn_v"] = ("draw", *each[1:], "iteration"), thin
    if n < 10_000 or faster > 1:
        ds.attrs["note"] = f"quick: n = {n}, {faster} times the paper's steps (the same times)"
    return ds


def place(ds, prefix: str = ""):
    """Where v is in the band from T = 0: 0 on the lower bound, 1 on the upper."""
    low, high = (ds[f"{prefix}{name}"].sel({"from": 0}) for name in ("low", "high"))
    return (ds[f"{prefix}v"] - low) / (high - low)


def facts(ds) -> list[Claim]:
    r"""Section 5.2 and the handbook: SN rises; MN and LN fall, then rise; all end at v*. The lower bound follows the
    start, the upper the end; the lower one ends at v* (1 - eps_0)^{1/(m+1)}; restarted, both are much tighter.

    Where v is in its band is judged at the first frame (100 iterations), the population's within a twentieth of the
    lower bound and the sample's nearer to it than to the upper, and at the end. Theorem A.1 is exact on the population;
    A.3 holds up to 4 eta v*^2, |w| being what is drawn; a sample leaves either by a share of sqrt(d/n), measured.
    """
    from reluflow.papers.lee2023._neurons import outside

    ways = {
        (str(r), int(m), str(s)): legs(ds.v.sel(reading=r, layers=m, start=s).values)
        for r in ds.reading.values
        for m in ds.layers.values
        for s in ds.start.values
    }
    sampling = float(np.sqrt(ds.attrs["d"] / ds.attrs["n"]))
    here, there = place(ds), place(ds, "population_")
    first, last = (lambda p: float(p.isel(iteration=1).max())), (lambda p: float(p.isel(iteration=-1).min()))
    claims = [
        Claim("SN: panels in which the magnitude only rises", _count(ways, "SN", (1,)), "=", 4),
        Claim("MN: panels in which it falls, then rises", _count(ways, "MN", (-1, 1)), "=", 4),
        Claim("LN: panels in which it falls, then rises", _count(ways, "LN", (-1, 1)), "=", 4),
        Claim("|v/v* - 1| at the end, worst", float(np.abs(ds.v.isel(iteration=-1) - 1).max()), "<=", 0.01),
        Claim("population: place in the band (0 lower, 1 upper) at the first frame, worst", first(there), "<=", EARLY),
        Claim("sample: place in the band at the first frame, worst", first(here), "<=", 0.5),
        Claim("population: place in the band at the end, worst", last(there), ">=", LATE),
        Claim("sample: place in the band at the end, worst", last(here), ">=", LATE),
    ]
    for layers in (1, 2):  # a small start of two layers is still on its way up
        one = ds.sel(layers=layers, start=["MN", "LN"])
        low, s = one.low.isel({"from": 0, "iteration": -1}), 1.0 - one.eps.isel(iteration=0)
        text = f"lower bound's end, MN and LN, m = {layers - 1}: off v* (1 - eps_0)^(1/{layers}) by"
        claims.append(Claim(text, float(np.abs(low - s ** (1 / layers)).max()), "<=", 0.01))
    text = "two layers: the same, above (1 - eps_0) v*, which D.1 prints, by"
    claims.append(Claim(text, float((low - s).min()), ">", 0.2))
    after = ds.isel(iteration=slice(1, None))
    wide = after.high - after.low
    narrow = float((wide.isel({"from": 1}) / wide.isel({"from": 0})).where(wide.isel({"from": 1}) > 1e-6).max())
    claims.append(Claim("width of the restarted band over the first band's, worst", narrow, "<=", 0.5))
    for layers, allowed in ((1, None), (2, 4.0)):
        one = after.sel(layers=layers)
        over = np.maximum(one.population_low - one.population_v, one.population_v - one.population_high)
        if allowed is None:
            claims.append(
                Claim("population, one layer: |w| outside A.1's bounds by", float(over.max()), "<=", 0.0, slack=1e-9)
            )
        else:
            text = "population, two layers: |w| outside A.3's bounds by, over eta v*^2"
            claims.append(Claim(text, float((over / one.eta).max()), "<=", allowed, kind="fitted"))
    for name, way in (("SN", (1,)), ("MN", (-1, 1)), ("LN", (-1, 1))):
        if not ds.sizes["draw"]:
            continue
        panels = ds.drawn_v.sel(start=name).values.reshape(-1, ds.sizes["iteration"])
        does = "only rises" if way == (1,) else "falls, then rises"
        text = f"{ds.sizes['draw']} other draws, {name}: panels in which the magnitude {does}"
        claims.append(Claim(text, sum(legs(v) == way for v in panels), "=", len(panels)))
    out = outside(after.v, after.low, after.high) / sampling
    text = "sample: |w| outside its bounds by, over sqrt(d/n)"
    return [*claims, Claim(text, out, "<=", 0.1, kind="fitted", note="v/v*")]


def _count(ways: dict, start: str, pattern: tuple) -> int:
    return sum(way == pattern for key, way in ways.items() if key[2] == start)


def draw(ds):
    from reluflow.papers.lee2023 import _neurons as neurons

    shown = ds.attrs["shown"]
    other = neurons.other(shown)
    restart = int(ds["from"][1])
    fig = look.figure(look.PAGE, 4.0)
    axes = fig.subplots(2, 3, sharey="col", sharex="row")
    T = ds.iteration.values
    for row, layers in zip(axes, ds.layers.values):
        for ax, start in zip(row, ds.start.values):
            one = ds.sel(reading=shown, layers=layers, start=start)
            ax.axhline(1.0, color=look.FAINT, lw=0.6)
            for k, colour in enumerate((look.THEORY, look.PLUS)):
                low, high = one.low[k], one.high[k]
                ax.fill_between(T, low, high, color=colour, alpha=0.16, lw=0)
                ax.plot(T, low, color=colour, lw=1.0)
                ax.plot(T, high, color=colour, lw=1.0)
            ax.plot(T, ds.v.sel(reading=other, layers=layers, start=start), color=look.FAINT, lw=1.1, ls="-.")
            for thin in ds.drawn_v.sel(layers=layers, start=start):
                ax.plot(T, thin, color=look.MINUS, lw=0.6, alpha=0.7)
            ax.plot(T, one.v, color=look.MINUS, lw=2.0)
            ax.plot([restart], [float(one.v.sel(iteration=restart))], "o", color=look.INK, ms=4, zorder=5)
            ax.set_xlim(0, T[-1])
            look.iterations(ax.xaxis, "iteration" if layers == 2 else "")
        row[0].set_ylabel(f"{neurons.layers_of(layers)}, |w| / |w*|", fontsize=8.5)
    neurons.titles(axes[0], ds.start.values, ds.v.sel(reading=shown, layers=1)[:, 0])
    lines = (
        (f"|w|, k a {neurons.WORDS[shown]}", look.MINUS),
        (f"|w|, k a {neurons.WORDS[other]}", look.FAINT),
        ("bounds from the start", look.THEORY),
        (f"restarted at {restart // 1000}k (dot)", look.PLUS),
    )
    neurons.key(axes[0, 2], lines, 0.93, 0.11)
    return fig


def caption(ds) -> str:
    from reluflow.papers.lee2023 import _neurons as neurons

    restart, word = int(ds["from"][1]), neurons.WORDS[ds.attrs["shown"]]
    ends = [float(ds.low.sel(reading=ds.attrs["shown"], layers=m, start="MN")[0, -1]) for m in (1, 2)]
    return f"""|w| in units of |w*| for neurons of one and two layers (rows) from small, middle and large norms
    (columns), by descent on {ds.attrs["n"]} Gaussian points in R^{ds.attrs["d"]}. A small start only rises; middle and
    large ones fall, then rise. The lower bound (Theorems A.1 and A.3, gold) follows the start and the upper one the
    end; the lower one stops at |w*| (1 - ε₀)^(1/layers), {ends[0]:.2f} and {ends[1]:.2f} of |w*|. Restarted at
    w({restart}) (dot), where ε is small, they hold |w| tightly. k is read as a {word}
    (blue), and as the other for the grey curve, whose bounds are in the numbers. A.1 is exact as printed; A.3 is
    exact only up to O(η), which cannot be seen here.{neurons.said_of_draws(ds)}"""
