"""The small data sets of the papers; those on a line carry the bias column (d = 2)."""

from __future__ import annotations

from reluflow.data.core import Data


def two_points() -> Data:
    """Figure 2 of Boursier et al.: x = -0.5 with y = -1 and x = 2 with y = +1, bias column appended. The rows are orthogonal."""
    return Data([[-0.5, 1.0], [2.0, 1.0]], [-1.0, 1.0], name="two_points")


def five_points(y3: float = -0.3) -> Data:
    """Figures 4 and 5 of Boursier et al. `y3` is -0.3 in the authors' final code and -0.4 in two earlier versions."""
    x = [-1.5, -1.0, 0.0, 0.25, 2.0]
    return Data([[v, 1.0] for v in x], [0.7, -0.3, y3, 0.4, 0.2], name="five_points")
