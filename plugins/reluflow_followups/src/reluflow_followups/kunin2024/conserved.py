"""[KRD+24]: gradient flow conserves a_j^2 - |w_j|^2 of every neuron, which sets its regime."""

from __future__ import annotations

import numpy as np

import reluflow as rf

needs = "solution"


def check(solution) -> rf.Report:
    r"""Claim: $\delta_j = a_j^2 - |w_j|^2$ of every neuron is at each frame what it was at the start,
    relative to $a_j^2 + |w_j|^2$.

    Assumes that both layers are trained. Slack: weights are right to 100 rtol, their squares to twice that, at both
    frames. Descent has no rtol: what it loses of $\delta$ is what it loses.
    """
    log_w = 2 * solution.log_norm
    with np.errstate(divide="ignore"):
        log_a = 2 * (solution.log_scale + np.log(np.abs(solution.a)))
    top = np.maximum(log_w, log_a)
    delta, log_size = np.exp(log_a - top) - np.exp(log_w - top), np.logaddexp(log_w, log_a)
    first = delta[0] * np.exp(top[0] - log_size)
    change = np.abs(delta * np.exp(top - log_size) - first)
    frame, neuron = np.unravel_index(np.argmax(change), change.shape)
    rtol = float(np.nan_to_num(solution.stats.rtol))
    kinds = {
        "upstream (delta > 0)": int(np.sum(first_sign(solution) > 0)),
        "balanced": int(np.sum(first_sign(solution) == 0)),
        "downstream (delta < 0)": int(np.sum(first_sign(solution) < 0)),
    }
    return rf.Report(
        name="kunin2024.conserved",
        hypotheses=[rf.Claim("both layers are trained (1: yes)", solution.problem.train == "both", "=", 1)],
        constants=kinds,
        claims=[
            rf.Claim(
                "largest change of a^2 - |w|^2, relative",
                float(change[frame, neuron]),
                "=",
                0.0,
                slack=400 * rtol,
                at=f"neuron {neuron}, log t = {solution.log_t[frame]:.4g}",
            )
        ],
    )


def first_sign(solution) -> np.ndarray:
    """Sign of delta at the start; 0 up to rounding."""
    relative = rf.observe.balancedness(solution).values[0]
    return np.where(np.abs(relative) <= 1e-12, 0.0, np.sign(relative))
