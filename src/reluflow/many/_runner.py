"""A batch of runs on one device: where they are, going on, and reading them back as numpy arrays."""

import time as _time
from collections.abc import Callable

import numpy as np

from reluflow.drive.descent import NEVER, Orders
from reluflow.engine.descent import LOG2
from reluflow.many._step import STRIDE, Fixed, Moving, Rule, Turns, compiled, float64, import_jax

BURST_SECONDS = 0.5
ORDERS = 2**22  # entries of epoch orders sent to the device at a time
LOOK = 2**25  # numbers in one block of outputs of all data


def pick(device):
    """The JAX device named: None for JAX's own choice, "cpu", "gpu", "gpu:1", or a JAX device."""
    jax = import_jax()
    if device is None:
        return jax.devices()[0]
    if isinstance(device, jax.Device):
        return device
    try:
        kind, _, which = device.partition(":")
        return jax.devices(kind)[int(which or 0)]
    except (AttributeError, RuntimeError, IndexError, ValueError):
        there = ", ".join(str(d) for d in jax.devices())
        raise ValueError(
            f'`device` must be "cpu", "gpu", "gpu:1" or None, got {device!r}: JAX found {there} here.'
        ) from None


def room(device) -> int:
    """Bytes a batch may take: a good half of a GPU's memory, 2 GiB of a processor's."""
    stats = device.memory_stats() if device.platform != "cpu" else None
    return int(0.6 * stats["bytes_limit"]) if stats and "bytes_limit" in stats else 2**31


class Runner:
    """Runs in step: `advance(to)` takes each to its own iteration, `state()` and `outputs(x)` read them.

    `x` is (n, d), or (runs, n, d) when the data differ; `q` (runs, m, d), `b` (runs, m) or (runs, m, K), `c` (runs, m).
    """

    def __init__(self, rule: Rule, x, y, q, b, c, step, seeds, dtype: str, device=None):
        self.device = pick(device)
        self.rule, self.real = rule, np.dtype(dtype)
        self.runs = len(q)
        self.at = np.zeros(self.runs, np.int64)
        self.c0 = np.array(c, float)
        self.streams = {} if rule.batch == rule.n else {int(s): Orders(rule.n, int(s)) for s in seeds}
        self.seeds = np.asarray(seeds)
        self.per_epoch = -(-rule.n // rule.batch)
        self.budget = 256
        self._window: tuple | None = None
        with float64():
            put = self.put
            heads = np.asarray(b, float) if np.ndim(b) == 2 else np.swapaxes(b, 1, 2)
            self.fixed = Fixed(put(x, self.real), put(y), put(step, float), put(self.c0))
            self.moving = Moving(
                put(np.swapaxes(q, 1, 2), self.real),
                put(np.ascontiguousarray(heads), float),
                put(np.zeros(self.c0.shape), np.int32),
                put(np.exp(2.0 * self.c0)),
                put(np.zeros(self.runs)),
            )
        self.burst, self.look = compiled(rule)

    def put(self, value, dtype=None):
        """An array on the device."""
        return import_jax().device_put(np.ascontiguousarray(value, dtype), self.device)

    def advance(self, to, told: Callable[[np.ndarray], None] | None = None):
        """Takes run r to iteration `to[r]`; `told` is called with the iterations of all, about twice a second."""
        jax = import_jax()
        to = np.broadcast_to(to, self.runs)
        with float64():
            while np.any(self.at < to):
                turns, reach = self._turns(to)
                todo = np.clip(np.minimum(to, reach) - self.at, 0, self.budget)
                began = _time.perf_counter()
                self.moving = jax.block_until_ready(
                    self.burst(self.fixed, turns, self.moving, self.put(self.at), self.put(todo), np.int64(todo.max()))
                )
                spent = _time.perf_counter() - began
                # The first burst also compiles, so that growth is gradual.
                wish = BURST_SECONDS / spent * todo.max()
                # Whole strides, so that rescalings, and with them the last bits, do not depend on how fast it goes.
                self.budget = STRIDE * int(
                    np.clip(wish, self.budget / 4, self.budget * 4).clip(STRIDE, 2**24) // STRIDE
                )
                self.at = self.at + todo
                if told is not None:
                    told(self.at)

    def _turns(self, to):
        """The orders that the coming iterations need, and how far each run gets with them; sent once a window."""
        if self._window is not None:
            turns, begin, reach = self._window
            if np.all((self.at >= to) | ((self.at >= begin) & (self.at < reach))):
                return turns, reach
        if not self.streams:
            none = np.zeros(self.runs, np.int64)
            turns, begin, reach = (
                Turns(self.put(np.zeros((1, 1)), np.int32), self.put(none), self.put(none)),
                0,
                NEVER,
            )
        else:
            first = self.at // self.per_epoch
            pairs, stream = np.unique(np.column_stack([self.seeds, first]), axis=0, return_inverse=True)
            # Few shapes, so that few are compiled: rows up to a power of two, a fixed number of epochs.
            rows = 1 << (len(pairs) - 1).bit_length()
            epochs = int(np.clip(ORDERS // (len(self.streams) * self.rule.n), 1, 64))
            orders = np.zeros((rows, epochs * self.rule.n), np.int32)
            for row, (seed, epoch) in zip(orders, pairs):
                row[:] = _epochs(self.streams[int(seed)], int(epoch), epochs)
            turns = Turns(self.put(orders), self.put(stream.ravel(), np.int64), self.put(first))
            begin, reach = first * self.per_epoch, (first + epochs) * self.per_epoch
        self._window = turns, begin, reach
        return turns, reach

    def state(self):
        """(q (runs, m, d), b (runs, m[, K]), c (runs, m), energy (runs,)) in float64."""
        q, b, exponent, _, energy = (np.asarray(v) for v in self.moving)
        b = b if b.ndim == 2 else np.swapaxes(b, 1, 2)
        return np.swapaxes(q, 1, 2).astype(float), b.astype(float), self.c0 + exponent * LOG2, energy.astype(float)

    def outputs(self, x=None) -> np.ndarray:
        """Outputs on rows `x` (the training data if None), (runs, rows) or (runs, rows, K), in blocks of rows."""
        with float64():
            x = self.fixed.x if x is None else self.put(x, self.real)
            rows = x.shape[-2]
            width = self.moving.q.shape[2]
            block = max(1, LOOK // (self.runs * width))
            parts = [self.look(x[..., lo : lo + block, :], self.moving) for lo in range(0, rows, block)]
            return np.concatenate([np.asarray(p) for p in parts], axis=1)


def _epochs(stream: Orders, first: int, count: int) -> np.ndarray:
    """The orders of `count` epochs from `first` on, one after the other."""
    parts, epoch = [], first
    while epoch < first + count:
        begins, orders = stream.block(epoch)
        lo = (epoch - begins) * stream.n
        hi = min(len(orders), (first + count - begins) * stream.n)
        parts.append(orders[lo:hi])
        epoch = begins + hi // stream.n
    return np.concatenate(parts)
