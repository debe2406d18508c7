"""Figure 4 of [LSY23]: the magnitude of a fully connected network of depth 5, from small and large norms."""

import json

import numpy as np

from reluflow.claim import Claim
from reluflow.deep.train import legs
from reluflow.papers.lee2023 import _deep
from reluflow.plot import look

SCAN = [0.02, 0.05, 0.1, 0.14, 0.2, 0.25, 0.3, 0.44, 0.6, 0.8]
SHAPE = dict(d=100, hidden=50, depth=5, small=[0.04, 8e-4], large=[0.44, 1e-4], seed=0, scan=SCAN)
QUICK = dict(n=500, targets=[0.2], faster=10, small_last=20_000, middle_last=3000, large_last=1000, fine_last=2000)
FULL = dict(
    n=10_000, targets=[0.2, 0.14], faster=1, small_last=100_000, middle_last=100_000, large_last=30_000,
    fine_last=100_000,
)  # fmt: skip
SETTINGS = {
    "quick": dict(**QUICK, **SHAPE, dtype="float32", device=None, recordings=True),
    "full": dict(**FULL, **SHAPE, dtype="float64", device="gpu", recordings=True),
}
LINE = 0.02
STATED = {"paper": ("SN, target", "LN, target", "time until"), "handbook": ("k = 0.44 a variance",)}


def compute(*, device, recordings, **sizes):
    import xarray as xr

    cases = _deep.cases(**sizes)
    known = _deep.recorded() if recordings else {}
    runs = [known.get(case.key) or _deep.train(case, device) for case in cases]
    frames = max(len(run["loss"]) for run in runs)

    def column(name):
        shapes = [np.asarray(run[name], float) for run in runs]
        return np.stack([np.concatenate([a, np.full((frames - len(a), *a.shape[1:]), np.nan)]) for a in shapes])

    each = lambda name: [getattr(case, name) for case in cases]
    ds = xr.Dataset(
        {
            "iteration": (("case", "frame"), column("iteration")),
            "loss": (("case", "frame"), column("loss")),
            "norms": (("case", "frame", "layer"), column("norms")),
            **{name: ("case", each(name)) for name in ("std", "step", "last", "target")},
        },
        {"case": each("name"), "layer": 1 + np.arange(sizes["depth"])},
        {
            "n": sizes["n"],
            "faster": sizes["faster"],
            "shape": json.dumps([sizes["d"], sizes["hidden"], sizes["depth"]]),
        },
    )
    if sizes["n"] < 10_000:
        ds.attrs["note"] = (
            f"quick: n = {sizes['n']}, fewer iterations, SN with {sizes['faster']} times the paper's step"
        )
    ds.attrs["recorded"] = int(all(case.key in known for case in cases))
    return ds


# Facts ----------------------------------------------------------------------------------------------------------------


def curves(ds, name: str, target: float):
    """Frames of one case: (iteration, loss, norm of all parameters, norms of the layers), up to where it overflowed."""
    k = int(np.flatnonzero((ds.case.values == name) & (ds.target.values == target))[0])
    one = ds.isel(case=k)
    there = np.isfinite(one.loss.values)
    norms = one.norms.values[there]
    return one.iteration.values[there], one.loss.values[there], np.sqrt(np.sum(norms**2, axis=1)), norms


def time_to(ds, name: str, target: float, share: float) -> float:
    """Training time (iterations times step) until the loss is `share` of its start; inf if never."""
    count, loss, _, _ = curves(ds, name, target)
    below = np.flatnonzero(loss <= share * loss[0])
    step = float(ds.step.values[(ds.case.values == name) & (ds.target.values == target)][0])
    return step * float(count[below[0]]) if len(below) else np.inf


def targets_of(ds) -> list[float]:
    """The targets of whole runs, without those of the scan."""
    return list(dict.fromkeys(float(t) for t in ds.target.values[ds.case.values == "SN"]))


def leaps(ds) -> tuple[np.ndarray, np.ndarray]:
    """Of every target of the scan: its scale, and the largest norm of all parameters in LN's first steps, over the
    start; infinite where it overflows."""
    scales = ds.target.values[ds.case.values == "LN first steps"]
    last = float(ds["last"].values[ds.case.values == "LN first steps"][0])
    most = []
    for target in scales:
        count, _, norm, _ = curves(ds, "LN first steps", float(target))
        most.append(norm.max() / norm[0] if count[-1] == last and norm[-1] < 100 * norm[0] else np.inf)
    return scales, np.array(most)


def against(curve, way: int) -> float:
    """The largest move of a curve against its way (1 up, -1 down), as a share of its range."""
    c = way * np.asarray(curve)
    return float(np.max(np.maximum.accumulate(c) - c) / np.ptp(c))


def facts(ds) -> list[Claim]:
    r"""The paper: from a small norm the magnitude only rises, from a large one it only falls, and the small one is
    slower. Magnitude is read as the norm of all parameters, and as |W_1|. "Only" is judged as a picture shows it: a
    move the other way is below a line's width, 2% of the range.

    At the paper's step a large start leaps in its first steps, whatever the target's scale, which the paper does not
    give: there |W_1| is judged, and all parameters at a tenth of the step. Along the flow |W_l|^2 - |W_k|^2 is
    constant, so that all squared norms must grow alike, up to O(eta). The conjecture of Section 5.2, a fall and then a
    rise, is judged where the start is as large as the target (k = 0.04 a variance, target 0.2); there a reversal counts
    above 1e-3 of a curve's range.
    """
    claims = []
    for target in targets_of(ds):
        of = f", target {target:g}"
        _, _, norm, norms = curves(ds, "SN", target)
        growth = norms[-1] ** 2 - norms[0] ** 2
        spread = float(np.ptp(growth) / growth.mean())
        large = curves(ds, "LN", target)[3][:, 0]
        times = [time_to(ds, name, target, 0.1) for name in ("SN", "LN")]
        count, _, blown, _ = curves(ds, "LN variance", target)
        claims += [
            Claim(f"SN{of}: largest fall of the norm of all parameters, of its range", against(norm, 1), "<=", LINE),
            Claim(f"SN{of}: largest fall of |W_1|, of its range", against(norms[:, 0], 1), "<=", LINE),
            Claim(f"SN{of}: the norm at the end over the start", norm[-1] / norm[0], ">", 1.05),
            Claim(f"SN{of}: growth of |W_l|^2, spread over the layers, of their mean", spread, "<=", 0.01),
            Claim(f"LN{of}: largest rise of |W_1|, of its range", against(large, -1), "<=", LINE),
            Claim(f"LN{of}: |W_1| at the end over the start", large[-1] / large[0], "<", 1.0),
            Claim(f"time until the loss is a tenth{of}: SN over LN", times[0] / times[1], ">", 100),
            Claim(f"k = 0.44 a variance{of}: norm after 3 steps over its start", _early(count, blown), ">", 1e4),
        ]
    first = float(ds.target.values[0])
    _, _, norm, _ = curves(ds, "LN fine", first)
    both = sum(legs(w) == (-1, 1) for w in curves(ds, "SN variance", first)[3].T)
    fine = f"LN, a tenth of the step, target {first:g}"
    _, most = leaps(ds)
    many = f"LN at the paper's step, {len(most)} targets from {min(SCAN):g} to {max(SCAN):g}"
    return [
        *claims,
        Claim(f"{many}: least leap of the norm of all parameters", float(most.min()) - 1.0, ">", 0.01),
        Claim(f"{fine}: largest rise of the norm, of its range", against(norm, -1), "<=", LINE),
        Claim(f"{fine}: the norm at the end over the start", norm[-1] / norm[0], "<", 1.0),
        Claim(f"k = 0.04 a variance, target {first:g}: layers that fall, then rise", both, "=", ds.sizes["layer"]),
    ]


def _early(count, norm) -> float:
    """The largest norm in the first three iterations, over the start."""
    return float(norm[count <= 3].max() / norm[0])


# Picture --------------------------------------------------------------------------------------------------------------


PANELS = (
    ("SN", "a", "SN: k = 0.04 a standard deviation"),
    ("LN", "b", "LN: k = 0.44 a standard deviation"),
    ("SN variance", "c", "k = 0.04 a variance"),
    ("LN fine", "d", "LN at a tenth of the step"),
)


HEIGHTS = {"SN": 0.74, "LN": 0.65, "SN variance": 0.1, "LN fine": 0.72}  # where a panel has room


def _short(loss: float) -> str:
    return f"{loss:,.0f}" if loss >= 100 else f"{loss:.2g}"


def draw(ds):
    fig = look.figure(look.PAGE, 3.9)
    targets = targets_of(ds)
    grid = fig.subplots(2, 3, width_ratios=[1.25, 1.25, 1])
    for ax, (name, letter, title) in zip(grid[:, :2].ravel(), PANELS):
        ax.axhline(1.0, color=look.FAINT, lw=0.6)
        for k, target in enumerate(targets):
            if not np.any((ds.case.values == name) & (ds.target.values == target)):
                continue
            count, loss, norm, norms = curves(ds, name, target)
            step = float(ds.step.values[(ds.case.values == name) & (ds.target.values == target)][0])
            paper = ds.attrs["faster"] if name == "SN" else 1
            for curve, colour, width in ((norms[:, 0], look.GREEN, 1.3), (norm, look.MINUS, 2.0)):
                ax.plot(paper * count, curve / curve[0], color=colour, lw=width, ls="-" if k == 0 else (0, (3, 1.5)))
            if k == 0:
                text = f"step {step / paper:g}\nloss {_short(loss[0])} → {_short(loss[-1])}"
                ax.text(
                    0.97,
                    HEIGHTS[name],
                    text,
                    color=look.FAINT,
                    fontsize=7,
                    ha="right",
                    va="center",
                    transform=ax.transAxes,
                )
        look.letter(ax, letter, title)
        look.iterations(ax.xaxis)
        ax.set_xlim(0, None)
        ax.margins(y=0.14)
        ax.ticklabel_format(axis="y", useOffset=False)
    axes = list(grid[:, :2].ravel())
    low, high = axes[2].get_ylim()
    axes[2].set_ylim(low - 0.2 * (high - low), high)
    for ax in (axes[0], axes[2]):
        ax.set_ylabel("norm over its start")
    _scan(grid[0, 2], ds)
    look.blank(grid[1, 2])
    lines = [("all parameters", look.MINUS), ("first layer |W₁|", look.GREEN)]
    if len(targets) > 1:
        lines += [(f"solid: target {targets[0]:g}", look.INK), (f"dashed: target {targets[1]:g}", look.INK)]
    for k, (text, colour) in enumerate(lines):
        grid[1, 2].text(0.1, 0.8 - 0.13 * k, text, color=colour, fontsize=7.5, transform=grid[1, 2].transAxes)
    return fig


def _scan(ax, ds) -> None:
    """How far the norm leaps at the paper's step, by the target's scale; crosses where it overflows."""
    scales, most = leaps(ds)
    fine = np.isfinite(most)
    ax.axhline(1.0, color=look.FAINT, lw=0.6)
    ax.plot(scales[fine], most[fine], "o", color=look.MINUS, ms=4)
    top = 1.0 + 1.6 * float(most[fine].max() - 1.0)
    ax.plot(scales[~fine], np.full(int(np.sum(~fine)), top), "x", color=look.PLUS, ms=5, mew=1.5, clip_on=False)
    ax.set(ylim=(1.0 - 0.3 * (top - 1.0), top), xlim=(0, None), xlabel="target's standard deviation")
    ax.text(0.95, 0.86, "blows up", color=look.PLUS, fontsize=7, ha="right", transform=ax.transAxes)
    look.letter(ax, "e", "LN: largest, 60 steps")


def caption(ds) -> str:
    d, hidden, depth = json.loads(ds.attrs["shape"])
    targets = targets_of(ds)
    scales, most = leaps(ds)
    lost = ", ".join(f"{scale:g}" for scale in scales[np.isinf(most)])
    blown = f" and blows up for {lost}" if lost else ""
    _, _, norm, _ = curves(ds, "LN", targets[0])
    leap = norm.max() / norm[0] - 1
    first = (
        f"its first steps overshoot and the norm of all parameters leaps by {100 * leap:.1f}%"
        if leap > 1e-3
        else "all parameters fall with it"
    )
    stds = " (solid) and ".join(f"{t:g}" for t in targets) + (" (dashed)" if len(targets) > 1 else "")
    dashed = _other(ds, targets[1]) if len(targets) > 1 else ""
    made = " Recorded on a GPU (`benchmarks/lee2023_full`)." if ds.attrs["recorded"] else ""
    return f"""Norms of a fully connected network of depth {depth}, hidden width {hidden}, input {d}, no biases, trained
    by descent on {ds.attrs["n"]} Gaussian points towards a network of the same shape; blue all parameters, green |W₁|,
    each over its start. From a small norm the magnitude rises (a), from a large one |W₁| falls (b): at the paper's step
    {first}; at a tenth of it every layer falls all along (d). A start as large as the target falls, then rises (c):
    the paper's conjecture of two phases.{dashed} The paper does not give the target's scale: here its weights have
    standard deviation {stds}; (e) scans it: at the paper's step the norm of all parameters leaps by
    {100 * (most.min() - 1):.1f}% or more for every target{blown}, so that "strictly decreases" is not found at this
    step for any of them. Read as a variance, k = 0.44 blows up within three steps, so k is taken for a standard
    deviation in a, b and d.{made}"""


def _other(ds, target: float) -> str:
    """What the second target's run does in (c)."""
    way = legs(curves(ds, "SN variance", target)[2])
    ratio = float(ds["std"].values[ds.case.values == "SN variance"][0]) / target
    does = {(-1,): "only falls in this time", (-1, 1): "does the same", (1,): "only rises"}.get(way, "wavers")
    return f" One {ratio:.1f} times as large as its target (dashed) {does}."
