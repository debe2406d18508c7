"""Lemma 4 of [MMV24]: at any moment, directions follow sign(v_j) P_w x_a(w) up to the size of the outputs."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._errors import log_bounds, log_gaps
from reluflow.papers.min2024._run import as_run, worst

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected") -> Report:
    r"""Claim: whenever $\max_i|f| \le 1$, $|d/dt\,(w_j/|w_j|) - s_j P_{w_j} x_a(w_j)| \le 2 n X_{max} \max_i |f(x_i)|$.

    Any scale, any leaky slope, no separation; assumes balance. Both sides carry the scale of f, so their ratio is what
    is judged, at the worst moment and neuron; the note has both logarithms. No slack. Printed: log(1+e^-z) (E1).
    """
    run = as_run(sol, form)
    gaps, bounds = log_gaps(run), log_bounds(run)
    ratio, where = worst(gaps - bounds[:, None])
    note = f"log gap {gaps[where]:.6g}, log bound {bounds[where[0]]:.6g}" if where else ""
    claim = Claim(
        "gap from sign(v_j) P x_a over 2 n Xmax max|f|",
        float(np.exp(min(ratio, 700.0))) if where else np.nan,
        "<=",
        1.0,
        at=run.where(*where) if where else None,
        note=note,
    )
    return Report("min2024.lemma4", [claim], run.hypotheses("balanced", "both layers"), run.c.shown(), form)
