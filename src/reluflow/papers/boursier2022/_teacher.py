r"""The run of Figures 6 and 7 of [BPF22]: n = 75 rows in R^150 labelled by a teacher, 200 neurons from 1e-20.

    w_j ~ N(0, scale^2/(m d)),  a_j = +-|w_j|;   descent with step 1e-3 on 2 L, or the flow (iteration = time / 2e-3)

Neurons are projected on the two leading right singular vectors of the final W (uncentred, as in the authors' code).
"""

from functools import lru_cache

import numpy as np

import reluflow as rf
from reluflow._checks import one_of
from reluflow.papers._figures import solve
from reluflow.papers.boursier2022._line import STEP, moments
from reluflow.plot import look

WAYS = {"flow": 0, "descent": 1}


def data(n: int, d: int, torch_seed: int, seed: int):
    """The authors' rows and labels where PyTorch is there to draw them, ours otherwise; and which."""
    try:
        return rf.data.teacher(n=n, d=d, torch_seed=torch_seed), f"torch seed {torch_seed}"
    except ImportError:
        return rf.data.teacher(n=n, d=d, seed=seed), f"NumPy seed {seed}, PyTorch not being there"


@lru_cache(maxsize=2)
def run(way: str, n: int, d: int, width: int, scale: float, torch_seed: int, seed: int, last: int, panels: tuple):
    """One run, kept for the other figure that shows it."""
    import xarray as xr

    one_of("way", way, tuple(WAYS))
    rows, drawn = data(n, d, torch_seed, seed)
    init = rf.init.balanced(width, d, log_scale=float(np.log(scale / np.sqrt(width * d))), seed=seed)
    problem = rf.Problem(rows, init, loss="square")
    method = rf.Flow(rtol=1e-6) if way == "flow" else rf.Descent(step=STEP)
    sol = solve(problem, method, t1=last * STEP, save=rf.Save(frames=400, memory="256 MiB"))
    count = np.unique(np.r_[np.linspace(0, last, 401).astype(int), list(panels)])
    f = sol.outputs_at(count * STEP)
    part = (f - rows.y) ** 2
    loss = np.mean(part, axis=1)
    minus = np.sum(part * (rows.y < 0), axis=1) / n
    final = sol.final
    weights = final.w * np.exp(final.log_scales[0])[:, None]
    _, values, v = np.linalg.svd(weights, full_matrices=False)
    film = moments(count, loss)
    at = np.unique(np.r_[film, list(panels)])
    angle, norm = _project(sol.at(at * STEP), v[:2])
    size = np.linalg.norm(rows.x, axis=1)
    D = [np.linalg.norm((rows.y * (s * rows.y > 0)) @ rows.x) / n for s in (1, -1)]
    found = {
        "loss": ("iteration", loss),
        "minus_loss": ("iteration", minus),
        "angle": (("moment", "neuron"), angle),
        "norm": (("moment", "neuron"), norm),
        "sign": ("neuron", np.sign(final.a)),
        "explained": ("component", values**2 / np.sum(values**2)),
        "y": ("datum", rows.y),
        "residual": ("datum", f[-1] - rows.y),
        "squared_norm": 2.0 * float(np.sum(weights**2)),
        "pull": ("label", D),
        "ell": -float(init.log_scale),
        "least_row": float(size.min()),
        "largest_row": float(size.max()),
    }
    coords = {"iteration": count, "moment": at, "label": [1, -1], "panel": list(panels)}
    attrs = {"drawn": drawn, "way": way, "torch": int(drawn.startswith("torch"))}
    return xr.Dataset(found, coords=coords, attrs=attrs)


def _project(states, v) -> tuple[np.ndarray, np.ndarray]:
    """Polar angle and norm of each neuron's projection on the plane of v; what underflows has norm 0 and keeps its
    angle."""
    angle, norm = [], []
    for p in states:
        z = p.w @ v.T
        angle.append(np.arctan2(z[:, 1], z[:, 0]))
        with np.errstate(under="ignore"):
            norm.append(np.exp(p.log_scales[0]) * np.linalg.norm(z, axis=1))
    return np.stack(angle), np.stack(norm)


def polar(ax, angle, norm, sign, top: float, size: float = 9.0):
    """One moment: angle and norm, with a hole in the middle where norm is 0."""
    colours = np.where(np.asarray(sign) > 0, look.PURPLE, look.PLUS)  # the paper's: purple s = +1, red s = -1
    marks = ax.scatter(angle, norm, c=colours, s=size, alpha=0.65, lw=0, zorder=3)
    ax.set_rlim(0.0, top)
    ax.set_rorigin(-0.35 * top)
    ax.set_yticks([0.0, top / 2, top], [])
    ax.set_xticks(np.arange(0, 2 * np.pi, np.pi / 4), [])
    ax.grid(color=look.FAINT, lw=0.4, alpha=0.5)
    ax.spines["polar"].set_visible(False)
    return marks
