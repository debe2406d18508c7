"""Lemma 2.1 of [LSY23]: second moments of a Gaussian in a half space and in a wedge."""

import math

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.lee2023._common import EPS
from reluflow.single import Gaussian

needs = "nothing"
SIGMAS = 6.0
ANGLES = (0.3, 1.0, 1.7, 2.8)


def wedge(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """M = (1/2)(1 - theta/pi) I + [-cos theta (u u^T + v v^T) + u v^T + v u^T] / (2 pi sin theta), unit vectors u !=
    +-v.
    """
    theta = 2 * math.atan2(np.linalg.norm(u - v), np.linalg.norm(u + v))
    rank_two = np.outer(u, v) + np.outer(v, u) - math.cos(theta) * (np.outer(u, u) + np.outer(v, v))
    return 0.5 * (1 - theta / math.pi) * np.eye(len(u)) + rank_two / (2 * math.pi * math.sin(theta))


def eigenvalues(theta: float) -> tuple[float, float, float]:
    """Of u + v, of u - v, and of everything orthogonal to both."""
    base, turn = (math.pi - theta) / (2 * math.pi), math.sin(theta) / (2 * math.pi)
    return base + turn, base - turn, base


def sampled(law, d: int, theta: float, samples: int, seed: int) -> tuple[float, float]:
    """Largest deviation of the sampled half-space and wedge matrices from kappa times the lemma's, in standard
    errors.
    """
    x = law.draw(np.random.default_rng([seed, 3]), samples, d)
    u, v = pair(d, theta)
    worst = []
    for bits, matrix in ((x @ u > 0, 0.5 * np.eye(d)), ((x @ u > 0) & (x @ v > 0), wedge(u, v))):
        entries = bits[:, None, None] * x[:, :, None] * x[:, None, :]
        error = entries.std(axis=0) / math.sqrt(samples) + 1e-300
        worst.append(float(np.max(np.abs(entries.mean(axis=0) - law.kappa * matrix) / error)))
    return worst[0], worst[1]


def pair(d: int, theta: float) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors at this angle, along no axis in particular."""
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(d, 2)))[0].T
    return basis[0], math.cos(theta) * basis[0] + math.sin(theta) * basis[1]


def check(*, law=None, d: int = 4, samples: int = 100_000, seed: int = 0) -> Report:
    r"""Claim: $E[1_{u^Tx>0} xx^T] = I/2$; the wedge matrix as in `wedge`, its eigenpairs, and $u^TMv =
    \frac12(1-\frac\theta\pi)\cos\theta + \frac{\sin\theta}{2\pi}$.

    The plane of u and v is integrated exactly: its angle runs over the wedge, and E r^2 = 2. Besides, `samples` draws
    at four angles: the largest entry's deviation is below 6 standard errors (of 2 x 16 x 4 entries, chance 3e-7).
    Slack elsewhere: rounding. Another `law` is compared with kappa times the same matrices (Proposition B.1).
    """
    law = law or Gaussian()
    claims, half = [], []
    for theta in ANGLES:
        u, v = pair(d, theta)
        M = wedge(u, v)
        values, kernel = (
            eigenvalues(theta),
            0.5 * (1 - theta / math.pi) * math.cos(theta) + math.sin(theta) / (2 * math.pi),
        )
        other = np.linalg.svd(np.array([u, v]))[2][-1]
        off = [np.abs(M @ e - k * e).max() for e, k in zip((u + v, u - v, other), values)]
        off += [abs(u @ M @ v - kernel), np.abs(_plane(theta) - np.diag(values[:2])).max()]
        tiny = 40 * EPS / math.sin(theta)
        claims.append(Claim(f"eigenpairs, kernel and plane integral at {theta}", max(off), "<=", 0.0, slack=tiny))
        a, b = sampled(law, d, theta, samples, seed)
        half.append(a)
        claims.append(Claim(f"wedge matrix at {theta}, in standard errors", b, "<=", SIGMAS))
    claims.append(Claim("half-space matrix, in standard errors", max(half), "<=", SIGMAS))
    return Report("lee2023.lemma2_1", claims, constants={"kappa": law.kappa, "d": d, "samples": samples})


def _plane(theta: float) -> np.ndarray:
    """The wedge's second moments along and across its axis: integral of 2 (cos^2, sin^2) over (pi - theta)/2, by
    Gauss.
    """
    nodes, weights = np.polynomial.legendre.leggauss(40)
    a = 0.5 * (math.pi - theta)
    moment = lambda f, g: a * float(np.sum(weights * f(a * nodes) * g(a * nodes))) * 2 / (2 * math.pi)
    return np.array(
        [[moment(np.cos, np.cos), moment(np.cos, np.sin)], [moment(np.sin, np.cos), moment(np.sin, np.sin)]]
    )
