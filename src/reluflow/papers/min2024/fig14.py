"""Figure 14 of [MMV24]: a path on the lattice of (k+, k-), from a run."""

from functools import partial

from reluflow.papers.min2024 import _walk

SETTINGS = _walk.SETTINGS
STATED = _walk.STATED
compute = _walk.compute
facts = _walk.facts
draw = partial(_walk.picture, maximal_too=False)


def caption(ds) -> str:
    return f"""The path of the neuron of Figure 4 on the lattice of numbers of active data: right when it gains a
    positive datum, down when it loses a negative one, never back. {ds.sizes["visit"] - 1} edges, from its start to
    S+. {_walk.ours(ds)}"""
