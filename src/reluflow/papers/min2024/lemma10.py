"""Lemma 10 of [MMV24]: how the cosine with a fixed direction changes."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._errors import gap_vectors, log_bounds
from reluflow.papers.min2024._run import as_run, log_abs, worst

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected", directions: int = 8, seed: int = 0) -> Report:
    r"""Claim: for unit $x_r$ and $\max|f| \le 1$, $|\dot\psi_{rj} - s_j(\psi_{ra} - \psi_{rj}\psi_{aj})|x_a(w_j)||
    \le 2 n X_{max}\max_i|f(x_i)|$, $\psi_{rj} = \cos(x_r, w_j)$ and so on.

    Reference directions: every datum, both class sums, and some drawn ones. The left side is the projection of Lemma
    4's gap on $x_r$. No slack. Printed: log(1+e^-z) (E1).
    """
    run = as_run(sol, form)
    rng = np.random.default_rng([seed, 3])
    rows = [run.data.x, run.geo.plus[None], run.geo.minus[None], rng.normal(size=(directions, run.data.d))]
    refs = np.concatenate(rows)
    refs = refs[np.linalg.norm(refs, axis=1) > 0]
    refs = refs / np.linalg.norm(refs, axis=1)[:, None]
    across, logs = gap_vectors(run)
    gaps = logs[:, None, None] + log_abs(across @ refs.T)
    ratio, where = worst(gaps - log_bounds(run)[:, None, None])
    claim = Claim(
        f"gap of the cosine's rate over 2 n Xmax max|f|, {len(refs)} directions",
        float(np.exp(min(ratio, 700.0))) if where else np.nan,
        "<=",
        1.0,
        at=run.where(*where[:2]) if where else None,
    )
    return Report("min2024.lemma10", [claim], run.hypotheses("balanced", "both layers"), run.c.shown(), form)
