"""The problem in exact numbers: fractions for data and weights, a fraction for the logarithm of the scale.

A float is read as the decimal number that prints it: 0.1 is one tenth. Output weights are taken exactly balanced,
a_j = s_j |w_j|; the flow keeps them so.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from reluflow.certify._flint import fmpq
from reluflow.certify.refusal import Refused


def rational(value) -> fmpq:
    """A decimal or fraction in words, a float, an int or a Fraction as a fraction."""
    if isinstance(value, fmpq):
        return value
    if not isinstance(value, str | int | Fraction):
        value = repr(float(value))
    f = Fraction(value)
    return fmpq(f.numerator, f.denominator)


def words(value: fmpq) -> str:
    """A fraction as an exact decimal where it has one, else as p/q."""
    p, q = int(value.p), int(value.q)
    twos, fives, rest = 0, 0, q
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return f"{p}/{q}"
    places = max(twos, fives)
    digits = str(abs(p) * 10**places // q).rjust(places + 1, "0")
    whole, part = (digits[:-places], digits[-places:]) if places else (digits, "")
    return ("-" if p < 0 else "") + whole + (f".{part}" if part else "")


def dot(u, v) -> fmpq:
    return sum((a * b for a, b in zip(u, v, strict=True)), fmpq(0))


@dataclass(frozen=True)
class Exact:
    """Rows x_i, labels y_i, weights w_j e^log_scale, signs s_j, and what multiplies each datum's loss.

    `below` says that the statement is made for every scale up to e^log_scale, not for that one alone.
    """

    x: tuple
    y: tuple
    w: tuple
    s: tuple
    log_scale: fmpq
    weight: fmpq
    loss: str = "square"
    below: bool = False

    @property
    def n(self) -> int:
        return len(self.x)

    @property
    def d(self) -> int:
        return len(self.x[0])

    @property
    def m(self) -> int:
        return len(self.w)

    def __post_init__(self):
        for i, row in enumerate(self.x):
            if not any(row):
                raise Refused(f"Datum {i} is zero: leave it out, it is never seen.", final=True)
            for k in range(i):
                if dot(row, self.x[k]) ** 2 == dot(row, row) * dot(self.x[k], self.x[k]):
                    raise Refused(f"Data {k} and {i} lie on one line: parallel rows are not covered.", final=True)
        for j, w in enumerate(self.w):
            for i, row in enumerate(self.x):
                if dot(w, row) == 0:
                    raise Refused(
                        f"Neuron {j} starts on the boundary of datum {i}: such starts are not covered.", final=True
                    )

    @classmethod
    def of(cls, problem, below: bool = False) -> Exact:
        """The exact reading of an rf.Problem."""
        _covered(problem)
        init = problem.init
        log_w, _ = init.log_scales
        return cls(
            x=tuple(tuple(rational(v) for v in row) for row in problem.data.x),
            y=tuple(rational(v) for v in problem.data.y),
            w=tuple(tuple(rational(v) for v in row) for row in init.w),
            s=tuple(int(np.sign(a)) for a in init.a),
            log_scale=rational(log_w[0]),
            weight=fmpq(1, problem.data.n) if problem.reduction == "mean" else fmpq(1),
            loss=problem.loss,
            below=below,
        )

    def to_dict(self) -> dict:
        return {
            "x": [[words(v) for v in row] for row in self.x],
            "y": [words(v) for v in self.y],
            "w": [[words(v) for v in row] for row in self.w],
            "s": list(self.s),
            "log_scale": words(self.log_scale),
            "every_scale_below": self.below,
            "loss": self.loss,
            "weight": words(self.weight),
        }


def _covered(problem) -> None:
    """Refuses problems that the theorems do not cover."""
    init = problem.init
    log_w, log_a = init.log_scales
    for bad, why in (
        (problem.outputs > 1, f"networks with several outputs, {problem.outputs} here"),
        (problem.loss not in ("square", "logistic"), f'loss "{problem.loss}" (square and logistic are)'),
        (problem.activation.slope != 0, f"slope {problem.activation.slope:g} (only ReLU is)"),
        (problem.train != "both", "training of the first layer alone"),
        (init.fixed is not None, "fixed weights, such as an output bias"),
        (float(getattr(problem, "decay", 0.0) or 0.0) != 0, "weight decay"),
        (np.ptp(np.append(log_w, log_a)) != 0, "neurons of different log scales"),
    ):
        if bad:
            raise Refused(f"Certificates do not cover {why}.", final=True)
    norm2 = np.sum(init.w**2, axis=1)
    if np.any(np.abs(init.a**2 - norm2) > 8 * np.finfo(float).eps * (init.a**2 + norm2)) or np.any(norm2 == 0):
        raise Refused(
            "Certificates cover balanced neurons alone, |a_j| = |w_j| > 0: use `rf.init.balanced`.", final=True
        )
