"""Figure 16 of [MMV24]: the edges of a path and of the maximal path that stand for each other, part 1."""

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
    return _walk.twin_facts(ds, down=True)


def draw(ds):
    return _walk.twins(ds, down=True)


def caption(ds) -> str:
    return f"""Each edge of the run's path (red) on which a negative datum is lost has an edge of the maximal path
    (gold) of its own, at least as dear (arrows): why the maximal path bounds all. {_walk.ours(ds)}"""
