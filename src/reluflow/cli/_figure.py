"""The demo's figure: alignment, growth, two saddles; the function at four times; five points below."""

from pathlib import Path

import numpy as np

from reluflow.cli._film import Film
from reluflow.plot import FAINT, INK, MINUS, PLUS, THEORY, function, sign_colours, style
from reluflow.plot.run import angles

SLIDE = "#7a5195"


def draw(film: Film, five, path: Path) -> None:
    """Writes the PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(12.6, 10.6))
        FigureCanvasAgg(figure)
        outer = figure.add_gridspec(
            3, 1, height_ratios=[1.35, 1.0, 1.0], hspace=0.42, left=0.055, right=0.985, top=0.885, bottom=0.05
        )
        figure.text(0.055, 0.962, f"One network from {_scale(film.log_scale)} to its limit", fontsize=19, weight="bold")
        figure.text(
            0.055, 0.937, "60 ReLU neurons, two points, gradient flow until convergence", fontsize=10.5, color=INK
        )
        _legend(figure)
        top = outer[0].subgridspec(1, 3, wspace=0.25, width_ratios=[1, 1, 1.15])
        _alignment(figure.add_subplot(top[0]), film)
        _growth(figure.add_subplot(top[1]), film)
        _staircase(figure.add_subplot(top[2]), film)
        _strip(figure, outer[1].subgridspec(1, 4, wspace=0.16), film)
        _five(figure, outer[2].subgridspec(1, 4, wspace=0.16, width_ratios=[1.25, 1, 1, 1]), five)
        figure.savefig(path, dpi=130)


def _scale(log_scale: float) -> str:
    return f"$e^{{{log_scale:,.0f}}}$".replace(",", "{,}")


def _legend(figure) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], color=PLUS, lw=2, label="neurons with $a > 0$"),
        Line2D([], [], color=MINUS, lw=2, label="neurons with $a < 0$"),
        Line2D([], [], color=THEORY, lw=0, marker="o", ms=5, label="theory, no fitted parameters"),
        Line2D([], [], color=INK, lw=0, marker="X", ms=7, label="data"),
    ]
    figure.legend(
        handles=marks, loc="upper right", bbox_to_anchor=(0.99, 0.972), ncols=4, columnspacing=1.6, handlelength=1.4
    )


def _alignment(ax, film: Film) -> None:
    data, rows = film.sol.problem.data, film.inside(0.0, film.aligned)
    t, angle = film.t[rows], angles([film.states[k] for k in rows])
    for j, colour in enumerate(sign_colours(film.states[0].a)):
        ax.plot(t, angle[:, j], color=colour, lw=0.9, alpha=0.75)
    marks = [(time, neuron) for time, neuron, _ in film.theory.crossings]
    ax.scatter(
        [m[0] for m in marks],
        [np.interp(time, t, angle[:, j]) for time, j in marks],
        s=13,
        color=THEORY,
        zorder=4,
        lw=0,
    )
    for sign, name in ((1, "$D_+$"), (-1, "$-D_-$")):
        d = np.abs(data.y[np.sign(data.y) == sign]) @ data.x[np.sign(data.y) == sign]
        where = np.rad2deg(np.arctan2(d[1], d[0]))
        ax.text(film.aligned * 0.99, where + 7, name, color=PLUS if sign > 0 else MINUS, fontsize=10, ha="right")
    ax.set(title="1   Alignment", xlabel="time", ylabel="direction of each neuron (degrees)", xlim=(0, film.aligned))
    ax.set_yticks([-180, -90, 0, 90, 180])


def _growth(ax, film: Film) -> None:
    t, end = np.append(film.t, 1.08 * film.end), np.vstack([film.log_norm, film.log_norm[-1]])  # converged: extended
    stays = film.log_norm[-1] < -2.0
    for j in np.argsort(~stays):
        colour = FAINT if stays[j] else sign_colours(film.states[0].a)[j]
        ax.plot(t, end[:, j], color=colour, lw=0.9, alpha=0.35 if stays[j] else 0.8)
    ax.axhline(0, color=FAINT, lw=0.6)
    ax.set(title="2   Silent growth", xlabel="time", ylabel="log of each neuron's norm", xlim=(0, t[-1]))
    _thousands(ax)


def _staircase(ax, film: Film) -> None:
    ax.plot(np.append(film.t, 1.08 * film.end), np.append(film.loss, film.loss[-1]), color=INK, lw=2.0)
    top = film.loss[0]
    ax.set(
        title="3   Saddle to saddle",
        xlabel="time",
        ylabel="loss",
        xlim=(0, 1.08 * film.end),
        ylim=(-0.04 * top, 1.12 * top),
    )
    boxes = ((0.15, 0.13, 0.3, 0.36), (0.62, 0.55, 0.34, 0.37))
    for (lo, hi), box, kind in zip(film.windows, boxes, film.theory.classes, strict=True):
        small, near = ax.inset_axes(box), film.inside(lo, hi)
        small.plot(film.t[near] - kind.half, film.loss[near], color=INK, lw=1.6)
        dots = np.linspace(lo, hi, 17)
        small.plot(dots - kind.half, film.theory.loss(dots), "o", color=THEORY, ms=3.2)
        colour = PLUS if kind.sign > 0 else MINUS
        small.set_title(f"around t = {kind.half:,.1f}", fontsize=8, weight="normal", pad=3, loc="center", color=colour)
        small.tick_params(labelsize=6.5, length=2)
        small.set_xticks([-3, 0, 3] if hi - lo < 14 else [-6, 0, 6])
        small.margins(0.03, 0.08)
    _thousands(ax)


def _thousands(ax) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(4))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.6g}"))


def _strip(figure, grid, film: Film) -> None:
    moments = [
        (0.0, "start: the function is 0"),
        (film.aligned, "aligned, still 0"),
        (film.saddle, "at the saddle: one point fitted"),
        (film.end, "limit: both fitted, two kinks"),
    ]
    x = np.linspace(-1.5, 3.0, 400)
    for k, (t, title) in enumerate(moments):
        ax = figure.add_subplot(grid[k])
        function(ax, film.sol.problem.data, film.states[int(np.argmin(np.abs(film.t - t)))], x)
        ax.set_ylim(-1.55, 1.55)
        ax.set_title(title, fontsize=9.5, weight="normal", pad=6)
        _when(ax, t)
        if k:
            ax.set_yticklabels([])


def _when(ax, t: float) -> None:
    text = f"t = {t:,.5g}" if t < 1e4 else f"t = {t:,.0f}"
    ax.text(0.97, 0.05, text, transform=ax.transAxes, fontsize=8.5, color=FAINT, ha="right")


def _five(figure, grid, five) -> None:
    ax = figure.add_subplot(grid[0])
    t, level = five.t[1:], five.loss[1:]
    ax.semilogx(t, level, color=INK)
    slides = five.events["slide"].t
    ax.plot(slides, np.interp(slides, t, level), "|", color=SLIDE, ms=9, alpha=0.8)
    ax.text(0.04, 0.09, f"|  {len(slides)} slides along a boundary", transform=ax.transAxes, fontsize=8.5, color=SLIDE)
    ax.set(xlabel="time", ylabel="loss", xlim=(1, five.t[-1]), ylim=(0, 1.08 * five.loss[0]))
    ax.set_title("Five points, not orthogonal", fontsize=11, pad=6)
    x = np.linspace(-2.2, 2.7, 400)
    saddle, leaving = _moments(five)
    for k, (when, title) in enumerate(((saddle, "at its saddle"), (leaving, "leaving it"), (len(five.t) - 1, "limit"))):
        ax = figure.add_subplot(grid[k + 1])
        function(ax, five.problem.data, five.at(five.t[when]), x)
        ax.set_ylim(-1.75, 1.75)
        ax.set_title(title, fontsize=9.5, weight="normal", pad=6)
        _when(ax, five.t[when])
        if k:
            ax.set_yticklabels([])


def _moments(five) -> tuple[int, int]:
    """The frame on the plateau between the two drops of the loss, and the one where half of that loss is gone."""
    t, level = five.t, five.loss
    inside = np.flatnonzero((level < 0.6 * level[0]) & (level > 0.05 * level[0]))
    grid = np.geomspace(t[inside[0]], t[inside[-1]], 200)
    slope = np.abs(np.gradient(np.interp(grid, t, level), np.log(grid)))
    saddle = int(np.searchsorted(t, grid[np.argmin(slope)]))
    return saddle, int(np.argmax(level < 0.5 * level[saddle]))
