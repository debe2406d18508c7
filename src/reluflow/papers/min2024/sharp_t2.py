"""Beyond (39) of [MMV24]: outputs reach 1/4 at about log(1/eps)/|x+|, with the next terms."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._late import NAME, before_t2
from reluflow.papers.min2024._run import as_run

needs = "flow"
SMALL = 1e-3  # of max|f|: up to there outputs do not matter


def check(sol) -> Report:
    r"""[+] After alignment a group points along $x_+$ and its outputs obey $f' = 2|\tilde x|f$ with $\tilde x =
    \sum_{I_+} r_i x_i$ and forces r between the least force and 1. So outputs go from $f_1$ to 1/4 in a time between
    $\log(1/(4 f_1))/(2|x_+|)$ and that over the least force. To leading order $t_2 = \log(1/\epsilon)/|x_+|$, where
    (39) has $(8/k)\log(1/\epsilon)$, $k = \sqrt\mu\,n_+X_{min}$.

    Measured: $t_2$ against the prediction from the moment at which max|f| of the class first exceeds `SMALL`: between
    $\log(1/(4 f_1))/(2|x_+|)$, and that over the least force seen until t_2. Slack: the angle left between the group
    and $x_+$ at that moment, squared, and 100 rtol.
    """
    run = as_run(sol)
    claims = []
    for sign in run.sides:
        total = run.geo.plus if sign > 0 else run.geo.minus
        size, of, t2 = float(np.linalg.norm(total)), run.of_class(sign), run.t2[sign]
        text = f"t2{NAME[sign]} after max|f| = {SMALL:g}"
        logs = np.max(run.seen.log_outputs[:, of], axis=1)
        late = np.flatnonzero((logs > np.log(SMALL)) & (run.tau < t2) & (run.tau >= run.aligned))
        if not len(late) or not np.isfinite(t2):
            claims.append(Claim(text, np.nan, ">=", np.nan, missing=before_t2(run, sign)))
            continue
        k = int(late[0])
        took, growth = t2 - run.tau[k], np.log(0.25) - logs[k]
        # t2 need not be a moment of the run, and forces fall until then: it is looked at by itself.
        until = [run.force, run.force_of(run.at(np.array([t2 / run.tempo])))]
        inside = [(run.tau >= run.tau[k]) & (run.tau <= t2), [True]]
        least = min(
            float(np.min(r[which][:, of] * np.exp(log_r[which])[:, None]))
            for (r, log_r), which in zip(until, inside, strict=True)
        )
        tan = np.linalg.norm(run.seen.unit[k, run.group(sign)] - total / size, axis=-1)
        angle = float(np.max(tan, initial=0.0)) ** 2
        slack = (angle + 100 * sol.stats.rtol) * took + 100 * sol.stats.rtol * t2
        # f on a class is the largest of several outputs: directions of single data see |x+| cos, at most 1.
        lower = growth / (2 * size)
        claims += [
            Claim(f"{text}, against growth at the rate 2|x{NAME[sign]}|", took, ">=", lower, slack=slack),
            Claim(f"{text}, against that over the least force", took, "<=", lower / least, slack=slack),
            Claim(
                f"t2{NAME[sign]} over log(1/eps)/|x{NAME[sign]}|",
                t2 * size / -run.c.log_eps,
                "=",
                1.0,
                slack=(run.aligned * size + 2 * np.log(4 * run.c.h * run.geo.x_max) + 4) / -run.c.log_eps,
                kind="limit",
                note=f"(39) has {8 * size / (np.sqrt(run.geo.mu) * np.sum(of) * run.geo.x_min):.3g}",
            ),
        ]
    hypotheses = run.hypotheses("separable", "balanced", "relu", "both layers", "tail", "eps_A", "eps_B", "both groups")
    return Report("min2024.sharp_t2", claims, hypotheses, run.c.shown())
