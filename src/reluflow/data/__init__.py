"""Data sets: `Data(x, y)` and everything that makes one."""

from reluflow.data.core import Data
from reluflow.data.toys import five_points, two_points

__all__ = ["Data", "five_points", "two_points"]
