"""`Probe`: records a two-layer PyTorch model during the user's own training loop."""

from __future__ import annotations

import time as _time

import numpy as np

from reluflow._checks import number, one_of, whole
from reluflow.drive.descent import Machine
from reluflow.engine import descent as kd
from reluflow.init import Params
from reluflow.losses import LOSSES
from reluflow.many._seen import watched
from reluflow.methods import Descent, as_bytes
from reluflow.outcome import Outcome
from reluflow.problem import Problem
from reluflow.solution import Solution, recorded
from reluflow.torch._model import array, as_data, import_torch, layers, weights
from reluflow.torch._watched import Between, Watched

MEMORY = "256 MiB"


class Probe:
    """Watches `model` (Linear, ReLU or LeakyReLU, Linear to one output) train on `x`, `y` under any optimiser.

        probe = rf.torch.Probe(model, x, y, every=100)
        for _ in range(10_000):
            optimizer.zero_grad()
            ...
            optimizer.step()
            probe.step()
        sol = probe.solution()

    Every `every`-th `probe.step()` copies the weights; `solution()` does all other work. With `optimizer=` the probe
    counts that optimiser's steps by itself and `probe.step()` must not be called. Beyond `memory` every second record
    is dropped and `every` doubles.

    Time is t = k step after k steps: `step` as given, else the rate of a plain SGD given as `optimizer`, else 1. `loss`
    and `reduction` follow this library's conventions: "square" is (1/2)(f - y)^2, so a loop with torch.nn.MSELoss and
    rate lr takes steps of 2 lr. Labels 0 and 1 count as -1 and +1 for the other losses. The `weight_decay` of a plain
    SGD becomes the problem's `decay`.
    """

    def __init__(
        self,
        model,
        x,
        y,
        every: int = 100,
        *,
        optimizer=None,
        step: float | None = None,
        loss: str = "square",
        reduction: str = "mean",
        memory: str = MEMORY,
    ):
        self.every = whole("every", every, least=1, hint="100 has a negligible cost")
        if step is not None:
            step = number("step", step, rule="positive and finite", ok=lambda v: 0 < v < np.inf, hint="the loop's rate")
        self._layers = layers(model)
        data = as_data(self._layers, x, y)
        if LOSSES[one_of("loss", loss, LOSSES)].labels == "signs" and np.all(np.isin(data.y, (0.0, 1.0))):
            data = type(data)(data.x, 2.0 * data.y - 1.0, name=data.name)
        fixed = not self._layers.second.weight.requires_grad
        self.problem = Problem(
            data,
            Params(*weights(self._layers)),
            loss=loss,
            reduction=reduction,
            activation=self._layers.activation,
            train="first" if fixed else "both",
            decay=_decay(optimizer, step),
        )
        _agree(model, self.problem, x)
        self.steps = 0
        self._next = self.every
        self._step, self._rate, self._optimizer = step, None, optimizer
        self._limit = max(4, as_bytes(memory) // (8 * self.problem.init.width * (data.d + 1)))
        self._records = [(0, *weights(self._layers))]
        self._began = _time.perf_counter()
        if optimizer is not None:
            self._rate = _plain_rate(optimizer)
            optimizer.register_step_post_hook(lambda *_: self.step())

    def step(self) -> None:
        """Call this after each step of the loop."""
        self.steps += 1
        if self.steps == self._next:
            self._record()

    def _record(self):
        self._records.append((self.steps, *weights(self._layers)))
        if self._rate is not None and _plain_rate(self._optimizer) != self._rate:
            self._rate = None  # a schedule: steps have unequal lengths
        if len(self._records) > self._limit:
            self._records = self._records[::2]
            self.every *= 2
        self._next = self._records[-1][0] + self.every

    def solution(self) -> Solution:
        """The records so far as a Solution at the recorded times; the current weights are its last frame.

        An event has the time of the first record that shows it.
        """
        records = list(self._records)
        if records[-1][0] != self.steps:
            records.append((self.steps, *weights(self._layers)))
        finite = [bool(np.all(np.isfinite(w)) and np.all(np.isfinite(a))) for _, w, a in records]
        good = len(records) if all(finite) else finite.index(False)
        method = Descent(self._step or self._rate or 1.0)
        machine = Machine(self.problem, method, self.steps)
        y = np.stack([_state(w, a) for _, w, a in records[:good]])
        clock = np.array([k for k, _, _ in records[:good]], float)
        outcome = Outcome.REACHED if good == len(records) else Outcome.NOT_FINITE
        seconds = _time.perf_counter() - self._began
        sol = recorded(self.problem, method, watched(machine, "torch", (clock, y), (outcome, seconds)))
        return Watched(sol.recording, Between(sol.replay, self.problem.data.x))

    def __repr__(self) -> str:
        return f"Probe({self.problem!r}, {self.steps} steps, {len(self._records)} recorded)"


def _state(w: np.ndarray, a: np.ndarray) -> np.ndarray:
    """(q, b, c) in one row, with mantissas of size 1 by powers of two; the dissipated energy is unknown."""
    size = np.maximum(np.max(np.abs(w), axis=1), np.abs(a))
    exponent = np.where(size > 0, np.frexp(size)[1], 0)
    q, b = np.ldexp(w, -exponent[:, None]), np.ldexp(a, -exponent)
    return np.concatenate([q.ravel(), b, exponent * kd.LOG2, [np.nan]])


def _plain_rate(optimizer) -> float | None:
    """The rate of an SGD without momentum, with one weight decay for all weights; None for other optimisers."""
    if type(optimizer) is not import_torch().optim.SGD:
        return None
    extras = ("momentum", "dampening", "nesterov", "maximize")
    groups = optimizer.param_groups
    same = all(len({float(g[name]) for g in groups}) == 1 for name in ("lr", "weight_decay"))
    return float(groups[0]["lr"]) if same and all(not g[name] for g in groups for name in extras) else None


def _decay(optimizer, step: float | None) -> float:
    """The weight decay of a plain SGD in units of the problem's loss: a step takes lr weight_decay of every weight."""
    rate = None if optimizer is None else _plain_rate(optimizer)
    if rate is None:
        return 0.0
    return float(optimizer.param_groups[0]["weight_decay"]) * rate / (step or rate)


def _agree(model, problem: Problem, x):
    """Checks that the model's outputs are those of the weights read from it, to its rounding."""
    torch = import_torch()
    weight = next(model.parameters())
    with torch.no_grad():
        own = array(model(torch.as_tensor(array(x)).to(weight)))
    w, a = problem.init.arrays()
    u = problem.data.x @ w.T
    f = np.maximum(u, problem.activation.slope * u) @ a
    reach = np.abs(problem.data.x) @ np.abs(w).T @ np.abs(a)
    eps = float(torch.finfo(weight.dtype).eps)
    if own.size != f.size or np.any(np.abs(own.ravel() - f) > eps * (sum(w.shape) + 4) * reach):
        raise ValueError(
            "`model` must compute second(activation(first(x))), got other outputs for `x`: its forward does more than "
            "its three parts, so write it as torch.nn.Sequential(...) of them."
        )
