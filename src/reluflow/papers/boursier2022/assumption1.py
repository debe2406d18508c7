"""Assumption 1 of [BPF22]: the inputs form an orthonormal family."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import EPS, worst_cosine

needs = "data"
forms = ("corrected", "printed")


def check(data, form="corrected") -> Report:
    r"""Claim: $\langle x_k, x_{k'}\rangle = 0$ for $k \ne k'$, the largest $|\cos|$ with its pair. Printed:
    orthonormal, norms 1 too.

    Norms may differ, with what that changes (E11). Slack: (n + d) roundings, those of an inner product of d terms and
    of a computed basis of n rows. The notes say what still holds where the claim fails.
    """
    cos, pair = worst_cosine(data.x)
    size = np.linalg.norm(data.x, axis=1)
    k = int(np.argmax(np.abs(size - 1.0)))
    rounding = (data.n + data.d) * EPS
    notes = []
    if cos > rounding and pair is not None:
        angle = np.degrees(np.arccos(min(cos, 1.0)))
        notes.append(
            f"Rows {pair[0]} and {pair[1]} are at {angle:.4g} degrees instead of 90: no result here applies as stated. "
            "What remains: Lemma 1 and the limit of early alignment hold for any inputs; inputs whose cosines are of "
            "the order of lambda behave as orthogonal ones (boursier2022.nearly_orthogonal); `rf.limit` follows others."
        )
    elif np.max(np.abs(size - 1.0)) > rounding:
        notes.append(
            f"Orthogonal with norms {size.min():.6g} to {size.max():.6g}: times and limits hold with nu_k = |x_k| in "
            "them; directions stay fixed while fitting only if each class has one norm (boursier2022.norms)."
        )
    if data.n > data.d:
        notes.append(f"{data.n} rows in R^{data.d} cannot be orthogonal: at most {data.d} can.")
    claims = [
        Claim("orthogonal rows, max |cos|", cos, "<=", 0.0, slack=rounding, at=pair),
        Claim("unit rows, max ||x_k| - 1|", abs(size[k] - 1.0), "<=", 0.0, slack=rounding, at=k),
    ]
    return Report(
        name="boursier2022.assumption1",
        claims=claims if form == "printed" else claims[:1],
        constants={"least norm": float(size.min()), "largest norm": float(size.max())},
        form=form,
        notes=notes,
    )
