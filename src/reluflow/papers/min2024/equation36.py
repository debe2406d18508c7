"""Equations (36) to (40) of [MMV24]: when outputs reach 1/4, and what happens on the way."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._late import (
    NAME,
    before_t2,
    class_pull,
    log_group_square,
    rate_k,
    t2_bound,
    t2_claims,
    t2_needed,
)
from reluflow.papers.min2024._run import as_run, so_far, worst

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected") -> Report:
    r"""Claims: $T \le t_2^\pm \le t_1 + 6/k + (4/k)[\log(2/(\epsilon^2\sqrt\mu X_{min}W_{min}^2)) + 4nX_{max}t_1]$,
    $k = \sqrt\mu\,n_\pm X_{min}$; and on $[t_1, t_2^+]$: $1/2 \le r_i \le 3/2$, $\cos(x_+, \tilde x) \ge 1/3$,
    $|\tilde x| \ge k/2$, from $t_1 + 6/k$ on $\cos(w_j, x_+) \ge 1/4$ and $(\log|w_j|^2)' \ge k/4$; at $t_2^+$
    $\sum_{\tilde V_+}|w_j|^2 \le 1/(\sqrt\mu X_{min})$; the other side likewise.

    $t_1$ is the observed alignment time (any valid one may be used). Printed: $t_2 = \Theta(\frac1n\log\frac1{\sqrt h
    \epsilon})$, read as (39) with n in place of n+ and n- (E9). No slack.
    """
    run = as_run(sol)
    claims = []
    if form == "printed":
        k = float(np.sqrt(run.geo.mu) * run.geo.n * run.geo.x_min)
        for sign, t2 in run.t2.items():
            bound = t2_bound(run, sign, run.aligned, k)
            missing = before_t2(run, sign) if not run.t_end >= bound else ""
            text = f"t2{NAME[sign]} against (39) with n for n{NAME[sign]}"
            claims.append(Claim(text, t2, "<=", bound, missing="" if np.isfinite(t2) else missing))
    else:
        claims += t2_claims(run)
        for sign in run.sides:
            claims += _on_the_way(run, sign)
    hypotheses = run.hypotheses(
        "separable", "two data", "balanced", "relu", "both layers", "tail", "eps_A", "eps_B", "both groups"
    )
    return Report("min2024.equation36", claims, hypotheses, run.c.shown(), form, until=t2_needed(run))


def _on_the_way(run, sign: float) -> list[Claim]:
    t1, t2, k, side = run.aligned, run.t2[sign], rate_k(run, sign), NAME[sign]
    inside = (run.tau >= t1) & (run.tau <= t2)
    missing = before_t2(run, sign)
    if not np.isfinite(t1) or not np.any(inside) or not np.any(run.group(sign)):
        return [Claim(f"what happens on [t1, t2] ({side})", np.nan, "<=", np.nan, missing=missing)]
    r, log_r = run.force
    size = r[:, run.of_class(sign)] * np.exp(log_r)[:, None]
    vector, logs = class_pull(run, sign)
    total = run.geo.plus if sign > 0 else run.geo.minus
    axis = total / np.linalg.norm(total)
    length = np.linalg.norm(vector, axis=1)
    who = run.group(sign)
    late = inside & (run.tau >= t1 + 6 / k)
    cos_w = run.seen.unit[:, who] @ axis
    grow = 2 * np.einsum("fmd,fd->fm", run.seen.unit[:, who], vector) * np.exp(logs)[:, None]

    def claim(text, values, relation, bound, during=inside):
        mask = during if values.ndim == 1 else during[:, None]
        found, where = worst(np.where(mask, values, np.nan), low=relation == ">=")
        at = run.where(where[0]) if where else None
        return so_far(Claim(f"{text} ({side})", found, relation, bound, at=at), missing)

    at_t2 = np.abs(run.tau - t2) <= 1e-9 * t2 if np.isfinite(t2) else np.zeros(len(run.tau), bool)
    return [
        claim("least r_i on [t1, t2]", size, ">=", 0.5),
        claim("largest r_i on [t1, t2]", size, "<=", 1.5),
        claim("least cos(x, x~) on [t1, t2]", vector @ axis / length, ">=", 1 / 3),
        claim("least |x~| on [t1, t2] against k/2", length * np.exp(logs), ">=", k / 2),
        claim("least cos(w_j, x) from t1 + 6/k to t2", cos_w, ">=", 0.25, late),
        claim("least (log|w_j|^2)' from t1 + 6/k to t2 against k/4", grow, ">=", k / 4, late),
        claim(
            "sum of |w_j|^2 at t2",
            np.exp(log_group_square(run, sign)),
            "<=",
            1 / (np.sqrt(run.geo.mu) * run.geo.x_min),
            at_t2,
        ),
        # From below it is the definition of t2 and |f| <= Xmax sum |w_j|^2; `final_rate` has it for all later times.
    ]
