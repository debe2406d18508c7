"""Figure 16 of [MMV24]: the edges of a path and of the maximal path that stand for each other, part 1."""

from functools import partial

from reluflow.papers.min2024 import _walk

SETTINGS = _walk.SETTINGS
STATED = _walk.STATED_TWINS
compute = _walk.compute
facts = partial(_walk.twin_facts, down=True)
draw = partial(_walk.twins, down=True)


def caption(ds) -> str:
    return f"""Each edge of the run's path (red) on which a negative datum is lost has an edge of the maximal path
    (gold) of its own, at least as dear (arrows): why the maximal path bounds all. {_walk.ours(ds)}"""
