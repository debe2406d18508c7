r"""Phases of constant drive with several outputs, in closed form.

With M = U diag(sigma) V' (normals of held surfaces projected out) a neuron is a sum of modes,

    (w, a)(t) = sum_l e^{L_l + lambda_l t} (q_l, b_l):   (v_r, u_r) at sigma_r,  (v_r, -u_r) at -sigma_r,  a rest at 0,

so <w, x_i>, the forces on held surfaces and their bounds are sums of exponentials, whose first root is found by Rolle's
theorem. Every mode keeps a log size of its own: components that alignment made smaller than rounding decide what is
learnt next [vector_outputs, section 4].

Neurons that are large rest, but a small change of them grows with the Hessian of the loss: `unstable` finds its growing
directions, and how far their followers are along them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reluflow.engine import surfaces
from reluflow.engine.field import DORMANT, ON, SLID
from reluflow.engine.vector import layout, rare

if TYPE_CHECKING:
    from reluflow.drive.vector import Machine

SMALL = 1e-11  # a component of a row below this is rounding
FORCE = 1e-11  # a singular value or a force below this share of all forces is none
NEAR = 16.0  # log of the ratio of two sizes up to which they share a row
SAME = 1e-13  # exponents closer than this, relative to the largest, are one
LABEL = 1e-9  # of |F|: a bit nearer to the slope counts as being there
UNFELT = 1e-9  # a change of the outputs below this share of what weights can change is none
MOST_EVENTS = 10_000  # of one neuron in one jump


class Rows(NamedTuple):
    """Rows e^L (q, b) whose sum is a neuron."""

    q: np.ndarray  # (rows, r)
    b: np.ndarray  # (rows, k)
    log: np.ndarray  # (rows,)


class Modes(NamedTuple):
    """Rows that grow or shrink as e^{rate t} from `start` on, with the codes of the neuron meanwhile."""

    start: float
    rows: Rows
    rate: np.ndarray
    code: np.ndarray

    def at(self, t: float) -> Rows:
        """The rows at time t."""
        return self.rows._replace(log=self.rows.log + self.rate * (t - self.start))


# Sums of exponentials -------------------------------------------------------------------------------------------------


def value(coef: np.ndarray, log: np.ndarray, rate: np.ndarray, t: float) -> float:
    """sum_l coef_l e^{log_l + rate_l t} up to a positive factor."""
    size = log + rate * t
    return float(coef @ np.exp(size - size.max()))


def merged(coef: np.ndarray, log: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same sum with equal rates put together, ascending, and without terms that are 0."""
    keep = coef != 0.0
    order = np.argsort(rate[keep], kind="stable")
    coef, log, rate = coef[keep][order], log[keep][order], rate[keep][order]
    if len(rate) < 2 or np.all(np.diff(rate) > SAME * np.max(np.abs(rate))):
        return coef, log, rate
    groups = np.cumsum(np.r_[False, np.diff(rate) > SAME * np.max(np.abs(rate))])
    parts = [
        (np.sum(coef[at] * np.exp(log[at] - np.max(log[at]))), np.max(log[at]), rate[at][0])
        for at in (groups == g for g in range(groups[-1] + 1))
    ]
    coef, log, rate = map(np.array, zip(*parts, strict=True))
    return coef[coef != 0.0], log[coef != 0.0], rate[coef != 0.0]


def sign_changes(coef: np.ndarray, log: np.ndarray, rate: np.ndarray, limit: float) -> list[float]:
    """Where in (0, limit) the sum changes its sign, in order: between two such places of the derivative of the sum
    over its slowest term it is monotone, and the derivative has one term less."""
    if len(coef) < 2 or np.all(coef > 0.0) or np.all(coef < 0.0):
        return []
    if len(coef) == 2:
        t = (log[0] + np.log(abs(coef[0])) - log[1] - np.log(abs(coef[1]))) / (rate[1] - rate[0])
        return [float(t)] if 0.0 < t < limit else []
    if one_change(coef):
        at_0, at_limit = value(coef, log, rate, 0.0), value(coef, log, rate, limit)
        return [bisected(coef, log, rate, 0.0, limit, at_0)] if at_0 * at_limit < 0.0 else []
    turns = sign_changes(coef[1:] * (rate[1:] - rate[0]), log[1:], rate[1:] - rate[0], limit)
    places = [0.0, *turns, limit]
    values = [value(coef, log, rate, t) for t in places]
    found = []
    for lo, hi, at_lo, at_hi in zip(places[:-1], places[1:], values[:-1], values[1:], strict=True):
        if at_lo * at_hi < 0.0:
            found.append(bisected(coef, log, rate, lo, hi, at_lo))
    return found


def one_change(coef: np.ndarray) -> bool:
    """Whether the coefficients, by ascending rate, change their sign once: then the sum does over all times."""
    up = coef > 0.0
    return int(np.count_nonzero(up[1:] != up[:-1])) == 1


def bisected(coef: np.ndarray, log: np.ndarray, rate: np.ndarray, lo: float, hi: float, at_lo: float) -> float:
    """The one sign change in (lo, hi): halving to a millionth of the bracket, then secants inside it."""
    low, high = at_lo, value(coef, log, rate, hi)
    for turn in range(200):
        t = lo + (hi - lo) * low / (low - high) if turn % 3 != 2 else 0.5 * (lo + hi)
        if not lo < t < hi:
            t = 0.5 * (lo + hi)
            if not lo < t < hi:
                break
        here = value(coef, log, rate, t)
        if here * at_lo > 0.0:
            lo, low = t, here
        else:
            hi, high = t, here
        if hi - lo <= 4e-16 * hi:
            break
    return hi


def first_below(coef: np.ndarray, log: np.ndarray, rate: np.ndarray, limit: float) -> float:
    """The first t in [0, limit) from which on the sum is negative; inf if there is none.

    It counts as positive at 0: whoever asks has just made sure of that, and rounding may say otherwise.
    """
    if np.all(coef >= 0.0):
        return np.inf
    coef, log, rate = merged(coef, log, rate)
    if len(coef) == 0 or np.all(coef > 0.0):
        return np.inf
    if coef[-1] > 0.0 and one_change(coef) and value(coef, log, rate, 0.0) > 0.0:
        return np.inf  # positive, and has been so since its one sign change
    # Beyond the last of these times the fastest term is larger than all others together.
    rest = (log[:-1] + np.log(np.abs(coef[:-1])) - log[-1] - np.log(abs(coef[-1])) + np.log(len(coef))) / (
        rate[-1] - rate[:-1]
    )
    last = max(1.0, 2.0 * float(np.max(rest, initial=0.0)))
    stop = min(limit, last)
    places = [0.0, *sign_changes(coef, log, rate, stop), stop]
    for lo, hi in pairwise(places):
        middle = 0.5 * (lo + hi)
        here = value(coef, log, rate, middle)
        if here < 0.0:
            if lo == 0.0 and here > -1e-10 * value(np.abs(coef), log, rate, middle):
                continue
            return lo if lo < limit else np.inf
    return np.inf


# A neuron -------------------------------------------------------------------------------------------------------------


def joined(rows: Rows) -> Rows:
    """Rows of nearly equal size added up, the largest first."""
    q, b, log = [], [], []
    left = np.argsort(-rows.log, kind="stable")
    while len(left):
        top = rows.log[left[0]]
        near = left[rows.log[left] >= top - NEAR]
        left = left[rows.log[left] < top - NEAR]
        ratio = np.exp(rows.log[near] - top)[:, None]
        sum_q, sum_b = np.sum(ratio * rows.q[near], 0), np.sum(ratio * rows.b[near], 0)
        size = np.sqrt(0.5 * (sum_q @ sum_q + sum_b @ sum_b))
        if size > 0.0:
            q.append(sum_q / size)
            b.append(sum_b / size)
            log.append(top + np.log(size))
    return Rows(np.array(q), np.array(b), np.array(log))


def total(rows: Rows) -> tuple[np.ndarray, np.ndarray, float]:
    """(q, b, c) of the sum of the rows."""
    top = np.max(rows.log)
    ratio = np.exp(rows.log - top)[:, None]
    q, b = np.sum(ratio * rows.q, 0), np.sum(ratio * rows.b, 0)
    size = np.sqrt(0.5 * (q @ q + b @ b))
    return q / size, b / size, float(top + np.log(size))


def decomposed(M: np.ndarray, held: np.ndarray, rows: Rows, grain: float) -> tuple[Rows, np.ndarray]:
    """The modes of a neuron under M (k, r) with the orthonormal normals `held`, and their rates; singular values up to
    `grain` count as 0."""
    M = M - (M @ held.T) @ held
    q_rows = rows.q - (rows.q @ held.T) @ held
    U, sigma, V = np.linalg.svd(M, full_matrices=False)
    keep = sigma > grain
    U, sigma, V = U[:, keep].T, sigma[keep], V[keep]
    along, across = q_rows @ V.T, rows.b @ U.T
    q, b, log, rate = [], [], [], []
    for sign in (1.0, -1.0):
        parts = 0.5 * (along + sign * across)
        if len(rows.log) > 1:
            parts[np.abs(parts) < SMALL] = 0.0
        for p in range(len(sigma)):
            used = np.flatnonzero(parts[:, p])
            if len(used) == 0:
                continue
            top = np.max(rows.log[used] + np.log(np.abs(parts[used, p])))
            amount = float(
                np.sum(np.sign(parts[used, p]) * np.exp(rows.log[used] + np.log(np.abs(parts[used, p])) - top))
            )
            if amount == 0.0:
                continue
            q.append(np.sign(amount) * V[p])
            b.append(sign * np.sign(amount) * U[p])
            log.append(top + np.log(abs(amount)))
            rate.append(sign * sigma[p])
    rest_q, rest_b = q_rows - along @ V, rows.b - across @ U
    size = np.sqrt(0.5 * (np.sum(rest_q**2, 1) + np.sum(rest_b**2, 1)))
    some = size > SMALL
    if np.any(some):
        rest = joined(
            Rows(rest_q[some] / size[some, None], rest_b[some] / size[some, None], rows.log[some] + np.log(size[some]))
        )
        q += list(rest.q)
        b += list(rest.b)
        log += list(rest.log)
        rate += [0.0] * len(rest.log)
    return Rows(np.array(q), np.array(b), np.array(log)), np.array(rate)


def time_to_size(modes: Rows, rate: np.ndarray, log_size: float) -> float:
    """When (|w|^2 + |a|^2) / 2 = sum_l e^{2 (L_l + rate_l t)} reaches e^{2 log_size}; inf if it does not."""
    up = rate > 0.0
    if not np.any(up):
        return np.inf
    hi = float(np.min((log_size - modes.log[up]) / rate[up]))
    if hi <= 0.0:
        return 0.0
    lo = 0.0
    for _ in range(200):
        t = 0.5 * (lo + hi)
        if not lo < t < hi:
            break
        if 0.5 * np.logaddexp.reduce(2.0 * (modes.log + rate * t)) < log_size:
            lo = t
        else:
            hi = t
    return hi


class Meeting(NamedTuple):
    """What ends a segment: after how long, on which surface (-1: nothing) and how it is marked for `resolve`."""

    after: float
    surface: int = -1
    mark: int = surfaces.ABSENT


class Traced(NamedTuple):
    """A small neuron under a constant drive: its segments, its events, and when it became large (inf: not before the
    limit)."""

    neuron: int
    segments: list[Modes]
    events: np.ndarray
    large_at: float

    def at(self, t: float) -> Modes:
        """The segment that holds at time t."""
        k = int(np.searchsorted([s.start for s in self.segments], t, side="right")) - 1
        return self.segments[max(k, 0)]


class Frozen:
    """The small neurons of a machine under the drive of the present moment, held constant, and growing changes of the
    large ones."""

    def __init__(self, machine: Machine, t0: float, c_stop: float):
        self.machine, self.t0, self.c_stop = machine, t0, c_stop
        work = machine.work
        self.force, self.rear, self.noise = work.force.copy(), work.rear.copy(), work.noise.copy()
        self.fac = float(np.exp(machine.run.G))
        # Forces below this are rounding.
        forces, rounding = float(np.sum(np.linalg.norm(self.force, axis=1))), float(np.sum(self.noise))
        self.grain = self.fac * max(FORCE * forces, 10.0 * rounding)
        _, _, c, _ = layout.parts(machine.state.y, machine.rows, machine.k)
        alive = (machine.state.dead[: machine.m] == 0) | (machine.state.dead[: machine.m] == DORMANT)
        self.small = np.flatnonzero((c[: machine.m] < machine.run.passive) & alive)
        self.large = np.flatnonzero((c[: machine.m] >= machine.run.passive) & alive)
        self.traced: list[Traced] = []
        self.modes: Modes | None = None
        self.undetermined = False
        self.felt = False  # whether growing changes of the large neurons move the outputs

    def horizon(self, limit: float) -> float:
        """Until when the drive may be held constant, at most `limit`: a small neuron becomes large, or a change of the
        large ones does."""
        self.modes, self.undetermined = self.unstable()
        if self.modes is not None:
            up = self.modes.rate > 0.0
            reach = (-NEAR - self.modes.rows.log[up]) / self.modes.rate[up]
            limit = min(limit, self.t0 + max(0.0, float(np.min(reach, initial=np.inf))))
        for j in self.small:
            found = self.trace(int(j), limit)
            self.traced.append(found)
            # What growing changes of large neurons do to followers of small ones is not followed during a jump.
            self.undetermined |= self.felt and len(self.rows_of(int(j)).log) > 1
            limit = min(limit, found.large_at)
        return limit

    # One neuron -----------------------------------------------------------------------------------------------------

    def rows_of(self, j: int) -> Rows:
        """The neuron and its followers."""
        machine = self.machine
        q, b, c, _ = layout.parts(machine.state.y, machine.rows, machine.k)
        at = np.arange(j, machine.rows, machine.m)
        at = at[(machine.state.lead[at] == j) & (np.any(q[at] != 0.0, axis=1) | np.any(b[at] != 0.0, axis=1))]
        return Rows(q[at].copy(), b[at].copy(), c[at].copy())

    def matrix(self, j: int) -> np.ndarray:
        """M_j without the surfaces that it is held on, (k, r)."""
        state = self.machine.state
        coef = self.fac * (state.bits[j][:, None] * self.force + self.rear)
        coef[(state.code[j] & 3) >= SLID] = 0.0
        return coef.T @ self.machine.packed.e

    def trace(self, j: int, limit: float) -> Traced:
        """The neuron until `limit` or until it is large; the state of the machine stays as it is."""
        state, run = self.machine.state, self.machine.run
        kept = self._kept(j)
        clock, used, events = float(run.clock), int(run.log_used), int(run.n_events)
        t, rows, segments, large_at = self.t0, self.rows_of(j), [], np.inf
        muted: set[int] = set()
        while True:
            if state.dead[j] != 0:
                segments.append(Modes(t, rows, np.zeros(len(rows.log)), state.code[j].copy()))
                break
            M, held = self.matrix(j), state.basis[j, : state.slid[j]]
            rows, rate = decomposed(M, held, rows, self.grain)
            segments.append(Modes(t, rows, rate, state.code[j].copy()))
            grown = t + time_to_size(rows, rate, self.c_stop)
            meeting = self.next_meeting(j, M, segments[-1], min(limit, grown) - t, muted)
            if t + meeting.after >= min(limit, grown) or len(segments) > MOST_EVENTS:
                large_at = grown
                break
            t += meeting.after
            rows = segments[-1].at(t)
            before = state.code[j] & 3
            gone_through = self._resolve(j, t, meeting, rows)
            if np.array_equal(before, state.code[j] & 3):
                muted.add(meeting.surface)  # an event that changes nothing is none
            if gone_through:
                q, b, c, _ = layout.parts(state.y, self.machine.rows, self.machine.k)
                rows = Rows(q[j : j + 1].copy(), b[j : j + 1].copy(), c[j : j + 1].copy())
        found = self.machine.work.log[used : run.log_used].copy()
        run.clock, run.log_used, run.n_events = clock, used, events
        self._put_back(j, kept)
        return Traced(j, segments, found, large_at)

    def next_meeting(self, j: int, M: np.ndarray, modes: Modes, limit: float, muted: set[int]) -> Meeting:
        """The first surface, not among the `muted`, that the neuron meets or is released from within `limit`."""
        rows, rate = modes.rows, modes.rate
        state, packed = self.machine.state, self.machine.packed
        best = Meeting(np.inf)
        kind = state.code[j] & 3
        u = rows.q @ packed.e.T
        u[np.abs(u) < SMALL] = 0.0
        u *= np.where(kind == ON, 1.0, -1.0)
        if packed.slope < 1.0:
            for s in np.flatnonzero((kind < SLID) & np.any(u < 0.0, axis=0)):
                if s in muted:
                    continue
                after = first_below(u[:, s], rows.log, rate, min(limit, best.after))
                if after < best.after:
                    best = Meeting(after, int(s), surfaces.FALLING if kind[s] == ON else surfaces.RISING)
        count = int(state.slid[j])
        if count == 0 or np.count_nonzero(kind >= SLID) > count:
            return best
        where = state.where[j, :count]
        normals = packed.e[where]
        nu = -np.linalg.solve(normals @ normals.T, normals @ M.T)
        need = (nu - self.fac * self.rear[where]) @ rows.b.T
        jump = self.fac * self.force[where] @ rows.b.T
        need[np.abs(need) < self.grain] = 0.0
        jump[np.abs(jump) < self.grain] = 0.0
        for a, s in enumerate(where):
            if s in muted:
                continue
            ways: tuple[tuple[np.ndarray, int], ...] = (
                (-need[a] + packed.slope * jump[a], surfaces.FORCE_OFF),
                (need[a] - jump[a], surfaces.FORCE_ON),
            )
            if kind[s] != SLID:
                ways = ((need[a] - packed.slope * jump[a] - LABEL * jump[a], surfaces.RELEASE),)
            for coef, mark in ways:
                after = first_below(coef, rows.log, rate, min(limit, best.after))
                if after < best.after:
                    best = Meeting(after, int(s), mark)
        return best

    def _resolve(self, j: int, t: float, meeting: Meeting, rows: Rows) -> bool:
        """Decides what neuron j does at its meeting; whether it has gone through w = 0, which leaves one row."""
        machine = self.machine
        state, work, run = machine.state, machine.work, machine.run
        q, b, c, _ = layout.parts(state.y, machine.rows, machine.k)
        # Rows far apart in size may have nothing to do with this surface: those that do decide.
        s = meeting.surface
        on = np.abs(rows.q @ machine.packed.e[s]) > SMALL
        on |= np.abs(rows.b @ self.force[s]) > SMALL * np.linalg.norm(self.force[s])
        q[j], b[j], c[j] = total(Rows(rows.q[on], rows.b[on], rows.log[on]) if np.any(on) else rows)
        machine.set_time(t)
        work.force[:], work.rear[:], work.noise[:] = self.force, self.rear, self.noise
        state.code[j, (state.code[j] & 3) < SLID] &= 3
        line = state.slid[j] == machine.r - 1 and meeting.mark in (surfaces.FALLING, surfaces.RISING)
        if line or run.log_used + 2 * machine.big > len(work.log):
            run.origin = j + 1
            M = self.matrix(j)
            work.way[:] = M.T @ b[j]
            machine._rare(rare.AT_ORIGIN)
            return True
        work.mark[:] = np.where((state.code[j] & 3) >= SLID, surfaces.HELD, surfaces.ABSENT)
        work.mark[meeting.surface] = meeting.mark
        machine._rare(rare.RESOLVE, j)
        return False

    def _kept(self, j: int) -> tuple[np.ndarray, ...]:
        state = self.machine.state
        q, b, c, _ = layout.parts(state.y, self.machine.rows, self.machine.k)
        return tuple(
            a[j].copy()
            for a in (q, b, c, state.bits, state.code, state.dead, state.slid, state.basis, state.tri, state.where)
        )

    def _put_back(self, j: int, kept: tuple[np.ndarray, ...]) -> None:
        state = self.machine.state
        q, b, c, _ = layout.parts(state.y, self.machine.rows, self.machine.k)
        for a, old in zip(
            (q, b, c, state.bits, state.code, state.dead, state.slid, state.basis, state.tri, state.where),
            kept,
            strict=True,
        ):
            a[j] = old

    # Large neurons --------------------------------------------------------------------------------------------------

    def hessian(self) -> tuple[np.ndarray, np.ndarray]:
        """-d^2 L / d theta^2 of the large neurons in units of time, and the derivative of the outputs (n k rows), both
        with held normals projected out."""
        machine = self.machine
        state, packed, r, k = machine.state, machine.packed, machine.r, machine.k
        q, b, c, _ = layout.parts(state.y, machine.rows, machine.k)
        size = r + k
        J = np.zeros((len(self.large) * size, len(self.large) * size))
        slopes = np.zeros((machine.n, k, len(self.large) * size))
        out = np.ones(len(J))
        for at, j in enumerate(self.large):
            M = self.matrix(int(j))
            w, a = slice(at * size, at * size + r), slice(at * size + r, (at + 1) * size)
            J[w, a], J[a, w] = M.T, M
            bit = state.bits[j, packed.surf]
            bit = np.where(packed.alpha < 0, 1.0 + packed.slope - bit, bit)
            bit[(state.code[j, packed.surf] & 3) >= SLID] = 0.0
            x = packed.alpha[:, None] * packed.e[packed.surf]
            slopes[:, :, w] = np.exp(c[j]) * (bit[:, None] * x)[:, None, :] * b[j][None, :, None]
            slopes[:, range(k), range(a.start, a.stop)] = (np.exp(c[j]) * bit * (x @ q[j]))[:, None]
        bent = machine.curvature() @ slopes
        J -= np.einsum("ion,iom->nm", slopes, bent)
        P = np.diag(out)
        for at, j in enumerate(self.large):
            z = state.basis[j, : state.slid[j]]
            P[at * size : at * size + r, at * size : at * size + r] -= z.T @ z
        return P @ J @ P, slopes.reshape(-1, len(P)) @ P

    def unstable(self) -> tuple[Modes | None, bool]:
        """Growing changes of the large neurons, as rows over all of them with their rates; and whether one grows of
        which no follower knows the size, so that what follows is not determined."""
        machine = self.machine
        if len(self.large) == 0 or len(self.large) * (machine.r + machine.k) > 1500:
            return None, False
        J, slopes = self.hessian()
        rate, vectors = np.linalg.eigh(J)
        up = rate > 1e4 * self.grain
        if not np.any(up):
            return None, False
        rate, vectors = rate[up], vectors[:, up].T
        self._settle(rate, vectors)
        rows = [self.rows_of(int(j)) for j in self.large]
        log = np.full(len(rate), -np.inf)
        sign = np.ones(len(rate))
        size = machine.r + machine.k
        for l in range(len(rate)):
            parts = [
                (np.hstack([row.q[1:], row.b[1:]]) @ vectors[l, at * size : (at + 1) * size], row.log[1:])
                for at, row in enumerate(rows)
            ]
            amount, logs = (np.concatenate(p) for p in zip(*parts, strict=True))
            used = np.abs(amount) > SMALL
            if np.any(used):
                top = np.max(logs[used])
                found = float(np.sum(amount[used] * np.exp(logs[used] - top)))
                if found != 0.0:
                    log[l], sign[l] = top + np.log(abs(found)), np.sign(found)
        known = np.isfinite(log)
        missing = bool(np.any(~known))
        if not np.any(known):
            return None, missing
        vectors = sign[known, None] * vectors[known]
        # Differences of neurons of one cell do not move the outputs.
        self.felt = bool(np.any(np.abs(slopes @ vectors.T) > UNFELT * np.max(np.abs(slopes))))
        return Modes(self.t0, Rows(vectors, np.zeros((len(vectors), 0)), log[known]), rate[known], np.empty(0)), missing

    def _settle(self, rate: np.ndarray, vectors: np.ndarray) -> None:
        """Takes out of the large neurons what rounding has put along growing directions: their velocity there is the
        rate times the distance from rest."""
        machine = self.machine
        q, b, c, _ = layout.parts(machine.state.y, machine.rows, machine.k)
        large, size = self.large, machine.r + machine.k
        scale = np.exp(c[large])[:, None]
        speed = self.fac * np.hstack([machine.work.pull[large], machine.work.lift[large]]) * scale
        change = (((vectors @ speed.ravel()) / rate) @ vectors).reshape(len(large), size) / scale
        # Neurons that are equal to the bit stay so: their difference is known by followers.
        _, first, group = np.unique(np.hstack([q[large], b[large]]), axis=0, return_index=True, return_inverse=True)
        moved = np.hstack([q[large], b[large]]) - change
        moved = moved[first[np.ravel(group)]]
        q[large], b[large] = moved[:, : machine.r], moved[:, machine.r :]

    # Any moment -----------------------------------------------------------------------------------------------------

    def write(self, t: float) -> None:
        """The state at time t becomes the machine's."""
        machine = self.machine
        state, m, k = machine.state, machine.m, machine.k
        q, b, c, _ = layout.parts(state.y, machine.rows, k)
        q[m:], b[m:], c[m:] = 0.0, 0.0, 0.0
        for traced in self.traced:
            j, modes = traced.neuron, traced.at(t)
            rows = joined(modes.at(t))
            for p in range(min(len(rows.log), machine.places)):
                q[j + p * m], b[j + p * m], c[j + p * m] = rows.q[p], rows.b[p], rows.log[p]
            state.code[j] = np.where((modes.code & 3) < SLID, modes.code & 3, modes.code)
        if self.modes is not None and machine.rows > m:
            self._write_changes(t)
        machine.set_time(t)
        machine._rare(rare.RESTORE)

    def _write_changes(self, t: float) -> None:
        """Growing changes of the large neurons as followers: those of nearly equal size in one place."""
        machine = self.machine
        assert self.modes is not None
        m, size = machine.m, machine.r + machine.k
        q, b, c, _ = layout.parts(machine.state.y, machine.rows, machine.k)
        levels = joined(self.modes.at(t))
        for p in range(min(len(levels.log), machine.places - 1)):
            for at, j in enumerate(self.large):
                part = levels.q[p, at * size : (at + 1) * size]
                norm = np.sqrt(0.5 * (part @ part))
                if norm > SMALL:
                    row = j + (p + 1) * m
                    q[row], b[row] = part[: machine.r] / norm, part[machine.r :] / norm
                    c[row] = levels.log[p] + np.log(norm)

    def events_until(self, t: float, clock: float) -> np.ndarray:
        """Events of all small neurons up to time t, whose clock is `clock`, in order of time."""
        rows = np.concatenate([np.empty((0, 5)), *(found.events for found in self.traced)])
        rows = rows[rows[:, 0] <= clock]
        return rows[np.argsort(rows[:, 0], kind="stable")]
