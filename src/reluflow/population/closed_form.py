r"""Loss, gradient and Hessian of a student and a teacher for Gaussian inputs x ~ N(0, I), in closed form.

    f(x) = sum_j a_j s(<w_j, x>),   L = E (f - f*)^2 / 2 = (1/2) q^T K q,   q = (a, -b) over the rows (w, v)

    K(u, v) = E s(<u,x>) s(<v,x>)        = |u||v| (sin th + (pi - th) cos th) / (2 pi)
    G(u; v) = dK/du = E s'(<u,x>) s(<v,x>) x = ((pi - th) v + sin th |v| u/|u|) / (2 pi)

with th the angle between u and v [Cho and Saul 2009; Tian 2017]. A leaky slope c is s_c = (1-c) s + c z, which gives
K_c = (1-c)^2 K + c <u,v> and G_c = (1-c)^2 G + c v. At u = 0 the derivative s'(0) = c is used, so G_c(0; v) = c v.
"""

import numpy as np

TWO_PI = 2.0 * np.pi


def angles(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Angles between the rows of u and of v, right to rounding also next to 0 and pi; pi/2 where a row is 0."""
    p, q = _units(u)[:, None, :], _units(v)[None, :, :]
    return 2.0 * np.arctan2(np.linalg.norm(p - q, axis=-1), np.linalg.norm(p + q, axis=-1))


def kernel(u: np.ndarray, v: np.ndarray, slope: float = 0.0) -> np.ndarray:
    """K(u_i, v_j) for all pairs of rows."""
    theta = angles(u, v)
    size = np.linalg.norm(u, axis=1)[:, None] * np.linalg.norm(v, axis=1)[None, :]
    relu = size * (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / TWO_PI
    return (1.0 - slope) ** 2 * relu + slope * (u @ v.T)


def kernel_gradient(u: np.ndarray, v: np.ndarray, slope: float = 0.0) -> np.ndarray:
    """G(u_i; v_j) = dK(u_i, v_j)/du_i, shape (rows of u, rows of v, d)."""
    theta = angles(u, v)
    length = np.linalg.norm(v, axis=1)
    relu = (np.pi - theta)[:, :, None] * v[None] + (np.sin(theta) * length)[:, :, None] * _units(u)[:, None]
    relu = np.where(np.linalg.norm(u, axis=1)[:, None, None] > 0, relu, 0.0)
    return (1.0 - slope) ** 2 * relu / TWO_PI + slope * v[None]


def second_moment(u: np.ndarray, v: np.ndarray, slope: float = 0.0) -> np.ndarray:
    r"""E s'(<u,x>) s'(<v,x>) x x^T = d^2 K / du dv^T for two vectors [Lee, Sim, Ye 2023, Lemma 2.1].

    (1 - th/pi)/2 I + sin th (cos th (u u^T - n n^T) + sin th (u n^T + n u^T))/(2 pi), n the unit part of v across u:
    it divides by nothing and so holds next to th = 0 and pi.
    """
    theta = float(angles(u[None], v[None])[0, 0])
    p, n = _units(u[None])[0], _across(u, v)
    eye = np.eye(len(u))
    turned = np.cos(theta) * (np.outer(p, p) - np.outer(n, n)) + np.sin(theta) * (np.outer(p, n) + np.outer(n, p))
    relu = 0.5 * (1.0 - theta / np.pi) * eye + np.sin(theta) / TWO_PI * turned
    return (1.0 - slope) ** 2 * relu + slope * eye


def turning(u: np.ndarray, v: np.ndarray, slope: float = 0.0) -> np.ndarray:
    r"""dG(u; v)/du = (1-c)^2 |v| sin th / (2 pi |u|) (I - u u^T + n n^T), n the unit part of v across u."""
    theta = float(angles(u[None], v[None])[0, 0])
    p, n = _units(u[None])[0], _across(u, v)
    weight = (1.0 - slope) ** 2 * np.linalg.norm(v) * np.sin(theta) / (TWO_PI * np.linalg.norm(u))
    return weight * (np.eye(len(u)) - np.outer(p, p) + np.outer(n, n))


def loss(w, a, v, b, slope: float = 0.0) -> float:
    r"""L = E (f - f*)^2 / 2.

    As |sum_j q_j r_j|^2 (1 + c^2)/4 + (1-c)^2/(4 pi) sum q_i q_j |r_i||r_j| (sin th - th cos th) over all rows r = (w,
    v): the second sum has no term for equal directions, so that little cancels next to a perfect fit.
    """
    rows, q = np.concatenate([w, v]), np.concatenate([a, -np.asarray(b)])
    theta = angles(rows, rows)
    size = q * np.linalg.norm(rows, axis=1)
    total = q @ rows
    mean = 0.25 * (1.0 + slope**2) * float(total @ total)
    return mean + (1.0 - slope) ** 2 / (4.0 * np.pi) * float(size @ cross(theta) @ size)


def cross(theta):
    """sin th - th cos th, which is th^3/3 next to 0."""
    theta = np.asarray(theta, dtype=float)
    small = theta**3 * (1.0 / 3.0 - theta**2 * (1.0 / 30.0 - theta**2 / 840.0))
    return np.where(theta < 0.03, small, np.sin(theta) - theta * np.cos(theta))


def pull(u, w, a, v, b, slope: float = 0.0) -> np.ndarray:
    """D(u) = -E (f - f*) s'(<u,x>) x = sum_k b_k G(u; v_k) - sum_i a_i G(u; w_i), one row for each row of u."""
    return np.einsum("k,jkd->jd", b, kernel_gradient(u, v, slope)) - np.einsum(
        "k,jkd->jd", a, kernel_gradient(u, w, slope)
    )


def gradient(w, a, v, b, slope: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """(dL/dw, dL/da) = (-a_j D(w_j), -<w_j, D(w_j)>)."""
    d = pull(w, w, a, v, b, slope)
    return -a[:, None] * d, -np.sum(w * d, axis=1)


def hessian(w, a, v, b, slope: float = 0.0, train: str = "both") -> np.ndarray:
    """The Hessian of L in (w_1, ..., w_m) and, for `train` "both", a after them."""
    m, d = w.shape
    full = np.zeros((m * d + m, m * d + m))
    w_of = lambda j: slice(j * d, (j + 1) * d)
    g_self = kernel_gradient(w, w, slope)
    drive = pull(w, w, a, v, b, slope)
    for j in range(m):
        for i in range(m):
            full[w_of(j), w_of(i)] = a[j] * a[i] * second_moment(w[j], w[i], slope)
            full[w_of(j), m * d + i] = a[j] * g_self[j, i]
        full[w_of(j), m * d + j] -= drive[j]
        own = sum(a[i] * turning(w[j], w[i], slope) for i in range(m) if i != j)
        full[w_of(j), w_of(j)] += a[j] * (own - sum(b[k] * turning(w[j], v[k], slope) for k in range(len(b))))
    full[m * d :, : m * d] = full[: m * d, m * d :].T
    full[m * d :, m * d :] = kernel(w, w, slope)
    return full if train == "both" else full[: m * d, : m * d]


def _across(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The unit part of v across u; 0 where there is none."""
    p = _units(u[None])[0]
    part = v - (v @ p) * p
    part = part - (part @ p) * p
    return _units(part[None])[0]


def _units(rows: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1.0)
