r"""A recorded training run: states at the recorded iterations, and none in between."""

from pathlib import Path
from typing import NoReturn

import numpy as np

from reluflow.drive.recorder import States
from reluflow.many._seen import codes
from reluflow.methods import Descent
from reluflow.replay import Replay
from reluflow.solution import Solution, end_text


class Between(Replay):
    """States between records, by linear interpolation of every neuron's logarithmic size and direction."""

    def __init__(self, of: Replay, x: np.ndarray):
        vars(self).update(vars(of))
        self.x = x

    def known(self, clock: np.ndarray) -> None:
        missing = clock[~np.isin(clock, self.checkpoints.clock)]
        if len(missing):
            raise ValueError(
                f"Only recorded times are known, got {float(self.clock.times(missing[0])[0]):.6g}: see "
                "`sol.t`, or record more often with `every=`."
            )

    def at(self, clock: np.ndarray) -> States:
        marks = self.checkpoints
        clock = np.ascontiguousarray(clock, float)
        lo = np.searchsorted(marks.clock, clock, side="right") - 1
        hi = np.minimum(lo + 1, len(marks.clock) - 1)
        share = (clock - marks.clock[lo]) / np.maximum(marks.clock[hi] - marks.clock[lo], 1.0)
        y, code = marks.y[lo], marks.code[lo]
        between = np.flatnonzero(share > 0.0)
        if len(between):
            y[between] = self._between(marks.y[lo[between]], marks.y[hi[between]], share[between, None])
            code[between] = codes(self.x, self.split(y[between])[0])
        return States(clock, y, code)

    def _between(self, before: np.ndarray, after: np.ndarray, share: np.ndarray) -> np.ndarray:
        """States interpolated between two records, size and direction separately."""
        (unit, size), (unit_after, size_after) = (self._polar(y) for y in (before, after))
        unit = unit + share[..., None] * (unit_after - unit)
        # A neuron that is zero at one end has no direction there: the interpolation scales the other direction.
        with np.errstate(invalid="ignore"):
            along = size + share * (size_after - size)
        size = np.where(np.isfinite(size) & np.isfinite(size_after), along, np.maximum(size, size_after))
        r = self.split(before)[0].shape[-1]
        q, b = unit[..., :r], unit[..., r:]
        c = np.where(np.isfinite(size), size, 0.0)
        return np.concatenate([q.reshape(len(q), -1), b.reshape(len(q), -1), c, np.full((len(q), 1), np.nan)], axis=1)

    def _polar(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """((q, b) / norm, log norm of (w, a)) of states."""
        q, b, c = self.split(y)
        both = np.concatenate([q, b if b.ndim == q.ndim else b[..., None]], axis=-1)
        norm = np.linalg.norm(both, axis=-1)
        with np.errstate(divide="ignore"):
            return both / np.where(norm > 0, norm, 1.0)[..., None], c + np.log(norm)


class Watched(Solution):
    """The Solution of a recorded loop. Its frames are the recorded steps; the weights in between are unknown.

    `at`, `loss_at` and the like accept recorded times only. `phases` interpolates linearly in every neuron's
    logarithmic size and direction, so that its times are accurate to about one recording interval.
    """

    dense = False

    def save(self, path: str | Path) -> NoReturn:
        raise NotImplementedError(
            "A recorded run cannot be saved as a computed one: use `sol.to_xarray().to_zarr(path)`."
        )

    def __repr__(self) -> str:
        assert isinstance(self.method, Descent)
        s, frames = self.stats, len(self.t)
        return (
            f"Watched(t = 0..{end_text(self)}: {s.steps} steps, {frames} recorded, loss {self.loss[-1]:.6g}, "
            f"step {self.method.step:g})"
        )
