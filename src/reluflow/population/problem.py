"""What is trained: a student, a teacher of the same shape, and the law of the inputs."""

from dataclasses import dataclass, field

import numpy as np

from reluflow._checks import as_finite, by_name, number, one_of, one_output
from reluflow.init import Params
from reluflow.population import closed_form
from reluflow.single.law import Gaussian, Law, Radial, Sphere

INDEFINITE = 1e-10  # how far below 0 an eigenvalue of the overlaps may be, of the largest


@by_name
@dataclass(frozen=True, eq=False)
class Problem:
    """A student sum_j a_j s(<w_j, x>) that learns sum_k b_k s(<v_k, x>), the `teacher`, on the whole law of x.

    `teacher` and `init` are `rf.Params` of one dimension. The loss is E (f - f*)^2 / 2, x standard normal or, with
    `law`, any spherically symmetric law of `rf.single`. `slope` is that of a leaky ReLU; `train` moves "both" layers or
    the "first" alone.
    """

    teacher: Params
    init: Params
    slope: float = 0.0
    train: str = "both"
    law: Law = field(default_factory=Gaussian)

    def __post_init__(self):
        for name in ("teacher", "init"):
            value = getattr(self, name)
            if not isinstance(value, Params):
                raise TypeError(
                    f"`{name}` must be an rf.Params, got {type(value).__name__}: write `rf.Params(w, a)` with one row "
                    "of w for each neuron."
                )
            one_output(value, f"`{name}` of a population problem")
        if self.teacher.dim != self.init.dim:
            raise ValueError(
                f"`teacher` and `init` must have one dimension, got {self.teacher.dim} and {self.init.dim}: "
                f"use `dim={self.teacher.dim}`."
            )
        inside = lambda v: 0.0 <= v <= 1.0
        slope = number("slope", self.slope, rule="in [0, 1]", ok=inside, hint="0 is ReLU and 1 is linear")
        object.__setattr__(self, "slope", slope)
        one_of("train", self.train, ("both", "first"))
        if not isinstance(self.law, Gaussian | Sphere | Radial):
            raise TypeError(f"`law` must be a law of rf.single, got {self.law!r}: try `rf.single.Gaussian()`.")
        self.teacher.arrays()  # one sentence where it underflows
        low = min(s.min() for s in self.init.log_scales)
        if self.train == "first" and low < -700.0:
            raise ValueError(
                f"`log_scale` must be >= -700 when only the first layer is trained, got {low:.6g}: there a neuron "
                "turns in a time of the order of the scale itself."
            )

    @property
    def dim(self) -> int:
        return self.init.dim

    @property
    def overlaps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Order parameters at the start: Q = w w^T, R = w v^T, T = v v^T."""
        w, v = self.init.arrays()[0], self.teacher.arrays()[0]
        return w @ w.T, w @ v.T, v @ v.T

    def loss(self, params: Params | None = None) -> float:
        """E (f - f*)^2 / 2 at these weights (left out: at the start)."""
        return self.law.kappa * closed_form.loss(*self._at(params), slope=self.slope)

    def gradient(self, params: Params | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(dL/dw, dL/da) at these weights (left out: at the start)."""
        w, a = closed_form.gradient(*self._at(params), slope=self.slope)
        return self.law.kappa * w, self.law.kappa * a

    def hessian(self, params: Params | None = None) -> np.ndarray:
        """The Hessian of the loss in the trained weights, w row by row and then a."""
        return self.law.kappa * closed_form.hessian(*self._at(params), slope=self.slope, train=self.train)

    def compared(self, n, t1: float):
        """What `rf.compare(problem, n, t1)` returns: runs on samples of n points beside the population's."""
        from reluflow.population.samples import compare

        return compare(self, n, t1)

    def _at(self, params: Params | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        (w, a), (v, b) = (params or self.init).arrays(), self.teacher.arrays()
        return w, a, v, b

    def __repr__(self) -> str:
        slope = "" if self.slope == 0 else f", slope={self.slope:g}"
        first = "" if self.train == "both" else ", train=first"
        return f"population.Problem(teacher {self.teacher.width}, {self.init!r}{slope}{first})"


@by_name
def from_overlaps(Q, R, T, a, b, *, log_scale: float = 0.0, slope: float = 0.0, train: str = "both") -> Problem:
    """The problem with order parameters Q = w w^T, R = w v^T, T = v v^T, whatever the dimension of the inputs.

    The weights are a factor of the Gram matrix [[Q, R], [R^T, T]], in at most m + M dimensions: the flow depends on
    nothing else. Infinite dimension with independent starts is Q diagonal and R = 0. `log_scale` multiplies both layers
    of the student.
    """
    Q, R, T = (as_finite(name, value, ndim=2) for name, value in zip("QRT", (Q, R, T)))
    m, big = R.shape
    if Q.shape != (m, m) or T.shape != (big, big):
        raise ValueError(
            f"`Q`, `R`, `T` must have shapes (m, m), (m, M), (M, M), got {Q.shape}, {R.shape}, {T.shape}: "
            "R has one row for each student and one column for each teacher."
        )
    gram = np.block([[T, R.T], [R, Q]])
    if not np.allclose(gram, gram.T, rtol=1e-12, atol=0.0):
        raise ValueError("`Q` and `T` must be symmetric, got others: give Q = w w^T and T = v v^T.")
    rows = _factor(gram)
    return Problem(Params(rows[:big], b), Params(rows[big:], a, log_scale=log_scale), slope=slope, train=train)


def _factor(gram: np.ndarray) -> np.ndarray:
    """Rows with these inner products, lower triangular: an entry that is 0 in the Gram matrix of orthogonal rows stays
    exactly 0."""
    n = len(gram)
    rows = np.zeros((n, n))
    top = float(np.max(np.diag(gram)))
    for i in range(n):
        for j in range(i):
            rest = gram[i, j] - rows[i, :j] @ rows[j, :j]
            if rows[j, j] > 0.0:
                rows[i, j] = rest / rows[j, j]
            elif abs(rest) > INDEFINITE * top:
                raise _indefinite(rest)
        left = gram[i, i] - rows[i, :i] @ rows[i, :i]
        if left < -INDEFINITE * top:
            raise _indefinite(left)
        rows[i, i] = np.sqrt(left) if left > 1e-14 * top else 0.0
    return rows


def _indefinite(value: float) -> ValueError:
    return ValueError(
        "The overlaps must be the inner products of vectors, got a Gram matrix [[Q, R], [R^T, T]] that is not "
        f"positive semidefinite (by {abs(value):.3g}): check |R_jk|^2 <= Q_jj T_kk first."
    )
