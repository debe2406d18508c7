"""Gradient flow: the driver that runs the kernels in bursts and keeps what they return.

Bursts are short, so that Ctrl-C, limits and progress are seen at once; a run is a list of checkpoints from which any moment is
replayed bit for bit.
"""

from __future__ import annotations

import time as _time
from dataclasses import dataclass

import numpy as np

from reluflow._checks import number, one_of
from reluflow.kernels import coupled as kn
from reluflow.kernels.field import OFF, ON, SLID, State, Work, log_loss, outputs
from reluflow.kernels.pack import Pack, pack
from reluflow.outcome import Outcome
from reluflow.problem import Problem

# Local errors are kept this much below rtol, so that outputs and event times stay within the promise of 100 rtol.
SAFETY = 0.1
BURST_SECONDS = 0.04


@dataclass(frozen=True)
class Flow:
    """Gradient flow to relative tolerance `rtol`; outputs and event times are right to 100 rtol away from bifurcations."""

    rtol: float = 1e-8
    events: str = "exact"

    def __post_init__(self):
        inside = dict(rule="in [1e-13, 1e-2]", ok=lambda v: 1e-13 <= v <= 1e-2, hint="1e-8 suits most uses")
        object.__setattr__(self, "rtol", number("rtol", self.rtol, **inside))
        one_of("events", self.events, ("exact",))


class Machine:
    """Kernel arrays of one problem: the state, its scratch space, and the buffers a burst fills."""

    def __init__(self, problem: Problem, rtol: float, end: float, saves=None, rest: float = 0.0):
        self.pk, self.coords, self.start = pack(problem)
        self.m, self.r = self.start.q.shape
        self.big, self.n = self.pk.e.shape[0], self.pk.alpha.size
        self.size = self.m * (self.r + 2) + 1
        self.st = _state(self.pk, self.start)
        self.wk = _work(self.m, self.big, self.r, self.n)
        self.cf, self.ci = np.zeros(8), np.zeros(12, np.int64)
        self.cf[[kn.END, kn.RTOL, kn.REST, kn.NEAREST]] = end, SAFETY * rtol, rest, 1.0
        self.ci[kn.STRIDE] = 1
        per_row = 8 * (self.size + self.m * self.big)
        self.rows = int(np.clip(4e6 / per_row, 8, 256))
        room = self.m * (self.big + 2)
        self.ev = np.empty((max(1024, 2 * room), 5))
        self.saves = np.empty(0) if saves is None else saves
        cells = self.m * self.big
        self.ck = (np.empty((self.rows, 2)), np.empty((self.rows, self.size)), np.empty((self.rows, cells), np.int64))
        frames = min(self.rows, max(1, self.saves.size))
        self.fr = (np.empty(frames), np.empty((frames, self.size)), np.empty((frames, cells), np.int64))
        k = self.size
        self.scratch = (np.empty((16, k)), np.empty((7, k)), np.empty(k), np.empty(k), np.empty(k), np.empty(k))
        self.u = (np.empty((self.m, self.big)), np.empty((self.m, self.big)))
        self.probe = np.full(max(self.n, 0), 1.0 / np.sqrt(max(self.n, 1)))

    def begin(self):
        """Bits at t = 0, the first step, the loss the energy is compared with."""
        kn.at_start(self.pk, self.st, self.wk, np.empty(self.big), self.ev, self.ci, self.cf)
        self.cf[kn.LOSS0] = np.exp(self.log_loss())
        out = self.scratch[0][0]
        st = self.st
        kn.field(self.pk, st.y, 0.0, st.bits, st.code, st.dead, st.slid, st.basis, out, self.wk)
        rates = np.abs(out[:-1]).reshape(-1)
        if self.pk.first:
            size = np.linalg.norm(st.y[: self.m * self.r].reshape(self.m, self.r), axis=1)
            speed = np.linalg.norm(out[: self.m * self.r].reshape(self.m, self.r), axis=1)
            top = np.max(np.divide(speed, size, out=np.zeros_like(speed), where=size > 0), initial=0.0)
        else:
            top = np.max(rates, initial=0.0)
        self.cf[kn.STEP] = 0.1 / top if top > 0 else 1.0

    def log_loss(self) -> float:
        st = self.st
        outputs(self.pk, st.y, st.bits, st.code, st.dead, self.wk)
        return float(log_loss(self.pk, self.wk.f))

    def drive_scale(self) -> float:
        """sum_i |g_i| |x_i| at the present state: what pulls are compared with."""
        top = kn.field(
            self.pk, self.st.y, 0.0, self.st.bits, self.st.code, self.st.dead, self.st.slid, self.st.basis, self.scratch[4], self.wk
        )
        return float(np.exp(top) * np.sum(np.abs(self.pk.alpha * self.wk.g)))

    def restore(self, clock: float, step: float, y: np.ndarray, code: np.ndarray):
        """Puts a checkpoint back."""
        st = self.st
        st.y[:] = y
        st.code[:] = code.reshape(self.m, self.big)
        b = y[self.m * self.r : self.m * self.r + self.m]
        st.sign[:] = np.where(b >= 0, 1.0, -1.0)
        kn.restore(self.pk, st)
        self.cf[[kn.CLOCK, kn.STEP]] = clock, step

    def burst(self, budget: int) -> int:
        return kn.burst(
            self.pk, self.st, self.cf, self.ci, budget, self.saves, *self.scratch, *self.u, self.wk, self.probe, self.ev, *self.ck, *self.fr
        )


def _state(pk: Pack, start) -> State:
    m, r = start.q.shape
    big = pk.e.shape[0]
    y = np.concatenate([start.q.ravel(), start.b, start.c, [0.0]])
    bits = np.zeros((m, big))
    code = np.zeros((m, big), np.int64)
    return State(
        y=y,
        bits=bits,
        code=code,
        sign=np.sign(start.b),
        dead=np.zeros(m, np.int64),
        slid=np.zeros(m, np.int64),
        basis=np.empty((m, max(1, min(big, r)), r)),
        delta_sign=np.array(start.delta_sign),
        delta_log=np.array(start.delta_log),
    )


def _work(m: int, big: int, r: int, n: int) -> Work:
    return Work(
        u=np.zeros((m, big)),
        pull=np.zeros((m, r)),
        free=np.zeros((m, r)),
        coef=np.zeros((m, big)),
        f=np.zeros(n),
        g=np.zeros(n),
        jump=np.zeros(big),
        base=np.zeros(big),
        acc=np.zeros((2, big)),
    )


STATUS = {
    kn.REACHED: Outcome.REACHED,
    kn.STATIONARY: Outcome.STATIONARY,
    kn.STALLED: Outcome.STALLED,
    kn.NOT_FINITE: Outcome.NOT_FINITE,
    kn.STORM: Outcome.EVENT_LIMIT,
}

__all__ = ["OFF", "ON", "SLID", "Flow", "Machine"]
