"""Plots of a sweep: curves with quantile bands, scatter plots, heat maps; `picture` chooses among them.

Curves show the median over the seeds, a dark band for the middle half and a light one for
all; heat maps show the median. Failed points and undefined quantities are omitted.
"""

import json
import textwrap
from typing import Any

import numpy as np

from reluflow.plot.palette import FAINT, INK, MINUS, PAPER, PLUS, THEORY, style

LINES = (MINUS, PLUS, THEORY, INK, FAINT)
BANDS = ((0.0, 1.0, 0.12), (0.25, 0.75, 0.25))  # quantiles from, to, and how dark

# Axis labels; other names label themselves.
LABELS = {
    "init.log_scale": "log(1/scale) of the start",
    "init.width": "width",
    "data.delta": "angle δ of the data (μ = sin δ)",
    "data.mu": "separation μ of the data",
    "data.kappa": "κ of the data",
    "data.n": "number of data",
    "method.step": "step size of descent",
    "method.rtol": "relative tolerance",
    "solve.t1": "end time",
    "final.loss": "final loss",
    "final.log_loss": "log of the final loss",
    "final.squared_norm": "|θ|² at the end",
    "final.log_squared_norm": "log |θ|² at the end",
    "final.log_moved": "log of |θ − θ₀| / |θ₀|",
    "events.count": "events",
    "stats.steps": "steps",
    "time.half": "time to half the loss",
    "time.aligned": "alignment time",
    "phases.growth.0.half": "first saddle left at",
    "phases.growth.1.half": "second saddle left at",
    "phases.growth.2.half": "third saddle left at",
    "compare.gap": "largest gap between outputs",
    "compare.final_gap": "gap between outputs at the end",
    "log_loss": "log of the loss",
    "t": "time",
}
SIGNED = {"final.log_moved": ("lazy", "rich")}  # 0 is a border; labels below and above it
TURNED = ("init.log_scale",)  # drawn with the other sign


def label(name: str) -> str:
    """The label of an axis."""
    return LABELS.get(name, name)


def places(ds, name: str) -> np.ndarray:
    """Positions of a key's values on an axis."""
    values = np.asarray(ds[name].values)
    return -values if name in TURNED else values


def curve(ax, ds, name: str, x: str, *, colour: str = INK, text: str | None = None, bands=BANDS) -> None:
    """The median of `name` against the dimension (or the coordinate) `x`, with quantile bands over all the rest."""
    at, table = _table(ds, name, x)
    for low, high, dark in bands if table.shape[1] > 1 and len(at) else ():
        edges = np.nanquantile(table, [low, high], axis=1)
        ax.fill_between(at, *edges, color=colour, alpha=dark, lw=0)
    marks = {"marker": "o", "ms": 3.5} if len(at) <= 40 else {}
    ax.plot(at, np.nanmedian(table, axis=1) if len(at) else [], color=colour, label=text, **marks)


def _table(ds, name: str, x: str) -> tuple[np.ndarray, np.ndarray]:
    """Positions along x, increasing, and one row of values each; rows without finite values are omitted."""
    along = ds[x].dims[0]
    rest = [d for d in ds[name].dims if d != along]
    values = ds[name].transpose(along, *rest).values
    table, at = values.reshape(len(values), -1), places(ds, x)
    order = np.argsort(at, kind="stable")
    at, table = at[order], np.where(np.isfinite(table[order]), table[order], np.nan)
    some = np.any(np.isfinite(table), axis=1)
    return at[some], table[some]


def scatter(ax, ds, name: str, x: str, *, colour: str = INK, text: str | None = None) -> None:
    """One dot per point of a list, random or Latin design."""
    ax.scatter(places(ds, x), ds[name].values, s=14, color=colour, alpha=0.6, lw=0, label=text)


def heat(ax, ds, name: str, x: str, y: str, *, centre: float | None = None):
    """The median of `name` over all dimensions but x and y, as coloured cells; returns them for a colour bar.

    `centre` is a border, drawn dashed: white at the border, blue below, red above.
    """
    from matplotlib.colors import LinearSegmentedColormap, Normalize, TwoSlopeNorm

    rest = [d for d in ds[name].dims if d not in (x, y)]
    values = ds[name].where(np.isfinite(ds[name])).median(rest).transpose(y, x)
    values = values.assign_coords({x: places(ds, x), y: places(ds, y)}).sortby([x, y])
    grid = values.values
    low, high = float(np.nanmin(grid)), float(np.nanmax(grid))
    across, up = _axis(ax, "x", values[x].values, label(x)), _axis(ax, "y", values[y].values, label(y))
    bordered = centre is not None and low < centre < high
    norm = TwoSlopeNorm(float(centre or 0.0), low, high) if bordered else Normalize(low, high)
    ends = [MINUS, PAPER, PLUS] if bordered else [INK, MINUS, "#9fd0c8", "#f6e7a8"]
    colours = LinearSegmentedColormap.from_list(name, ends)
    cells = ax.pcolormesh(_edges(*across), _edges(*up), grid, cmap=colours, norm=norm)
    if bordered and min(grid.shape) > 1:
        ax.contour(across[0], up[0], grid, [centre], colors=INK, linewidths=1.4, linestyles="dashed")
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    return cells


def _axis(ax, way: str, values: np.ndarray, text: str) -> tuple[np.ndarray, bool]:
    """Sets one axis up; returns the centres of the cells and whether they are spaced by ratios. Texts are numbered."""
    getattr(ax, f"set_{way}label")(text)
    if values.dtype.kind not in "iuf":
        getattr(ax, f"set_{way}ticks")(range(len(values)), list(values))
        return np.arange(float(len(values))), False
    ratios = geometric(values)
    if ratios:
        getattr(ax, f"set_{way}scale")("log")
    most = 5 if not ratios and np.ptp(np.diff(values)) > 0 else 12 if values.dtype.kind in "iu" else 8
    if len(values) <= most:
        getattr(ax, f"set_{way}ticks")(values, [f"{v:g}" for v in values])
        getattr(ax, f"{way}axis").minorticks_off()
    return values.astype(float), ratios


def geometric(values) -> bool:
    """Whether a logarithmic axis suits the values: positive, over more than a factor 8, not evenly spaced."""
    values = np.unique(np.asarray(values, float))
    if len(values) < 3 or values[0] <= 0 or values[-1] < 8 * values[0]:
        return False
    return bool(np.ptp(np.diff(np.log(values))) < np.ptp(np.diff(values)) / np.mean(np.diff(values)))


def _edges(centres: np.ndarray, ratios: bool) -> np.ndarray:
    """Borders of cells halfway between their centres."""
    at = np.log(centres) if ratios else centres
    step = np.diff(at) if len(at) > 1 else np.ones(1)
    edges = np.r_[at[0] - step[0] / 2, at[:-1] + step / 2 if len(at) > 1 else [], at[-1] + step[-1] / 2]
    return np.exp(edges) if ratios else edges


# A picture that chooses -----------------------------------------------------------------------------------------------


def picture(ds, names=None, *, title: str = ""):
    """A figure of a sweep: a heat map where two keys besides the seeds vary, else curves; `names` default to the first.

    Trajectories are drawn over time. Names with the same axis share a panel. Keys beyond those of the axes and the
    lines get a panel for each of their values, so that bands are over the seeds alone.
    """
    from reluflow.plot.shown import Picture

    names = list(names or json.loads(ds.attrs["keep"])[:1])
    for name in names:
        if name not in ds or ds[name].dtype.kind != "f":
            numbers = [str(k) for k, v in ds.data_vars.items() if v.dtype.kind == "f" and k != "seconds"]
            raise ValueError(f"`{name}` is not a number kept by the sweep: choose from {', '.join(numbers)}.")
    keys = [d for d in ds["failed"].dims if not d.endswith(".seed")]
    draw, shown = _way(ds, names, keys)
    panels = _panels(ds, names, keys[shown:], shown)
    rows = -(-len(panels) // ACROSS)
    across = min(len(panels), ACROSS)
    size = (7.2, 4.4) if len(panels) == 1 else (3.6 * across, 3.1 * rows)
    with style():
        fig = Picture(figsize=size, layout="constrained")
        grid = fig.subplots(rows, across, squeeze=False, sharey=len(names) == 1 and draw is not _cells)
        for ax, (heading, part, some) in zip(grid.flat, panels):
            draw(ax, part, some, keys[:shown])
            if heading:
                ax.set_title(heading, fontsize=9)
        for ax in grid.flat[len(panels) :]:
            ax.set_visible(False)
        if title and len(panels) == 1:
            grid[0, 0].set_title("\n".join(textwrap.wrap(title, 66)))
        elif title:
            fig.suptitle(title, x=0.01, ha="left", weight="bold")
    return fig


ACROSS, PANELS = 4, 16


def _way(ds, names: list[str], keys: list[str]):
    """The function that draws a panel, and how many of the keys it shows."""
    if "frame" in ds[names[0]].dims:
        return _paths, 1
    if keys == ["point"]:
        return _dots, 1
    if len(keys) >= 2 and len(names) == 1:
        return _cells, 2
    return _curves, 1 if len(names) > 1 else 2


def _panels(ds, names: list[str], keys: list[str], shown: int) -> list[tuple[str, Any, list[str]]]:
    """(heading, data, names) of every panel: one for each combination of the values of `keys`."""
    sizes = [ds.sizes[k] for k in keys]
    count = int(np.prod(sizes))
    if count > PANELS:
        what = " x ".join(f"{n} {k}" for k, n in zip(keys, sizes))
        raise ValueError(
            f"A picture has at most {PANELS} panels, got {count} ({what}): select some values with `ds.sel(...)`, or "
            f"sweep over at most {shown} keys besides the seeds."
        )
    found = []
    for at in np.ndindex(*sizes):
        part = ds.isel({k: [i] for k, i in zip(keys, at)})
        heading = ", ".join(f"{k} = {_short(ds[k].values[i])}" for k, i in zip(keys, at))
        found.append((heading, part, names))
    return found


def _short(value) -> str:
    return f"{value:g}" if isinstance(value, int | float | np.number) else str(value)


def _cells(ax, ds, names: list[str], keys: list[str]) -> None:
    """A heat map over two keys, with its colour bar."""
    centre = 0.0 if names[0] in SIGNED else None
    cells = heat(ax, ds, names[0], *keys, centre=centre)
    ax.figure.colorbar(cells, ax=ax, label=label(names[0])).outline.set_visible(False)
    if centre is not None:
        _named_sides(ax, cells.get_array(), SIGNED[names[0]])


def _colours(count: int) -> list:
    """One colour for each line: those of the palette, or a ramp where there are more."""
    from matplotlib.colors import LinearSegmentedColormap

    if count <= len(LINES):
        return list(LINES[:count])
    return list(LinearSegmentedColormap.from_list("values", [MINUS, THEORY, PLUS])(np.linspace(0.0, 1.0, count)))


def _named_sides(ax, grid, sides: tuple[str, str]) -> None:
    """Labels the regions below and above the border in two corners of the map."""
    corners = {(0, 0): (0.04, 0.05), (0, -1): (0.96, 0.05), (-1, 0): (0.04, 0.95), (-1, -1): (0.96, 0.95)}
    for text, find in zip(sides, (min, max)):
        x, y = corners[find(corners, key=lambda at: grid[at])]
        ax.text(x, y, text, transform=ax.transAxes, ha="left" if x < 0.5 else "right",
                va="bottom" if y < 0.5 else "top", weight="bold", color=PAPER)  # fmt: skip


def _curves(ax, ds, names: list[str], keys: list[str]) -> None:
    """Each name against the first key; a second key gives one curve for each of its values."""
    x = keys[0] if keys else ds["failed"].dims[0]
    if len(keys) > 1:
        values = ds[keys[1]].values
        for k, (value, colour) in enumerate(zip(values, _colours(len(values)))):
            one = ds.isel({keys[1]: [k]})
            curve(ax, one, names[0], x, colour=colour, text=f"{label(keys[1])} {_short(value)}")
    else:
        for name, colour in zip(names, _colours(len(names))):
            curve(ax, ds, name, x, colour=colour, text=label(name) if len(names) > 1 else None)
    _axis(ax, "x", places(ds, x), label(x))
    _upright(ax, names)
    for line in ax.lines:
        if x.endswith(".seed"):
            line.set_linestyle("none")  # seeds have no order
        else:
            _with_slope(ax, line)
    if any(not str(line.get_label()).startswith("_") for line in ax.lines):
        ax.legend()


def _with_slope(ax, line) -> None:
    """Adds the least-squares slope to a curve's label if the curve is a straight line to within 2% of its height."""
    x, y = (np.asarray(v, float) for v in line.get_data())
    ratios = ax.get_xscale() == "log", ax.get_yscale() == "log"
    x, y = (np.log(v) if r else v for v, r in zip((x, y), ratios))
    if len(x) < 4 or np.ptp(y) == 0:
        return
    slope, height = np.polyfit(x, y, 1)
    if np.max(np.abs(y - slope * x - height)) > 0.02 * np.ptp(y):
        return
    what = f"{slope:+.2f} for each factor e" if ratios == (True, False) else f"slope {slope:.4g}"
    name = str(line.get_label())
    line.set_label(what if name.startswith("_") else f"{name} ({what})")


def _paths(ax, ds, names: list[str], keys: list[str]) -> None:
    """Trajectories over time: one band for each value of the first key."""
    if "log_t" not in ds.coords:
        raise ValueError("Trajectories with different times cannot be drawn together: set `solve.t1`.")
    late = float(ds["log_t"].max()) > 30
    x = "log_t" if late else "t"
    values = ds[keys[0]].values if keys else [None]
    for k, (value, colour) in enumerate(zip(values, _colours(len(values)))):
        one = ds if value is None else ds.isel({keys[0]: [k]})
        one = one if set(one[names[0]].dims) <= {"frame", *ds["failed"].dims} else one.isel(datum=0)
        text = None if value is None else f"{label(keys[0])} {_short(value)}"
        curve(ax, one, names[0], x, colour=colour, text=text)
    ax.set_xlabel("log of time" if late else "time")
    _upright(ax, names)
    if keys:
        ax.legend()


def _dots(ax, ds, names: list[str], keys: list[str]) -> None:
    """One dot per point, over the first key that is a number."""
    x = next(k for k, c in ds.coords.items() if c.dims == ("point",) and k != "point" and c.dtype.kind in "iuf")
    for name, colour in zip(names, _colours(len(names))):
        scatter(ax, ds, name, str(x), colour=colour, text=label(name))
    _axis(ax, "x", places(ds, str(x)), label(str(x)))
    _upright(ax, names)
    if len(names) > 1:
        ax.legend()


def _upright(ax, names: list[str]) -> None:
    """The vertical axis: logarithmic over two decades of positive numbers, or a factor 8 where the other one is."""
    seen = np.concatenate([np.asarray(line.get_ydata(), float) for line in ax.lines]) if ax.lines else np.zeros(0)
    seen = seen[np.isfinite(seen)]
    far = 8 if ax.get_xscale() == "log" else 100
    if len(seen) and seen.min() > 0 and seen.max() > far * seen.min():
        ax.set_yscale("log")
    else:
        ax.ticklabel_format(axis="y", useOffset=False)
    ax.set_ylabel(label(names[0]) if len(names) == 1 else "time" if all(_is_time(n) for n in names) else "")


def _is_time(name: str) -> bool:
    return name.startswith(("time.", "phases.")) and not name.endswith(("count", "loss"))
