"""The arrays of a run with k outputs, and where each part of a state stands.

A state y is one vector: rows q (r numbers each), rows b (k numbers each), log sizes c, and the energy dissipated so
far. The first m rows are the neurons. Behind them is room for followers: further rows (q_p, b_p, c_p) of a neuron that
is the sum of e^{c_p} (q_p, b_p), all with its bits, where components many orders of magnitude apart decide what is
learnt next [vector_outputs, section 4]. Without room there are m rows.

`row` and `weights` of `engine.layout` hold for q and c. `heads` gives b.
"""

from typing import NamedTuple

import numpy as np

from reluflow.engine._jit import glue
from reluflow.engine.layout import all_apart, row


class State(NamedTuple):
    """What moves: y, see the head of this file; the rest changes at events only. Followers count as dead in what looks
    for events."""

    y: np.ndarray
    bits: np.ndarray  # (rows, S) m_jk; for slid surfaces its last known value
    code: np.ndarray  # (rows, S) OFF, ON, SLID, PINNED (+ FRESH)
    sign: np.ndarray  # (rows,) ones: forces are those of the neuron itself
    dead: np.ndarray  # (rows,) DEAD when nothing can move the neuron again, DORMANT while it rests at w = 0
    slid: np.ndarray  # (rows,) number of surfaces the neuron is held on
    basis: np.ndarray  # (rows, kmax, r) orthonormal rows spanning their normals
    tri: np.ndarray  # (rows, kmax, kmax)
    where: np.ndarray  # (rows, kmax) which surface the a-th of these normals belongs to
    delta_sign: np.ndarray  # (rows,) zeros: a in R^k does not change its sign
    defect_sign: np.ndarray  # (rows,) sign of |a|^2 - |w|^2, 0 for balanced rows
    defect_log: np.ndarray  # (rows,) log of its modulus
    lead: np.ndarray  # (rows,) the neuron that a row belongs to, -1 for a follower not in use


class Work(NamedTuple):
    """Scratch space of the velocity and of events, overwritten by every call; and the event log.

    Names shared with `engine.layout.Work` mean the same; `jump` and `base` are those of the neuron at hand.
    """

    u: np.ndarray  # (rows, S) <q_j, e_k>
    pull: np.ndarray  # (rows, r) M_j' b_j / e^G, held normals projected out
    free: np.ndarray  # (rows, r) the same before projection
    lift: np.ndarray  # (rows, k) M_j q_j / e^G
    f: np.ndarray  # (n, k)
    g: np.ndarray  # (n, k) G_i / e^G
    force: np.ndarray  # (S, k) sum_i |alpha_i| G_i on each surface
    rear: np.ndarray  # (S, k) the part of rows on the far side
    jump: np.ndarray  # (S,) <b_j, force_k> of one neuron
    base: np.ndarray  # (S,) <b_j, rear_k>
    acc: np.ndarray  # (2, S, k)
    e2c: np.ndarray  # (rows,) e^{2 c_j} of the state last looked at, 0 for followers
    probe: np.ndarray  # (n, k) direction of the power iteration for the fastest rate
    probe_force: np.ndarray  # (S, k)
    probe_rear: np.ndarray
    noise: np.ndarray  # (S,) rounding error of the forces
    sum: np.ndarray  # (S,) scratch space
    held: np.ndarray  # (12, rows kmax) release margins of the held surfaces at the stages of a step
    stack: np.ndarray  # (54, 9) Bernstein forms of the pieces of a polynomial
    nu: np.ndarray  # (kmax,) multipliers of the held surfaces
    size: np.ndarray  # (rows,) |q_j| at the start of a step
    mark: np.ndarray  # (S,) how the surfaces of a neuron come to be resolved
    old: np.ndarray  # (S,) codes before
    way: np.ndarray  # (r,) scratch space
    df: np.ndarray  # (n, k) change of the outputs by followers
    M: np.ndarray  # (k, r) M_j / e^G of one neuron
    MM: np.ndarray  # (2, k, k)
    log: np.ndarray  # (rows, 5) events: clock, neuron, surface, kind, whether what follows is unique


@glue
def heads(y, rows, k):
    """The part of y that is b: k numbers a row, one row after another."""
    at = y.size - 1 - rows * (k + 1)
    return y[at : at + rows * k]


@glue
def pair(problem, y, rows, j):
    """(q, b) of row j of a state with so many rows."""
    return row(y, j, problem.e.shape[1]), row(heads(y, rows, problem.k), j, problem.k)


def parts(y: np.ndarray, rows: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(q, b, c, energy) of states (..., size): q is (..., rows, r) and b (..., rows, k)."""
    at = y.shape[-1] - 1 - rows * (k + 1)
    lead = y.shape[:-1]
    q = y[..., :at].reshape(*lead, rows, at // rows)
    b = y[..., at : at + rows * k].reshape(*lead, rows, k)
    return q, b, y[..., at + rows * k : -1], y[..., -1]


def new_state(start, surfaces: int, room: int) -> State:
    """The state at t = 0 of `pack.Start` with `room` followers for every neuron, its bits not yet decided."""
    m, r = start.q.shape
    k = start.b.shape[1]
    rows = m * (1 + room)
    held = max(1, min(surfaces, r))
    y = np.zeros(rows * (r + k + 1) + 1)
    q, b, c, _ = parts(y, rows, k)
    q[:m], b[:m], c[:m] = start.q, start.b, start.c
    flags = np.zeros(rows, np.int64)
    lead = np.full(rows, -1)
    lead[:m] = np.arange(m)
    more = np.zeros(rows - m)
    return all_apart(
        State(
            y=y,
            bits=np.zeros((rows, surfaces)),
            code=np.zeros((rows, surfaces), np.int64),
            sign=np.ones(rows),
            dead=np.r_[flags[:m], flags[m:] + 1],
            slid=flags,
            basis=np.zeros((rows, held, r)),
            tri=np.zeros((rows, held, held)),
            where=np.zeros((rows, held), np.int64),
            delta_sign=np.zeros(rows),
            defect_sign=np.r_[start.defect_sign, more],
            defect_log=np.r_[start.defect_log, more],
            lead=lead.astype(np.int64),
        )
    )


def new_work(rows: int, r: int, S: int, n: int, k: int) -> Work:
    """Scratch space for so many rows, coordinates, surfaces, data and outputs."""
    held = max(1, min(S, r))
    return all_apart(
        Work(
            u=np.zeros((rows, S)),
            pull=np.zeros((rows, r)),
            free=np.zeros((rows, r)),
            lift=np.zeros((rows, k)),
            f=np.zeros((n, k)),
            g=np.zeros((n, k)),
            force=np.zeros((S, k)),
            rear=np.zeros((S, k)),
            jump=np.zeros(S),
            base=np.zeros(S),
            acc=np.zeros((2, S, k)),
            e2c=np.zeros(rows),
            probe=np.full((n, k), 1.0 / np.sqrt(max(n * k, 1))),
            probe_force=np.zeros((S, k)),
            probe_rear=np.zeros((S, k)),
            noise=np.zeros(S),
            sum=np.zeros(S),
            held=np.zeros((12, rows * held)),
            stack=np.zeros((54, 9)),
            nu=np.zeros(held),
            size=np.zeros(rows),
            mark=np.zeros(S, np.int64),
            old=np.zeros(S, np.int64),
            way=np.zeros(r),
            df=np.zeros((n, k)),
            M=np.zeros((k, r)),
            MM=np.zeros((2, k, k)),
            log=np.empty((max(1024, 5 * rows * (S + 2)), 5)),
        )
    )
