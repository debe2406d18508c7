"""What the five figures draw alike: means over runs with bands of three standard deviations, and logarithmic ranks."""

import numpy as np

from reluflow.plot import look


def band(ax, x, values, colour, least: float = -np.inf, share: float | None = None, **line) -> None:
    """The mean over `run` and +-3 standard deviations (of the sample, n - 1), cut at `least` (no rank is below 1) and,
    on a logarithmic axis, at `share` of the mean."""
    mean = values.mean("run")
    spread = 3.0 * values.std("run", ddof=1) if values.sizes["run"] > 1 else 0.0 * mean
    low = np.maximum(mean - spread, least)
    if share is not None:
        low = np.maximum(low, share * mean)
    ax.fill_between(x, low, mean + spread, color=colour, alpha=0.22, lw=0)
    ax.plot(x, mean, color=colour, **line)


def log_axis(ax, limits, ticks) -> None:
    """A logarithmic y axis with plain numbers at `ticks`."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ax.set_yscale("log")
    ax.set_ylim(limits)
    ax.yaxis.set_major_locator(FixedLocator(list(ticks)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ax.yaxis.set_minor_locator(NullLocator())


def power(value: float) -> str:
    """1e-05 as 10⁻⁵, 5e-05 as 5·10⁻⁵; numbers of moderate size as they are."""
    if value >= 0.02:
        return f"{value:.2g}"
    head, _, tail = f"{value:.0e}".partition("e")
    raised = str(int(tail)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if head == "1" else f"{head}·10{raised}"


def ramp(count: int) -> list[str]:
    """Colours from small (gold) to large (ink), ever darker: told apart by every common kind of vision."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    whole = LinearSegmentedColormap.from_list("small to large", [look.THEORY, look.PLUS, look.PURPLE, look.INK])
    return [to_hex(c) for c in whole(np.linspace(0.0, 1.0, count))]


def key(part, head: str, names, colours, tail: str = "") -> None:
    """One line that names the colours, in a strip of its own, and says `tail` at its end."""
    ax = part.subplots()
    look.blank(ax)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.text(0.0, 0.5, head, va="center", fontsize=8)
    for k, (name, colour) in enumerate(zip(names, colours, strict=True)):
        x = 0.06 + 0.12 * k
        ax.plot([x, x + 0.03], [0.5, 0.5], color=colour, lw=2)
        ax.text(x + 0.038, 0.5, name, va="center", fontsize=8)
    ax.text(1.0, 0.5, tail, va="center", ha="right", fontsize=8, color=look.FAINT)
