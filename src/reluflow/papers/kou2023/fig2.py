"""Figure 2 of [KCG23]: MNIST, ReLU, stable rank and test error for five initial scales."""

from reluflow.papers.kou2023 import _mnist

REQUIRES = ("mnist",)
SETTINGS = _mnist.over_scales(slope=0.0)
STATED = _mnist.STATED_SCALE
compute = _mnist.run
facts = _mnist.facts_scale
draw = _mnist.draw
caption = _mnist.caption_scale
