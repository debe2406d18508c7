"""Lemma 2 of [MMV24]: near f = 0 every datum pulls with force about 1."""

import numpy as np

from reluflow.claim import Claim, Report

needs = "nothing"
forms = ("corrected", "printed")

# |-dl/df - y| for y = +1; y = -1 is its mirror image.
GAPS = {
    "exponential e^-z": lambda f: np.abs(np.expm1(-f)),
    "logistic 2 log(1+e^-z)": lambda f: np.abs(np.tanh(f / 2)),
    "logistic log(1+e^-z)": lambda f: 1.0 / (1.0 + np.exp(-f)),
    "square (1/2)(f-y)^2": lambda f: np.abs(f),
}
OF_FORM = {
    "corrected": ("exponential e^-z", "logistic 2 log(1+e^-z)"),
    "printed": ("exponential e^-z", "logistic log(1+e^-z)"),
}


def worst_ratio(loss: str, points: int = 2001) -> Claim:
    """max |-dl/df - y| / |f| over 1e-12 <= |f| <= 1 on a grid even in log |f|, with both ends."""
    size = np.logspace(-12, 0, points)
    f = np.concatenate([-size[::-1], size])
    ratio = GAPS[loss](f) / np.abs(f)
    k = int(np.argmax(ratio))
    return Claim(f"|-dl/df - y| / |f|, {loss}", float(ratio[k]), "<=", 2.0, at=f"y f = {f[k]:.3g}")


def check(form="corrected") -> Report:
    r"""Claim: $|-\nabla_{\hat y}\ell(y, \hat y) - y| \le 2|\hat y|$ for $|\hat y| \le 1$.

    No slack: the worst ratios are e - 1 (exponential, at z = -1) and 1/2 (2 log(1+e^-z), at 0). The main text's
    log(1+e^-z) (form "printed") has r(0) = 1/2, and the ratio goes to infinity (E1).
    """
    return Report("min2024.lemma2", [worst_ratio(loss) for loss in OF_FORM[form]], form=form)
