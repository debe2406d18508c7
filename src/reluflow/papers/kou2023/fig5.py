"""Figure 5 of [KCG23]: MNIST, leaky ReLU, stable rank and test error for five widths."""

from reluflow.papers.kou2023 import _mnist

REQUIRES = ("mnist",)
SETTINGS = _mnist.over_widths(slope=0.1)
STATED = _mnist.STATED_WIDTH
compute = _mnist.run
facts = _mnist.facts_width
draw = _mnist.draw
caption = _mnist.caption_width
