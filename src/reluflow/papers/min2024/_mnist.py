r"""Pairs of MNIST digits, as Figures 5 and 10 to 13 of [MMV24] show them.

Images of two digits minus their mean; h = 50, all weights N(0, 1e-12), descent with step 2e-3 and the mean exponential
loss (the reading that fits the text: early_alignment, section 4). The first digit of a pair is +1; captions do not say.

    wbar+ = mean of w_j over V+(t) = {v_j(t) > 0},   x+ = sum of the positive rows        (- likewise)
"""

from functools import lru_cache

import numpy as np

import reluflow as rf
from reluflow import observe
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.plot import look

STEP = 2e-3
ALL = {"10": 12_665, "38": 11_982, "17": 13_007}  # images of a pair in the training set
GROWTH = 11.9  # |x+|/n times the time at which |W| has grown from 1e-6 to where the loss moves
STATED = {
    "paper": (
        "cosines with the class sums",
        "cos(x+, x-)",
        "aligned by",
        "loss then",
        "stable rank",
        "alignment dips",
        "|W|_2^2 grows",
    ),
    "handbook": ("take-off of the loss", "take-off on the full pair"),
}


def settings(pair: list[int], last: int) -> dict[str, dict]:
    """400 images up to iteration `last`, or all of them."""
    same = dict(pair=pair, width=50, sigma=1e-6, seed=0, dtype="float32")
    return {"quick": dict(images=400, last=last, **same), "full": dict(images=0, last=15_000, **same)}


def compute(*, pair, images, width, sigma, seed, last, dtype):
    return run(tuple(pair), images, width, sigma, seed, last, dtype).copy()


def digits(pair, images: int, seed: int, centre: bool = True):
    """The pair's images, or so many of them (0: all)."""
    return rf.data.mnist(pair=tuple(pair), centre=centre, size=images or None, seed=seed)


@lru_cache(maxsize=4)
def run(pair: tuple, images: int, width: int, sigma: float, seed: int, last: int, dtype: str, frames: int = 121):
    """One run: loss, alignment of both groups, ranks; what the network and the classes look like at the end."""
    import xarray as xr

    data = digits(pair, images, seed)
    init = rf.init.gaussian(width, data.d, log_scale=float(np.log(sigma)), seed=seed)
    problem = rf.Problem(data, init, loss="exponential", reduction="mean")
    count = np.unique(np.linspace(0, last, frames).astype(int))
    sol = solve(problem, rf.Descent(step=STEP, dtype=dtype), t1=last * STEP, save=rf.Save(times=tuple(count * STEP)))
    sums = observe.class_sums(data).values
    bands, means, final = [], [], []
    for side, direction in zip((1.0, -1.0), sums, strict=True):
        unit = direction / np.linalg.norm(direction)
        mine = side * sol.a > 0
        size_of = np.exp(sol.log_norm - sol.log_norm.max(axis=1, keepdims=True))
        w = sol.w / np.linalg.norm(sol.w, axis=2, keepdims=True)
        cos = np.where(mine, w @ unit, np.nan)
        mean = np.einsum("fm,fmd->fd", mine * size_of, w)
        means.append(mean @ unit / np.linalg.norm(mean, axis=1))
        bands.append([np.nanmin(cos, axis=1), np.nanmax(cos, axis=1)])
        final.append(mean[-1] / np.linalg.norm(mean[-1]))
    from reluflow.observe._view import view
    from reluflow.observe.rank import singular

    values, top = singular(view(sol))
    x, y = data.x, data.y
    rng = np.random.default_rng([seed, 3])
    pick = np.concatenate([np.sort(rng.choice(np.flatnonzero(s * y > 0), 100, replace=False)) for s in (1, -1)])
    some = rng.choice(data.n, min(data.n, 2000), replace=False)
    signed = x[some] * y[some, None]
    gram = signed @ signed.T
    whole = digits(pair, images, seed, centre=False)
    found = {
        "loss": ("iteration", sol.loss),
        "stable_rank": ("iteration", np.sum(values**2, axis=1) / values[:, 0] ** 2),
        "spectral": ("iteration", (values[:, 0] * np.exp(top)) ** 2),
        "mean_cosine": (("side", "iteration"), np.array(means)),
        "least_cosine": (("side", "iteration"), np.array([b[0] for b in bands])),
        "most_cosine": (("side", "iteration"), np.array([b[1] for b in bands])),
        "gram": (("row", "column"), x[pick] @ x[pick].T),
        "neuron_image": (("side", "pixel"), np.array(final)),
        "class_image": (("side", "pixel"), np.array([x[s * y > 0].mean(axis=0) for s in (1, -1)])),
        "mean_image": ("pixel", whole.x.mean(axis=0)),
        "pull": float(np.linalg.norm(sums[0]) / data.n),
        "cos_sums": float(sums[0] @ sums[1] / np.linalg.norm(sums[0]) / np.linalg.norm(sums[1])),
        "negative_pairs": float(np.mean(gram[np.triu_indices(len(some), 1)] < 0)),
        "images": data.n,
    }
    pairs = "".join(str(k) for k in pair)
    note = "" if data.n == ALL.get(pairs) else f"quick: {data.n} of {ALL.get(pairs, 0):,} images"
    return xr.Dataset(found, coords={"iteration": count, "side": [1, -1]}, attrs={"pair": list(pair), "note": note})


def at(ds, name: str, k: float) -> float:
    return float(np.interp(k, ds.iteration, ds[name]))


def take_off(ds) -> float:
    """The iteration at which a tenth of the loss is gone."""
    loss, count = ds.loss.values, ds.iteration.values
    k = int(np.argmax(loss < 0.9))
    if k == 0:
        return np.nan
    return float(np.interp(-0.9, -loss[k - 1 : k + 1], count[k - 1 : k + 1]))


def facts(ds, near: float, aligned: int) -> list[Claim]:
    """What the three figures of this kind state. `near` is the take-off of the full pair, and `aligned` when it is
    aligned; on fewer images the take-off must be that of their own |x+|/n, 11.9 / (0.002 |x+|/n), to 10 %.

    At the start 50 cosines with a fixed direction in R^784 are normal with deviation 1/28: 4.5 of them for the largest.
    The dip is judged against the 0.002 or so by which the cosine still moves before the loss falls.
    """
    full = not ds.attrs["note"]
    start = max(float(np.abs(ds.least_cosine[:, 0]).max()), float(np.abs(ds.most_cosine[:, 0]).max()))
    when = take_off(ds)
    before = ds.mean_cosine.where(ds.iteration <= when)
    after = ds.mean_cosine.where(ds.iteration >= when)
    dip = float((before.max("iteration") - after.min("iteration")).max())
    late = ds.stable_rank.where(ds.iteration >= aligned)
    expected = GROWTH / (STEP * float(ds.pull))
    level = float(np.min([np.interp(aligned, ds.iteration, ds.mean_cosine[s]) for s in (0, 1)]))
    found = [
        Claim("cosines with the class sums at the start, largest", start, "<=", 4.5 / 28),
        Claim("cos(x+, x-): exactly -1 by centring (the paper: almost)", float(ds.cos_sums), "=", -1.0, slack=1e-9),
        Claim(f"aligned by {aligned}: cosine of the mean neurons", level, ">=", 0.95),
        Claim("loss then", at(ds, "loss", aligned), ">=", 0.95),
        Claim("take-off of the loss, 11.9/(0.002 |x+|/n) for these images", when, "=", expected, slack=0.1 * expected),
        Claim("stable rank from then on, largest", float(late.max()), "<=", 2.0),
        Claim("stable rank, smallest: about 1", float(late.min()), "=", 1.0, slack=0.1),
        Claim("alignment dips when the loss falls, by", dip, ">=", 0.002),
        Claim("|W|_2^2 grows with it: at the end", float(ds.spectral[-1]), ">=", 0.5),
    ]
    if full:
        found.append(Claim("take-off on the full pair near", when, "=", near, slack=0.1 * near))
    return found


# Drawing --------------------------------------------------------------------------------------------------------------


def alignment(ax, ds) -> None:
    """Cosines of the mean neurons with their class sum, and bands over all neurons of the group."""
    # One above the other, as in the paper: bands that overlap could not be told apart.
    for s, shift, colour in ((0, 1.4, look.PLUS), (1, 0.0, look.MINUS)):
        name = ("w̄₊ with x₊", "w̄₋ with x₋")[s]
        low, high, mean = (shift + values[s] for values in (ds.least_cosine, ds.most_cosine, ds.mean_cosine))
        ax.fill_between(ds.iteration, low, high, color=colour, alpha=0.22, lw=0)
        ax.plot(ds.iteration, mean, color=colour)
        ax.axhline(shift, color=look.FAINT, lw=0.4)
        ax.text(0.97 * float(ds.iteration[-1]), shift + 0.35, name, color=colour, fontsize=7, ha="right")
    ax.set_yticks([0.0, 0.5, 1.0, 1.4, 1.9, 2.4], ["0", "0.5", "1", "0", "0.5", "1"])
    ax.set(ylabel="cosine", ylim=(-0.2, 2.5), xlim=(0, float(ds.iteration[-1])))
    ax.text(0.97 * float(ds.iteration[-1]), 0.12, "bands: all neurons", color=look.FAINT, fontsize=6.5, ha="right")
    look.iterations(ax.xaxis)


def draw(ds):
    fig = look.figure(look.PAGE, 3.65)
    top, low = fig.subfigures(2, 1, height_ratios=[1.75, 1])
    axes = top.subplots(1, 4, width_ratios=[1.15, 1, 0.85, 0.85])
    reach = float(np.quantile(np.abs(ds.gram), 0.99))
    image = axes[0].imshow(ds.gram, cmap=look.signed(), vmin=-reach, vmax=reach, interpolation="nearest")
    top.colorbar(image, ax=axes[0], shrink=0.7, pad=0.02).outline.set_visible(False)
    look.blank(axes[0])
    plus, minus = ds.attrs["pair"]
    axes[0].set_xticks([50, 150], [f"digit {plus}", f"digit {minus}"])
    axes[0].tick_params(length=0)
    look.letter(axes[0], "a", "inner products")
    alignment(axes[1], ds)
    look.letter(axes[1], "b", "alignment")
    end = float(ds.iteration[-1])
    ax = axes[2]
    ax.plot(ds.iteration, ds.loss, color=look.INK)
    ax.plot(ds.iteration, ds.spectral, color=look.GREEN)
    ax.set(xlim=(0, end), ylim=(0, 1.05 * max(1.0, float(ds.spectral[-1]))))
    for y, text, colour in ((0.62, "|W|₂²", look.GREEN), (0.2, "loss", look.INK)):
        ax.text(0.95, y, text, color=colour, fontsize=7, ha="right", transform=ax.transAxes)
    look.iterations(ax.xaxis)
    look.letter(ax, "c", "loss and norm")
    ax = axes[3]
    ax.plot(ds.iteration, ds.stable_rank, color=look.THEORY)
    for level in (1, 2):
        ax.axhline(level, color=look.FAINT, lw=0.5, ls=":")
    ax.set(xlim=(0, end), yscale="log", ylim=(0.85, 1.2 * float(ds.stable_rank.max())))
    ax.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    ax.set_yticks([], minor=True)
    ax.set_ylim(0.85, 1.2 * float(ds.stable_rank.max()))
    look.iterations(ax.xaxis)
    look.letter(ax, "d", "stable rank")
    shown = [
        (ds.neuron_image[0], "w̄₊"),
        (ds.class_image[0], "mean of +"),
        (ds.neuron_image[0] * _scale(ds, 0) + ds.mean_image, "w̄₊ scaled + mean"),
        (ds.class_image[0] + ds.mean_image, f"digit {plus}"),
        (ds.neuron_image[1], "w̄₋"),
        (ds.class_image[1], "mean of −"),
        (ds.neuron_image[1] * _scale(ds, 1) + ds.mean_image, "w̄₋ scaled + mean"),
        (ds.class_image[1] + ds.mean_image, f"digit {minus}"),
    ]
    for k, (ax, (picture, name)) in enumerate(zip(low.subplots(1, 8), shown, strict=True)):
        picture = np.asarray(picture).reshape(28, 28)
        most = float(np.abs(picture).max())
        centred = k % 4 < 2
        ax.imshow(picture, cmap=look.signed() if centred else "Greys", vmin=-most if centred else 0.0, vmax=most)
        look.blank(ax)
        ax.set_title(name, fontsize=6.5, loc="center")
    low.suptitle("$\\bf{e}$  mean neurons and mean images", x=0.008, ha="left", fontsize=8.5)
    return fig


def _scale(ds, s: int) -> float:
    """Brings the mean neuron to the size of its class mean, so that the two can be added to the global mean."""
    return float(np.linalg.norm(ds.class_image[s]) / np.linalg.norm(ds.neuron_image[s]))


def caption(ds) -> str:
    plus, minus = ds.attrs["pair"]
    return f"""MNIST digits {plus} (+1) and {minus} (-1), {int(ds.images):,} centred images. a: inner products of 100
    images of each ({100 * float(ds.negative_pairs):.1f}% of label-signed pairs are negative, so the assumption holds
    only roughly). b: neurons start almost orthogonal to the class sums and align with them long before anything is
    learnt; alignment dips when the loss falls. c: then |W|_2^2 grows and the loss falls, at iteration
    {take_off(ds):,.0f}. d: the stable rank falls from {float(ds.stable_rank[0]):.0f} to about 1. e: mean neurons look
    like the class means; with the global mean added back they are first brought to the norm of their class mean, as a
    neuron's size means nothing there. Mean exponential loss, the reading that fits the text's iterations; which digit
    is +1 is not said."""
