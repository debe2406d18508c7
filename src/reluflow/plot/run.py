"""Plots of one run: loss, norms and directions of neurons, function; or all of them."""

from __future__ import annotations

import numpy as np

from reluflow.plot.palette import DATA, FAINT, INK, MINUS, PAPER, PLUS, sign_colours, style

FROM = np.log(1e-2)  # log t at which axes over log t begin


def loss(ax, sol, t=None, **line) -> None:
    """The loss at times `t`, or at the run's own frames."""
    t, height = (sol.t, sol.loss_at(log_t=sol.log_t)) if t is None else (np.asarray(t, float), sol.loss_at(t))
    ax.plot(t, height, **{"color": INK, **line})


def norms(ax, sol, t=None, **line) -> None:
    """log |w_j| of every neuron, coloured by the sign of a_j."""
    t, size = (sol.t, sol.log_norm) if t is None else (np.asarray(t, float), log_norms(sol.at(np.asarray(t, float))))
    _neurons(ax, t, size, sign_colours(sol.sign[0]), **line)


def directions(ax, sol, t=None, **line) -> None:
    """The angle of w_j in degrees, for data in the plane; angles are continuous across 180 degrees."""
    if sol.problem.data.d != 2:
        raise ValueError(
            f"`directions` draws angles in the plane, got data in {sol.problem.data.d} dimensions: "
            "`rf.observe.alignment` measures directions in any."
        )
    t, states = (sol.t, sol.at(log_t=sol.log_t)) if t is None else (np.asarray(t, float), sol.at(t))
    angle = angles(states)
    _neurons(ax, t, angle, sign_colours(sol.sign[0]), **line)


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
    if not _on_a_line(data):
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


def _on_a_line(data) -> bool:
    """Whether rows are (x, 1)."""
    return data.d == 2 and bool(np.all(data.x[:, 1] == 1.0))


def overview(sol, title: str = ""):
    """A figure of a run with all applicable panels. Losses with an exponential tail are drawn over log t."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MultipleLocator

    data, colours = sol.problem.data, sign_colours(sol.sign[0])
    on_a_line = _on_a_line(data)
    count = 2 + (data.d == 2) + on_a_line
    growths = sol.phases()["growth"]
    shown = sol.log_t >= FROM
    late = (sol.problem.tailed or not np.isfinite(sol.t[-1])) and np.count_nonzero(shown) > 1
    shown = shown if late else np.full(len(sol.t), True)
    x, when = (sol.log_t / np.log(10), "log10 t") if late else (sol.t, "t")
    with style():
        fig = Figure(figsize=(3.3 * count, 3.1), layout="constrained")
        axes = iter(fig.subplots(1, count))
        timed = [next(axes), next(axes)]
        height = sol.log_loss / np.log(10) if late else sol.loss
        timed[0].plot(x[shown], height[shown], color=INK)
        timed[0].set(title="Loss", ylabel="log10 of the loss" if late else None)
        _neurons(timed[1], x[shown], sol.log_norm[shown], colours)
        timed[1].set(title="Neurons", ylabel="log |w|")
        for colour, sign, has in ((PLUS, ">", np.any(sol.sign[0] > 0)), (MINUS, "<", np.any(sol.sign[0] < 0))):
            if has:
                timed[1].plot([], [], color=colour, label=f"$a_j {sign} 0$")
        timed[1].legend(frameon=True, facecolor=PAPER, edgecolor="none", framealpha=0.85)
        if data.d == 2:
            timed.append(next(axes))
            _neurons(timed[2], x[shown], angles(sol.at(log_t=sol.log_t[shown])), colours)
            timed[2].set(title="Directions", ylabel="angle in degrees")
            timed[2].yaxis.set_major_locator(MultipleLocator(90))
        for ax in timed:
            ax.set(xlabel=when, xlim=(x[shown][0], x[shown][-1]))
            for p in growths:
                ends = np.array([p.log_start, p.log_end]) / np.log(10) if late else (p.start, p.end)
                ax.axvspan(*np.clip(ends, *ax.get_xlim()), color=FAINT, alpha=0.18, lw=0, zorder=0)
        if on_a_line:
            ax = next(axes)
            low, high = data.x[:, 0].min(), data.x[:, 0].max()
            room = 0.2 * (high - low) or 1.0
            function(ax, data, sol.final, np.linspace(low - room, high + room, 400), slope=sol.problem.activation.slope)
            ax.set(title="Function at the end", xlabel="x; dots: kinks, as far from 0 as |w|")
        if title:
            fig.suptitle(title, x=0.01, ha="left", weight="bold")
    return fig


def _neurons(ax, x, heights, colours, **line) -> None:
    for j, colour in enumerate(colours):
        ax.plot(x, heights[:, j], **{"color": colour, "lw": 0.8, "alpha": 0.7, **line})
