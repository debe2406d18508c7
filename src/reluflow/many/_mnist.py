r"""MNIST by mini-batches, as in Figures 2-5 of Kou, Chen and Gu (2023); many seeds and scales at once.

    P1 (binary)       f = (1/m) sum_{r <= m} s(<w_{+,r}, x>) - (1/m) sum_{r <= m} s(<w_{-,r}, x>), the head fixed;
                      mean logistic loss; even digits are +1, odd ones -1 (or 0-4 against 5-9)
    P2 (ten classes)  f = A s(W x), W (m, 784), A (10, m), both trained; mean softmax cross entropy

Pixels lie in [0, 1], nothing is centred, no biases, all trained weights are N(0, std^2), s'(0) = 1. The weights of a
seed are `default_rng(seed).normal(size=(rows, 784))`, then (P2) `.normal(size=(m, 10))`; its batches are those of
`rf.Descent(seed=...)`, from `default_rng([seed, 2])`.
"""

import time as _time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from reluflow._checks import number, one_of, whole
from reluflow.data.core import Data
from reluflow.data.digits import mnist
from reluflow.drive.loop import Progress
from reluflow.engine.descent import LOG2
from reluflow.init import Params
from reluflow.many._many import _bytes, _rule, _runner, _teller
from reluflow.many._rank import stable_rank
from reluflow.many._runner import LOOK, Runner, pick, room
from reluflow.many._step import SOFTMAX, Rule, float64, import_jax
from reluflow.methods import Descent, Save, as_bytes
from reluflow.problem import LeakyReLU, Problem

LABELS: dict[str, dict] = {"parity": dict(parity=True), "halves": dict(pair=((0, 1, 2, 3, 4), (5, 6, 7, 8, 9)))}
CLASSES = 10


def mnist_protocol(
    protocol: str,
    *,
    width: int,
    std,
    slope: float = 0.0,
    seeds=range(5),
    epochs: float = 10,
    step: float = 0.1,
    batch: int = 64,
    times=None,
    labels: str = "parity",
    data: tuple[Data, Data] | None = None,
    dtype: str = "float32",
    device=None,
    memory: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> dict[str, np.ndarray]:
    """Trains by protocol "P1" or "P2" for every `std` (a number or several) and seed; plain arrays come back.

    `width` is m (P1 has m neurons of each sign). `times`, in epochs, are when it measures (every epoch if None). `data`
    is (train, test) instead of the MNIST files: labels +-1 for P1, digits 0-9 for P2.

    Keys: `std` (S,), `seed` (R,), `epoch` and `iteration` (F,), `matrix` (names of the matrices ranked: plus, minus,
    stacked for P1, first for P2), and, over (S, R, F): `loss` (all training data), `train_error`, `test_error`,
    `stable_rank` (S, R, F, matrices).
    """
    one_of("protocol", protocol, ("P1", "P2"))
    one_of("labels", labels, LABELS)
    m = whole("width", width, least=1, hint="the paper uses 10 to 1000")
    positive: dict[str, Any] = dict(
        rule="positive and finite", ok=lambda v: 0 < v < np.inf, hint="the paper uses 1e-5 to 1e-3"
    )
    stds = np.array([number("std", v, **positive) for v in np.atleast_1d(std)])
    seeds = np.array([whole("seeds", int(v), least=0, hint="any non-negative seeds") for v in seeds])
    choice: dict[str, Any] = dict(digits="all") if protocol == "P2" else LABELS[labels]
    train, test = data or (mnist(**choice), mnist(**choice, split="test"))
    _labelled(protocol, train, test)
    methods = [Descent(step, batch=batch, seed=int(s), dtype=dtype) for _ in stds for s in seeds]
    per_epoch = -(-train.n // min(batch, train.n))
    times = np.arange(int(epochs) + 1.0) if times is None else np.array(Save(times=times).times)
    iteration = np.rint(times * per_epoch).astype(np.int64)

    began = _time.perf_counter()
    pairs = [(v, int(s)) for v in stds for s in seeds]
    found: dict[str, list] = {"loss": [], "train_error": [], "test_error": [], "stable_rank": []}
    start = _p1 if protocol == "P1" else _p2
    for part in _parts(protocol, m, train, methods, device, memory):
        runner = start(train, m, [pairs[k] for k in part], slope, [methods[k] for k in part], pick(device))
        told = None
        if progress is not None:
            told = _teller(progress, began, part[0] * int(iteration[-1]), len(pairs) * int(iteration[-1]))
        rows = _measured(runner, protocol, m, train, test, iteration, told)
        for name, value in rows.items():
            found[name].append(value)
    shape = (len(stds), len(seeds), len(times))
    joined = {name: np.concatenate(v) for name, v in found.items()}
    return {
        "std": stds,
        "seed": seeds,
        "epoch": iteration / per_epoch,
        "iteration": iteration,
        "matrix": np.array(list(_matrices(protocol, m))),
        **{name: value.reshape(*shape, *value.shape[2:]) for name, value in joined.items()},
    }


def p1_problem(train: Data, m: int, std: float, seed: int, slope: float = 0.0) -> Problem:
    """Protocol P1 as a Problem for `rf.solve` and `rf.solve_many`: rows 0..m-1 have a = 1/m, the others -1/m."""
    w = np.random.default_rng(seed).normal(size=(2 * m, train.d))
    a = np.repeat([1.0, -1.0], m) / m
    init = Params(w, a, log_scale=float(np.log(std)), log_scale_a=0.0)
    return Problem(train, init, loss="logistic", activation=LeakyReLU(slope, at_zero=1.0), train="first")


def p2_problem(train: Data, m: int, std: float, seed: int, slope: float = 0.0) -> Problem:
    """Protocol P2 as a Problem for `rf.solve` and `rf.solve_many`: ten outputs, both layers trained, softmax."""
    rng = np.random.default_rng(seed)
    w, a = rng.normal(size=(m, train.d)), rng.normal(size=(m, CLASSES))
    init = Params(w, a, log_scale=float(np.log(std)))
    return Problem(train, init, loss="softmax", activation=LeakyReLU(slope, at_zero=1.0))


def _p1(train, m, pairs, slope, methods, device) -> Runner:
    problems = [p1_problem(train, m, std, seed, slope) for std, seed in pairs]
    return _runner(_rule(problems[0], methods[0]), problems, methods, device, True)


def _p2(train, m, pairs, slope, methods, device) -> Runner:
    rule = Rule(SOFTMAX, float(slope), 1.0, True, False, train.n, min(methods[0].batch, train.n))
    starts = [p2_problem(train, m, std, seed, slope).init for std, seed in pairs]
    q, b = np.stack([s.w for s in starts]), np.stack([s.a for s in starts])
    c = np.repeat(np.log([std for std, _ in pairs])[:, None], m, axis=1)
    step, seeds = np.array([v.step for v in methods]), [v.seed for v in methods]
    return Runner(rule, train.x, train.y.astype(np.int32), q, b, c, step, seeds, methods[0].dtype, device)


def _labelled(protocol: str, *sets: Data):
    allowed = np.arange(CLASSES) if protocol == "P2" else np.array([-1.0, 1.0])
    for data in sets:
        if not np.all(np.isin(data.y, allowed)):
            bad = data.y[~np.isin(data.y, allowed)][0]
            raise ValueError(
                f"Labels of {protocol} must be {'digits 0 to 9' if protocol == 'P2' else '+1 or -1'}, got {bad}: "
                "relabel the data."
            )


def _parts(protocol, m, train, methods, device, memory) -> list[np.ndarray]:
    """Which runs go together, so that they fit on the device beside the data."""
    rows = m if protocol == "P2" else 2 * m
    there = pick(device)
    budget = room(there) if memory is None else as_bytes(memory)
    rule = Rule(0, 0.0, 1.0, True, False, 0, min(methods[0].batch, train.n))
    # A run also needs its double-precision copy and the vectors of a stable rank.
    each = _bytes(rule, rows, train.d, methods[0].dtype) + 8 * rows * train.d + 800 * train.d
    held = np.dtype(methods[0].dtype).itemsize * train.n * train.d
    free = max(budget - held, each)
    return np.array_split(np.arange(len(methods)), min(len(methods), -(-len(methods) * each // free)))


def _matrices(protocol: str, m: int) -> dict[str, slice]:
    if protocol == "P2":
        return {"first": slice(0, m)}
    return {"plus": slice(0, m), "minus": slice(m, 2 * m), "stacked": slice(0, 2 * m)}


def _measured(runner: Runner, protocol, m, train, test, iteration, told) -> dict[str, np.ndarray]:
    """What is recorded of a batch of runs, runs first."""
    rows: dict[str, list] = {"loss": [], "train_error": [], "test_error": [], "stable_rank": []}
    with float64():
        seen = runner.fixed.x, runner.put(train.y, float)
        unseen = runner.put(test.x, runner.real), runner.put(test.y, float)
    for k in iteration:
        runner.advance(int(k), told)
        loss, wrong = _scores(runner, *seen)
        rows["loss"].append(loss)
        rows["train_error"].append(wrong)
        rows["test_error"].append(_scores(runner, *unseen)[1])
        c = runner.c0 + np.asarray(runner.moving.exponent) * LOG2
        ranks = [stable_rank(runner.moving.q, c, part) for part in _matrices(protocol, m).values()]
        rows["stable_rank"].append(np.stack(ranks, axis=1))
    return {name: np.stack(value, axis=1) for name, value in rows.items()}


def _scores(runner: Runner, x, y) -> tuple[np.ndarray, np.ndarray]:
    """(mean loss, share of wrong answers) of every run on data on the device; an output of 0 is a wrong answer."""
    score = _score(runner.rule.loss == SOFTMAX)
    block = max(1, LOOK // (runner.runs * runner.moving.q.shape[2]))
    total, wrong = np.zeros(runner.runs), np.zeros(runner.runs)
    with float64():
        for lo in range(0, len(y), block):
            loss, bad = score(runner.look(x[lo : lo + block], runner.moving), y[lo : lo + block])
            total, wrong = total + np.asarray(loss), wrong + np.asarray(bad)
    return total / len(y), wrong / len(y)


@lru_cache(maxsize=2)
def _score(several: bool):
    jax = import_jax()
    jnp = jax.numpy

    @jax.jit
    def binary(f, y):
        z = y * f
        return jnp.sum(jnp.logaddexp(0.0, -z), axis=1), jnp.sum(~(z > 0), axis=1)

    @jax.jit
    def classes(f, y):
        digit = y.astype(jnp.int32)
        right = jnp.take_along_axis(f, jnp.broadcast_to(digit[None, :, None], (*f.shape[:2], 1)), axis=2)[..., 0]
        return (
            jnp.sum(jax.scipy.special.logsumexp(f, axis=2) - right, axis=1),
            jnp.sum(jnp.argmax(f, axis=2) != digit, axis=1),
        )

    return classes if several else binary
