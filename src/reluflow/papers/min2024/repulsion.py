"""[MMV24], Appendix C.2, second case: S- repels V+, S+ repels V-."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.observe.membership import members
from reluflow.papers.min2024._late import NAME
from reluflow.papers.min2024._run import as_run, worst

needs = "flow"


def check(sol) -> Report:
    r"""Claims: while a V+ neuron is in S-, $\cos(w_j, x_-)$ strictly decreases, and it is there only from t = 0 on; V-
    and S+ likewise.

    In S-, $\frac{d}{dt}\cos(w_j, x_-) = -\langle P_w D, x_-\rangle/|x_-|$ with $D = \sum_{I_-} r_i(-x_i)$; divided by
    $|D|$ and by the sine of the angle of $w_j$ to $x_-$ it is a number of order 1, which is judged. Frozen ($r = 1$) it
    is the sine itself over itself, -1; the scale must be small enough for forces to stay near that until all have left
    (at scale 1 they do not, and a neuron may be drawn in). No slack.
    """
    run = as_run(sol)
    claims = []
    first_cone = [homes[0] for homes in run.homes]
    late = [f"neuron {j}" for j, homes in enumerate(run.homes) if "other" in homes[1:]]
    inside = run.seen.reduce(lambda bits, _: members(bits, run.data.y))
    pull = run.pull
    for sign in run.sides:
        total = run.geo.minus if sign > 0 else run.geo.plus
        if not total.any():
            continue
        axis = total / np.linalg.norm(total)
        cos = run.seen.unit @ axis
        sine = np.linalg.norm(axis - cos[..., None] * run.seen.unit, axis=-1)
        across = pull @ axis - np.sum(pull * run.seen.unit, axis=-1) * cos
        size = np.linalg.norm(pull, axis=-1)
        there = inside[..., 1 if sign > 0 else 0] & (run.sign == sign) & ~inside[..., 2]
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = np.where(there, sign * across / (size * sine), np.nan)
        most, where = worst(rate)
        other = NAME[-sign]
        text = f"rate of cos(w_j, x{other}) of V{NAME[sign]} in S{other}, over |D| and the sine"
        claims.append(Claim(text, most, "<", 0.0, at=run.where(*where) if where else None))
    who = sum(home == "other" for home in first_cone)
    claims.append(
        Claim(
            f"neurons that enter the opposite cone later ({who} start there)",
            len(late),
            "=",
            0,
            at=late[0] if late else None,
        )
    )
    hypotheses = run.hypotheses("separable", "balanced", "relu", "both layers", "eps_A", "eps_B")
    return Report("min2024.repulsion", claims, hypotheses, run.c.shown())
