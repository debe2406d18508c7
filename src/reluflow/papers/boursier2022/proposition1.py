"""Proposition 1 of [BPF22]: the least norm of an interpolator, and who attains it."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import EPS, Labels, data_hypotheses
from reluflow.papers.boursier2022._landscape import loss_and_gradient

needs = "data"
forms = ("corrected", "printed")


def check(data, form="corrected", samples: int = 200, seed: int = 0) -> Report:
    r"""Claim: $\min_{L(\theta)=0}|\theta|^2 = 2(|E_+| + |E_-|)$ (printed $2n(|D_+| + |D_-|)$, the same for unit norms,
    wrong for others), attained by balanced networks with all $s=+1$ neurons on the ray of $E_+$ with $\sum|w|^2 =
    |E_+|$, all $s=-1$ ones on $-E_-$.

    From above: such a network with five neurons a side, shares drawn at random. From below, exactly: any $\nu$ with
    $|\sum_k \nu_k\,relu(\langle w, x_k\rangle)| \le |w|$ gives $\min \ge 2\nu^T y$; taken is $\nu_k =
    y_k/(|x_k|^2|E|)$, whose largest value over unit w is computed for orthogonal rows and searched for otherwise. And
    `samples` random interpolators, least squares on random features, balanced: none may be shorter. Slack: n d
    roundings.
    """
    const = Labels(data)
    rng = np.random.default_rng([seed, 3])
    claimed = const.min_norm if form == "corrected" else 2 * const.N * (const.plus.size + const.minus.size)
    shares = [rng.dirichlet(np.ones(5)) for _ in range(2)]
    sides = ((const.plus, shares[0], const.flip), (const.minus, shares[1], -const.flip))
    w = np.vstack([np.sqrt(c.u * s)[:, None] * c.goal for c, s, _ in sides])
    a = np.concatenate([sign * np.sqrt(c.u * s) for c, s, sign in sides])
    loss, _ = loss_and_gradient(const, w, a)
    rounding = const.n * data.d * EPS
    dual = data.y / (const.nu2 * np.where(const.plus.members, const.plus.u, const.minus.u))
    least = min(_interpolators(data, rng, samples), default=np.nan)
    return Report(
        name="boursier2022.proposition1",
        hypotheses=data_hypotheses(const)[:2],
        claims=[
            Claim(
                "loss of the network on the two rays",
                loss,
                "=",
                0.0,
                slack=(rounding * float(np.max(np.abs(data.y)))) ** 2 * 100,
            ),
            Claim("its |theta|^2", float(np.sum(w**2) + np.sum(a**2)), "=", claimed, slack=rounding * claimed),
            Claim(
                "dual bound: max over unit w of |sum nu_k relu(<w, x_k>)|",
                _largest(data, dual, rng),
                "<=",
                1.0,
                slack=rounding,
            ),
            Claim("dual bound 2 nu'y", 2 * float(dual @ data.y), "=", claimed, slack=rounding * claimed),
            Claim("least |theta|^2 of sampled interpolators", least, ">=", claimed),
        ],
        constants={"|E+|": const.plus.u, "|E-|": const.minus.u, "min |theta|^2": const.min_norm},
        form=form,
    )


def _largest(data, nu, rng) -> float:
    """max over unit w of |sum nu_k relu(<w, x_k>)|: the norm of the positive (negative) part for orthogonal rows, where
    the other part can be switched off; a lower estimate from many directions otherwise."""
    parts = [np.linalg.norm(np.maximum(s * nu, 0.0) @ data.x) for s in (1.0, -1.0)]
    w = rng.normal(size=(2000, data.d))
    w = np.vstack([w, data.x, -data.x, np.maximum(nu, 0.0) @ data.x, np.maximum(-nu, 0.0) @ data.x])
    value = np.maximum(w @ data.x.T, 0.0) @ nu / np.linalg.norm(w, axis=1)
    gram = data.x @ data.x.T
    orthogonal = np.max(np.abs(gram - np.diag(np.diag(gram)))) <= 1e-12 * np.max(gram)
    return float(max(*parts, np.max(np.abs(value))) if orthogonal else np.max(np.abs(value)))


def _interpolators(data, rng, samples: int):
    """|theta|^2 = 2 sum |c_j| |v_j| of f = sum c_j relu(<v_j, x>), c by least squares for Gaussian v, once balanced."""
    for _ in range(samples):
        v = rng.normal(size=(4 * data.n, data.d))
        features = np.maximum(data.x @ v.T, 0.0)
        c, _, rank, _ = np.linalg.lstsq(features, data.y, rcond=None)
        if rank == data.n:
            yield 2.0 * float(np.sum(np.abs(c) * np.linalg.norm(v, axis=1)))
