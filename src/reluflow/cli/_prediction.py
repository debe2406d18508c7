r"""Theoretical prediction for orthogonal inputs, square loss and balanced weights of scale lambda = e^log_scale -> 0.

While outputs are still 0 each neuron moves alone: c_k = <w, x_k> changes linearly in the clock eta = int |w| dt, and
reaches 0 on points with s y_k < 0 at eta_k = n c_k / (|y_k| |x_k|^2). Afterwards |w_j| = lambda A_j e^{|D| t}, and each
class is fitted along a logistic curve:

    D+ = (1/n) sum_{y_k > 0} y_k x_k,     u+(t) = u_inf / (1 + e^{-2 |D+| (t - t+)}),
    t+ = (log(1/lambda) + log(u_inf / V+) / 2) / |D+|,     V+ = sum A_j^2

over the neurons with s = +1 that are active on the whole class; the same for the other class with -D-. Rows of one
class must have one norm nu, then u_inf = n |D| / nu^2. (Boursier, Pillaud-Vivien, Flammarion 2022, times made exact.)
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Class:
    """One label sign: when its points are fitted, how fast, by how many neurons, and the loss they carry until then."""

    sign: int
    rate: float  # |D|
    half: float  # t at which u = u_inf / 2
    u_inf: float
    neurons: int
    loss: float

    def fitted(self, t) -> np.ndarray:
        """u / u_inf at time t."""
        return 1.0 / (1.0 + np.exp(np.clip(-2.0 * self.rate * (np.asarray(t, float) - self.half), -700, 700)))


@dataclass(frozen=True)
class Prediction:
    """Crossings (time, neuron, datum) in order, and the two classes, the one fitted first first."""

    crossings: list[tuple[float, int, int]]
    classes: list[Class]

    def loss(self, t) -> np.ndarray:
        return sum((c.loss * (1.0 - c.fitted(t)) ** 2 for c in self.classes), np.zeros(np.shape(t)))

    @property
    def squared_norm(self) -> float:
        return 2.0 * sum(c.u_inf for c in self.classes)


def predict(data, init, log_scale: float) -> Prediction:
    """The prediction for `rf.Problem(data, init)` with mean square loss; `log_scale` is the scale of `init`."""
    x, y, n = data.x, data.y, data.n
    nu2 = np.sum(x**2, axis=1)
    crossings: list[tuple[float, int, int]] = []
    growth, full = np.zeros(init.width), np.zeros(init.width, bool)
    for j in range(init.width):
        times, growth[j], full[j] = _neuron(init.w[j], np.sign(init.a[j]), x, y, nu2, n)
        crossings += [(t, j, k) for t, k in times]
    classes = []
    for sign in (1, -1):
        mine = np.sign(y) == sign
        rate = float(np.linalg.norm(y[mine] @ x[mine])) / n
        u_inf = n * rate / float(nu2[mine][0])
        group = full & (np.sign(init.a) == sign)
        half = (-log_scale + 0.5 * np.log(u_inf / np.sum(growth[group] ** 2))) / rate
        classes.append(Class(sign, rate, float(half), u_inf, int(group.sum()), float(np.sum(y[mine] ** 2)) / (2 * n)))
    return Prediction(sorted(crossings), sorted(classes, key=lambda c: c.half))


def _neuron(w, s, x, y, nu2, n):
    """When a neuron becomes inactive on which points, A_j, and whether it stays active on its whole class."""
    c = x @ w
    active = c > 0
    dying = active & (s * y < 0)
    eta = np.where(dying, n * c / (np.abs(y) * nu2), np.inf)
    times: list[tuple[float, int]] = []
    t, now, w = 0.0, 0.0, np.array(w, float)
    for k in [*np.argsort(eta)[: int(dying.sum())], None]:
        d = s * (y[active] @ x[active]) / n
        size = np.linalg.norm(d)
        if size == 0.0:
            return times, 0.0, False
        p = w @ d / size
        q = np.sqrt(max(w @ w - p * p, 0.0))
        if k is None:
            grown = 0.5 * (p + np.linalg.norm(w)) * np.exp(-size * t)
            return times, grown, bool(np.all(active[s * y > 0]))
        step = eta[k] - now
        t += (np.arcsinh((p + size * step) / q) - np.arcsinh(p / q)) / size
        w += step * d
        now = eta[k]
        times.append((float(t), int(k)))
        active[k] = False
