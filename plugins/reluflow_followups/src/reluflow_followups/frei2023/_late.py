r"""The weights at late times in closed form, for nearly orthogonal data.

A neuron moves along the data only: with $C_i = \frac1n \int -\ell'(y_i f_i)\,dt$,

    w_j(t) = w_j(0) + a_j sum_i y_i x_i (s_ji C_i + e_ji),    s_ji = 1 where a_j y_i > 0, else the slope.

The flow makes $a_j y_i \langle w_j, x_i\rangle > 0$ for every pair in the end, so $s$ is the last activation pattern. A
pair that starts on the other side has the other slope until it crosses: orthogonal data cross one by one, after
$C_i = |\langle w_j(0), x_i\rangle| / (s'_{ji} |a_j| |x_i|^2)$ with $s'$ the slope there, and
$e_{ji} = (s'_{ji} - s_{ji})$ times that. From then on $y f = G C + y f_0$, linear in $C$, and $(yf)' = G e^{-yf}/n$
has the solution $y_i f_i = \log t - \log(n \lambda_i) + O(1/t)$ with $\lambda = G^{-1} 1$.

So W = V log t + B: V of rank two (its rows are two vectors, one for each sign of a), the same from every start, and B
constant, of the first degree in the start. Every ratio of singular values is that of V up to B / log t.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Late(NamedTuple):
    """One row for each log t: the weights, the margins y f, and whether every pattern has settled."""

    w: np.ndarray
    margins: np.ndarray
    settled: np.ndarray


def late(problem, log_t) -> Late:
    """The late flow of the first layer with the logistic loss; exact up to O(1/t) where the data are orthogonal."""
    data, a, slope = problem.data, problem.init.a, problem.activation.slope
    side = np.sign(a)[:, None] * data.y
    start = np.exp(problem.init.log_scales[0])[:, None] * problem.init.w
    u = start @ data.x.T
    last = np.where(side > 0, 1.0, slope)
    first = np.where(u > 0, 1.0, slope)
    # Patterns agree from the start on where side * u > 0; there nothing is to cross.
    crossing = np.where(side * u < 0, np.abs(u), 0.0) / (first * np.abs(a)[:, None] * np.sum(data.x**2, axis=1))
    left = start + (a[:, None] * data.y * (first - last) * crossing) @ data.x

    along = a[:, None] * last * data.y
    g = (along.T @ along) * (data.x @ data.x.T)
    before = np.sum(along * (left @ data.x.T), axis=0)
    at_one = np.linalg.solve(g, np.ones(data.n))
    margins = np.asarray(log_t, float)[:, None] - np.log(data.n * at_one)
    c = np.linalg.solve(g, (margins - before).T).T
    w = left + np.einsum("ji,ti,id->tjd", along, c, data.x)
    return Late(w, margins, np.all(c >= crossing.max(axis=0), axis=1))


def limit(problem) -> np.ndarray:
    """V, the limit of W / log t: all data on the margin, neurons of one sign equal."""
    data, a, slope = problem.data, problem.init.a, problem.activation.slope
    along = a[:, None] * data.y * np.where(np.sign(a)[:, None] * data.y > 0, 1.0, slope)
    return (along * np.linalg.solve((along.T @ along) * (data.x @ data.x.T), np.ones(data.n))) @ data.x
