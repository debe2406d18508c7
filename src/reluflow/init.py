r"""Initial weights: mantissas with separate log scales, so that e^-100000 is an ordinary input.

w_j = e^{log_scale_j} W_j,     a_j = e^{log_scale_a_j} A_j
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from reluflow._checks import as_finite, by_name, one_or_several, whole

LOG_MAX = 300.0  # e^{2 * 300} is still below the largest float64
LOG_MIN = -1e6


@by_name
@dataclass(frozen=True, eq=False)
class Params:
    """Weights `w` (width, dim) and `a` (width,), each row times e^`log_scale` (a number, or one per neuron).

    `a` of shape (width, k) is a network with k outputs; (width, 1) is the same as (width,).

    `log_scale_a` is needed only when the two layers have different scales; left out, it equals `log_scale`. `fixed`
    (width, dim) is True where an entry of w is not trained; `rf.from_torch` uses it for an output bias, the output
    weight of a neuron (0, ..., 0, 1) that stays so.
    """

    w: np.ndarray
    a: np.ndarray
    log_scale: float | np.ndarray = 0.0
    log_scale_a: float | np.ndarray | None = None
    fixed: np.ndarray | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        w = as_finite("w", self.w, ndim=2, hint="give one row per neuron, shape (width, dim)")
        a = one_or_several("a", self.a, "give one output weight per neuron, shape (width,), or k, shape (width, k)")
        if w.shape[0] == 0 or w.shape[1] == 0:
            raise ValueError(f"`w` must have at least one neuron and one column, got shape {w.shape}.")
        if a.shape[0] != w.shape[0]:
            raise ValueError(f"`a` must have one entry per row of `w`, got {a.shape[0]} for {w.shape[0]} neurons.")
        object.__setattr__(self, "w", w)
        object.__setattr__(self, "a", a)
        for name in ("log_scale", "log_scale_a"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _log_scale(name, value, w.shape[0]))
        object.__setattr__(self, "fixed", _fixed(self.fixed, w.shape))
        for array in (w, a):
            array.setflags(write=False)

    @property
    def width(self) -> int:
        return self.w.shape[0]

    @property
    def dim(self) -> int:
        return self.w.shape[1]

    @property
    def outputs(self) -> int:
        """How many outputs the network has."""
        return 1 if self.a.ndim == 1 else self.a.shape[1]

    @property
    def log_scales(self) -> tuple[np.ndarray, np.ndarray]:
        """The log scales of the rows of `w` and of `a`, one per neuron each."""
        log_w = np.broadcast_to(np.asarray(self.log_scale, dtype=float), (self.width,)).copy()
        if self.log_scale_a is None:
            return log_w, log_w.copy()
        return log_w, np.broadcast_to(np.asarray(self.log_scale_a, dtype=float), (self.width,)).copy()

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """True weights (w, a) as plain arrays; raises ValueError if they underflow."""
        log_w, log_a = self.log_scales
        w, a = self.w * np.exp(log_w)[:, None], self.a * np.exp(log_a if self.a.ndim == 1 else log_a[:, None])
        lost = np.any((w == 0) & (self.w != 0)) or np.any((a == 0) & (self.a != 0))
        if lost:
            low = float(min(log_w.min(), log_a.min()))
            raise ValueError(
                f"Plain weights must not underflow, got log scale {low:.6g}: "
                "read the mantissas `w`, `a` with `log_scales`."
            )
        return w, a

    def __repr__(self) -> str:
        log_w, log_a = self.log_scales
        low, high = min(log_w.min(), log_a.min()), max(log_w.max(), log_a.max())
        span = f"{low:.6g}" if low == high else f"{low:.6g}..{high:.6g}"
        fixed = "" if self.fixed is None else f", {np.count_nonzero(self.fixed)} fixed"
        outputs = "" if self.outputs == 1 else f", outputs={self.outputs}"
        return f"Params(width={self.width}, dim={self.dim}{outputs}, log_scale={span}{fixed})"


def _fixed(value, shape: tuple[int, int]) -> np.ndarray | None:
    if value is None:
        return None
    array = np.array(value)
    if array.dtype != bool or array.shape != shape:
        raise ValueError(f"`fixed` must be True or False for every entry of `w`, {shape}, got shape {array.shape}.")
    array.setflags(write=False)
    return array if np.any(array) else None


def _log_scale(name: str, value, width: int):
    array = as_finite(name, value, hint="give one number, or one per neuron, such as -10")
    if array.shape not in ((), (width,)):
        raise ValueError(f"`{name}` must be one number or one per neuron ({width}), got shape {array.shape}.")
    if np.any(array > LOG_MAX) or np.any(array < LOG_MIN):
        bad = array[(array > LOG_MAX) | (array < LOG_MIN)].flat[0]
        raise ValueError(
            f"`{name}` must lie in [{LOG_MIN:.0f}, {LOG_MAX:.0f}], got {bad:.6g}: it is the natural logarithm of the "
            "scale, so e^300 already overflows the outputs; try -10."
        )
    if array.shape == ():
        return float(array)
    array.setflags(write=False)
    return array


def _draw(width, dim, seed):
    width = whole("width", width, least=1, hint="a network needs at least one neuron")
    dim = whole("dim", dim, least=1, hint="use `dim=data.d`")
    seed = whole("seed", seed, least=0, hint="any non-negative seed")
    return width, dim, np.random.default_rng(seed)


@by_name
def balanced(
    width: int, dim: int, log_scale: float = -10.0, seed: int = 0, signs=None, outputs: int | None = None
) -> Params:
    """Gaussian rows g_j with a_j = s_j |w_j|, both layers times e^`log_scale`; `signs` fixes the s_j instead of
    drawing them.

    With several `outputs` a_j has the length |w_j| and a uniform direction, that of a Gaussian vector drawn after g.
    """
    width, dim, rng = _draw(width, dim, seed)
    g = rng.normal(size=(width, dim))
    k = _outputs(outputs)
    if k > 1:
        if signs is not None:
            raise ValueError(
                f"`signs` are for one output, got `outputs={k}`: give `rf.Params(w, a)` with your own `a`."
            )
        a = rng.normal(size=(width, k))
        a *= (np.linalg.norm(g, axis=1) / np.linalg.norm(a, axis=1))[:, None]
        return Params(g, a, log_scale=log_scale)
    s = rng.choice([-1.0, 1.0], size=width) if signs is None else _signs(signs, width)
    return Params(g, s * np.linalg.norm(g, axis=1), log_scale=log_scale)


@by_name
def gaussian(
    width: int,
    dim: int,
    log_scale: float = -10.0,
    seed: int = 0,
    log_scale_a: float | None = None,
    outputs: int | None = None,
) -> Params:
    """Independent standard normal entries in both layers, times e^`log_scale` (the output layer times
    e^`log_scale_a`)."""
    width, dim, rng = _draw(width, dim, seed)
    w = rng.normal(size=(width, dim))
    a = rng.normal(size=(width, _outputs(outputs)))
    return Params(w, a, log_scale=log_scale, log_scale_a=log_scale_a)


@by_name
def fixed_output(width: int, dim: int, log_scale: float = -10.0, seed: int = 0, signs=None) -> Params:
    """Gaussian rows times e^`log_scale` with output weights +-1/width, for training the first layer alone.

    Half of the signs are +1 and half -1 (one more +1 if `width` is odd); `signs` sets them.
    """
    width, dim, rng = _draw(width, dim, seed)
    w = rng.normal(size=(width, dim))
    half = np.where(np.arange(width) < (width + 1) // 2, 1.0, -1.0)
    s = half if signs is None else _signs(signs, width)
    return Params(w, s / width, log_scale=log_scale, log_scale_a=0.0)


@by_name
def arrays(w, a, log_scale: float = 0.0, log_scale_a: float | None = None) -> Params:
    """Given weights `w` (width, dim) and `a` (width,) or (width, k), times e^`log_scale` (the output layer times
    e^`log_scale_a`)."""
    return Params(w, a, log_scale=log_scale, log_scale_a=log_scale_a)


def _outputs(outputs: int | None) -> int:
    return 1 if outputs is None else whole("outputs", outputs, least=1, hint="leave it out for one output")


def _signs(signs, width: int) -> np.ndarray:
    s = as_finite("signs", signs, ndim=1, hint="give +1 or -1 per neuron")
    if s.shape != (width,) or not np.all(np.abs(s) == 1.0):
        raise ValueError(f"`signs` must be {width} numbers +1 or -1, got {np.array2string(s, threshold=8)}.")
    return s
