"""Exact limits [+] of Kou et al.'s networks once the activation pattern is frozen."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._constants import Frozen, final_limit, frozen
from reluflow.papers.kou2023._measure import excess_rank
from reluflow.papers.kou2023._path import Path, path
from reluflow.papers.kou2023.lemma_f3 import limit_rank

needs = "solution"


def check(sol, steps: int = 0) -> Report:
    r"""With $K$ the kernel of the last pattern and $\alpha = K^{-1} 1 > 0$, as $t \to \infty$ (time s = eta k):

        M_i - log s -> -log(n alpha_i),   s L_S -> sum alpha,   rho_{y_i,r,i}/log s -> |x_i|^2 alpha_i/m,
        rho_{-y_i,r,i}/log s -> -gamma times that (0 for ReLU),   w/log s -> u,   SR([W_+; W_-]) -> SR([u_+; u_-]).

    Leaky and orthogonal: alpha_i = m/((1+gamma^2)|x_i|^2); ReLU and orthogonal: alpha_i = m^2/(|S_i||x_i|^2).
    Deviations die like s^-rate, rate the least eigenvalue of K diag(alpha). Where it is >= log10 2, what is left is
    less than the change from one decade before to the end: that is the slack, plus the error of the run. W/log s is
    read as dW/d log s, which is off by s^-rate only. A flow that slides has bits between 0 and 1; once they too have
    come to rest the same formulas hold with them. Section 7's question for leaky networks: as $u = \lim W/\log s$ is
    the sum of $\alpha_i > 0$ times the gradients of $y_i f(\cdot, x_i)$ and all margins of u are equal, u is a KKT
    point of "least norm with margins at least 1", and W converges to it in direction.

    Two hypotheses are ours: a condition number below 1e12, so that alpha has four digits, and margins of 3 or more a
    decade before the end, where 1 + e^-M is 1 to 5%: forces differ from e^-M by a relative e^-M, which is slack too
    (four times for SR, a ratio of squares).
    """
    run = path(sol, steps)
    at = run.at
    limit = final_limit(run)
    if not limit.condition < 1e12:
        singular = Claim("condition number of the kernel", limit.condition, "<=", 1e12)
        texts = ("M_i - log s + log(n alpha_i)", "log(s L_S), of log(sum alpha)", "d rho/d log s", "SR of W/log s")
        unknown = [Claim(text, np.nan, "=", 0.0, kind="limit") for text in texts]
        return Report("kou2023.limits", unknown, [singular], at.report())
    two, one, last = run.decades()
    bend = float(np.exp(-run.margin[one].min()))
    error = 2 * run.error / np.log(10.0)
    claims = []
    offset = run.margin - run.log_s[:, None] + np.log(at.n * np.maximum(limit.alpha, 1e-300))
    i = int(np.argmax(np.abs(offset[last])))
    change = abs(offset[last, i] - offset[one, i]) + bend
    claims.append(_limit("M_i - log s + log(n alpha_i)", offset[last, i], 0.0, change + run.error, f"datum {i}"))
    size = run.log_loss + run.log_s
    change = abs(size[last] - size[one]) + bend
    goal = float(np.log(np.sum(np.maximum(limit.alpha, 0.0))))
    claims.append(_limit("log(s L_S), of log(sum alpha)", size[last], goal, change + run.error))
    for name, which in (("rho_{y_i,r,i}", at.own), ("rho_{-y_i,r,i}", ~at.own)):
        before, now = run.slopes(run.rho)
        claims.append(_worst_limit(f"d {name}/d log s", now, before, limit.slopes, which, (error, bend)))
    before, now = (np.linalg.norm(v, axis=1) for v in run.slopes(run.w))
    goal_u = np.linalg.norm(limit.directions, axis=1)
    claims.append(
        _worst_limit("|d w_{j,r}/d log s|", now, before, goal_u, np.ones(2 * at.m, bool), (error / at.r_min, bend))
    )
    value, slack, note = limit_rank(run, np.arange(2 * at.m))
    whole = float(excess_rank(limit.directions)) + 1.0
    claims.append(_limit("SR of the stacked W/log s", value, whole, slack + 4 * bend * whole, note=note))
    # Section 7: equal margins and alpha > 0 make the direction of W a KKT point of the margin problem.
    if at.gamma > 0:
        margins = [at.margins(v @ at.x.T) for v in run.slopes(run.w)]
        i = int(np.argmax(np.abs(margins[1] - 1.0)))
        change = abs(margins[1][i] - margins[0][i]) + error + bend
        text = "margin of dW/d log s, the same for all data (KKT)"
        claims.append(_limit(text, margins[1][i], 1.0, change, f"datum {i}"))
    claims += _closed(run, limit)
    kept = frozen(run)
    hypotheses = [
        Claim("frames after the last switch, two decades", len(kept) and run.log_s[two] >= run.log_pattern, "=", 1.0),
        Claim("least alpha_i", limit.alpha.min(), ">", 0.0),
        Claim("rate of the tail", limit.rate, ">=", float(np.log10(2.0))),
        Claim("least margin one decade before the end: all data are in their tail", run.margin[one].min(), ">=", 3.0),
    ]
    constants = {**at.report(), "sum alpha": float(limit.alpha.sum()), "rate": limit.rate, "log s": run.log_s[last]}
    return Report("kou2023.limits", claims, hypotheses, constants)


def _limit(text, measured, goal, slack, at=None, note="") -> Claim:
    return Claim(text, measured, "=", goal, slack=slack, kind="limit", at=at, note=note)


def _worst_limit(text, now, before, goal, which, error) -> Claim:
    """The entry farthest from its limit beyond its own slack."""
    absolute, relative = error
    slack = np.abs(now - before) + absolute + relative * np.abs(goal)
    over = np.where(which, np.abs(now - goal) - slack, -np.inf)
    where = np.unravel_index(int(np.argmax(over)), over.shape)
    moving = which & (goal != 0)
    worst = float(np.max(np.abs(now / np.where(moving, goal, 1.0) - 1.0)[moving])) if np.any(moving) else 0.0
    note = f"largest relative deviation {worst:.2g}"
    return _limit(text, now[where], goal[where], slack[where], tuple(int(i) for i in where), note)


def _closed(run: Path, limit: Frozen) -> list[Claim]:
    """What alpha is on orthogonal data, in closed form."""
    at = run.at
    if at.p > 0:
        return []
    alpha = at.m / ((1 + at.gamma**2) * at.norm2) if at.gamma > 0 else at.m**2 / (np.maximum(at.size, 1) * at.norm2)
    worst = float(np.max(np.abs(limit.alpha / alpha - 1.0)))
    claims = [Claim("alpha_i over its closed form, minus 1, largest", worst, "<=", 0.0, slack=1e-12 * at.n)]
    if at.gamma > 0 and at.ratio - 1 < 1e-12 and np.sum(at.y) == 0:
        goal = 2 * (1 + at.gamma**2) / (1 + at.gamma) ** 2
        rank = float(excess_rank(limit.directions)) + 1.0
        claims.append(Claim("SR([u_+; u_-]) = 2(1+gamma^2)/(1+gamma)^2", rank, "=", goal, slack=1e-12 * at.n))
    return claims
