"""Figure 6 of [MMV24]: a toy in the plane; neurons align in their cones, then grow, and the loss falls twice."""

from __future__ import annotations

import numpy as np

from reluflow.claim import Claim

PANELS = [0, 10_000, 40_000]
SETTINGS = {
    "quick": dict(width=50, sigma=1e-6, seed=0, seeds=30, last=40_000, panels=PANELS),
    "full": dict(width=50, sigma=1e-6, seed=0, seeds=30, last=40_000, panels=PANELS),
}
SEEN = ("start", "aligned", "trained")


def compute(*, width, sigma, seed, seeds, last, panels):
    import reluflow as rf
    from reluflow.papers.min2024 import _plane

    data = rf.data.toy_plane()
    ds = _plane.run(data, width=width, sigma=sigma, seed=seed, panels=panels, last=last)
    counts = []
    for k in range(seeds):
        sol = _plane.problem(data, width, sigma, k)
        t = 10_000 * _plane.STEP
        from reluflow.papers._figures import solve

        done = solve(sol, rf.Descent(step=_plane.STEP), t1=t, save=rf.Save(times=(t,), frames=2))
        kinds = _plane.cone(data, done.w[-1])
        wrong = ((kinds == 1) & (done.a[-1] < 0)) | ((kinds == 2) & (done.a[-1] > 0)) | (kinds == 0)
        counts.append([int(np.sum(kinds == c)) for c in range(4)] + [int(np.sum(wrong))])
    ds["counts"] = (("run", "kind"), np.array(counts))
    return ds


def facts(ds) -> list[Claim]:
    """By the end of alignment (before the loss falls) every neuron is in its cone or dead and well aligned; then the
    loss falls twice, well apart; the stable rank ends at most 2. The cones' numbers over seeds are the handbook's."""
    aligned, end = (ds.sel(iteration=int(k)) for k in ds.panel.values[1:3])
    alive = aligned.cone.values != 3
    good = np.where(aligned.sign > 0, 1, 2)
    wrong = int(np.sum(alive & (aligned.cone.values != good)))
    cos = float(aligned.aligned.where(aligned.cone != 3).min())
    loss, count = ds.loss.values, ds.iteration.values
    when = lambda level: float(count[int(np.argmax(loss < level))])
    flat = (loss > 0.4) & (loss < 0.6)
    mean = ds.counts.mean("run").values
    # Numbers of neurons in a cone are sums of 50 draws: standard deviation at most 3.6, over the runs.
    slack = 3 * 3.6 * np.sqrt(1 / ds.sizes["run"] + 1 / 30)
    return [
        Claim("aligned: neurons alive and not in their own cone", wrong, "=", 0),
        Claim("aligned: least cosine with x+ or x- of a living neuron", cos, ">=", 0.99),
        Claim("loss then", float(aligned.loss), ">=", 0.95),
        Claim("first fall: loss below 0.9 at iteration", when(0.9), "=", 11_800, slack=1200),
        Claim(
            "iterations spent between 0.4 and 0.6, the second plateau",
            float(np.sum(np.diff(count)[flat[1:]])),
            ">=",
            3000,
        ),
        Claim("loss at the end", float(end.loss), "<=", 0.1),
        Claim("stable rank at the end", float(end.stable_rank), "<=", 2.0),
        Claim(f"in S+ by 10000, mean of {ds.sizes['run']} runs", mean[1], "=", 18.9, slack=slack),
        Claim("in S-, mean", mean[2], "=", 18.3, slack=slack),
        Claim("dead, mean", mean[3], "=", 12.4, slack=slack),
        Claim("alive and not in their own cone, mean", mean[4], "<=", 0.5),
    ]


def draw(ds):
    from reluflow.papers.min2024 import _plane
    from reluflow.plot import look

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
