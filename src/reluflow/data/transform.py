"""Transformations of data; each function implements the method of `Data` with the same name."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from reluflow._checks import as_finite, number, whole
from reluflow.data import _gram
from reluflow.data.core import PARALLEL, Data, class_count
from reluflow.data.core import one_hot as labels_one_hot

MANY_LABELS = 20


def _named(data: Data, what: str) -> str:
    return f"{data.name}, {what}" if data.name else ""


def with_bias(data: Data, value: float) -> Data:
    value = number("value", value, rule="finite and not 0", ok=lambda v: np.isfinite(v) and v != 0, hint="try 1.0")
    columns = None if data.columns is None else (*data.columns, "constant")
    x = np.column_stack([data.x, np.full(data.n, value)])
    return Data(x, data.y, name=_named(data, "with bias"), classes=data.classes, columns=columns)


def centred(data: Data, mean) -> Data:
    if mean is None:
        mean = data.x.mean(axis=0)
    mean = as_finite("mean", mean, ndim=1, hint="give one number per column, such as `train.x.mean(axis=0)`")
    if mean.shape != (data.d,):
        raise ValueError(
            f"`mean` must have one number per column ({data.d}), got {mean.shape[0]}: use the training mean."
        )
    return Data(data.x - mean, data.y, name=_named(data, "centred"), classes=data.classes, columns=data.columns)


def normalised(data: Data) -> Data:
    zero = np.flatnonzero(~np.any(data.x, axis=1))
    if len(zero):
        raise ValueError(
            f"Rows must not be zero to be normalised, got x[{zero[0]}] = 0: "
            "drop it with `data.subset(data.x.any(axis=1))`."
        )
    return Data(
        _gram.unit_rows(data.x), data.y, name=_named(data, "normalised"), classes=data.classes, columns=data.columns
    )


def flipped(data: Data) -> Data:
    _no_names(data, "flipped")
    return Data(data.x, 0.0 - data.y, name=_named(data, "flipped"), columns=data.columns)


def _no_names(data: Data, what: str) -> None:
    if data.classes is not None:
        raise ValueError(
            f"Labels must be numbers to be {what}, got {len(data.classes)} named classes: use `data.one_hot()`."
        )


def one_hot(data: Data, classes: int | None) -> Data:
    if data.outputs > 1:
        raise ValueError(f"`one_hot` needs one class a row, got labels of shape {data.y.shape}: use them as they are.")
    k = class_count(data.y)
    named = len(data.classes) if data.classes is not None else k
    k = max(k, named) if classes is None else whole("classes", classes, least=k, hint="leave it out for the largest")
    names = data.classes if k == named else None
    return Data(data.x, labels_one_hot(data.y, k), name=_named(data, "one-hot"), classes=names, columns=data.columns)


def noisy(data: Data, flip: float, std: float, seed: int) -> Data:
    flip = number("flip", flip, rule="in [0, 1]", ok=lambda v: 0.0 <= v <= 1.0, hint="0.1 is one label in ten")
    std = number("std", std, rule=">= 0 and finite", ok=lambda v: 0.0 <= v < np.inf, hint="0.1 is a tenth")
    rng = np.random.default_rng([whole("seed", seed, least=0, hint="any non-negative seed"), 1])
    y = np.array(data.y)
    turned = rng.permutation(data.n)[: round(flip * data.n)]
    y[turned] = -y[turned]
    _no_names(data, "noisy")
    return Data(data.x, y + std * rng.normal(size=data.y.shape), name=_named(data, "noisy"), columns=data.columns)


def merged(data: Data, angle: float) -> Data:
    angle = number(
        "angle", angle, rule="in [0, pi/2)", ok=lambda v: 0.0 <= v < np.pi / 2, hint="radians; 1e-3 merges near copies"
    )
    place = np.unique(_chains(data.x, 2 * np.sin(angle / 2) + PARALLEL), return_inverse=True)[1]
    size = np.bincount(place)
    x, y = np.zeros((len(size), data.d)), np.zeros((len(size), *data.y.shape[1:]))
    np.add.at(x, place, data.x)
    np.add.at(y, place, data.y)
    y /= size.reshape(-1, *[1] * (y.ndim - 1))
    _no_names(data, "merged")
    return Data(x / size[:, None], y, name=_named(data, f"merged at {angle:g}"), columns=data.columns)


def _chains(x: np.ndarray, reach: float) -> np.ndarray:
    """For each row the first row of its group; two directions are linked if their chord is at most `reach`."""
    n = x.shape[0]
    u = _gram.unit_rows(x)
    alive = np.any(u, axis=1)
    group = np.arange(n)
    least = 1.0 - reach**2 / 2  # the cosine at that chord
    for first, cosines in _gram.cosine_blocks(x, fill=-2.0):
        rows, cols = np.nonzero(cosines >= least - _gram.NEAR)
        doubtful = cosines[rows, cols] <= least + _gram.NEAR
        rows, cols = rows + first, cols + first
        keep = alive[rows] & alive[cols]
        keep[doubtful] &= _gram.chord(u, rows[doubtful], cols[doubtful]) <= reach
        # Merging each block into the links found so far keeps memory at n links.
        i, k = np.concatenate([rows[keep], np.arange(n)]), np.concatenate([cols[keep], group])
        labels = connected_components(coo_array((np.ones(len(i), bool), (i, k)), shape=(n, n)), directed=False)[1]
        # A group is identified by its first row, so (row, group) is again a link.
        group = np.unique(labels, return_index=True)[1][labels]
    return group


def subset(data: Data, rows) -> Data:
    rows = np.asarray(rows)
    if rows.dtype == bool:
        if rows.shape != (data.n,):
            raise ValueError(f"A mask `rows` must have one entry per row ({data.n}), got shape {rows.shape}.")
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or rows.size == 0 or rows.dtype.kind not in "iu":
        raise ValueError(
            "`rows` must be a list of row numbers or a mask that keeps at least one row, "
            f"got {rows.dtype} of shape {rows.shape}."
        )
    bad = rows[(rows < -data.n) | (rows >= data.n)]
    if len(bad):
        raise ValueError(f"`rows` must lie in 0..{data.n - 1}, got {bad[0]}: count rows from 0.")
    return Data(
        data.x[rows], data.y[rows], name=_named(data, f"{len(rows)} rows"), classes=data.classes, columns=data.columns
    )


def split(data: Data, fraction: float, seed: int) -> tuple[Data, Data]:
    fraction = number(
        "fraction", fraction, rule="in (0, 1)", ok=lambda v: 0 < v < 1, hint="the training share, try 0.8"
    )
    seed = whole("seed", seed, least=0, hint="any non-negative seed")
    rng = np.random.default_rng([seed, 1])
    values, which = np.unique(data.y, axis=0, return_inverse=True)
    which = which.reshape(-1)
    pools = (
        [np.arange(data.n)] if len(values) > MANY_LABELS else [np.flatnonzero(which == v) for v in range(len(values))]
    )
    train = np.zeros(data.n, dtype=bool)
    for pool in pools:
        train[rng.permutation(pool)[: round(fraction * len(pool))]] = True
    if train.all() or not train.any():
        raise ValueError(
            f"`fraction` must leave rows on both sides, got {fraction:g} of {data.n} rows: give more rows."
        )
    return (
        Data(data.x[train], data.y[train], name=_named(data, "train"), classes=data.classes, columns=data.columns),
        Data(data.x[~train], data.y[~train], name=_named(data, "test"), classes=data.classes, columns=data.columns),
    )
