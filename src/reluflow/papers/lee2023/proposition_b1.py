"""Proposition B.1 of [LSY23]: any spherically symmetric law gives kappa times the Gaussian matrices."""

from dataclasses import replace

import numpy as np

from reluflow.claim import Report
from reluflow.papers.lee2023 import lemma2_1
from reluflow.single import Radial, Sphere

needs = "nothing"


def check(*, laws=None, d: int = 4, samples: int = 60_000, seed: int = 0) -> Report:
    r"""Claim: for x uniform on the unit sphere both matrices of Lemma 2.1 are 1/d times the Gaussian ones; in general
    $\kappa = E\|x\|^2/d$ times.

    Sampled for the sphere and for a radius uniform on [0, 2], whose square has mean 4/3; within 6 standard errors.
    """
    laws = laws or (Sphere(d), Radial(d, lambda rng, n: rng.uniform(0.0, 2.0, n), 4 / 3))
    claims = []
    for law in laws:
        found = lemma2_1.check(law=law, d=d, samples=samples, seed=seed).claims
        name = type(law).__name__
        claims += [replace(c, text=f"{name}: {c.text}") for c in found if "standard errors" in c.text]
    return Report(
        "lee2023.proposition_b1", claims, constants={type(k).__name__: float(np.round(k.kappa, 12)) for k in laws}
    )
