"""Two data in the plane, both +1, as Figures 7, 8 and 9 of [MMV24] show them: x1 = (1, 0), x2 = (sin delta, cos delta).

One run at three moments, and over many seeds how many positive neurons that are not dead are outside S+.
"""

import numpy as np

import reluflow as rf
from reluflow.papers.min2024 import _plane
from reluflow.plot import look

MOMENTS = (4000, 7000, 21_000)


def settings(delta: float, seed: int) -> dict[str, dict]:
    """The paper's own size is small: both sizes are the same."""
    one = dict(delta=delta, width=50, sigma=1e-6, seed=seed, seeds=60, panels=[0, 7000, 21_000])
    return {"quick": one, "full": dict(one)}


def compute(*, delta, width, sigma, seed, seeds, panels):
    data = rf.data.two_angles(delta=delta)
    ds = _plane.run(data, width=width, sigma=sigma, seed=seed, panels=panels, last=int(panels[-1]))
    counted = _plane.outside(data, width=width, sigma=sigma, seeds=seeds, at=list(MOMENTS))
    return ds.assign(counted).assign_coords(moment=list(MOMENTS))


def outside(ds, k: int) -> np.ndarray:
    """Of every run, at iteration k: positive neurons neither dead nor in S+."""
    return ds.outside.sel(moment=k).values


def shown(ds, k: int) -> int:
    """The same of the run shown."""
    return int(np.sum((ds.sign.sel(iteration=k) > 0) & (ds.cone.sel(iteration=k) == 0)))


def share(values, stated: float) -> tuple[float, float]:
    """A share of the runs, and three standard errors of its difference from the handbook's share of 60 runs."""
    return float(np.mean(values)), 3 * np.sqrt(stated * (1 - stated) * (1 / len(values) + 1 / 60))


def draw(ds, seen):
    """The panels; in the last one what is positive, not dead and outside S+ is circled. The name of S+ stands beside
    the neurons, which are in the middle of it."""
    fig = _plane.panels(ds, seen)[0]
    last = ds.isel(iteration=-1)
    who = (last.sign.values > 0) & (last.cone.values == 0)
    reach = 0.62 * 1.25 * float(np.linalg.norm(ds.x, axis=1).max())
    for text in (t for ax in fig.axes for t in ax.texts if t.get_text() == "S+"):
        z = complex(*text.get_position()) * np.exp(-0.5j)
        text.set_position((z.real, z.imag))
    for tip in np.unique(np.round(reach * last.direction.values[who], 1), axis=0):
        ax = fig.axes[ds.sizes["panel"] - 1]
        ax.plot(*tip, "o", mfc="none", mec=look.INK, mew=1.0, ms=9, zorder=5)
    return fig
