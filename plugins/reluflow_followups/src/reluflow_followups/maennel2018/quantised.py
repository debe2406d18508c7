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
    points to an extremal direction (of its sign) of $G(w) = \sum_i y_i \sigma(\langle w, x_i \rangle)$ that draws some
    neurons: an attracting one, or a saddle that attracts from one side of a boundary, as for orthogonal data.

    The statement is about the limit of small scales, in which the early phase lasts for ever; a run decides it up to
    how long its own lasts. Measured is the share of neurons farther than 0.01 radians. Where one of those has turned by
    more than a tenth of that in the second half of the early phase it is still on its way, and the claim is unfinished;
    so is a run that ends, or fits, before an angle could shrink from $\pi$ to 0.01 at the slowest rate.
    """
    problem, data = solution.problem, solution.problem.data
    small = np.max(np.abs(solution.outputs), axis=1) < SMALL * np.max(np.abs(data.y))
    early = int(np.flatnonzero(small)[-1]) if small[0] else 0
    w = solution.w[early]
    size = np.linalg.norm(w, axis=1)[:, None] * np.linalg.norm(data.x, axis=1)
    alive = np.any(w @ data.x.T > ON_IT * size, axis=1)
    unit = _directions(w[alive])
    found = rf.bias.extremal(problem)
    drawing = [d for d in found.directions if d.kind == "attracting" or d.neurons]
    sign = np.sign(solution.a[early][alive])
    apart = np.full(int(alive.sum()), np.inf)
    for d in drawing:
        mine = sign == d.sign
        apart[mine] = np.minimum(apart[mine], np.linalg.norm(unit[mine] - d.direction, axis=1))
    before = _directions(solution.at(0.5 * float(solution.t[early])).w[alive])
    turning = np.linalg.norm(unit - before, axis=1) > 0.1 * NEAR
    log_scale = float(np.max(problem.init.log_scales[0]))
    needed = float(np.log(np.pi / NEAR) / min((abs(d.rate) for d in drawing if d.neurons), default=np.inf))
    missing = ""
    if solution.t[early] < needed:
        missing = f"an early phase up to t = {needed:.4g} at least: start from a smaller scale, or run longer"
    elif np.any(turning & (apart > NEAR)):
        missing = "a longer early phase, because neurons are still turning: start from a smaller scale, or run longer"
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
        constants={"directions that draw neurons": len(drawing), "log scale": log_scale},
        claims=[
            rf.Claim(
                "share of live neurons farther than 0.01 from an extremal direction, against 1/log(1/scale)",
                float(np.mean(apart > NEAR)) if len(apart) else np.nan,
                "<=",
                1 / max(-log_scale, 1.0),
                kind="limit",
                at=f"t = {solution.t[early]:.4g}",
                missing=missing,
            )
        ],
    )


def _directions(w: np.ndarray) -> np.ndarray:
    return w / np.linalg.norm(w, axis=1)[:, None]
