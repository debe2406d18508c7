"""Figure 3 of [KCG23]: MNIST, leaky ReLU, stable rank and test error for five initial scales."""

from __future__ import annotations

from reluflow.papers.kou2023 import _mnist

REQUIRES = ("mnist",)
SETTINGS = {
    "quick": dict(slope=0.1, widths=[50], scales=[1e-5, 1e-4, 1e-3], **_mnist.QUICK),
    "full": dict(slope=0.1, widths=[1000], scales=[1e-5, 5e-5, 1e-4, 5e-4, 1e-3], **_mnist.FULL),
}
STATED = {
    "paper": (
        "P1: smallest scale",
        "P2: smallest scale",
        "P1, variance: SR at the end",
        "P2, variance: SR at the end",
    ),
}


def compute(**settings):
    return _mnist.run(**settings)


def facts(ds):
    return _mnist.facts_scale(ds)


def draw(ds):
    return _mnist.draw(ds)


def caption(ds) -> str:
    return _mnist.caption_scale(ds)
