"""The demo's figure: alignment, growth, two saddles; what the network computes on the way; five points below."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.cli._film import Film
from reluflow.plot import FAINT, INK, MINUS, PLUS, THEORY, directions, function, loss, sign_colours, style
from reluflow.plot.run import log_norms

SLIDE = "#7a5195"


def draw(film: Film, five, path: Path) -> None:
    """Writes the PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(12.6, 10.6))
        FigureCanvasAgg(figure)
        outer = figure.add_gridspec(3, 1, height_ratios=[1.35, 1.0, 1.0], hspace=0.42, left=0.055, right=0.985, top=0.885, bottom=0.05)
        figure.text(0.055, 0.962, f"One network from {_scale(film.log_scale)} to its limit", fontsize=19, weight="bold")
        figure.text(
            0.055, 0.937, "60 ReLU neurons, gradient flow followed exactly.", fontsize=10.5, color=INK
        )
        _legend(figure)
        top = outer[0].subgridspec(1, 3, wspace=0.24, width_ratios=[1, 1, 1.15])
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
        Line2D([], [], color=THEORY, lw=0, marker="o", ms=5, label="what theory predicts"),
        Line2D([], [], color=INK, lw=0, marker="X", ms=7, label="data"),
    ]
    figure.legend(handles=marks, loc="upper right", bbox_to_anchor=(0.99, 0.972), ncols=4, columnspacing=1.6, handlelength=1.4)


def _alignment(ax, film: Film) -> None:
    sol, data = film.sol, film.sol.problem.data
    t = np.linspace(0.0, film.aligned, 240)
    directions(ax, sol, t)
    marks = [(time, neuron) for time, neuron, _ in film.theory.crossings]
    w = np.stack([p.w for p in sol.at(t)])
    angle = np.rad2deg(np.unwrap(np.arctan2(w[..., 1], w[..., 0]), axis=0))
    there = [np.interp(time, t, angle[:, j]) for time, j in marks]
    ax.scatter([m[0] for m in marks], there, s=13, color=THEORY, zorder=4, lw=0)
    for sign, name in ((1, "$D_+$"), (-1, "$-D_-$")):
        d = np.sign(data.y[np.sign(data.y) == sign]) @ data.x[np.sign(data.y) == sign] * sign * sign
        d = d if sign > 0 else -d
        where = np.rad2deg(np.arctan2(*d[::-1]))
        ax.text(film.aligned * 1.01, where, name, color=PLUS if sign > 0 else MINUS, fontsize=9, va="center")
    ax.set(title="1   Alignment", xlabel="time", ylabel="direction of each neuron (degrees)", xlim=(0, film.aligned))
    ax.set_yticks([-180, -90, 0, 90, 180])


def _growth(ax, film: Film) -> None:
    sol, end = film.sol, min(film.end, film.windows[1][1] * 1.12)
    t = np.unique(np.concatenate([np.linspace(0, end, 160), *(np.linspace(*w, 60) for w in film.windows)]))
    t = t[t <= film.end]
    size = log_norms(sol.at(t))
    stays = size[-1] < -2.0
    for j in np.argsort(~stays):
        colour = FAINT if stays[j] else sign_colours(sol.sign[0])[j]
        ax.plot(t, size[:, j], color=colour, lw=0.9, alpha=0.35 if stays[j] else 0.8)
    ax.axhline(0, color=FAINT, lw=0.6)
    ax.set(title="2   Silent growth", xlabel="time", ylabel="log of each neuron's norm", xlim=(0, end))
    _thousands(ax)


def _staircase(ax, film: Film) -> None:
    sol, end = film.sol, min(film.end, film.windows[1][1] * 1.12)
    t = np.unique(np.concatenate([np.linspace(0, end, 60), *(np.linspace(*w, 200) for w in film.windows)]))
    t = t[t <= film.end]
    loss(ax, sol, t, lw=2.0)
    ax.set(title="3   Saddle to saddle", xlabel="time", ylabel="loss", xlim=(0, end), ylim=(-0.02, 0.56))
    for (lo, hi), box, colour in zip(film.windows, ((0.06, 0.1, 0.33, 0.34), (0.62, 0.56, 0.36, 0.38)), (PLUS, MINUS), strict=True):
        hi = min(hi, film.end)
        mid = 0.5 * (lo + hi)
        small = ax.inset_axes(box)
        inside = np.linspace(lo, hi, 200)
        small.plot(inside - mid, sol.loss_at(inside), color=INK, lw=1.6)
        dots = np.linspace(lo, hi, 17)
        small.plot(dots - mid, film.theory.loss(dots), "o", color=THEORY, ms=3.2)
        small.set_title(f"around t = {mid:,.1f}", fontsize=8, weight="normal", pad=3, loc="center", color=colour)
        small.tick_params(labelsize=6.5, length=2)
        small.set_xticks([-5, 0, 5] if hi - lo < 14 else [-8, 0, 8])
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
        function(ax, film.sol.problem.data, film.sol.at(t), x)
        ax.set_ylim(-1.55, 1.55)
        ax.set_title(title, fontsize=9.5, weight="normal", pad=6)
        ax.text(0.03, 0.95, f"t = {t:,.5g}" if t < 1e4 else f"t = {t:,.0f}", transform=ax.transAxes, fontsize=8.5, color=FAINT, va="top")
        if k:
            ax.set_yticklabels([])


def _five(figure, grid, five) -> None:
    ax = figure.add_subplot(grid[0])
    t, level = five.t[1:], five.loss[1:]
    ax.semilogx(t, level, color=INK)
    slides = five.events["slide"].t
    ax.plot(slides, np.interp(slides, t, level), "|", color=SLIDE, ms=9, alpha=0.8)
    ax.text(0.04, 0.09, f"|  {len(slides)} slides along a boundary", transform=ax.transAxes, fontsize=8.5, color=SLIDE)
    ax.set(xlabel="time", ylabel="loss", xlim=(1, five.t[-1]), ylim=(0, 1.08 * five.loss[0]))
    ax.set_title("Five points: data no theorem covers", fontsize=11, pad=6)
    x = np.linspace(-2.2, 2.7, 400)
    saddle, leaving = _moments(five)
    for k, (when, title) in enumerate(((saddle, "at its saddle"), (leaving, "leaving it"), (len(five.t) - 1, "limit"))):
        ax = figure.add_subplot(grid[k + 1])
        function(ax, five.problem.data, five.at(five.t[when]), x)
        ax.set_ylim(-1.75, 1.75)
        ax.set_title(title, fontsize=9.5, weight="normal", pad=6)
        ax.text(0.03, 0.95, f"t = {five.t[when]:,.5g}", transform=ax.transAxes, fontsize=8.5, color=FAINT, va="top")
        if k:
            ax.set_yticklabels([])


def _moments(five) -> tuple[int, int]:
    """Frames in the middle of the flattest stretch between the first fall and the last, and where half of that loss is gone."""
    t, level = five.t, five.loss
    inside = np.flatnonzero((level < 0.6 * level[0]) & (level > 0.05 * level[0]))
    grid = np.geomspace(t[inside[0]], t[inside[-1]], 200)
    slope = np.abs(np.gradient(np.interp(grid, t, level), np.log(grid)))
    saddle = int(np.searchsorted(t, grid[np.argmin(slope)]))
    return saddle, int(np.argmax(level < 0.5 * level[saddle]))
