"""Figure 13 of [MMV24]: no such phases when the first layer alone is trained."""

import numpy as np

from reluflow.claim import Claim
from reluflow.papers.min2024 import _phases

REQUIRES = ("mnist",)
SAME = dict(pair=[1, 0], width=50, sigma=1e-6, seed=0, train="first", dtype="float32")
SETTINGS = {
    "quick": dict(**SAME, images=400, batch=64, last=70, every=1),
    "full": dict(**SAME, images=0, batch=2000, last=70, every=1),
}
STATED = {"paper": ("norms are silent",)}
compute = _phases.run


def facts(ds) -> list[Claim]:
    """No phase of alignment alone: the number of Figure 12, epochs for which norms are silent, is at most 1 here, which
    is the paper's resolution; and within that epoch the loss falls by half (Figure 12 takes hundreds)."""
    peak = int(np.argmax(ds.norm_change.values))
    return [
        Claim("norms are silent (below 1 % of their fastest) for epochs", _phases.silent_epochs(ds), "<=", 1.0),
        Claim("half of the loss is gone after epochs", _phases.half(ds) / ds.attrs["epoch"], "<=", 1.0),
        Claim("norms change most while the loss falls: loss at that time", float(ds.loss[peak]), "<=", 0.9),
        Claim("norms change most while the loss falls: loss at that time", float(ds.loss[peak]), ">=", 0.1),
    ]


def draw(ds):
    fig = _phases.draw(ds)
    fig.axes[2].set(yscale="log", ylim=(0.5 * float(ds.direction_change.min()), 2 * float(ds.direction_change.max())))
    return fig


def caption(ds) -> str:
    return f"""As Figure 12, but only the first layer is trained, from N(0, 1e-12), with output weights +1 or -1:
    norms grow and the loss falls at once ({_phases.half(ds):.0f} iterations to half of it), and directions are set in
    the first iteration or two (c, logarithmic). There is no alignment phase to separate. Every iteration is shown,
    since an epoch is {ds.attrs["epoch"]} of them; the paper records epochs."""
