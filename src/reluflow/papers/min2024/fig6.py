"""Figure 6 of [MMV24]: a toy in the plane; neurons align in their cones, then grow, and the loss falls twice."""

import numpy as np

import reluflow as rf
from reluflow import observe
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.papers.min2024 import _plane
from reluflow.papers.min2024._plane import STEP
from reluflow.plot import look

PANELS = [0, 10_000, 40_000]
SETTINGS = {
    "quick": dict(width=50, sigma=1e-6, seed=0, seeds=30, last=40_000, panels=PANELS),
    "full": dict(width=50, sigma=1e-6, seed=0, seeds=30, last=40_000, panels=PANELS),
}
SEEN = ("start", "aligned", "trained")
COUNTED = 6000  # the iteration at which the handbook counts neurons in cones
STATED = {
    "paper": ("aligned: neurons alive", "loss then", "stable rank at the end"),
    "handbook": (
        "aligned: cosine, median",
        "first fall",
        "iterations between",
        "second fall",
        "in S+",
        "in S-",
        "dead, mean",
        "anywhere else",
    ),
}


def compute(*, width, sigma, seed, seeds, last, panels):
    data = rf.data.toy_plane()
    ds = _plane.run(data, width=width, sigma=sigma, seed=seed, panels=panels, last=last)
    counts, cosines = [], []
    times = np.array([COUNTED, panels[1]]) * _plane.STEP
    for k in range(seeds):
        start = _plane.problem(data, width, sigma, k)
        done = solve(start, rf.Descent(step=_plane.STEP), t1=times[-1], save=rf.Save(times=tuple(times), frames=2))
        kinds = _plane.cone(data, done.w)
        own = kinds == np.where(done.a > 0, 1, 2)
        counts.append([*(int(np.sum(own[0] & (kinds[0] == c))) for c in (1, 2)), int(np.sum(kinds[0] == 3))])
        cosines.append(np.where(own[1], observe.alignment(done).values[1], np.nan))
    ds["counts"] = (("run", "kind"), np.array(counts))
    ds["cosine"] = (("run", "neuron"), np.array(cosines))
    exact = solve(_plane.problem(data, width, sigma, seed), rf.Flow(), t1=times[1], save=rf.Save(times=(times[1],)))
    ds["flow_cosine"] = ("neuron", observe.alignment(exact).values[-1])
    return ds


def facts(ds) -> list[Claim]:
    r"""By the end of alignment (before the loss falls) every living neuron is in its cone and well aligned; then the
    loss falls twice, well apart; the stable rank ends at most 2. Numbers are the handbook's, of 30 runs.

    Slack. Counts are sums of `width` draws. A class takes off when V e^{2dt} is O(1), d = |x+|/n or |x-|/n and V a sum
    of squares of some 18 normal numbers: log V has deviation sqrt(2/18), the iteration sqrt(2/18)/(2 d step).
    The handbook's least cosine, 0.9996, is no bound for a draw: one neuron has tan = sqrt2 e^{-dt} |N'/N|, N and N'
    normal, which exceeds any level in 1/level of the draws. Of the minimum over all of them we ask what the exact flow
    gives from the same start (descent's exponent is short by step d^2 t/2); 0.9996 of the median neuron of all runs.
    """
    aligned, end = (ds.sel(iteration=int(k)) for k in ds.panel.values[1:3])
    alive = aligned.cone.values != 3
    good = np.where(aligned.sign > 0, 1, 2)
    wrong = int(np.sum(alive & (aligned.cone.values != good)))
    cos = np.where(alive, aligned.aligned.values, 1.0)
    least = int(np.argmin(cos))
    time, pull = float(ds.panel[1]) * STEP, float(np.linalg.norm(ds.x, axis=1).sum() / ds.sizes["datum"])
    behind = 2 * (1 - cos[least]) * STEP * pull**2 * time
    loss, count, runs = ds.loss.values, ds.iteration.values, ds.sizes["run"]
    when = lambda level: float(count[int(np.argmax(loss < level))])
    spread = [3 * np.sqrt(2 / 18 * (1 + 1 / 30)) / (2 * _rate(ds, s) * STEP) + float(count[1]) for s in (1, -1)]
    flat = (loss > 0.4) & (loss < 0.6)
    mean = ds.counts.mean("run").values
    other = ds.sizes["neuron"] - mean.sum()
    # Standard deviations of a sum of 50 draws, at most 3.6, and of a rare count, over both sets of runs.
    slack, rare = (3 * v * np.sqrt(1 / runs + 1 / 30) for v in (3.6, np.sqrt(0.4)))
    return [
        Claim("aligned: neurons alive and not in their own cone", wrong, "=", 0),
        Claim(
            "aligned: least cosine of a living neuron, as in the exact flow",
            cos[least],
            "=",
            float(ds.flow_cosine[least]),
            slack=behind,
            at=least,
        ),
        Claim(f"aligned: cosine, median of the living neurons of {runs} runs", float(ds.cosine.median()), ">=", 0.9996),
        Claim("loss then: no fall yet", float(aligned.loss), ">=", 0.9),
        Claim("first fall: loss below 0.9 at iteration", when(0.9), "=", 11_800, slack=spread[0]),
        Claim("iterations between 0.4 and 0.6, the plateau", float(np.sum(np.diff(count)[flat[1:]])), ">=", 4000),
        Claim("second fall: loss below 0.1 at iteration", when(0.1), "=", 24_500, slack=spread[1]),
        Claim("stable rank at the end", float(end.stable_rank), "<=", 2.0),
        Claim(f"in S+ by {COUNTED}, mean of {runs} runs", mean[0], "=", 18.9, slack=slack),
        Claim("in S-, mean", mean[1], "=", 18.3, slack=slack),
        Claim("dead, mean", mean[2], "=", 12.4, slack=slack),
        Claim("anywhere else, mean", other, "=", 0.4, slack=rare),
    ]


def _rate(ds, side: int) -> float:
    """|x+|/n or |x-|/n."""
    return float(np.linalg.norm(ds.x.values[side * ds.y.values > 0].sum(axis=0)) / ds.sizes["datum"])


def draw(ds):
    fig, ax = _plane.panels(ds, SEEN)
    ax.plot(ds.iteration, np.minimum(ds.stable_rank, 2.0) / 2, color=look.THEORY, lw=1.0)
    look.beside(
        ax,
        float(ds.iteration[-1]),
        float(ds.stable_rank[-1]) / 2,
        "stable\nrank / 2",
        look.THEORY,
        dx=-2,
        dy=11,
        ha="right",
        fontsize=6.5,
    )
    return fig


def caption(ds) -> str:
    return f"""Data of two classes in the plane (red plus, blue cross), {ds.sizes["neuron"]} neurons (dots; rays show
    directions; red v > 0, blue v < 0) and the cones S+, S- and dead. Neurons start tiny and point everywhere (a),
    turn into their cones and align with the class sums before anything is learnt (b), then grow, and the loss falls
    twice, once for each class (c, d). Descent with step 2e-3, mean exponential loss, N(0, 1e-12) weights. The paper
    does not give the data: these satisfy its assumption with mu = 0.26."""
