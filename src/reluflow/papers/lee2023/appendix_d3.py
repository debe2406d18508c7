"""Appendix D.3 of [LSY23]: the constants r and R that the paper's own figures use."""

import math

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.lee2023._bounds import log_h
from reluflow.single import angle

needs = "nothing"
forms = ("corrected", "printed")


def check(*, form: str = "corrected", draws: int = 20_000, d: int = 100, seed: int = 0) -> Report:
    r"""Printed: for a small start (k = 0.1 k*) r = |w_0| is a lower bound of |w(T)|, k being a variance as N(0, kI)
    says.

    It is one exactly when v_0/v* <= s(phi_0)^(1/(m+1)), which random starts in d = 100 miss in about half the draws
    for one layer: v_0/v* = .316 against .318 +- .05. Corrected: k is read as a standard deviation, where v_0/v* = .1
    and no draw fails. The fraction of `draws` starts for which r = |w_0| is legitimate, m = 0, 1, 2.
    """
    rng = np.random.default_rng([seed, 3])
    w, star = rng.normal(size=(draws, d)), rng.normal(size=(draws, d))
    cos = np.sum(w * star, axis=1) / (np.linalg.norm(w, axis=1) * np.linalg.norm(star, axis=1))
    y = np.arctanh(cos)  # log cot(theta/2)
    ratio = np.log(np.linalg.norm(w, axis=1) / np.linalg.norm(star, axis=1))
    ratio += (0.5 if form == "printed" else 1.0) * math.log(0.1)
    claims = []
    for m in (0, 1, 2):
        fine = float(np.mean(ratio <= log_h(m, y)))
        claims.append(Claim(f"fraction of starts with r = |w_0| legitimate, m = {m}", fine, "=", 1.0))
    return Report(
        "lee2023.appendix_d3",
        claims,
        constants={"mean s(phi_0)": float(np.mean(angle.s(angle.angles(y)[0])))},
        form=form,
    )
