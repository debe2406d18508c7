"""The panel of the poster of [MMV24]: the toy's neurons, the two phases of its training, and MNIST alignment."""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.papers.min2024 import _mnist, _plane
from reluflow.plot import look

REQUIRES = ("mnist",)
SETTINGS = {
    "quick": dict(images=400, width=50, sigma=1e-6, seed=0, toy_last=40_000, last=6000, dtype="float32"),
    "full": dict(images=0, width=50, sigma=1e-6, seed=0, toy_last=40_000, last=15_000, dtype="float32"),
}
STATED = {"paper": ("toy", "MNIST")}


def compute(*, images, width, sigma, seed, toy_last, last, dtype):
    toy = _plane.run(rf.data.toy_plane(), width=width, sigma=sigma, seed=seed, panels=[0, 10_000], last=toy_last)
    digits = _mnist.run((1, 0), images, width, sigma, seed, last, dtype)
    names = ["loss", "mean_cosine", "least_cosine", "most_cosine"]
    ds = digits[names].rename({n: f"mnist_{n}" for n in names} | {"iteration": "step"})
    return toy.merge(ds).assign_attrs(note=digits.attrs["note"], pair=digits.attrs["pair"])


def facts(ds) -> list[Claim]:
    """The poster: directions move first, norms and loss later; the same on MNIST."""
    move, grow = ds.direction_change, ds.norm_change
    hump, peak = int(np.argmax(move.values)), int(np.argmax(grow.values))
    aligned = ds.sel(iteration=10_000)
    wrong = (aligned.cone != 3) & (aligned.cone != np.where(aligned.sign > 0, 1, 2))
    k = int(np.argmax(ds.mnist_loss.values < 0.9))
    return [
        Claim("toy: living neurons outside their cone at 10000", int(wrong.sum()), "=", 0),
        Claim(
            "toy: directions change most before norms do, iterations",
            float(ds.iteration[hump]),
            "<",
            float(ds.iteration[peak]),
        ),
        Claim(
            "toy: norm change while directions move most, share of its peak", float(grow[hump] / grow[peak]), "<=", 0.01
        ),
        Claim(
            "MNIST: cosine of the mean neurons before the loss falls",
            float(ds.mnist_mean_cosine[:, k].min()),
            ">=",
            0.95,
        ),
    ]


def draw(ds):
    fig = look.figure(look.PAGE, 2.2)
    left, middle, right = fig.subplots(1, 3, width_ratios=[1, 1.15, 1.15])
    _plane.state(left, ds, 10_000)
    look.letter(left, "a", "aligned neurons")
    rows = (
        (ds.loss, "loss", look.INK),
        (ds.direction_change, "directions", look.PURPLE),
        (ds.norm_change, "norms", look.GREEN),
    )
    for values, _, colour in rows:
        middle.plot(ds.iteration, values / float(values.max()), color=colour)
    for y, (_, name, colour) in zip((0.94, 0.85, 0.76), rows, strict=True):
        text = name if name == "loss" else f"change of {name}"
        middle.text(0.98, y, text, color=colour, fontsize=7, ha="right", transform=middle.transAxes)
    middle.set(ylabel="share of its largest", xlim=(0, float(ds.iteration[-1])), ylim=(0, 1.6), yticks=[0, 0.5, 1])
    look.iterations(middle.xaxis)
    look.letter(middle, "b", "two phases")
    names = {f"mnist_{n}": n for n in ("mean_cosine", "least_cosine", "most_cosine")}
    _mnist.alignment(right, ds[list(names)].rename(names | {"step": "iteration"}))
    look.letter(right, "c", "MNIST 1 and 0")
    return fig


def caption(ds) -> str:
    return """What the poster shows, from runs. a: the toy of Figure 6 at iteration 10,000, every neuron in its cone
    or dead. b: its loss, and how fast directions and norms change, each over its largest: directions first, then
    norms and loss, once for each class. c: alignment of the mean neurons with the class sums on MNIST. The poster
    states the assumption as cosines >= mu within a class and <= -mu across; its data are not given."""
