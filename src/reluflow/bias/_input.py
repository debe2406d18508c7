"""Input of the convex programmes, with one-sentence errors."""

import numpy as np

from reluflow._checks import one_output
from reluflow.bias._programme import Cone
from reluflow.bias.patterns import span
from reluflow.data.core import Data
from reluflow.engine.pack import surfaces
from reluflow.init import Params
from reluflow.problem import Activation, Problem, ReLU, as_activation

MOST_ROWS = 400


def as_data(subject, name: str, several: bool = False) -> Data:
    """The Data of a Data, a Problem or a Solution, for networks with one output unless `several` are allowed."""
    problem = getattr(subject, "problem", subject)
    if isinstance(problem, Data | Problem) and not several:
        one_output(problem, f"`{name}`")
    subject = getattr(getattr(subject, "problem", subject), "data", subject)
    if not isinstance(subject, Data):
        raise TypeError(
            f"`{name}` needs an rf.Data, or a problem or run on one, got {type(subject).__name__}: "
            "write `rf.Data(x, y)`."
        )
    return subject


def activation_of(subject, activation) -> Activation:
    """The activation asked for, else the problem's, else ReLU."""
    if activation is None:
        activation = getattr(getattr(subject, "problem", subject), "activation", None) or ReLU()
    return as_activation(activation)


def cone_of(data: Data, slope: float, margin: bool) -> tuple[Cone, np.ndarray, np.ndarray]:
    """(programme, kept rows, basis of their span (r, d)); zero rows with label 0 are dropped."""
    if data.n > MOST_ROWS:
        raise ValueError(
            f"The cone programme takes at most {MOST_ROWS} points, got {data.n}: pass `data.subset(...)`, or merge "
            "near copies with `data.merged(angle=...)`."
        )
    if margin and not np.all(np.abs(data.y) == 1.0):
        bad = data.y[np.abs(data.y) != 1.0][0]
        raise ValueError(f"Labels must be +1 or -1 for a margin, got {bad:g}: use `rf.bias.min_norm` for others.")
    size = np.linalg.norm(data.x, axis=1)
    wrong = np.flatnonzero((size == 0) & (data.y != 0))
    if len(wrong):
        raise ValueError(
            f"Every network without bias is 0 at x = 0, got label {data.y[wrong[0]]:g} for the zero row {wrong[0]}: "
            "drop that row, or add a bias with `data.with_bias()`."
        )
    kept = np.flatnonzero(size > 0)
    if len(kept) == 0 or not (margin or np.any(data.y != 0)):
        raise ValueError("Every label is 0, so the zero network fits: give data with a label that is not 0.")
    _same_ray(data.x[kept], data.y[kept], size[kept], kept, margin)
    basis = span(data.x[kept])
    z, y = data.x[kept] @ basis.T, np.array(data.y[kept])
    if slope == 1.0 and not margin:
        miss = float(np.max(np.abs(z @ np.linalg.lstsq(z, y, rcond=None)[0] - y)))
        if miss > 1e-10 * np.max(np.abs(y)):
            raise ValueError(
                f"A linear network (slope 1) must be able to fit the labels, got a best fit off by {miss:.3g}: "
                "use a slope below 1."
            )
    return Cone(z, y, slope, margin), kept, basis


def _same_ray(x, y, size, kept, margin) -> None:
    """Positive multiples x_k = alpha x_i need y_k = alpha y_i (a margin: the same sign)."""
    owner, sign = surfaces(np.ascontiguousarray(x / size[:, None]))
    for head in np.unique(owner):
        for side in (1.0, -1.0):
            rows = np.flatnonzero((owner == head) & (sign == side))
            slope = y[rows] / size[rows]
            if margin:
                odd = rows[np.sign(y[rows]) != np.sign(y[rows[0]])] if len(rows) else rows
            else:
                odd = rows[np.abs(slope - slope[0]) > 1e-9 * np.max(np.abs(slope))] if len(rows) else rows
            if len(odd):
                i, k = int(rows[0]), int(odd[0])
                what = "are the same point" if np.allclose(x[i], x[k], rtol=1e-12) else "lie on one ray"
                raise ValueError(
                    f"No network can fit rows {kept[i]} and {kept[k]}: they {what} and their labels {y[i]:g} and "
                    f"{y[k]:g} are incompatible; drop one, or merge them with `data.merged(angle=0)`."
                )


def directions_of(network) -> np.ndarray | None:
    """Directions w_j of a Params, or of a Solution at its end."""
    if network is None:
        return None
    params = getattr(network, "final", network)
    if not isinstance(params, Params):
        raise TypeError(f"`network` must be an rf.Params or a Solution, got {type(network).__name__}.")
    return params.w


def numbers(params: Params) -> tuple[np.ndarray, np.ndarray]:
    """(w, a) as plain arrays; entries that underflow are 0, as they are in f."""
    log_w, log_a = params.log_scales
    with np.errstate(under="ignore"):
        return params.w * np.exp(log_w)[:, None], params.a * np.exp(log_a)


def outputs(params: Params, x, slope: float = 0.0) -> np.ndarray:
    """f(x) of a network at the rows of x."""
    log_w, log_a = params.log_scales
    u = np.asarray(x, float) @ params.w.T
    with np.errstate(under="ignore"):
        return np.where(u > 0, u, slope * u) @ (params.a * np.exp(log_w + log_a))


def squared_norm(params: Params) -> float:
    """|theta|^2 = sum |w_j|^2 + a_j^2."""
    w, a = numbers(params)
    return float(np.sum(w**2) + np.sum(a**2))
