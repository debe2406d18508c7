"""Lemma H.4 of Kou et al.: a ratio of logarithms only grows."""

import numpy as np

from reluflow.claim import Claim, Report

needs = "nothing"


def check(samples: int = 20_000, seed: int = 0, swapped: bool = False) -> Report:
    r"""$b > a > 0$, $t \ge s > 0$: $\log(1+at)/\log(1+bt) \ge \log(1+as)/\log(1+bs)$.

    `samples` draws of (a, b, s, t) over e^[-12, 12]; `swapped` takes a > b, where the inequality turns round and must
    be seen to. Compared as a difference of logarithms of the ratios. Slack: eight roundings.
    """
    rng = np.random.default_rng([seed, 3])
    a, b = np.sort(np.exp(rng.uniform(-12.0, 12.0, size=(2, samples))), axis=0)[:: -1 if swapped else 1]
    s, t = np.sort(np.exp(rng.uniform(-12.0, 12.0, size=(2, samples))), axis=0)
    late = np.log(np.log1p(a * t)) - np.log(np.log1p(b * t))
    early = np.log(np.log1p(a * s)) - np.log(np.log1p(b * s))
    k = int(np.argmin(late - early))
    slack = 8 * np.finfo(float).eps * 25.0  # eight roundings of logarithms no larger than 25
    place = f"a = {a[k]:.3g}, b = {b[k]:.3g}, s = {s[k]:.3g}, t = {t[k]:.3g}"
    claims = [
        Claim("log of ratio at t, of that at s", late[k], ">=", early[k], slack=slack, log=True, at=place),
        Claim("draws that break it", np.sum(late - early < -slack), "=", 0.0),
    ]
    return Report("kou2023.lemma_h4", claims)
