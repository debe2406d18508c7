"""The small data sets of the papers; those on a line include a bias column (d = 2)."""

from __future__ import annotations

import numpy as np

from reluflow._checks import number
from reluflow.data.core import Data


def two_points() -> Data:
    """Figure 2 of Boursier et al.: x = -0.5 with y = -1, x = 2 with y = +1, bias column appended. Orthogonal rows."""
    return Data(np.array([[-0.5, 1.0], [2.0, 1.0]]), np.array([-1.0, 1.0]), name="two_points")


def five_points(y3: float = -0.3) -> Data:
    """Figures 4 and 5 of Boursier et al. `y3` is -0.3 in the authors' final code and -0.4 in two earlier versions."""
    x = [-1.5, -1.0, 0.0, 0.25, 2.0]
    return Data(np.column_stack([x, np.ones(5)]), np.array([0.7, -0.3, y3, 0.4, 0.2]), name="five_points")


def two_angles(delta: float = 0.1) -> Data:
    """Figures 7, 8, 9 of Min et al. (`delta` 0.1, 0.001, 0): (1, 0) and (sin delta, cos delta), both +1.

    mu = sin delta.
    """
    delta = number(
        "delta", delta, rule="in [0, pi/2)", ok=lambda v: 0.0 <= v < np.pi / 2, hint="radians; the figures use 0.1"
    )
    return Data(np.array([[1.0, 0.0], [np.sin(delta), np.cos(delta)]]), np.ones(2), name="two_angles")


def toy_plane() -> Data:
    """Data for Figure 6 of Min et al., whose coordinates the paper does not give: three rows per class in the plane.

    Chosen to reproduce the picture: mu = cos 75 deg > 0, a dead cone 40 degrees wide, and |x+| = 3.07 against
    |x-| = 1.79, so that the loss falls twice, well apart.
    """
    angle = np.deg2rad([40.0, 50.0, 60.0, 165.0, 175.0, 180.0])
    radius = np.array([1.0, 1.2, 0.9, 0.6, 0.5, 0.7])
    rows = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return Data(rows, np.repeat([1.0, -1.0], 3), name="toy_plane")
