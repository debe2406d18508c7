r"""The slow motion of a fitted network as decay -> 0, in tau = decay t.

While the data are fitted, decay moves the weights along the networks with the same outputs: with J = df/dtheta,

    theta' = J' nu - theta,   K nu = 2 y,   K = J J'          (first layer alone: K nu = y)

which is minus the projection of theta on ker J, since J theta = 2 f. Every neuron obeys the equations of the flow with
the drive nu and decay 1: q' = b (D - h q), b' = h (1 - b^2), c' = b h - 1, D = sum_i m_i nu_i x_i. An error of the
outputs decays like e^{-2 tau}. A neuron that meets an activation boundary is first taken to slide on it, which gives a
drive nu_s; its normal velocities under nu_s with the bit off and on decide, as in the flow, whether it crosses or
slides. nu jumps at events, after which all held neurons are tested again. Where J has dependent rows, nu is not unique
but theta' is: least squares, by singular values.

A network that has converged without fitting (residual g* != 0 on some data, all pulls 0) keeps its outputs instead of
the labels. A neuron that meets the boundary of such a datum is held there if s g*_i < 0. If s g*_i > 0 it leaves at
once; the flow without decay is then solved until it converges, and in tau the loss jumps.

Steps are of order 8 (scipy's DOP853). Their dense output is a polynomial of degree 7, so that a crossing, or a change
of sign of b, is excluded by the coefficients in Bernstein form and located on it otherwise; releases, which are no
polynomials, are looked for at `PLACES` places of each step.
"""

from math import comb
from typing import Any, NamedTuple

import numpy as np

from reluflow.drive.bursts import progress_of, stored_flow
from reluflow.drive.exact import Machine as Exact
from reluflow.drive.loop import Done, stops
from reluflow.drive.loop import run as run_loop
from reluflow.drive.recorder import Costs, States, Tape
from reluflow.engine.field import OFF, ON, SLID
from reluflow.engine.layout import parts
from reluflow.engine.pack import Units, pack, units_of
from reluflow.engine.surfaces import EV_DEAD, EV_OFF, EV_ON, EV_RELEASE_OFF, EV_RELEASE_ON, EV_SIGN, EV_SLIDE
from reluflow.init import Params
from reluflow.losses import LOSSES
from reluflow.methods import DecayLimit, Limits, Save
from reluflow.outcome import Outcome
from reluflow.problem import Problem

PLACES = 16
DEGREE = 7  # of the dense output
SINGULAR = 1e-10  # singular values of J below this share of the largest count as 0
GRAIN = 1e-11  # of |q|: a neuron this far across a boundary it has just left is still on it
FITTED = 1e-6  # of the largest label: a residual below is none
STORM = 200  # events at one instant


class Motion(NamedTuple):
    """The velocity at a state, and what it was made from."""

    rate: np.ndarray
    f: np.ndarray
    nu: np.ndarray  # (n,)
    jump: np.ndarray  # (S,) F_k of nu
    base: np.ndarray  # (S,) B_k
    free: np.ndarray  # (m, r) pulls before held boundaries are taken out
    pull: np.ndarray  # (m, r)
    rank: int


class Linear(NamedTuple):
    """The outputs, linear in the weights around a state."""

    J: np.ndarray  # (n, weights) df/dtheta, what leaves held boundaries taken out
    theta: np.ndarray
    f: np.ndarray
    bits: np.ndarray  # (m, n)
    held: dict[int, np.ndarray]


class Event(NamedTuple):
    """What happens first inside a step."""

    clock: float
    neuron: int  # -1: something that `_others` found
    surface: int  # -1: the sign of b
    held: bool  # a release


def _bernstein() -> tuple[np.ndarray, np.ndarray]:
    """Places in [0, 1], and the matrix that turns values of a polynomial there into its Bernstein coefficients."""
    at = 0.5 - 0.5 * np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    k = np.arange(DEGREE + 1)
    basis = np.array([comb(DEGREE, int(i)) for i in k]) * at[:, None] ** k * (1.0 - at[:, None]) ** (DEGREE - k)
    return at, np.linalg.inv(basis)


AT, TO_BERNSTEIN = _bernstein()


def first_below(coefficients: np.ndarray, level: float) -> tuple[float, float] | None:
    """(lo, hi) around the first place of [0, 1] where a polynomial in Bernstein form falls below `level`; None if it
    stays above. An interval whose coefficients are all above is left out; another is halved, left half first."""
    waiting = [(0.0, 1.0, coefficients)]
    while waiting:
        lo, hi, c = waiting.pop()
        if np.min(c) >= level:
            continue
        falls = np.all(np.diff(c) <= 0.0) and c[-1] < level  # then it crosses once
        if falls or hi - lo < 1e-12:
            return (lo, hi) if c[-1] < level else None
        left, right = [c[0]], [c[-1]]
        while len(c) > 1:
            c = 0.5 * (c[:-1] + c[1:])
            left.append(c[0])
            right.append(c[-1])
        middle = 0.5 * (lo + hi)
        waiting += [(middle, hi, np.array(right[::-1])), (lo, middle, np.array(left))]
    return None


class Machine:
    """What `exact.Machine` is to the flow."""

    def __init__(self, problem: Problem, method: DecayLimit, end: float, units: Units | None = None):
        self.made_of = (problem, method, end, units)
        self.problem, self.method, self.end = problem, method, end
        self.units = units_of(problem) if units is None else units
        self.packed, self.coords, self.start = pack(problem, self.units)
        self.m, self.r = self.start.q.shape
        self.big, self.n = self.packed.e.shape[0], self.packed.alpha.size
        self.size = self.m * (self.r + 2) + 1
        self.loss, self.both = LOSSES[problem.loss], problem.train == "both"
        self.x = self.packed.alpha[:, None] * self.packed.e[self.packed.surf]
        self.balanced = self.start.delta_sign == 0.0
        self.row_bytes, self.first = 8 * (self.size + 2) + self.m * self.big, 1
        self.steps = self.rejected = self.fields = self.flows = self.found = self.singular = 0
        self.idle, self.stride, self.tick = 0, 1, 0
        self.clock, self.h = 0.0, 0.01
        self.y, self.kind = np.zeros(self.size), np.zeros((self.m, self.big), np.int64)
        self.fresh = np.zeros((self.m, self.big), bool)
        self.target, self.force = np.array(self.packed.y), np.zeros(self.n)
        self.log: list[tuple[float, int, int, int, float]] = []

    def __reduce__(self) -> tuple:
        # A copy is at t = 0: a checkpoint is restored before a state is read from it.
        return type(self), self.made_of

    # The field --------------------------------------------------------------------------------------------------------

    def _bases(self) -> dict[int, np.ndarray]:
        """Orthonormal rows spanning the normals that each held neuron is held on."""
        found = {}
        for j in np.flatnonzero(np.any(self.kind == SLID, axis=1)):
            normals = self.packed.e[self.kind[j] == SLID]
            _, size, vt = np.linalg.svd(normals, full_matrices=False)
            found[int(j)] = vt[size > 1e-9 * size[0]]
        return found

    def bits(self) -> np.ndarray:
        """(m, n) s' of every datum, 0 where the neuron is held."""
        on = np.where(self.kind == ON, 1.0, self.packed.slope)[:, self.packed.surf]
        on = np.where(self.packed.alpha > 0, on, 1.0 + self.packed.slope - on)
        return np.where(self.kind[:, self.packed.surf] == SLID, 0.0, on)

    def outputs(self, y: np.ndarray) -> np.ndarray:
        q, b, c, _ = parts(y, self.m)
        return np.sum((np.exp(2.0 * c) * b)[:, None] * self.bits() * (q @ self.x.T), axis=0)

    def linear(self, y: np.ndarray) -> Linear:
        """df/dtheta at a state."""
        q, b, c, _ = parts(y, self.m)
        bits, held, ec = self.bits(), self._bases(), np.exp(c)
        u = q @ self.x.T
        rows = (ec * b)[:, None, None] * bits[:, :, None] * self.x
        for j, basis in held.items():
            rows[j] -= (rows[j] @ basis.T) @ basis
        theta = (ec[:, None] * q).ravel()
        J = rows.transpose(1, 0, 2).reshape(self.n, -1)
        if self.both:
            J, theta = np.hstack([J, (ec[:, None] * bits * u).T]), np.concatenate([theta, ec * b])
        return Linear(J, theta, np.sum((ec * ec * b)[:, None] * bits * u, axis=0), bits, held)

    def motion(self, y: np.ndarray) -> Motion:
        """The velocity of (q, b, c, energy) with respect to tau."""
        self.fields += 1
        q, b, c, _ = parts(y, self.m)
        J, theta, f, bits, held = self.linear(y)
        nu, rank = self._multipliers(J, theta, f)
        jump = np.bincount(self.packed.surf, np.abs(self.packed.alpha) * nu, self.big)
        below = np.where(self.packed.alpha < 0, (1.0 + self.packed.slope) * self.packed.alpha * nu, 0.0)
        base = np.bincount(self.packed.surf, below, self.big)
        free = (bits * nu) @ self.x
        pull = free.copy()
        for j, basis in held.items():
            pull[j] -= basis.T @ (basis @ pull[j])
        rate = np.zeros_like(y)
        dq, db, dc, _ = parts(rate, self.m)
        h = np.sum(pull * q, axis=1)
        if self.both:
            dq[:] = b[:, None] * (pull - h[:, None] * q)
            db[:], dc[:] = h * (1.0 - b) * (1.0 + b), b * h - 1.0
            moved = np.exp(2.0 * c) * (b**2 * np.sum(pull**2, axis=1) + h**2 - 4.0 * b * h + 2.0)
        else:
            dq[:] = b[:, None] * pull - q
            moved = np.sum(dq**2, axis=1)
        rate[-1] = np.sum(moved)
        return Motion(rate, f, nu, jump, base, free, pull, rank)

    def _multipliers(self, J: np.ndarray, theta: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, int]:
        """nu, with what brings outputs back to their targets, and the rank of J."""
        U, size, Vt = np.linalg.svd(J, full_matrices=False)
        keep = size > SINGULAR * size[0]
        U, size, Vt = U[:, keep], size[keep], Vt[keep]
        back = 2.0 if self.both else 1.0
        return U @ ((Vt @ theta) / size + back * (U.T @ (self.target - f)) / size**2), int(np.sum(keep))

    def settle(self, y: np.ndarray) -> np.ndarray:
        """Back on held boundaries and on |q|^2 + b^2 = 2."""
        q, b, _, _ = parts(y, self.m)
        for j, basis in self._bases().items():
            q[j] -= basis.T @ (basis @ q[j])
        if self.both:
            b[self.balanced] = np.sign(b[self.balanced])
            size = np.linalg.norm(q, axis=1)
            q *= (np.sqrt(np.maximum(2.0 - b * b, 0.0)) / np.where(size > 0.0, size, 1.0))[:, None]
        return y

    # What happens on boundaries ---------------------------------------------------------------------------------------

    def margins(self, y: np.ndarray, now: Motion) -> list[tuple[float, int, int]]:
        """(margin, neuron, surface) of every held boundary: negative when its bit would have to leave [slope, 1]."""
        found = []
        _, b, _, _ = parts(y, self.m)
        for j in np.flatnonzero(np.any(self.kind == SLID, axis=1)):
            on = np.flatnonzero(self.kind[j] == SLID)
            s = 1.0 if b[j] >= 0.0 else -1.0
            need = -np.linalg.lstsq(self.packed.e[on].T, now.free[j], rcond=1e-9)[0] - now.base[on]
            scale = float(np.linalg.norm(now.free[j]) + np.sum(np.abs(now.jump[on]) + np.abs(now.base[on]))) + 1e-300
            for k, wanted in zip(on.tolist(), need.tolist()):
                F = float(now.jump[k])
                if self._pushed(k) * s < 0.0:
                    # Held by the residual that is not fitted, with its bit at one end: let go by nu alone.
                    continue
                low, high = -s * wanted - self.packed.slope * abs(F), abs(F) + s * wanted
                margin = min(low, high) if s * F < 0.0 else -max(abs(wanted), abs(F))
                found.append((margin / scale + 1e-10, int(j), k))
        return found

    def _pushed(self, k: int) -> float:
        """The jump of surface k under the residual that is not fitted, 0 if there is none."""
        return float(np.sum((np.abs(self.packed.alpha) * self.force)[self.packed.surf == k]))

    def resolve(self, j: int, k: int, arrival: int, clock: float) -> bool:
        """Decides what neuron j does on surface k, where it is; False where the flow without decay must go on.

        `arrival` is ON or OFF, the side it came from, or SLID for a release.
        """
        _, b, _, _ = parts(self.y, self.m)
        s = 1.0 if b[j] >= 0.0 else -1.0
        pushed = s * self._pushed(k)
        old = int(self.kind[j, k])
        if pushed > 0.0:
            self._become(j, k, OFF if arrival == ON else ON, clock, 1.0)
            return False
        self.kind[j, k] = SLID
        now = self.motion(self.y)
        others = [i for i in np.flatnonzero(self.kind[j] == SLID) if i != k]
        e = self.packed.e[k].copy()
        D = now.free[j].copy()
        if others:
            _, size, vt = np.linalg.svd(self.packed.e[others], full_matrices=False)
            basis = vt[size > 1e-9 * size[0]]
            e -= basis.T @ (basis @ e)
        off = s * (float(D @ e) + (self.packed.slope * now.jump[k] + now.base[k]) * float(e @ e))
        on = off + s * (1.0 - self.packed.slope) * float(now.jump[k]) * float(e @ e)
        self.kind[j, k] = old
        unique = 1.0
        if pushed < 0.0:
            new = SLID
        elif off > 0.0 and on > 0.0:
            new = ON
        elif off <= 0.0 and on <= 0.0:
            new = OFF
        elif off > 0.0:
            new = SLID
        else:
            new, unique = (OFF if arrival != OFF else ON), 0.0 if arrival == SLID else 1.0
        self._become(j, k, new, clock, unique)
        return True

    def _become(self, j: int, k: int, new: int, clock: float, unique: float) -> None:
        old = int(self.kind[j, k])
        self.kind[j, k], self.fresh[j, k] = new, new != SLID
        if new == old:
            return
        words = {ON: EV_RELEASE_ON if old == SLID else EV_ON, SLID: EV_SLIDE}
        self._note(clock, j, k, words.get(new, EV_RELEASE_OFF if old == SLID else EV_OFF), unique)
        dead = self.packed.slope == 0.0 and np.all(self.kind[j] == OFF) and not np.any(self.packed.opposite)
        if dead:
            self._note(clock, j, -1, EV_DEAD, 1.0)

    def _note(self, clock: float, j: int, k: int, word: int, unique: float) -> None:
        self.log.append((clock, j, k, word, unique))
        self.found += 1

    def release(self) -> Outcome | None:
        """Lets go of boundaries at the present instant until all that are left hold."""
        for _ in range(STORM):
            held = self.margins(self.y, self.motion(self.y)) if np.any(self.kind == SLID) else []
            worst = min(held, default=(1.0, -1, -1))
            if worst[0] >= 0.0:
                return None
            if not self.resolve(worst[1], worst[2], SLID, self.clock):
                return self.fall()
            if self.kind[worst[1], worst[2]] == SLID:
                return None
        return Outcome.STORM

    # A step -----------------------------------------------------------------------------------------------------------

    def step(self) -> Outcome | None:
        """One step from the present state, to its end or to the first event, which is resolved."""
        from scipy.integrate import DOP853

        if self.clock >= self.end:
            return Outcome.REACHED
        now = self.motion(self.y)
        self.singular += int(now.rank < self.n)
        if not np.all(np.isfinite(now.rate)):
            return Outcome.NOT_FINITE
        if self._rests(now):
            return Outcome.STATIONARY
        rtol = self.method.rtol
        h = min(self.h, self.end - self.clock) if np.isfinite(self.end) else self.h
        solver = DOP853(
            lambda t, y: self.motion(y).rate, self.clock, self.y, self.end, first_step=h, rtol=rtol, atol=rtol
        )
        solver.step()
        if solver.status == "failed":
            return Outcome.STALLED
        inside = solver.dense_output()
        event = self._first(inside, self.clock, solver.t)
        self.steps += 1
        if event is None:
            self.clock = self.end if solver.status == "finished" else solver.t
            self.y = self.settle(solver.y.copy())
            self.h = float(solver.h_abs)
            self._clear()
            return None
        self.h = max(float(solver.t - self.clock), 1e-12)
        self.idle = self.idle + 1 if event.clock <= self.clock else 0
        self.clock = event.clock
        self.y = self.settle(np.array(inside(event.clock)))
        if self.idle > STORM:
            return Outcome.STORM
        return self._happen(event)

    def _happen(self, event: Event) -> Outcome | None:
        """Resolves an event at the present instant."""
        j, k = event.neuron, event.surface
        q, b, _, _ = parts(self.y, self.m)
        if k < 0:
            b[j] = -np.sign(b[j]) * 1e-300 if b[j] != 0 else 1e-300
            held = bool(np.any(self.kind[j] == SLID))
            self._note(self.clock, j, -1, EV_SIGN, 0.0 if held else 1.0)
            return self.release()
        if not event.held:
            q[j] -= (q[j] @ self.packed.e[k]) * self.packed.e[k]
            if not self.resolve(j, k, int(self.kind[j, k]), self.clock):
                return self.fall()
            self.y = self.settle(self.y)
        elif not self._let_go(j, k):
            return self.fall()
        return self.release()

    def _let_go(self, j: int, k: int) -> bool:
        """Releases neuron j from surface k, where its bit has just reached an end of [slope, 1]; as `resolve`."""
        now = self.motion(self.y)
        s = 1.0 if parts(self.y, self.m)[1][j] >= 0.0 else -1.0
        on = np.flatnonzero(self.kind[j] == SLID)
        need = -np.linalg.lstsq(self.packed.e[on].T, now.free[j], rcond=1e-9)[0] - now.base[on]
        F, wanted = float(now.jump[k]), float(need[on.tolist().index(k)])
        if s * F >= 0.0:
            return self.resolve(j, k, SLID, self.clock)
        low, high = -s * wanted - self.packed.slope * abs(F), abs(F) + s * wanted
        self._become(j, k, OFF if low < high else ON, self.clock, 1.0)
        return True

    def _clear(self) -> None:
        q, _, _, _ = parts(self.y, self.m)
        side = np.where(self.kind == ON, 1.0, -1.0)
        left = side * (q @ self.packed.e.T) > GRAIN * np.linalg.norm(q, axis=1)[:, None]
        self.fresh &= ~left

    def _first(self, inside, t0: float, t1: float) -> Event | None:
        """The first crossing, change of sign or release in (t0, t1]."""
        found = self._crossings(inside, t0, t1)
        until = min((event.clock for event in found), default=t1)
        before = t0
        for t in (t0 + (t1 - t0) * np.arange(1, PLACES + 1) / PLACES).tolist():
            if before >= until:
                break
            t = min(t, until)
            later = self._released(inside, before, t) if np.any(self.kind == SLID) else []
            later += self._others(inside, before, t)
            if later:
                found += later
                break
            before = t
        return min(found, key=lambda event: event.clock, default=None)

    def _others(self, inside, before: float, t: float) -> list[Event]:
        """What else may happen in (before, t]."""
        return []

    def _crossings(self, inside, t0: float, t1: float) -> list[Event]:
        """The first crossing of each surface and the first change of sign of each b in (t0, t1]."""
        from scipy.optimize import brentq

        states = [np.array(inside(t0 + (t1 - t0) * x)) for x in AT]
        q = np.array([parts(y, self.m)[0] for y in states])
        b = np.array([parts(y, self.m)[1] for y in states])
        side = np.where(self.kind == ON, 1.0, np.where(self.kind == OFF, -1.0, 0.0))
        if self.packed.slope == 1.0:
            side[:] = 0.0
        sign = np.where(parts(self.y, self.m)[1] >= 0.0, 1.0, -1.0)
        if not self.both:
            sign[:] = 0.0
        sign[self.balanced] = 0.0
        norm = np.linalg.norm(q[0], axis=1)[:, None]
        u = np.tensordot(TO_BERNSTEIN, side * (q @ self.packed.e.T), 1)
        s = np.tensordot(TO_BERNSTEIN, sign * b, 1)
        level = np.where(self.fresh, -GRAIN * norm, 0.0)
        found = []
        suspects = [(u[:, j, k], level[j, k], j, k) for j, k in np.argwhere(np.any(u < level, axis=0)).tolist()]
        suspects += [(s[:, j], 0.0, j, -1) for j in np.flatnonzero(np.any(s < 0.0, axis=0)).tolist()]
        for coefficients, low, j, k in suspects:
            bracket = first_below(coefficients, low)
            if bracket is None:
                continue
            lo, hi = (t0 + (t1 - t0) * x for x in bracket)

            def height(t: float, j: int = j, k: int = k) -> float:
                q, b, _, _ = parts(np.array(inside(t)), self.m)
                return float(sign[j] * b[j] if k < 0 else side[j, k] * (q[j] @ self.packed.e[k]))

            above, below = height(lo), height(hi)
            at = float(brentq(height, lo, hi, xtol=1e-15)) if above > 0.0 > below else lo if above <= 0.0 else hi
            found.append(Event(at, j, k, False))
        return found

    def _released(self, inside, before: float, t: float) -> list[Event]:
        from scipy.optimize import brentq

        def lowest(s: float) -> float:
            y = np.array(inside(s))
            return min((margin for margin, _, _ in self.margins(y, self.motion(y))), default=1.0)

        if lowest(t) >= 0.0:
            return []
        at = float(brentq(lowest, before, t, xtol=1e-13)) if lowest(before) > 0.0 else before
        y = np.array(inside(at))
        _, j, k = min(self.margins(y, self.motion(y)))
        return [Event(at, j, k, True)]

    def _rests(self, now: Motion) -> bool:
        """Whether no neuron moves by more than rtol / 100 in a unit of tau, or is negligible and shrinks."""
        dq, db, dc, _ = parts(now.rate, self.m)
        _, _, c, _ = parts(self.y, self.m)
        small = 1e-2 * self.method.rtol
        if not self.both:
            return bool(np.max(np.abs(dq)) <= small)
        gone = (2.0 * c < -37.0) & (dc < 0.0)
        moves = np.sqrt(np.sum(dq * dq, axis=1) + db * db) > small
        return not np.any(moves | (~gone & (np.abs(dc) > small)))

    # Fits -------------------------------------------------------------------------------------------------------------

    def fall(self) -> Outcome | None:
        """The flow without decay from the present state to its next rest."""
        q, _, _, _ = parts(self.y, self.m)
        # A nudge into the cell that was decided on: on a boundary the flow would take the regular side.
        for j, k in np.argwhere(self.fresh & (np.abs(q @ self.packed.e.T) <= GRAIN)).tolist():
            q[j] += (1.0 if self.kind[j, k] == ON else -1.0) * 1e-12 * self.packed.e[k]
        q, b, c = self.split(self.y)
        init = Params(self.coords.expand(q), b, log_scale=np.maximum(c, -1e6))
        return self._fit(Problem(self.problem.data, init, self.problem.loss, self.problem.reduction,
                                 self.problem.activation, self.problem.train))  # fmt: skip

    def _fit(self, problem: Problem) -> Outcome | None:
        """Follows the flow of `problem` to rest, and goes on from there."""
        return self._follow(problem, np.inf) or self._set_out()

    def _follow(self, problem: Problem, end: float) -> Outcome | None:
        """Follows the flow until its clock reads `end`, and takes its state and activation pattern over."""
        rtol = min(self.method.rtol, 1e-8)
        exact = Exact(problem, rtol, end, rest=1e-2 * rtol, units=self.units)
        self.flows += 1
        with stops() as stop:
            run = run_loop(exact, Save(frames=2), Limits(), None, stop)
        if not run.outcome.success:
            return run.outcome
        energy = self.y[-1]
        self.y = np.array(exact.state.y)
        self.y[-1] = energy
        kind = exact.state.code & 3
        self.kind = np.where(kind == ON, ON, np.where(kind == OFF, OFF, SLID))
        self.kind[exact.state.dead == 1] = OFF
        self.fresh = np.ones_like(self.fresh)
        return None

    def _aim(self) -> None:
        """What is to be kept: labels where they are fitted, the present outputs elsewhere; the residuals left."""
        f = self.outputs(self.y)
        miss = self.packed.y - f
        open_ = np.abs(miss) > FITTED * max(float(np.max(np.abs(self.packed.y))), 1e-300)
        self.target = np.where(open_, f, self.packed.y)
        self.force = np.where(open_, self.loss.force(self.packed.y, f, self.packed.weight), 0.0)

    def _set_out(self) -> Outcome | None:
        """Held boundaries at the start are decided by the slow motion."""
        self._aim()
        self.y = self.settle(self.y)
        return self.release()

    # A run ------------------------------------------------------------------------------------------------------------

    def begin(self, tape: Tape, save: Save, limits: Limits) -> Outcome | None:
        p = self.problem
        outcome = self._fit(Problem(p.data, p.init, p.loss, p.reduction, p.activation, p.train))
        self._write(tape)
        return outcome

    def advance(self, budget: int, tape: Tape) -> Outcome | None:
        for _ in range(budget):
            outcome = self.step()
            self.tick += 1
            if outcome is not None:
                return outcome
            if self.tick >= self.stride:
                self.tick = 0
                self._write(tape)
        return None

    def finish(self, tape: Tape, outcome: Outcome) -> None:
        if not tape.marks or tape.checkpoints()[0].clock[-1] != self.clock or self.log:
            self._write(tape, last=True)
        keep = np.r_[np.diff(tape.checkpoints()[0].clock) > 0.0, True]
        tape.select(np.flatnonzero(keep))

    def done(self) -> Done:
        return Done(self.steps, self.steps, self.found, self.steps)

    def progress(self) -> tuple[float | None, float]:
        return progress_of(self.clock, self.end, False)

    def costs(self) -> Costs:
        regimes: dict[str, float] = {"slow": self.steps, "flows": self.flows, "singular": self.singular}
        return Costs(self.steps, self.rejected, self.fields, 1.0, regimes)

    def stored(self, resume: np.ndarray) -> dict[str, np.ndarray]:
        found = stored_flow(self.coords, self.end, 0.0)
        return found | {"control/units": np.array([self.units.x0, self.units.y0, self.units.b0])}

    def _write(self, tape: Tape, last: bool = False) -> None:
        code = self.kind.reshape(1, -1).astype(np.int8)
        tape.keep(States(np.array([self.clock]), self.y[None].copy(), code), np.array([self.h]), self._thinned, last)
        if self.log:
            tape.events.append(np.array(self.log))
            self.log = []

    def _thinned(self, newest_dropped: bool, newest: float) -> None:
        self.tick += newest_dropped * self.stride
        self.stride *= 2

    # Any moment -------------------------------------------------------------------------------------------------------

    def restore(self, clock: float, resume: float, y: np.ndarray, code: np.ndarray) -> None:
        """Puts a checkpoint back."""
        self.clock, self.h, self.y = float(clock), float(resume), np.array(y)
        self.kind = code.reshape(self.m, self.big).astype(np.int64)
        q, _, _, _ = parts(self.y, self.m)
        self.fresh = np.abs(q @ self.packed.e.T) <= GRAIN * np.linalg.norm(q, axis=1)[:, None]
        self._aim()

    def frames(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States at ascending values of tau, each by steps of its own from the checkpoint put back last."""
        base: Any = (self.clock, self.h, self.y.copy(), self.kind.copy())
        end = self.end
        y, code = np.empty((len(wanted), self.size)), np.empty((len(wanted), self.m * self.big), np.int8)
        for i, clock in enumerate(wanted):
            self.restore(base[0], base[1], base[2], base[3].reshape(-1))
            self.end = float(clock)
            while self.clock < clock and self.step() is None:
                pass
            y[i], code[i] = self.y, self.kind.reshape(-1)
            self.log = []
        self.end = end
        return y, code

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q (..., m, r), b (..., m) and c (..., m) of states, in the user's units."""
        q, b, c, _ = parts(y, self.m)
        if self.units.first:
            return q / self.units.weight, b * self.units.b0, c
        return q, b, c - self.units.log_size

    def energy(self, y: np.ndarray) -> np.ndarray:
        """The integral of |theta'|^2, in the user's units: what |theta|^2 / 2 has lost."""
        unit = 1.0 / self.units.weight**2 if self.units.first else np.exp(-2.0 * self.units.log_size)
        return y[..., -1] * unit

    def look(
        self, clock: np.ndarray, y: np.ndarray, code: np.ndarray, bits: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Outputs (rows, n), log loss (rows,) and, when asked for, surface bits (rows, m, S) of stored states."""
        kept = self.kind
        f = np.empty((len(clock), self.n))
        out = np.empty((len(clock) if bits else 0, self.m, self.big))
        for i in range(len(clock)):
            self.kind = code[i].reshape(self.m, self.big).astype(np.int64)
            f[i] = self.outputs(y[i])
            if bits:
                now = self.motion(y[i])
                out[i] = np.where(self.kind == ON, 1.0, self.packed.slope)
                for j in np.flatnonzero(np.any(self.kind == SLID, axis=1)):
                    on = np.flatnonzero(self.kind[j] == SLID)
                    need = -np.linalg.lstsq(self.packed.e[on].T, now.free[j], rcond=1e-9)[0] - now.base[on]
                    jump = np.where(now.jump[on] != 0.0, now.jump[on], 1.0)
                    out[i, j, on] = np.clip(need / jump, self.packed.slope, 1.0)
        self.kind = kept
        logs = (
            self.loss.log_total(self.packed.y, f, self.packed.weight, self.packed.constant) if len(f) else np.empty(0)
        )
        if self.units.y0 != 1.0:
            f *= self.units.y0
            logs = logs + 2.0 * np.log(self.units.y0)
        return f, logs, out
