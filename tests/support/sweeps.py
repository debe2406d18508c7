"""Sweeps that tests share, and how two of them are compared."""

import numpy as np

import reluflow as rf
from reluflow.sweep.dataset import WALL

KEEP = ["final.log_loss", "final.log_moved", "events.count", "time.below.0.9", "log_loss"]


def experiment(**changes) -> rf.Experiment:
    """Four neurons on the five points: a few milliseconds a run."""
    small = rf.Experiment(
        data={"kind": "five_points"},
        init={"kind": "balanced", "width": 4, "log_scale": -6.0, "seed": 0},
        method={"kind": "flow", "rtol": 1e-6},
        solve={"t1": 60.0},
    )
    return small.changed({k.replace("__", "."): v for k, v in changes.items()})


def assert_same(a, b):
    """Every number and text equal, bit for bit, but for wall times."""
    assert set(a.variables) == set(b.variables)
    for name in a.variables:
        if name not in WALL:
            x, y = a[name].values, b[name].values
            assert x.dtype.kind == y.dtype.kind and x.shape == y.shape, name
            np.testing.assert_array_equal(x, y, err_msg=name)
    assert a.attrs["key"] == b.attrs["key"]
