"""Figure 12 of [MMV24]: two phases, directions first and norms later, when both layers are trained."""

from __future__ import annotations

import numpy as np

from reluflow.claim import Claim

REQUIRES = ("mnist",)
SAME = dict(pair=[1, 0], width=50, sigma=1e-6, seed=0, train="both", dtype="float32")
SETTINGS = {
    "quick": dict(**SAME, images=400, batch=64, last=4900, every=49),
    "full": dict(**SAME, images=0, batch=2000, last=4900, every=49),
}


def compute(**settings):
    from reluflow.papers.min2024 import _phases

    return _phases.run(**settings)


def facts(ds) -> list[Claim]:
    """Two phases: while directions move norms do not, and when norms grow directions are done.

    The handbook's full-batch curves (another draw, other images): a hump of 32 in the directions near 1100-1250, norm
    change below 1e-3 until 2000, its peak near 3500. The hump sums 50 neurons whose moments are drawn with v_j and
    <w_j, x+>: a tenth of deviation each in height and time, three of them allowed; the peak follows |x+|/n: 20 %.
    """
    from reluflow.papers.min2024 import _phases

    move, grow = ds.direction_change, ds.norm_change
    hump, peak = int(np.argmax(move.values)), int(np.argmax(grow.values))
    return [
        Claim("directions change most at iteration", float(ds.iteration[hump]), "=", 1175, slack=350),
        Claim("by how much", float(move.max()), "=", 32, slack=9.6),
        Claim("norms change most at iteration", float(ds.iteration[peak]), "=", 3500, slack=700),
        Claim("norm change while directions move, share of its peak", float(grow[hump] / grow[peak]), "<=", 0.01),
        Claim("direction change while norms grow, share of its peak", float(move[peak] / move[hump]), "<=", 0.2),
        Claim("loss when directions change most", float(ds.loss[hump]), ">=", 0.99),
        Claim("silent share of the time to half the loss: two phases", _phases.silent(ds), ">=", 0.5),
    ]


def draw(ds):
    from reluflow.papers.min2024 import _phases

    return _phases.draw(ds)


def caption(ds) -> str:
    from reluflow.papers.min2024 import _phases

    return f"""MNIST digits 1 and 0, both layers trained by SGD ({ds.attrs["images"]:,} images, batches of
    {ds.attrs["batch"]:,}) from N(0, 1e-12). Two phases: directions change (c) while norms (b) and the loss (a) do
    not, for {100 * _phases.silent(ds):.0f}% of the time to half the loss; then norms grow, the loss falls, and
    directions move little. Compare Figure 13. Changes are those of the full mean loss; the paper does not say whether
    its carry 1/n."""
