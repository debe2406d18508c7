"""The dwell bound of [MMV24], Appendix C.2: no neuron rests for long in a pattern outside its cones."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._run import Run, as_run, so_far

needs = "flow"
forms = ("corrected", "printed")


def stays(run: Run) -> list[tuple[float, int, int, float]]:
    """(length, neuron, n_a, |x_a|) of every stay before T in a pattern other than the own cone and dead."""
    found = []
    signed = np.sign(run.data.y)[:, None] * run.data.x
    until = min(run.c.T, run.t_end)
    for j, (row, homes) in enumerate(zip(run.visits, run.homes, strict=True)):
        for visit, home in zip(row, homes, strict=True):
            if home not in ("own", "dead") and visit.start < until:
                on = list(visit.on)
                pull = float(np.linalg.norm(np.sum(signed[on], axis=0)))
                found.append((min(visit.end, until) - visit.start, j, len(on), pull))
    return found


def check(sol, form="corrected") -> Report:
    r"""Claims, for stays in $[0, T]$ outside the own cone and $S_{dead}$: length $\le 4/(m\sqrt\mu n_a X_{min})$;
    sharper, $\le 4\,\mathrm{ath}/|x_a|$ with $\mathrm{ath} = \mathrm{atanh}\sqrt{1-m}$; in the frozen limit $\le
    2\,\mathrm{ath}/|x_a|$.

    Event times are exact to 100 rtol, far below the margins; no slack. A stay cut off by T counts with what was seen.
    The printed zeta = max(zeta_1, zeta_2) makes m too large (E2): a V+ neuron close to x- stays arbitrarily long.
    """
    run = as_run(sol, form)
    c, geo = run.c, run.geo
    found = stays(run)
    claims = []
    if geo.separable:
        unit = 4 / (c.m * np.sqrt(geo.mu) * geo.x_min)
        kinds = [("4/(m sqrt(mu) n_a Xmin)", lambda s: unit / s[2])]
        if form == "corrected":
            kinds += [
                ("4 ath/|x_a| (sharper)", lambda s: 4 * c.ath / s[3]),
                ("2 ath/|x_a| (frozen limit)", lambda s: 2 * c.ath / s[3]),
            ]
        for text, bound in kinds:
            if not found:
                claims.append(Claim(f"stay against {text} (no stay outside)", np.nan, "<=", np.nan))
                continue
            ratios = [s[0] / bound(s) for s in found]
            s = found[int(np.argmax(ratios))]
            at = f"neuron {s[1]}, {s[2]} active; {len(found)} stays"
            claims.append(Claim(f"stay against {text}, worst ratio", s[0], "<=", bound(s), at=at))
    else:
        claims.append(Claim("longest stay outside", max((s[0] for s in found), default=np.nan), "<=", np.nan))
    missing = run.ends_before(c.T, "T") if not np.isfinite(run.aligned) else ""  # after arrival there is no stay
    claims = [so_far(claim, missing) for claim in claims]
    hypotheses = run.hypotheses("separable", "balanced", "assumption 2", "relu", "both layers", "horizon", "eps_A")
    shown = c.shown() | {"ath": c.ath if geo.separable else np.nan}
    return Report("min2024.dwell", claims, hypotheses, shown, form, until=run.own_time(min(c.T, c.t1)))
