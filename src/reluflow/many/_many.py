"""`solve_many`: descent of many problems of one shape at once, and what comes back."""

import time as _time
from collections.abc import Callable, Sequence

import numpy as np

from reluflow import _progress
from reluflow._checks import all_trained, by_name
from reluflow.drive import descent as plain
from reluflow.drive import descent_outputs
from reluflow.drive.loop import Progress
from reluflow.init import Params
from reluflow.losses import TABLE
from reluflow.many._runner import Runner, pick, room
from reluflow.many._seen import watched
from reluflow.many._step import SOFTMAX, Rule
from reluflow.methods import Descent, Save, as_bytes
from reluflow.outcome import Outcome
from reluflow.problem import Problem
from reluflow.solution import recorded
from reluflow.solve import end_clock

FRAMES, MEMORY = 101, "1 GiB"


class Many(Sequence):
    """Runs of `solve_many`, in the order of the problems: `many[k]` is the k-th as a Solution.

    Arrays over all runs have the runs first: `t`, `log_loss` (runs, frames), `outputs` (runs, frames, n), `w`, `a`,
    `log_scale` (mantissas and log scales, as in Solution). `outcome` lists why each stopped; a run that overflowed has
    NaN from there on. Events are those seen from one frame
    to the next; `rf.solve` sees every iteration.
    """

    def __init__(self, problems, methods, iteration, asked, y, outputs, outcome, seconds):
        self.problems, self.methods, self.outcome, self.seconds = problems, methods, outcome, seconds
        self._iteration = iteration  # (runs, checkpoints)
        self._asked = asked  # which checkpoints are frames
        self._y, self._f = y, outputs  # (runs, checkpoints, ...)

    @property
    def t(self) -> np.ndarray:
        """Times of the frames, (runs, frames)."""
        return self._iteration[:, self._asked] * np.array([m.step for m in self.methods])[:, None]

    @property
    def outputs(self) -> np.ndarray:
        """f(x_i), (runs, frames, n), or (runs, frames, n, k) with k outputs."""
        return self._f[:, self._asked]

    @property
    def log_loss(self) -> np.ndarray:
        """log of the loss over all data, (runs, frames)."""
        return np.array([p.log_loss(f) for p, f in zip(self.problems, self.outputs)])

    @property
    def loss(self) -> np.ndarray:
        return np.exp(self.log_loss)

    def _part(self, lo: int, hi: int | None) -> np.ndarray:
        return self._y[:, self._asked, lo:hi]

    @property
    def _shape(self) -> tuple[int, int, int]:
        return self.problems[0].init.width, self.problems[0].data.d, self.problems[0].outputs

    @property
    def w(self) -> np.ndarray:
        """Mantissas of w: true rows are w e^`log_scale`, (runs, frames, width, dim)."""
        m, d, _ = self._shape
        found = self._part(0, m * d)
        return found.reshape(*found.shape[:2], m, d)

    @property
    def a(self) -> np.ndarray:
        """Mantissas of a, (runs, frames, width), or (runs, frames, width, k) with k outputs."""
        m, d, k = self._shape
        found = self._part(m * d, m * (d + k))
        return found if k == 1 else found.reshape(*found.shape[:2], m, k)

    @property
    def log_scale(self) -> np.ndarray:
        """Log scale of the mantissas, (runs, frames, width)."""
        m, d, k = self._shape
        return self._part(m * (d + k), m * (d + k + 1))

    def final(self, k: int) -> Params:
        """The weights at the end of run k."""
        return self[k].final

    def __len__(self) -> int:
        return len(self.problems)

    def __getitem__(self, k):  # type: ignore[override]
        if isinstance(k, slice):
            return [self[j] for j in range(*k.indices(len(self)))]
        problem, method, outcome = self.problems[k], self.methods[k], self.outcome[k]
        good = np.all(np.isfinite(self._y[k]), axis=1)
        clock, y = self._iteration[k][good].astype(float), self._y[k][good]
        make = plain.Machine if problem.outputs == 1 else descent_outputs.Machine
        machine = make(problem, method, int(clock[-1]))
        run = watched(machine, "many", (clock, y), (outcome, self.seconds))
        run.tape.asked = [run.tape.marks[0].rows(self._asked[good])]
        return recorded(problem, method, run, None if np.all(self._asked) else ())

    def __repr__(self) -> str:
        good = sum(o.success for o in self.outcome)
        return (
            f"Many({len(self)} runs of {self.problems[0]!r}, {np.sum(self._asked)} frames each; {good} reached their "
            f"end, {self.seconds:.3g} s)"
        )


@by_name
def solve_many(
    problems: Sequence[Problem],
    method: Descent | Sequence[Descent],
    t1: float | Sequence[float] | None = None,
    *,
    save: Save | None = None,
    device=None,
    memory: str | None = None,
    progress: Callable[[Progress], None] | bool | None = None,
) -> Many:
    """Descends on many problems at once, compiled by JAX for `device` (None: what JAX prefers; "cpu", "gpu", "gpu:1").

    The problems have equal shapes, loss and activation; data, initial weights and scales may differ, and so may the
    steps and batch seeds when `method` is a list, one for each. Every run is the descent of `rf.solve` to rounding,
    mini-batches included; `fast_forward` means nothing here, each iteration is taken. It keeps `save.frames` moments
    evenly spread (101, or what 1 GiB holds), or `save.times`. `memory` bounds what is on the device at once ("4 GiB";
    by default 0.6 of a GPU, 2 GiB of a processor), beyond which the runs take turns.
    """
    began = _time.perf_counter()
    problems, methods = _given(problems, method)
    save = save or Save(frames=FRAMES, memory=MEMORY)
    ends = _ends(problems, methods, t1)
    iteration, asked = _moments(problems[0], methods, ends, save)
    runs, (m, d, n) = len(problems), (problems[0].init.width, problems[0].data.d, problems[0].data.n)
    k = problems[0].outputs
    y = np.empty((runs, iteration.shape[1], m * (d + k + 1) + 1))
    f = np.empty((runs, iteration.shape[1], n) if k == 1 else (runs, iteration.shape[1], n, k))
    rule = _rule(problems[0], methods[0])
    there = pick(device)
    budget = room(there) if memory is None else as_bytes(memory)
    # Runs of like length go together: a batch lasts as long as its longest.
    order = np.argsort(ends, kind="stable")
    done, whole = 0, int(np.sum(ends))
    shared = all(p.data is problems[0].data or p.data == problems[0].data for p in problems)
    each = _bytes(rule, m, d, methods[0].dtype) + (0 if shared else 8 * n * d)
    with _progress.shown(progress, _progress.of_run) as tell:
        for part in np.array_split(order, min(runs, -(-runs * each // budget))):
            runner = _runner(rule, [problems[k] for k in part], [methods[k] for k in part], there, shared)
            told = None if tell is None else _teller(tell, began, done, whole)
            for j in range(iteration.shape[1]):
                runner.advance(iteration[part, j], told)
                q, b, c, energy = runner.state()
                y[part, j] = np.concatenate(
                    [q.reshape(len(part), -1), b.reshape(len(part), -1), c, energy[:, None]], axis=1
                )
                f[part, j] = runner.outputs()
            done += int(np.sum(ends[part]))
    bad = ~(np.all(np.isfinite(y), axis=2) & np.all(np.isfinite(f), axis=tuple(range(2, f.ndim))))
    y[bad], f[bad] = np.nan, np.nan
    outcome = [Outcome.NOT_FINITE if row.any() else Outcome.REACHED for row in bad]
    return Many(problems, methods, iteration, asked, y, f, outcome, _time.perf_counter() - began)


# What was asked for ---------------------------------------------------------------------------------------------------


def _given(problems, method) -> tuple[list[Problem], list[Descent]]:
    problems = list(problems)
    if not problems or not all(isinstance(p, Problem) for p in problems):
        raise TypeError("`problems` must be a list of at least one rf.Problem, got none or something else.")
    for problem in problems:
        all_trained(problem.init, "`rf.solve_many`")
    methods = list(method) if isinstance(method, Sequence) else [method] * len(problems)
    if len(methods) != len(problems) or not all(isinstance(m, Descent) for m in methods):
        raise TypeError(
            f"`method` must be one rf.Descent(...) or one for each of the {len(problems)} problems, got {method!r}: "
            "flows run one by one, with `rf.solve` or `rf.sweep`."
        )
    for name, of in COMMON.items():
        found = {of(p) for p in problems}
        if len(found) > 1:
            raise ValueError(
                f"All problems must have the same {name}, got {' and '.join(str(v) for v in sorted(found)[:2])}: call "
                "`solve_many` once for each."
            )
    for name in ("batch", "dtype"):
        if len({getattr(m, name) for m in methods}) > 1:
            raise ValueError(f"All methods must have the same `{name}`, got several: call `solve_many` once for each.")
    return problems, methods


COMMON = {
    "numbers of rows and columns": lambda p: p.data.x.shape,
    "width": lambda p: p.init.width,
    "number of outputs": lambda p: p.outputs,
    "loss": lambda p: p.loss,
    "reduction": lambda p: p.reduction,
    "activation": lambda p: (p.activation.slope, p.activation.at_zero),
    "trained layers": lambda p: p.train,
    "decay": lambda p: p.decay,
}


def _ends(problems, methods, t1) -> np.ndarray:
    """The last iteration of every run."""
    if t1 is None:
        raise ValueError("`t1` must be given for many runs, got None: a batch lasts as long as its longest run.")
    times = np.broadcast_to(np.asarray(t1, float), len(problems))
    return np.array([int(end_clock(p, float(t), None, m)) for p, m, t in zip(problems, methods, times)])


def _moments(problem, methods, ends, save: Save) -> tuple[np.ndarray, np.ndarray]:
    """(iterations to keep (runs, moments), which of them are frames): first and last are always kept."""
    if save.times is not None:
        times = np.array(save.times)
        inside = np.array([np.minimum(m.iteration(times), e) for m, e in zip(methods, ends)])
        kept = np.column_stack([np.zeros(len(ends)), inside, ends]).astype(np.int64)
        asked = np.r_[False, np.ones(len(times), bool), False]
        extra = np.r_[np.any(kept[:, 0] < kept[:, 1]), np.ones(len(times), bool), np.any(kept[:, -1] > kept[:, -2])]
        # A first or last moment that is a frame of every run is kept once.
        return kept[:, extra], asked[extra]
    m, d, n, k = problem.init.width, problem.data.d, problem.data.n, problem.outputs
    fit = as_bytes(save.memory) // (8 * len(ends) * (m * (d + k + 1) + 1 + n * k))
    frames = int(max(2, min(save.frames, fit, np.min(ends) + 1)))
    kept = np.rint(np.linspace(0.0, 1.0, frames) * ends[:, None]).astype(np.int64)
    return kept, np.ones(frames, bool)


def _rule(problem: Problem, method: Descent) -> Rule:
    return Rule(
        SOFTMAX if problem.loss == "softmax" else TABLE[problem.loss].code,
        float(problem.activation.slope),
        float(problem.activation.at_zero or 0.0),
        problem.reduction == "mean",
        problem.train == "first",
        problem.data.n,
        min(method.batch or problem.data.n, problem.data.n),
        problem.decay,
    )


def _runner(rule: Rule, problems, methods, device, shared: bool) -> Runner:
    starts = [plain._start(p) for p in problems]
    data = [p.data for p in problems]
    kind = (lambda y: y.astype(np.int64)) if rule.loss == SOFTMAX else (lambda y: y)
    return Runner(
        rule,
        data[0].x if shared else np.stack([v.x for v in data]),
        kind(data[0].y) if shared else np.stack([kind(v.y) for v in data]),
        np.stack([s.q for s in starts]),
        np.stack([s.b for s in starts]),
        np.stack([s.c for s in starts]),
        np.array([m.step for m in methods]),
        [m.seed for m in methods],
        methods[0].dtype,
        device,
    )


def _bytes(rule: Rule, m: int, d: int, dtype: str) -> int:
    """Device memory of one run, about: state, gradient, and a few arrays of one batch."""
    real = np.dtype(dtype).itemsize
    return m * d * (2 * real + 16) + rule.batch * m * (3 * real + 8) + rule.batch * d * real + 64 * m


def _teller(progress, began, done, whole):
    """Turns iterations of a batch into a Progress over all runs."""

    def told(at):
        steps = done + int(np.sum(at))
        progress(Progress(steps / whole, float("nan"), steps, 0, _time.perf_counter() - began))

    return told
