r"""A recorded training run: states at the recorded iterations, and none in between."""

from __future__ import annotations

import numpy as np

from reluflow.many._seen import codes
from reluflow.solution import Solution


class Watched(Solution):
    """The Solution of a recorded loop. Its frames are the recorded steps; the weights in between are unknown.

    `at`, `loss_at` and the like accept recorded times only. `phases` interpolates linearly in every neuron's
    logarithmic size and direction, so that its times are accurate to about one recording interval.
    """

    def _clock(self, t, log_t):
        clock, scalar = Solution._clock(self, t, log_t)
        known = np.isin(clock, self._checkpoints[0][:, 0])
        if not np.all(known):
            bad = self._time.times(clock[~known][0])[0]
            raise ValueError(
                f"Only recorded times are known, got {float(bad):.6g}: see `sol.t`, or record more often with `every=`."
            )
        return clock, scalar

    def _replay(self, clock: np.ndarray):
        marks, y, code = self._checkpoints
        clock = np.ascontiguousarray(clock, float)
        lo = np.searchsorted(marks[:, 0], clock, side="right") - 1
        hi = np.minimum(lo + 1, len(marks) - 1)
        share = (clock - marks[lo, 0]) / np.maximum(marks[hi, 0] - marks[lo, 0], 1.0)
        out, bits = y[lo], code[lo]
        between = np.flatnonzero(share > 0.0)
        if len(between):
            out[between] = self._between(y[lo[between]], y[hi[between]], share[between, None])
            bits[between] = codes(self._machine, out[between])
        return clock, out, bits

    def _between(self, before, after, share):
        """States interpolated between two records, size and direction separately."""
        (unit, size), (unit_after, size_after) = (self._polar(y) for y in (before, after))
        unit = unit + share[..., None] * (unit_after - unit)
        # A neuron that is zero at one end has no direction there: the interpolation scales the other direction.
        with np.errstate(invalid="ignore"):
            along = size + share * (size_after - size)
        size = np.where(np.isfinite(size) & np.isfinite(size_after), along, np.maximum(size, size_after))
        q, b = unit[..., :-1], unit[..., -1]
        c = np.where(np.isfinite(size), size, 0.0)
        return np.concatenate([q.reshape(len(q), -1), b, c, np.full((len(q), 1), np.nan)], axis=1)

    def _polar(self, y):
        """((q, b) / norm, log norm of (w, a)) of states."""
        q, b, c = self._split(y)
        both = np.concatenate([q, b[..., None]], axis=-1)
        norm = np.linalg.norm(both, axis=-1)
        with np.errstate(divide="ignore"):
            return both / np.where(norm > 0, norm, 1.0)[..., None], c + np.log(norm)

    def save(self, path):
        raise NotImplementedError(
            "A recorded run cannot be saved as a computed one: use `sol.to_xarray().to_zarr(path)`."
        )

    def __repr__(self) -> str:
        s, frames = self.stats, len(self.t)
        return (
            f"Watched(t = 0..{self.t_end_text}: {s.steps} steps, {frames} recorded, loss {self.loss[-1]:.6g}, "
            f"step {self.method.step:g})"
        )
