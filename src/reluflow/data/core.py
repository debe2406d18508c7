"""A data set: n rows x_i in R^d with one number y_i each, or k numbers, or a class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from reluflow import _html
from reluflow._checks import as_finite, by_name, one_or_several, plainly

if TYPE_CHECKING:
    from reluflow.data.report import Description

# Rows are parallel when the sine of their angle is below this: the rounding of a normalised row.
PARALLEL = 8 * np.finfo(float).eps


MOST_CLASSES = 10_000


@by_name
@dataclass(frozen=True, eq=False)
class Data:
    """Rows `x` (n, d) and labels `y` (n,), copied as float64 and read-only.

    `y` of shape (n, k) is for a network with k outputs; (n, 1) is the same as (n,). Classes are whole numbers from 0,
    one a row, and `classes` their names, if they have any. `columns` are the names of the columns of `x`, if they have
    any: pictures and tables use them.
    """

    x: np.ndarray
    y: np.ndarray
    name: str = field(default="", kw_only=True)
    classes: tuple | None = field(default=None, kw_only=True)
    columns: tuple | None = field(default=None, kw_only=True)

    def __post_init__(self):
        x = as_finite("x", self.x, ndim=2, hint="give one row per data point, shape (n, d)")
        y = one_or_several("y", self.y, "give one label per row of `x`, shape (n,), or k of them, shape (n, k)")
        if x.shape[0] == 0 or x.shape[1] == 0:
            raise ValueError(f"`x` must have at least one row and one column, got shape {x.shape}: give shape (n, d).")
        if y.shape[0] != x.shape[0]:
            raise ValueError(f"`y` must have one label per row of `x`, got {y.shape[0]} for {x.shape[0]} rows.")
        for name, value in (("x", x), ("y", y)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        if self.classes is not None:
            object.__setattr__(self, "classes", _class_names(self.classes, y))
        if self.columns is not None:
            object.__setattr__(self, "columns", _column_names(self.columns, x))

    @property
    def outputs(self) -> int:
        """How many numbers a label has: 1, or k for labels of shape (n, k)."""
        return 1 if self.y.ndim == 1 else self.y.shape[1]

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

    def one_hot(self, classes: int | None = None) -> Data:
        """Classes 0 to k - 1 as labels of shape (n, k), 1 for the class and 0 for the others: for the square loss.

        k is `classes`, by default the largest class plus 1.
        """
        from reluflow.data import transform

        return transform.one_hot(self, classes)

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
        """Write the columns of x (by name, or x0..x{d-1}) and y with all digits; `from_csv` reads the same numbers."""
        from reluflow.data import files

        files.write_csv(self, path)

    def to_npz(self, path) -> None:
        """Write arrays `x`, `y` and `name`; `from_npz` reads the same numbers back."""
        from reluflow.data import files

        files.write_npz(self, path)

    def _repr_html_(self) -> str:
        y = self.y.reshape(self.n, self.outputs)
        labels = ["y"] if self.outputs == 1 else [f"y{k}" for k in range(self.outputs)]
        dots = ["..."] if self.d > 8 else []
        head = [*(self.columns or [f"x{k}" for k in range(self.d)])[:8], *dots, *labels]
        rows = [
            [*(f"{v:.6g}" for v in row[:8]), *dots, *(f"{v:.6g}" for v in label)]
            for row, label in zip(self.x[:8], y[:8])
        ]
        more = f"; {self.n - 8} more rows" if self.n > 8 else ""
        name = f"{self.name}: " if self.name else ""
        return _html.text(f"{name}{self.n} rows, {self.d} columns{more}") + _html.table(rows, head)

    def __repr__(self) -> str:
        outputs = "" if self.outputs == 1 else f", outputs={self.outputs}"
        classes = f", classes: {classes_text(self)}" if self.classes is not None and self.outputs == 1 else ""
        return f"Data({self.name + ': ' if self.name else ''}n={self.n}, d={self.d}{outputs}{classes})"

    def __eq__(self, other) -> bool:
        return isinstance(other, Data) and np.array_equal(self.x, other.x) and np.array_equal(self.y, other.y)

    def __hash__(self) -> int:
        return hash((self.x.tobytes(), self.y.tobytes()))


def classes_text(data: Data) -> str:
    """Which number stands for which class, such as "cat = 0, dog = 1"."""
    names = [f"{plainly(name, 20)} = {k}" for k, name in enumerate((data.classes or ())[:4])]
    return ", ".join(names) + (", ..." if len(data.classes or ()) > 4 else "")


def _column_names(given, x: np.ndarray) -> tuple[str, ...]:
    names = tuple(map(str, given))
    if len(names) != x.shape[1]:
        raise ValueError(f"`columns` must name the {x.shape[1]} columns of `x`, got {len(names)} names.")
    return names


def _class_names(given, y: np.ndarray) -> tuple[str, ...]:
    names = tuple(map(str, given))
    if y.ndim == 2:
        if len(names) != y.shape[1]:
            raise ValueError(f"`classes` must name the {y.shape[1]} columns of `y`, got {len(names)} names.")
        return names
    bad = y[(y != np.rint(y)) | (y < 0) | (y >= len(names))]
    if len(bad):
        raise ValueError(
            f"`classes` names {len(names)} classes, so labels must be whole numbers from 0 to {len(names) - 1}, "
            f"got {bad[0]:g}: give more names, or leave them out."
        )
    return names


def one_hot(y: np.ndarray, k: int) -> np.ndarray:
    """Classes 0 to k - 1 as rows of k numbers, 1 for the class and 0 for the others."""
    return (np.asarray(y)[..., None] == np.arange(k)).astype(float)


def class_count(y: np.ndarray) -> int:
    """The largest class plus 1; labels that are not classes are refused."""
    bad = y[(y != np.rint(y)) | (y < 0)]
    if y.ndim != 1 or len(bad):
        got = f"shape {y.shape}" if y.ndim != 1 else f"{bad[0]:g}"
        raise ValueError(
            f"Classes must be whole numbers from 0, one a row, got {got}: relabel with "
            "`np.unique(y, return_inverse=True)[1]`."
        )
    most = int(y.max()) + 1
    if most > MOST_CLASSES:
        raise ValueError(f"Classes must be below {MOST_CLASSES}, got {most - 1}: number them from 0 without gaps.")
    return most


def class_margins(targets: np.ndarray, f: np.ndarray) -> np.ndarray:
    """f_y - max_{c != y} f_c of outputs f (..., n, k), y being where `targets` (n, k) are largest: (..., n)."""
    own = np.argmax(targets, axis=-1)
    mine = np.arange(targets.shape[-1]) == own[:, None]
    return np.sum(np.where(mine, f, 0.0), axis=-1) - np.max(np.where(mine, -np.inf, f), axis=-1)
