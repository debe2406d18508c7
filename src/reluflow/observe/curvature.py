r"""Sharpness: the largest eigenvalue of the Hessian of what is minimised, along a run.

    H = J' diag(l'') J - sum_j [[0, D_j], [D_j', 0]] + decay I,      J = df/dtheta,   D_j = sum_i m_ji g_i x_i

in the present cell, over the weights that are trained. The first term is the kernel's part, the second couples w_j and
a_j and vanishes with the residuals. A neuron that slides moves along its boundaries only: P_j J and P_j D_j."""

import numpy as np

from reluflow._checks import one_output
from reluflow.losses import LOSSES
from reluflow.observe._view import view

DENSE = 500  # weights up to which all eigenvalues are computed


def sharpness(sol, t=None, *, log_t=None, sides: bool = False):
    """The largest eigenvalue of the Hessian: dim frame. Descent with step eta is locally stable below 2 / eta.

    With `sides` dims frame, side: "off" and "on" take every bit that is between the slope and 1 at that end, with the
    neuron free to leave its boundary; they are the two one-sided values on a kink, and agree elsewhere.
    """
    one_output(sol.problem, "`sharpness`", "its Hessian is written for one output")
    seen = view(sol, t, log_t)
    found: list = []
    for k in range(len(seen)):
        row = seen.moments[k : k + 1]
        bits, sliding = row.bits[0], row.sliding[0]
        if sides:
            slope = seen.problem.activation.slope
            found.append([_top(seen, k, np.where(sliding, end, bits), np.zeros_like(sliding)) for end in (slope, 1.0)])
        else:
            found.append(_top(seen, k, bits, sliding))
    values = np.array(found)
    if sides:
        return seen.array(values, ("frame", "side"), "sharpness", side=["off", "on"])
    return seen.array(values, ("frame",), "sharpness")


def _top(seen, k: int, bits: np.ndarray, sliding: np.ndarray) -> float:
    """The largest eigenvalue at frame k with these bits."""
    from scipy.linalg import eigh
    from scipy.sparse.linalg import LinearOperator, eigsh

    problem = seen.problem
    x, f = problem.data.x, seen.outputs[k]
    with np.errstate(under="ignore"):
        scale = np.exp(seen.log_scale[k])
        w, a = scale[:, None] * seen.w[k], scale * seen.a[k]
    loss = LOSSES[problem.loss]
    g, curve = loss.force(problem.data.y, f, problem.weight), loss.curvature(problem.data.y, f, problem.weight)
    m, d = w.shape
    D = (bits * g) @ x
    bits = np.where(sliding, 0.0, bits)
    rows = a[:, None, None] * bits[:, :, None] * x
    for j in np.flatnonzero(np.any(sliding, axis=1)).tolist():
        _, size, vt = np.linalg.svd(x[sliding[j]], full_matrices=False)
        basis = vt[size > 1e-12 * size[0]]
        rows[j] -= (rows[j] @ basis.T) @ basis
        D[j] -= basis.T @ (basis @ D[j])
    J = rows.transpose(1, 0, 2).reshape(len(x), m * d)
    both = problem.train == "both"
    if both:
        J = np.hstack([J, (bits * (w @ x.T)).T])
    root = np.sqrt(np.maximum(curve, 0.0))[:, None] * J
    if J.shape[1] <= DENSE:
        H = root.T @ root
        if both:
            for j in range(m):
                H[j * d : (j + 1) * d, m * d + j] -= D[j]
                H[m * d + j, j * d : (j + 1) * d] -= D[j]
        last = len(H) - 1
        return float(eigh(H, eigvals_only=True, subset_by_index=[last, last])[0]) + problem.decay

    def times(v):
        out = root.T @ (root @ v)
        if both:
            of_w, of_a = v[: m * d].reshape(m, d), v[m * d :]
            out[: m * d] -= (D * of_a[:, None]).ravel()
            out[m * d :] -= np.sum(D * of_w, axis=1)
        return out

    H = LinearOperator((J.shape[1],) * 2, matvec=times, dtype=float)
    start = np.random.default_rng([0, 3]).normal(size=J.shape[1])
    return float(eigsh(H, k=1, which="LA", v0=start, return_eigenvectors=False)[0]) + problem.decay
