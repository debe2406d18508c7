"""`Probe`: records a two-layer PyTorch model during the user's own training loop."""

from __future__ import annotations

import time as _time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reluflow._checks import number, one_of, whole
from reluflow.drive.descent import Machine
from reluflow.drive.descent_outputs import Machine as OutputsMachine
from reluflow.engine import descent as kd
from reluflow.losses import TABLE
from reluflow.many._seen import watched
from reluflow.methods import Descent, as_bytes
from reluflow.outcome import Outcome
from reluflow.problem import Problem
from reluflow.solution import Solution, recorded
from reluflow.torch._compare import departure
from reluflow.torch._model import as_data, gradients, import_torch, layers, params_of, weights
from reluflow.torch._watched import Between, Watched

if TYPE_CHECKING:
    from reluflow.torch._compare import Departure

MEMORY = "256 MiB"


class Probe:
    """Watches `model` (two Linear with ReLU or LeakyReLU between them, any class) train on `x`, `y`.

        probe = rf.torch.Probe(model, x, y, every=100, optimizer=optimizer)
        for _ in range(10_000):
            optimizer.zero_grad()
            ...
            optimizer.step()
        sol = probe.solution()
        print(probe.compare())

    Every `every`-th step copies the weights; `solution()` does all other work. With `optimizer=` the probe counts that
    optimiser's steps by itself; without it, call `probe.step()` after each. Beyond `memory` every second record is
    dropped and `every` doubles.

    Time is t = k step after k steps: `step` as given; else, for a plain SGD given as `optimizer`, its rate times the
    factor by which the loop's gradient at its first step exceeds that of `loss` (2 for torch.nn.MSELoss, because
    "square" is (1/2)(f - y)^2, and 2/k with k outputs; 1 for torch.nn.CrossEntropyLoss, which is "softmax"); else 1.
    `loss` and `reduction` follow this library's conventions; labels 0 and 1 count as -1 and +1 for the losses of
    classifiers with one output. The `weight_decay` of a plain SGD becomes the problem's `decay`. `probe.notes` says
    what does not fit: another loss, mini-batches.
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
        self.layers = layers(model, x)
        data = as_data(self.layers, x, y)
        if TABLE[one_of("loss", loss, TABLE)].labels == "signs" and np.all(np.isin(data.y, (0.0, 1.0))):
            data = type(data)(data.x, 2.0 * data.y - 1.0, name=data.name)
        fixed = not self.layers.second.weight.requires_grad
        self.problem = Problem(
            data,
            params_of(self.layers),
            loss=loss,
            reduction=reduction,
            activation=self.layers.activation,
            train="first" if fixed else "both",
            decay=_decay(optimizer, step),
        )
        self.steps = 0
        self._next = self.every
        self._step, self._rate, self._optimizer = step, None, optimizer
        each = 8 * self.problem.init.width * (data.d + self.problem.outputs)
        self._limit = max(4, as_bytes(memory) // each)
        self._records = [(0, *weights(self.layers))]
        self._gradient: Gradient | None = None
        self._began = _time.perf_counter()
        if optimizer is not None:
            self._rate = _plain_rate(optimizer)
            optimizer.register_step_post_hook(lambda *_: self.step())

    def step(self) -> None:
        """Call this after each step of the loop."""
        self.steps += 1
        if self.steps == 1:
            self._gradient = compare_gradient(self.problem, gradients(self.layers))
            self.problem = replace(self.problem, decay=_decay(self._optimizer, self.rate))
        if self.steps == self._next:
            self._record()

    def _record(self):
        self._records.append((self.steps, *weights(self.layers)))
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
            records.append((self.steps, *weights(self.layers)))
        finite = [bool(np.all(np.isfinite(w)) and np.all(np.isfinite(a))) for _, w, a in records]
        good = len(records) if all(finite) else finite.index(False)
        method = Descent(self.rate or 1.0)
        machine = (Machine if self.problem.outputs == 1 else OutputsMachine)(self.problem, method, self.steps)
        y = np.stack([_state(w, a) for _, w, a in records[:good]])
        clock = np.array([k for k, _, _ in records[:good]], float)
        outcome = Outcome.REACHED if good == len(records) else Outcome.NOT_FINITE
        seconds = _time.perf_counter() - self._began
        sol = recorded(self.problem, method, watched(machine, "torch", (clock, y), (outcome, seconds)))
        return Watched(sol.recording, Between(sol.replay, self.problem.data.x))

    @property
    def rate(self) -> float | None:
        """The time that one step of the loop takes; None where steps have no common length."""
        if self._step is not None:
            return self._step
        if self._rate is None:
            return None
        return self._rate * (1.0 if self._gradient is None or not self._gradient.fits else self._gradient.factor)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the loop does that this library's problem does not, as far as the probe can see."""
        found = []
        if self._gradient is not None and not self._gradient.fits:
            found.append(
                f"The loop's first gradient is not that of the {self.problem.reduction} {self.problem.loss} loss on "
                f"`x` and `y` (their cosine is {self._gradient.cosine:.3g}): it takes mini-batches, or "
                "another loss, which `loss` names."
            )
        decay = self.decay
        if decay and self.problem.decay == 0.0:
            found.append(f"The optimiser has weight decay {decay:g}, which the problem does not have.")
        return tuple(found)

    @property
    def decay(self) -> float:
        """The largest weight decay of the optimiser's groups."""
        groups = [] if self._optimizer is None else self._optimizer.param_groups
        return max((float(g.get("weight_decay", 0.0)) for g in groups), default=0.0)

    def compare(self, *, tol: float = 1e-2, rtol: float = 1e-8, seconds: float | None = None) -> Departure:
        """Where the training leaves the gradient flow of the same loss from the same weights.

        Both are compared at the same times where steps have a length (plain SGD, or `step`), and at equal losses
        otherwise. `tol` times max(1, max |y|) is the difference of outputs that counts as leaving. `print` gives
        sentences, `.to_pandas()` the numbers, `.figure()` the picture. `seconds` bounds the flow's wall time.
        """
        name = "training" if self._optimizer is None else type(self._optimizer).__name__
        return departure(self.solution(), self.rate, name, self.notes, tol=tol, rtol=rtol, seconds=seconds)

    def __repr__(self) -> str:
        return f"Probe({self.layers}: {self.problem!r}, {self.steps} steps, {len(self._records)} recorded)"


def _state(w: np.ndarray, a: np.ndarray) -> np.ndarray:
    """(q, b, c) in one row, with mantissas of size 1 by powers of two; the dissipated energy is unknown."""
    a = a.reshape(len(w), -1)
    size = np.maximum(np.max(np.abs(w), axis=1), np.max(np.abs(a), axis=1))
    exponent = np.where(size > 0, np.frexp(size)[1], 0)
    q, b = np.ldexp(w, -exponent[:, None]), np.ldexp(a, -exponent[:, None])
    return np.concatenate([q.ravel(), b.ravel(), exponent * kd.LOG2, [np.nan]])


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


class Gradient(NamedTuple):
    """The loop's first gradient against that of the problem: their cosine, and the factor between them."""

    cosine: float
    factor: float

    @property
    def fits(self) -> bool:
        return self.cosine > 1.0 - 1e-5


def compare_gradient(problem: Problem, found: tuple[np.ndarray, np.ndarray] | None) -> Gradient | None:
    """None without gradients, or where one of the two is zero."""
    if found is None:
        return None
    w, a = problem.init.arrays()
    z = problem.data.x @ w.T
    slope = problem.activation.slope
    on = np.where(z > 0, 1.0, slope)
    several = problem.outputs > 1
    y = problem.targets if several else problem.data.y
    g = -TABLE[problem.loss].force(y, (on * z) @ a, problem.weight)
    if several:
        of_w, of_a = ((g @ a.T) * on).T @ problem.data.x, (on * z).T @ g
    else:
        of_w, of_a = a[:, None] * ((on * g[:, None]).T @ problem.data.x), g @ (on * z)
    if problem.init.fixed is not None:
        of_w = np.where(problem.init.fixed, 0.0, of_w)
    of_a = np.zeros_like(of_a) if problem.train == "first" else of_a
    mine, theirs = (np.concatenate([u.ravel(), v.ravel()]) for u, v in ((of_w, of_a), found))
    size = float(np.linalg.norm(mine) * np.linalg.norm(theirs))
    if not (np.isfinite(size) and size > 0):
        return None
    factor = float(mine @ theirs / (mine @ mine))
    return Gradient(float(mine @ theirs) / size, _simple(factor, problem.data.n, problem.outputs))


def _simple(factor: float, n: int, outputs: int = 1) -> float:
    """The factor, or the one of 1/2, 1, 2, ... and n times or 1/n of these that it is equal to within rounding; with
    several outputs also over their number."""
    plain = [k * s for k in (0.5, 1.0, 2.0, 4.0) for s in (1.0, float(n), 1.0 / n)]
    plain += [v / outputs for v in plain] if outputs > 1 else []
    near = min(plain, key=lambda v: abs(v - factor))
    return near if abs(near - factor) < 1e-4 * near else factor
