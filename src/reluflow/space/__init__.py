"""Spaces of problems that `rf.falsify` searches: data, labels, initial weights, scale.

Each function names a family of data; the keywords that follow belong to the network and its training and are the same
for all of them (`Training`). A size may be a number or a list, from small to large, searched in that order.
"""

from reluflow.space.core import SingleSpace, Space, sizes
from reluflow.space.families import Free, Line, NearlyOrthogonal, Orthonormal, Separable
from reluflow.space.training import training

__all__ = ["free", "line", "nearly_orthogonal", "orthonormal", "separable", "single"]


def line(n=3, *, labels: str = "free", **options) -> Space:
    """Points on a line with a column of ones: rows (x_i, 1), x_1 < ... < x_n."""
    return Space(Line(labels), sizes("n", n), training("line", options))


def free(n=3, dim=2, *, labels: str = "free", **options) -> Space:
    """Any `n` points in `dim` dimensions."""
    return Space(Free(labels, sizes("dim", dim)[-1]), sizes("n", n), training("free", options))


def orthonormal(n=3, *, norms: bool = False, labels: str = "both", **options) -> Space:
    """Orthonormal points, in their own coordinates; with `norms`, orthogonal ones of any lengths."""
    return Space(Orthonormal(labels, bool(norms)), sizes("n", n), training("orthonormal", options))


def separable(n=4, dim=None, *, mu: float = 0.0, lengths: bool = True, labels: str = "signs", **options) -> Space:
    """Orthogonally separable points: cosines of y_i x_i and y_k x_k all above `mu`; `lengths` free or all 1."""
    dim = None if dim is None else sizes("dim", dim)[-1]
    return Space(Separable(labels, dim, mu, bool(lengths)), sizes("n", n), training("separable", options))


def nearly_orthogonal(n=4, dim=None, *, kappa: float = 0.05, labels: str = "alternating", **options) -> Space:
    """Unit vectors with n |<x_i, x_k>| <= `kappa`, in n dimensions or `dim`."""
    dim = None if dim is None else sizes("dim", dim)[-1]
    return Space(NearlyOrthogonal(labels, kappa, dim), sizes("n", n), training("nearly_orthogonal", options))


def single(m=(0, 1, 2), *, step=None, rtol: float = 1e-10, t1: float = 60.0) -> SingleSpace:
    """One neuron of m + 1 layers that learns another of length 1: |w_0| and the angle; `step` "free" or a number
    makes it descent."""
    return SingleSpace(sizes("m", m, least=0), step, rtol, t1)
