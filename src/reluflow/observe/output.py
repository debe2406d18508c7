"""Outputs and margins."""

import numpy as np

from reluflow.data.core import class_margins
from reluflow.observe._view import log_abs, view


def outputs(sol, t=None, *, log_t=None):
    """f(x_i): dims frame, datum (and output, if there are several); 0 where it underflows (see `log_outputs`)."""
    seen = view(sol, t, log_t)
    return seen.array(seen.outputs, _dims(seen), "outputs")


def _dims(seen) -> tuple[str, ...]:
    return ("frame", "datum") if seen.problem.outputs == 1 else ("frame", "datum", "output")


def log_outputs(sol, t=None, *, log_t=None):
    """log |f(x_i)|, right also at e^-100000, with the sign of f as coordinate `sign`: dims as those of `outputs`."""
    seen = view(sol, t, log_t)
    dims = _dims(seen)
    return seen.array(seen.log_outputs, dims, "log_outputs", sign=(dims, np.sign(seen.mantissa)))


def margins(sol, t=None, *, log_t=None):
    """y_i f(x_i): dims frame, datum. With several outputs f_y - max over the other outputs, y the datum's class (where
    its label is largest)."""
    seen = view(sol, t, log_t)
    if seen.problem.outputs > 1:
        found = class_margins(seen.problem.targets, seen.outputs)
    else:
        found = seen.data.y * seen.outputs
    return seen.array(found, ("frame", "datum"), "margins")


def normalised_margin(sol, t=None, *, log_t=None):
    """min_i y_i f(x_i) / sum_j (|w_j|^2 + a_j^2), scales taken out first: dim frame. With several outputs the margin is
    that of `margins`, and a_j^2 is |a_j|^2."""
    seen = view(sol, t, log_t)
    logs = 2.0 * seen.log_scale + log_abs(seen.norm**2 + seen.size_a**2)
    log_total = np.logaddexp.reduce(logs, axis=1)[:, None]
    of_data = (
        seen.data.y * seen.mantissa if seen.problem.outputs == 1 else class_margins(seen.problem.targets, seen.mantissa)
    )
    found = of_data * np.exp(seen.log_top - log_total)
    return seen.array(np.min(found, axis=1), ("frame",), "normalised_margin")
