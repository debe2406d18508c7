"""The images behind the recorded MNIST run, read from the user's own copy of MNIST: none is part of this package."""

from functools import cache

import numpy as np

import reluflow as rf
from reluflow.explorer import encoding

SIZE, SHOWN = 400, 16  # images the recorded run was trained on, and those whose outputs are shown


def chosen(y: np.ndarray) -> np.ndarray:
    """The images that are shown: the first ones of either class."""
    return np.concatenate([np.flatnonzero(y == s)[: SHOWN // 2] for s in (1.0, -1.0)])


@cache
def shown() -> bytes | None:
    """The shown images, 28 x 28 bytes each, encoded for the page; None where MNIST is not found."""
    try:
        data = rf.data.mnist(pair=(0, 1), size=SIZE, centre=False, seed=0)
    except (OSError, ValueError):
        return None
    few = data.x[chosen(data.y)]
    images = np.rint(255 * few / np.max(few)).astype(np.uint8)
    return encoding.encode({"side": 28}, {"images": images})
