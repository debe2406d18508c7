r"""Eigenvalue bounds on the minimum norm that need no patterns.

With row scales t_k >= 0 chosen so that sum_k t_k x_k x_k' <= I over one class,

    |sum_+ nu_k max(<w, x_k>, 0)| <= 1  for  nu_k = t_k y_k / sqrt(sum_+ t y^2),   hence
    min |theta|^2 >= 2 (sqrt(sum_+ t_k y_k^2) + sqrt(sum_- t_k y_k^2)) / (1 + slope)

(a leaky neuron also depends on the other class, with its slope). The best t solve a semidefinite programme; t_k =
1/|x_k|^2 is exact for orthogonal rows. From above, independent rows and one neuron per class that is 0 on the other: 2
(|y+| + |y-|) / sqrt(lambda_min(X X'))."""

import numpy as np

from reluflow.bias._programme import Cone

MOST = 120  # rows of a class for which the semidefinite programme is solved


def below(cone: Cone) -> float:
    """A certified lower bound on min |theta|^2."""
    signs = np.sign(cone.y)
    y2 = np.ones_like(cone.y) if cone.margin else cone.y**2
    total = sum(np.sqrt(max(0.0, _best(cone.z[signs == s], y2[signs == s]))) for s in (1.0, -1.0) if np.any(signs == s))
    return 2.0 * float(total) / (1.0 + cone.slope)


def above(cone: Cone) -> float:
    """An upper bound on min |theta|^2 for independent rows, inf otherwise."""
    n, r = cone.z.shape
    if r < n:
        return float("inf")
    low = float(np.linalg.eigvalsh(cone.z @ cone.z.T)[0])
    size = sum(np.linalg.norm(cone.y[cone.y * s > 0]) for s in (1.0, -1.0))
    return 2.0 * float(size) / np.sqrt(low)


def _best(x: np.ndarray, y2: np.ndarray) -> float:
    """max sum t y^2 over t >= 0 with sum t_k x_k x_k' <= I; whatever t the solver gives is made feasible first."""
    tries = [1.0 / np.sum(x**2, axis=1), np.ones(len(x))]
    if len(x) <= MOST:
        tries.append(_semidefinite(x, y2))
    return max(float(t @ y2) / float(np.linalg.norm(np.sqrt(t)[:, None] * x, 2)) ** 2 for t in tries if np.any(t > 0))


def _semidefinite(x: np.ndarray, y2: np.ndarray) -> np.ndarray:
    import clarabel
    from scipy import sparse

    n = len(x)
    x = x / np.linalg.norm(x, 2)
    _, size, vt = np.linalg.svd(x, full_matrices=False)
    x = x @ vt[size > size[0] * max(x.shape) * np.finfo(float).eps].T
    r = x.shape[1]
    side = np.triu_indices(r)
    order = np.lexsort((side[0], side[1]))  # column by column, as the solver stores triangles
    i, k = side[0][order], side[1][order]
    root = np.where(i == k, 1.0, np.sqrt(2.0))
    if r == n:  # T <= (X X')^-1: one entry per row
        limit = np.linalg.inv(x @ x.T)[i, k] * root
        A = sparse.csc_matrix((np.ones(n), (np.flatnonzero(i == k), np.arange(n))), shape=(len(i), n))
    else:
        limit = np.where(i == k, 1.0, 0.0)
        A = sparse.csc_matrix((x[:, i] * x[:, k] * root).T)
    A = sparse.vstack([A, -sparse.eye(n)]).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    cones = [clarabel.PSDTriangleConeT(r), clarabel.NonnegativeConeT(n)]
    b = np.concatenate([limit, np.zeros(n)])
    found = clarabel.DefaultSolver(sparse.csc_matrix((n, n)), -y2 / np.max(y2), A, b, cones, settings).solve()
    return np.maximum(np.nan_to_num(np.array(found.x)), 0.0)
