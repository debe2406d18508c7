"""The gap between the true motion of a direction and sign(v_j) P_w x_a(w), which Lemmas 1, 4 and 10 bound."""

import numpy as np

from reluflow.papers.min2024._run import Run, log_abs


def gap_vectors(run: Run) -> tuple[np.ndarray, np.ndarray]:
    r"""(vectors, logs) of $P_{w_j} \sum_i m_{ji} (-\nabla\ell_i - y_i) x_i$, (moments, h, d) and (moments,).

    This is $d/dt\,(w_j/|w_j|) - s_j P_{w_j} x_a(w_j)$ up to the sign $s_j$: the field itself, no differencing.
    """
    delta, logs = run.deviation
    seen = run.seen
    raw = seen.reduce(lambda bits, part: (bits * delta[part][:, None, :]) @ run.data.x)
    across = raw - np.sum(raw * seen.unit, axis=-1, keepdims=True) * seen.unit
    return across, logs


def log_gaps(run: Run) -> np.ndarray:
    """log of their lengths, (moments, h)."""
    across, logs = gap_vectors(run)
    return logs[:, None] + log_abs(np.linalg.norm(across, axis=-1))


def log_bounds(run: Run) -> np.ndarray:
    """log E = log(2 n Xmax max_i |f(x_i)|) where max|f| <= 1, NaN elsewhere, (moments,)."""
    log_e = np.log(2 * run.geo.n * run.geo.x_max) + run.log_f
    return np.where((run.log_f <= 0) & np.isfinite(run.log_f), log_e, np.nan)
