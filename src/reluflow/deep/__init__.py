"""Small fully connected ReLU networks of any depth, by plain gradient descent, with the norms of their layers.

teacher = rf.deep.init((100, 50, 50, 50, 50, 1), std=0.14, seed=1)
x = numpy.random.default_rng([0, 1]).normal(size=(1000, 100))
run = rf.deep.train(rf.deep.init(teacher.widths, std=0.04, seed=0), rf.Data(x, teacher(x)), step=8e-4, iterations=1000)
run.norm, run.norms, run.legs()
"""

from reluflow.deep.network import Network, init
from reluflow.deep.train import Run, train

__all__ = ["Network", "Run", "init", "train"]
