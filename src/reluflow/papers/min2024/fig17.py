"""Figure 17 of [MMV24]: the edges of a path and of the maximal path that stand for each other, part 2."""

from functools import partial

from reluflow.papers.min2024 import _walk

SETTINGS = _walk.SETTINGS
STATED = _walk.STATED_TWINS
compute = _walk.compute
facts = partial(_walk.twin_facts, down=False)
draw = partial(_walk.twins, down=False)


def caption(ds) -> str:
    return f"""As Figure 16 for the edges on which a positive datum is gained. {_walk.ours(ds)}"""
