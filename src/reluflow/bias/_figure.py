"""The figure of a bias report, from its numbers alone."""

import numpy as np

from reluflow.bias._input import outputs
from reluflow.bias.kernel import probe
from reluflow.plot.palette import DATA, FAINT, INK, MINUS, PLUS, THEORY, style


def draw(report):
    from reluflow.plot.shown import Picture

    with style():
        fig = Picture(figsize=(9.6, 6.6), layout="constrained")
        loss, size, function, early = fig.subplots(2, 2).ravel()
        _loss(loss, report)
        _size(size, report)
        _function(function, report)
        _early(early, report)
    return fig


def _clock(sol):
    """Times for an axis: t, or log10 t where t is huge."""
    if sol.log_t[-1] > np.log(1e6):
        return np.log10(np.e) * np.maximum(sol.log_t, 0.0), "log10 t", lambda log_t: max(0.0, log_t * np.log10(np.e))
    return sol.t, "t", lambda log_t: float(np.exp(log_t))


def _loss(ax, report) -> None:
    t, label, place = _clock(report.sol)
    if label == "t":
        ax.plot(t, report.sol.loss, color=INK)
    else:
        ax.plot(t, report.sol.log_loss * np.log10(np.e), color=INK)
    for s in report.saddles:
        at, level = place(s.log_t), s.loss if label == "t" else np.log10(max(s.loss, 1e-300))
        ax.plot([at], [level], "o", ms=5, color=THEORY, zorder=3)
        ax.annotate(s.kind, (at, level), xytext=(4, 6), textcoords="offset points", fontsize=8)
    ax.set(xlabel=label, ylabel="loss" if label == "t" else "log10 loss", title="Loss and saddles")


def _size(ax, report) -> None:
    sol = report.sol
    t, label, _ = _clock(sol)
    if report.max_margin is not None and report.max_margin.path is not None:
        path = report.max_margin.path
        ax.plot(np.maximum(0.0, path.log_t * np.log10(np.e)), path.margin, color=INK, label="the run")
        ax.axhline(report.max_margin.margin, color=THEORY, label="optimum")
        ax.set(xlabel="log10 t", ylabel="min y f / |theta|^2", title="Normalised margin")
    else:
        with np.errstate(under="ignore", over="ignore"):
            parts = np.linalg.norm(sol.w, axis=2) ** 2 + sol.a**2
            ax.plot(t, np.sum(parts * np.exp(2.0 * sol.log_scale), axis=1), color=INK, label="the run")
        if (m := report.min_norm) is not None:
            ax.axhline(m.value, color=THEORY, label="minimum norm" if m.exact else "minimum norm, at most")
            if not m.exact:
                ax.axhspan(m.lower, m.value, color=THEORY, alpha=0.15, lw=0)
        ax.set(xlabel=label, ylabel="|theta|^2", title="Squared norm")
    ax.legend()


def _function(ax, report) -> None:
    data = report.sol.problem.data
    best = report.min_norm if report.min_norm is not None else report.max_margin
    x = probe(data)
    line = data.d == 2 and np.ptp(data.x[:, 1]) == 0 and data.x[0, 1] != 0
    f = outputs(report.sol.final, x, report.sol.problem.activation.slope)
    if line:
        ax.plot(x[:, 0], f, color=INK, lw=2, label="trained")
        if best is not None:
            ax.plot(x[:, 0], best(x), color=THEORY, ls="--", label="minimum norm" if report.min_norm else "max margin")
        if report.kernel is not None:
            ax.plot(x[:, 0], report.kernel(x), color=FAINT, ls=":", label="kernel")
        ax.scatter(data.x[:, 0], data.y, s=50, c=DATA, marker="X", edgecolors="white", zorder=4)
        ax.set(xlabel="x", ylabel="f", title="Functions")
    elif best is not None:
        scale = 1.0 if report.min_norm else report.max_margin.squared_norm / report.squared_norm
        ax.scatter(best(x), f * scale, s=8, color=INK, lw=0, label="random inputs")
        ends = [float(np.min(best(x))), float(np.max(best(x)))]
        ax.plot(ends, ends, color=THEORY, label="equal")
        ax.set(xlabel="convex optimum", ylabel="trained", title="Functions at random inputs")
    else:
        ax.set(title="Functions")
        ax.text(0.5, 0.5, "no optimum to compare with", ha="center", transform=ax.transAxes, color=FAINT)
        return
    ax.legend()


def _early(ax, report) -> None:
    ax.set(title="Early directions", xlabel="growth rate")
    if report.extremal is None:
        ax.text(0.5, 0.5, "not available", ha="center", transform=ax.transAxes, color=FAINT)
        return
    shown = [d for d in report.extremal.attracting if d.neurons or d.basin > 0.01][:12]
    colours = [PLUS if d.sign > 0 else MINUS for d in shown]
    ax.barh(range(len(shown)), [d.rate for d in shown], color=colours, height=0.6)
    ax.set_yticks(range(len(shown)), [f"{len(d.neurons)} neurons" for d in shown])
    ax.invert_yaxis()
    ax.axvline(0.0, color=FAINT, lw=0.6)
