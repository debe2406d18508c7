"""Figures 1, 2, 3, 18 and 19 of [MMV24], which are drawings: the same from computed fields and runs in the plane."""

from typing import Any

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.papers.min2024 import _plane
from reluflow.plot import look

# Data of the panels: rows and labels. The last two differ in the sign of one inner product alone.
PULL = (((0.9, 0.45), (0.35, -0.95), (-0.95, 0.3)), (1, -1, -1))
CROSS = (((-0.5, 0.866), (1.0, 0.0)), (1, -1))
SLIDE = (((0.5, 0.866), (1.0, 0.0)), (1, -1))
SETTINGS = {"quick": dict(log_scale=-60.0, t1=12.0), "full": dict(log_scale=-60.0, t1=12.0)}
STATED = {
    "paper": (
        "Figure 1: the pull",
        "Figure 1: the neuron",
        "Figure 2",
        "Figure 3",
        "Figure 18: the field",
        "Figure 19: the field",
        "Figure 19: the neuron",
    )
}
FRAMES = 121


def compute(*, log_scale, t1):
    import xarray as xr

    toy = rf.data.toy_plane()
    found: dict[str, Any] = {"x": (("datum", "axis"), toy.x), "y": ("datum", toy.y)}
    # Three starts of V+ inside S- of the toy data, on both sides of -x- and near it.
    centre = -np.sum(toy.x[toy.y < 0], axis=0)
    angle = np.arctan2(-centre[1], -centre[0])
    paths, ends = [], []
    for turn in (-0.35, 0.35):
        w = _follow(toy, (np.cos(angle + turn), np.sin(angle + turn)), log_scale, t1)[0]
        paths.append(w)
        ends.append(_cone(toy, w[-1]))
    found["path"] = (("start", "frame", "axis"), np.array(paths))
    found["end"] = ("start", ends)
    found["begin"] = ("start", [_cone(toy, p[0]) for p in paths])
    # At every boundary of the toy, on both sides of it and at many places of it: <y_i x_i, x_a>.
    found["push"] = (("side",), _pushes(toy))
    for name, (rows, labels) in (("pull", PULL), ("cross", CROSS), ("slide", SLIDE)):
        data = rf.Data(np.array(rows), np.array(labels, float))
        start = (0.25, 0.97) if name == "cross" else (0.45, 0.89) if name == "slide" else (0.98, -0.2)
        w, sol = _follow(data, start, log_scale, t1 if name != "slide" else 3.0)
        found[f"{name}_x"] = ((f"{name}_datum", "axis"), data.x)
        found[f"{name}_y"] = (f"{name}_datum", data.y)
        found[f"{name}_path"] = (("frame", "axis"), w)
        found[f"{name}_slides"] = int(np.sum(sol.events.kind == "slide"))
        if name != "pull":
            found[f"{name}_sides"] = (("side",), [_field(data.x, data.y, (s, 1.0)) @ data.x[1] for s in (1e-3, -1e-3)])
    return xr.Dataset(found, {"side": [1, -1]})


def _follow(data, start, log_scale, t1):
    """The direction of one V+ neuron from `start`, at even times, and its run."""
    init = rf.Params(np.array([start]), np.array([np.hypot(*start)]), log_scale=log_scale)
    problem = rf.Problem(data, init, loss="exponential", reduction="sum")
    sol = solve(problem, rf.Flow(rtol=1e-8), t1=t1, save=rf.Save(times=tuple(np.linspace(0.0, t1, FRAMES))))
    w = sol.w[:, 0]
    return w / np.linalg.norm(w, axis=1, keepdims=True), sol


def _field(x, y, w) -> np.ndarray:
    """x_a(w), the signed sum of the active data."""
    return (y * (x @ np.asarray(w, float) > 0)) @ x


def _cone(data, w) -> int:
    """1 S+, 2 S-, 3 dead, 0 none of them; a neuron that came to rest on a boundary is not active there."""
    on = data.x @ w > 1e-7
    return 3 if not on.any() else 1 if np.all(on == (data.y > 0)) else 2 if np.all(on == (data.y < 0)) else 0


def _pushes(data) -> list[float]:
    """The least <y_i x_i, x_a(w)> next to the boundary of each datum, on its active and on its other side."""
    least = [np.inf, np.inf]
    for x, y in zip(data.x, data.y, strict=True):
        for along in ((-x[1], x[0]), (x[1], -x[0])):
            for k, side in enumerate((1e-6, -1e-6)):
                a = _field(data.x, data.y, np.array(along) + side * x)
                if np.any(a):  # in the dead cone nothing pushes
                    least[k] = min(least[k], float(y * (x @ a)))
    return least


def facts(ds) -> list[Claim]:
    """What the drawings are drawn for. Cones: 1 S+, 2 S-, 3 dead."""
    w = ds.pull_path.values[0]
    a = _field(ds.pull_x.values, ds.pull_y.values, w)
    turned = ds.pull_path.values[1] - w
    (active_d, other_d), (active_e, other_e) = ds.slide_sides.values, ds.cross_sides.values
    return [
        Claim("Figure 1: the pull is x1 - x2, largest difference", np.abs(a - _two(ds)).max(), "<=", 0.0),
        Claim("Figure 1: the neuron turns towards x_a, <turn, x_a>", float(turned @ a), ">", 0.0),
        Claim("Figure 2: V+ neurons that start in S-", int(np.sum(ds.begin == 2)), "=", ds.sizes["start"]),
        Claim("Figure 2: of these, end in S+", int(np.sum(ds.end == 1)), ">=", 1),
        Claim("Figure 2: and dead", int(np.sum(ds.end == 3)), ">=", 1),
        Claim("Figure 3: least <y_i x_i, x_a> on the active side of a boundary", float(ds.push[0]), ">", 0.0),
        Claim("Figure 3: and on the other side", float(ds.push[1]), ">", 0.0),
        Claim("Figure 18: the field points to the boundary from the active side", active_d, "<", 0.0),
        Claim("Figure 18: the field points to the boundary from the other side", other_d, ">", 0.0),
        Claim("Figure 18: so the neuron slides (Filippov), slides", int(ds.slide_slides), ">=", 1),
        Claim("Figure 19: the field points the same way on both sides, product", active_e * other_e, ">", 0.0),
        Claim("Figure 19: the neuron crosses and does not slide", int(ds.cross_slides), "=", 0),
        Claim("Figure 19: the neuron crosses, <w, x> at the end", float(ds.cross_path.values[-1, 0]), "<", 0.0),
    ]


def _two(ds) -> np.ndarray:
    return ds.pull_x.values[0] - ds.pull_x.values[1]


def draw(ds):
    fig = look.figure(look.PAGE, 2.0)
    axes = fig.subplots(1, 5)
    ax = axes[0]
    w = ds.pull_path.values
    half = np.linspace(-np.pi / 2, np.pi / 2, 60) + np.arctan2(w[0, 1], w[0, 0])
    ax.fill(1.5 * np.cos(half), 1.5 * np.sin(half), color="#ece9e1", lw=0, zorder=0)
    _arrows(ax, ds.pull_x.values, ds.pull_y.values)
    _arrow(ax, 0.7 * _two(ds), look.GREEN, "$x_a$")
    _arrow(ax, w[0], look.INK, "$w_j$")
    ax.plot(*w.T, color=look.INK, lw=1.0, ls=":")
    look.letter(ax, "a", "Fig. 1: the pull")
    ax = axes[1]
    _plane.cones(ax, ds, 1.25)
    for text in (t for t in ax.texts if t.get_text() == "S−"):  # a neuron starts where it would stand
        z = complex(*text.get_position()) * 0.55 * np.exp(0.5j)
        text.set_position((z.real, z.imag))
    _arrows(ax, ds.x.values, ds.y.values, names=False)
    for k, colour in enumerate((look.INK, look.PURPLE)):
        path = (1.0 + 0.08 * k) * ds.path.values[k]
        ax.plot(*path.T, color=colour, lw=1.3)
        ax.plot(*path[0], "o", color=colour, ms=3.5)
        ax.plot(*path[-1], ">", color=colour, ms=4.5)
    look.letter(ax, "b", "Fig. 2: two ways")
    _boundary(axes[2], ds.cross_x.values, ds.cross_y.values, None)
    look.letter(axes[2], "c", "Fig. 3: inward")
    _boundary(axes[3], ds.slide_x.values, ds.slide_y.values, ds.slide_path.values)
    look.letter(axes[3], "d", "Fig. 18: stuck")
    _boundary(axes[4], ds.cross_x.values, ds.cross_y.values, ds.cross_path.values)
    look.letter(axes[4], "e", "Fig. 19: crosses")
    for ax in axes:
        ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3) if ax in axes[:2] else (-0.7, 1.9), aspect="equal")
        look.blank(ax)
    return fig


def _arrow(ax, tip, colour, name="") -> None:
    ax.annotate("", tip, (0, 0), arrowprops=dict(arrowstyle="-|>", color=colour, lw=1.2, shrinkA=0, shrinkB=0))
    if name:
        x, y = 1.17 * np.asarray(tip)
        ax.text(x, y, name, color=colour if colour != look.FAINT else look.INK, fontsize=7, ha="center", va="center")


def _arrows(ax, x, y, names: bool = True) -> None:
    """Data as arrows, red for +1 and blue for -1."""
    for k, (row, label) in enumerate(zip(x, y, strict=True)):
        _arrow(ax, row, look.PLUS if label > 0 else look.MINUS, f"$x_{k + 1}$" if names else "")


def _boundary(ax, x, y, path) -> None:
    """The field x_a(w) on both sides of the boundary of the second datum, a vertical line, and a neuron's path."""
    ax.axvline(0.0, color=look.FAINT, lw=1.0, ls="--")
    u, v = (grid.ravel() for grid in np.meshgrid([-1.05, -0.65, -0.25, 0.25, 0.65, 1.05], [0.35, 0.8, 1.25, 1.7]))
    a = np.array([_field(x, y, at) for at in zip(u, v, strict=True)])
    a = 0.3 * a / np.maximum(np.linalg.norm(a, axis=1, keepdims=True), 1e-9)
    more = dict(angles="xy", scale_units="xy", scale=1.0, color=look.FAINT, width=0.012, headwidth=4, pivot="mid")
    ax.quiver(u, v, *a.T, **more)
    _arrows(ax, 0.8 * x, y, names=False)
    over = dict(fc=look.PAPER, ec="none", pad=0.4)
    places = (0.8 * x[0] + [0.27 * np.sign(x[0, 0]), -0.1], 0.45 * x[1] - [0, 0.22])
    for k, (u0, v0) in enumerate(places):
        colour = look.PLUS if y[k] > 0 else look.MINUS
        ax.text(u0, v0, f"$x_{k + 1}$", fontsize=7, color=colour, ha="center", bbox=over)
    if path is not None:
        ax.plot(*path.T, color=look.INK, lw=1.8)
        ax.plot(*path[0], "o", color=look.INK, ms=4)
        ax.plot(*path[-1], "s", color=look.INK, ms=4)


def caption(ds) -> str:
    return """The paper's five drawings, from computed fields and runs of single neurons with v > 0 at scale e^-60; red
    data are positive, blue negative. a: a neuron is pulled by the signed sum x_a of the data it is active on (shaded
    half), here x1 - x2, and turns towards it (dots). b: two neurons that start in S- (blue) leave it; one loses all
    data and ends dead (grey), the other gains a positive datum and ends in S+ (red). c: under Assumption 1 the field
    (arrows) at the boundary of a negative datum (dashed; x2) points away from it on both sides. d: where x1 and x2 are
    positively correlated it points to the boundary from both sides: no Caratheodory solution leaves it, and the flow
    slides along it (Filippov), its direction staying where it is (square). e: under the assumption a neuron crosses at
    once."""
