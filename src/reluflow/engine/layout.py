"""The numbers and arrays of a run, and where each part of a state stands.

A state y is one vector: the rows q_1 ... q_m (r numbers each), the output weights b (m), the log sizes c (m), and the
energy dissipated so far. Velocities, stages of a step and errors have the same layout. `row`, `weights` and `energy`
are the only code with these positions.

The numbers of a run are one record, `run.clock`, `run.n_steps` and so on, which kernels and drivers read and change by
name. Arrays that travel together are named tuples.
"""

from __future__ import annotations

from functools import cache, lru_cache
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from reluflow.engine._jit import APART, glue

# How a burst ended. ORIGIN: a neuron at w = 0 must be handled by `rare` before the next step.
RUNNING, REACHED, STATIONARY, FLUSH, STALLED, NOT_FINITE, STORM, QUIET, ORIGIN = 0, 1, 2, 3, 4, 5, 6, 7, 8
CANCELLED = 10  # 9 is `windows.SHORT`
SWITCH = 11  # the other regime is cheaper from here on: run.regime has changed
PAUSED = 12  # inside a stretch, which the next burst goes on with
STIFF = 13  # the next step is for `stiff.attempt`, or `vector.implicit.attempt`
COUPLED, WINDOWS = 0, 1

RUN = np.dtype(
    [
        ("clock", "f8"),
        ("step", "f8"),  # length of the next step, as far as its error goes
        ("end", "f8"),
        ("rtol", "f8"),
        ("loss0", "f8"),  # the loss at the start, which errors of the energy are relative to
        ("rest", "f8"),  # a residual or pull below this share of what it could be counts as zero
        ("nearest", "f8"),  # smallest distance of any decision on a surface from a bifurcation, and where it was
        ("nearest_clock", "f8"),
        ("nearest_neuron", "i8"),
        ("nearest_surface", "i8"),
        ("speed", "f8"),  # of the outputs, by neurons that a jump leaves where they are
        ("passive", "f8"),  # log size below which a neuron has no visible output
        ("G", "f8"),  # log scale of the drive
        ("n_steps", "i8"),
        ("n_rejected", "i8"),
        ("n_events", "i8"),
        ("n_fields", "i8"),
        ("n_jump_events", "i8"),
        ("n_windows", "i8"),
        ("n_stiff", "i8"),
        ("log_used", "i8"),  # rows in use of the event log, the checkpoints, the frames
        ("checkpoints_used", "i8"),
        ("frames_used", "i8"),
        ("next_frame", "i8"),
        ("stride", "i8"),  # steps between two checkpoints
        ("tick", "i8"),  # steps since the last one
        ("wait", "i8"),  # steps before a jump is tried again
        ("implicit", "i8"),  # 1 when implicit steps may be taken
        ("patience", "i8"),  # steps before one is tried again
        ("pending", "i8"),  # 1 when an implicit step has ended at an event, which is not resolved yet
        ("origin", "i8"),  # 1 + the neuron that has arrived at w = 0, 0 for none
        ("checked", "i8"),  # 1 when dormant neurons were looked at since the last step
        ("taken", "i8"),  # steps tried in this burst
        ("idle", "i8"),  # events in a row at one instant
        ("stale", "i8"),  # 1 when K[0] is not the velocity of the state
        ("regime", "i8"),  # COUPLED or WINDOWS
        ("free", "i8"),  # 1 when the regime may change
        ("since_clock", "f8"),  # since when events and steps are counted to decide that
        ("since_events", "i8"),
        ("since_steps", "i8"),
    ],
    align=True,
)

STEP = np.dtype(
    [
        ("clock", "f8"),  # at the start
        ("h", "f8"),
        ("whole", "f8"),  # its length before it was cut at an event
        ("new", "f8"),  # clock at the end, or at the event
        ("longest", "f8"),  # that an explicit step may be and stay stable
        ("grow", "f8"),  # the next step may be this much longer
        ("before", "f8"),  # its length before it was shortened to a kink of the loss, see `kinks`; 0 if it was not
        ("anchor", "f8"),  # the length of the try before, and how many there were
        ("tries", "i8"),
        ("loss", "f8"),  # at the start, for an implicit step
        ("margin0", "f8"),  # smallest release margin at the start and at the end
        ("margin1", "f8"),
        ("last", "i8"),  # 1 when it ends at run.end
        ("held", "i8"),  # 1 when a neuron is held on a surface, or at w = 0 where `ways` has counted the ways out
        ("dormant", "i8"),  # 1 when a neuron rests at w = 0 where they are too many
        ("suspects", "i8"),  # pairs in who, where
        ("moved", "i8"),  # 1 when a coordinate was put back on its surface
        ("dips", "i8"),  # 1 when a held surface comes near to its release
        ("known", "i8"),  # 1 when work.noise is that of the state at the start
        ("x", "f8"),  # the first event, as a fraction of the step; above 1 without one
        ("neuron", "i8"),
        ("surface", "i8"),  # -1: the output weight changes sign
        ("side", "i8"),  # -1 crossing or sign, otherwise a release as in `surfaces.margins`
    ],
    align=True,
)

SPAN = np.dtype(
    [
        ("t0", "f8"),
        ("t1", "f8"),
        ("c_stop", "f8"),  # log size at which a jump ends
        ("c_passive", "f8"),  # log size below which a neuron takes part
        ("G", "f8"),  # log scale of the drive, held constant
        ("force", "f8"),  # e^G
        ("until", "f8"),  # where the neuron at hand is to stop: a time, and a log size (inf: none)
        ("stop", "f8"),
        ("next", "i8"),  # the neuron to go on with; -1: find out how far a jump may go
        ("row", "i8"),  # the instant to go on with
    ],
    align=True,
)


class State(NamedTuple):
    """What moves: y, see the head of this file; the rest changes at events only."""

    y: np.ndarray
    bits: np.ndarray  # (m, S) m_jk; for slid surfaces its last known value
    code: np.ndarray  # (m, S) OFF, ON, SLID, PINNED (+ FRESH)
    sign: np.ndarray  # (m,) sign of b just after now
    dead: np.ndarray  # (m,) DEAD when nothing can move the neuron again, DORMANT while it rests at w = 0
    slid: np.ndarray  # (m,) number of surfaces the neuron is held on
    basis: np.ndarray  # (m, kmax, r) orthonormal rows z_p spanning their normals
    tri: np.ndarray  # (m, kmax, kmax) e_a = sum_{p <= a} tri[p, a] z_p
    where: np.ndarray  # (m, kmax) which surface the a-th of these normals belongs to
    delta_sign: np.ndarray
    delta_log: np.ndarray


class Work(NamedTuple):
    """Scratch space of the velocity and of events, overwritten by every call; and the event log."""

    u: np.ndarray  # (m, S) <q_j, e_k>
    pull: np.ndarray  # (m, r) D_j / e^G
    free: np.ndarray  # (m, r) D_j / e^G before slid surfaces are projected out
    coef: np.ndarray  # (m, S) m F + B
    f: np.ndarray  # (n,)
    g: np.ndarray  # (n,) g_i / e^G
    jump: np.ndarray  # (S,) F_k / e^G
    base: np.ndarray  # (S,) B_k / e^G
    acc: np.ndarray  # (2, S)
    e2c: np.ndarray  # (m,) e^{2 c_j} of the state last looked at
    probe: np.ndarray  # (n,) direction of the power iteration for the fastest rate
    probe_jump: np.ndarray  # (S,) F_k and B_k of that direction
    probe_base: np.ndarray
    noise: np.ndarray  # (S,) rounding error of the forces
    held: np.ndarray  # (12, m kmax) release margins of the held surfaces at the stages of a step
    stack: np.ndarray  # (54, 9) Bernstein forms of the pieces of a polynomial
    pull_left: np.ndarray  # (r,) the pull on a neuron without the data that are fitted
    nu: np.ndarray  # (kmax,) multipliers of the held surfaces
    size: np.ndarray  # (m,) |q_j| at the start of a step
    holds: np.ndarray  # (m,) the neurons that have release margins
    mark: np.ndarray  # (S,) how the surfaces of a neuron come to be resolved
    old: np.ndarray  # (S,) codes before
    way: np.ndarray  # (r,) velocity with which a neuron arrived at w = 0
    log: np.ndarray  # (rows, 5) events: clock, neuron, surface, kind, whether what follows is unique


class Scratch(NamedTuple):
    """Scratch space of the stepping loop."""

    step: np.record  # the step being taken, a STEP
    K: np.ndarray  # (16, size) velocities: 0 at the start, 1-11 stages, 12 at the end, 13-15 of the interpolant
    P: np.ndarray  # (7, size) coefficients of the interpolant
    y1: np.ndarray  # (size,) the state at the end
    tmp: np.ndarray
    e5: np.ndarray  # (size,) two estimates of the error
    e3: np.ndarray
    u0: np.ndarray  # (m, S) <q_j, e_k> at the start and at the end
    u1: np.ndarray
    at_lo: np.ndarray  # (m, S) release margins at three places of the step
    at_hi: np.ndarray
    at_x: np.ndarray
    who: np.ndarray  # (m (S + 1),) pairs of neuron and surface that may have met
    where: np.ndarray
    poly: np.ndarray  # (7,) a coordinate over the step
    margin: np.ndarray  # (3, n) y f - kink at the start, of the last try, of this; (3, 0) for a loss without a kink
    work: Any  # a Work, here or of `engine.vector`


class Frames(NamedTuple):
    """States asked for inside a burst, and room for them."""

    wanted: np.ndarray  # clock values, ascending
    clock: np.ndarray
    y: np.ndarray
    code: np.ndarray


class Checkpoints(NamedTuple):
    """States from which a run can be taken up again."""

    clock: np.ndarray  # (rows, 2) clock and length of the next step
    y: np.ndarray
    code: np.ndarray


class Stored(NamedTuple):
    """States to be evaluated, one row each, and the results: outputs, log loss, bits (no rows: not wanted)."""

    clock: np.ndarray
    y: np.ndarray
    code: np.ndarray
    f: np.ndarray
    log_loss: np.ndarray
    bits: np.ndarray


class Instants(NamedTuple):
    """Where a jump is looked at on its way, one row an instant; the last is its end."""

    start: np.ndarray  # the time it is reached from
    time: np.ndarray
    clock: np.ndarray
    used: np.ndarray  # rows of the event log in use when it is reached
    y: np.ndarray  # the state there
    code: np.ndarray


class Asked(NamedTuple):
    """What `rare` needs to jump and to look at stored states."""

    span: np.record  # a SPAN
    instants: Instants
    stored: Stored


# The regime -----------------------------------------------------------------------------------------------------------


@glue
def count_anew(run):
    """Events and steps, by which the regime is chosen, are counted from here on."""
    run.since_clock, run.since_events, run.since_steps = run.clock, run.n_events, 0


# Positions ------------------------------------------------------------------------------------------------------------


@glue
def row(y, j, r):
    """The part of y that is q_j."""
    return y[j * r : (j + 1) * r]


@glue
def weights(y, m):
    """The parts of y that are b and c."""
    at = y.size - 1 - 2 * m
    return y[at : at + m], y[at + m : at + 2 * m]


def parts(y: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(q, b, c, energy) of states (..., size): q is (..., m, r)."""
    at = y.shape[-1] - 1 - 2 * m
    q = y[..., :at].reshape(*y.shape[:-1], m, at // m)
    return q, y[..., at : at + m], y[..., at + m : at + 2 * m], y[..., -1]


# Making them ----------------------------------------------------------------------------------------------------------


@cache
def record_type(kind: np.dtype) -> np.dtype:
    """The same fields, read and set as attributes: three times as fast as those of `numpy.record`."""

    def attribute(name: str) -> property:
        return property(itemgetter(name), lambda self, value: self.__setitem__(name, value))

    return np.dtype((type("Record", (np.void,), {name: attribute(name) for name in kind.names or ()}), kind))


def record(kind: np.dtype) -> Any:
    """A record of zeros whose fields are attributes; kernels change it in place."""
    return np.zeros(1, record_type(kind))[0]


def apart(array: np.ndarray) -> np.ndarray:
    """The array with room behind it, see `APART`."""
    room = np.empty(array.size + APART, array.dtype)
    out = room[: array.size].reshape(array.shape)
    out[...] = array
    return out


def empty_apart(shape: tuple[int, ...]) -> np.ndarray:
    """An array that is not filled, set apart without touching its memory: most of a large one may never be used."""
    size = int(np.prod(shape))
    return np.empty(size + APART)[:size].reshape(shape)


def all_apart(arrays):
    """A named tuple of arrays (and numbers) with every array set apart."""
    return type(arrays)(*[apart(a) if isinstance(a, np.ndarray) else a for a in arrays])


def zeros_apart(kind: type, **shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Arrays of zeros by name, cut from one block with room between them, see `APART`."""
    total, cuts = _cuts(tuple(shapes.values()))
    block: np.ndarray = np.zeros(total, kind)
    return {name: block[a:b].reshape(shapes[name]) for name, (a, b) in zip(shapes, cuts, strict=True)}


@lru_cache(maxsize=64)
def _cuts(shapes: tuple[tuple[int, ...], ...]) -> tuple[int, list[tuple[int, int]]]:
    """How long a block is, and where each array lies in it."""
    cuts, at = [], 0
    for shape in shapes:
        cuts.append((at, at + prod(shape)))
        at = cuts[-1][1] + APART
    return at, cuts


def new_state(start, surfaces: int) -> State:
    """The state at t = 0 of `pack.Start`, its bits not yet decided."""
    (m, r), S = start.q.shape, surfaces
    room, each = max(1, min(S, r)), (m,)
    floats = zeros_apart(
        float,
        y=(m * (r + 2) + 1,),
        bits=(m, S),
        sign=each,
        basis=(m, room, r),
        tri=(m, room, room),
        delta_sign=each,
        delta_log=each,
    )
    state = State(**floats, **zeros_apart(np.int64, code=(m, S), dead=each, slid=each, where=(m, room)))
    q, b, c, _ = parts(state.y, m)
    q[:], b[:], c[:] = start.q, start.b, start.c
    np.sign(start.b, out=state.sign)
    state.delta_sign[:], state.delta_log[:] = start.delta_sign, start.delta_log
    return state


def new_work(m: int, r: int, surfaces: int, n: int) -> Work:
    """Scratch space for m neurons in r dimensions and n data on so many surfaces."""
    S = surfaces
    room, data, normals = max(1, min(S, r)), (n,), (S,)
    floats = zeros_apart(
        float,
        u=(m, S),
        pull=(m, r),
        free=(m, r),
        coef=(m, S),
        f=data,
        g=data,
        jump=normals,
        base=normals,
        acc=(2, S),
        e2c=(m,),
        probe=data,
        probe_jump=normals,
        probe_base=normals,
        noise=normals,
        held=(12, m * room),
        stack=(54, 9),
        pull_left=(r,),
        nu=(room,),
        size=(m,),
        way=(r,),
    )
    whole = zeros_apart(np.int64, holds=(m,), mark=normals, old=normals)
    floats["probe"][:] = 1.0 / np.sqrt(max(n, 1))
    return Work(**floats, **whole, log=empty_apart((max(1024, 5 * m * (S + 2)), 5)))


def new_scratch(work, size: int, kinked: int = 0) -> Scratch:
    """Scratch space of the stepping loop for states of `size` numbers; `kinked`: data whose loss has a kink."""
    m, S = work.u.shape
    state, cells, pairs = (size,), (m, S), (m * (S + 1),)
    floats = zeros_apart(
        float,
        K=(16, size),
        P=(7, size),
        y1=state,
        tmp=state,
        e5=state,
        e3=state,
        u0=cells,
        u1=cells,
        at_lo=cells,
        at_hi=cells,
        at_x=cells,
        poly=(7,),
        margin=(3, kinked),
    )
    return Scratch(step=record(STEP), **floats, **zeros_apart(np.int64, who=pairs, where=pairs), work=work)
