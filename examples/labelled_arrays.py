"""A run as labelled arrays: which neurons are left at the end, and where their kinks are."""

import numpy as np

import reluflow as rf

problem = rf.Problem(rf.data.five_points(), rf.init.balanced(width=60, dim=2, log_scale=-11.26, seed=0))
ds = rf.solve(problem, t1=600.0).to_xarray()
print(ds)

last = ds.isel(frame=-1)
big = last.log_norm.values > np.log(1e-2)
kinks = -last.w.values[big, 1] / last.w.values[big, 0]
for sign in (1, -1):
    print("a > 0:" if sign > 0 else "a < 0:", np.unique(kinks[last.sign.values[big] == sign].round(3)))
