r"""MNIST by mini-batches, as Figures 2 to 5 of [KCG23] show it: over initial scales (2, 3) and over widths (4, 5).

MNIST has ten classes, the paper's model two, and "weight variance sigma_0" is a standard deviation in its Section 3.
So everything is done by two protocols and two readings:

    P1  the paper's model, even digits against odd ones     std       weights N(0, sigma_0^2)
    P2  ten classes, both layers trained                    variance  weights N(0, sigma_0), the control

Batches of 64, step 0.1. Runs come from `_batches`: read from a folder where they are there, else computed.
"""

import numpy as np

from reluflow.claim import Claim
from reluflow.papers._figures import _watch
from reluflow.papers.kou2023 import _batches
from reluflow.papers.kou2023._draw import log_axis
from reluflow.papers.kou2023._start import gaussian_rank
from reluflow.plot import look

PROTOCOLS, READINGS = ("P1", "P2"), ("std", "variance")
DIM, EPOCHS, RUNS = 784, 10, 5
IMAGES = 60_000
FULL = dict(seeds=RUNS, epochs=EPOCHS, images=0, tests=0, batches="benchmarks/kou2023_full", device=None)
QUICK = dict(seeds=3, epochs=5, images=6000, tests=2000, batches="", device=None)
STATED_SCALE = {
    "paper": ("P1: smallest scale", "P2: smallest scale", "P1, variance: SR at the end", "P2, variance: SR at the end")
}
STATED_WIDTH = {"paper": ("P2, std", "P2, variance")}


def over_scales(slope: float) -> dict[str, dict]:
    """Settings of Figures 2 and 3."""
    return {
        "quick": dict(slope=slope, widths=[50], scales=[1e-5, 1e-4, 1e-3], **QUICK),
        "full": dict(slope=slope, widths=[1000], scales=[1e-5, 5e-5, 1e-4, 5e-4, 1e-3], **FULL),
    }


def over_widths(slope: float) -> dict[str, dict]:
    """Settings of Figures 4 and 5."""
    return {
        "quick": dict(slope=slope, widths=[10, 50, 100], scales=[1e-5], **QUICK),
        "full": dict(slope=slope, widths=[10, 50, 100, 500, 1000], scales=[1e-5], **FULL),
    }


AXES = ("protocol", "reading", "line", "run", "epoch")


def run(*, slope, widths, scales, seeds, epochs, images, tests, batches, device):
    """Lines are the scales, or the widths where there are several of them."""
    import xarray as xr

    std = {"std": lambda v: float(v), "variance": lambda v: float(np.sqrt(v))}
    kinds = [_batches.Kind(p, float(slope), int(m), epochs, images, tests) for p in PROTOCOLS for m in widths]
    rows = [[std[r](v) for r in READINGS for v in scales]] * len(kinds)  # readings share a batch
    made = _batches.runs(kinds, rows, seeds, batches, device, _watch.get())
    shape = (len(PROTOCOLS), len(widths), len(READINGS), len(scales), seeds, epochs + 1)

    def lines(values) -> np.ndarray:
        """(protocol, reading, line, run, epoch) from one array for each kind."""
        whole = np.reshape(np.array(values), shape)
        return np.moveaxis(whole, 1, 2).reshape(len(PROTOCOLS), len(READINGS), -1, seeds, epochs + 1)

    found = {name: (AXES, lines([v[name] for v in made])) for name in ("loss", "train_error", "test_error")}
    for name, column in (("stable_rank", 0), ("minus_rank", 1), ("stacked_rank", 2)):  # P2 has but one matrix
        found[name] = (AXES, lines([v["stable_rank"][..., min(column, len(v["matrix"]) - 1)] for v in made]))
    over = "width" if len(widths) > 1 else "scale"
    return xr.Dataset(
        {**found, "seconds": float(sum(v["seconds"] for v in made))},
        coords={
            "protocol": list(PROTOCOLS),
            "reading": list(READINGS),
            "line": [int(m) for m in widths] if over == "width" else [float(v) for v in scales],
            "run": np.arange(seeds),
            "epoch": made[0]["epoch"],
            "iteration": ("epoch", made[0]["iteration"]),
        },
        attrs={
            "over": over,
            "slope": float(slope),
            "widths": [int(m) for m in widths],
            "scale": float(scales[0]),
            "images": images or IMAGES,
            "recorded": batches,
            "device": ", ".join(sorted({name for v in made for name in v["device"]})),
            "note": _note(images, epochs, seeds, widths, over),
        },
    )


def _note(images: int, epochs: int, seeds: int, widths, over: str) -> str:
    if not images:
        return ""
    width = f"m = {widths[0]} (not 1000)" if over == "scale" else f"m up to {max(widths)} (not 1000)"
    return f"quick: {images:,} of 60,000 images, {epochs} of 10 epochs, {seeds} of 5 runs, {width}"


# Facts ----------------------------------------------------------------------------------------------------------------


def start(ds) -> list[Claim]:
    """Every run starts as a Gaussian matrix; slack: four standard errors of the mean over runs."""
    found = []
    for k, m in enumerate(ds.attrs["widths"]):
        about, spread = gaussian_rank(m, DIM)
        mean = float(ds.stable_rank.isel(protocol=1, reading=0, line=k, epoch=0).mean())
        slack = 4.0 * spread / np.sqrt(ds.sizes["run"])
        found.append(Claim(f"SR at the start, m = {m}: a Gaussian matrix", mean, "=", about, slack=slack))
    return found


def means(ds, name: str, protocol: str, reading: str = "std") -> np.ndarray:
    """Mean over runs, (line, epoch)."""
    return ds[name].sel(protocol=protocol, reading=reading).mean("run").transpose("line", "epoch").values


def facts_scale(ds) -> list[Claim]:
    """The text: the rank depends on the start and the time, and falls quickly when the start is small. Handbook: a
    smaller scale falls earlier and deeper, at the largest the rank stays larger. Orders are of means over the same
    seeds. "Quickly" is read as: of SR - 1 at the start less than 5 % is left after one epoch."""
    found = start(ds)
    for p in PROTOCOLS:
        rank, error = means(ds, "stable_rank", p), means(ds, "test_error", p)
        left = _left(rank, 1)[0]
        steps = np.min(np.diff(rank[:, 1]))
        wide = means(ds, "stable_rank", p, "variance")
        found += [
            Claim(f"{p}: smallest scale, share of SR - 1 left after one epoch", left, "<=", 0.05),
            Claim(f"{p}: SR after one epoch grows with the scale, least step", steps, ">", 0.0),
            Claim(f"{p}: SR at the largest scale less that at the smallest, least of all epochs", _gap(rank), ">", 0.0),
            Claim(f"{p}, variance: SR grows with the scale, least step, all epochs", _step(wide), ">", 0.0),
            Claim(f"{p}, variance: SR at the end, largest scale over smallest", wide[-1, -1] / wide[0, -1], ">=", 2.0),
            Claim(f"{p}: test error at the end over the start, largest", np.max(error[:, -1] / error[:, 0]), "<=", 0.5),
        ]
    return found


def facts_width(ds) -> list[Claim]:
    """The text: the rank depends weakly on the width; m = 10 gives a small rank and low accuracy; both rise with m and
    saturate. P2 shows all of it. P1 does not: the head is 1/m, so that a step moves the outputs by 0.1 |x|^2/m, wide
    networks learn slower and m = 10 is the best one; its ranks all but go to 1. "Weakly": the largest end over the
    smallest, while the rank at the start grows by more. "Saturate": the last step in m changes less than the first."""
    found = start(ds)
    for r in READINGS:
        rank, error = means(ds, "stable_rank", "P2", r)[:, -1], means(ds, "test_error", "P2", r)[:, -1]
        begin = means(ds, "stable_rank", "P2", r)[:, 0]
        found += [
            Claim(f"P2, {r}: SR at the end, least step to the next width", np.min(np.diff(rank)), ">", 0.0),
            Claim(
                f"P2, {r}: SR at the end, widest over narrowest, less than at the start",
                rank[-1] / rank[0],
                "<=",
                0.5 * begin[-1] / begin[0],
            ),
            Claim(f"P2, {r}: SR saturates, last step over first", _last(rank), "<=", 0.5),
            Claim(f"P2, {r}: test error at the end, m = 10 over the next width", error[0] / error[1], ">", 1.0),
            Claim(f"P2, {r}: test error saturates, last step over first", _last(error), "<=", 0.5),
        ]
    for r in READINGS:
        most = max(np.max(_left(means(ds, name, "P1", r))) for name in ("stable_rank", "minus_rank"))
        error = means(ds, "test_error", "P1", r)[:, -1]
        found += [
            Claim(f"P1, {r}: share of SR - 1 left at the end, largest of W_+, W_- and all widths", most, "<=", 0.05),
            Claim(f"P1, {r}: m = 10 is not the worst: error over the widest network's", error[0] / error[-1], "<", 1.0),
        ]
    return found


def _left(rank: np.ndarray, epoch: int = -1) -> np.ndarray:
    """How much is left of SR - 1 at the start, for each line."""
    return (rank[:, epoch] - 1.0) / (rank[:, 0] - 1.0)


def _gap(rank: np.ndarray) -> float:
    return float(np.min(rank[-1, 1:] - rank[0, 1:]))


def _step(rank: np.ndarray) -> float:
    return float(np.min(np.diff(rank[:, 1:], axis=0)))


def _last(values: np.ndarray) -> float:
    return float(abs(values[-1] - values[-2]) / abs(values[1] - values[0]))


# Drawing --------------------------------------------------------------------------------------------------------------


def draw(ds):
    """Rows are protocols; rank (P1: what it has above 1, which is its least, W_+ solid and W_- dashed) and test error,
    both readings alike."""
    import xarray as xr
    from matplotlib.ticker import MultipleLocator

    from reluflow.papers.kou2023._draw import band, key, power, ramp

    fig = look.figure(look.PAGE, 3.9)
    strip, body = fig.subfigures(2, 1, height_ratios=[0.055, 1.0])
    axes = body.subplots(2, 4, sharex=True)
    colours = ramp(ds.sizes["line"])
    for row, p in zip(axes, PROTOCOLS, strict=True):
        shown = {"stable_rank": ds.stable_rank - (p == "P1"), "test_error": ds.test_error}
        for c, (name, reading) in enumerate((n, r) for n in shown for r in READINGS):
            part, least = shown[name].sel(protocol=p), 1.0 if (name, p) == ("stable_rank", "P2") else 1e-9
            other = ds.minus_rank.sel(protocol=p) - 1.0 if (name, p) == ("stable_rank", "P1") else None
            share = None if other is None else 0.1
            for k, colour in enumerate(colours):
                band(row[c], ds.epoch, part.sel(reading=reading)[k], colour, least, share)
                if other is not None:
                    band(
                        row[c], ds.epoch, other.sel(reading=reading)[k], colour, least, share, ls=(0, (3, 1.5)), lw=1.1
                    )
            _axis(row[c], name, p, part if other is None else xr.concat([part, other], dim="matrix"))
            row[c].tick_params(labelleft=c % 2 == 0)
        row[0].set_ylabel("P1:  stable rank − 1" if p == "P1" else "P2:  stable rank")
        row[2].set_ylabel("test error")
    for c in range(4):
        look.letter(axes[0, c], "abcd"[c], "σ₀ as std" if c % 2 == 0 else "σ₀ as variance")
        axes[1, c].set_xlabel("epoch")
    axes[0, 0].set_xlim(0, float(ds.epoch[-1]))
    axes[0, 0].xaxis.set_major_locator(MultipleLocator(5 if ds.epoch[-1] > 6 else 2))
    names = [f"{m}" for m in ds.line.values] if ds.attrs["over"] == "width" else [power(v) for v in ds.line.values]
    key(strip, "m =" if ds.attrs["over"] == "width" else "σ₀ =", names, colours, tail="P1: W₊ solid, W₋ dashed")
    return fig


def _axis(ax, name: str, protocol: str, values) -> None:
    """A logarithmic axis that holds the means of both readings and the bands above, and 1 as the least rank of P2."""
    mean = values.mean("run")
    low, high = float(mean.min()), float(mean.max())
    spread = 3.0 * values.std("run", ddof=1) if values.sizes["run"] > 1 else 0.0 * mean
    if name == "test_error":
        low = min(low, float(values.isel(epoch=slice(1, None)).min()))
        ticks = (0.02, 0.05, 0.1, 0.2, 0.5) if low < 0.05 else (0.1, 0.15, 0.2, 0.3, 0.5)
        log_axis(ax, (0.9 * low, 1.15 * max(high, float((mean + spread).max()))), ticks)
    elif protocol == "P2":
        log_axis(ax, (0.85, 1.4 * float((mean + spread).max())), (1, 3, 10, 30, 100, 300))
    else:
        ax.set_yscale("log")
        ax.set_ylim(0.3 * low, 2.0 * float((mean + spread).max()))


# Captions -------------------------------------------------------------------------------------------------------------


def _made(ds) -> str:
    """How the numbers were made."""
    where = ds.attrs["device"] or "an unnamed device"
    runs = ds.sizes["run"] * ds.sizes["line"] * len(READINGS) * len(PROTOCOLS)
    kept = f", kept in {ds.attrs['recorded']}/" if ds.attrs["recorded"] else ""
    return (
        f"Means of {ds.sizes['run']} runs, bands +-3 standard deviations; {runs} runs on {ds.attrs['images']:,} "
        f"images, batched: {float(ds.seconds):.0f} s on {where}{kept}."
    )


def _model(ds) -> str:
    name = "ReLU" if ds.attrs["slope"] == 0.0 else f"leaky ReLU, slope {ds.attrs['slope']:g}"
    return f"""MNIST, {name}, {int(ds.epoch[-1])} epochs of batch 64 and step 0.1. Top, P1: the paper's model, even
    digits against odd ones, fixed head +-1/m; rank of W_+ (solid) and W_- (dashed) less 1, its least value; a band that
    would reach 0 ends at a tenth of its mean. Bottom, P2: ten classes, both layers trained; rank of the first. The
    paper's "variance sigma_0" is read as a standard deviation, as in its Section 3 (a, c), and as a variance (b,
    d)."""


def _list(values, form: str) -> str:
    return ", ".join(format(float(v), form) for v in values)


def caption_scale(ds) -> str:
    one, two = means(ds, "stable_rank", "P1"), means(ds, "stable_rank", "P2")
    ends = [_list(means(ds, "stable_rank", p, "variance")[:, -1], ".3g") for p in PROTOCOLS]
    errors = [_list(means(ds, "test_error", p)[:, -1], ".3f") for p in PROTOCOLS]
    power = np.log((one[-1, 1] - 1.0) / (one[-2, 1] - 1.0)) / np.log(float(ds.line[-1] / ds.line[-2]))
    return f"""{_model(ds)} m = {ds.attrs["widths"][0]}. Read as std, the rank falls from {one[0, 0]:.0f} within an
    epoch at every scale: in P1 to {_list(one[:, 1], ".4g")} (SR - 1 grows like sigma_0^{power:.2f}: a part of rank one
    on top of the start), in P2 to {_list(two[:, 1], ".3g")}, and it ends at {_list(two[:, -1], ".3g")}, as more
    features are learnt. Read as a variance, the rank depends largely on the scale, as the text says: at the end
    {ends[0]} (P1) and {ends[1]} (P2). The test error hardly depends on either reading: at the end {errors[0]} (P1),
    {errors[1]} (P2). {_made(ds)}"""


def caption_width(ds) -> str:
    two, errors = means(ds, "stable_rank", "P2"), {p: means(ds, "test_error", p)[:, -1] for p in PROTOCOLS}
    before, last = (int(m) for m in ds.line.values[-2:])
    slope = "" if ds.attrs["slope"] == 0.0 else " The slope is not stated for this figure; 0.1 is that of Figure 3."
    return f"""{_model(ds)} sigma_0 = {ds.attrs["scale"]:g}.{slope} P2 shows what the text says: the rank at the end,
    {_list(two[:, -1], ".3g")}, depends weakly on the width (at the start {_list(two[:, 0], ".3g")}), m = 10 has the
    lowest and the largest test error, and from m = {before} to {last} little changes (errors
    {_list(errors["P2"], ".3f")}). In P1 the rank stays near 1 at every width, and m = 10 has the smallest error, not
    the largest ({_list(errors["P1"], ".3f")}): the head +-1/m makes wide networks learn slower. {_made(ds)}"""
