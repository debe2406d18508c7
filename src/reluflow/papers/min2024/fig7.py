"""Figure 7 of [MMV24]: two data, barely correlated; every positive neuron that lives reaches S+."""

from functools import partial

import numpy as np

from reluflow.claim import Claim
from reluflow.papers.min2024 import _two_data
from reluflow.papers.min2024._plane import near

SETTINGS = _two_data.settings(delta=0.1, seed=0)
STATED = {
    "paper": ("the run shown", "outside S+ at 21000"),
    "handbook": ("outside S+ at 7000", "share of runs", "loss at 7000"),
}
compute = _two_data.compute
draw = partial(_two_data.draw, seen=("start", "all in S+", "trained"))


def facts(ds) -> list[Claim]:
    """The text: all positive neurons that are not dead are in S+ at 7000. Over 60 runs of the handbook: 0.15 outside on
    average (85 % of runs none), 0 at 21000."""
    early, late = (_two_data.outside(ds, k) for k in (7000, 21_000))
    mean, slack = near(early, 0.15)
    level, room = near(ds.mean_loss.sel(moment=7000).values, 0.993)
    none, spread = _two_data.share(early == 0, 0.85)
    return [
        Claim("the run shown: positive, not dead, outside S+ at 7000", _two_data.shown(ds, 7000), "=", 0),
        Claim(f"outside S+ at 7000, mean of {len(early)} runs", mean, "=", 0.15, slack=slack),
        Claim("share of runs with none", none, "=", 0.85, slack=spread),
        Claim("outside S+ at 21000, most of all runs", int(late.max()), "=", 0),
        Claim("loss at 7000: nothing fitted yet, mean", level, "=", 0.993, slack=room + 5e-4),
    ]


def caption(ds) -> str:
    out = ds.outside
    return f"""Two data, both +1, {float(np.degrees(np.arccos(np.clip(ds.x[0] @ ds.x[1], -1, 1)))):.1f} degrees apart
    (mu = sin 0.1). At 7000 every positive neuron that is not dead is in S+ (b): over {ds.sizes["run"]} seeds
    {float(out.sel(moment=7000).mean()):.2f} are outside on average, and none at 21000 (c). Settings as in Figure 6."""
