r"""Stationary points of the population loss: minima, saddles with their ways out, and the known spurious minima.

    stationary(problem, near)    the stationary point that Newton's method reaches, with its Hessian's spectrum
    spurious(k)                  k students, k orthonormal teachers, a = 1: the family of Safran and Shamir (ICML 2018),
                                 W_ii = p, off the diagonal q, last column r, last row s, corner t [Arjevani and Field]

Both layers trained, every neuron may be scaled by w -> e^x w, a -> e^-x a: such directions have curvature 0 and are
counted apart.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import root

from reluflow._checks import by_name, whole
from reluflow.init import Params
from reluflow.population import closed_form
from reluflow.population.problem import Problem

FLAT = 1e-7  # of the largest eigenvalue: below it a curvature counts as 0
TURNS = 200
REST = 1e-13  # of the weights cubed: a gradient below it is rounding
SMALL = 1e-8  # of the largest |a||w|: smaller neurons are no part of a stationary point


@dataclass(frozen=True, eq=False)
class Point:
    """A stationary point: weights, loss, |grad L|, eigenvalues and eigenvectors (columns) of the Hessian."""

    problem: Problem
    params: Params
    loss: float
    gradient: float
    eigenvalues: np.ndarray
    vectors: np.ndarray

    @cached_property
    def flat(self) -> int:
        """How many curvatures are 0."""
        return int(np.sum(np.abs(self.eigenvalues) <= FLAT * np.max(np.abs(self.eigenvalues))))

    @cached_property
    def index(self) -> int:
        """How many curvatures are negative."""
        return int(np.sum(self.eigenvalues < -FLAT * np.max(np.abs(self.eigenvalues))))

    @property
    def kind(self) -> str:
        """ "saddle", "minimum" or, where the loss is 0, "global minimum"."""
        if self.index:
            return "saddle"
        scale = self.problem.loss(Params(np.zeros_like(self.params.w), np.zeros_like(self.params.a)))
        return "global minimum" if self.loss < 1e-12 * scale else "minimum"

    @property
    def escape(self) -> list[tuple[float, np.ndarray, np.ndarray]]:
        """(rate, change of w, change of a) of every way down, fastest first; the flow leaves along it as e^{rate t}."""
        m, d = self.params.w.shape
        ways = []
        for k in range(self.index):
            v = self.vectors[:, k]
            a = v[m * d :] if self.problem.train == "both" else np.zeros(m)
            ways.append((float(-self.eigenvalues[k]), v[: m * d].reshape(m, d), a))
        return ways

    def __repr__(self) -> str:
        least = self.eigenvalues[0]
        return (
            f"Point({self.kind}, loss {self.loss:.9g}, |grad| {self.gradient:.1e}, {self.index} ways down, {self.flat} "
            f"flat, curvature {least:.6g} to {self.eigenvalues[-1]:.6g})"
        )


@by_name
def stationary(problem: Problem, near: Params | None = None, tol: float = 1e-12) -> Point:
    """The stationary point of the loss that damped Newton steps reach from `near` (left out: the start).

    It need not be a minimum: the nearest saddle is found from a plateau of a run, `stationary(problem, sol.at(t))`.
    Neurons that are still small, below 1e-8 of the largest, are left out: at 0 the loss is not smooth in them.
    """
    params = near or problem.init
    w, a = _large(params)
    problem = replace(problem, init=Params(w, a))
    both = problem.train == "both"

    def gradient(x):
        gw, ga = problem.gradient(_params(x, w.shape, a))
        return np.concatenate([gw.ravel(), ga]) if both else gw.ravel()

    x = np.concatenate([w.ravel(), a]) if both else w.ravel()
    scale = problem.law.kappa * np.max(np.abs(x)) ** 3 + 1e-300
    g, damp = gradient(x), 1e-3
    for _ in range(TURNS):
        if np.linalg.norm(g) <= REST * scale:
            break
        hessian = problem.hessian(_params(x, w.shape, a))
        values, vectors = np.linalg.eigh(hessian)
        slopes = vectors.T @ g
        while damp < 1e12:
            # |H| H + damp: Newton's step where curvatures are large, none along directions in which nothing changes.
            step = -vectors @ (slopes * values / (values**2 + damp * (1e-3 + np.max(values**2)) * 1e-3))
            new = gradient(x + step)
            if np.linalg.norm(new) < np.linalg.norm(g):
                break
            damp *= 10.0
        else:
            break
        x, g, damp = x + step, new, max(damp / 30.0, 1e-10)
    size = float(np.linalg.norm(g))
    if size > max(tol, 1e-9) * max(1.0, scale):
        raise ValueError(
            f"`near` must lie near a stationary point, got |grad L| = {size:.3g} after {TURNS} Newton steps: run the "
            "flow further and start from `sol.at(t)`."
        )
    return point(problem, _params(x, w.shape, a))


def _large(params: Params) -> tuple[np.ndarray, np.ndarray]:
    log_w, log_a = params.log_scales
    with np.errstate(divide="ignore"):
        size = log_w + log_a + np.log(np.linalg.norm(params.w, axis=1)) + np.log(np.abs(params.a))
    keep = size > np.max(size) + np.log(SMALL)
    return params.w[keep] * np.exp(log_w[keep])[:, None], params.a[keep] * np.exp(log_a[keep])


def point(problem: Problem, params: Params) -> Point:
    """What the loss looks like at these weights."""
    values, vectors = np.linalg.eigh(problem.hessian(params))
    gw, ga = problem.gradient(params)
    size = float(np.sqrt(np.sum(gw**2) + (np.sum(ga**2) if problem.train == "both" else 0.0)))
    return Point(problem, params, problem.loss(params), size, values, vectors)


def _params(x: np.ndarray, shape: tuple[int, int], a: np.ndarray) -> Params:
    cut = shape[0] * shape[1]
    return Params(x[:cut].reshape(shape), x[cut:] if len(x) > cut else a)


@by_name
def spurious(k: int) -> Point:
    """The symmetric stationary point of k students with a = 1 and k orthonormal teachers, first layer trained: a saddle
    for k = 5, a spurious minimum from k = 6 on (proved for 6 <= k <= 20 by Safran and Shamir)."""
    k = whole("k", k, least=5, hint="the family starts at 5, and is a minimum from 6 on")
    teacher = Params(np.eye(k), np.ones(k))
    x = np.array([0.98670, -0.05041, 0.30801, 0.22452, -0.60151])  # k = 6
    for size in [*range(6, k + 1)] if k >= 6 else [6, 5]:
        rest = lambda y, n=size: _five(closed_form.gradient(_matrix(y, n), np.ones(n), np.eye(n), np.ones(n))[0])
        x = root(rest, x, tol=1e-14).x
    problem = Problem(teacher, Params(_matrix(x, k), np.ones(k)), train="first")
    return point(problem, problem.init)


def _matrix(x: np.ndarray, k: int) -> np.ndarray:
    p, q, r, s, t = x
    w = np.full((k, k), q)
    np.fill_diagonal(w, p)
    w[:, -1], w[-1, :] = r, s
    w[-1, -1] = t
    return w


def _five(w: np.ndarray) -> np.ndarray:
    return np.array([w[0, 0], w[0, 1], w[0, -1], w[-1, 0], w[-1, -1]])
