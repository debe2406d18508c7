"""Figure 17 of [MMV24]: the edges of a path and of the maximal path that stand for each other, part 2."""

from __future__ import annotations

from reluflow.papers.min2024 import _walk

SETTINGS = _walk.SETTINGS
STATED = {
    "paper": (
        "edges whose twin",
        "twins used twice",
        "an edge's cost",
        "data an edge",
    ),
}


def compute(**settings):
    return _walk.compute(**settings)


def facts(ds):
    return _walk.twin_facts(ds, down=False)


def draw(ds):
    return _walk.twins(ds, down=False)


def caption(ds) -> str:
    return f"""As Figure 16 for the edges on which a positive datum is gained. {_walk.ours(ds)}"""
