r"""The loss and its gradient at a given network, for checks that sample networks instead of following one.

L = (1/2n) sum_k (h(x_k) - y_k)^2      |grad L|^2 = sum_j <D_j, w_j>^2 + |D_j|^2 a_j^2,   bits 1[<w_j, x_k> > 0]
"""

import numpy as np

from reluflow.papers.boursier2022._constants import EPS, Labels


def active(w: np.ndarray, x: np.ndarray) -> np.ndarray:
    """1[<w_j, x_k> > 0]; what is 0 up to d roundings is 0, as on the class a cluster has let go of."""
    size = np.linalg.norm(w, axis=1)[:, None] * np.linalg.norm(x, axis=1)
    return w @ x.T > (x.shape[1] + 8) * EPS * size


def loss_and_gradient(const: Labels, w: np.ndarray, a: np.ndarray) -> tuple[float, float]:
    """(L, |grad L|^2) at the network (w, a), in the data's own signs."""
    x, y = const.data.x, const.data.y
    u = w @ x.T
    r = y - np.maximum(u, 0.0).T @ a
    D = const.weight * (active(w, x) * r) @ x
    return 0.5 * const.weight * float(r @ r), float(np.sum(np.sum(D * w, 1) ** 2) + np.sum(np.sum(D**2, 1) * a**2))


def pl(const: Labels, w: np.ndarray, a: np.ndarray) -> float:
    """|grad L|^2 / L; inf at an interpolator."""
    value, square = loss_and_gradient(const, w, a)
    return square / value if value > 0 else np.inf


def sharp_constants(const: Labels, w: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Eigenvalues of (2/n) J J^T at a network, J = dh/dtheta: the limits of |grad L|^2/L as residuals vanish."""
    x = const.data.x
    on = active(w, x).astype(float)
    gram = (x @ x.T) * (on.T @ (a[:, None] ** 2 * on)) + np.maximum(w @ x.T, 0.0).T @ np.maximum(w @ x.T, 0.0)
    return np.linalg.eigvalsh(2.0 * const.weight * gram)
