"""Figure 5 of [MMV24]: MNIST digits 0 and 1, neurons align before the loss falls."""

from __future__ import annotations

REQUIRES = ("mnist",)
SETTINGS = {
    "quick": dict(pair=[1, 0], images=400, width=50, sigma=1e-6, seed=0, last=6000, dtype="float32"),
    "full": dict(pair=[1, 0], images=0, width=50, sigma=1e-6, seed=0, last=15_000, dtype="float32"),
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
        "take-off on the full pair",
    ),
    "handbook": ("take-off of the loss",),
}


def compute(*, pair, images, width, sigma, seed, last, dtype):
    from reluflow.papers.min2024 import _mnist

    return _mnist.run(tuple(pair), images, width, sigma, seed, last, dtype).copy()


def facts(ds):
    from reluflow.papers.min2024 import _mnist

    return _mnist.facts(ds, near=3000, aligned=2000)


def draw(ds):
    from reluflow.papers.min2024 import _mnist

    return _mnist.draw(ds)


def caption(ds) -> str:
    from reluflow.papers.min2024 import _mnist

    return _mnist.caption(ds)
