"""Outputs and margins."""

from __future__ import annotations

import numpy as np

from reluflow.observe._view import log_abs, view


def outputs(sol, t=None, *, log_t=None):
    """f(x_i): dims frame, datum; 0 where it underflows (see `log_outputs`)."""
    seen = view(sol, t, log_t)
    return seen.array(seen.outputs, ("frame", "datum"), "outputs")


def log_outputs(sol, t=None, *, log_t=None):
    """log |f(x_i)|, right also at e^-100000, with the sign of f as coordinate `sign`: dims frame, datum."""
    seen = view(sol, t, log_t)
    sign = (("frame", "datum"), np.sign(seen.mantissa))
    return seen.array(seen.log_outputs, ("frame", "datum"), "log_outputs", sign=sign)


def margins(sol, t=None, *, log_t=None):
    """y_i f(x_i): dims frame, datum."""
    seen = view(sol, t, log_t)
    return seen.array(seen.data.y * seen.outputs, ("frame", "datum"), "margins")


def normalised_margin(sol, t=None, *, log_t=None):
    """min_i y_i f(x_i) / sum_j (|w_j|^2 + a_j^2), scales taken out first: dim frame."""
    seen = view(sol, t, log_t)
    logs = 2.0 * seen.log_scale + log_abs(seen.norm**2 + seen.a**2)
    log_total = np.logaddexp.reduce(logs, axis=1)[:, None]
    found = seen.data.y * seen.mantissa * np.exp(seen.log_top - log_total)
    return seen.array(np.min(found, axis=1), ("frame",), "normalised_margin")
