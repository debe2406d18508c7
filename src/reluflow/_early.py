r"""The early phase in the limit of vanishing scale: outputs are 0, the residual is constant, every neuron moves
independently.

    |w_j(t)| ~ scale A_j e^{rate_j t},   A_j = (1/2) (p + |w|) e^{-rate_j t}  at any t after its last event,
    p = <w, s D>/|D|

[early_alignment, section 2; orthogonal_square_loss, 4.1]. Events, slides and motion are those of `engine/frozen.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reluflow import _text
from reluflow.clock import clock_for
from reluflow.drive.exact import Machine
from reluflow.engine.field import SLID
from reluflow.events import Events
from reluflow.init import Params
from reluflow.problem import Problem

START = -150.0  # log scale of the run: e^{2 START} is negligible next to any label, and c is still accurate to 1e-14
SETTLED = 100.0  # growth times after an event within which the next one would have happened


@dataclass(frozen=True)
class Target:
    """A direction along which neurons grow under the constant residual: w || s D(w), an extremal vector."""

    sign: float
    direction: np.ndarray
    rate: float
    neurons: tuple[int, ...]
    bits: np.ndarray  # (n,)


@dataclass(frozen=True, eq=False)
class Early:
    """The motion of each neuron under the constant residual; times are those of the flow and do not depend on the
    scale.

    `events`         every change of a bit, as in `Solution.events`; `history(j)` gives those of one neuron
    `initial_bits`   before the first event, (width, n); `bits` after the last, slid ones between the slope and 1
    `sliding`        where a neuron ends up held on a surface, (width, n)
    `last`           time of each neuron's last event, 0 without any
    `dead`           neurons inactive on all data, or with zero pull: they never change
    `direction`      limit of w_j / |w_j|, (width, d)
    `rate`           growth rate |D_j|; negative for a held neuron that shrinks, 0 for a dead one
    `log_amplitude`  log A_j, so that log |w_j(t)| -> log(scale) + log A_j + rate_j t
    """

    sign: np.ndarray
    events: Events
    initial_bits: np.ndarray
    bits: np.ndarray
    sliding: np.ndarray
    last: np.ndarray
    dead: np.ndarray
    direction: np.ndarray
    rate: np.ndarray
    log_amplitude: np.ndarray

    def history(self, j: int) -> Events:
        """The events of neuron j in order of time."""
        return self.events[self.events.neuron == j]

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """The extremal directions reached, fastest first, with their neurons."""
        groups: list[list[int]] = []
        for j in np.flatnonzero(self.rate > 0):
            for group in groups:
                k = group[0]
                near = np.max(np.abs(self.direction[j] - self.direction[k])) < 1e-9
                if near and self.sign[j] == self.sign[k] and np.isclose(self.rate[j], self.rate[k], rtol=1e-9):
                    group.append(int(j))
                    break
            else:
                groups.append([int(j)])
        groups.sort(key=lambda g: (-self.rate[g[0]], g[0]))
        first = [g[0] for g in groups]
        return tuple(
            Target(float(self.sign[k]), self.direction[k], float(self.rate[k]), tuple(g), self.bits[k])
            for k, g in zip(first, groups)
        )

    def __repr__(self) -> str:
        end = f", the last at t = {self.events.t[-1]:.6g}" if len(self.events) else ""
        lines = [
            f"Early phase: {len(self.events)} events{end}; {int(np.sum(self.dead))} of {len(self.rate)} neurons dead"
        ]
        for k, target in enumerate(self.targets[:8]):
            on = np.flatnonzero(target.bits > 0).tolist()
            lines.append(
                f"  {'+' if target.sign > 0 else '-'} direction {k}: rate {target.rate:.6g}, "
                f"{len(target.neurons)} neurons, active on {_text.listed(on)}"
            )
        if len(self.targets) > 8:
            lines.append(f"  and {len(self.targets) - 8} slower directions")
        return "\n".join(lines)


def at_scale(problem: Problem, log_scale: float) -> Problem:
    """The same problem with its largest log scale moved to `log_scale`."""
    init = problem.init
    own = init.log_scales[0]
    moved = Params(init.w, init.a, log_scale=log_scale + own - np.max(own))
    return Problem(
        problem.data, moved, problem.loss, problem.reduction, problem.activation, problem.train, problem.decay
    )


class Frozen:
    """A machine at t = 0 whose neurons follow the residual of f = 0 for any length of time."""

    def __init__(self, problem: Problem):
        self.machine = m = Machine(at_scale(problem, START), 1e-10, np.inf)
        m.burst(0)
        self.rows = [m.work.log[: m.run.log_used].copy()]
        m.run.log_used = 0
        m.horizon()

    def go(self, t: float) -> np.ndarray:
        rows = self.machine.jump_to(t)
        self.rows.append(rows)
        return rows

    @property
    def q(self) -> np.ndarray:
        m = self.machine
        return m.state.y[: m.m * m.r].reshape(m.m, m.r)

    @property
    def c(self) -> np.ndarray:
        m = self.machine
        return m.state.y[m.m * (m.r + 1) : m.m * (m.r + 2)]

    def pulls(self) -> np.ndarray:
        """D_j of the current bits. Sizes are reset to the initial ones, where outputs are 0."""
        self.c[:] = START
        self.machine.horizon()
        return self.machine.work.pull * np.exp(self.machine.span.G)


def early_phase(problem: Problem) -> Early:
    """Follows every neuron under the constant residual until its direction has converged."""
    frozen = Frozen(problem)
    m = frozen.machine
    if np.any(m.start.delta_sign != 0):
        j = int(np.flatnonzero(m.start.delta_sign)[0])
        raise ValueError(
            f"`rf.limit` needs balanced neurons, |a_j| = |w_j|, got others (neuron {j}): use `rf.init.balanced(...)`."
        )
    sign = np.sign(m.start.b)
    initial = q_bits(m)
    force = float(np.sum(np.abs(m.packed.alpha * m.work.g)) * np.exp(m.span.G)) or 1.0
    last, t = np.zeros(m.m), 0.0
    D, size, moving = frozen.pulls(), np.zeros(m.m), np.zeros(m.m, bool)
    for k in range(50):
        size = np.linalg.norm(D, axis=1)
        moving = (m.state.dead == 0) & (size > 1e-13 * force)
        if np.all(size[moving] * (t - last[moving]) > SETTLED):
            break
        t = 2.0 * SETTLED / force * 4.0**k
        rows = frozen.go(t)
        np.maximum.at(last, rows[:, 1].astype(int), [m._time_of(clock) for clock in rows[:, 0]])
        D = frozen.pulls()
    else:
        raise RuntimeError("The early phase did not converge: a neuron keeps switching under a constant residual.")
    along = sign * np.sum(D * frozen.q, axis=1)
    grows = moving & (along > 0)
    q = np.where(grows[:, None], sign[:, None] * D / np.where(size > 0, size, 1.0)[:, None], frozen.q)
    clock = np.array([m.run.clock])
    code = m.state.code.reshape(1, -1).copy()
    _, _, bits = m.look(clock, m.state.y[None].copy(), code, bits=True)
    rate = np.where(grows, size, np.where(moving, -size, 0.0))
    # Amplitudes: computed again, only up to the last event, to avoid cancellation against rate * t.
    again = Frozen(problem)
    end = float(np.max(last, initial=0.0))
    if end > 0:
        again.go(end)
    with np.errstate(divide="ignore"):
        cosine = np.where(grows, np.sum(again.q * q, axis=1), 1.0)
        log_amplitude = again.c - m.units.log_size - START + np.log1p(cosine) - np.log(2.0) - rate * end
    rows = np.concatenate(frozen.rows)
    events = Events.from_surfaces(rows, clock_for(problem, None).times, m.packed, m.coords.kept)
    sliding = np.zeros((m.m, m.coords.n), bool)
    sliding[:, m.coords.kept] = (code.reshape(m.m, m.big) & 3 == SLID)[:, m.packed.surf]
    return Early(
        sign=sign,
        events=events,
        initial_bits=initial,
        bits=bits_of_data(m, bits[0]),
        sliding=sliding,
        last=m.units.to_time(last),
        dead=~moving,
        direction=m.coords.expand(q),
        rate=m.units.to_clock(rate),
        log_amplitude=log_amplitude,
    )


def q_bits(m: Machine) -> np.ndarray:
    """Bits at t = 0 from the signs of <w_j, x_i>, (width, n)."""
    u = m.start.q @ m.packed.e.T
    return bits_of_data(m, np.where(u > 4.5e-16, 1.0, m.packed.slope))


def bits_of_data(m: Machine, bits: np.ndarray) -> np.ndarray:
    """Bits of surfaces (width, S) as bits of data (width, n)."""
    of_row = bits[:, m.packed.surf]
    full = np.full((m.m, m.coords.n), m.packed.slope)
    full[:, m.coords.kept] = np.where(m.packed.alpha < 0, 1.0 + m.packed.slope - of_row, of_row)
    return full
