r"""A run at its frames, or at any times: the state, its bits, its outputs, and the pull on every neuron.

    w_j = e^{c_j} q_j,  a_j = e^{c_j} b_j,      f_i = sum_j e^{2 c_j} b_j m_ji <q_j, x_i>
    g_i = -dL/df_i,                             D_j = sum_i m_ji g_i x_i

Bits m_ji are the run's own, never recomputed from signs. Outputs also come as mantissas with
log scales, so f = e^-200000 is a number here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

BLOCK = 2**23  # numbers in one block of bits


def log_abs(value) -> np.ndarray:
    """log |value|, -inf at 0."""
    with np.errstate(divide="ignore"):
        return np.log(np.abs(value))


def log_forces(loss: str, z: np.ndarray) -> np.ndarray:
    """log r(z), r = -dl/dz of a loss of z = y f; the square loss has none (its force may vanish or turn)."""
    if loss == "exponential":
        return -z
    return (np.log(2.0) if loss == "logistic2" else 0.0) - np.logaddexp(0.0, z)


class View:
    """States of a run at some clock values; everything else is worked out when first asked for."""

    def __init__(self, sol, t=None, log_t=None):
        self.sol = sol
        if t is None and log_t is None:
            self._clock, self._y, self._code = sol._frames
        else:
            self._clock, self._y, self._code = sol._replay(sol._clock(t, log_t)[0])
        self._clock = np.ascontiguousarray(self._clock)
        self.t, self.log_t = sol._time.times(self._clock)
        self.problem, self.data = sol.problem, sol.problem.data

    def __len__(self) -> int:
        return len(self._clock)

    @cached_property
    def _state(self):
        return self.sol._split(self._y)

    @cached_property
    def w(self) -> np.ndarray:
        """q_j in the data's coordinates, (frames, width, dim)."""
        return self.sol._machine.coords.expand(self._state[0])

    @property
    def a(self) -> np.ndarray:
        """b_j, (frames, width)."""
        return self._state[1]

    @property
    def log_scale(self) -> np.ndarray:
        """c_j, (frames, width)."""
        return self._state[2]

    @cached_property
    def norm(self) -> np.ndarray:
        """|q_j|."""
        return np.linalg.norm(self._state[0], axis=-1)

    @cached_property
    def log_norm(self) -> np.ndarray:
        """log |w_j|."""
        return self.log_scale + log_abs(self.norm)

    @cached_property
    def unit(self) -> np.ndarray:
        """w_j / |w_j|; a zero row stays zero."""
        return self.w / np.where(self.norm > 0, self.norm, 1.0)[..., None]

    @cached_property
    def _looked(self):
        return self.sol._machine.look(self._clock, self._y, self._code)

    @cached_property
    def outputs(self) -> np.ndarray:
        """f(x_i), (frames, n)."""
        return self.sol._to_data(self._looked[0])

    @property
    def log_loss(self) -> np.ndarray:
        return self._looked[1]

    def bits_of(self, part) -> np.ndarray:
        """m_ji at the frames of a slice or index, (frames, width, n)."""
        y, code = np.ascontiguousarray(self._y[part]), np.ascontiguousarray(self._code[part])
        found = self.sol._machine.look(np.ascontiguousarray(self._clock[part]), y, code, bits=True)[2]
        return self.sol._bits_to_data(found)

    @cached_property
    def bits(self) -> np.ndarray:
        """m_ji at every frame, (frames, width, n); for many frames of large data use `reduce`."""
        return self.bits_of(slice(None))

    def reduce(self, measure: Callable) -> np.ndarray:
        """`measure(bits, frames)` joined over blocks of frames, so that bits of large data never stand all at once."""
        step = max(1, BLOCK // max(1, self.problem.init.width * self.data.n))
        if len(self) <= step:
            return measure(self.bits, slice(None))
        parts = [slice(lo, lo + step) for lo in range(0, len(self), step)]
        return np.concatenate([measure(self.bits_of(part), part) for part in parts])

    @cached_property
    def _scaled_outputs(self) -> np.ndarray:
        def measure(bits, part):
            reach = np.where(bits > 0, 2.0 * self.log_scale[part][..., None], -np.inf)
            top = np.max(reach, axis=1)
            top = np.where(np.isfinite(top), top, 0.0)
            terms = bits * (self.w[part] @ self.data.x.T) * np.exp(reach - top[:, None, :])
            return np.stack([np.einsum("fm,fmn->fn", self.a[part], terms), top], axis=1)

        return self.reduce(measure)

    @property
    def mantissa(self) -> np.ndarray:
        """f(x_i) / e^`log_top`_i, (frames, n)."""
        return self._scaled_outputs[:, 0]

    @property
    def log_top(self) -> np.ndarray:
        """The largest 2 c_j of the neurons active on x_i, 0 where there is none, (frames, n)."""
        return self._scaled_outputs[:, 1]

    @cached_property
    def log_outputs(self) -> np.ndarray:
        """log |f(x_i)|, (frames, n)."""
        return self.log_top + log_abs(self.mantissa)

    @cached_property
    def drive(self) -> tuple[np.ndarray, np.ndarray]:
        """(mantissas, log scales): g_i = -dL/df_i = mantissa_i e^scale, (frames, n) and (frames,); weights included."""
        y, f = self.data.y, self.outputs
        if self.problem.loss == "square":
            g, log_g = y - f, np.zeros(len(self))
        else:
            logs = log_forces(self.problem.loss, y * f)
            log_g = np.max(logs, axis=1)
            g = y * np.exp(logs - log_g[:, None])
        return g, log_g + np.log(self.problem.weight)

    @cached_property
    def pull(self) -> np.ndarray:
        """D_j / e^scale of `drive`, (frames, width, dim)."""
        g = self.drive[0]
        return self.reduce(lambda bits, part: (bits * g[part][:, None, :]) @ self.data.x)

    def array(self, values, dims, name: str, **more):
        """A labelled array with the frames' times."""
        import xarray as xr

        sizes = {"neuron": self.problem.init.width, "datum": self.data.n, "frame": len(self)}
        coords: dict = {d: np.arange(sizes[d]) for d in dims if d in sizes}
        if "frame" in dims:
            coords |= {"t": ("frame", self.t), "log_t": ("frame", self.log_t)}
        return xr.DataArray(values, dims=dims, coords=coords | more, name=name)


def view(sol, t=None, log_t=None) -> View:
    """The View of a run's frames (kept as long as the run), or a fresh one at the times given; a View is itself."""
    if isinstance(sol, View):
        return sol
    if t is not None or log_t is not None:
        return View(sol, t, log_t)
    if "_observed" not in vars(sol):
        sol._observed = View(sol)
    return sol._observed
