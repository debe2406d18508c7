"""Lemma 14 of [BPF22]: a Polyak-Lojasiewicz inequality whose constant is the size of the smaller cluster."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import Class, Constants, data_hypotheses
from reluflow.papers.boursier2022._landscape import loss_and_gradient

needs = "problem"
forms = ("corrected", "printed")


def check(problem, form="corrected", samples: int = 500, seed: int = 0) -> Report:
    r"""Claim: for balanced $\theta$ in which every neuron of $S_{+,1}$ ($S_{-,1}$) is active on all positive (negative)
    labels, $|\nabla L|^2 \ge 2L \min\{u_-/n, u_+/n\}$, with $u_\pm \min_\pm\nu_k^2$ for inputs of norms $\nu_k$.

    Printed "for all $\theta \in \Theta$": but the sets are fixed at time 0, so a network may have them inactive (E8).
    Sampled: Gaussian networks at scales e^-3 to e^2, neurons outside the sets down to e^-12 of that, with the sets made
    active (corrected) or as they come, every other one turned to $-w_j$ (printed). Slack: m n d roundings of the
    quotient.
    """
    const = Constants(problem)
    rng = np.random.default_rng([seed, 3])
    worst, where = np.inf, None
    for k in range(samples):
        w = np.exp(rng.uniform(-3.0, 2.0)) * rng.normal(size=(const.m, const.data.d))
        w[const.others] *= np.exp(rng.uniform(-12.0, 0.0))  # they help, so they are often made small
        for S, cls in ((const.S_plus, const.plus), (const.S_minus, const.minus)):
            if form == "corrected":
                w[S] = _active(w[S], const, cls)
            elif k % 2 == 0:
                w[S] = -_active(w[S], const, cls)
        a = const.flip * const.sign * np.linalg.norm(w, axis=1)
        loss, square = loss_and_gradient(const, w, a)
        bound = (
            2
            * loss
            * min(_share(w, const, S, c) for S, c in ((const.S_plus, const.plus), (const.S_minus, const.minus)))
        )
        if bound > 0 and square / bound < worst:
            worst, where = square / bound, k
    rounding = const.m * const.n * const.data.d * 2.3e-16
    return Report(
        name="boursier2022.lemma14",
        hypotheses=data_hypotheses(const)[:1]
        + [Claim("A3: the smaller of |S_{+,1}|, |S_{-,1}|", min(len(const.S_plus), len(const.S_minus)), ">=", 1)],
        claims=[
            Claim(
                "|grad L|^2 over its bound, least found",
                worst if where is not None else np.nan,
                ">=",
                1.0,
                slack=rounding,
                at=where,
            )
        ],
        constants={"samples": samples},
        form=form,
    )


def _active(w: np.ndarray, const: Constants, cls: Class) -> np.ndarray:
    """Reflected so that <w_j, x_k> > 0 on the class (rows are orthogonal)."""
    x = const.data.x[cls.members]
    u = w @ x.T
    return w + ((np.abs(u) - u) / np.sum(x**2, axis=1)) @ x


def _share(w: np.ndarray, const: Constants, S: np.ndarray, cls: Class) -> float:
    return const.weight * float(np.sum(w[S] ** 2)) * float(np.min(const.nu2[cls.members]))
