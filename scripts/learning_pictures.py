"""The pictures of docs/learning.md, each from a run: `scripts/doc_pages.py --pictures` draws them all."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import reluflow as rf
from reluflow.plot import look
from reluflow.plot.run import angles, log_norms


def problem(log_scale: float) -> rf.Problem:
    """The five points of Boursier et al., 60 neurons: what most of the page is about."""
    return rf.Problem(rf.data.five_points(), rf.init.balanced(width=60, dim=2, log_scale=log_scale, seed=0))


def turning(path: Path) -> None:
    """Neurons turn and choose a direction while the outputs are 0."""
    sol, limit = rf.solve(problem(-1000.0), t1=60.0), rf.limit(problem(-1000.0))
    t = np.linspace(0.0, 60.0, 400)
    states = sol.at(t)
    alive = sol.bits_at(60.0).any(axis=1) | sol.sliding_at(60.0).any(axis=1)
    figure = look.figure(look.PAGE, 2.6)
    left, right = figure.subplots(1, 2)
    for j, angle in enumerate(angles(states).T):
        colour = look.sign_colours(sol.sign[0])[j] if alive[j] else look.FAINT
        left.plot(t, angle, color=colour, lw=0.8, alpha=0.8)
    left.set(xlabel="time", ylabel="angle of $w_j$ (degrees)")
    look.letter(left, "a", "directions")
    for j, size in enumerate(log_norms(states).T):
        colour = look.sign_colours(sol.sign[0])[j] if alive[j] else look.FAINT
        right.plot(t, size + 1000.0, color=colour, lw=0.8, alpha=0.8)
    rate = float(np.max(limit.early.rate))
    right.plot(t, rate * t, color=look.THEORY, lw=1.6, zorder=5)
    look.beside(right, 38.0, rate * 38.0, "slope |D|, the largest", look.THEORY, dx=-104, dy=8)
    right.set(xlabel="time", ylabel="$\\log |w_j|$ + 1000")
    look.letter(right, "b", "sizes")
    look.write_png(figure, path, dpi=140, colours=128)


def saddles(path: Path) -> None:
    """Growth in straight lines of the logarithm, and a fall of the loss whenever a cluster arrives."""
    sol, limit = rf.solve(problem(-1000.0)), rf.limit(problem(-1000.0))
    end = 24_500.0
    t = np.unique(np.concatenate([np.linspace(0.0, end, 500), sol.t[sol.t < end]]))
    figure = look.figure(look.PAGE, 3.6)
    top, bottom = figure.subplots(2, 1, sharex=True)
    rf.plot.norms(top, sol, t, lw=0.7, alpha=0.6)
    top.set(ylabel="$\\log |w_j|$", ylim=(-2100.0, 100.0))
    look.letter(top, "a", "sizes")
    rf.plot.loss(bottom, sol, t)
    for saddle in limit.saddles:
        leaves = saddle.slope * 1000.0 + saddle.offset
        bottom.axvline(leaves, color=look.THEORY, lw=1.2, zorder=0)
        bottom.axhline(saddle.loss, color=look.FAINT, lw=0.6, ls=":", zorder=0)
    look.beside(bottom, 13_000.0, 0.0318, "a saddle: blue neurons grow in silence", dy=7)
    bottom.set(xlabel="time", ylabel="loss", ylim=(-0.004, 0.095))
    look.letter(bottom, "b", "loss, and when theory leaves each saddle (gold)")
    look.write_png(figure, path, dpi=140, colours=128)


def scales(path: Path) -> None:
    """The smaller the start, the more the loss is a staircase in t / log(1/scale)."""
    figure = look.figure(look.COLUMN * 1.5, 2.5)
    ax = figure.subplots()
    chosen = (-2.0, -5.0, -20.0, -100.0, -1000.0, -100000.0)
    for colour, log_scale in zip(look.sequence(len(chosen)), chosen, strict=True):
        sol = rf.solve(problem(log_scale))
        s = np.unique(np.concatenate([np.linspace(0.0, 45.0, 900), sol.t[:: max(1, len(sol.t) // 600)] / -log_scale]))
        s = s[s <= 45.0]
        label = f"$e^{{{log_scale:.0f}}}$"
        ax.plot(s, sol.loss_at(np.minimum(s * -log_scale, sol.t[-1])), color=colour, label=label)
    ax.set(xlabel="time / log(1/scale)", ylabel="loss", xlim=(0.0, 45.0))
    ax.legend(title="scale", title_fontsize=7.5, ncol=2)
    look.write_png(figure, path, dpi=140, colours=128)


def regimes(path: Path) -> None:
    """The same data from a small and a large start: features learnt, or not."""
    figure = look.figure(look.PAGE, 2.4)
    grid = np.linspace(-2.2, 2.7, 500)
    for ax, letter, log_scale, title in zip(
        figure.subplots(1, 2), "ab", (-20.0, 0.0), ("scale $e^{-20}$: a few kinks", "scale 1: as many kinks as neurons")
    ):
        sol = rf.solve(problem(log_scale))
        rf.plot.function(ax, sol.problem.data, sol.final, grid)
        ax.set(xlabel="x", ylabel="f(x)", ylim=(-3.0, 3.0))
        look.letter(ax, letter, title)
    look.write_png(figure, path, dpi=140, colours=128)


def late(path: Path) -> None:
    """Classification never ends: margins grow like log t and the stable rank settles, to t = 1e100."""
    data = rf.data.toy_plane()
    start = rf.init.balanced(width=50, dim=2, log_scale=-20.0, seed=0)
    sol = rf.solve(rf.Problem(data, start, loss="exponential"), log_t1=230.0)
    log_t = np.linspace(0.0, 230.0, 400)
    t10 = log_t / np.log(10.0)
    figure = look.figure(look.PAGE, 2.3)
    axes = figure.subplots(1, 3)
    axes[0].plot(t10, sol.log_loss_at(log_t=log_t) / np.log(10.0), color=look.INK)
    axes[0].set(ylabel="log10 loss", xlabel="log10 time")
    look.letter(axes[0], "a", "loss")
    margin = rf.observe.normalised_margin(sol, log_t=log_t)
    axes[1].plot(t10, margin, color=look.INK)
    best = rf.bias.max_margin(data).margin
    axes[1].axhline(best, color=look.THEORY)
    axes[1].set(ylabel="margin / $|\\theta|^2$", xlabel="log10 time", ylim=(0.0, 1.15 * best))
    look.beside(axes[1], 40.0, best, "the largest there is", look.THEORY, dy=7)
    look.letter(axes[1], "b", "normalised margin")
    axes[2].plot(t10, rf.observe.stable_rank(sol, log_t=log_t), color=look.INK)
    axes[2].set(ylabel="stable rank of W", xlabel="log10 time", ylim=(0.9, 2.2))
    look.letter(axes[2], "c", "rank")
    look.write_png(figure, path, dpi=140, colours=128)


def draw(folder: Path) -> None:
    """All of them, as learning_<name>.png."""
    with look.setting():
        for picture in (turning, saddles, scales, regimes, late):
            picture(folder / f"learning_{picture.__name__}.png")
