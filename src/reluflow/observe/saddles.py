r"""Saddles: the loss of each class, and the escape direction through a zero neuron.

With residuals r_k = y_k - f(x_k), a zero neuron moved to w = d v, a = s d, |v| = 1, changes the square loss by

    L(d) - L(0) = -s d^2 p(v) + O(d^4),      p(v) = (weight) sum_k r_k relu(<v, x_k>)

so that the curvature there, per unit of squared parameter norm (2 d^2), is -max_{s, v} s p(v). The origin and every
saddle between have such a direction; an interpolator has p = 0.
"""

from dataclasses import dataclass

import numpy as np

from reluflow._checks import one_output
from reluflow.init import Params
from reluflow.losses import SOFTMAX
from reluflow.observe._view import view
from reluflow.problem import Problem

STARTS = 200  # random directions from which the steepest escape is sought, besides those of the data


def class_losses(sol, t=None, *, log_t=None):
    """The square loss of the positive and of the negative labels, as parts of the whole: dims frame, label (+1, -1).

    With several outputs, the loss (square or softmax) of every class: dims frame, label (0 to k - 1).
    """
    if sol.problem.outputs > 1:
        return _of_classes(view(sol, t, log_t))
    if sol.problem.loss != "square":
        raise ValueError(f'`class_losses` needs the "square" loss, got "{sol.problem.loss}": see `margins`.')
    seen = view(sol, t, log_t)
    y = seen.data.y
    part = 0.5 * sol.problem.weight * (seen.outputs - y) ** 2
    found = np.stack([np.sum(part[:, s * y > 0], axis=1) for s in (1.0, -1.0)], axis=1)
    return seen.array(found, ("frame", "label"), "class_losses", label=[1, -1])


def _of_classes(seen):
    problem, targets = seen.problem, seen.problem.targets
    if problem.loss == "softmax":
        part = SOFTMAX.value(targets, seen.outputs, problem.weight)
    else:
        part = 0.5 * problem.weight * np.sum((seen.outputs - targets) ** 2, axis=-1)
    own = np.argmax(targets, axis=1)
    label = np.arange(problem.outputs)
    found = np.stack([np.sum(part[:, own == c], axis=1) for c in label], axis=1)
    return seen.array(found, ("frame", "label"), "class_losses", label=label)


@dataclass(frozen=True)
class Escape:
    """The steepest escape from a saddle through a zero neuron: `curvature` <= 0, the neuron's `sign` and `direction`.

    `exact` where the inputs are orthogonal; otherwise the steepest of many searches, so that the true curvature is at
    least as negative.
    """

    curvature: float
    sign: float
    direction: np.ndarray
    exact: bool


def escape(problem: Problem, params: Params | None = None, *, seed: int = 0) -> Escape:
    """Least curvature of the square loss at `params` (the initial weights if not given) along a zero neuron."""
    one_output(problem, "`escape`")
    if problem.loss != "square" or problem.activation.slope != 0.0:
        raise ValueError('`escape` needs loss "square" and ReLU: other losses are not supported.')
    params = problem.init if params is None else params
    x = problem.data.x
    w, a = params.w * np.exp(params.log_scales[0])[:, None], params.a * np.exp(params.log_scales[1])
    residual = problem.weight * (problem.data.y - np.maximum(x @ w.T, 0.0) @ a)
    size = np.linalg.norm(x, axis=1)
    unit = x / np.where(size > 0, size, 1.0)[:, None]
    exact = bool(
        np.max(np.abs(np.triu(unit @ unit.T, k=1)), initial=0.0) <= (problem.data.n + problem.data.d) * 2.3e-16
    )
    found = [_orthogonal(s * residual, x) if exact else _search(s * residual, x, unit, seed) for s in (1.0, -1.0)]
    best = 0 if found[0][0] >= found[1][0] else 1
    height, direction = found[best]
    return Escape(-height, (1.0, -1.0)[best], direction, exact)


def _orthogonal(r: np.ndarray, x: np.ndarray) -> tuple[float, np.ndarray]:
    """max_v sum_k r_k relu(<v, x_k>) for orthogonal rows: the norm of the positive part."""
    D = np.maximum(r, 0.0) @ x
    height = float(np.linalg.norm(D))
    return height, D / height if height > 0 else D


def _search(r: np.ndarray, x: np.ndarray, unit: np.ndarray, seed: int) -> tuple[float, np.ndarray]:
    """The largest found by v <- D(v)/|D(v)|, D(v) = sum_{<v,x_k> > 0} r_k x_k, best value met on the way."""
    rng = np.random.default_rng([seed, 3])
    v = np.vstack([unit, rng.normal(size=(STARTS, x.shape[1]))])
    best, where = 0.0, np.zeros(x.shape[1])
    for _ in range(100):
        length = np.linalg.norm(v, axis=1, keepdims=True)
        v = v / np.where(length > 0, length, 1.0)
        value = np.maximum(v @ x.T, 0.0) @ r
        k = int(np.argmax(value))
        if value[k] > best:
            best, where = float(value[k]), v[k]
        v = ((v @ x.T > 0) * r) @ x
    return best, where
