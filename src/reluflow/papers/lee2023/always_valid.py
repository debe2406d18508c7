"""Constants r and R that always bound the magnitude, for Theorems 3.4 and 3.9 of [LSY23]."""

from reluflow.claim import Report
from reluflow.papers.lee2023._bounds import range_of
from reluflow.papers.lee2023._common import columns, is_flow, starts_well
from reluflow.papers.lee2023.theorem3_4 import bounded
from reluflow.single import Run

needs = "single"


def check(run: Run) -> Report:
    r"""Claim: $\min(v_0, v^* s(\varphi_0)^{1/(m+1)}) \le v(t) \le \max(v_0, v^*)$ for all t.

    v falls only above h(t) = v* s(phi)^(1/(m+1)), which increases, and rises only below it. Slack: 100 rtol on
    log(v/v*).
    """
    c, *_ = columns(run)
    log_r, log_R = range_of(run.problem)
    claims = bounded(run, c.l, c.slack, c.at, log_r, log_R)
    constants = {"log r/v*": log_r, "log R/v*": log_R}
    return Report("lee2023.always_valid", claims, [is_flow(run), *starts_well(run)], constants)
