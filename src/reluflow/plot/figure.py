"""A whole figure of a run or of a sweep, ready to save."""

from __future__ import annotations

from reluflow.plot import run, sweep


def picture(of, names=None, *, title: str = ""):
    """A figure of a run or of a sweep.

    A run: its loss, the sizes of its neurons, in the plane their directions, and on a line the function they make;
    times in which neurons grow are shaded. A sweep: a heat map where two keys besides the seeds vary, else curves;
    `names` default to the first quantity kept, trajectories are drawn over time, and names that share an axis share a
    picture.
    """
    if hasattr(of, "data_vars"):
        return sweep.picture(of, names, title=title)
    if not hasattr(of, "log_norm"):
        kind = type(of).__name__
        way_out = "it has a `.figure()` of its own" if hasattr(of, "figure") else "solve it first with `rf.solve`"
        raise TypeError(f"`picture` draws a run or the dataset of a sweep, got {kind}: {way_out}.")
    if names is not None:
        raise ValueError(f"`names` picks what a sweep kept, got {names!r} for a run: leave it out.")
    return run.overview(of, title)
