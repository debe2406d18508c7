"""Section 3.2 of [BPF22]: Gaussian output weights of order lambda are balanced enough."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.init import Params, gaussian
from reluflow.methods import Flow
from reluflow.papers.boursier2022._constants import Constants, data_hypotheses
from reluflow.papers.boursier2022.theorem1 import stray_exponent
from reluflow.problem import Problem
from reluflow.solve import solve

needs = "problem"
LARGE = 1e-2  # norms above this count as grown


def check(problem, seed: int = 5, rtol: float = 1e-10) -> Report:
    r"""Claim: with $a_j^0 \sim N(0, \lambda^2)$ the start is "nearly balanced for small lambda" and the analysis
    extends.

    The problem's data and width are run from such a start at lambda and at $\lambda^2$. Then: zero loss; grown neurons
    ($|w_j| > 10^{-2}$) are balanced within $c^2\lambda^2/10^{-4}$, which conservation (Lemma 1) forces; $|\theta|^2$
    falls towards the least of an interpolator. Limits in lambda. Slack of the norm: 100 rtol. Hypotheses, as for the
    balanced start: Assumption 3 for the draw, by neurons whose a_j keeps its sign (Lemma 1 has that for |a_j| >= |w_j|
    only), and lambda so small that stray neurons have a tenth of a norm,
    $\lambda^{1-\rho_{max}} \le 1/10$ with $\rho_{max}$ of the balanced start with these directions and signs.
    """
    const = Constants(problem)
    claims, excess, kept = [], [], []
    for factor in (1.0, 2.0):
        init = gaussian(const.m, const.data.d, log_scale=-factor * const.ell, seed=seed)
        sol = solve(Problem(problem.data, init, reduction=problem.reduction), Flow(rtol=rtol), throw=False)
        final = sol.final
        size = np.linalg.norm(final.w, axis=1)
        kept.append(np.sign(final.a) == np.sign(init.a))
        large = final.log_scale + np.log(size) > np.log(LARGE)
        gap = np.abs(final.a**2 - size**2) / (final.a**2 + size**2)
        worst = float(np.max(gap[large])) if np.any(large) else np.nan
        c2 = float(np.max(np.sum(init.w**2, axis=1) + init.a**2))
        excess.append(float(np.sum(np.exp(2 * final.log_scale) * (final.a**2 + size**2))) - const.min_norm)
        loss = float(np.exp(sol.log_loss[-1] - sol.log_loss[0]))
        at = f"lambda^{factor:g}"
        bound = c2 * float(np.exp(-2 * factor * const.ell)) / LARGE**2
        claims += [
            Claim(f"loss at the end over the first, {at}", loss, "<=", (100 * rtol) ** 2, kind="limit"),
            Claim(f"imbalance of grown neurons, {at}", worst, "<=", bound, slack=64 * 2.3e-16),
        ]
    note = f"{excess[0]:.3g}, then {excess[1]:.3g}"
    slack = 100 * rtol * const.min_norm
    claims.append(Claim("excess of |theta|^2 falls", excess[1], "<=", excess[0], slack=slack, kind="limit", note=note))
    return Report(
        name="boursier2022.gaussian_output",
        hypotheses=[*data_hypotheses(const), *_drawn(const, problem, seed, np.all(kept, axis=0))],
        claims=claims,
        constants={**const.numbers(), "min norm": const.min_norm},
    )


def _drawn(const: Constants, problem, seed: int, kept: np.ndarray) -> list[Claim]:
    """Assumption 3 and small strays for the balanced start with the directions and signs that are drawn."""
    g = gaussian(const.m, const.data.d, log_scale=-const.ell, seed=seed)
    size = np.linalg.norm(g.w, axis=1)
    twin = Params(g.w, np.sign(g.a) * size, log_scale=-const.ell)
    drawn = Constants(Problem(problem.data, twin, reduction=problem.reduction))
    least = min(int(np.sum(kept[drawn.S_plus])), int(np.sum(kept[drawn.S_minus])))
    gap = stray_exponent(drawn)[0] if least else np.nan
    return [
        Claim("A3 for the draw: those of S_{+,1}, of S_{-,1} that keep their sign, the fewer", least, ">=", 1),
        Claim("stray neurons are small: lambda^{1 - rho_max}", -gap * const.ell, "<=", float(np.log(0.1)), log=True),
        Claim("ReLU, slope", problem.activation.slope, "<=", 0.0),
    ]
