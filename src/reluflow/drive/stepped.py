r"""Gradient flow on many data: adaptive steps with bits read off the signs, no crossing located.

    q' = b (D - h q),   b' = h (1 - b^2),   c' = b h,      D_j = sum_i s'(<q_j, x_i>) g_i x_i,   h = <D, q>

`rf.Flow` locates every crossing and keeps the n x n Gram matrix, which is too much for thousands of data (MNIST 0/1 has
12,665 rows, and 50 neurons cross most of their boundaries). Here a step is the pair of orders 5 and 4 of Cash and Karp
(1990): six stages, each with one product by X and one by its transpose. A bit is the sign of <q_j, x_i> at each stage.

**What the error estimate controls.** Where datum i crosses inside a step, at the fraction theta of it, the velocity of
q_j jumps by J = b_j g_i x_i (those of b and c do not: <q_j, x_i> = 0 there), and a step of length h has the error
h J E(theta), E(theta) = sum of the weights of the stages after theta - (1 - theta). |E| is at most KICK = 0.2021 and E
has mean 0 over theta, while the difference of the two orders is only 0.004 to 0.02 of h J: by itself it would miss
crossings. So the estimate of neuron j is the root of the sum of squares of that difference and of KICK h |J| for every
bit that is not the same at all stages and at the end of the step: the worst case for one crossing, and the expected
size of the sum of many independent ones. A step is accepted when the estimate is below `rtol` for every neuron.

**Sliding** is not computed as such: the neuron crosses the boundary back and forth, in steps so short (about
5 rtol / |J|) that its distance from it stays near the tolerance. This needs many steps at small `rtol`, and does not
matter where a neuron slides on one datum in thousands. No bit is ever fractional, no event is listed
(`Limits(events=...)` does not apply), and where the solution is not unique, rounding decides which one is computed.
"""

from typing import NamedTuple

import numpy as np

from reluflow.drive.bursts import progress_of, stored_flow
from reluflow.drive.loop import Done
from reluflow.drive.recorder import Costs, States, Tape
from reluflow.engine.field import ON
from reluflow.engine.layout import parts
from reluflow.engine.pack import Coordinates, Pack, Start, initial_state, loss_at_zero
from reluflow.losses import LOSSES, Loss
from reluflow.methods import Limits, Save
from reluflow.outcome import Outcome
from reluflow.problem import Problem

# Cash and Karp's stages: times, couplings, weights of order 5, and those less the weights of order 4.
NODES = np.array([0.0, 1 / 5, 3 / 10, 3 / 5, 1.0, 7 / 8])
COUPLING = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (3 / 10, -9 / 10, 6 / 5),
    (-11 / 54, 5 / 2, -70 / 27, 35 / 27),
    (1631 / 55296, 175 / 512, 575 / 13824, 44275 / 110592, 253 / 4096),
)
WEIGHTS = np.array([37 / 378, 0.0, 250 / 621, 125 / 594, 0.0, 512 / 1771])
DIFFERENCE = WEIGHTS - np.array([2825 / 27648, 0.0, 18575 / 48384, 13525 / 55296, 277 / 14336, 1 / 4])
KICK = WEIGHTS[2:].sum() - (1 - NODES[2])  # max |E(theta)|, just before the third node


class End(NamedTuple):
    """The velocity at one state, and what it was made from."""

    rate: np.ndarray
    on: np.ndarray  # (m, n) <q_j, x_i> > 0
    push: np.ndarray  # (n,) |x_i| times the drive, in units of the clock


class Machine:
    """The counterpart of `exact.Machine`: the state, its step, and states read or replayed."""

    def __init__(self, problem: Problem, rtol: float, end: float):
        self.made_of = (problem, rtol, end)
        self.packed, self.coords, self.start = plain_pack(problem)
        self.m, self.r = self.start.q.shape
        self.big = self.n = self.packed.alpha.size
        self.size = self.m * (self.r + 2) + 1
        self.loss, self.tailed = LOSSES[problem.loss], problem.endless
        y = np.concatenate([self.start.q.ravel(), self.start.b, self.start.c, [0.0]])
        self.row_bytes = 8 * (self.size + 2) + self.m * self.big
        self.end, self.rtol, self.first = end, rtol, 1
        self.steps = self.rejected = self.fields = self.bit_changes = 0
        self.stride, self.tick = 1, 0
        self.u, self.coef = np.empty((self.m, self.n)), np.empty((self.m, self.n))
        self.first_size = np.maximum(np.linalg.norm(self.start.q, axis=1), 1e-300)
        self.clock, self.y, self.now = 0.0, y, self._end(0.0, y)
        speed = np.max(self._sizes(self.now.rate, y), initial=0.0)
        self.h = float(min(end, 0.1 * rtol**0.2 / speed) if speed > 0 else min(end, 1.0))

    def __reduce__(self) -> tuple:
        # A copy is at t = 0: a checkpoint is restored before a state is read from it.
        return type(self), self.made_of

    # The field --------------------------------------------------------------------------------------------------------

    def outputs(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """f (n,) and which bits are on, (m, n); leaves s(u) in scratch."""
        q, b, c = self.split(y)
        np.dot(q, self.packed.e.T, out=self.u)
        on = self.u > 0.0
        if self.packed.slope == 0.0:
            np.maximum(self.u, 0.0, out=self.u)
        else:
            np.multiply(self.u, np.where(on, 1.0, self.packed.slope), out=self.u)
        return self.packed.alpha * ((np.exp(2.0 * c) * b) @ self.u), on

    def _end(self, clock: float, y: np.ndarray) -> End:
        """The velocity of (q, b, c, energy) with respect to the clock."""
        packed = self.packed
        self.fields += 1
        f, on = self.outputs(y)
        g, G = drive(self.loss, packed, f)
        push = packed.alpha * g
        np.multiply(on, push, out=self.coef)
        if packed.slope > 0.0:
            self.coef += packed.slope * np.where(on, 0.0, push)
        D = self.coef @ packed.e
        q, b, c = self.split(y)
        fac = np.exp(G + clock) if self.tailed else np.exp(G)
        out = np.zeros(self.size)
        dq, db, dc = self.split(out)
        h = np.sum(D * q, axis=1)
        size = np.sum(D * D, axis=1)
        if packed.first:
            dq[:] = fac * b[:, None] * D
            spent = np.sum(b * b * size)
        else:
            dq[:] = fac * b[:, None] * (D - h[:, None] * q)
            # Exactly zero at b = +-1: balanced stays balanced.
            db[:], dc[:] = fac * h * (1.0 - b) * (1.0 + b), fac * b * h
            spent = np.sum(np.exp(2.0 * c) * (b * b * size + h * h))
        out[-1] = spent * fac * np.exp(G)
        if packed.decay > 0.0:
            self._add_decay(y, out)
        return End(out, on, fac * push)

    def _add_decay(self, y: np.ndarray, rate: np.ndarray) -> None:
        """What decay adds to the velocity: -decay (w, a), and |p - decay theta|^2 - |p|^2 to the energy."""
        decay = self.packed.decay
        q, _, c = self.split(y)
        dq, _, dc = self.split(rate)
        if self.packed.first:
            rate[-1] -= decay * np.sum(q * (2.0 * dq - decay * q))
            dq -= decay * q
        else:
            rate[-1] -= np.sum(np.exp(2.0 * c) * (4.0 * decay * dc - 2.0 * decay * decay))
            dc -= decay

    # One step ---------------------------------------------------------------------------------------------------------

    def stages(self, clock: float, y: np.ndarray, first: End, h: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The state after a step h, the difference of the two orders, and which bits changed at some stage."""
        k = np.empty((6, self.size))
        k[0] = first.rate
        changed = np.zeros_like(first.on)
        for i in range(1, 6):
            stage = self._end(clock + NODES[i] * h, y + h * (np.array(COUPLING[i]) @ k[:i]))
            k[i] = stage.rate
            changed |= stage.on != first.on
        return self._project(y + h * (WEIGHTS @ k), clock + h), h * (DIFFERENCE @ k), changed

    def step(self) -> bool | None:
        """Tries one step from the present state: True if it was kept, None if the step has nowhere left to shrink."""
        clock, h, end, rtol = self.clock, self.h, self.end, self.rtol
        last = clock + h >= end * (1 - 1e-14)
        h = end - clock if last else h
        then = end if last else clock + h
        if then <= clock * (1 + 4e-16) and not last:
            return None
        y, now = self.y, self.now
        with np.errstate(over="ignore", invalid="ignore"):
            new, difference, changed = self.stages(clock, y, now, h)
            smooth = self._sizes(difference, y)
            error, power, to = float(np.max(smooth, initial=0.0)), 0.2, None
            if error <= rtol:
                to = self._end(then, new)
                kicks = self._kicks(now, changed | (now.on != to.on), h)
                error = float(np.max(np.hypot(smooth, kicks), initial=0.0))
                # One crossing errs like h, many like h^{3/2}.
                power = 0.2 if np.max(kicks, initial=0.0) < 0.5 * error else 2 / 3
        scale = 0.9 * (rtol / error) ** power if error > 0.0 else 5.0
        grown = h * (float(np.clip(scale, 0.1, 5.0)) if np.isfinite(scale) else 0.1)
        if to is None or not error <= rtol or not np.all(np.isfinite(to.rate)):
            self.h = min(grown, 0.9 * h)
            self.rejected += 1
            return False
        # A last step cut short by the end says nothing against the step before it.
        self.h = max(grown, self.h) if last else grown
        self.bit_changes += int(np.count_nonzero(now.on != to.on))
        self.steps += 1
        self.clock, self.y, self.now = then, new, to
        return True

    def _kicks(self, now: End, changed: np.ndarray, h: float) -> np.ndarray:
        """KICK h |b| (sum over bits that changed of |g_i x_i|^2)^(1/2), one number a neuron."""
        neuron, datum = np.nonzero(changed)
        total = np.bincount(neuron, weights=now.push[datum] ** 2, minlength=self.m)
        q, b, _ = self.split(self.y)
        return KICK * h * (1.0 - self.packed.slope) * np.abs(b) * np.sqrt(total) / self._scale(q)

    def _sizes(self, v: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Length of the change v of each neuron, in units of the neuron's own scale."""
        dq, db, dc = self.split(v)
        return np.sqrt(np.sum(dq * dq, axis=1) + db * db + dc * dc) / self._scale(self.split(y)[0])

    def _scale(self, q: np.ndarray) -> np.ndarray | float:
        """1, as |q|^2 + b^2 = 2; for the first layer alone |w_j|, not less than at the start."""
        return np.maximum(np.linalg.norm(q, axis=1), self.first_size) if self.packed.first else 1.0

    def _project(self, y: np.ndarray, clock: float) -> np.ndarray:
        """Back on |q|^2 + b^2 = 2 and, for unbalanced rows, on 2 e^{2c} (b^2 - 1) = a^2 - |w|^2, which decays.

        Of |q| and |b| the smaller is kept: from the larger one it would follow only to an error of b over |q|, so that
        a neuron near w = 0 would take a length made of errors, or exactly 0, where it would stay.
        """
        if self.packed.first:
            return y
        q, b, c = self.split(y)
        s, log = self.start.delta_sign, self.start.delta_log - 2.0 * self.packed.decay * clock
        square = np.sum(q * q, axis=1)
        short = square < 0.5
        b[short] = np.copysign(np.sqrt(2.0 - square[short]), b[short])
        defect = (b - 1.0) * (b + 1.0)
        odd = s != 0.0
        by_b = odd & (np.abs(defect) < 0.5)
        by_c = odd & ~by_b & (np.sign(defect) == s)
        wanted = np.where(by_b, 1.0 + 0.5 * s * np.exp(np.where(by_b, log - 2.0 * c, 0.0)), 1.0)
        b[by_b] = (np.sign(b) * np.sqrt(np.maximum(wanted, 0.0)))[by_b]
        c[by_c] = 0.5 * (log[by_c] - np.log(2.0 * np.abs(defect[by_c])))
        size = np.sqrt(square)
        wanted = np.where(short, size, np.sqrt(np.maximum(2.0 - b * b, 0.0)))
        q *= (wanted / np.where(size > 0.0, size, 1.0))[:, None]
        return y

    # A run ------------------------------------------------------------------------------------------------------------

    def begin(self, tape: Tape, save: Save, limits: Limits) -> Outcome | None:
        self._add_now(tape)
        return None

    def advance(self, budget: int, tape: Tape) -> Outcome | None:
        for _ in range(budget):
            kept = self.step()
            if kept is None:
                return Outcome.STALLED if np.all(np.isfinite(self.now.rate)) else Outcome.NOT_FINITE
            if kept:
                self.tick += 1
                if self.tick >= self.stride:
                    self.tick = 0
                    self._add_now(tape)
            if self.clock >= self.end:
                return Outcome.REACHED
        return None

    def finish(self, tape: Tape, outcome: Outcome) -> None:
        if not tape.marks or tape.checkpoints()[0].clock[-1] != self.clock:
            self._add_now(tape, last=True)

    def done(self) -> Done:
        tried = self.steps + self.rejected
        return Done(self.steps, tried, 0, tried)

    def progress(self) -> tuple[float | None, float]:
        return progress_of(self.clock, self.end, self.tailed)

    def costs(self) -> Costs:
        return Costs(self.steps, self.rejected, self.fields, np.nan, {"stepped": self.steps}, self.bit_changes)

    def stored(self, resume: np.ndarray) -> dict[str, np.ndarray]:
        return stored_flow(self.coords, self.end, 0.0)

    def _add_now(self, tape: Tape, last: bool = False) -> None:
        code = np.where(self.now.on, ON, 0).reshape(1, -1).astype(np.int8)
        tape.keep(States(np.array([self.clock]), self.y[None].copy(), code), np.array([self.h]), self._thinned, last)

    def _thinned(self, newest_dropped: bool, newest: float) -> None:
        self.tick += newest_dropped * self.stride
        self.stride *= 2

    # Any moment -------------------------------------------------------------------------------------------------------

    def restore(self, clock: float, resume: float, y: np.ndarray, code: np.ndarray) -> None:
        """Puts a checkpoint back."""
        self.clock, self.y, self.now, self.h = float(clock), y.copy(), self._end(clock, y), float(resume)

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q (..., m, r), b (..., m) and c (..., m) of states."""
        return parts(y, self.m)[:3]

    def energy(self, y: np.ndarray) -> np.ndarray:
        """The energy dissipated."""
        return y[..., -1]

    def look(
        self, clock: np.ndarray, y: np.ndarray, code: np.ndarray, bits: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Outputs (rows, n), log loss (rows,) and, when asked for, bits (rows, m, n) of stored states."""
        f = np.array([self.outputs(row)[0] for row in y]).reshape(len(y), self.n)
        logs = np.array(
            [self.loss.log_total(self.packed.y, row, self.packed.weight, self.packed.constant) for row in f]
        )
        shape = (len(y) if bits else 0, self.m, self.big)
        return f, logs, np.where(code[: shape[0]].reshape(shape) == ON, 1.0, self.packed.slope)

    def frames(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States at ascending clock values, going on from the present state by the steps of the run.

        Inside a step: one shorter step from where it began.
        """
        y, code = np.empty((len(wanted), self.size)), np.empty((len(wanted), self.m * self.big), np.int8)
        before = self.clock, self.y, self.now
        for k, clock in enumerate(wanted):
            while self.clock < clock:
                before = self.clock, self.y, self.now
                while not (kept := self.step()):
                    if kept is None:
                        break
                if kept is None:
                    break
            if clock == self.clock:
                y[k], on = self.y, self.now.on
            elif clock == before[0]:
                y[k], on = before[1], before[2].on
            else:
                y[k] = self.stages(before[0], before[1], before[2], clock - before[0])[0]
                _, on = self.outputs(y[k])
            code[k] = np.where(on, ON, 0).ravel()
        return y, code


def plain_pack(problem: Problem) -> tuple[Pack, Coordinates, Start]:
    """As `engine.pack.pack`, without a Gram matrix: a surface for each row, columns of zeros left out."""
    x, y = problem.data.x, problem.data.y
    norms = np.linalg.norm(x, axis=1)
    kept = np.flatnonzero(norms > 0)
    unit = x[kept] / norms[kept, None]
    used = np.any(unit != 0.0, axis=0)
    basis = np.eye(x.shape[1])[used]
    start, perp = initial_state(problem, basis)
    rows = unit if np.all(used) else np.hstack([unit[:, used], np.zeros((len(kept), 1))])
    packed = Pack(
        e=np.ascontiguousarray(rows),
        et=np.empty((0, 0)),
        gram=np.empty((0, 0)),
        surf=np.arange(len(kept)),
        alpha=norms[kept],
        y=np.array(y[kept]),
        opposite=np.zeros(len(kept), np.int64),
        rays=np.empty((0, 0)),
        rank=len(basis),
        weight=float(problem.weight),
        constant=loss_at_zero(problem, np.delete(y, kept)),
        loss=LOSSES[problem.loss].code,
        slope=float(problem.activation.slope),
        first=int(problem.train == "first"),
        decay=problem.decay,
        late=int(problem.endless),
    )
    return packed, Coordinates(basis, perp, kept, problem.data.n), start


def drive(loss: Loss, packed: Pack, f: np.ndarray) -> tuple[np.ndarray, float]:
    """-dL/df_i / e^G and G (0 for a loss without a tail)."""
    if not loss.tailed:
        return loss.force(packed.y, f, packed.weight), 0.0
    log = loss.log_force(packed.y * f)
    top = float(np.max(log, initial=-np.inf))
    if not np.isfinite(top):
        return np.zeros_like(f), 0.0
    return packed.y * np.exp(log - top), top + np.log(packed.weight) + loss.log_factor
