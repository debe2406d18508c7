"""Theorems 4.2 and A.2 of [LSY23]: the angle under gradient descent, for any depth."""

import math

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.lee2023._bounds import angle_rates, printed_angles
from reluflow.papers.lee2023._common import is_descent, starts_well, worst
from reluflow.papers.lee2023._steps import Steps, log_theta, steps, turning_rates, well_stepped
from reluflow.single import Run

needs = "single"
forms = ("corrected", "printed")

ORDER_ONE = 10.0  # in units where the target is 1


def check(run: Run, *, form: str = "corrected", r: float | None = None, R: float | None = None) -> Report:
    r"""Claim: the bounds of 3.4 and 3.9 with decays per step in place of exponentials.

    Printed: $\pi - 2c(1-a_{lo}\eta)^T < \varphi(T) < \pi - 2c(1-a_{hi}\eta)^T + \frac23 c^3 (1-3a_{hi}\eta)^T$, given
    r < |w| < R. Its proof replaces e^-at by (1 - a eta)^T in the bounds, which is right up to O(eta) only, and by
    that recipe the last term is (1-a_hi eta)^3T. Corrected, and exact for every step with alpha > 0 and q < 1
    (`_steps`): (1 + q_lo)^-T for the first and (1 - q_hi)^T, (1 - q_hi)^3T for the others; the recipe's own bounds
    are then measured as O(eta), their excess over eta reported. r and R are those of the run unless given. Slack: 8
    rounding errors an iteration.
    """
    s = steps(run)
    lo, hi = (math.exp(a) for a in angle_rates(run.problem, *_range(run, s, r, R)))
    q_lo, q_hi = turning_rates(run, s)
    after = s.T > 0
    T, theta, slack, y0 = s.T[after], log_theta(s)[after], s.slack[after], run.problem.y0
    hypotheses = [*is_descent(run), *starts_well(run), *well_stepped(s, q_hi)]
    constants = {"a_lo eta": lo * s.eta, "a_hi eta": hi * s.eta, "q_lo": q_lo, "q_hi": q_hi, "eta": s.eta}
    slow, fast = (T * _log_less(a * s.eta) for a in (lo, hi))
    if form == "printed":
        cube = T * _log_less(3 * hi * s.eta)
        claims = _claims("", theta, T, slack, printed_angles(y0, slow, fast, cube))
        hypotheses += [
            Claim("eta over its bound", s.eta * max(lo, 3 * hi), "<", 0.1, note="<< read as a tenth"),
            *_inside(s, *_range(run, s, r, R)),
        ]
    else:
        exact = printed_angles(y0, -T * math.log1p(q_lo), T * _log_less(q_hi))
        claims = _claims(" (exact)", theta, T, slack, exact) + _excess(theta, s.eta, printed_angles(y0, slow, fast))
    return Report("lee2023.theorem4_2", claims, hypotheses, constants, form)


def _range(run: Run, s: Steps, r: float | None, R: float | None) -> tuple[float, float]:
    unit = run.problem.log_target
    return (
        float(s.l.min()) if r is None else math.log(r) - unit,
        float(s.l.max()) if R is None else math.log(R) - unit,
    )


def _inside(s: Steps, log_r: float, log_R: float) -> list[Claim]:
    return [
        Claim("smallest log |w|/v*", float(s.l.min()), ">=", log_r),
        Claim("largest log |w|/v*", float(s.l.max()), "<=", log_R),
    ]


def _log_less(x: float) -> float:
    """log(1 - x), -inf when nothing is left."""
    return math.log1p(-x) if x < 1.0 else -math.inf


def _claims(name: str, theta, T, slack, bounds) -> list[Claim]:
    top, bottom = bounds
    said = np.isfinite(bottom)
    return [
        worst(f"log(pi - phi), lower bound on phi{name}", theta, "<", top, slack, T),
        worst(f"log(pi - phi), upper bound on phi{name}", theta[said], ">", bottom[said], slack[said], T[said]),
    ]


def _excess(theta, eta: float, bounds) -> list[Claim]:
    """By how many eta the angle leaves the recipe's bounds; 0 when it does not."""
    angle, top, bottom = np.exp(theta), np.exp(bounds[0]), np.exp(bounds[1])
    over = [max(0.0, float(np.max(angle - top))) / eta, max(0.0, float(np.max(bottom - angle))) / eta]
    names = ("phi below the recipe's lower bound, over eta", "phi above the recipe's upper bound, over eta")
    return [Claim(n, v, "<=", ORDER_ONE, kind="fitted", note="the constant of O(eta)") for n, v in zip(names, over)]
