"""Figure 10 of [MMV24]: MNIST digits 3 and 8, as Figure 5."""

from __future__ import annotations

REQUIRES = ("mnist",)
SETTINGS = {
    "quick": dict(pair=[3, 8], images=400, width=50, sigma=1e-6, seed=0, last=9600, dtype="float32"),
    "full": dict(pair=[3, 8], images=0, width=50, sigma=1e-6, seed=0, last=15_000, dtype="float32"),
}
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
    "handbook": (
        "take-off of the loss",
        "take-off on the full pair",
    ),
}


def compute(*, pair, images, width, sigma, seed, last, dtype):
    from reluflow.papers.min2024 import _mnist

    return _mnist.run(tuple(pair), images, width, sigma, seed, last, dtype).copy()


def facts(ds):
    from reluflow.papers.min2024 import _mnist

    return _mnist.facts(ds, near=6300, aligned=4600)


def draw(ds):
    from reluflow.papers.min2024 import _mnist

    return _mnist.draw(ds)


def caption(ds) -> str:
    from reluflow.papers.min2024 import _mnist

    return _mnist.caption(ds)
