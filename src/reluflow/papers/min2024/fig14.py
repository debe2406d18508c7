"""Figure 14 of [MMV24]: a path on the lattice of (k+, k-), from a run."""

from __future__ import annotations

from reluflow.papers.min2024 import _walk

SETTINGS = _walk.SETTINGS
STATED = {
    "paper": (
        "switches of all V+",
        "V+ neurons that end",
        "the neuron shown ends",
        "and negative data",
        "its longest stay",
        "its arrival",
    ),
}


def compute(**settings):
    return _walk.compute(**settings)


def facts(ds):
    return _walk.facts(ds)


def draw(ds):
    return _walk.picture(ds, maximal_too=False)


def caption(ds) -> str:
    return f"""The path of the neuron of Figure 4 on the lattice of numbers of active data: right when it gains a
    positive datum, down when it loses a negative one, never back. {ds.sizes["visit"] - 1} edges, from its start to
    S+. {_walk.ours(ds)}"""
