"""A space: u in R^D with independent standard normal entries, mapped to a specification (`spec.Spec`).

Random search samples that law, the optimiser starts from it, and what is shrunk is the specification, not u.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from reluflow._checks import number, whole
from reluflow.space.spec import SingleSpec, Spec
from reluflow.space.training import Training


def sizes(name: str, value, least: int = 1) -> tuple[int, ...]:
    """A number or several, as a tuple."""
    many = tuple(value) if isinstance(value, list | tuple | range) else (value,)
    if not many:
        raise ValueError(f"`{name}` must be a whole number >= {least} or a list of them, got an empty list: give one.")
    return tuple(whole(name, v, least=least, hint="a space with no members has nothing to search") for v in many)


@dataclass(frozen=True)
class Space:
    """Data of a `family` with `n` points, and networks trained on them."""

    family: Any
    n: tuple[int, ...]
    training: Training

    def ladder(self) -> list[tuple[int, int]]:
        """(n, width) from small to large."""
        return sorted(product(self.n, self.training.width), key=lambda size: (size[0] * size[1], size))

    def dim(self, size: tuple[int, int], needs: str) -> int:
        n, width = size
        data = self.family.width(n)
        return data if needs == "data" else data + self.training.count(width, self._d(n))

    def _d(self, n: int) -> int:
        return self.family.make(np.ones(self.family.width(n)), n)[0].shape[1]

    def spec(self, u: np.ndarray, size: tuple[int, int], needs: str) -> Spec:
        """The member of the space at u."""
        n, width = size
        k = self.family.width(n)
        x, y = self.family.make(u[:k], n)
        if needs == "data":
            return Spec(x, y, None, None, 0.0, self.training)
        rest = u[k:]
        w, s = self.training.start(rest, x, y, width)
        at = lambda log_scale: Spec(x, y, w, s, log_scale, self.training).problem()
        step = self.training.step_size(float(rest[-1]))
        return Spec(x, y, w, s, self.training.scale(float(rest[-2]), at), self.training, step)

    def holds(self, spec: Spec) -> bool:
        """Whether a specification, shrunk or perturbed, is still a member (of any size up to the largest)."""
        if not self.family.holds(spec.x, spec.y):
            return False
        t = self.training
        if spec.w is None or spec.s is None:
            return True
        if np.any(np.all(spec.w == 0, axis=1)) or not t.covers(spec.x, spec.y, spec.w, spec.s):
            return False
        if t.init in ("balanced", "covering", "fixed_output") and not np.all(np.abs(spec.s) == 1.0):
            return False
        if isinstance(t.log_scale, tuple):
            return t.log_scale[0] <= spec.log_scale <= t.log_scale[1]
        return not isinstance(t.log_scale, float) or spec.log_scale == t.log_scale


@dataclass(frozen=True)
class SingleSpace:
    """Single neurons: depth, length, angle, and the step of descent."""

    m: tuple[int, ...]
    step: Any
    rtol: float
    t1: float

    def __post_init__(self):
        if self.step is not None and self.step != "free":
            number("step", self.step, rule='positive, or "free"', ok=lambda v: v > 0, hint="left out, it is the flow")

    def ladder(self) -> list[tuple[int]]:
        return [(m,) for m in self.m]

    def dim(self, size, needs: str) -> int:
        return 3

    def spec(self, u: np.ndarray, size, needs: str) -> SingleSpec:
        """|w_0| about 1, the angle anywhere, the step about 0.02."""
        norm = float(np.exp(np.clip(u[0], -6.0, 3.0)))
        phi = float(np.pi / (1.0 + np.exp(-1.5 * np.clip(u[1], -12.0, 12.0))))
        step = None if self.step is None else float(np.exp(np.clip(-4.0 + u[2], -9.0, 0.5)))
        step = step if self.step in (None, "free") else float(self.step)
        return SingleSpec(size[0], norm, phi, step, self.rtol, self.t1)

    def holds(self, spec: SingleSpec) -> bool:
        return spec.norm > 0 and 0 < spec.phi < np.pi and spec.m in self.m and (spec.step is None or spec.step > 0)
