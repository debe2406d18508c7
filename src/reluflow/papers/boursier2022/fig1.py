"""Figure 1 of [BPF22]: the timeline of training, as a run keeps it."""

from itertools import pairwise

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.plot import look

SETTINGS = {"quick": dict(log10_scale=-60.0, width=60, seed=0), "full": dict(log10_scale=-60.0, width=60, seed=0)}
PHASES = ("early alignment", "fitting y > 0", "saddle", "fitting y < 0", "convergence")
STATED = {
    "paper": ("alignment is over", "positive labels fitted", "at the saddle", "negative labels fitted", "at the end")
}


def compute(*, log10_scale, width, seed):
    """The flow on the two points of Figure 2; times in units of log(1/lambda)."""
    import xarray as xr

    from reluflow.papers.boursier2022._track import track

    data = rf.data.two_points()
    init = rf.init.balanced(width=width, dim=2, log_scale=log10_scale * np.log(10.0), seed=seed)
    const_end = 1.25 * (1 + 6 / 8) * -init.log_scale / (np.sqrt(1.25) / 2)
    sol = solve(rf.Problem(data, init, loss="square"), rf.Flow(rtol=1e-8), t1=const_end)
    seen = track(sol)
    c = seen.const
    e, ell, D, d, r = c.epsilon, c.ell, c.plus.size, c.minus.size, c.r
    edges = np.array([e * ell / d, (1 + 3 * e) * ell / D, (1 - e) * ell / d, (1 + 3 * r * e) * ell / d])
    t = np.unique(np.r_[np.linspace(0, const_end, 900), sol.t])
    state = seen.at(t)
    window = seen.during(edges[1], edges[2])
    found = {
        "loss": ("time", sol.loss_at(t)),
        "apart_plus": ("time", seen.apart(state, c.S_plus, c.plus) / D),
        "apart_minus": ("time", seen.apart(state, c.S_minus, c.minus) / d),
        "share_plus": ("time", seen.u(state, c.S_plus) / c.plus.u),
        "share_minus": ("time", seen.u(state, c.S_minus) / c.minus.u),
        "edge": ("phase", edges / ell),
        "last_crossing": float(np.max(sol.events["off"].t)) / ell,
        "t_2": seen.t_2[0] / ell,
        "t_3": seen.t_3[0] / ell,
        "saddle_distance": float(np.max(seen.distance(window, c.theta(saddle=True)))),
        "saddle_bound": float(np.exp(c.power(e / 5))),
        "end_distance": float(seen.distance(seen.at(const_end), c.theta())[0]),
        "end_bound": float(np.exp(c.power(e / 31))),
    }
    return xr.Dataset(found, coords={"time": t / ell, "phase": np.arange(4)}, attrs={"epsilon": e, "ell": ell})


def facts(ds) -> list[Claim]:
    """The edges of the paper's timeline, against what the run did; distances are in Fact 1's and Lemma 12's norms."""
    edge = ds.edge.values
    at = float(np.interp(0.5 * (edge[1] + edge[2]), ds.time, ds.loss))
    return [
        Claim("alignment is over: last crossing, before eps/|D-|", float(ds.last_crossing), "<=", edge[0]),
        Claim("positive labels fitted: t_2, before (1+3 eps)/|D+|", float(ds.t_2), "<=", edge[1]),
        Claim(
            "at the saddle: largest |theta - theta_S|, lambda^{eps/5}",
            float(ds.saddle_distance),
            "<=",
            float(ds.saddle_bound),
        ),
        Claim("loss there, y < 0 unfitted", at, "=", 0.25, slack=1e-3),
        Claim("negative labels fitted: t_3, before (1+3 r eps)/|D-|", float(ds.t_3), "<=", edge[3]),
        Claim("at the end: |theta - theta*|, lambda^{eps/31}", float(ds.end_distance), "<=", float(ds.end_bound)),
    ]


def draw(ds):
    fig = look.figure(look.PAGE, 2.9)
    bar, ax = fig.subplots(2, 1, height_ratios=[0.33, 1], sharex=True)
    edge = np.r_[0.0, ds.edge.values, float(ds.time[-1])]
    colours = ("#e9e3d3", "#f3d3d6", "#e9e3d3", "#cfe1f5", "#dcefe9")
    for k, (lo, hi) in enumerate(pairwise(edge)):
        bar.axvspan(lo, hi, color=colours[k], lw=0)
        ax.axvspan(lo, hi, color=colours[k], lw=0, alpha=0.45)
        narrow = hi - lo < 0.07 * edge[-1]
        words = PHASES[k].replace(" ", "\n", 1)
        bar.text(0.5 * (lo + hi), 0.5, words, ha="center", va="center", fontsize=6.5, rotation=90 * narrow)
    bar.set_ylim(0, 1)
    look.blank(bar)
    bar.tick_params(bottom=False, labelbottom=False)
    ax.plot(ds.time, ds.loss / float(ds.loss[0]), color=look.INK, lw=1.8)
    ax.plot(ds.time, ds.share_plus, color=look.PLUS)
    ax.plot(ds.time, ds.share_minus, color=look.MINUS)
    look.beside(ax, 0.02, 0.93, "loss", look.INK, dx=2)
    look.beside(ax, float(ds.t_2) * 1.0, 0.74, "+ cluster", look.PLUS, dx=10)
    look.beside(ax, float(ds.time[int(np.argmax(ds.share_minus.values > 0.5))]), 0.6, "− cluster", look.MINUS, dx=7)
    ax.axvline(float(ds.last_crossing), ymax=0.1, color=look.THEORY, lw=1.5)
    look.beside(ax, float(ds.last_crossing), 0.1, "last switch", look.THEORY, dx=3)
    names = ["ε/|D₋|", "(1+3ε)/|D₊|", "(1−ε)/|D₋|", "(1+3rε)/|D₋|"]
    ax.set_xticks([0, *ds.edge.values], ["0", *names])
    for label, side in zip(ax.get_xticklabels()[2:4], ("right", "left"), strict=True):  # two close edges
        label.set_ha(side)
    ax.set(xlabel="time / log(1/λ)", ylabel="share of the start / of the limit", xlim=(0, edge[-1]), ylim=(-0.03, 1.08))
    return fig


def caption(ds) -> str:
    return f"""The paper's timeline (coloured bands, edges as in its Figure 1 with epsilon = {ds.attrs["epsilon"]:.3g})
    over a run that keeps it: the flow on the two points of Figure 2 from lambda = 1e-60, times over log(1/lambda).
    The loss (black) rests at the origin while neurons align, falls when the positive cluster has grown (red), rests at
    the saddle where negative labels are unfitted, and falls again with the negative cluster (blue). The bounds are
    generous: everything happens well before its edge. The paper's figure is a drawing; data and scale are ours."""
