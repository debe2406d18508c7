"""Figure 4 of [MMV24]: the activation pattern of one neuron over time, from a run."""

import numpy as np

from reluflow.papers.min2024 import _walk
from reluflow.plot import look

SETTINGS = _walk.SETTINGS
STATED = _walk.STATED
compute = _walk.compute
facts = _walk.facts


def draw(ds):
    fig = look.figure(look.PAGE, 2.6)
    ax = fig.subplots()
    end = 1.18 * float(ds.start[-1])
    edge = np.r_[ds.start.values, end]
    for i, y in enumerate(ds.y.values):
        colour = look.PLUS if y > 0 else look.MINUS
        for k in range(ds.sizes["visit"]):
            if ds.on[k, i]:
                ax.fill_between(edge[k : k + 2], -i - 0.4, -i + 0.4, color=colour, lw=0, alpha=0.75)
    for t in ds.start.values[1:]:
        ax.axvline(t, color=look.FAINT, lw=0.5, ls=":", zorder=0)
    n_plus = int(np.sum(ds.y > 0))
    ax.axhline(0.5 - n_plus, color=look.FAINT, lw=0.6)
    ax.set_yticks(
        [-(n_plus - 1) / 2, -n_plus - (ds.sizes["datum"] - n_plus - 1) / 2], ["positive\ndata", "negative\ndata"]
    )
    ax.tick_params(axis="y", length=0)
    ax.set(xlabel="time", xlim=(0, end), ylim=(-ds.sizes["datum"] + 0.3, 0.7))
    look.beside(ax, float(ds.start[-1]), 0.9, "enters S+", look.INK, dx=2, fontsize=7)
    return fig


def caption(ds) -> str:
    return f"""Which data one neuron with v > 0 is active on (bars), over time: at each dotted time it changes its
    pattern, and it only ever gains positive data (red) and loses negative ones (blue), each once, until it is active
    on exactly the positive data: it is in S+. {_walk.ours(ds)}"""
