"""One run on one pair of axes: its loss, its neurons' sizes and directions, the function it computes."""

from __future__ import annotations

import numpy as np

from reluflow.plot.palette import DATA, FAINT, INK, sign_colours


def loss(ax, sol, t=None, **line) -> None:
    """The loss at times `t`, or at the run's own frames."""
    t, height = (sol.t, sol.loss_at(log_t=sol.log_t)) if t is None else (np.asarray(t, float), sol.loss_at(t))
    ax.plot(t, height, **{"color": INK, **line})


def norms(ax, sol, t=None, **line) -> None:
    """log |w_j| of every neuron, coloured by the sign of a_j."""
    t, size = (sol.t, sol.log_norm) if t is None else (np.asarray(t, float), log_norms(sol.at(np.asarray(t, float))))
    for j, colour in enumerate(sign_colours(sol.sign[0])):
        ax.plot(t, size[:, j], **{"color": colour, "lw": 0.8, "alpha": 0.7, **line})


def directions(ax, sol, t=None, **line) -> None:
    """The angle of w_j in degrees, for data in the plane; turning is drawn without jumps at 180 degrees."""
    if sol.problem.data.d != 2:
        raise ValueError(
            f"`directions` draws angles in the plane, got data in {sol.problem.data.d} dimensions: "
            "`rf.observe.alignment` measures directions in any."
        )
    t, states = (sol.t, sol.at(log_t=sol.log_t)) if t is None else (np.asarray(t, float), sol.at(t))
    angle = angles(states)
    for j, colour in enumerate(sign_colours(sol.sign[0])):
        ax.plot(t, angle[:, j], **{"color": colour, "lw": 0.9, "alpha": 0.75, **line})


def angles(states) -> np.ndarray:
    """Angles of the w_j of a list of `Params` in degrees, (times, width): continuous, and in (-180, 180] at the end."""
    w = np.stack([p.w for p in states])
    angle = np.rad2deg(np.unwrap(np.arctan2(w[..., 1], w[..., 0]), axis=0))
    return angle - 360.0 * np.ceil((angle[-1] - 180.0) / 360.0)


def log_norms(states) -> np.ndarray:
    """log |w_j| of a list of `Params`, (times, width)."""
    with np.errstate(divide="ignore"):
        return np.stack([p.log_scales[0] + np.log(np.linalg.norm(p.w, axis=1)) for p in states])


def function(ax, data, params, grid, *, slope: float = 0.0, neurons: bool = True) -> None:
    """The function of data on a line with a bias column, its points, and one mark per neuron at its kink."""
    if data.d != 2 or np.any(data.x[:, 1] != 1.0):
        got, way_out = {
            1: ("one column", "append the ones with `data.with_bias()`"),
            2: ("a second column of other numbers", "`directions` draws neurons in the plane"),
        }.get(data.d, (f"{data.d} columns", "`norms` draws neurons in any dimension"))
        raise ValueError(f"`function` draws one column of data followed by ones, got {got}: {way_out}.")
    grid = np.asarray(grid, float)
    z = np.column_stack([grid, np.ones_like(grid)]) @ params.w.T
    log_w, log_a = params.log_scales
    with np.errstate(under="ignore"):
        f = np.where(z > 0, z, slope * z) @ (params.a * np.exp(log_w + log_a))
    ax.axhline(0, color=FAINT, lw=0.6)
    ax.plot(grid, f, color=INK, lw=2)
    if neurons:
        with np.errstate(divide="ignore", under="ignore"):
            kink, size = -params.w[:, 1] / params.w[:, 0], np.exp(log_w) * np.linalg.norm(params.w, axis=1)
        shown = np.isfinite(kink) & (kink > grid[0]) & (kink < grid[-1])
        colours = sign_colours(params.a)
        ax.scatter(kink[shown], (np.sign(params.a) * size)[shown], c=colours[shown], s=16, alpha=0.75, lw=0, zorder=3)
    ax.scatter(data.x[:, 0], data.y, s=70, c=DATA, marker="X", edgecolors="white", lw=1.0, zorder=4)
    ax.set_xlim(grid[0], grid[-1])
