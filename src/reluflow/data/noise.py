"""Labels made wrong on purpose: noise added, or signs flipped; the clean labels are kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow._checks import number, whole
from reluflow.data.core import Data


class Noisy(NamedTuple):
    """`data` with the labels to train on, the `clean` ones, and the `rows` whose labels differ."""

    data: Data
    clean: np.ndarray
    rows: np.ndarray


def _stream(seed: int) -> np.random.Generator:
    return np.random.default_rng([whole("seed", seed, least=0, hint="any non-negative seed"), 4])


def add_noise(data: Data, sigma: float, seed: int = 0) -> Noisy:
    """Labels plus `sigma` times standard normal numbers, one for each row."""
    sigma = number("sigma", sigma, rule="positive and finite", ok=lambda v: 0.0 < v < np.inf, hint="try 0.1")
    noise = sigma * _stream(seed).normal(size=data.y.shape)
    name = f"{data.name}, noise {sigma:g}" if data.name else ""
    return Noisy(Data(data.x, data.y + noise, name=name), np.array(data.y), np.arange(data.n))


def flip_labels(data: Data, share: float, seed: int = 0) -> Noisy:
    """The labels of exactly round(share n) rows, drawn at random, times -1."""
    share = number("share", share, rule="in [0, 1]", ok=lambda v: 0.0 <= v <= 1.0, hint="0.1 flips a tenth")
    rows = np.sort(_stream(seed).permutation(data.n)[: round(share * data.n)])
    y = np.array(data.y)
    y[rows] = -y[rows]
    name = f"{data.name}, {len(rows)} flipped" if data.name else ""
    return Noisy(Data(data.x, y, name=name), np.array(data.y), rows)
