"""MNIST from its original IDX files, found at `$RELUFLOW_DATA/mnist/` and checked byte for byte.

Y. LeCun, C. Cortes, C. J. C. Burges, "The MNIST database of handwritten digits". Nothing is downloaded here.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reluflow._checks import one_of, plainly, shown, whole
from reluflow.data import _draw
from reluflow.data.core import Data


class _File(NamedTuple):
    name: str
    shape: tuple[int, ...]
    sha256: str  # of the uncompressed file


FILES = {
    "train": (
        _File(
            "train-images-idx3-ubyte",
            (60000, 28, 28),
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        _File("train-labels-idx1-ubyte", (60000,), "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
    ),
    "test": (
        _File(
            "t10k-images-idx3-ubyte",
            (10000, 28, 28),
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        _File("t10k-labels-idx1-ubyte", (10000,), "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
    ),
}
HOW = (
    "get the four original files with `reluflow data get mnist`, or by hand from "
    "https://ossci-datasets.s3.amazonaws.com/mnist/ into `$RELUFLOW_DATA/mnist/`"
)
EVEN_ODD = ((0, 2, 4, 6, 8), (1, 3, 5, 7, 9))


def mnist(
    pair=None,
    parity: bool = False,
    digits=None,
    split: str = "train",
    centre: bool | str = False,
    size: int | None = None,
    seed: int = 0,
    folder=None,
) -> Data:
    """Images as rows of 784 pixels in [0, 1], in file order. Select them in one of three ways (by default 0 and 1):

    - `pair=(0, 1)`: the first digit is +1, the second -1; either may be a list, `([0, 1, 2, 3, 4], [5, 6, 7, 8, 9])`.
    - `parity=True`: even digits are +1, odd ones -1.
    - `digits="all"`, or a list of digits: classes for the softmax loss, `y` being the place in the list (for "all" the
      digit itself) and `data.classes` the digits' names.

    `size` keeps that many rows, drawn at random (`seed`) and shared equally among the labels. `centre=True` subtracts
    the mean of the rows returned; `centre="train"` subtracts the mean of all training images of these digits, as a test
    set needs. `folder` replaces `$RELUFLOW_DATA/mnist/`.
    """
    groups, name = _choice(pair, parity, digits)
    classes = None if digits is None else tuple(str(members[0]) for _, members in groups)
    if not isinstance(centre, bool) and centre != "train":
        raise ValueError(f'`centre` must be True, False or "train", got {shown(centre)}: use "train" for a test set.')
    value = np.full(10, np.nan)  # the label of each digit
    for label, members in groups:
        value[list(members)] = label
    images, found = mnist_arrays(split, folder=folder)
    keep = np.flatnonzero(~np.isnan(value[found]))
    if size is not None:
        keep = _shared(keep, value[found[keep]], size, seed)
    x = images[keep].reshape(len(keep), -1) / 255.0
    if centre == "train":
        images, digit = mnist_arrays("train", folder=folder)
        # An exact sum of integers, divided once: the mean does not depend on the order.
        chosen = images[~np.isnan(value[digit])]
        x -= chosen.reshape(len(chosen), -1).sum(axis=0, dtype=np.int64) / (255.0 * len(chosen))
    elif centre:
        x -= x.mean(axis=0)
    return Data(x, value[found[keep]], name=f"mnist {name}, {split}", classes=classes)


def mnist_arrays(split: str = "train", folder=None) -> tuple[np.ndarray, np.ndarray]:
    """The files unchanged: images (n, 28, 28) and digits (n,), uint8, read-only; n = 60,000 or 10,000 ("test")."""
    one_of("split", split, FILES)
    if folder is None:
        root = os.environ.get("RELUFLOW_DATA")
        if not root:
            raise FileNotFoundError(f"MNIST not found: `RELUFLOW_DATA` is not set. Set it, and {HOW}.")
        folder = Path(root) / "mnist"
    if not isinstance(folder, str | os.PathLike):
        raise TypeError(f"`folder` must be a path, got {shown(folder)}: write it in quotes.")
    images, digits = (_load(Path(folder), file) for file in FILES[split])
    return images, digits


def _load(folder: Path, file: _File) -> np.ndarray:
    for path in (folder / f"{file.name}.gz", folder / file.name):
        if path.is_file():
            stat = path.stat()
            return _read(path, file, stat.st_mtime_ns, stat.st_size)
    raise FileNotFoundError(f"MNIST file not found: {folder}/{file.name}.gz. To install it, {HOW}.")


@lru_cache(maxsize=4)
def _read(path: Path, file: _File, _mtime: int, _size: int) -> np.ndarray:
    """One file, verified; the file's time and size are arguments so that a changed file is read again."""
    length = int(np.prod(file.shape)) + 4 + 4 * len(file.shape)
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as handle:
            content = handle.read(length + 1)  # never more, whatever the file decompresses to
            if len(content) == length:
                handle.read(1)  # at the end of a compressed file this verifies its checksum
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(
            f"`{path}` must be the original MNIST file, got a damaged one ({plainly(str(error), 100)}): {HOW}."
        ) from None
    if len(content) != length:
        got = "more" if len(content) > length else f"{len(content)}"
        raise ValueError(f"`{path}` must hold {length} bytes, got {got}: {HOW}.")
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != file.sha256:
        raise ValueError(f"`{path}` must have the checksum {file.sha256[:12]}..., got {sha256[:12]}...: {HOW}.")
    return np.frombuffer(content, np.uint8, offset=length - int(np.prod(file.shape))).reshape(file.shape)


def _choice(pair, parity, digits) -> tuple[list[tuple[float, tuple[int, ...]]], str]:
    """((label, digits), ...) and a name."""
    given = [k for k, v in (("pair", pair is not None), ("parity", parity), ("digits", digits is not None)) if v]
    if len(given) > 1:
        raise ValueError(f"Only one of `pair`, `parity`, `digits` must be given, got {' and '.join(given)}: drop one.")
    if digits is not None:
        if isinstance(digits, str):
            one_of("digits", digits, ("all",))
        chosen = tuple(range(10)) if isinstance(digits, str) else _digits("digits", digits)
        if len(set(chosen)) < len(chosen):
            raise ValueError(f"`digits` must be different digits, got {shown(chosen)}: drop the repeats.")
        name = "all" if isinstance(digits, str) else "".join(map(str, chosen))
        return [(float(label), (k,)) for label, k in enumerate(chosen)], name
    if parity:
        return [(1.0, EVEN_ODD[0]), (-1.0, EVEN_ODD[1])], "parity"
    pair = (0, 1) if pair is None else pair
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise ValueError(f"`pair` must be two digits, or two lists of digits, got {shown(pair)}: as in `pair=(0, 1)`.")
    plus, minus = (_digits("pair", side if hasattr(side, "__len__") else [side]) for side in pair)
    if set(plus) & set(minus):
        raise ValueError(
            f"`pair` must be two different sides, got {min(set(plus) & set(minus))} on both: as in `pair=(0, 1)`."
        )
    return [(1.0, plus), (-1.0, minus)], "/".join("".join(map(str, side)) for side in (plus, minus))


def _digits(name: str, given) -> tuple[int, ...]:
    chosen = tuple(given) if hasattr(given, "__iter__") and not isinstance(given, dict | str) else (given,)
    bad = [k for k in chosen if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k <= 9]
    if bad or not chosen:
        raise ValueError(
            f"`{name}` must hold digits 0 to 9, got {shown(bad[0]) if bad else 'none'}: as in `pair=(0, 1)`."
        )
    return tuple(int(k) for k in chosen)


def _shared(keep: np.ndarray, label: np.ndarray, size: int, seed: int) -> np.ndarray:
    """`size` of the rows `keep`, in their order, equally many of each label; a remainder goes to the smaller labels."""
    size = whole("size", size, least=1, hint="the number of rows to keep")
    rng = _draw.stream(seed)
    values = np.unique(label)
    chosen = []
    for k, value in enumerate(values):
        pool, want = keep[label == value], size // len(values) + (k < size % len(values))
        if want > len(pool):
            raise ValueError(
                f"`size` asks for {want} rows of label {value:g}, which has only {len(pool)}: "
                f"use at most {len(values) * len(pool)}."
            )
        chosen.append(rng.permutation(pool)[:want])
    return np.sort(np.concatenate(chosen))
