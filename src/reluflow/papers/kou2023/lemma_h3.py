"""Lemma H.3 of Kou et al. (Vershynin, Theorem 4.4.5): the spectral norm of a random matrix."""

import numpy as np

from reluflow.claim import Claim, Report

needs = "nothing"
# Law of an entry: how to draw it, and sigma with E e^{l a} <= e^{l^2 sigma^2/2}.
LAWS = {
    "signs/2": (lambda rng, shape: rng.choice([-0.5, 0.5], size=shape), 0.5),
    "normal": (lambda rng, shape: rng.normal(size=shape), 1.0),
    "uniform": (lambda rng, shape: rng.uniform(-1.0, 1.0, size=shape), 1.0),
    "0 or 1": (lambda rng, shape: rng.choice([0.0, 1.0], size=shape), 0.5),
}


def check(
    laws=("signs/2", "normal", "uniform"), shapes=((10, 10), (40, 10), (60, 60)), samples: int = 300, seed: int = 0
) -> Report:
    r"""Independent mean-zero sub-Gaussian entries: $|A|_2 \le CK(\sqrt m + \sqrt n + t)$ with probability $\ge
    1-2e^{-t^2}$.

    CK is fitted: the least that holds at the sampled quantiles of |A|_2 for t in [0.9, 2]. It is judged against what
    the proof gives with variance proxy sigma: nets of 9^m and 9^n points and P(|<Ax,y>| >= u/2) <= 2e^{-u^2/(8
    sigma^2)} make CK = sqrt(8 log 9) sigma. "0 or 1" (the matrix C of Lemma F.3 itself) is not centred: its norm grows
    like sqrt(mn)/2, and the same fit exceeds the constant once the shape is large.
    """
    rng = np.random.default_rng([seed, 3])
    t = np.linspace(0.9, min(2.0, np.sqrt(np.log(samples / 5.0))), 8)
    claims = []
    for law in laws:
        draw, sigma = LAWS[law]
        for m, n in shapes:
            found = np.sort([np.linalg.norm(draw(rng, (m, n)), 2) for _ in range(samples)])
            level = np.quantile(found, 1 - 2 * np.exp(-(t**2)))
            fitted = float(np.max(level / (np.sqrt(m) + np.sqrt(n) + t)))
            text = f"CK of {law} entries, {m} x {n}"
            claims.append(Claim(text, fitted, "<=", np.sqrt(8 * np.log(9.0)) * sigma, kind="fitted"))
    return Report("kou2023.lemma_h3", claims, constants={"samples": samples})
