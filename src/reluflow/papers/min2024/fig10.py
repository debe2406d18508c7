"""Figure 10 of [MMV24]: MNIST digits 3 and 8, as Figure 5."""

from functools import partial

from reluflow.papers.min2024 import _mnist

REQUIRES = ("mnist",)
SETTINGS = _mnist.settings([3, 8], last=9600)
STATED = _mnist.STATED
compute = _mnist.compute
facts = partial(_mnist.facts, near=6300, aligned=4600)
draw = _mnist.draw
caption = _mnist.caption
