"""Balancedness: a_j^2 - |w_j|^2, which gradient flow conserves for every neuron (with decay: times e^{-2 decay t})."""

import numpy as np

from reluflow.observe._view import view


def balancedness(sol, relative: bool = True, t=None, *, log_t=None):
    """(a_j^2 - |w_j|^2) / (a_j^2 + |w_j|^2), or the bare difference: dims frame, neuron; with several outputs |a_j|^2.

    The bare difference underflows to 0 with the weights; the relative one does not, but only the bare one is conserved.
    """
    seen = view(sol, t, log_t)
    # |a| - |w| first: for balanced rows it is exactly 0 or one rounding, where a difference of squares would be two.
    gap = (seen.size_a - seen.norm) * (seen.size_a + seen.norm)
    if relative:
        total = seen.size_a**2 + seen.norm**2
        found = gap / np.where(total > 0, total, 1.0)
    else:
        found = gap * np.exp(2.0 * seen.log_scale)
    return seen.array(found, ("frame", "neuron"), "balancedness")
