"""Appendix E.4 of [MMV24]: solutions are not unique, and irregular ones leave the dead cone."""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim, Report

needs = "nothing"
forms = ("corrected", "printed")


def leaving(t: np.ndarray, t0: float) -> tuple[np.ndarray, np.ndarray]:
    r"""(w_1, v) of the solution that waits until t0: w = (sinh tau, 1), v = cosh tau, t - t0 = \int_0^tau
    e^{sinh(2a)/2} da.
    """
    from scipy.integrate import quad
    from scipy.optimize import brentq

    passed = lambda tau: quad(lambda a: np.exp(np.sinh(2 * a) / 2), 0.0, tau, epsabs=1e-13, epsrel=1e-13)[0]
    tau = np.array([brentq(lambda x, s=s: passed(x) - s, 0.0, 2.0, xtol=1e-14) if s > 0 else 0.0 for s in t - t0])
    return np.sinh(tau), np.cosh(tau)


def check(form="corrected", t0: float = 0.7) -> Report:
    r"""x = (1, 0), y = +1, w(0) = (0, 1), v(0) = 1, exponential loss, relu'(0) = 0. Claims: the constant curve is a
    solution, it is the regular one, and it is what the engine returns, with the choice marked as not unique; "wait
    until $t_0$, then leave" is a solution too: it satisfies the integral equation; a neuron started a hair outside
    follows it.

    Printed: Lemma 12's "any solution" stays in $S_{dead}$ (E6), judged on the leaving one. Slack: quadrature 1e-10 for
    the integral equation; 100 rtol plus the hair, 1e-9 times its growth, for the flow.
    """
    t = np.linspace(t0, t0 + 3.0, 31)
    w, v = leaving(t, t0)
    if form == "printed":
        claim = Claim(
            "Lemma 12 for the solution that leaves: largest <x, w> after it was in the dead cone",
            float(w.max()),
            "<=",
            0.0,
        )
        return Report("min2024.example_e4", [claim], form=form)
    data = rf.Data(np.array([[1.0, 0.0]]), np.ones(1))
    make = lambda first: rf.Problem(
        data, rf.Params(np.array([[first, 1.0]]), np.array([np.hypot(first, 1.0)])), loss="exponential", reduction="sum"
    )
    still = rf.solve(make(0.0), rf.Flow(), t1=3.0)
    moved = float(np.max(np.abs(still.at(3.0).arrays()[0] - [[0.0, 1.0]])))
    # The integral equation of the leaving solution: w(t) - w(0) = int v e^{-v w} over the time it moves, by Gauss rule.
    nodes, weights = np.polynomial.legendre.leggauss(40)
    s = t0 + 1.5 * (nodes + 1.0)
    ws, vs = leaving(s, t0)
    force = np.exp(-vs * ws)
    miss = max(abs(w[-1] - 1.5 * np.sum(weights * force * vs)), abs(v[-1] - 1.0 - 1.5 * np.sum(weights * force * ws)))
    hair = 1e-9
    near = rf.solve(make(hair), rf.Flow(rtol=1e-10), t1=3.0)
    got = np.array([p.arrays()[0][0, 0] for p in near.at(t[1:] - t0)])
    gap = float(np.max(np.abs(got - w[1:])))
    claims = [
        Claim("the engine's solution: how far the neuron moves", moved, "=", 0.0),
        Claim("decisions the engine marks as not unique", still.stats.non_unique, ">=", 1),
        Claim("the leaving solution: what it misses the integral equation by", miss, "<=", 0.0, slack=1e-10),
        Claim(
            "a neuron started 1e-9 outside: distance from the leaving solution",
            gap,
            "<=",
            0.0,
            slack=1e-8 + np.e * hair,
        ),
        Claim("the leaving solution is not regular: <x, w> at its end", float(w[-1]), ">", 0.0),
    ]
    return Report("min2024.example_e4", claims)
