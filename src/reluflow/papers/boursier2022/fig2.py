"""Figure 2 of [BPF22]: two orthogonal points on a line, the network at four moments of training."""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.papers.boursier2022 import _line
from reluflow.papers.boursier2022._line import STEP
from reluflow.plot import look

SETTINGS = {
    "quick": dict(scale=1e-6, width=60, seed=0, last=20_000, panels=[0, 4000, 8000, 15_000]),
    "full": dict(scale=1e-6, width=60, seed=0, last=20_000, panels=[0, 4000, 8000, 15_000]),
}
SEEN = ("start", "aligned, still 0", "first point fitted", "both fitted, two kinks")
STATED = {"paper": ("2L at iteration", "|theta|^2 at the end", "F1 norm")}


def compute(*, scale, width, seed, last, panels):
    data = rf.data.two_points()
    ds, sols = _line.run(data, width=width, scale=scale, seed=seed, panels=panels, last=last)
    init = sols["flow"].problem.init
    ds["active"] = ("neuron", _alive(sols["flow"]))
    ds.attrs["log_scale"] = float(init.log_scale)
    return ds


def _alive(sol) -> np.ndarray:
    """1 for neurons that end with a size that counts."""
    log_size = sol.log_norm[-1]
    return (log_size > np.log(1e-3)).astype(int)


def facts(ds) -> list[Claim]:
    r"""Sizes in 2 L: 1 at the start, 1/2 with one point fitted, 0; kinks of the two clusters exactly on the data.

    The limit is h = relu(0.4 x + 0.2) - relu(0.8 - 0.4 x), |theta|^2 = 2 (1/sqrt 5 + 1/sqrt 1.25). Slack: at iteration
    4000 outputs are e^{2|D|t} larger than at the start, still small: 1 %; what is left of the slower cluster at
    15000, e^{-2|D-|(t - t_-)} of it, is below 1 % too.
    """
    # Descent's exponents are log(1 + step |D|)/step: late by step |D| t/2 at most, and a logistic of rate 2|D| moves by
    # at most |D|/2 of its height in a unit of time.
    behind = 0.25 * STEP * (5 / 4) * (STEP * float(ds.panel[-1])) * float(np.abs(ds.function).max())
    loss = lambda k: float(ds.loss.sel(way="descent", iteration=int(ds.panel[k])))
    y = ds.y.values
    end = ds.sel(way="descent").isel(panel=-1)
    big = ds.active.values == 1
    kinks, heights = end.kink.values[big], end.height.values[big]
    plus, minus = kinks[heights > 0], kinks[heights < 0]
    limit = np.maximum(0.4 * ds.grid + 0.2, 0.0) - np.maximum(0.8 - 0.4 * ds.grid, 0.0)
    apart = float(np.max(np.abs(end.function - limit)))
    # The slower cluster is a share sqrt(2 * 2L) short of its limit, relu(0.8 - 0.4 x).
    left = 1.1 * np.sqrt(2 * loss(3)) * float(np.max(np.maximum(0.8 - 0.4 * ds.grid, 0.0)))
    both = float(np.max(np.abs(ds.function.sel(way="descent") - ds.function.sel(way="flow"))))
    least = 2 * (1 / np.sqrt(5) + 1 / np.sqrt(1.25))
    norms = ds.squared_norm.sel(way="flow")
    return [
        Claim("2L at the start", loss(0), "=", float(np.mean(y**2)), slack=1e-6),
        Claim(f"2L at iteration {int(ds.panel[1])}: aligned, nothing fitted", loss(1), "=", 1.0, slack=0.01),
        Claim(f"2L at iteration {int(ds.panel[2])}: y = +1 fitted", loss(2), "=", 0.5, slack=0.01),
        Claim(f"2L at iteration {int(ds.panel[3])}: both fitted", loss(3), "=", 0.0, slack=0.01),
        Claim("kinks of the + cluster, distance from x = -0.5", np.max(np.abs(plus + 0.5)), "=", 0.0, slack=0.01),
        Claim("kinks of the - cluster, distance from x = 2", np.max(np.abs(minus - 2.0)), "=", 0.0, slack=0.01),
        Claim("function at the last panel, distance from the limit", apart, "=", 0.0, slack=left),
        Claim("|theta|^2 at the end of the flow, least possible", float(norms), "=", least, slack=0.01),
        Claim("F1 norm |theta|^2/2, below the linear interpolator's", float(norms) / 2, "<", 2 * np.hypot(0.8, 0.6)),
        Claim("descent and flow, largest distance of the functions", both, "<=", 0.0, slack=behind),
    ]


def draw(ds):
    fig = look.figure(look.PAGE, 2.05)
    axes = fig.subplots(1, ds.sizes["panel"], sharey=True)
    for k, ax in enumerate(axes):
        one = ds.sel(way="descent").isel(panel=k)
        _line.state(ax, ds, one.function, one.kink, one.height, _line.span(ds))
        look.letter(ax, "abcdefgh"[k], SEEN[k] if ds.sizes["panel"] == len(SEEN) else "")
        look.corner(ax, f"iteration {int(ds.panel[k]):,}", "upper left")
        ax.set_xlabel("x")
    axes[0].set_ylabel("h(x), and s|w| of each neuron")
    return fig


def animate(ds):
    return _line.animate(ds, "descent")


def caption(ds) -> str:
    return f"""Two data (crosses), the function of a network of {ds.sizes["neuron"]} neurons (line), and one dot per
    neuron at its kink, as high as its norm times the sign of its output weight (red +, blue -). Neurons first turn
    (nothing is fitted while they do), then one cluster fits the right point, then the other the left one: two kinks
    remain, both exactly on the data. Trained as the authors did: descent with step 1e-3 on the mean square 2L (their
    text says L), which is one unit of flow time in 500 iterations; the flow draws the same pictures. The draw of the
    initial weights is not the authors' (their code sets no seed)."""
