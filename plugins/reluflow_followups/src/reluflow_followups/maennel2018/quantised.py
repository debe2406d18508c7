"""[MBG18]: while outputs are still 0 every neuron turns to one of finitely many directions given by the data."""

from __future__ import annotations

import numpy as np

import reluflow as rf

needs = "flow"
SMALL = 1e-3  # outputs below this share of the labels do not count yet
NEAR = 0.01  # radians
ON_IT = 1e-12  # of |w| |x|: a neuron that died on a boundary is no farther from it than rounding


def check(solution) -> rf.Report:
    r"""Claim: at the last frame with $|f(x_i)| < 10^{-3} \max |y|$, every neuron that is active on some datum
    points to an attracting extremal direction (of its sign) of $G(w) = \sum_i y_i \sigma(\langle w, x_i \rangle)$.

    The statement is about the limit of small scales, in which the early phase lasts for ever; a run decides it up to
    how long its own lasts: angles shrink like $e^{-|\rho| t}$, $\rho$ the rate of a direction, and before the slowest
    has had the time from $\pi$ to 0.01 the claim is unfinished. Measured is the share of neurons farther than 0.01
    radians; a neuron that starts near a repelling direction leaves it late. `rf.bias.extremal` lists the directions.
    """
    problem, data = solution.problem, solution.problem.data
    small = np.max(np.abs(solution.outputs), axis=1) < SMALL * np.max(np.abs(data.y))
    early = int(np.flatnonzero(small)[-1]) if small[0] else 0
    w = solution.w[early]
    size = np.linalg.norm(w, axis=1)[:, None] * np.linalg.norm(data.x, axis=1)
    alive = np.any(w @ data.x.T > ON_IT * size, axis=1)
    unit = w[alive] / np.linalg.norm(w[alive], axis=1)[:, None]
    found = rf.bias.extremal(problem)
    sign = np.sign(solution.a[early][alive])
    apart = np.full(int(alive.sum()), np.inf)
    for d in found.attracting:
        mine = sign == d.sign
        apart[mine] = np.minimum(apart[mine], np.linalg.norm(unit[mine] - d.direction, axis=1))
    log_scale = float(np.max(problem.init.log_scales[0]))
    slowest = min((abs(d.rate) for d in found.attracting if d.neurons), default=np.inf)
    needed = float(np.log(np.pi / NEAR) / slowest)
    missing = f"an early phase up to t = {needed:.4g} at least: start from a smaller scale, or run longer"
    return rf.Report(
        name="maennel2018.quantised",
        hypotheses=[
            rf.Claim(
                "ReLU and both layers trained (1: yes)",
                problem.activation.slope == 0 and problem.train == "both",
                "=",
                1,
            ),
            rf.Claim(
                "outputs at the start over the labels, largest",
                float(np.max(np.abs(solution.outputs[0])) / np.max(np.abs(data.y))),
                "<",
                SMALL,
            ),
        ],
        constants={"attracting directions": len(found.attracting), "log scale": log_scale},
        claims=[
            rf.Claim(
                "share of live neurons farther than 0.01 from an attracting direction, against 1/log(1/scale)",
                float(np.mean(apart > NEAR)) if len(apart) else np.nan,
                "<=",
                1 / max(-log_scale, 1.0),
                kind="limit",
                at=f"t = {solution.t[early]:.4g}",
                missing="" if solution.t[early] >= needed else missing,
            )
        ],
    )
