"""Sweeps: an experiment over lists of values, on all cores or a cluster, as one labelled dataset.

rf.sweep(experiment, over={"init.log_scale": [-4.0, -16.0], "init.seed": range(20)}, keep=["final.log_loss"])

design.py    which points: a grid, a list, random, a Latin hypercube
keep.py      which quantities of each run
point.py     one point, one task: the code of a worker
pool.py      where tasks run: this process, a local cluster, a scheduler by address
folder.py    storage: one file per finished task, renamed into place
dataset.py   the result
driver.py    `sweep` itself
"""

from reluflow.sweep.driver import Progress, sweep
from reluflow.sweep.folder import load
from reluflow.sweep.keep import QUANTITIES

__all__ = ["QUANTITIES", "Progress", "load", "sweep"]
