"""Random data. Every generator draws from `default_rng([seed, 1])`, in the order given in its docstring.

`labels` is a list of numbers, or "signs" (+1 or -1 at random), "balanced" (+1 for the first half, -1 for the rest),
"gaussian" or "positive".
"""

from __future__ import annotations

import numpy as np

from reluflow._checks import as_finite, number, whole
from reluflow.data import _draw
from reluflow.data.core import Data


def _positive(name: str, value) -> float:
    return number(name, value, rule="positive and finite", ok=lambda v: 0 < v < np.inf, hint="try 1.0")


def _not_negative(name: str, value) -> float:
    return number(name, value, rule="finite and not negative", ok=lambda v: 0 <= v < np.inf, hint="try 0.1")


def random_points(n: int, d: int, labels="gaussian", scale: float = 1.0, seed: int = 0) -> Data:
    """Standard normal rows times `scale`, then labels: generic data, outside the assumptions of the papers."""
    n, d, rng = _draw.rows(n), _draw.columns(d), _draw.stream(seed)
    x = _positive("scale", scale) * rng.normal(size=(n, d))
    return Data(x, _draw.labels(labels, n, rng), name="random_points")


def orthonormal(n: int, d: int | None = None, labels="signs", seed: int = 0) -> Data:
    """Rows of a random orthonormal family (Assumption 1 of Boursier et al.), then labels; `d` is n unless given."""
    return _orthogonal(np.ones(_draw.rows(n)), labels, d, seed, "orthonormal")


def orthogonal(norms, labels="signs", d: int | None = None, seed: int = 0) -> Data:
    """Orthogonal rows with the `norms` given, in random directions, then labels; `d` is their number unless given."""
    size = as_finite("norms", norms, ndim=1, hint="give one norm per row")
    if size.size == 0 or np.any(size <= 0):
        bad = "none" if size.size == 0 else f"{size[size <= 0][0]:g}"
        raise ValueError(f"`norms` must be positive, one per row, got {bad}: as in `norms=[1.0, 2.0]`.")
    return _orthogonal(size, labels, d, seed, "orthogonal")


def _orthogonal(size: np.ndarray, labels, d: int | None, seed: int, name: str) -> Data:
    n = len(size)
    d = n if d is None else _draw.columns(d)
    if d < n:
        raise ValueError(
            f"`d` must be at least the number of rows ({n}), got {d}: R^{d} holds only {d} orthogonal rows."
        )
    rng = _draw.stream(seed)
    return Data(size[:, None] * _draw.orthonormal_rows(n, d, rng), _draw.labels(labels, n, rng), name=name)


def orthogonally_separable(
    n: int, d: int, mu: float, labels="balanced", norm_min: float = 1.0, norm_max: float = 1.0, seed: int = 0
) -> Data:
    r"""Data for Assumption 1 of Min et al. whose smallest label-signed cosine is `mu`, to rounding.

    The directions u_i = y_i x_i / |x_i| lie in a cap of half angle arccos(mu) / 2 around a random centre: at random,
    except for two at opposite ends of a diameter. These two attain mu; by the triangle inequality no pair is further
    apart. Drawn: the centre, directions in the cap, depths uniform in (0, 1), which two rows, norms uniform in
    [norm_min, norm_max], labels.
    """
    n = whole("n", n, least=2, hint="mu is about pairs of rows")
    d = whole("d", d, least=2, hint="on a line every cosine is 1 or -1")
    mu = number("mu", mu, rule="in (0, 1)", ok=lambda v: 0 < v < 1, hint="no theorem applies at 0 or below; try 0.3")
    low, high = _positive("norm_min", norm_min), _positive("norm_max", norm_max)
    if high < low:
        raise ValueError(f"`norm_max` must be at least `norm_min` = {low:g}, got {high:g}: swap them.")
    rng = _draw.stream(seed)
    centre = rng.normal(size=d)
    centre /= np.linalg.norm(centre)
    across = rng.normal(size=(n, d))
    depth = rng.random(n)
    i, k = rng.choice(n, size=2, replace=False)
    for _ in range(2):  # twice: after one projection the rounding error may be large relative to a short remainder
        across -= np.outer(across @ centre, centre)
        across /= np.linalg.norm(across, axis=1, keepdims=True)
    across[k], depth[[i, k]] = -across[i], 1.0
    angle = depth * np.arccos(mu) / 2
    u = np.cos(angle)[:, None] * centre + np.sin(angle)[:, None] * across
    size = rng.uniform(low, high, size=n)
    y = _draw.labels(labels, n, rng)
    if np.any(y == 0):
        raise ValueError(
            f"`labels` must not be 0 here, got 0 at row {np.flatnonzero(y == 0)[0]}: its sign decides a class."
        )
    return Data((np.sign(y) * size)[:, None] * u, y, name="orthogonally_separable")


def nearly_orthogonal(
    n: int, kappa: float, d: int | None = None, norm: float = 1.0, labels="signs", seed: int = 0
) -> Data:
    r"""Data for Kou et al. with equal norms and n max|<x_i, x_k>| / |x|^2 = `kappa`, every pair at that bound.

    The Gram matrix is norm^2 (I + (kappa/n) S), S symmetric with random +-1 off the diagonal, and X its Cholesky factor
    (d = n); giving `d` embeds it in a random n-dimensional subspace of R^d. kappa < n/(n-1) is always possible; beyond,
    it depends on the signs drawn, and the error states the limit. Drawn: S, the subspace, labels.
    """
    n = whole("n", n, least=2, hint="kappa is about pairs of rows")
    kappa = _not_negative("kappa", kappa)
    size = _positive("norm", norm)
    rng = _draw.stream(seed)
    s = np.triu(rng.choice([-1.0, 1.0], size=(n, n)), k=1)
    s += s.T
    limit = n / -float(np.linalg.eigvalsh(s)[0])
    # At the limit the rows are linearly dependent; a factor 1e-8 away is still accurate to rounding.
    if kappa >= limit * (1 - 1e-8):
        raise ValueError(
            f"`kappa` must be below {limit:.6g} for these signs (n = {n}, seed = {seed}), got {kappa:g}: "
            "no rows with such angles exist; lower it or try another seed."
        )
    x = size * np.linalg.cholesky(np.eye(n) + (kappa / n) * s)
    if d is not None:
        if _draw.columns(d) < n:
            raise ValueError(f"`d` must be at least n = {n}, got {d}: nearly orthogonal rows are independent.")
        x = x @ _draw.orthonormal_rows(n, d, rng)
    return Data(x, _draw.labels(labels, n, rng), name="nearly_orthogonal")


def gaussian_mixture(
    n: int = 10, d: int = 784, mean_std: float = 0.01, noise_std: float = 1.0, labels="signs", seed: int = 0
) -> Data:
    """Figure 1 of Kou et al.: x = y m + noise, one centre m ~ N(0, mean_std^2 I), noise N(0, noise_std^2 I).

    The defaults are those of the figure. Drawn: m, labels, noise.
    """
    n, d, rng = _draw.rows(n), _draw.columns(d), _draw.stream(seed)
    centre = _not_negative("mean_std", mean_std) * rng.normal(size=d)
    y = _draw.labels(labels, n, rng)
    noise = _not_negative("noise_std", noise_std) * rng.normal(size=(n, d))
    return Data(y[:, None] * centre + noise, y, name="gaussian_mixture")


def blobs(n: int = 30, classes: int = 3, d: int = 2, radius: float = 2.0, std: float = 0.5, seed: int = 0) -> Data:
    """Classes for the softmax loss: Gaussian clouds around centres at distance `radius` from 0, equally many rows each.

    In the plane the centres are evenly spread; in more dimensions their directions are random. Row i has class
    i mod `classes`. Drawn: directions of the centres (d > 2), then the noise.
    """
    n, d, rng = _draw.rows(n), _draw.columns(d), _draw.stream(seed)
    k = whole("classes", classes, least=2, hint="one class has nothing to learn")
    if d == 2:
        angle = 2 * np.pi * np.arange(k) / k + np.pi / 2
        centre = np.column_stack([np.cos(angle), np.sin(angle)])
    else:
        centre = rng.normal(size=(k, d))
        centre /= np.linalg.norm(centre, axis=1, keepdims=True)
    y = np.arange(n) % k
    x = _positive("radius", radius) * centre[y] + _not_negative("std", std) * rng.normal(size=(n, d))
    return Data(x, y, name="blobs", classes=tuple(map(str, range(k))))


def gaussian_neuron(n: int = 10_000, d: int = 100, std: float = 1.0, depth: int = 1, seed: int = 0) -> Data:
    """Lee et al.: standard normal rows labelled by one target neuron, y = |w*|^(depth-1) max(<w*, x>, 0).

    w* has entries N(0, std^2): the paper's k* is taken as `std`, in line with its text; pass sqrt(k*) for a variance.
    `depth` 1, 2, 3 are their 1L, 2L, 3L with a balanced target. Drawn: w* (`gaussian_neuron_target` gives it), rows.
    """
    n, rng = _draw.rows(n), _draw.stream(seed)
    depth = whole("depth", depth, least=1, hint="1 is a single neuron")
    target = _target(d, std, rng)
    x = rng.normal(size=(n, len(target)))
    y = np.linalg.norm(target) ** (depth - 1) * np.maximum(x @ target, 0.0)
    return Data(x, y, name="gaussian_neuron")


def gaussian_neuron_target(d: int = 100, std: float = 1.0, seed: int = 0) -> np.ndarray:
    """The target w* of `gaussian_neuron` with the same `d`, `std` and `seed`."""
    return _target(d, std, _draw.stream(seed))


def _target(d: int, std: float, rng: np.random.Generator) -> np.ndarray:
    return _positive("std", std) * rng.normal(size=_draw.columns(d))
