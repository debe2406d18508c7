r"""A run as the page draws it: frames close enough together that moving between them looks smooth.

Frames are the run's own steps, and more where much happens between two of them. What happens is counted by

    activity = .3 turning + .25 fall of the loss + .35 growth of log norms + .1 fall of the log loss

each divided by its total over the run. Event time is the activity so far: equal steps show equal change.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from reluflow.methods import Descent
from reluflow.solution import Solution

TINY = 1e-300
OFF, ON, SLIDING = 0, 1, 2
DRAFT_FRAMES = 96  # of a draft: the run's own, since following it again costs as much as a draft itself
KEPT = 16  # sets of extremal directions remembered: they are the same at every scale


class States:
    """States at increasing clock values, as `Solution._replay` gives them, and what is read off them."""

    COLUMNS = ("clock", "unit", "log_w", "log_a", "b", "t", "log_t", "log_loss", "outputs", "bits")

    def __init__(self, sol: Solution, clock: np.ndarray, y: np.ndarray, code: np.ndarray):
        self.sol, self.clock = sol, clock
        q, self.b, c = sol._split(y)
        size = np.maximum(np.linalg.norm(q, axis=-1), TINY)
        self.unit = q / size[..., None]  # in the run's own coordinates, whose angles are those of the data's
        self.log_w = c + np.log(size)
        self.log_a = c + np.log(np.maximum(np.abs(self.b), TINY))
        self.t, self.log_t = sol._time.times(clock)
        f, self.log_loss, bits = sol._machine.look(np.ascontiguousarray(clock), y, code, bits=True)
        self.outputs = sol._to_data(f)
        on = sol._bits_to_data(bits) > sol.problem.activation.slope
        self.bits = np.where(sol._slid(code), SLIDING, on).astype(np.uint8)  # OFF, ON or SLIDING, (frames, width, n)

    def joined(self, other: States) -> States:
        """Both, in order of time; nothing is computed again."""
        found = States.__new__(States)
        found.sol = self.sol
        order = np.argsort(np.concatenate([self.clock, other.clock]), kind="stable")
        for name in self.COLUMNS:
            setattr(found, name, np.concatenate([getattr(self, name), getattr(other, name)])[order])
        return found


def activity(s: States) -> np.ndarray:
    """How much happens between consecutive frames, summing to 1; never 0, so that time never stands still."""
    cosine = np.clip(np.sum(s.unit[1:] * s.unit[:-1], axis=-1), -1.0, 1.0)
    turning = np.mean(np.arccos(cosine), axis=1)
    size = np.clip(s.log_w, -1e6, 700.0)
    logs = np.maximum(s.log_loss, s.log_loss[0] - 60.0)
    parts = (
        (0.30, turning),
        (0.25, np.abs(np.diff(np.exp(np.minimum(s.log_loss - s.log_loss[0], 20.0))))),
        (0.35, np.mean(np.abs(np.diff(size, axis=0)), axis=1)),
        (0.10, np.abs(np.diff(logs))),
    )
    total = np.zeros(len(s.clock) - 1)
    for share, part in parts:
        whole = np.sum(part)
        # A part that hardly moves at all must not be blown up to its share.
        total += share * part / whole if whole > 1e-6 else 0.0
    total += 0.02 / max(len(total), 1)
    return total / np.sum(total)


def refined(sol, most: int, more: int, rounds: int = 2) -> States:
    """The run's own frames, at most `most`, and up to `more` between those where much happens."""
    clock, y, code = sol._frames
    if len(clock) > most:
        keep = np.unique(np.linspace(0, len(clock) - 1, most).astype(int))
        clock, y, code = clock[keep], y[keep], code[keep]
    states = States(sol, clock, y, code)
    if isinstance(sol.method, Descent) or len(clock) < 2 or more == 0:
        return states
    for _ in range(rounds):
        wanted = between(states, more // rounds)
        if len(wanted):
            states = states.joined(States(sol, *sol._replay(wanted)))
    return states


def between(s: States, more: int) -> np.ndarray:
    """Clock values that cut the busiest intervals, geometrically where time spans scales."""
    busy = activity(s)
    cuts = np.minimum(np.floor(busy / max(1.0 / max(more, 1), 1e-9)).astype(int), 12)
    found = []
    for k in np.flatnonzero(cuts > 0):
        lo, hi = s.clock[k], s.clock[k + 1]
        inner = np.linspace(0.0, 1.0, cuts[k] + 2)[1:-1]
        low = lo if lo > 0 else hi * 1e-3
        found.append(low * (hi / low) ** inner if hi > 2 * low else lo + (hi - lo) * inner)
    wanted = np.unique(np.concatenate(found)) if found else np.empty(0)
    return np.setdiff1d(wanted[(wanted > s.clock[0]) & (wanted < s.clock[-1])], s.clock)


def plane(problem) -> np.ndarray:
    """Two orthonormal rows: the plane that is drawn. All of R^2, else that of the two class sums, else of the data."""
    x, y = problem.data.x, problem.data.y
    d = x.shape[1]
    if d == 2:
        return np.eye(2)
    if d == 1:
        return np.array([[1.0], [0.0]])
    sums = np.stack([np.sum(np.where(s * y > 0, np.abs(y), 0.0)[:, None] * x, axis=0) for s in (1.0, -1.0)])
    rows = np.concatenate([sums, np.linalg.svd(x, full_matrices=True)[2]])
    basis: list[np.ndarray] = []
    for row in rows:
        size = np.linalg.norm(row)
        for e in basis:
            row = row - (row @ e) * e
        if np.linalg.norm(row) > 1e-6 * size and size > 0:
            basis.append(row / np.linalg.norm(row))
        if len(basis) == 2:
            break
    return np.stack(basis)


_aims: OrderedDict[tuple, list[dict]] = OrderedDict()


def targets(problem) -> list[dict]:
    """Extremal directions that neurons are drawn to early on, from the frozen drive; none where it is not known.

    They depend on the directions of the weights and not on their common scale: a moving scale finds them kept.
    """
    data, init = problem.data, problem.init
    balanced = np.allclose(np.abs(init.a), np.linalg.norm(init.w, axis=1), rtol=1e-12) and init.log_scale_a is None
    if not balanced or problem.train == "first":
        return []
    scales = np.asarray(init.log_scale) - np.max(init.log_scale)
    arrays = tuple(np.ascontiguousarray(a).tobytes() for a in (data.x, data.y, init.w, init.a, scales))
    key = (*arrays, problem.loss, problem.reduction, problem.activation.slope)
    if key not in _aims:
        _aims[key] = _targets(problem)
        while len(_aims) > KEPT:
            _aims.popitem(last=False)
    return _aims[key]


def _targets(problem) -> list[dict]:
    from reluflow._early import early_phase

    try:
        found = early_phase(problem).targets[:24]
    except RuntimeError:  # some neuron never settles
        return []
    return [{"sign": k.sign, "direction": k.direction, "rate": k.rate, "neurons": len(k.neurons)} for k in found]


def cosines(s: States, problem, aims: list[dict]) -> np.ndarray:
    """Each neuron's largest cosine with an extremal direction of its sign (the class sum where none is known)."""
    w = s.sol._machine.coords.expand(s.unit)
    best = np.full(w.shape[:2], -1.0)
    x, y = problem.data.x, problem.data.y
    for sign in (1.0, -1.0):
        mine = np.sign(s.b[-1]) == sign
        if not np.any(mine):
            continue
        rays = [np.asarray(k["direction"]) for k in aims if k["sign"] == sign]
        if not rays:
            total = np.sum(np.where(sign * y > 0, np.abs(y), 0.0)[:, None] * x, axis=0)
            size = np.linalg.norm(total)
            rays = [total / size] if size > 0 else []
        for ray in rays:
            best[:, mine] = np.maximum(best[:, mine], w[:, mine] @ ray)
    return np.clip(best, -1.0, 1.0).astype(np.float32)


def picture(sol, *, draft: bool = False, states: States | None = None) -> tuple[dict, dict[str, np.ndarray]]:
    """Header and arrays of a run for the page."""
    problem = sol.problem
    m, n, d = problem.init.width, problem.data.n, problem.data.d
    room = int(np.clip(1.2e6 / (m * max(n, 4)), 24, DRAFT_FRAMES if draft else 480))
    more = 0 if draft else 160 if m * n <= 2000 else 24
    s = states if states is not None else refined(sol, max(room - more, 16), min(more, room // 2))
    aims = targets(problem)
    flat = plane(problem)
    w = sol._machine.coords.expand(s.unit)
    event = np.concatenate([[0.0], np.cumsum(activity(s))]) if len(s.clock) > 1 else np.zeros(1)
    balanced = bool(np.all(np.abs(s.log_a - s.log_w) < 1e-9))
    norm2 = np.sum(np.exp(2 * s.log_w) + np.exp(2 * s.log_a), axis=1)
    header = {
        "m": m,
        "n": n,
        "d": d,
        "frames": len(s.clock),
        "draft": draft,
        "loss": problem.loss,
        "slope": problem.activation.slope,
        "bias": bool(d == 2 and np.all(problem.data.x[:, 1] == 1.0)),
        "tailed": problem.tailed,
        "descent": isinstance(sol.method, Descent),
        "step": getattr(sol.method, "step", None),
        "outcome": sol.outcome.value,
        "success": sol.outcome.success,
        "steps": sol.stats.steps,
        "events": sol.stats.events,
        "slides": sol.stats.slides,
        "seconds": sol.stats.seconds,
        "non_unique": sol.stats.non_unique,
        "balanced": balanced,
        "aims": [
            {**k, "direction": (flat @ k["direction"]).tolist(), "full": np.asarray(k["direction"]).tolist()}
            for k in aims
        ],
        "plane": flat.tolist(),
    }
    arrays = {
        "t": finite(s.t),
        "log_t": finite(s.log_t),
        "event": np.minimum(event, 1.0),
        "log_loss": finite(s.log_loss),
        "norm2": finite(norm2),
        "outputs": finite(s.outputs),
        "x": np.asarray(problem.data.x, float),
        "y": np.asarray(problem.data.y, float),
        "xy": problem.data.x @ flat.T,
        "dir": (w @ flat.T).astype(np.float32),
        "log_w": finite(s.log_w),
        "sign": np.sign(s.b).astype(np.int8),
        "bits": s.bits,
        "cosine": cosines(s, problem, aims),
    }
    if not balanced:
        arrays["log_a"] = finite(s.log_a)
    return header, arrays


def finite(a: np.ndarray) -> np.ndarray:
    """Infinities as the largest numbers: the page reads them from the logarithms."""
    return np.nan_to_num(np.asarray(a, float), nan=0.0, posinf=1.7e308, neginf=-1.7e308)
