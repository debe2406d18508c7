"""Lemma 16 of [BPF22]: a Groenwall inequality with memory."""

import numpy as np

from reluflow.claim import Claim, Report

needs = "nothing"
forms = ("corrected", "printed")


def check(form="corrected", samples: int = 2000, seed: int = 0) -> Report:
    r"""Claim: $f' \le -af + b\int_0^t f + c$ with $f, a, b, c \ge 0$ implies $f(t) \le (f(0) + c/a) e^{bt/a}$.

    Printed: $c/a$ in place of c and $f \le (f(0) + c)(1 + e^{bt/a})$, which is false: a = 0.1, b = 0, c = 1, f(0) = 0
    tends to 100 against 2 (E7). Tried on the largest such f, the solution of the equality, for log-uniform a, b, c,
    f(0) in [1e-3, 1e3] (one in four with b = 0) at times up to 20/(b/a) and 50/a. Slack: the closed form with its two
    exponentials is good to 1e-12.
    """
    rng = np.random.default_rng([seed, 3])
    worst, where = -np.inf, None
    cases = [(0.1, 0.0, 1.0, 0.0)] + [tuple(10.0 ** rng.uniform(-3, 3, size=4)) for _ in range(samples)]
    for k, (a, b, c, f0) in enumerate(cases):
        b = 0.0 if k % 4 == 0 else b
        push = c / a if form == "printed" else c
        t = np.linspace(0.0, max(50.0 / a, 20.0 * a / b if b > 0 else 0.0), 200)
        log_f = _log_largest(a, b, push, f0, t)
        grown = b / a * t
        if form == "printed":
            bound = np.log(f0 + c) + np.logaddexp(0.0, grown) if f0 + c > 0 else np.full(len(t), -np.inf)
        else:
            bound = np.log(f0 + c / a) + grown
        i = int(np.argmax(log_f - bound))
        if log_f[i] - bound[i] > worst:
            worst = float(log_f[i] - bound[i])
            where = f"a = {a:.4g}, b = {b:.4g}, c = {c:.4g}, f(0) = {f0:.4g}, t = {t[i]:.4g}"
    return Report(
        name="boursier2022.lemma16",
        claims=[Claim("log of f over its bound, worst", worst, "<=", 0.0, slack=1e-12, at=where)],
        constants={"samples": samples},
        form=form,
    )


def _log_largest(a: float, b: float, c: float, f0: float, t: np.ndarray) -> np.ndarray:
    """log f of f' = -a f + b int f + c: two exponentials, rates (-a +- sqrt(a^2 + 4b))/2."""
    root = np.sqrt(a**2 + 4 * b)
    up, down = 2 * b / (a + root), -(a + root) / 2  # up without cancellation
    grow = (c - a * f0 - down * f0) / root
    with np.errstate(divide="ignore", under="ignore"):
        fade = (f0 - grow) * np.exp((down - up) * t)
        return up * t + np.log(np.maximum(grow + fade, 0.0))
