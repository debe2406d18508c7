"""Theorem A.3 of [LSY23]: magnitude of a two-layer neuron under gradient descent."""

import math

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.lee2023._common import is_descent, layers, starts_well, worst
from reluflow.papers.lee2023._steps import steps
from reluflow.single import Run

needs = "single"
forms = ("corrected", "printed")

EXCESS = 4.0  # eta v*^3: the handbook's 120 runs with v_0 <= 2.5 v* stay within 3.1


def allowed(v0: float) -> float:
    r"""The excess over eta that is allowed, in units of v*^3.

    One step leaves (3/8) eta^2 v (v^2 - A)^2 <= (3/8) eta^2 v^5 between Euler's step and the bound, and v falls like
    v' = -v^3/2 from a large start: the sum is (3/8) eta int v^5 dt = (3/8) eta int 2 v^2 dv = eta v_0^3/4. Twice that
    covers the next order while eta v_0^2 <= 1/2.
    """
    return EXCESS + 0.5 * v0**3


def check(run: Run, *, form: str = "corrected") -> Report:
    r"""Claim: $v^*\sqrt{\frac{1-\varepsilon}{1-(1-(1-\varepsilon)(v^*/v_0)^2)(1-(1-\varepsilon)v^{*2}\eta)^T}}$ with
    eps_0 and 0 bound v(T), m = 1.

    Printed, strictly, for |w| = v: but descent does not keep |w| = v_1, and the lower bound touches the run at T = 0,
    so it fails at O(eta) from the first step on. Corrected: v_1 obeys both up to (4 + v_0^3/2) eta v*^3 (target 1),
    the 4 measured, the rest derived (`allowed`), for steps with eta v_0^2 <= 1/2.
    """
    s = steps(run)
    after = s.T > 0
    T, eta = s.T[after], s.eta
    low, high = (0.5 * np.log(_square(1.0 - e, math.exp(2 * s.l[0]), eta, T)) for e in (run.problem.eps, 0.0))
    hypotheses = [*is_descent(run), *starts_well(run), *layers(run, 1)]
    hypotheses.append(Claim("eta v*^2", eta, "<", 1.0 if form == "corrected" else 0.1))
    v0 = math.exp(s.l[0])
    if form == "corrected":
        hypotheses.append(Claim("eta v_0^2", eta * v0**2, "<=", 0.5))
    if form == "printed":
        claims = [
            worst("log |w|/v* over its lower bound", s.l[after], ">", low, s.slack[after], T),
            worst("log |w|/v* under its upper bound", s.l[after], "<", high, s.slack[after], T),
        ]
    else:
        v = np.exp(s.log_v1[after])
        over = (float(np.max(np.exp(low) - v)), float(np.max(v - np.exp(high))))
        claims = [
            Claim(f"v_1 {n}, over eta v*^3", max(0.0, e) / eta, "<=", allowed(v0), kind="fitted")
            for n, e in zip(("below its lower bound", "above its upper bound"), over)
        ]
    return Report("lee2023.theorem_a3", claims, hypotheses, {"eta": eta, "eps_0": run.problem.eps}, form)


def _square(a: float, v0_square: float, eta: float, T: np.ndarray) -> np.ndarray:
    return a / (1.0 - (1.0 - a / v0_square) * (1.0 - a * eta) ** T)
