"""A data set: n rows x_i in R^d with one number y_i each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from reluflow._checks import as_finite, by_name

if TYPE_CHECKING:
    from reluflow.data.report import Description

# Rows are parallel when the sine of their angle is below this: the rounding of a normalised row.
PARALLEL = 8 * np.finfo(float).eps


@by_name
@dataclass(frozen=True, eq=False)
class Data:
    """Rows `x` (n, d) and labels `y` (n,), copied as float64 and read-only."""

    x: np.ndarray
    y: np.ndarray
    name: str = field(default="", kw_only=True)

    def __post_init__(self):
        x = as_finite("x", self.x, ndim=2, hint="give one row per data point, shape (n, d)")
        y = as_finite("y", self.y, ndim=1, hint="give one label per row of `x`, shape (n,)")
        if x.shape[0] == 0 or x.shape[1] == 0:
            raise ValueError(f"`x` must have at least one row and one column, got shape {x.shape}: give shape (n, d).")
        if y.shape[0] != x.shape[0]:
            raise ValueError(f"`y` must have one label per row of `x`, got {y.shape[0]} for {x.shape[0]} rows.")
        for name, value in (("x", x), ("y", y)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    @property
    def n(self) -> int:
        return self.x.shape[0]

    @property
    def d(self) -> int:
        return self.x.shape[1]

    # Other data from these (transform.py) -----------------------------------------------------------------------------

    def with_bias(self, value: float = 1.0) -> Data:
        """Appends a column equal to `value`, so that the last entry of w acts as a bias."""
        from reluflow.data import transform

        return transform.with_bias(self, value)

    def centred(self, mean=None) -> Data:
        """Rows minus their mean, or minus `mean` (d numbers): a test set is centred by its training set's mean."""
        from reluflow.data import transform

        return transform.centred(self, mean)

    def normalised(self) -> Data:
        """Every row divided by its norm."""
        from reluflow.data import transform

        return transform.normalised(self)

    def flipped(self) -> Data:
        """Labels times -1; swapping the classes only swaps the signs of the output weights."""
        from reluflow.data import transform

        return transform.flipped(self)

    def noisy(self, flip: float = 0.0, std: float = 0.0, seed: int = 0) -> Data:
        """Label noise: a random share `flip` of the labels (rounded to a number of rows) times -1, and Gaussian noise
        of standard deviation `std` added to all."""
        from reluflow.data import transform

        return transform.noisy(self, flip, std, seed)

    def merged(self, angle: float) -> Data:
        """Rows within `angle` (radians) of each other replaced by their mean row with their mean label.

        Two rows are linked when the angle between them is at most `angle`; a chain of links is one group, so the result
        does not depend on the order of the rows and the ends of a long chain may be further apart than `angle`. A group
        takes the place of its first row. Rows that point in opposite directions are never linked, a zero row has no
        direction and stays, and `angle=0` merges exact copies and positive multiples only. A group with labels of both
        signs gets a label in between, which only the square loss accepts.
        """
        from reluflow.data import transform

        return transform.merged(self, angle)

    def subset(self, rows) -> Data:
        """The rows selected by indices or by a boolean mask, in the order given."""
        from reluflow.data import transform

        return transform.subset(self, rows)

    def split(self, fraction: float = 0.8, seed: int = 0) -> tuple[Data, Data]:
        """(train, test): a random `fraction` of each label value's rows, rounded, and the rest; rows keep their order.

        Labels with more than 20 distinct values are treated as real numbers, and the rows are drawn from one pool.
        """
        from reluflow.data import transform

        return transform.split(self, fraction, seed)

    # What they are like, and where they go ----------------------------------------------------------------------------

    def describe(self) -> Description:
        """Sizes, angles, norms, and which assumptions of the papers hold; print it, or read its fields."""
        from reluflow.data import report

        return report.describe(self)

    def to_csv(self, path) -> None:
        """Write columns x0..x{d-1}, y with all digits of the float64 numbers; `from_csv` reads them back."""
        from reluflow.data import files

        files.write_csv(self, path)

    def to_npz(self, path) -> None:
        """Write arrays `x`, `y` and `name`; `from_npz` reads the same numbers back."""
        from reluflow.data import files

        files.write_npz(self, path)

    def _repr_html_(self) -> str:
        from reluflow import _html

        head = [*(f"x{k}" for k in range(min(self.d, 8))), *(["..."] if self.d > 8 else []), "y"]
        rows = [
            [*(f"{v:.6g}" for v in x[:8]), *(["..."] if self.d > 8 else []), f"{y:.6g}"]
            for x, y in zip(self.x[:8], self.y[:8])
        ]
        more = f"; {self.n - 8} more rows" if self.n > 8 else ""
        name = f"{self.name}: " if self.name else ""
        return _html.text(f"{name}{self.n} rows, {self.d} columns{more}") + _html.table(rows, head)

    def __repr__(self) -> str:
        return f"Data({self.name + ': ' if self.name else ''}n={self.n}, d={self.d})"

    def __eq__(self, other) -> bool:
        return isinstance(other, Data) and np.array_equal(self.x, other.x) and np.array_equal(self.y, other.y)

    def __hash__(self) -> int:
        return hash((self.x.tobytes(), self.y.tobytes()))
