"""Figure 12 of [MMV24]: two phases, directions first and norms later, when both layers are trained."""

import numpy as np

from reluflow.claim import Claim
from reluflow.papers.min2024 import _phases

REQUIRES = ("mnist",)
SAME = dict(pair=[1, 0], width=50, sigma=1e-6, seed=0, train="both", dtype="float32")
SETTINGS = {
    "quick": dict(**SAME, images=400, batch=64, last=4900, every=49),
    "full": dict(**SAME, images=0, batch=2000, last=4900, every=49),
}
STATED = {
    "paper": ("norms are silent", "directions change most before", "norms change most"),
    "handbook": ("norm change until 2000", "directions change most at", "loss then"),
}
compute = _phases.run
draw = _phases.draw


def facts(ds) -> list[Claim]:
    r"""Two phases: while directions move norms do not, and when norms grow directions are done.

    The text has neurons aligned by about 2000, the handbook norm change below 1e-3 until then. The norm change is 2
    mean z e^{-z} over margins z, hence at most 2/e; below 1e-3 the loss, mean e^{-z} >= 1 - mean z, is above 0.999. The
    paper records epochs: a phase is one if it lasts more than an epoch (in Figure 13 none does). How high the hump of
    direction change is, and when, belongs to a draw (32 near 1100 to 1250 in the handbook's, 30 to 39 over seeds 0 to 5
    with 400 images; the paper's drawing has about 25, lower than any of these): no bound follows for another, but that
    directions move least between the two humps, less than at the start.
    """
    move, grow, count = ds.direction_change.values, ds.norm_change.values, ds.iteration.values
    hump, peak = int(np.argmax(move)), int(np.argmax(grow))
    between = move[hump : peak + 1] if peak > hump else np.array([np.nan])
    return [
        Claim("norm change until 2000, largest", float(grow[count <= 2000].max()), "<=", 1e-3),
        Claim("directions change most at iteration", float(count[hump]), "<=", 2000),
        Claim("loss then", float(ds.loss[hump]), ">=", 0.999),
        Claim("norms are silent (below 1 % of their fastest) for epochs", _phases.silent_epochs(ds), ">", 1.0),
        Claim(
            "directions change most before norms start, iterations between", _phases.start(ds) - count[hump], ">", 0.0
        ),
        Claim("direction change between the phases, least, over its start", float(between.min() / move[0]), "<", 1.0),
        Claim("norm change at most 2/e", float(grow.max()), "<=", float(2 / np.e), slack=1e-5 * float(grow.max())),
        Claim("norms change most while the loss falls: loss at that time", float(ds.loss[peak]), "<=", 0.9),
        Claim("norms change most while the loss falls: loss at that time", float(ds.loss[peak]), ">=", 0.1),
    ]


def caption(ds) -> str:
    return f"""MNIST digits 1 and 0, both layers trained by SGD ({ds.attrs["images"]:,} images, batches of
    {ds.attrs["batch"]:,}) from N(0, 1e-12). Two phases: directions change (c) while norms (b) and the loss (a) do not,
    for {_phases.silent_epochs(ds):.0f} epochs, {100 * _phases.start(ds) / _phases.half(ds):.0f}% of the time to half
    the loss; then norms grow, the loss falls, and directions move little. Compare Figure 13. (c) peaks at
    {float(ds.direction_change.max()):.0f}, in the paper's drawing at about 25. Changes are those of the full mean loss;
    the paper does not say whether its carry 1/n."""
