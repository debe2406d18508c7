"""Section 3.2 of [BPF22]: inputs with cosines of order lambda behave as orthogonal ones, larger cosines do not."""

import numpy as np

from reluflow._early import at_scale
from reluflow.claim import Claim, Report
from reluflow.data.core import Data
from reluflow.methods import Flow
from reluflow.papers.boursier2022._constants import Constants, hypotheses
from reluflow.papers.boursier2022.theorem1 import slope
from reluflow.problem import Problem
from reluflow.solve import solve

needs = "problem"


def check(problem, order: float = 1.0, delta: float = 1e-2, seed: int = 0, rtol: float = 1e-12) -> Report:
    r"""Claim: "our analysis can easily be extended to nearly orthogonal data where $|\langle x_k, x_{k'}\rangle| \le
    \delta$, with delta of order lambda"; "if however delta is much larger than the initialisation scale, the dynamics
    is drastically different".

    Rows are tilted towards each other by random signs so that all cosines are $\pm\delta$ (to first order). With
    $\delta = c\lambda$ (lambda to the power `order`) the final network must tend to the orthogonal one as lambda falls
    if c is small enough: tilted by $\delta$, a grown neuron meets a datum that it started off by $\lambda|\langle w_j,
    x_k\rangle|$, so c is half of what keeps it off, at most 1 (with c = 1 a search found final networks 0.1 apart at
    every lambda). The slope of $\log|\theta_\delta - \theta_0|$ in log lambda is positive, and 1 to first order; at
    least 1/2 is asked.
    With `delta` fixed it does not: the slope is 0, within 0.2, as lambda goes on falling (both numbers are ours); how
    often neurons switch on or slide along surfaces, which Lemma 6 excludes, is shown and may be never. Scales lambda
    and $\lambda^{4/3}$; cosines below 1e-15 cannot be written, so lambda must be above 1e-10. Both are limits.
    Hypotheses are Theorem 1's: with two norms in a class a label is overshot, and a positive neuron that a tilt of any
    size has left above 0 there grows back; and the fixed delta is a hundred lambda (ours). A neuron that starts on the
    kink of a datum is excluded: the tilt alone then decides whether it sees that datum, at every lambda.
    """
    const = Constants(problem)
    ells = [const.ell, 4 / 3 * const.ell]
    room = min(1.0, _room(problem, _end(problem, problem.data, const.ell, rtol)[0]))
    moved: dict[str, list[float]] = {"scale": [], "fixed": []}
    switches = 0
    for ell in ells:
        plain, _ = _end(problem, problem.data, ell, rtol)
        for name, size in (("scale", room * float(np.exp(-order * ell))), ("fixed", delta)):
            end, switches = _end(problem, tilted(problem.data, size, seed), ell, rtol)
            moved[name].append(float(np.linalg.norm(end - plain)))
    notes = {
        k: ", ".join(f"{d:.3g} at 1e-{e / np.log(10):.0f}" for d, e in zip(v, ells, strict=True))
        for k, v in moved.items()
    }
    return Report(
        name="boursier2022.nearly_orthogonal",
        hypotheses=[
            *hypotheses(const),
            Claim("log10 lambda", -const.ell / np.log(10), ">=", -10.0),
            Claim("log10 of the fixed delta over lambda", float(np.log10(delta)) + const.ell / np.log(10), ">=", 2.0),
            Claim("c: no neuron starts on the kink of a datum", room, ">", 0.0),
        ],
        claims=[
            Claim(
                "delta = c lambda: slope of log|theta_delta - theta_0| in log lambda",
                slope(ells, moved["scale"], 100 * rtol),
                ">=",
                0.5,
                kind="limit",
                note=notes["scale"],
            ),
            Claim(
                f"delta = {delta:g}: slope of log|theta_delta - theta_0| in log lambda",
                slope(ells, moved["fixed"], 100 * rtol),
                "=",
                0.0,
                slack=0.2,
                kind="limit",
                note=notes["fixed"],
            ),
        ],
        constants={
            **const.numbers(),
            f"delta = {delta:g}: events that Lemma 6 excludes": switches,
            "c": room,
            "moved over delta, delta = c lambda": moved["scale"][0]
            / max(room * float(np.exp(-order * ells[0])), 1e-300),
        },
    )


def _room(problem: Problem, end: np.ndarray) -> float:
    """Delta over lambda up to which every neuron, grown to its final size, stays off what it started off.

    A tilt moves <w_j, x_k> by at most (delta/2) sqrt(n) |w_j| |x_k|; half of what is allowed.
    """
    w, x = problem.init.w, problem.data.x
    apart = np.min(np.abs(w @ x.T) / np.linalg.norm(x, axis=1), axis=1)
    length = np.linalg.norm(end[: w.size].reshape(w.shape), axis=1)
    return float(np.min(apart / (np.sqrt(problem.data.n) * np.maximum(length, 1e-300))))


def tilted(data: Data, delta: float, seed: int = 0) -> Data:
    """Rows x_k/|x_k| + (delta/2) sum_l S_kl x_l/|x_l| with the old norms; S symmetric, +-1 off the diagonal."""
    rng = np.random.default_rng([seed, 3])
    signs = np.triu(rng.choice([-1.0, 1.0], size=(data.n, data.n)), k=1)
    size = np.linalg.norm(data.x, axis=1, keepdims=True)
    return Data(data.x + size * (0.5 * delta * (signs + signs.T) @ (data.x / size)), data.y)


def _end(problem: Problem, data: Data, ell: float, rtol: float) -> tuple[np.ndarray, int]:
    """The final weights, flat, and how often a datum was switched on or slid on."""
    run = at_scale(Problem(data, problem.init, reduction=problem.reduction), -ell)
    sol = solve(run, Flow(rtol=rtol), throw=False)
    final = sol.final
    scale = np.exp(final.log_scale)
    flat = np.concatenate([(final.w * scale[:, None]).ravel(), final.a * scale])
    return flat, int(np.sum(np.isin(sol.events.kind, ("on", "slide", "release_on"))))
