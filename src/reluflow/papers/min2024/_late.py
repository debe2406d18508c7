"""What happens after alignment: groups that grow, the two linear subnets, t2, the rate, the rank."""

import numpy as np

from reluflow.claim import Claim
from reluflow.observe.rank import singular
from reluflow.papers.min2024._run import Run, log_abs, worst

NAME = {1.0: "+", -1.0: "-"}


def log_group_square(run: Run, sign: float) -> np.ndarray:
    """log of the sum of |w_j|^2 over Vt+ or Vt-, (moments,); -inf where the group is empty."""
    who = run.group(sign)
    if not np.any(who):
        return np.full(len(run.tau), -np.inf)
    return np.logaddexp.reduce(2 * run.seen.log_norm[:, who], axis=1)


def class_pull(run: Run, sign: float) -> tuple[np.ndarray, np.ndarray]:
    """(vectors, logs) of the sum of r_i x_i over one class, (moments, d) and (moments,)."""
    r, log_r = run.force
    of = run.of_class(sign)
    top = np.max(np.abs(r[:, of]), axis=1)
    top = np.where(top > 0, top, 1.0)
    return (r[:, of] / top[:, None]) @ run.data.x[of], log_r + np.log(top)


def rate_k(run: Run, sign: float) -> float:
    """k = sqrt(mu) n+ Xmin, n- for the other side."""
    n = run.geo.n_plus if sign > 0 else run.geo.n_minus
    return float(np.sqrt(run.geo.mu) * n * run.geo.x_min) if run.geo.separable else np.nan


def t2_bound(run: Run, sign: float, t1: float, k: float | None = None) -> float:
    r"""(39): t1 + 6/k + (4/k) [log(2/(eps^2 sqrt(mu) Xmin Wmin^2)) + 4 n Xmax t1]."""
    c, geo = run.c, run.geo
    k = rate_k(run, sign) if k is None else k
    if not geo.separable:
        return np.nan
    log_term = np.log(2.0) - 2 * c.log_eps - 0.5 * np.log(geo.mu) - np.log(geo.x_min) - 2 * c.log_w_min
    return t1 + 6 / k + (4 / k) * (log_term + 4 * geo.n * geo.x_max * t1)


def t2_needed(run: Run) -> float:
    """The run's own time by which t2 has come, by (39) with the observed alignment time where there is one."""
    t1 = run.aligned if np.isfinite(run.aligned) else run.c.t1
    return run.own_time(max(t2_bound(run, sign, t1) for sign in run.sides))


def before_t2(run: Run, sign: float | None = None) -> str:
    """What is missing where the outputs of a class (of some class) have not reached 1/4; empty where they have."""
    late = [s for s in run.sides if not np.isfinite(run.t2[s]) and sign in (None, s)]
    if not late:
        return ""
    t1 = run.aligned if np.isfinite(run.aligned) else run.c.t1
    by = max(t2_bound(run, s, t1) for s in late)
    until = f", which (39) puts before {by:.6g}" if np.isfinite(by) else ""
    return f"the run ends at t = {run.t_end:.6g}, before t2{NAME[late[0]]}{until}"


def t2_claims(run: Run) -> list[Claim]:
    """T <= t2 and (39), each side, with the paper's t1 and with the observed alignment time."""
    first = min(run.t2.values())
    lower = min(first, run.t_end)
    missing = run.ends_before(run.c.T, "T") if not np.isfinite(first) else ""
    claims = [Claim("the earlier of t2+ and t2- is after T", lower, ">=", run.c.T, missing=missing)]
    for sign, t2 in run.t2.items():
        ways = [("the paper's t1", run.c.t1)]
        ways += [("the observed alignment time", run.aligned)] if np.isfinite(run.aligned) else []
        for name, t1 in ways:
            bound = t2_bound(run, sign, t1)
            missing = run.ends_before(bound, "(39)") if not np.isfinite(t2) else ""
            claims.append(Claim(f"t2{NAME[sign]} against (39) with {name}", t2, "<=", bound, missing=missing))
    return claims


def rate_claims(run: Run) -> list[Claim]:
    """L(t) <= L(t2)/(1 + L(t2) alpha (t - t2)), in logarithms, at every moment after t2."""
    t2 = max(run.t2.values())
    after = run.tau >= t2
    after[: int(np.argmax(after)) + 1] &= ~np.any(after)  # at t2 itself the bound is an equality
    if not run.problem.tailed or not run.geo.separable or not np.any(after):
        text = "log of L(t) over L(t2)/(1 + L(t2) alpha (t - t2)), largest after t2"
        possible = run.problem.tailed and run.geo.separable
        missing = (before_t2(run) or "the run ends at t2") if possible else ""
        return [Claim(text, np.nan, "<=", 0.0, missing=missing, note="needs mu > 0 and an exponential tail")]
    start = int(np.argmax(after)) - 1
    rest = run.tau[after] - run.tau[start]
    with np.errstate(divide="ignore"):
        log_bound = -np.logaddexp(-run.log_loss[start], np.log(run.c.alpha) + np.log(rest))
    gap, where = worst(run.log_loss[after] - log_bound)
    k = start + 1 + where[0] if where else start
    slope = _slope(run.tau[after], run.log_loss[after])
    return [
        Claim(
            "log of L(t) over L(t2)/(1 + L(t2) alpha (t - t2)), largest after t2",
            gap,
            "<=",
            0.0,
            at=run.where(k),
            note=f"at the end L (t - t2) = {np.exp(run.log_loss[-1] + np.log(rest[-1])):.3g} against 1/alpha = "
            f"{1 / run.c.alpha:.3g}; log-log slope {slope:.3f}",
        ),
        Claim(
            "L tends to 0: L at the end of the run", run.log_loss[-1], "<", run.log_loss[start], log=True, kind="limit"
        ),
    ]


def _slope(t, logs) -> float:
    """d log L / d log t over the last half of the logarithmic span."""
    late = np.log(t) > 0.5 * (np.log(t[-1]) + np.log(t[0]))
    return float(np.polyfit(np.log(t[late]), logs[late], 1)[0]) if np.sum(late) > 2 else np.nan


def growth_claims(run: Run) -> list[Claim]:
    """At t2 and ever after each group has at least 1/(4 Xmax)."""
    t2 = max(run.t2.values())
    claims = []
    for sign in run.sides:
        logs = np.where(run.tau >= t2 * (1 - 1e-12), log_group_square(run, sign), np.nan)  # t2 itself included
        least, where = worst(logs, low=True)
        at = run.where(*where) if where else None
        text = f"sum of |w_j|^2 over Vt{NAME[sign]}, least after t2"
        claims.append(Claim(text, np.exp(least), ">=", 1 / (4 * run.geo.x_max), at=at, missing=before_t2(run)))
    return claims


def rank_claims(run: Run, limit: str = "<=") -> list[Claim]:
    """|W|_F^2 <= 2 |W|_2^2 + 4 sqrt(h) eps Wmax^2 after t1, and what it says of the stable rank in the limit."""
    start = run.aligned if np.isfinite(run.aligned) else max(run.t2.values())
    after = run.tau >= start
    if not np.any(after):
        text = "|W|_F^2 over 2 |W|_2^2 + 4 sqrt(h) eps Wmax^2, largest after alignment"
        return [Claim(text, np.nan, "<=", 1.0, missing=run.ends_before(run.c.t1, "t1"))]
    values, top = singular(run.seen)
    log_all = np.log(np.sum(values**2, axis=1)) + 2 * top
    log_two = np.log(2.0) + 2 * np.log(values[:, 0]) + 2 * top
    log_rest = np.log(4.0) + 0.5 * np.log(run.c.h) + run.c.log_eps + 2 * run.c.log_w_max
    ratio, where = worst(np.where(after, log_all - np.logaddexp(log_two, log_rest), np.nan))
    rank = np.sum(values**2, axis=1) / values[:, 0] ** 2
    late = run.tau >= max(run.t2.values())
    claims = [
        Claim(
            "|W|_F^2 over 2 |W|_2^2 + 4 sqrt(h) eps Wmax^2, largest after alignment",
            np.exp(ratio),
            "<=",
            1.0,
            at=run.where(*where) if where else None,
        ),
        Claim(
            "|W|_F grows without bound: |W|_F^2 at the end",
            log_all[-1],
            ">",
            log_all[0],
            log=True,
            kind="limit",
            missing=before_t2(run),
        ),
    ]
    note = f"predicted from the two groups: {predicted_rank(run):.6g}"
    limsup = rank[-1] if np.any(late) else np.nan
    # "=" (the printed last display) allows what the limit can still move by: one part in a thousand.
    slack = 0.0 if limit == "<=" else 1e-3
    text = "limsup of the stable rank: at the end"
    claims.append(Claim(text, limsup, limit, 2.0, slack, kind="limit", note=note, missing=before_t2(run)))
    return claims


def predicted_rank(run: Run) -> float:
    """2 (a^2 + b^2) / (a^2 + b^2 + sqrt((a^2 - b^2)^2 + 4 a^2 b^2 c^2)): two rank-one groups at the end of the run."""
    square, direction = [], []
    for sign in (1.0, -1.0):
        who = run.group(sign)
        if not np.any(who):
            return 1.0
        logs = run.seen.log_norm[-1, who]
        rows = run.seen.unit[-1, who] * np.exp(logs)[:, None]
        square.append(float(np.sum(rows**2)))
        direction.append(np.linalg.svd(rows, full_matrices=False)[2][0])
    a, b = square
    c = float(direction[0] @ direction[1])
    if not a + b > 0:
        return np.nan
    return 2 * (a + b) / (a + b + np.sqrt((a - b) ** 2 + 4 * a * b * c**2))


def log_decay(run: Run, sign: float) -> np.ndarray:
    """log of -d/dt of one class's loss along its own linear subnet: sum over the group of v_j^2 |D|^2 + <D, w_j>^2."""
    pull, logs = class_pull(run, sign)
    who = run.group(sign)
    along = np.einsum("fmd,fd->fm", run.seen.unit[:, who], pull)
    square = np.sum(pull**2, axis=1)[:, None] + along**2
    return np.logaddexp.reduce(2 * run.seen.log_norm[:, who] + log_abs(square), axis=1) + 2 * logs
