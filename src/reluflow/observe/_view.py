r"""A run at its frames, or at any times: the state, its bits, its outputs, and the pull on every neuron.

    w_j = e^{c_j} q_j,  a_j = e^{c_j} b_j,      f_i = sum_j e^{2 c_j} b_j m_ji <q_j, x_i>
    g_i = -dL/df_i,                             D_j = sum_i m_ji g_i x_i

With k outputs f_i, g_i and b_j are in R^k, and the neurons are driven by M_j = sum_i m_ji g_i x_i^T: `push` and `turn`.

Bits m_ji come from the run and are never recomputed from signs. Outputs also come as mantissas with
log scales, so f = e^-200000 is a number here.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from reluflow._checks import one_output
from reluflow.losses import TABLE, Softmax
from reluflow.solution import Solution

BLOCK = 2**23  # numbers in one block of bits


def log_abs(value) -> np.ndarray:
    """log |value|, -inf at 0."""
    with np.errstate(divide="ignore"):
        return np.log(np.abs(value))


class View:
    """States of a run at some times, and derived quantities, computed at first use."""

    def __init__(self, sol: Solution, t=None, log_t=None):
        self.sol = sol
        self.moments = sol.frames if t is None and log_t is None else sol.moments(t, log_t=log_t)
        self.t, self.log_t = self.moments.t, self.moments.log_t
        self.problem, self.data = sol.problem, sol.problem.data

    def __len__(self) -> int:
        return len(self.moments)

    @property
    def w(self) -> np.ndarray:
        """q_j in the data's coordinates, (frames, width, dim)."""
        return self.moments.w

    @property
    def a(self) -> np.ndarray:
        """b_j, (frames, width), or (frames, width, k) with k outputs."""
        return self.moments.a

    @cached_property
    def size_a(self) -> np.ndarray:
        """|b_j|, (frames, width)."""
        return np.abs(self.a) if self.a.ndim == 2 else np.linalg.norm(self.a, axis=-1)

    @property
    def log_scale(self) -> np.ndarray:
        """c_j, (frames, width)."""
        return self.moments.log_scale

    @cached_property
    def norm(self) -> np.ndarray:
        """|q_j|."""
        return np.linalg.norm(self.moments.q, axis=-1)

    @cached_property
    def log_norm(self) -> np.ndarray:
        """log |w_j|."""
        return self.log_scale + log_abs(self.norm)

    @cached_property
    def unit(self) -> np.ndarray:
        """w_j / |w_j|; a zero row stays zero."""
        return self.w / np.where(self.norm > 0, self.norm, 1.0)[..., None]

    @property
    def outputs(self) -> np.ndarray:
        """f(x_i), (frames, n), or (frames, n, k) with k outputs."""
        return self.moments.outputs

    @property
    def log_loss(self) -> np.ndarray:
        return self.moments.log_loss

    def bits_of(self, part: int | slice | list[int] | np.ndarray) -> np.ndarray:
        """m_ji at the frames of a slice or index, (frames, width, n)."""
        return self.moments[part].bits

    @cached_property
    def bits(self) -> np.ndarray:
        """m_ji at every frame, (frames, width, n); for many frames of large data use `reduce`."""
        return self.bits_of(slice(None))

    def reduce(self, measure: Callable) -> np.ndarray:
        """`measure(bits, frames)` joined over blocks of frames, so that not all bits are in memory at once."""
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
            if self.a.ndim == 3:
                f = np.swapaxes(terms, 1, 2) @ self.a[part]
                return np.concatenate([np.moveaxis(f, 2, 1), top[:, None, :]], axis=1)
            return np.stack([np.einsum("fm,fmn->fn", self.a[part], terms), top], axis=1)

        return self.reduce(measure)

    @property
    def mantissa(self) -> np.ndarray:
        """f(x_i) / e^`log_top`_i, (frames, n), or (frames, n, k)."""
        found = self._scaled_outputs
        return found[:, 0] if self.a.ndim == 2 else np.moveaxis(found[:, :-1], 1, 2)

    @property
    def log_top(self) -> np.ndarray:
        """The largest 2 c_j of the neurons active on x_i, 0 where there is none, (frames, n)."""
        return self._scaled_outputs[:, -1]

    @cached_property
    def log_outputs(self) -> np.ndarray:
        """log |f(x_i)|, (frames, n), or (frames, n, k)."""
        top = self.log_top if self.a.ndim == 2 else self.log_top[..., None]
        return top + log_abs(self.mantissa)

    @cached_property
    def drive(self) -> tuple[np.ndarray, np.ndarray]:
        """(mantissas, log scales): g_i = -dL/df_i = mantissa_i e^scale, (frames, n) and (frames,); weights included.

        With k outputs the mantissas are (frames, n, k).
        """
        y, f = self.data.y, self.outputs
        loss = TABLE[self.problem.loss]
        if isinstance(loss, Softmax):
            y = self.problem.targets
            logs = np.where(y > 0.0, -np.inf, f - np.logaddexp.reduce(f, axis=-1, keepdims=True))
            log_g = np.max(logs, axis=(1, 2))
            others = np.exp(logs - log_g[:, None, None])
            g = np.where(y > 0.0, np.sum(others, axis=-1, keepdims=True), -others)
            return g, log_g + loss.log_factor + np.log(self.problem.weight)
        if not loss.tailed:
            g, log_g = loss.force(y, f), np.zeros(len(self))
        else:
            logs = loss.log_factor + loss.log_force(y * f)
            log_g = np.max(logs, axis=1)
            g = y * np.exp(logs - log_g[:, None])
        return g, log_g + np.log(self.problem.weight)

    @cached_property
    def pull(self) -> np.ndarray:
        """D_j / e^scale of `drive`, (frames, width, dim); of one output."""
        one_output(self.problem, "This quantity", "it is made from one pull D_j for each neuron")
        g = self.drive[0]
        return self.reduce(lambda bits, part: (bits * g[part][:, None, :]) @ self.data.x)

    @cached_property
    def push(self) -> np.ndarray:
        """M_j^T b_j / e^scale of `drive`, (frames, width, dim): w_j' is e^{c_j} times that; with one output b_j D_j."""
        if self.a.ndim == 2:
            return self.a[..., None] * self.pull
        g = self.drive[0]
        force = self.a @ np.swapaxes(g, 1, 2)
        return self.reduce(lambda bits, part: (bits * force[part]) @ self.data.x)

    @cached_property
    def turn(self) -> np.ndarray:
        """M_j q_j / e^scale of `drive`, (frames, width, k): a_j' is e^{c_j} times that."""
        g = self.drive[0] if self.a.ndim == 3 else self.drive[0][..., None]
        x = self.data.x
        return self.reduce(lambda bits, part: (bits * (self.w[part] @ x.T)) @ g[part])

    def array(self, values, dims, name: str, **more):
        """A labelled array with the frames' times."""
        import xarray as xr

        sizes = {"neuron": self.problem.init.width, "datum": self.data.n, "frame": len(self)}
        sizes["output"] = self.problem.outputs
        coords: dict = {d: np.arange(sizes[d]) for d in dims if d in sizes}
        if "frame" in dims:
            coords |= {"t": ("frame", self.t), "log_t": ("frame", self.log_t)}
        return xr.DataArray(values, dims=dims, coords=coords | more, name=name)


def view(sol: Solution | View, t=None, log_t=None) -> View:
    """The View of a run's frames (kept as long as the run), or a fresh one at the times given; a View is itself."""
    if isinstance(sol, View):
        return sol
    if not hasattr(sol, "derived"):
        raise TypeError(
            f"`rf.observe` measures a run, got {type(sol).__name__}: give what `rf.solve` returns, as in "
            "`rf.observe.alignment(sol)`."
        )
    return sol.derived(View) if t is None and log_t is None else View(sol, t, log_t)
