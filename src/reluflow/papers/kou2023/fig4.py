"""Figure 4 of [KCG23]: MNIST, ReLU, stable rank and test error for five widths."""

from __future__ import annotations

from reluflow.papers.kou2023 import _mnist

REQUIRES = ("mnist",)
SETTINGS = {
    "quick": dict(slope=0.0, widths=[10, 50, 100], scales=[1e-5], **_mnist.QUICK),
    "full": dict(slope=0.0, widths=[10, 50, 100, 500, 1000], scales=[1e-5], **_mnist.FULL),
}
STATED = {
    "paper": (
        "P2, std",
        "P2, variance",
    ),
}


def compute(**settings):
    return _mnist.run(**settings)


def facts(ds):
    return _mnist.facts_width(ds)


def draw(ds):
    return _mnist.draw(ds)


def caption(ds) -> str:
    return _mnist.caption_width(ds)
