r"""Rates of change of norms and directions, from the vector field, not from differences.

    w_j' = a_j D_j     =>     (log|w_j|)' = (b_j/|q_j|) <D_j, u_j>,    (w_j/|w_j|)' = (b_j/|q_j|) (D_j - <D_j, u_j> u_j)
    |grad L|^2 = sum_j a_j^2 |D_j|^2 + <D_j, w_j>^2,     u_j = w_j/|w_j|

With several outputs w_j' = M_j^T a_j and a_j' = M_j w_j take the place of a_j D_j and <D_j, w_j>.

b_j / |q_j| is the sign of a_j for balanced neurons. Decay is subtracted from (log|w_j|)' and turns no direction.
"""

import numpy as np

from reluflow.observe._view import log_abs, view


def _ratio(seen) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(seen.norm > 0, seen.a / seen.norm, 0.0)


def _along(seen) -> np.ndarray:
    """<D_j, u_j> / e^scale."""
    return np.sum(seen.pull * seen.unit, axis=-1)


def _motion(seen) -> tuple[np.ndarray, np.ndarray]:
    """With several outputs: (w_j / |w_j|)' without what changes the length, and (log|w_j|)', both over e^scale."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(seen.norm[..., None] > 0, seen.push / seen.norm[..., None], 0.0)
    along = np.sum(rate * seen.unit, axis=-1)
    return rate - along[..., None] * seen.unit, along


def log_norm_rate(sol, t=None, *, log_t=None):
    """(log|w_j|)': dims frame, neuron."""
    seen = view(sol, t, log_t)
    grow = _ratio(seen) * _along(seen) if seen.problem.outputs == 1 else _motion(seen)[1]
    found = grow * np.exp(seen.drive[1])[:, None] - seen.problem.decay
    return seen.array(found, ("frame", "neuron"), "log_norm_rate")


def norm_change(sol, t=None, *, log_t=None):
    """(|w_j|^2)' as drawn in Figures 12 and 13 of Min et al.: dims frame, neuron; 0 where |w_j|^2 underflows."""
    rate = log_norm_rate(sol, t, log_t=log_t)
    found = 2.0 * rate.values * np.exp(2.0 * view(sol, t, log_t).log_norm)
    return rate.copy(data=found).rename("norm_change")


def direction_rate(sol, t=None, *, log_t=None):
    """|(w_j/|w_j|)'|: dims frame, neuron."""
    seen = view(sol, t, log_t)
    if seen.problem.outputs > 1:
        speed = np.linalg.norm(_motion(seen)[0], axis=-1)
    else:
        across = seen.pull - _along(seen)[..., None] * seen.unit
        speed = np.abs(_ratio(seen)) * np.linalg.norm(across, axis=-1)
    found = speed * np.exp(seen.drive[1])[:, None]
    return seen.array(found, ("frame", "neuron"), "direction_rate")


def log_gradient(sol, t=None, *, log_t=None):
    """log |grad L|^2 over both layers (the first alone where only that is trained), L without decay: dim frame."""
    seen = view(sol, t, log_t)
    if seen.problem.outputs > 1:
        square = np.sum(seen.push**2, axis=-1)
        if sol.problem.train == "both":
            square = square + np.sum(seen.turn**2, axis=-1)
    else:
        square = seen.a**2 * np.sum(seen.pull**2, axis=-1)
        if sol.problem.train == "both":
            square = square + (_along(seen) * seen.norm) ** 2
    logs = 2.0 * seen.log_scale + log_abs(square)
    total = np.logaddexp.reduce(logs, axis=1) + 2.0 * seen.drive[1]
    return seen.array(total, ("frame",), "log_gradient")


def pl_ratio(sol, t=None, *, log_t=None):
    """|grad L|^2 / L, the constant of the Polyak-Lojasiewicz inequality at each moment: dim frame."""
    seen, found = view(sol, t, log_t), log_gradient(sol, t, log_t=log_t)
    return found.copy(data=np.exp(found.values - seen.log_loss)).rename("pl_ratio")
