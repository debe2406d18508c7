"""Complete figures of a run or a sweep."""

from reluflow.plot import run, sweep


def picture(of, names=None, *, title: str = ""):
    """A figure of a run or of a sweep.

    A run: its loss, the norms of its neurons, their directions (data in the plane) and the function (data on a line);
    growth phases are shaded. A sweep: a heat map where two keys besides the seeds vary, else curves;
    `names` default to the first quantity kept, trajectories are drawn over time, and names with the same axis share a
    panel.
    """
    if hasattr(of, "data_vars"):
        return sweep.picture(of, names, title=title)
    if not hasattr(of, "log_norm"):
        kind = type(of).__name__
        way_out = "use its own `.figure()`" if hasattr(of, "figure") else "solve it with `rf.solve` first"
        raise TypeError(f"`picture` draws a run or the dataset of a sweep, got {kind}: {way_out}.")
    if names is not None:
        raise ValueError(f"`names` selects quantities of a sweep, got {names!r} for a run: omit it.")
    return run.overview(of, title)
