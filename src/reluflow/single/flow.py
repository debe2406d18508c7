r"""The population flow, in coordinates that stay finite at every scale and time.

With the target and kappa scaled to 1 (time kappa v*^2m t), Q = |w| v_1 ... v_m and lambda = log Q:

    (log v_j)' = (Q / v_j^2) X,   y' = (Q / |w|^2) phi / 2 pi,   X = (s(phi) - Q) / 2

In the clock dt = (h^2 / Q) dtau with 1/h^2 = sum_j 1/v_j^2, and with p_j = h^2 / v_j^2 <= 1, which sum to 1:

    (log v_j)' = p_j X,   lambda' = X,   y' = p_w phi / 2 pi,   sigma' = 1 - sigma X (2 sum_j p_j^2 - 1)

where t = sigma h^2 / Q, carried as omega = log(1 + sigma). No rate depends on the scale: e^-1000 costs as much as 1,
and t may be e^1000. Near the end X = -(e^lambda - 1 + eps) / 2, so that theta and log(v/v*) are accurate relative to
themselves.
"""

import math

import numpy as np
from scipy.integrate import DOP853

from reluflow.outcome import Outcome
from reluflow.single.angle import s_and_eps

LAMBDA, Y, OMEGA, LAYERS = 0, 1, 2, 3  # places in the state; the layers follow
FAR, NEAR = 150.0, 40.0  # e^-FAR is where theta and lambda count as having arrived; e^-NEAR when no end is given
REFINE = 4  # frames per step
BEYOND = 100.0  # reached only by a trial step that will be rejected
LEAST_RTOL = 2.3e-14  # scipy's bounds


class Curve:
    """A solved flow as a function of log t, in unit time: the pieces of scipy's dense output, evaluated together."""

    def __init__(self, taus: list[float], pieces: list, counts: list[int]):
        self.counts, self.taus = np.array(counts, dtype=float), np.array(taus)
        self.starts, self.parts = np.array([p.y_old for p in pieces]), np.array([p.F[::-1] for p in pieces])
        nodes = self._states(np.append(self.taus[:-1], self.taus[-1]), np.r_[: len(pieces), len(pieces) - 1])
        self.log_t = log_time(nodes, self.counts)

    def _states(self, tau: np.ndarray, piece: np.ndarray) -> np.ndarray:
        """States at `tau`, each in its piece."""
        x = ((tau - self.taus[piece]) / np.diff(self.taus)[piece])[:, None]
        total = np.zeros((len(tau), self.starts.shape[1]))
        for i in range(self.parts.shape[1]):
            total = (total + self.parts[piece, i]) * (x if i % 2 == 0 else 1.0 - x)
        states = (total + self.starts[piece]).T
        states[OMEGA] = np.maximum(states[OMEGA], 0.0)
        return states

    def frames(self) -> np.ndarray:
        """States at the steps and between them."""
        inside = np.linspace(0.0, 1.0, REFINE, endpoint=False)
        pieces = np.repeat(np.arange(len(self.taus) - 1), REFINE)
        tau = (self.taus[:-1, None] + np.diff(self.taus)[:, None] * inside).ravel()
        return self._states(np.append(tau, self.taus[-1]), np.append(pieces, pieces[-1]))

    def at(self, log_t: np.ndarray) -> np.ndarray:
        """States (rows of the system, times) at these log times; times beyond the end show the end."""
        wanted = np.minimum(log_t, self.log_t[-1])
        k = np.clip(np.searchsorted(self.log_t, wanted, side="right") - 1, 0, len(self.taus) - 2)
        low, high = self.taus[k], self.taus[k + 1]
        tau = 0.5 * (low + high)
        for _ in range(100):
            states = self._states(tau, k)
            with np.errstate(invalid="ignore"):
                gap = np.where(np.isneginf(wanted), np.inf, log_time(states, self.counts) - wanted)
            low, high = np.where(gap <= 0, tau, low), np.where(gap >= 0, tau, high)
            sigma = np.expm1(np.minimum(states[OMEGA], 700.0))  # d tau / d log t
            newton = tau - gap * sigma
            new = np.where((newton > low) & (newton < high), newton, 0.5 * (low + high))
            done = np.all(np.abs(new - tau) <= 1e-13 * np.maximum(tau, sigma))
            tau = new
            if done:
                break
        return self._states(np.where(np.isneginf(wanted), 0.0, tau), k)


def log_time(states: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """log of unit time: log sigma + 2 log h - lambda, sigma = e^omega - 1."""
    logs = np.log(counts)[:, None] - 2.0 * states[LAYERS:]
    top = logs.max(axis=0)
    log_h2 = -(top + np.log(np.sum(np.exp(logs - top), axis=0)))
    omega = states[OMEGA]
    with np.errstate(divide="ignore"):
        return omega + np.log(-np.expm1(-omega)) + log_h2 - states[LAMBDA]


def field(counts: list[int], held: tuple[float, float, float] | None = None):
    """The right-hand side; `held` = (phi, s, eps) keeps the angle where it is."""

    def rates(tau: float, z: np.ndarray) -> list[float]:
        lam, y, omega, *layers = z.tolist()
        phi, s, eps = held or s_and_eps(y)
        x = 0.5 * (s - math.exp(lam)) if lam < -0.5 else -0.5 * (math.expm1(min(lam, BEYOND)) + eps)
        low = min(layers)
        p = [math.exp(2.0 * (low - v)) for v in layers]
        total = sum(c * v for c, v in zip(counts, p))
        p = [v / total for v in p]
        squares = sum(c * v * v for c, v in zip(counts, p))
        turn = 0.0 if held else p[0] * phi / (2.0 * math.pi)
        omega = max(omega, -1.0)  # below 0 only in a trial step that will be rejected
        part = -math.expm1(-omega)  # sigma / (1 + sigma)
        return [x, turn, math.exp(-omega) - part * x * (2.0 * squares - 1.0), *(x * v for v in p)]

    return rates


def follow(layers: np.ndarray, counts: list[int], y0: float, rtol: float, log_t1: float, steps: int, held=None):
    """(Curve, outcome, steps taken) from the layers log(v_j/v*) and y0 until unit time e^log_t1 or until at rest."""
    lam = float(np.dot(counts, layers))
    if held is None and not math.isfinite(y0):
        held, y0 = ((0.0, 0.0, 1.0) if y0 < 0 else (math.pi, 1.0, 0.0)), 0.0
    start = np.array([lam, y0, 0.0, *layers])
    # Between steps the polynomial is less exact than at them, by a factor of up to 1,000.
    rtol = max(0.004 * rtol, LEAST_RTOL)
    # Logarithms are to be right absolutely, lambda near 0 relatively.
    rel = np.maximum(rtol / np.maximum(1.0, np.abs([lam, y0, lam, *layers])), LEAST_RTOL)
    rest = NEAR if log_t1 == math.inf else FAR
    absolute = np.concatenate([[1e-200, rtol, 1e-3 * rtol], np.full(len(layers), rtol)])
    solver = DOP853(field(counts, held), 0.0, start, math.inf, first_step=1e-3, rtol=rel, atol=absolute)
    taus, outcome = [0.0], Outcome.REACHED
    pieces: list = []
    weights = np.array(counts, dtype=float)
    while True:
        if len(pieces) >= steps:
            outcome = Outcome.STEP_LIMIT
            break
        solver.step()
        if solver.status == "failed":
            outcome = Outcome.STALLED
            break
        pieces.append(solver.dense_output())
        taus.append(solver.t)
        if log_time(solver.y[:, None], weights)[0] >= log_t1:
            break
        if resting(solver.y, held, rest):
            outcome = Outcome.STATIONARY
            break
    return Curve(taus, pieces, counts), outcome, len(pieces)


def resting(z: np.ndarray, held, rest: float) -> bool:
    """Whether the flow has converged, judged in the state's logarithms."""
    small = math.exp(-rest)
    if held is None:
        return z[Y] > rest and abs(z[LAMBDA]) < small
    s, eps = held[1:]
    if s == 0.0:
        return bool(z[LAMBDA] < -2e6)  # phi = 0: w shrinks to 0 for ever
    if eps == 0.0:
        return abs(z[LAMBDA]) < small**2.5  # bounds fall faster than what they bound
    return abs(z[LAMBDA] - math.log(s)) < 4e-16
