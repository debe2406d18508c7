"""Figure 6 of [BPF22]: 200 neurons in 150 dimensions, projected on their plane, at four moments of training."""

import numpy as np

from reluflow.claim import Claim
from reluflow.papers.boursier2022 import _teacher
from reluflow.plot import look

SIZES = dict(n=75, d=150, width=200, scale=1e-20, torch_seed=4, seed=0, last=200_000)
PANELS = [0, 40_000, 80_000, 200_000]
SETTINGS = {"quick": dict(way="flow", **SIZES, panels=PANELS), "full": dict(way="descent", **SIZES, panels=PANELS)}
SEEN = ("start", "aligned, norms 0", "one cluster grown", "both")
STATED = {"paper": ("at 40000", "at 80000", "the plane holds most")}


def compute(*, way, n, d, width, scale, torch_seed, seed, last, panels):
    return _teacher.run(way, n, d, width, scale, torch_seed, seed, last, tuple(panels)).copy()


def facts(ds) -> list[Claim]:
    r"""What the panels show: at 40000 nothing has grown though neurons have turned; at 80000 the neurons with s = +1
    (larger |D|) have grown and the others have not; at the end both have.

    A cluster counts as grown when its share of the final |W|_F^2 in the plane is over a half, as not grown below a
    twentieth.
    """
    share = lambda k, s: _mass(ds, k, s) / _mass(ds, int(ds.panel[-1]), s)
    first = 1.0 if float(ds.pull[0]) > float(ds.pull[1]) else -1.0
    _, second, third, _ = (int(k) for k in ds.panel)
    spread = [_spread(ds, k, first) for k in (int(ds.panel[0]), second)]
    return [
        Claim(f"at {second}: norm of the first cluster, share of its end", share(second, first), "<=", 0.05),
        Claim(
            f"at {second}: neurons have turned; mean angle to their cluster falls to, share of the start",
            spread[1] / spread[0],
            "<=",
            0.5,
        ),
        Claim(f"at {third}: the first cluster has grown, share", share(third, first), ">=", 0.5),
        Claim(f"at {third}: the other has not, share", share(third, -first), "<=", 0.05),
        Claim("the plane holds most of W: explained by two components", float(ds.explained[:2].sum()), ">=", 0.7),
    ]


def _mass(ds, k: int, sign: float) -> float:
    return float(np.sum(ds.norm.sel(moment=k).where(ds.sign == sign) ** 2))


def _spread(ds, k: int, sign: float) -> float:
    """Mean angle between the neurons that end up large and the cluster's final direction, in the plane."""
    end = ds.isel(moment=-1)
    mine = (ds.sign == sign) & (end.norm > 0.1 * float(end.norm.max()))
    centre = np.angle(np.sum((end.norm * np.exp(1j * end.angle)).where(mine, 0.0)))
    turn = ds.angle.sel(moment=k) - centre
    turn = np.abs(np.arctan2(np.sin(turn), np.cos(turn)))
    return float(turn.where(mine).mean())


def draw(ds):
    fig = look.figure(look.PAGE, 2.15)
    axes = fig.subplots(1, ds.sizes["panel"], subplot_kw={"projection": "polar"})
    top = 1.05 * float(ds.norm.max())
    for k, ax in enumerate(axes):
        one = ds.sel(moment=int(ds.panel[k]))
        _teacher.polar(ax, one.angle, one.norm, ds.sign, top)
        ax.set_title(f"$\\bf{{{'abcd'[k]}}}$  {SEEN[k]}\niteration {int(ds.panel[k]):,}", fontsize=7.5)
    return fig


def animate(ds):
    from matplotlib.animation import FuncAnimation

    fig = look.figure(6.0, 3.0)
    left = fig.add_subplot(1, 2, 1, projection="polar")
    right = fig.add_subplot(1, 2, 2)
    top = 1.05 * float(ds.norm.max())
    marks = _teacher.polar(left, ds.angle[0], ds.norm[0], ds.sign, top, 12.0)
    right.plot(ds.iteration, ds.loss, color=look.FAINT, lw=1.0)
    (dot,) = right.plot([0], [float(ds.loss[0])], "o", color=look.INK, ms=5)
    right.set_ylabel("2 L")
    look.iterations(right.xaxis)
    text = left.set_title("iteration 200,000")

    def show(k):
        count = int(ds.moment[k])
        marks.set_offsets(np.column_stack([ds.angle[k], ds.norm[k]]))
        dot.set_data([count], [np.interp(count, ds.iteration, ds.loss)])
        text.set_text(f"iteration {count:,}")
        return marks, dot, text

    look.freeze(fig)
    order = [*range(ds.sizes["moment"]), *[ds.sizes["moment"] - 1] * 10]
    return FuncAnimation(fig, show, frames=order, blit=False)


def caption(ds) -> str:
    how = "the exact flow" if ds.attrs["way"] == "flow" else "descent as the authors ran it, step 1e-3 on 2L"
    return f"""{ds.sizes["neuron"]} neurons in R^150, seen in the plane of the two leading right singular vectors of the
    final W: angle and norm of each projection, the inner circle being norm 0; purple s = +1, red s = -1, as in
    the paper. All turn before
    any grows (b), then the neurons of one sign grow to a cluster (c), then the others (d). By {how}; the data are those
    of {ds.attrs["drawn"]}; the student's initial weights are ours. The singular vectors are uncentred, as in the
    authors' code."""
