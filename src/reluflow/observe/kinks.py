r"""Networks of one input and a bias column: their kinks, and groups of neurons with a common direction.

f(x) = sum_j a_j relu(w_j1 x + w_j2)      kink of neuron j at x = -w_j2 / w_j1,  slope changes there by a_j |w_j1|
"""

from dataclasses import dataclass

import numpy as np

from reluflow._checks import one_output
from reluflow.init import Params


def kink_positions(subject, t=None, *, log_t=None):
    """Kinks of a run (at its end, or at time `t`) or of `Params`, as a Dataset with dim neuron.

    `position` (inf for w_j1 = 0), `jump` a_j |w_j1| of the slope, `log_size` log(|a_j| |w_j|) and `sign`.
    """
    import xarray as xr

    params = _params(subject, t, log_t)
    log_w, log_a = params.log_scales
    slope, bias = params.w[:, 0], params.w[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        position = np.where(slope == 0.0, np.inf, -bias / slope)
        log_size = log_w + log_a + np.log(np.abs(params.a)) + np.log(np.linalg.norm(params.w, axis=1))
    jump = params.a * np.abs(slope) * np.exp(log_w + log_a)
    values = {"position": position, "jump": jump, "log_size": log_size, "sign": np.sign(params.a)}
    return xr.Dataset({k: ("neuron", v) for k, v in values.items()}, coords={"neuron": np.arange(params.width)})


@dataclass(frozen=True)
class Merged:
    """Neurons of one sign and one direction, which act as one: sum of a_j w_j = `sign` `size` `direction`."""

    neurons: tuple[int, ...]
    sign: float
    direction: np.ndarray
    size: float

    @property
    def kink(self) -> float:
        """Position of the common kink (one input and a bias column)."""
        slope, bias = self.direction
        return float(-bias / slope) if slope != 0 else float("inf")


def merged(subject, t=None, *, log_t=None, angle: float = 1e-6, share: float = 1e-9) -> tuple[Merged, ...]:
    """Groups of neurons that point the same way within `angle`, largest first, in any dimension.

    Neurons whose |a_j| |w_j| is below `share` of the largest are omitted: they do not affect f.
    """
    params = _params(subject, t, log_t, plane=False)
    log_w, log_a = params.log_scales
    norm = np.linalg.norm(params.w, axis=1)
    with np.errstate(divide="ignore"):
        log_size = log_w + log_a + np.log(np.abs(params.a)) + np.log(norm)
    kept = [int(j) for j in np.argsort(-log_size) if log_size[j] >= np.max(log_size) + np.log(share)]
    unit = params.w / np.where(norm > 0, norm, 1.0)[:, None]
    groups: list[list[int]] = []
    for j in kept:
        for group in groups:
            k = group[0]
            if params.a[j] * params.a[k] > 0 and np.linalg.norm(unit[j] - unit[k]) <= angle:
                group.append(j)
                break
        else:
            groups.append([j])
    found = []
    for group in groups:
        total = np.sum(np.exp(log_size[group])[:, None] * unit[group], axis=0)
        size = float(np.linalg.norm(total))
        found.append(Merged(tuple(sorted(group)), float(np.sign(params.a[group[0]])), total / size, size))
    return tuple(sorted(found, key=lambda g: -g.size))


def _params(subject, t, log_t, plane: bool = True) -> Params:
    if isinstance(subject, Params):
        params = subject
    elif t is None and log_t is None:
        params = subject.final
    else:
        params = subject.at(t, log_t=log_t)
    one_output(params, "`kink_positions`" if plane else "`merged`", "give `rf.Params(w, a[:, c])` of one output")
    if plane and params.dim != 2:
        raise ValueError(f"Kinks need one input and a bias column (dim = 2), got dim = {params.dim}: try `merged`.")
    return params
