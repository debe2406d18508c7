r"""A run read from its weights alone: bits are the signs of <w_j, x_i>, not those of the log of events.

    m_ji = 1 where cos(w_j, x_i) > tol,  the slope where cos(w_j, x_i) < -tol,  the run's own bit in between

Between -tol and tol the sign is not determined: `tol` is the accuracy of a direction, 100 rtol for a flow and rounding
for descent. There the neuron is on the surface, where it slides or is crossing, and only the run's own bit is known.
Outputs, loss and gradient directions follow from these bits, so that a run whose log and weights disagree shows it.
"""

from functools import cached_property

import numpy as np

from reluflow.observe._view import View

EPS = float(np.finfo(float).eps)


def direction_tolerance(sol) -> float:
    """How wrong the cosine of a neuron with a datum may be."""
    rounding = (sol.problem.data.d + 8) * EPS
    if getattr(sol.method, "dtype", None) == "float32":
        return 1e-5
    rtol = sol.stats.rtol
    return max(rounding, 100.0 * rtol) if np.isfinite(rtol) else rounding


def log_losses(problem, outputs: np.ndarray) -> np.ndarray:
    """log of the loss of outputs (frames, n) or (frames, n, k), in the problem's own normalisation."""
    with np.errstate(divide="ignore", over="ignore"):
        return problem.log_loss(outputs)


class Witness(View):
    """A `View` whose bits, outputs, loss and pulls come from the weights."""

    @cached_property
    def tol(self) -> float:
        return direction_tolerance(self.sol)

    def cosines_of(self, part) -> np.ndarray:
        """cos(w_j, x_i) at the frames of a slice or index, (frames, width, n); 0 for a zero row."""
        size = np.linalg.norm(self.data.x, axis=1)
        return self.unit[part] @ (self.data.x / np.where(size > 0, size, 1.0)[:, None]).T

    def bits_of(self, part) -> np.ndarray:
        cos = self.cosines_of(part)
        slope = self.problem.activation.slope
        bits = np.where(cos > self.tol, 1.0, slope)
        unclear = np.abs(cos) <= self.tol
        if np.any(unclear):
            bits = np.where(unclear, View.bits_of(self, part), bits)
        return bits

    @cached_property
    def outputs(self) -> np.ndarray:
        with np.errstate(over="ignore"):
            size = np.exp(self.log_top)
            return self.mantissa * (size if self.a.ndim == 2 else size[..., None])

    @cached_property
    def log_loss(self) -> np.ndarray:
        return log_losses(self.problem, self.outputs)
