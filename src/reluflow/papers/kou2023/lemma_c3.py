"""Lemma C.3 of Kou et al.: the stable rank of each class tends to 1."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._constants import assumptions, final_limit, frozen, in_tail, log_tau_pattern
from reluflow.papers.kou2023._measure import excess_rank, to_limit, worst
from reluflow.papers.kou2023._path import Path, path
from reluflow.papers.kou2023.lemma5_6 import before_pattern

needs = "solution"
forms = ("corrected", "printed")


def check(sol, form: str = "corrected", steps: int = 300) -> Report:
    r"""$SR(W_j) = |W_j|_F^2/|W_j|_2^2 \to 1$. Printed rate: $O(1/\log t)$. Corrected [+]: $\Theta(1/\log^2 t)$, by

        SR - 1 <= |E|_F^2 / (sqrt(m) |v| - |E|_F)^2,   v the row mean of W_j - W_j^(0),  E = W_j - 1 v^T,

    which any matrix satisfies; what the lemma adds is that E stays. After T_pat all rows move alike, so the part of W_j
    orthogonal to 1 never changes again (judged at every frame from then on, slack: the run's error), and $(SR-1)\log^2
    t \to |P W_j Q|_F^2/(m|u_j|^2)$: P takes row means off, Q the direction u_j, whose square root is read: 1/sqrt(SR -
    1) is log s times a power series in 1/log s. Limits are extrapolated in 1/log s through three frames; their slack is
    twice the last term of that, and what the run's error makes of the part that stays. Printed: the constant C3 = 1.5
    sigma0 sqrt d + 3 C' sqrt n/R_min of the proof, against what it must bound; corrected coefficient 2 sqrt(1.5), with
    sigma0^2 d/2 <= |w^(0)|^2 <= 3 sigma0^2 d/2 as Lemma A.1 has it; not judged where the mean norm of a class exceeds
    the upper one. That log s must be 6 or more, for three frames to extrapolate from, is ours.
    """
    run = path(sol, steps)
    at = run.at
    claims = [c for j in (1, -1) for c in _class(run, j, form)]
    hypotheses = [*assumptions(at, leaky=True), Claim("log s of the last frame", run.log_s[-1], ">=", 6.0)]
    return Report(
        "kou2023.lemma_c3", in_tail(run, claims), hypotheses, {**at.report(), "C'": np.exp(log_tau_pattern(run))}, form
    )


def _class(run: Path, j: int, form: str) -> list[Claim]:
    at, rows = run.at, run.of_class(j)
    w, w0 = run.w[:, rows], at.w0[rows]
    excess = excess_rank(w)
    since = frozen(run)
    apart = w[since] - w[since].mean(axis=1, keepdims=True)
    moved = np.linalg.norm(apart - apart[:1], axis=(1, 2))
    room = 2 * np.sqrt(at.m) * run.error / at.r_min
    picks = np.searchsorted(run.log_s, run.log_s[-1] * np.array([0.5, 0.7, 1.0]), side="right") - 1
    x = 1.0 / run.log_s[picks]
    limit, slack = to_limit(x, np.sqrt(excess[picks]))
    claims = [
        worst(
            f"change of W_{j:+d} less its row mean after T_pat",
            moved,
            "<=",
            0.0,
            slack=room,
            at=run.log_s[since],
            missing=before_pattern(run),
        ),
        Claim(
            f"sqrt(SR(W_{j:+d}) - 1) extrapolated",
            float(limit),
            "=",
            0.0,
            slack=float(2 * slack + 1e-13),
            kind="limit",
            note=f"SR - 1 is {excess[-1]:.3g} at s = e^{run.log_s[-1]:.4g}",
        ),
    ]
    rate, last = to_limit(x, x / np.sqrt(excess[picks]))
    shown = ", ".join(f"{v:.4g}" for v in excess[picks] * run.log_s[picks] ** 2)
    if form == "corrected":
        u = final_limit(run).directions[rows].mean(axis=0)
        rest = w[-1] - w[-1].mean(axis=0)
        rest = rest - np.outer(rest @ u, u) / (u @ u)
        goal = np.sqrt(at.m * (u @ u) / np.sum(rest**2))
        note = f"(SR - 1) log^2 s: {shown} -> {goal**-2:.4g}"
        text = f"1/(sqrt(SR(W_{j:+d}) - 1) log s) extrapolated"
        claims.append(
            Claim(
                text,
                float(rate),
                "=",
                goal,
                slack=float(2 * last + 2 * goal * room / np.linalg.norm(rest)),
                kind="limit",
                note=note,
            )
        )
    drift = np.mean(np.linalg.norm((w - w0) - (w - w0)[:, :1], axis=2), axis=1).max()
    mean = np.mean(np.linalg.norm(w0, axis=1))
    size = np.sqrt(np.mean(at.w0**2) * at.w0.shape[1])  # sigma0 sqrt d
    # Lemma A.1 has it for every neuron, with high probability; where it fails C3 need not be enough.
    needed = 2 * mean + 2 * drift if mean <= np.sqrt(1.5) * size else np.nan
    spread = 3 * np.exp(log_tau_pattern(run)) * np.sqrt(at.n) / at.r_min
    coefficient = 1.5 if form == "printed" else 2 * np.sqrt(1.5)
    text = f"mean of 2|w0_r| + 2|v_r - v_1|, class {j:+d}, against C3"
    claims.append(Claim(text, needed, "<=", coefficient * size + spread))
    return claims
