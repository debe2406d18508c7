"""The hard-margin linear classifier."""

from __future__ import annotations

import numpy as np

import reluflow as rf


def hard_margin(data: rf.Data) -> np.ndarray:
    """The unit vector b with the largest least y <b, x>: the dual, a nonnegative least squares problem.

    The closest point of the convex hull of y_i x_i to 0 is sum_i c_i y_i x_i with c >= 0, sum c = 1; b points to it.
    Found as nonnegative least squares with the sum as one more, heavy, row, and then exactly on its support.
    """
    from scipy.optimize import nnls

    z = data.y[:, None] * data.x
    heavy = 1e4 * np.max(np.abs(z))
    c, _ = nnls(np.vstack([z.T, np.full(len(z), heavy)]), np.append(np.zeros(z.shape[1]), heavy))
    on = c > 1e-9 * c.max()
    gram = z[on] @ z[on].T
    c = np.linalg.lstsq(gram, np.ones(on.sum()), rcond=None)[0]  # all support vectors at the same margin
    b = c @ z[on]
    return b / np.linalg.norm(b)
