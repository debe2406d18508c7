r"""The stable rank of the first layer, |W|_F^2 / |W|_2^2, over all neurons or some."""

import numpy as np

from reluflow._checks import one_output
from reluflow.observe._view import view


def singular(seen, chosen=None) -> tuple[np.ndarray, np.ndarray]:
    """Singular values of W / e^s and s = max_j log|w_j|, per frame; `chosen` (frames, width) are the rows that count.

    The largest norm is scaled out first, so the values are right at e^-100000; rows below it by e^-745 count as 0.
    """
    logs = seen.log_norm if chosen is None else np.where(chosen, seen.log_norm, -np.inf)
    top = np.max(logs, axis=1)
    with np.errstate(invalid="ignore"):
        size = np.where(np.isfinite(logs), np.exp(logs - top[:, None]), 0.0)
    return np.linalg.svd(seen.unit * size[..., None], compute_uv=False), top


def stable_rank(sol, group=None, t=None, *, log_t=None):
    """|W|_F^2 / |W|_2^2: dim frame. `group` is None for all neurons, "+" or "-" for those with that sign of a_j at the
    time, or a list of neurons."""
    seen = view(sol, t, log_t)
    if group is None:
        chosen = None
    elif isinstance(group, str):
        if group not in ("+", "-"):
            raise ValueError(f'`group` must be "+", "-", a list of neurons or None, got {group!r}.')
        one_output(seen.problem, f'`group="{group}"`', "give a list of neurons")
        chosen = seen.a > 0 if group == "+" else seen.a < 0
    else:
        chosen = np.zeros(seen.log_norm.shape, bool)
        chosen[:, np.asarray(group, dtype=int)] = True
    values, _ = singular(seen, chosen)
    square = values**2
    with np.errstate(invalid="ignore"):
        return seen.array(np.sum(square, axis=1) / square[:, 0], ("frame",), "stable_rank")
