"""What happens rarely, apart from the stepping loop so that it is compiled once: the start, a checkpoint coming back,
neurons at w = 0, jumps over frozen phases, and looking at stored states.
"""

import numpy as np

from reluflow.engine import surfaces as slide
from reluflow.engine._jit import APART, entry, inner, making
from reluflow.engine.events import record, settle_surfaces
from reluflow.engine.explicit import velocity
from reluflow.engine.field import ASLEEP, DEAD, OFF, ON, PINNED, SQUARE, field, log_loss
from reluflow.engine.frozen import jump
from reluflow.engine.layout import CHECKED, CLOCK, EV_USED, LOSS0, ORIGIN, REST, STEP
from reluflow.engine.locate import norm_q, speed
from reluflow.engine.origin import leave_origin, rest_if_held, wake

START, RESTORE, AT_ORIGIN, JUMP, LOOK = 0, 1, 2, 3, 4


@making
def at_start(pk, st, wk, noises, ev, ci, cf):
    """Bits at t = 0 from the signs of <q_j, e_k>; neurons starting on a surface are resolved."""
    m, big = st.bits.shape
    r = pk.e.shape[1]
    for j in range(m):
        size = norm_q(st.y, j, r)
        for k in range(big):
            u = 0.0
            for i in range(r):
                u += st.y[j * r + i] * pk.e[k, i]
            st.code[j, k] = ON if u > 0.0 else OFF
            st.bits[j, k] = 1.0 if u > 0.0 else pk.slope
            if abs(u) <= 4.5e-16 * size:
                st.code[j, k] = OFF
                st.bits[j, k] = pk.slope
        st.dead[j] = 0
        st.slid[j] = 0
    field(pk, st.y, 0.0, st.bits, st.code, st.dead, st.slid, st.basis, np.empty(st.y.size + APART)[: st.y.size], wk)
    slide.noise(pk, st.y, m, r, wk, noises)
    mark = np.empty(big + APART, np.int64)[:big]
    for j in range(m):
        size = norm_q(st.y, j, r)
        if st.sign[j] == 0.0:
            h = 0.0
            for i in range(r):
                h += wk.pull[j, i] * st.y[j * r + i]
            st.sign[j] = 1.0 if h >= 0.0 else -1.0
            st.y[m * r + j] = st.sign[j] * 1e-300
        if size == 0.0:
            record(ev, ci, cf, j, -1, slide.EV_ORIGIN, 0.0)
            leave_origin(pk, st, j, wk.pull[j], wk, noises, ev, ci, cf)
            continue
        hit = False
        for k in range(big):
            mark[k] = slide.ABSENT
            if abs(wk.u[j, k]) <= 4.5e-16 * size and pk.slope < 1.0:
                mark[k] = slide.AT_START
                hit = True
        if hit:
            settle_surfaces(pk, st, j, mark, wk, noises, ev, ci, cf, 1.0)
            rest_if_held(pk, st, ev, ci, cf)
        elif slide.is_dead(pk, st, j):
            st.dead[j] = DEAD
            record(ev, ci, cf, j, -1, slide.EV_DEAD, 1.0)


@inner
def restore(pk, st):
    """Bits, dead flags and held bases from the codes, without touching y: how a checkpoint comes back."""
    m, big = st.bits.shape
    r = pk.e.shape[1]
    for j in range(m):
        for k in range(big):
            st.bits[j, k] = 1.0 if (st.code[j, k] & 3) == ON else pk.slope
        slide.hold(pk, st, j)
        st.dead[j] = DEAD if slide.is_dead(pk, st, j) else 0
        if st.slid[j] > 0 and norm_q(st.y, j, r) == 0.0 and (st.code[j, 0] & 3) == PINNED:
            st.dead[j] = ASLEEP
            st.slid[j] = 0


@inner
def first_step(pk, st, v, wk, cf):
    """The loss the energy is compared with, the pull that counts as rest, and a careful first step."""
    m = st.sign.size
    r = pk.e.shape[1]
    G = velocity(pk, st, st.y, 0.0, v, wk)
    cf[LOSS0] = np.exp(log_loss(pk, wk.f))
    force = 0.0
    for i in range(pk.alpha.size):
        force += abs(pk.alpha[i] * wk.g[i])
    cf[REST] *= force * (np.exp(G) if pk.loss == SQUARE else 1.0)
    top = 0.0
    for j in range(m):
        size = norm_q(st.y, j, r) if pk.first == 1 else 1.0
        if size > 0.0:
            top = max(top, speed(v, j, m, r) / size)
    cf[STEP] = 0.1 / top if top > 0.0 else 1.0


@making
def look(pk, st, clock, y, code, wk, v, f, logs, bits):
    """Outputs, log loss and bits (slid ones with their value) of stored states, one row each."""
    m, big = st.bits.shape
    r = pk.e.shape[1]
    noises = np.empty(big + APART)[:big]
    out = np.empty((m + APART, big))[:m]
    for row in range(clock.size):
        for i in range(st.y.size):
            st.y[i] = y[row, i]
        for j in range(m):
            st.sign[j] = 1.0 if st.y[m * r + j] >= 0.0 else -1.0
            for k in range(big):
                st.code[j, k] = code[row, j * big + k]
        restore(pk, st)
        velocity(pk, st, st.y, clock[row], v, wk)
        logs[row] = log_loss(pk, wk.f)
        for i in range(f.shape[1]):
            f[row, i] = wk.f[i]
        if bits.shape[0] > 0:
            slide.noise(pk, st.y, m, r, wk, noises)
            slide.margins(pk, st, wk, noises, out)
            for j in range(m):
                for k in range(big):
                    bits[row, j * big + k] = st.bits[j, k]


@entry
def aside(mode, pk, st, cf, ci, span, order, wk, v, noises, ev, clock, y, code, f, logs, bits):
    """Does what `mode` says; returns the time a jump reaches (0 for the other modes).

    `v` is a velocity: scratch space, except at the origin, where it is that of the moment of arrival.
    """
    r = pk.e.shape[1]
    if mode == START:
        at_start(pk, st, wk, noises, ev, ci, cf)
        first_step(pk, st, v, wk, cf)
    elif mode == RESTORE:
        restore(pk, st)
    elif mode == AT_ORIGIN:
        if ci[ORIGIN] > 0:
            j = ci[ORIGIN] - 1
            ci[ORIGIN] = 0
            slide.noise(pk, st.y, st.sign.size, r, wk, noises)
            record(ev, ci, cf, j, -1, slide.EV_ORIGIN, 0.0)
            leave_origin(pk, st, j, v[j * r : (j + 1) * r], wk, noises, ev, ci, cf)
        else:
            velocity(pk, st, st.y, cf[CLOCK], v, wk)
            slide.noise(pk, st.y, st.sign.size, r, wk, noises)
            if ci[EV_USED] + st.sign.size * (pk.e.shape[0] + 2) <= ev.shape[0]:
                wake(pk, st, wk, noises, ev, ci, cf)
            ci[CHECKED] = 1
    elif mode == JUMP:
        return jump(pk, st, cf, ci, span, order, wk, v, noises, ev)
    else:
        look(pk, st, clock, y, code, wk, v, f, logs, bits)
    return 0.0
