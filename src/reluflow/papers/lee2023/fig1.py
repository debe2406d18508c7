"""Figure 1 of [LSY23]: the angle of neurons with one, two and three layers, from small, middle and large norms."""

import numpy as np

from reluflow._checks import one_of
from reluflow.claim import Claim
from reluflow.plot import look

STEPS, K_STAR = (3e-4, 8e-6, 2e-6), (1.0, 0.5, 0.3)
SIZES = dict(d=100, last=100_000, reading="std", seed=0)
SETTINGS = {
    "quick": dict(n=4000, faster=10, start="expected", draws=1, **SIZES),
    "full": dict(n=10_000, faster=1, start="drawn", draws=5, **SIZES),
}

# The handbook's population predictions from phi_0 = pi/2: (reading, layers) -> for SN, MN, LN the iteration where phi =
# 3; for MN, LN the least v/v* and where; for SN, MN, LN eps(20000). Each with the digits it was written with.
TABLE = {
    ("std", 1): (("5850", "18100", "22500"), (".704", ".837"), ("6500", "12550"), ("1e-4", ".005", ".020")),
    ("std", 2): (("34350", "34350", "34350"), (".783", ".851"), ("9550", "13050"), (".113", ".113", ".113")),
    ("std", 3): ((None, "46800", "44450"), (".826", ".867"), ("11450", "13350"), (".64", ".25", ".21")),
    ("variance", 1): (("11300", "18100", "20250"), (".704", ".783"), ("6500", "9450"), ("5e-4", ".005", ".011")),
    ("variance", 2): (("17200", "17200", "17200"), (".783", ".830"), ("4800", "5950"), (".003", ".003", ".003")),
    ("variance", 3): (("6500", "4250", "4100"), (".826", ".857"), ("1050", "1200"), (None, None, None)),
}
QUANTITIES = ("iteration where phi = 3", "least v/v*", "its iteration", "eps at 20000")
NEVER = (2.12, 0.157)  # three layers, SN, std: phi and v/v* at 100000
AIM = 0.1
ALIGNED = 3.0
STATED = {
    "paper": (
        "largest fall of phi",
        "sample: phi outside the printed bounds",
        "population: phi outside the printed bounds",
        "std, one layer",
        "std, three layers",
        "variance, one layer",
        "variance, three layers",
        "two layers: distance",
        "4 other draws",
    ),
    "handbook": ("population, std", "population, variance", "population: 7 numbers", "three layers, SN, std"),
}


def compute(*, n, faster, d, last, reading, start, draws, seed):
    import xarray as xr

    from reluflow.papers.lee2023 import _neurons as neurons

    one_of("reading", reading, neurons.READINGS)
    dims = ("reading", "layers", "start", "iteration")
    names = ("phi", "v", "population_phi", "population_v", "low", "high", "printed_low", "printed_high")
    arrays: dict[str, list] = {name: [] for name in names}
    targets, phis = [], []
    for r in neurons.READINGS:
        for layers, step, k_star in zip((1, 2, 3), STEPS, K_STAR):
            for name, ratio in zip(neurons.NAMES, neurons.RATIOS):
                problem = neurons.start_of(layers, k_star, ratio, r, d, start, seed)
                made = neurons.run(problem, step, faster, last, n, d, seed)
                count = made["iteration"]
                for key in names[:4]:
                    arrays[key].append(made[key])
                ranges = {
                    "": neurons.legitimate_range(problem, name, float(made["population_v"].min())),
                    "printed_": neurons.printed_range(problem, name),
                }
                for prefix, form in (("", "corrected"), ("printed_", "printed")):
                    low, high = neurons.angle_bounds(problem, ranges[prefix], faster * step, count / faster, form)
                    arrays[f"{prefix}low"].append(low)
                    arrays[f"{prefix}high"].append(high)
                targets.append(problem.target)
                phis.append(problem.phi0)
    more = [
        neurons.run(neurons.start_of(layers, k_star, ratio, reading, d, start, k), step, faster, last, n, d, k)["phi"]
        for k in range(seed + 1, seed + draws)
        for layers, step, k_star in zip((1, 2, 3), STEPS, K_STAR)
        for ratio in neurons.RATIOS
    ]
    shape = (2, 3, 3)
    ds = xr.Dataset(
        {key: (dims, np.reshape(value, (*shape, -1))) for key, value in arrays.items()}
        | {"target": (dims[:3], np.reshape(targets, shape)), "phi0": (dims[:3], np.reshape(phis, shape))},
        {"reading": list(neurons.READINGS), "layers": [1, 2, 3], "start": list(neurons.NAMES), "iteration": count},
        {"shown": reading, "n": n, "d": d, "faster": faster, "begin": start},
    )
    ds["drawn_phi"] = ("draw", *dims[1:]), np.reshape(more, (draws - 1, 3, 3, len(count)))
    if n < 10_000 or faster > 1:
        ds.attrs["note"] = f"quick: n = {n}, {faster} times the paper's steps (the same times)"
    return ds


# Facts ----------------------------------------------------------------------------------------------------------------


def found(ds, prefix: str = "population_") -> dict:
    """The quantities of TABLE, for every reading and number of layers, in the table's layout."""
    count, made = ds.iteration.values.astype(float), {}
    for reading, layers in TABLE:
        one = ds.sel(reading=reading, layers=layers)
        phi, v = one[f"{prefix}phi"].values, one[f"{prefix}v"].values
        times = [float(np.interp(ALIGNED, p, count)) if p[-1] > ALIGNED else np.nan for p in phi]
        where = v[1:].argmin(axis=1)
        at = int(np.searchsorted(count, 20_000))
        eps = 1.0 - (np.sin(phi[:, at]) - phi[:, at] * np.cos(phi[:, at])) / np.pi
        made[reading, layers] = (times, list(v[1:].min(axis=1)), list(count[where]), list(eps))
    return made


def half_unit(text: str) -> float:
    """Half a unit of the last digit written."""
    if "e" in text:
        return 0.5 * 10 ** float(text.split("e")[1])
    if "." in text:
        return 0.5 * 10.0 ** -len(text.split(".")[1])
    return 0.5


def facts(ds) -> list[Claim]:
    r"""The handbook's table, from the population (starts as expected; within 10%, or within half a unit where
    it has but one digit); the sample against its own population; and what Section 5.1 reads off the panels.

    A sample differs from the population by O(sqrt(d/n)), 10% at the paper's size; the constant is measured. The bounds
    are statements about the population, exact there as corrected; a sample may leave the printed ones by sqrt(d/n).
    """
    claims = _table(ds) if ds.attrs["begin"] == "expected" else []
    sampling = float(np.sqrt(ds.attrs["d"] / ds.attrs["n"]))
    here = found(ds, "")
    for name in ("phi", "v"):
        apart = float(np.abs(ds[name] - ds[f"population_{name}"]).max())
        text = f"sample: {'phi' if name == 'phi' else 'v/v*'} off the population's by at most, over sqrt(d/n)"
        claims.append(Claim(text, apart / sampling, "<=", 2.0, kind="fitted", note="the constant of O(sqrt(d/n))"))
    claims += _bounds(ds)
    claims += _draws(ds)
    std = ds.sel(reading="std")
    slow = std.phi.sel(layers=3, start="SN")
    done = ds.phi.isel(iteration=-1).where(~((ds.reading == "std") & (ds.layers == 3) & (ds.start == "SN")))
    fall = 0.0 - float(np.diff(ds.phi.values, axis=-1).min())
    two = ds.phi.sel(layers=2)
    apart = float((two.max("start") - two.min("start")).max())
    claims += [
        Claim("largest fall of phi between two frames", fall, "<=", 0.0, slack=1e-9),
        Claim("least phi at the end, the slow one (three layers, SN, std) aside", float(done.min()), ">=", ALIGNED),
        Claim("three layers, SN, std: phi at the end", float(slow[-1]), "<=", ALIGNED),
    ]
    for reading in ds.reading.values:
        one, three = here[reading, 1][0], here[reading, 3][0]
        first = three[0] if not np.isnan(three[0]) else np.inf
        claims += [
            Claim(f"{reading}, one layer: SN's time over the others' least", one[0] / min(one[1:]), "<", 1.0),
            Claim(f"{reading}, three layers: SN's time over the others' largest", first / max(three[1:]), ">", 1.0),
        ]
    claims.append(
        Claim("two layers: distance of the three columns' curves (phi)", apart, "<=", sampling, note="equal phi_0")
    )
    return claims


def _draws(ds) -> list[Claim]:
    """The same order of the columns in every other draw: one layer by the times to phi = 3, three layers by where phi
    ends, as it need not come to 3."""
    if not ds.sizes["draw"]:
        return []
    T, phi = ds.iteration.values.astype(float), ds.drawn_phi.values  # draw, layers, start, iteration
    time = lambda curve: float(np.interp(ALIGNED, curve, T)) if curve[-1] > ALIGNED else np.inf
    times = np.apply_along_axis(time, -1, phi[:, 0])
    slower = float(np.max(times[:, 0] / times[:, 1:].min(axis=1)))
    behind = float(np.min(phi[:, 2, 1:, -1].min(axis=1) - phi[:, 2, 0, -1]))
    many = f"{ds.sizes['draw']} other draws"
    return [
        Claim(f"{many}, one layer: SN's time over the others' least, largest", slower, "<", 1.0),
        Claim(f"{many}, three layers: phi of SN at the end, behind the others by, least", behind, ">", 0.0),
    ]


def _table(ds) -> list[Claim]:
    """Deviation from the table, the worst for each quantity and reading; numbers written with one digit apart."""
    claims, coarse = [], []
    made = found(ds)
    for reading in ds.reading.values:
        for k, quantity in enumerate(QUANTITIES):
            rows = []
            for layers in (1, 2, 3):
                for value, text in zip(made[reading, layers][k], TABLE[reading, layers][k]):
                    if text is None:
                        continue
                    note = f"{value:.4g} for {text}, {layers} layers, {reading}"
                    if half_unit(text) < 0.5 * AIM * float(text):
                        rows.append((abs(value / float(text) - 1), note))
                    else:
                        coarse.append((abs(value - float(text)) / half_unit(text), note))
            text = f"population, {reading}: {quantity}, off the handbook's {len(rows)} by, worst"
            claims.append(Claim(text, max(rows)[0], "<=", AIM, note=max(rows)[1]))
    text = f"population: {len(coarse)} numbers written with one digit, off by, in halves of its unit, worst"
    claims.append(Claim(text, max(coarse)[0], "<=", 1.0, note=max(coarse)[1]))
    last = ds.sel(reading="std", layers=3, start="SN").isel(iteration=-1)
    for name, value, want in zip(("phi", "v/v*"), (last.population_phi, last.population_v), NEVER):
        text = f"population, std, three layers, SN: {name} at the end"
        claims.append(Claim(text, float(value), "=", want, slack=AIM * want))
    return claims


def _bounds(ds) -> list[Claim]:
    """How far the population's angle is inside its bounds, and the sample's; T = 0 aside, where bounds may touch."""
    after = ds.isel(iteration=slice(1, None))
    over = lambda phi, low, high: float(np.maximum(low - phi, phi - high).max())
    sampling = float(np.sqrt(ds.attrs["d"] / ds.attrs["n"]))
    claims = [
        Claim(
            f"{who}: phi outside the {form} bounds by",
            over(after[phi], after[low], after[high]),
            "<=",
            0.0,
            slack=slack,
        )
        for who, phi, form, low, high, slack in (
            ("population", "population_phi", "corrected", "low", "high", 1e-9),
            ("population", "population_phi", "printed", "printed_low", "printed_high", 1e-9),
            ("sample", "phi", "printed", "printed_low", "printed_high", sampling),
        )
    ]
    first = ds.isel(iteration=0)
    gap = float((first.phi0 - first.printed_low).min())
    claims.append(
        Claim("printed lower bound below phi_0 at T = 0 by", gap, ">", 0.1, note="it is no bound of the start")
    )
    return claims


# Picture --------------------------------------------------------------------------------------------------------------


def draw(ds):
    from reluflow.papers.lee2023 import _neurons as neurons

    shown = ds.attrs["shown"]
    other = neurons.other(shown)
    fig = look.figure(look.PAGE, 5.5)
    axes = fig.subplots(3, 3, sharey=True, sharex="row")
    T = ds.iteration.values
    for row, layers, step in zip(axes, ds.layers.values, STEPS):
        for ax, start in zip(row, ds.start.values):
            one = ds.sel(reading=shown, layers=layers, start=start)
            ax.axhline(np.pi, color=look.FAINT, lw=0.6)
            ax.fill_between(T, one.low, one.high, color=look.THEORY, alpha=0.18, lw=0)
            for name in ("low", "high"):
                ax.plot(T, one[name], color=look.THEORY, lw=1.0)
                ax.plot(T, np.minimum(one[f"printed_{name}"], np.pi), color=look.INK, lw=0.8, ls=(0, (2, 1.6)))
            ax.plot(T, ds.phi.sel(reading=other, layers=layers, start=start), color=look.FAINT, lw=1.1, ls="-.")
            for thin in ds.drawn_phi.sel(layers=layers, start=start):
                ax.plot(T, thin, color=look.MINUS, lw=0.6, alpha=0.7)
            ax.plot(T, one.phi, color=look.MINUS, lw=2.0)
            ax.set_xlim(0, T[-1])
            ax.set_ylim(0.95, 3.27)
            ax.set_yticks([np.pi / 2, 3 * np.pi / 4, np.pi], ["π/2", "3π/4", "π"])
            look.iterations(ax.xaxis, "iteration" if layers == 3 else "")
        row[0].set_ylabel(f"{neurons.layers_of(layers)}, φ", fontsize=8.5)
        look.corner(row[2], f"step {step:g}", colour=look.FAINT, size=7)
    neurons.titles(axes[0], ds.start.values, ds.v.sel(reading=shown, layers=1)[:, 0])
    lines = (
        (f"φ, k a {neurons.WORDS[shown]}", look.MINUS),
        (f"φ, k a {neurons.WORDS[other]}", look.FAINT),
        ("bounds, corrected", look.THEORY),
        ("bounds as printed (dashed)", look.INK),
    )
    neurons.key(axes[1, 0], lines, 0.40, 0.12)
    return fig


def caption(ds) -> str:
    from reluflow.papers.lee2023._neurons import WORDS

    count = 1 + ds.sizes["draw"]
    how = {
        "expected": "from the norms and angle that draws concentrate at (φ₀ = π/2)",
        "drawn": f"from {count} random draws of w*, w₀ and the points (the first thick, with its bounds)",
    }
    return f"""φ = π minus the angle between w and w*, for neurons of one, two and three layers (rows) from small,
    middle and large norms (columns), by descent on {ds.attrs["n"]} Gaussian points in R^{ds.attrs["d"]},
    {how[ds.attrs["begin"]]}. A small start is fastest with one layer, does not matter with two, and is slowest with
    three. N(0, kI) is read with k a {WORDS[ds.attrs["shown"]]} (blue); a standard deviation is what the paper's text
    describes. The grey curve takes k for the other; its bounds are in the numbers. Dashed: Theorems A.2 and 4.2 as
    printed, with the paper's r and R; they do not start at φ₀, and the upper one says nothing at first. Gold:
    corrected, a factor of tan(φ/2) for each step, exact and equal to φ₀ at first, with r only where it bounds |w|."""
