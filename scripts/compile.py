"""Compiles kernels before the tests: `python scripts/compile.py flow windows descent`, any of the three."""

import sys

import numpy as np

import reluflow as rf
from reluflow.drive import exact as flow

small = rf.Problem(rf.data.two_points(), rf.init.balanced(4, 2))
for part in sys.argv[1:]:
    if part == "flow":
        rf.solve(small)
    elif part == "windows":
        flow.BLAS_ABOVE = 0
        machine = flow.Machine(small, 1e-6, 1.0)
        machine.mode = None  # the windows alone: what else a run needs is compiled beside this
        machine.st.code[:] = 0
        machine.run.step = np.finfo(float).tiny
        machine._windows(0)
    elif part == "descent":
        for forward in (True, False):
            rf.solve(small, rf.Descent(step=1e-2, fast_forward=forward), t1=1.0)
        rf.solve(small, rf.Descent(step=1e-2, dtype="float32"), t1=1.0)
    else:
        raise SystemExit(f"`{part}` is not one of flow, windows, descent.")
