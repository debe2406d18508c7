"""Families of data. Each maps u, with independent standard normal entries, to (x, y), and can test membership.

`width(n)` is how many entries of u it takes, `make(u, n)` the data, `holds(x, y)` whether given data belong to it.
"""

from dataclasses import dataclass

import numpy as np

from reluflow._checks import number, one_of, whole

LABELS = ("free", "both", "signs", "alternating", "positive")
SPREAD = 0.7  # standard deviation of log |y_i|
CLOSE = 1e-9  # shrunk data must stay in the family to this


def labels(kind: str, u: np.ndarray) -> np.ndarray:
    """n labels from n + 1 numbers: the first is the common size where sizes are free."""
    n = len(u) - 1
    if kind == "free":
        return u[1:].copy()
    if kind == "alternating":
        return np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    if kind == "positive":
        return np.exp(u[0] + SPREAD * u[1:])
    sign = np.where(u[1:] >= 0, 1.0, -1.0)
    if n > 1 and abs(np.sum(sign)) == n:  # both classes
        sign[int(np.argmin(np.abs(u[1:])))] *= -1.0
    return sign if kind == "signs" else sign * np.exp(u[0] + SPREAD * (np.abs(u[1:]) - 1.0))


def allowed(kind: str, y: np.ndarray) -> bool:
    """Whether labels are of the kind."""
    if kind == "free":
        return bool(np.any(y != 0))
    if kind == "positive":
        return bool(np.all(y > 0))
    if kind == "alternating":
        return bool(np.all(y == labels("alternating", np.zeros(len(y) + 1))))
    both = len(y) == 1 or (bool(np.any(y > 0)) and bool(np.any(y < 0)))
    return bool(both and np.all(y != 0) and (kind == "both" or np.all(np.abs(y) == 1.0)))


@dataclass(frozen=True)
class Line:
    labels: str

    def __post_init__(self):
        one_of("labels", self.labels, LABELS)

    def width(self, n: int) -> int:
        return 2 * n + 1

    def make(self, u, n):
        x = np.sort(2.0 * u[:n])
        return np.column_stack([x, np.ones(n)]), labels(self.labels, u[n:])

    def holds(self, x, y) -> bool:
        ones = x.shape[1] == 2 and bool(np.all(x[:, 1] == 1.0))
        return ones and bool(np.all(np.diff(x[:, 0]) > 0)) and allowed(self.labels, y)


@dataclass(frozen=True)
class Free:
    labels: str
    dim: int

    def __post_init__(self):
        one_of("labels", self.labels, LABELS)

    def width(self, n: int) -> int:
        return n * self.dim + n + 1

    def make(self, u, n):
        return u[: n * self.dim].reshape(n, self.dim), labels(self.labels, u[n * self.dim :])

    def holds(self, x, y) -> bool:
        return bool(np.all(np.any(x != 0, axis=1))) and allowed(self.labels, y)


@dataclass(frozen=True)
class Orthonormal:
    labels: str
    norms: bool

    def __post_init__(self):
        one_of("labels", self.labels, LABELS)

    def width(self, n: int) -> int:
        return (n if self.norms else 0) + n + 1

    def make(self, u, n):
        x = np.diag(np.exp(0.5 * u[:n])) if self.norms else np.eye(n)
        return x, labels(self.labels, u[n if self.norms else 0 :])

    def holds(self, x, y) -> bool:
        gram = x @ x.T
        size = np.diag(gram)
        apart = np.all(np.abs(gram - np.diag(size)) <= CLOSE * np.sqrt(np.outer(size, size)))
        return bool(apart and np.all(size > 0) and (self.norms or np.all(size == 1.0))) and allowed(self.labels, y)


@dataclass(frozen=True)
class Separable:
    """y_i x_i in a cap of half angle acos(mu)/2 times a sigmoid of u_0: all cosines exceed mu."""

    labels: str
    dim: int | None
    mu: float
    lengths: bool

    def __post_init__(self):
        one_of("labels", self.labels, LABELS)
        hint = "0 is any separation; 1 would be a single direction"
        object.__setattr__(self, "mu", number("mu", self.mu, rule="in [0, 1)", ok=lambda v: 0 <= v < 1, hint=hint))
        if self.dim is not None:
            whole("dim", self.dim, least=2, hint="one dimension has a single direction for each label")

    def d(self, n: int) -> int:
        return self.dim or max(2, min(n, 3))

    def width(self, n: int) -> int:
        return 1 + n * (self.d(n) + 1) + n + 1

    def make(self, u, n):
        d = self.d(n)
        half = 0.5 * np.arccos(self.mu) / (1.0 + np.exp(-u[0]))
        rows, rest = u[1 : 1 + n * (d + 1)].reshape(n, d + 1), u[1 + n * (d + 1) :]
        angle = half * np.tanh(np.abs(rows[:, 0]))
        side = rows[:, 1:d]
        side = side / np.maximum(np.linalg.norm(side, axis=1), 1e-300)[:, None]
        z = np.column_stack([np.cos(angle), np.sin(angle)[:, None] * side])
        y = labels(self.labels, rest)
        length = np.exp(0.4 * rows[:, d]) if self.lengths else np.ones(n)
        return np.sign(y)[:, None] * length[:, None] * z, y

    def holds(self, x, y) -> bool:
        size = np.linalg.norm(x, axis=1)
        if np.any(size == 0) or not allowed(self.labels, y) or not (self.lengths or np.allclose(size, 1.0)):
            return False
        z = np.sign(y)[:, None] * x / size[:, None]
        cosines = (z @ z.T)[~np.eye(len(y), dtype=bool)]
        return bool(np.all(cosines > self.mu))


@dataclass(frozen=True)
class NearlyOrthogonal:
    """Rows of the Cholesky factor of I + (kappa/n) tanh(u), followed by zeros up to `dim` columns."""

    labels: str
    kappa: float
    dim: int | None = None

    def __post_init__(self):
        one_of("labels", self.labels, LABELS)
        hint = "0.05 is nearly orthogonal, 0 is orthonormal"
        put = number("kappa", self.kappa, rule="in [0, 1)", ok=lambda v: 0 <= v < 1, hint=hint)
        object.__setattr__(self, "kappa", put)

    def width(self, n: int) -> int:
        return (n * (n - 1) // 2 if self.kappa else 0) + n + 1

    def make(self, u, n):
        pairs = n * (n - 1) // 2 if self.kappa else 0
        gram = np.eye(n)
        gram[np.tril_indices(n, -1)] = self.kappa / n * np.tanh(u[:pairs]) if pairs else 0.0
        x = np.linalg.cholesky(np.tril(gram) + np.tril(gram, -1).T) if pairs else gram
        return np.pad(x, ((0, 0), (0, max(0, (self.dim or n) - n)))), labels(self.labels, u[pairs:])

    def holds(self, x, y) -> bool:
        gram = x @ x.T
        unit = np.allclose(np.diag(gram), 1.0, rtol=0.0, atol=CLOSE)
        off = np.abs(gram - np.diag(np.diag(gram)))
        return bool(unit and np.all(len(y) * off <= self.kappa + CLOSE)) and allowed(self.labels, y)
