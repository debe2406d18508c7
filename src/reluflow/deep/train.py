"""Plain gradient descent on a deep network, with the norms of its layers over time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reluflow import _progress
from reluflow._checks import by_name, number, one_of, one_output, whole
from reluflow.data.core import Data
from reluflow.deep._engine import Compiled, Plain
from reluflow.deep.network import Network
from reluflow.outcome import Outcome, SolveError

FRAMES = 1000


@dataclass(frozen=True, eq=False)
class Run:
    """One training: frames at `iteration`, with the loss (1/2n) sum (f - y)^2 and the norm of every layer (a column
    each).
    """

    start: Network
    final: Network
    step: float
    iteration: np.ndarray
    loss: np.ndarray
    norms: np.ndarray
    outcome: Outcome

    @property
    def norm(self) -> np.ndarray:
        """Of all parameters together."""
        return np.sqrt(np.sum(self.norms**2, axis=1))

    def legs(self, values: np.ndarray | None = None, *, ignore: float = 1e-3) -> tuple[int, ...]:
        """The monotone legs of the total norm, or of `values`: (-1, 1) is a fall and then a rise, (1,) a rise alone.

        A reversal counts once it is larger than `ignore` times the whole range of the curve.
        """
        return legs(self.norm if values is None else values, ignore=ignore)

    def __repr__(self) -> str:
        ends = f"norm {self.norm[0]:.6g} -> {self.norm[-1]:.6g}, loss {self.loss[0]:.6g} -> {self.loss[-1]:.6g}"
        return f"Run({self.start!r}, {self.iteration[-1]} iterations of step {self.step:g}: {ends})"


def legs(values, *, ignore: float = 1e-3) -> tuple[int, ...]:
    """The monotone legs of any curve, as `Run.legs` has them of a norm."""
    curve = np.asarray(values, dtype=float)
    threshold = ignore * float(np.ptp(curve))
    found: list[int] = []
    low = high = curve[0]
    for v in curve[1:]:
        low, high = min(low, v), max(high, v)
        way = found[-1] if found else 0
        if way <= 0 and v - low > threshold:
            found.append(1)
            high = v
        elif way >= 0 and high - v > threshold:
            found.append(-1)
            low = v
    return tuple(found)


@by_name
def train(
    network: Network,
    data: Data,
    *,
    step: float,
    iterations: int,
    every: int | None = None,
    dtype: str = "float64",
    device: str | None = None,
    progress: Callable[[int], None] | bool | None = None,
) -> Run:
    """Full-batch gradient descent on the square loss, `iterations` times, keeping every `every`-th frame (1000 if
    left out).

    `dtype="float32"` halves the work; losses and norms are summed in float64. `device` None is numpy on this
    processor; "gpu", "gpu:1" or "cpu" compile the steps by JAX for that device. `progress` is called with the iteration
    at every frame, or is True or False as for `rf.solve`. A run whose numbers overflow raises `rf.SolveError`, with the
    part computed in `.solution`.
    """
    if not isinstance(network, Network):
        raise TypeError(f"`network` must be an rf.deep.Network, got {type(network).__name__}: try `rf.deep.init(...)`.")
    if not isinstance(data, Data):
        raise TypeError(f"`data` must be an rf.Data, got {type(data).__name__}: write `rf.Data(x, y)`.")
    one_output(data, "`rf.deep.train`")
    if data.d != network.widths[0]:
        raise ValueError(f"`network` must take the data's {data.d} inputs, got widths {network.widths}.")
    number("step", step, rule="positive and finite", ok=lambda v: 0 < v < np.inf, hint="the papers use about 1e-3")
    whole("iterations", iterations, least=1, hint="one is the least")
    one_of("dtype", dtype, ("float64", "float32"))
    every = max(1, iterations // FRAMES) if every is None else whole("every", every, least=1, hint="1 keeps all")
    start = (network.weights, data.x, data.y, float(step), dtype)
    engine: Plain | Compiled = Plain(*start) if device is None else Compiled(*start, device)
    kept: list[tuple[float, ...]] = []
    k = 0
    place = lambda k: _progress.Place(k / iterations, f"{k:,} of {iterations:,} iterations")
    with np.errstate(over="ignore", invalid="ignore"), _progress.shown(progress, place) as tell:
        while True:
            loss, norms = engine.look()
            finite = bool(np.isfinite(loss) and np.all(np.isfinite(norms)))
            if not finite:
                break
            kept.append((k, loss, *norms))
            if tell is not None:
                tell(k)
            count = min(every, iterations - k)
            if count == 0:
                break
            finite = engine.advance(count)
            if not finite:
                break
            k += count
    rows = np.array(kept) if kept else np.zeros((1, 2 + network.depth))
    final = Network(engine.weights()) if finite else network
    outcome = Outcome.REACHED if finite else Outcome.NOT_FINITE
    run = Run(network, final, float(step), rows[:, 0].astype(np.int64), rows[:, 1], rows[:, 2:], outcome)
    if not finite:
        raise SolveError(run, f"{run.iteration[-1] * run.step:.6g}")
    return run
