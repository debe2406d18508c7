"""Directions of neurons: cosines with data, class sums, or any direction, and bands over neurons."""

import numpy as np

from reluflow._checks import as_finite, one_output
from reluflow.observe._view import view

BANDS = (0.0, 0.25, 0.5, 0.75, 1.0)


def class_sums(data):
    """x+ = sum over y_i > 0 of x_i and x- likewise: dims side, feature; a class without data sums to 0."""
    import xarray as xr

    one_output(data, "`class_sums`", "sum the rows of a class, as in `data.x[y == c].sum(axis=0)`")

    sums = np.stack([np.sum(data.x[data.y > 0], axis=0), np.sum(data.x[data.y < 0], axis=0)])
    return xr.DataArray(sums, dims=("side", "feature"), coords={"side": ["x+", "x-"]}, name="class_sums")


def cosines(sol, t=None, *, log_t=None):
    """cos(w_j, x_i) for every datum: dims frame, neuron, datum."""
    seen, x = view(sol, t, log_t), sol.problem.data.x
    size = np.linalg.norm(x, axis=1)
    return seen.array(
        seen.unit @ (x / np.where(size > 0, size, 1.0)[:, None]).T, ("frame", "neuron", "datum"), "cosines"
    )


def alignment(sol, direction="own", t=None, *, log_t=None):
    """cos(w_j, direction): dims frame, neuron.

    `direction` is "x+" or "x-" (class sums), "own" (x+ for neurons with a_j > 0, x- for the others), or any vector.
    """
    seen, data = view(sol, t, log_t), sol.problem.data
    if isinstance(direction, str) and direction in ("x+", "x-", "own"):
        one_output(
            sol.problem, f'`alignment(sol, "{direction}")`', "use `rf.observe.pair_alignment(sol)`, or give a vector"
        )
    if isinstance(direction, str):
        if direction not in ("x+", "x-", "own"):
            raise ValueError(f'`direction` must be "x+", "x-", "own" or a vector, got {direction!r}.')
        plus, minus = class_sums(data).values
        if direction == "own":
            found = np.where(seen.a > 0, _cos(seen.unit, plus), _cos(seen.unit, minus))
        else:
            found = _cos(seen.unit, plus if direction == "x+" else minus)
    else:
        vector = as_finite("direction", direction, ndim=1, hint=f"give {data.d} numbers")
        if len(vector) != data.d:
            raise ValueError(f"`direction` must have the data's dimension {data.d}, got {len(vector)} numbers.")
        found = _cos(seen.unit, vector)
    return seen.array(found, ("frame", "neuron"), "alignment")


def pair_alignment(sol, t=None, *, log_t=None):
    r"""<b_j, M_j q_j> / (|b_j| |q_j| sigma_1(M_j)): dims frame, neuron.

    It is 1 where (q_j, b_j) is a top singular pair of the matrix M_j = sum_i m_ji g_i x_i^T that drives the neuron, and
    NaN where M_j = 0. With one output that is sign(a_j) cos(w_j, D_j).
    """
    seen, x = view(sol, t, log_t), sol.problem.data.x
    g = seen.drive[0] if seen.problem.outputs > 1 else seen.drive[0][..., None]
    b = seen.a if seen.problem.outputs > 1 else seen.a[..., None]

    def top(bits, part):
        matrices = np.einsum("fmn,fnk,nd->fmkd", bits, g[part], x, optimize=True)
        return np.linalg.svd(matrices, compute_uv=False)[..., 0]

    size = seen.reduce(top) * seen.norm * seen.size_a
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(size > 0.0, np.sum(b * seen.turn, axis=-1) / size, np.nan)
    return seen.array(found, ("frame", "neuron"), "pair_alignment")


def _cos(unit: np.ndarray, vector: np.ndarray) -> np.ndarray:
    size = np.linalg.norm(vector)
    return unit @ (vector / size) if size > 0 else np.full(unit.shape[:-1], np.nan)


def bands(values, quantiles=BANDS, where=None):
    """Quantiles over neurons (0 and 1 are least and most): dims quantile and the rest; `where` picks neurons."""
    chosen = values if where is None else values.where(where)
    return chosen.quantile(list(quantiles), dim="neuron", skipna=True)
