"""Figure 5 of [MMV24]: MNIST digits 0 and 1, neurons align before the loss falls."""

from functools import partial

from reluflow.papers.min2024 import _mnist

REQUIRES = ("mnist",)
SETTINGS = _mnist.settings([1, 0], last=6000)
STATED = {  # the paper states the take-off of this pair
    "paper": (*_mnist.STATED["paper"], "take-off on the full pair"),
    "handbook": ("take-off of the loss",),
}
compute = _mnist.compute
facts = partial(_mnist.facts, near=3000, aligned=2000)
draw = _mnist.draw
caption = _mnist.caption
