"""Figure 15 of [MMV24]: a run's path and the maximal path."""

from functools import partial

from reluflow.papers.min2024 import _walk

SETTINGS = _walk.SETTINGS
STATED = {"paper": (*_walk.WALK, "cost of its path")}
compute = _walk.compute
facts = _walk.facts
draw = partial(_walk.picture, maximal_too=True)


def caption(ds) -> str:
    return f"""The path of Figure 14 (red) and the maximal path (gold). An edge costs one over the number of active
    data at its start, in units of 4/(min(zeta, xi) sqrt(mu) X_min): the maximal path is the dearest of all, and
    bounds the time to S+. {_walk.ours(ds)}"""
