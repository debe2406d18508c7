"""Plots of one run: loss, norms and directions of neurons, function; or all of them."""

from typing import Any

import numpy as np

from reluflow._checks import one_output
from reluflow.plot.palette import DATA, FAINT, INK, MINUS, PAPER, PLUS, class_colours, sign_colours, style

FROM = np.log(1e-2)  # log t at which axes over log t begin


def loss(ax, sol, t=None, **line) -> None:
    """The loss at times `t`, or at the run's own frames."""
    t, height = (sol.t, sol.loss_at(log_t=sol.log_t)) if t is None else (np.asarray(t, float), sol.loss_at(t))
    ax.plot(t, height, **{"color": INK, **line})


def norms(ax, sol, t=None, **line) -> None:
    """log |w_j| of every neuron, coloured by the sign of a_j, or by the largest entry of a_j at the end."""
    t, size = (sol.t, sol.log_norm) if t is None else (np.asarray(t, float), log_norms(sol.at(np.asarray(t, float))))
    _neurons(ax, t, size, neuron_colours(sol), **line)


def directions(ax, sol, t=None, **line) -> None:
    """The angle of w_j in degrees, for data in the plane; angles are continuous across 180 degrees."""
    if sol.problem.data.d != 2:
        raise ValueError(
            f"`directions` draws angles in the plane, got data in {sol.problem.data.d} dimensions: "
            "`rf.observe.alignment` measures directions in any."
        )
    t, states = (sol.t, sol.at(log_t=sol.log_t)) if t is None else (np.asarray(t, float), sol.at(t))
    angle = angles(states)
    _neurons(ax, t, angle, neuron_colours(sol), **line)


def neuron_colours(sol) -> np.ndarray:
    """A colour for each neuron: of the sign of a_j at the start, or with several outputs of its largest at the end."""
    if sol.problem.outputs == 1:
        return sign_colours(sol.sign[0])
    return class_colours(np.argmax(sol.end.a[0], axis=1))


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
    one_output(params, "`function`", "`learned` draws all outputs of a run")
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


def learned(ax, sol, t=None, *, log_t=None) -> None:
    """What the network computes: the function of data on a line, the decision regions of data in the plane.

    At the end of the run, or at time t (or e^log_t). On a line, several times are drawn from pale to dark. In the plane
    colours are the sign and the size of f where labels are +1 and -1, and the decision boundary f = 0 is black; for
    other labels they are f itself, by a colour bar, and points have the colour of their label. With several outputs
    each has a colour: of its line, or of the region where it is the largest, paler where the lead is small.
    """
    data = sol.problem.data
    if line_of(data) is not None:
        _function_over_time(ax, sol, t, log_t)
    elif plane_of(data) is not None:
        _regions(ax, sol, t, log_t)
    else:
        raise ValueError(
            f"`learned` draws data on a line or in the plane, with or without a constant column, got {data.d} columns: "
            "`sol.predict(x)` gives the numbers."
        )


def line_of(data) -> np.ndarray | None:
    """The coordinate of data on a line, with or without a constant column; None for other data."""
    return data.x[:, 0] if data.d == 1 or (data.d == 2 and _constant(data.x[:, 1])) else None


def plane_of(data) -> np.ndarray | None:
    """The two coordinates of data in the plane, with or without a constant column; None for other data."""
    if line_of(data) is not None:
        return None
    return data.x[:, :2] if data.d == 2 or (data.d == 3 and _constant(data.x[:, 2])) else None


def _constant(column: np.ndarray) -> bool:
    return bool(np.all(column == column[0])) and column[0] != 0.0


def _span(values: np.ndarray, share: float = 0.25) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    room = share * (high - low) or 1.0
    return low - room, high + room


def _function_over_time(ax, sol, t, log_t) -> None:
    x = line_of(sol.problem.data)
    assert x is not None
    grid = np.linspace(*_span(x), 400)
    names = _times(sol, t, log_t)
    ax.axhline(0, color=FAINT, lw=0.6)
    if sol.problem.outputs > 1:
        _outputs_over_time(ax, sol, grid, sol.predict(grid, t, log_t=log_t))
        return
    f = np.atleast_2d(sol.predict(grid, t, log_t=log_t))
    for k, row in enumerate(f):
        dark = 1.0 if len(f) == 1 else 0.25 + 0.75 * k / (len(f) - 1)
        ax.plot(grid, row, color=INK, lw=2, alpha=dark, label=names[k])
    ax.scatter(x, sol.problem.data.y, s=70, c=DATA, marker="X", edgecolors="white", lw=1.0, zorder=4)
    ax.set(xlim=(grid[0], grid[-1]), xlabel=_axis(sol.problem.data, 0, "x"), ylabel="f(x)")
    if len(f) > 1:
        ax.legend()


def _outputs_over_time(ax, sol, grid, f) -> None:
    """Every output in its colour, later times darker; labels as points, classes as points on the axis."""
    data, f = sol.problem.data, f.reshape(-1, *f.shape[-2:])
    x, colours = line_of(data), class_colours(np.arange(sol.problem.outputs))
    assert x is not None
    for k, rows in enumerate(f):
        for c, colour in enumerate(colours):
            label = f"output {c}" if k == len(f) - 1 else None
            dark = 0.25 + 0.75 * (k + 1) / len(f)
            ax.plot(grid, rows[:, c], color=colour, lw=1.8, alpha=dark if len(f) > 1 else 1.0, label=label)
    marks = dict(s=55, marker="X", edgecolors="white", lw=0.9, zorder=4)
    if data.outputs == 1:
        ax.scatter(x, np.zeros(len(x)), c=class_colours(data.y), **marks)
    else:
        for y, colour in zip(data.y.T, colours):
            ax.scatter(x, y, c=colour, **marks)
    ax.set(xlim=(grid[0], grid[-1]), xlabel=_axis(data, 0, "x"), ylabel="f(x)")
    ax.legend()


def _class_regions(ax, across, up, f) -> None:
    """The largest output at each place, its colour strong where it leads by far, and the boundaries between."""
    from matplotlib.colors import to_rgb

    best = np.sort(f, axis=-1)
    lead = best[..., -1] - best[..., -2]
    own = np.argmax(f, axis=-1)
    strong = 0.25 + 0.4 * np.clip(lead / (np.quantile(lead, 0.9) or 1.0), 0.0, 1.0)[..., None]
    picture = strong * np.array([to_rgb(c) for c in class_colours(own.ravel())]).reshape(*own.shape, 3)
    picture += (1.0 - strong) * np.array(to_rgb(PAPER))
    # Where no output is larger than another, nothing is decided.
    picture[lead == 0.0] = to_rgb(PAPER)
    extent = (across[0], across[-1], up[0], up[-1])
    ax.imshow(picture, origin="lower", extent=extent, interpolation="bilinear", aspect=_aspect(across, up), zorder=0)
    for c in np.unique(own):
        ahead = f[..., c] - np.max(np.delete(f, c, axis=-1), axis=-1)
        if ahead.min() < 0.0 < ahead.max():
            ax.contour(across, up, ahead, [0.0], colors=INK, linewidths=1.2)


def _regions(ax, sol, t, log_t) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    data = sol.problem.data
    xy = plane_of(data)
    assert xy is not None
    if np.ndim(t if log_t is None else log_t) > 0:
        raise ValueError("`learned` draws one time in the plane, got several: give each its own axes.")
    across, up = np.linspace(*_span(xy[:, 0]), 241), np.linspace(*_span(xy[:, 1]), 241)
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    limits = dict(xlim=(across[0], across[-1]), ylim=(up[0], up[-1]), aspect=_aspect(across, up))
    limits |= dict(xlabel=_axis(data, 0, "x1"), ylabel=_axis(data, 1, "x2"))
    if sol.problem.outputs > 1:
        _class_regions(ax, across, up, sol.predict(grid, t, log_t=log_t).reshape(len(up), len(across), -1))
        own = np.argmax(sol.problem.targets, axis=1)
        ax.scatter(*xy.T, s=34, c=class_colours(own), edgecolors=INK, lw=0.7, zorder=4)
        ax.set(**limits)
        return
    f = sol.predict(grid, t, log_t=log_t).reshape(len(up), len(across))
    if not _classified(sol.problem):
        _heights(ax, across, up, f, xy, data.y)
        ax.set(**limits)
        return
    top = float(np.max(np.abs(f))) or 1.0
    most = float(np.max(np.abs(sol.predict(data.x, t, log_t=log_t)))) or top
    colours = LinearSegmentedColormap.from_list("signed", [MINUS, PAPER, PLUS])
    ax.pcolormesh(across, up, f, cmap=colours, vmin=-1.5 * most, vmax=1.5 * most, alpha=0.6, shading="gouraud")
    if f.min() < 0.0 < f.max():
        ax.contour(across, up, f, [0.0], colors=INK, linewidths=1.4)
    ax.scatter(*xy.T, s=34, c=sign_colours(data.y), edgecolors=INK, lw=0.7, zorder=4)
    ax.set(**limits)


def _heights(ax, across, up, f, xy, y) -> None:
    """f in colours between the smallest and the largest label, with level lines and a colour bar, and the data."""
    low, high = float(np.min(y)), float(np.max(y))
    room = 0.15 * (high - low) or 1.0
    # Not the colours of signs: where f = 0 is of no importance.
    scale: dict[str, Any] = dict(cmap="cividis", vmin=low - room, vmax=high + room)
    shown = ax.pcolormesh(across, up, f, shading="gouraud", **scale)
    levels = np.linspace(low, high, 7)
    if low < high and f.max() > levels[0] and f.min() < levels[-1]:
        ax.contour(across, up, f, levels, colors=PAPER, linewidths=0.6, alpha=0.7)
    ax.scatter(*xy.T, s=34, c=y, edgecolors=PAPER, lw=1.1, zorder=4, **scale)
    bar = ax.figure.colorbar(shown, ax=ax, extend="both", label="f(x)")
    bar.outline.set_visible(False)


def _classified(problem) -> bool:
    """Whether the sign of f is what is learned: labels are +1 and -1."""
    return bool(np.all(np.abs(problem.data.y) == 1.0))


def _axis(data, column: int, otherwise: str) -> str:
    """The name of a column on an axis."""
    return otherwise if data.columns is None else data.columns[column]


def _aspect(across: np.ndarray, up: np.ndarray) -> str:
    """Equal units on both axes, unless the columns are of such different sizes that a strip would be left."""
    ratio = float((across[-1] - across[0]) / (up[-1] - up[0]))
    return "equal" if 0.25 <= ratio <= 4.0 else "auto"


def _times(sol, t, log_t) -> list[str]:
    values = np.atleast_1d([sol.t_end] if t is None and log_t is None else t if log_t is None else log_t)
    return [f"t = {v:.4g}" if log_t is None else f"t = e^{v:.4g}" for v in values]


def _on_a_line(data) -> bool:
    """Whether rows are (x, 1)."""
    return data.d == 2 and bool(np.all(data.x[:, 1] == 1.0))


def _over_log(sol) -> bool:
    """Whether time is drawn as its logarithm: for losses with a tail, and where 95% of the fall of the loss is over
    within 5% of the run."""
    if sol.problem.tailed or not np.isfinite(sol.t[-1]):
        return True
    fall = sol.loss[0] - sol.loss
    over = np.flatnonzero(fall >= 0.95 * np.max(fall))
    return bool(np.max(fall) > 0 and sol.t[over[0]] < 0.05 * sol.t[-1])


def _from(sol) -> float:
    """log t at which an axis over log t begins: a hundredth of the time of 5% of the fall of the loss."""
    fall = sol.loss[0] - sol.loss
    some = np.flatnonzero(fall >= 0.05 * np.max(fall))
    return float(sol.log_t[max(some[0], 1)]) - np.log(100.0) if len(some) else FROM


def overview(sol, title: str = ""):
    """A figure of a run with all applicable panels.

    Time is drawn as its logarithm for losses with an exponential tail, and where the loss falls early in a long run.
    """
    from matplotlib.ticker import MultipleLocator

    from reluflow.plot.shown import Picture

    data, colours = sol.problem.data, neuron_colours(sol)
    several = sol.problem.outputs > 1
    on_a_line = _on_a_line(data) and not several
    flat = plane_of(data) is not None or (line_of(data) is not None and not on_a_line)
    count = 2 + (data.d == 2) + on_a_line + flat
    growths = sol.phases()["growth"]
    late = _over_log(sol)
    shown = sol.log_t >= (FROM if sol.problem.tailed else _from(sol))
    late = late and int(np.count_nonzero(shown)) > 1
    shown = shown if late else np.full(len(sol.t), True)
    clock = "tau" if type(sol.method).__name__ == "DecayLimit" else "t"
    x, when = (sol.log_t / np.log(10), f"log10 {clock}") if late else (sol.t, clock)
    with style():
        fig = Picture(figsize=(3.3 * count, 3.1), layout="constrained")
        axes = iter(fig.subplots(1, count))
        timed = [next(axes), next(axes)]
        height = sol.log_loss / np.log(10) if late else sol.loss
        timed[0].plot(x[shown], height[shown], color=INK)
        # A loss that stays, as under `rf.DecayLimit`, moves by rounding only.
        if np.all(np.isfinite(sol.log_loss)) and np.ptp(sol.log_loss) <= 1e-9:
            timed[0].set_ylim(*((height[0] - 1.0, height[0] + 1.0) if late else (0.0, 1.5 * height[0])))
        timed[0].set(title="Loss", ylabel="log10 of the loss" if late else None)
        _neurons(timed[1], x[shown], sol.log_norm[shown], colours)
        timed[1].set(title="Neurons", ylabel="log |w|")
        for colour, label in _legend(sol):
            timed[1].plot([], [], color=colour, label=label)
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
            _final_function(next(axes), sol)
        if flat:
            _final_plane(next(axes), sol)
        if title:
            fig.suptitle(title, x=0.01, ha="left", weight="bold")
    return fig


def _final_function(ax, sol) -> None:
    data = sol.problem.data
    low, high = data.x[:, 0].min(), data.x[:, 0].max()
    room = 0.2 * (high - low) or 1.0
    function(ax, data, sol.final, np.linspace(low - room, high + room, 400), slope=sol.problem.activation.slope)
    ax.set(title="Function at the end", xlabel=f"{_axis(data, 0, 'x')}; dots: kinks, as far from 0 as |w|")


def _final_plane(ax, sol) -> None:
    learned(ax, sol)
    title = "Function at the end"
    if line_of(sol.problem.data) is None:
        several = sol.problem.outputs > 1
        title = "Classes at the end" if several else "Sign of f at the end" if _classified(sol.problem) else title
    ax.set_title(title)


def _legend(sol) -> list[tuple[str, str]]:
    """Colours of neurons and what they mean."""
    if sol.problem.outputs == 1:
        signs = ((PLUS, ">", np.any(sol.sign[0] > 0)), (MINUS, "<", np.any(sol.sign[0] < 0)))
        return [(colour, f"$a_j {sign} 0$") for colour, sign, has in signs if has]
    names = sol.problem.data.classes or range(sol.problem.outputs)
    kind = "class" if sol.problem.loss == "softmax" or sol.problem.data.classes else "output"
    return [(str(colour), f"{kind} {name}") for colour, name in zip(class_colours(np.arange(len(names))), names)][:10]


def _neurons(ax, x, heights, colours, **line) -> None:
    for j, colour in enumerate(colours):
        ax.plot(x, heights[:, j], **{"color": colour, "lw": 0.8, "alpha": 0.7, **line})
