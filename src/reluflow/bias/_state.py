r"""Derivatives of the outputs and of the loss at one time of a run, in its current cell.

    df_i/dw_j = a_j m_ji x_i,   df_i/da_j = m_ji <w_j, x_i>,   D_j = sum_i m_ji g_i x_i,   g = -dL/df

Bits m are the run's own: between the slope and 1 on data that a neuron slides on, where it can only move along the
surface. Terms that underflow are 0, as they are in f.
"""

from dataclasses import dataclass

import numpy as np

from reluflow._checks import one_output
from reluflow.bias._input import numbers, outputs
from reluflow.init import Params
from reluflow.losses import LOSSES
from reluflow.problem import Problem


@dataclass(frozen=True, eq=False)
class State:
    """Weights, bits and sliding data, (width, n), at one time."""

    problem: Problem
    params: Params
    bits: np.ndarray
    sliding: np.ndarray
    f: np.ndarray

    @property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        return numbers(self.params)

    @property
    def drive(self) -> np.ndarray:
        """g = -dL/df."""
        return loss_slopes(self.problem, self.f)[0]

    @property
    def curvature(self) -> np.ndarray:
        """d^2 L / df_i^2."""
        return loss_slopes(self.problem, self.f)[1]

    @property
    def pulls(self) -> np.ndarray:
        """D_j, (width, d); for sliding neurons along their surfaces."""
        D = (self.bits * self.drive) @ self.problem.data.x
        for j in np.flatnonzero(np.any(self.sliding, axis=1)):
            D[j] = self.along(int(j), D[j])
        return D

    def along(self, j: int, z: np.ndarray) -> np.ndarray:
        """z projected on the surfaces neuron j slides on."""
        held = self.problem.data.x[self.sliding[j]]
        if len(held) == 0:
            return z
        _, size, vt = np.linalg.svd(held, full_matrices=False)
        basis = vt[size > size[0] * 1e-12]
        return z - basis.T @ (basis @ z)


def state_at(sol, t=None, *, log_t=None) -> State:
    """The run at time t (or e^log_t)."""
    one_output(sol.problem, "This part of `rf.bias`")
    when = dict(log_t=log_t) if t is None else dict(t=t)
    return State(sol.problem, sol.at(**when), sol.bits_at(**when), sol.sliding_at(**when), sol.outputs_at(**when))


def state_of(problem: Problem, params: Params) -> State:
    """A network without a run: bits from the signs of <w_j, x_i>, off on a surface."""
    one_output(problem, "This part of `rf.bias`")
    u = params.w @ problem.data.x.T
    slope = problem.activation.slope
    bits = np.where(u > 0, 1.0, slope)
    return State(problem, params, bits, np.zeros(u.shape, bool), outputs(params, problem.data.x, slope))


def loss_slopes(problem: Problem, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(-dL/df_i, d^2 L/df_i^2)."""
    loss, y, c = LOSSES[problem.loss], problem.data.y, problem.weight
    return loss.force(y, f, c), loss.curvature(y, f, c)


def loss_of(problem: Problem, f: np.ndarray) -> float:
    """L."""
    return float(problem.weight * np.sum(LOSSES[problem.loss].value(problem.data.y, f)))
