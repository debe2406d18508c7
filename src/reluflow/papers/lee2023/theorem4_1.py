"""Theorem 4.1 of [LSY23]: descent follows a flow g(e^-ct) as g((1 - c eta)^T), up to O(eta)."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reluflow.claim import Claim, Report

needs = "nothing"
forms = ("corrected", "printed")


@dataclass(frozen=True)
class Curve:
    """g on [0, 1], its inverse and two derivatives; the flow is w(t) = g(e^-ct)."""

    name: str
    g: Callable
    inverse: Callable
    d1: Callable
    d2: Callable
    c: float = 1.0


CURVES = (
    Curve(
        "1.01 x - x^2/2",
        lambda x: 1.01 * x - 0.5 * x * x,
        lambda w: 1.01 - math.sqrt(max(1.01**2 - 2.0 * w, 0.0)),
        lambda x: 1.01 - x,
        lambda x: -1.0 + 0.0 * x,
    ),
    Curve(
        "pi - 2x",
        lambda x: math.pi - 2 * x,
        lambda w: 0.5 * (math.pi - w),
        lambda x: -2.0 + 0 * x,
        lambda x: 0 * x,
        0.5,
    ),
    Curve(
        "(1 + 3x)^-1/2",
        lambda x: (1 + 3 * x) ** -0.5,
        lambda w: (w**-2 - 1) / 3,
        lambda x: -1.5 * (1 + 3 * x) ** -1.5,
        lambda x: 6.75 * (1 + 3 * x) ** -2.5,
        0.7,
    ),
)


def error(curve: Curve, eta: float, length: float = 12.0) -> float:
    """max_T |w(T) - g((1 - c eta)^T)|, w by Euler steps on w' = -c x g'(x), x = g^-1(w)."""
    w, worst, c = float(curve.g(1.0)), 0.0, curve.c
    for T in range(1, int(length / (c * eta)) + 1):
        x = curve.inverse(w)
        w -= eta * c * x * curve.d1(x)
        worst = max(worst, abs(w - curve.g((1.0 - c * eta) ** T)))
    return worst


def check(*, form: str = "corrected", curves: tuple[Curve, ...] = CURVES, eta: float = 0.01) -> Report:
    r"""Claim: $\max_T |w(T) - g((1-c\eta)^T)| = O(\eta)$, uniformly in T, for $g \in C^2$ one-to-one with
    $(g^{-1})'$, $g''$ and $g' + xg''$ bounded.

    Judged by halving eta: the error must halve (ratio in 1.9..2.1; the next order is O(eta), here below 5%) or be
    rounding. Printed, the proof's constant: error <= c eta M_3 / (2 (2 - c eta)) with M_3 = max|g''|, which rests on
    1 - c eta M_1 M_2 where upper bounds only give 1 + c eta M_1 M_2.
    """
    claims = []
    for k in curves:
        if form == "printed":
            m3 = float(np.max(np.abs(k.d2(np.linspace(0, 1, 1001)))))
            bound = k.c * eta * m3 / (2 * (2 - k.c * eta))
            claims.append(Claim(f"error for g = {k.name}", error(k, eta), "<=", bound, slack=1e-13))
            continue
        coarse, fine = error(k, eta), error(k, eta / 2)
        if coarse < 1e-13:
            claims.append(Claim(f"error for g = {k.name}", coarse, "<=", 0.0, slack=1e-13))
            continue
        note = f"error / eta = {fine / (eta / 2):.4g}"
        claims.append(
            Claim(
                f"|error halves, less 2| for g = {k.name}", abs(coarse / fine - 2), "<=", 0.1, kind="limit", note=note
            )
        )
    return Report("lee2023.theorem4_1", claims, constants={"eta": eta}, form=form)
