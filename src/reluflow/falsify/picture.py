"""The picture of a finding: the run in question, and the search that led to it."""

import textwrap

import numpy as np

from reluflow.falsify.judgement import HOLDS
from reluflow.plot.palette import FAINT, INK, MINUS, PLUS, THEORY, sign_colours, style
from reluflow.plot.run import _on_a_line, function


def picture(finding):
    """Two or three panels: the function (or the data), norms and loss over time, the best so far by run."""
    from matplotlib.figure import Figure

    with style():
        subject = finding.subject
        a_run = hasattr(subject, "log_norm")
        fig = Figure(figsize=(11.5 if a_run else 8.0, 3.6), layout="constrained")
        axes = iter(fig.subplots(1, 3 if a_run else 2))
        _problem(next(axes), subject)
        if a_run:
            _time(next(axes), subject)
        _search(next(axes), finding)
        fig.suptitle("\n".join(textwrap.wrap(_title(finding), 120)), x=0.01, ha="left", weight="bold", fontsize=11)
    return fig


def _title(finding) -> str:
    return finding.sentences()[0]


def _problem(ax, subject) -> None:
    """The data, with the function learned where they lie on a line, else with the neurons' directions at the start."""
    data = getattr(getattr(subject, "problem", subject), "data", subject)
    if not hasattr(data, "x"):
        _single(ax, subject)
        return
    if _on_a_line(data) and hasattr(subject, "final"):
        low, high = data.x[:, 0].min(), data.x[:, 0].max()
        room = 0.2 * (high - low) or 1.0
        grid = np.linspace(low - room, high + room, 400)
        function(ax, data, subject.final, grid, slope=subject.problem.activation.slope)
        ax.set(title="Function at the end", xlabel="x; dots: kinks, as far from 0 as |w|")
        return
    if data.d == 2:
        ax.axhline(0, color=FAINT, lw=0.6)
        ax.axvline(0, color=FAINT, lw=0.6)
        ax.scatter(*data.x.T, c=sign_colours(data.y), marker="X", s=70, edgecolors="white", zorder=3)
        init = getattr(getattr(subject, "problem", subject), "init", None)
        if init is not None:
            reach = np.max(np.linalg.norm(data.x, axis=1))
            for w, colour in zip(init.w, sign_colours(init.a)):
                tip = reach * w / max(np.linalg.norm(w), 1e-300)
                ax.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "->", "color": colour, "lw": 1.4})
        room = 1.15 * np.max(np.linalg.norm(data.x, axis=1))
        ax.set(title="Data" if init is None else "Data and initial directions", aspect="equal")
        ax.set(xlim=(-room, room), ylim=(-room, room))
        return
    if data.d == 1:
        ax.axhline(0, color=FAINT, lw=0.6)
        ax.scatter(data.x[:, 0], data.y, c=sign_colours(data.y), marker="X", s=70, edgecolors="white", zorder=3)
        ax.set(title="Data", xlabel="x", ylabel="y")
        return
    cosines = data.x @ data.x.T
    size = np.sqrt(np.diag(cosines))
    shown = ax.imshow(cosines / np.outer(size, size), vmin=-1, vmax=1, cmap="RdBu_r")
    ax.figure.colorbar(shown, ax=ax, shrink=0.8)
    ax.set(title="Cosines of the inputs", xticks=range(data.n), yticks=range(data.n))
    ax.set_xlabel("labels " + ", ".join(f"{v:.3g}" for v in data.y[:8]))


def _single(ax, run) -> None:
    angle = 2.0 * np.arctan(np.exp(np.minimum(run.y, 700.0)))
    ax.plot(run.norm * np.cos(np.pi - angle), run.norm * np.sin(np.pi - angle), color=INK)
    ax.plot(run.norm[0] * np.cos(np.pi - angle[0]), run.norm[0] * np.sin(np.pi - angle[0]), "o", color=MINUS, ms=5)
    ax.plot(run.problem.target, 0.0, "X", color=PLUS, ms=9)
    ax.set(title="w in the plane of w*", xlabel="dot: start; cross: w*", aspect="equal")


def _time(ax, subject) -> None:
    """Norms of the neurons over time, and the loss on a second axis."""
    late = subject.log_t[-1] > 12 or not np.isfinite(subject.t[-1])
    shown = subject.log_t > (-4.6 if late else -np.inf)
    x = subject.log_t[shown] / np.log(10) if late else subject.t[shown]
    size = np.atleast_2d(subject.log_norm.T).T[shown]
    colours = sign_colours(subject.sign[0]) if hasattr(subject, "sign") else [INK]
    for j in range(size.shape[1]):
        ax.plot(x, size[:, j], color=colours[j % len(colours)], lw=1.2, alpha=0.8)
    ax.set(title="Norms" if not hasattr(subject, "log_loss") else "Norms and loss")
    signs = "; red a > 0, blue a < 0" if hasattr(subject, "sign") else ""
    ax.set(xlabel=("log10 t" if late else "t") + signs, ylabel="log |w_j|")
    if hasattr(subject, "log_loss"):
        other = ax.twinx()
        loss = subject.log_loss[shown] / np.log(10) if late else subject.loss[shown]
        other.plot(x, loss, color=THEORY, lw=1.6, ls="--")
        other.set_ylabel("log10 of the loss (dashed)" if late else "loss (dashed)", color=THEORY)
        other.spines["right"].set_visible(True)


def _search(ax, finding) -> None:
    """The excess of the worst claim, for the best run so far; violated above 0."""
    rows = [(run, value) for run, tier, value in finding.history.trace if tier >= HOLDS]
    ax.axhline(0.0, color=FAINT, lw=1.0)
    if rows:
        run, value = np.array(rows, float).T
        ends = np.append(run, finding.history.runs)
        ax.step(ends, np.append(value, value[-1]), where="post", color=INK)
        ax.plot(run[-1], value[-1], "o", color=PLUS if value[-1] > 0 else MINUS, ms=5)
    ax.set(title="Search", xlabel="runs", ylabel="excess of the best so far")
    ax.set_xlim(left=0)
    ax.text(0.02, 0.0, "violated above", transform=ax.get_yaxis_transform(), va="bottom", fontsize=8, color=FAINT)
