"""Style of the papers' figures: column and page sizes, sparse axes, labels next to their lines."""

from contextlib import contextmanager

import numpy as np

from reluflow.plot.palette import DATA, FAINT, INK, MINUS, PAPER, PLUS, THEORY, sign_colours, style  # noqa: F401

COLUMN, PAGE = 3.4, 7.0  # inches
DPI = 200
PURPLE = "#7a5195"  # a third group, distinguishable from red and blue with common colour-vision deficiencies
GREEN = "#2a9d8f"
LINES = (MINUS, PLUS, THEORY, PURPLE, GREEN, INK, FAINT)

__all__ = [
    *("COLUMN", "DATA", "DPI", "FAINT", "GREEN", "INK", "LINES", "MINUS", "PAGE", "PAPER", "PLUS", "PURPLE", "THEORY"),
    *(
        "beside",
        "blank",
        "corner",
        "figure",
        "freeze",
        "iterations",
        "letter",
        "sequence",
        "setting",
        "sign_colours",
        "signed",
    ),
    *("stamp", "style", "write_png"),
]


@contextmanager
def setting():
    """The project's style at the sizes of a printed figure."""
    import matplotlib as mpl

    small = {
        "font.size": 8,
        "axes.titlesize": 8.5,
        "axes.titleweight": "normal",
        "axes.titlepad": 5,
        "axes.labelsize": 8,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "legend.fontsize": 7.5,
        "lines.linewidth": 1.3,
        "pdf.fonttype": 42,
        "figure.constrained_layout.use": True,
    }
    with style(), mpl.rc_context(small):
        yield


def figure(width: float = PAGE, height: float = 2.4):
    """An empty figure of that many inches, with its own canvas."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from reluflow.plot.shown import Picture

    made = Picture(
        figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.04, h_pad=0.04, wspace=0.03, hspace=0.03)
    )
    FigureCanvasAgg(made)
    return made


def letter(ax, text: str, title: str = "") -> None:
    """A panel's letter in bold, and its title."""
    ax.set_title(f"$\\bf{{{text}}}$  {title}" if title else f"$\\bf{{{text}}}$", loc="left")


def corner(ax, text: str, where: str = "lower right", colour: str = INK, size: float = 7) -> None:
    """A few words in a corner of the axes."""
    v, h = where.split()
    x, y = {"left": 0.03, "right": 0.97, "centre": 0.5}[h], {"lower": 0.04, "upper": 0.96, "middle": 0.5}[v]
    ax.text(
        x,
        y,
        text,
        transform=ax.transAxes,
        color=colour,
        fontsize=size,
        ha={"centre": "center"}.get(h, h),
        va={"lower": "bottom", "upper": "top", "middle": "center"}[v],
    )


def beside(ax, x, y, text: str, colour: str = INK, **more) -> None:
    """A label at a point of the axes' coordinates, shifted by `dx`, `dy` points: for instance the name of a line."""
    dx, dy = more.pop("dx", 3), more.pop("dy", 0)
    ax.annotate(
        text,
        (x, y),
        xytext=(dx, dy),
        textcoords="offset points",
        **{"color": colour, "fontsize": 7.5, "va": "center", "annotation_clip": False, **more},
    )


def iterations(axis, unit: str = "iteration") -> None:
    """Counts along an axis as 0, 5k, 10k; `unit` is its label."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    short = lambda v, _: f"{v / 1000:g}k" if abs(v) >= 1000 else f"{v:g}"
    axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(short))
    axis.set_label_text(unit)


def blank(ax) -> None:
    """No ticks and no frame."""
    ax.set_xticks([])
    ax.set_yticks([])
    for side in ax.spines.values():
        side.set_visible(False)


def signed(name: str = "signed"):
    """A colour map from minus (blue) over paper to plus (red)."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(name, [MINUS, PAPER, PLUS])


def sequence(count: int) -> list:
    """Colours from early (pale) to late (dark)."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    ramp = LinearSegmentedColormap.from_list("time", ["#c9d6df", MINUS, INK])
    return [to_hex(c) for c in ramp(np.linspace(0.0, 1.0, count))]


def stamp(figure, note: str) -> None:
    """A line below the figure: what is reduced compared with the paper."""
    if note:
        figure.text(0.995, -0.012, note, ha="right", va="top", fontsize=6, color=FAINT)


def freeze(figure) -> None:
    """Computes the layout once, so that an animation does not repeat it for every frame."""
    for _ in range(4):  # ticks depend on the size of the axes, which depends on their labels
        figure.draw_without_rendering()
    figure.set_layout_engine("none")


def save(figure, path, **more) -> None:
    """Saves a figure to any supported file type, cropped, in the style it was made in."""
    with setting():
        figure.savefig(path, bbox_inches="tight", pad_inches=0.06, **more)


def write_png(figure, path, dpi: int = DPI, colours: int | None = None) -> None:
    """Saves a cropped PNG; with `colours`, reduced to that many, which makes it smaller."""
    save(figure, path, dpi=dpi)
    if colours:
        from PIL import Image

        with Image.open(path) as image:
            flat = image.convert("RGB").quantize(colours, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        flat.save(path, optimize=True)
