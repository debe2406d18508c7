r"""Spherically symmetric laws of the input.

Training depends on such a law only through kappa = E|x|^2 / d: the population gradient is kappa times the Gaussian one
(Proposition B.1 of [LSY23]), so that t becomes kappa t and a step eta becomes kappa eta.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reluflow._checks import number, whole


@dataclass(frozen=True)
class Gaussian:
    """x ~ N(0, std^2 I)."""

    std: float = 1.0

    def __post_init__(self):
        _positive(self, "std")

    @property
    def kappa(self) -> float:
        return self.std**2

    def draw(self, rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        return self.std * rng.normal(size=(n, d))


@dataclass(frozen=True)
class Sphere:
    """x uniform on the sphere of this `radius` in `d` dimensions."""

    d: int
    radius: float = 1.0

    def __post_init__(self):
        whole("d", self.d, least=2, hint="on a line the angle cannot change")
        _positive(self, "radius")

    @property
    def kappa(self) -> float:
        return self.radius**2 / self.d

    def draw(self, rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        if d != self.d:
            raise ValueError(f"`d` must be the sphere's own dimension {self.d}, got {d}: write `Sphere(d={d})`.")
        return self.radius * _directions(rng, n, d)


@dataclass(frozen=True)
class Radial:
    """x = R u with u uniform on the unit sphere in `d` dimensions and R drawn by `radius(rng, n)`.

    `second_moment` is E R^2, which must be given: it is the only thing the population needs.
    """

    d: int
    radius: Callable[[np.random.Generator, int], np.ndarray]
    second_moment: float

    def __post_init__(self):
        whole("d", self.d, least=2, hint="on a line the angle cannot change")
        _positive(self, "second_moment")

    @property
    def kappa(self) -> float:
        return self.second_moment / self.d

    def draw(self, rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        if d != self.d:
            raise ValueError(f"`d` must be the law's own dimension {self.d}, got {d}: write `Radial(d={d}, ...)`.")
        return np.asarray(self.radius(rng, n), dtype=float)[:, None] * _directions(rng, n, d)


Law = Gaussian | Sphere | Radial


def _directions(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    g = rng.normal(size=(n, d))
    return g / np.linalg.norm(g, axis=1, keepdims=True)


def _positive(law, name: str):
    hint = "it is a length, or the mean square of one"
    value = number(name, getattr(law, name), rule="positive and finite", ok=lambda v: 0 < v < np.inf, hint=hint)
    object.__setattr__(law, name, value)
