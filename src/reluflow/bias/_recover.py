r"""From blocks of the cone programme to a network: w = v/sqrt|v|, a = sigma sqrt|v|.

Cells that share a boundary ray may split one neuron between them, so collinear v's of equal sign are merged, and more
than n neurons are thinned to a vertex; then v is corrected by a least-norm step, held data kept on their surfaces, so
that the network interpolates to rounding.
"""

import numpy as np

from reluflow.bias._programme import Cone, Found
from reluflow.bias.patterns import span
from reluflow.init import Params

NEGLIGIBLE = 1e-7  # share of sum |v| below which a block is numerical noise of the solver
COLLINEAR = 1e-4  # radians
HELD = 1e-5  # |cos(v, x_i)| below which v lies on the surface of x_i: the solver's own accuracy there,
NOISE = 1e-8  # which for small v is a share of sum |v|


def outputs(cone: Cone, v: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    u = v @ cone.z.T
    return sigma @ np.where(u > 0, u, cone.slope * u)


def params(v: np.ndarray, sigma: np.ndarray, basis: np.ndarray) -> Params:
    """The network in the coordinates of the data; a single neuron of zeros for the zero network."""
    size = np.sqrt(np.linalg.norm(v, axis=1))
    if not len(v):
        return Params(np.zeros((1, basis.shape[1])), np.zeros(1))
    return Params((v / size[:, None]) @ basis, sigma * size)


def merged(found: Found) -> tuple[np.ndarray, np.ndarray]:
    """(v, sigma) without numerical noise, collinear blocks of equal sign added."""
    size = np.linalg.norm(found.v, axis=1)
    groups: list[list[np.ndarray]] = []
    signs: list[float] = []
    for b in np.argsort(-size):
        if size[b] <= NEGLIGIBLE * np.sum(size):
            break
        for k, group in enumerate(groups):
            head = group[0] / np.linalg.norm(group[0])
            if signs[k] == found.sigma[b] and np.linalg.norm(found.v[b] / size[b] - head) < COLLINEAR:
                group.append(found.v[b])
                break
        else:
            groups.append([found.v[b]])
            signs.append(float(found.sigma[b]))
    return np.array([np.sum(g, axis=0) for g in groups]), np.array(signs)


def thinned(cone: Cone, v: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same directions with sizes at a vertex of their linear programme: at most n neurons, no larger a norm."""
    from scipy.optimize import linprog

    size = np.linalg.norm(v, axis=1)
    u = (v / size[:, None]) @ cone.z.T
    columns = (sigma[:, None] * np.where(u > 0, u, cone.slope * u)).T
    fit = dict(A_eq=columns, b_eq=columns @ size)
    if cone.margin:
        fit = dict(A_ub=-cone.y[:, None] * columns, b_ub=-np.ones(len(cone.y)))
    found = linprog(np.ones(len(v)), **fit, bounds=(0, None), method="highs")
    if found.status != 0:
        return v, sigma
    keep = found.x > NEGLIGIBLE * np.sum(found.x)
    return (found.x / size)[keep, None] * v[keep], sigma[keep]


def held(cone: Cone, v: np.ndarray) -> np.ndarray:
    """Which data each v is on the surface of, (neurons, n)."""
    size = np.linalg.norm(v, axis=1)
    near = np.maximum(HELD * size, NOISE * np.sum(size))
    return np.abs(v @ cone.z.T) < near[:, None] * np.linalg.norm(cone.z, axis=1)


def corrected(cone: Cone, v: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """v changed by the least amount that makes the network interpolate with its patterns.

    With P_j the projection on the surfaces that hold v_j, v_j moves by P_j X' S_j c, where c solves sum_j S_j X P_j X'
    S_j c = y - f.
    """
    on = held(cone, v)
    bits = np.where(on, 0.0, cone.bits_to_slopes(v @ cone.z.T > 0))
    within = np.repeat(np.eye(v.shape[1])[None], len(v), axis=0)
    for j in np.flatnonzero(np.any(on, axis=1)):
        basis = span(cone.z[on[j]])
        within[j] -= basis.T @ basis
    v = np.einsum("jab,jb->ja", within, v)
    moves = [within[j] @ (sigma[j] * bits[j][:, None] * cone.z).T for j in range(len(v))]  # (r, n) each
    system = np.sum([m.T @ m for m in moves], axis=0)
    for _ in range(3):
        miss = cone.y - np.sum([sigma[j] * bits[j] * (cone.z @ v[j]) for j in range(len(v))], axis=0)
        c = np.linalg.lstsq(system, miss, rcond=1e-14)[0]
        v = v + np.array([m @ c for m in moves])
    return v


def network(cone: Cone, found: Found) -> tuple[np.ndarray, np.ndarray]:
    """(v, sigma): merged and corrected where that fits the data at least as well as the solver's own blocks do."""
    raw, signs = found.v, found.sigma
    alive = np.linalg.norm(raw, axis=1) > 0
    raw, signs = raw[alive], signs[alive]
    v, sigma = merged(found)
    if len(v) > len(cone.y):
        v, sigma = thinned(cone, v, sigma)
    if cone.margin:
        short = [float(np.min(cone.y * outputs(cone, *net))) for net in ((v, sigma), (raw, signs))]
        better = 0 if short[0] > 1.0 - 1e-6 else 1
        v, sigma = ((v, sigma), (raw, signs))[better]
        return v / short[better], sigma  # f is 1-homogeneous in v
    for net in ((corrected(cone, v, sigma), sigma), (corrected(cone, raw, signs), signs)):
        if _miss(cone, *net) <= 1e-8 * np.max(np.abs(cone.y)):
            return net
    return raw, signs


def _miss(cone: Cone, v: np.ndarray, sigma: np.ndarray) -> float:
    return float(np.max(np.abs(outputs(cone, v, sigma) - cone.y)))


def stationarity(cone: Cone, v: np.ndarray, sigma: np.ndarray, nu: np.ndarray) -> float:
    """|theta - sum_k nu_k df_k/dtheta| / |theta|: the mean over neurons, by size, of |v_j/|v_j| - sigma_j X' S nu|^2.

    Held data take the slopes in [slope, 1] that make it smallest.
    """
    from scipy.optimize import lsq_linear

    size = np.linalg.norm(v, axis=1)
    on, total = held(cone, v), 0.0
    for j in range(len(v)):
        bits = cone.bits_to_slopes(v[j] @ cone.z.T > 0)
        rest = v[j] / size[j] - sigma[j] * (np.where(on[j], 0.0, bits) * nu) @ cone.z
        if np.any(on[j]) and cone.slope < 1.0:
            A = sigma[j] * (nu[on[j]][:, None] * cone.z[on[j]]).T
            rest = rest - A @ lsq_linear(A, rest, bounds=(cone.slope, 1.0), tol=1e-14).x
        total += size[j] * float(rest @ rest)
    return float(np.sqrt(total / np.sum(size)))
