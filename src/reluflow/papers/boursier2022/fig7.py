"""Figure 7 of [BPF22]: the loss of the run of Figure 6, and how much of W each principal component explains."""

import numpy as np

from reluflow.claim import Claim
from reluflow.papers.boursier2022 import _teacher
from reluflow.papers.boursier2022._line import STEP
from reluflow.papers.boursier2022.fig6 import PANELS, SIZES
from reluflow.plot import look

SETTINGS = {"quick": dict(way="flow", **SIZES), "full": dict(way="descent", **SIZES)}
STATED = {
    "paper": ("saddle: slowest", "two components explain", "saddle near 75000"),
    "handbook": ("2L at the start, torch", "2L at 70000", "two components explain, torch", "2L at 200000"),
}


def compute(*, way, n, d, width, scale, torch_seed, seed, last):
    panels = tuple(k for k in PANELS if k <= last)
    return _teacher.run(way, n, d, width, scale, torch_seed, seed, last, panels).copy()


def facts(ds) -> list[Claim]:
    """The paper: a saddle near 75000; two components explain about 80 %, the rest 20 %.

    Measured on the authors' data: 75.6 % in two, so "about 80" is 0.75 to 0.85. The saddle is a slow stretch, found as
    the iteration where log 2L moves least between the two falls. Values of 2L are for the authors' data (torch seed 4);
    without PyTorch the data are others and only the shape is judged.
    """
    at = lambda k: float(np.interp(k, ds.iteration, ds.loss))
    slow = slowest(ds)
    two = float(ds.explained[:2].sum())
    y, slower = ds.y.values, 1.0 if float(ds.pull[0]) < float(ds.pull[1]) else -1.0
    unfitted = float(np.mean(y**2 * (slower * y > 0)))
    # Leading order of the two exits, log(1/lambda)/|D| each, earlier by what |w| gains from its width: between them.
    exits = np.sort(float(ds.ell) / ds.pull.values) / STEP
    found = [
        Claim("2L at the start, mean of y^2", at(0), "=", float(np.mean(ds.y.values**2)), slack=1e-9),
        Claim(
            "saddle: slowest stretch between the falls, before the second exit to leading order", slow, "<=", exits[1]
        ),
        Claim("2L there, against the unfitted labels' part", at(slow) / unfitted, "=", 1.0, slack=0.1),
        Claim("two components explain", two, ">=", 0.70),
        Claim("the third explains less than the second, ratio", float(ds.explained[2] / ds.explained[1]), "<=", 0.5),
        Claim("2L at 1.25 times that exit, share of the start", at(1.25 * exits[1]) / at(0), "<=", 0.02),
    ]
    if ds.attrs["torch"]:
        found += [
            Claim("saddle near 75000, torch seed 4: within 75000 to 80000", slow, "=", 77_500, slack=2500),
            Claim("2L at the start, torch seed 4", at(0), "=", 0.0781, slack=5e-5),
            Claim("2L at 70000, torch seed 4", at(70_000), "=", 0.0725, slack=0.004),
            Claim("two components explain, torch seed 4", two, "=", 0.756, slack=0.01),
            Claim("2L at 200000 is NOT 0: one sample is unfitted", at(200_000), ">=", 1e-6),
        ]
    return found


def slowest(ds) -> float:
    """The iteration where log 2L moves least, between the first fall and the second."""
    loss, count = ds.loss.values, ds.iteration.values
    inside = np.flatnonzero((loss < 0.75 * loss[0]) & (loss > 0.2 * loss[0]))
    pace = np.abs(np.gradient(np.log(loss), count))
    return float(count[inside[int(np.argmin(pace[inside]))]])


def draw(ds):
    fig = look.figure(look.PAGE, 2.2)
    left, right = fig.subplots(1, 2)
    left.plot(ds.iteration, ds.loss, color=look.INK)
    at = slowest(ds)
    level = float(np.interp(at, ds.iteration, ds.loss))
    left.plot([at], [level], "o", color=look.THEORY, ms=5)
    look.beside(left, at, level, f"saddle, {at:,.0f}", look.THEORY, dx=8, dy=4)
    left.set(ylabel="2 L", ylim=(0, None), xlim=(0, float(ds.iteration[-1])))
    look.iterations(left.xaxis)
    look.letter(left, "a", "loss")
    share = 100 * ds.explained.values
    k = np.arange(1, len(share) + 1)
    right.bar(k[:40], share[:40], color=[look.PLUS, look.MINUS, *[look.FAINT] * 38], width=0.8)
    look.corner(right, f"two components: {share[:2].sum():.1f}%\nall others: {share[2:].sum():.1f}%", "upper right")
    right.set(xlabel="principal component of W (first 40)", ylabel="% of |W|² explained", xlim=(0, 41))
    look.letter(right, "b", "explained variance")
    return fig


def caption(ds) -> str:
    how = "exact flow" if ds.attrs["way"] == "flow" else "descent"
    left = float(ds.loss[-1])
    return f"""a: loss of the run of Figure 6 (2L; {how}): nothing until about 65,000, then a slow stretch, the saddle
    where labels of one sign are unfitted, then almost 0 ({left:.1e} at the end: one sample is still unfitted, a further
    saddle).
    b: share of |W|_F^2 of each uncentred principal component at the end. The paper says about 80% in two; it is
    {100 * float(ds.explained[:2].sum()):.1f}% for {ds.attrs["drawn"]} and our draw of the student."""
