"""Figure 11 of [MMV24]: MNIST digits 1 and 7, as Figure 5."""

from functools import partial

from reluflow.papers.min2024 import _mnist

REQUIRES = ("mnist",)
SETTINGS = _mnist.settings([1, 7], last=7200)
STATED = _mnist.STATED
compute = _mnist.compute
facts = partial(_mnist.facts, near=4400, aligned=3200)
draw = _mnist.draw
caption = _mnist.caption
