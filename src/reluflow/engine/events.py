"""What happens when a neuron meets a surface or is let go by one: `slide.resolve` decides, what changed is recorded."""

import numpy as np

from reluflow.engine import surfaces as slide
from reluflow.engine._jit import APART, inner, making
from reluflow.engine.field import DEAD, FRESH, OFF, ON, SLID, fill
from reluflow.engine.layout import CLOCK, EV_USED, N_EVENTS, NEAREST, ORIGIN
from reluflow.engine.locate import norm_q, normal_rate, speed

SAME_INSTANT = 1e-13  # |<q, e>| / |q| that counts as being on the surface with another event


@inner
def record(ev, ci, cf, j, k, kind, unique):
    row = ci[EV_USED]
    if row >= ev.shape[0]:
        return
    ev[row, 0] = cf[CLOCK]
    ev[row, 1] = j
    ev[row, 2] = k
    ev[row, 3] = kind
    ev[row, 4] = unique
    ci[EV_USED] += 1
    ci[N_EVENTS] += 1


@making
def settle_surfaces(pk, st, j, mark, wk, noises, ev, ci, cf, sure):
    """Resolves neuron j on its marked surfaces and records what changed."""
    _m, big = st.bits.shape
    r = pk.e.shape[1]
    old = np.empty(big + APART, np.int64)[:big]
    for k in range(big):
        old[k] = st.code[j, k]
    unique, distance = slide.resolve(pk, st, j, mark, wk, noises)
    unique = unique and sure == 1.0
    cf[NEAREST] = min(cf[NEAREST], distance)
    for k in range(big):
        if mark[k] == slide.ABSENT:
            continue
        kind = slide.change(old[k], st.code[j, k])
        if kind >= 0 or (not unique and mark[k] == slide.AT_START):
            if kind < 0:
                kind = slide.EV_ON if (st.code[j, k] & 3) == ON else slide.EV_OFF
            record(ev, ci, cf, j, k, kind, 1.0 if unique else 0.0)
        if (st.code[j, k] & 3) < SLID:
            u = 0.0
            for i in range(r):
                u += st.y[j * r + i] * pk.e[k, i]
            for i in range(r):
                st.y[j * r + i] -= u * pk.e[k, i]
    if slide.is_dead(pk, st, j):
        for k in range(big):
            st.code[j, k] = OFF
            st.bits[j, k] = 0.0
        st.slid[j] = 0
        st.dead[j] = DEAD
        record(ev, ci, cf, j, -1, slide.EV_DEAD, 1.0)
    else:
        slide.hold(pk, st, j)
        slide.project(st, st.y, j, r)
        if st.slid[j] == r:
            ci[ORIGIN] = j + 1


@making
def at_event(pk, st, v, q0, pj, pk_, side, wk, noises, ev, ci, cf):
    """Resolves everything that happens at this instant. (pj, pk_, side) is what was located: side -1 crossing or
    sign, 0/1/2/3 release.

    `q0` are the norms |q_j| at the start of the step. Expects wk at the present state, with the bits from before.
    """
    m, big = st.bits.shape
    r = pk.e.shape[1]
    u = wk.u
    slide.noise(pk, st.y, m, r, wk, noises)
    mark = np.empty(big + APART, np.int64)[:big]
    resolution = 4.0 * 2.3e-16 * abs(cf[CLOCK])
    for j in range(m):
        if st.dead[j] != 0:
            continue
        fill(mark, slide.ABSENT)
        hit = False
        size = norm_q(st.y, j, r)
        primary = j == pj
        if primary and pk_ >= 0 and st.slid[j] > 0 and side < 0 and size <= 1e-9 * q0[j]:
            ci[ORIGIN] = j + 1
            continue
        unique = True
        if pk.first == 0 and st.delta_sign[j] != 0.0 and ((primary and pk_ < 0) or st.y[m * r + j] * st.sign[j] < 0.0):
            st.sign[j] = -st.sign[j]
            st.y[m * r + j] = st.sign[j] * 1e-300
            unique = st.slid[j] == 0
            hit = not unique
            record(ev, ci, cf, j, -1, slide.EV_SIGN, 1.0 if unique else 0.0)
        rate = speed(v, j, m, r)
        for k in range(big):
            kind = st.code[j, k] & 3
            if kind >= SLID:
                mark[k] = slide.HELD
                if primary and k == pk_:
                    hit = True
                    if side == 0:
                        mark[k] = slide.FORCE_OFF
                    elif side == 1:
                        mark[k] = slide.FORCE_ON
                continue
            falling = kind == ON
            if primary and k == pk_ and side < 0:
                mark[k] = slide.FALLING if falling else slide.RISING
                hit = True
            elif pk.slope < 1.0 and abs(u[j, k]) <= SAME_INSTANT * size + resolution * rate and st.code[j, k] < FRESH:
                across = normal_rate(pk, v, u[j, k], j, k, m, r)
                if (falling and across < -1e-13 * rate) or (not falling and across > 1e-13 * rate):
                    mark[k] = slide.FALLING if falling else slide.RISING
                    hit = True
        if hit:
            settle_surfaces(pk, st, j, mark, wk, noises, ev, ci, cf, 1.0 if unique else 0.0)
