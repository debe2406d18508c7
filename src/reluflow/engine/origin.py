"""A neuron at w = 0, where every surface meets: it passes, turns, or rests until the drive opens a way.

Reached only while sliding, or started at; what follows is not unique in general, and is recorded so.
"""

import numpy as np

from reluflow.engine import surfaces as slide
from reluflow.engine._jit import APART, inner, making
from reluflow.engine.events import record, settle_surfaces
from reluflow.engine.field import ASLEEP, FRESH, OFF, ON, PINNED, SLID, fill
from reluflow.engine.layout import ORIGIN


@inner
def fall_asleep(pk, st, j, ev, ci, cf):
    """w_j = 0 and no way out of it: the neuron rests there until the drive opens one."""
    r = pk.e.shape[1]
    for i in range(j * r, (j + 1) * r):
        st.y[i] = 0.0
    for k in range(st.code.shape[1]):
        kind = slide.change(st.code[j, k], PINNED)
        if kind >= 0:
            record(ev, ci, cf, j, k, kind, 0.0)
        st.code[j, k] = PINNED
        st.bits[j, k] = pk.slope
    st.slid[j] = 0
    st.dead[j] = ASLEEP


@inner
def rest_if_held(pk, st, ev, ci, cf):
    """A neuron that `settle_surfaces` found held on every direction has w = 0 and rests."""
    if ci[ORIGIN] > 0:
        j = ci[ORIGIN] - 1
        ci[ORIGIN] = 0
        record(ev, ci, cf, j, -1, slide.EV_ORIGIN, 0.0)
        fall_asleep(pk, st, j, ev, ci, cf)


@making
def leave_origin(pk, st, j, way, wk, noises, ev, ci, cf):
    """From w_j = 0: a ray z with s D(z) along z, found by going uphill on s sum_i g_i s(<z, x_i>) from `way`. Never
    unique.

    Surfaces on which the ascent keeps switching are held and resolved; without a ray that grows the neuron rests at
    0.
    """
    _m, big = st.bits.shape
    r = pk.e.shape[1]
    s = st.sign[j]
    z, D = np.empty(r + APART)[:r], np.empty(r + APART)[:r]
    side, flips, mark = (
        np.empty(big + APART, np.int64)[:big],
        np.empty(big + APART, np.int64)[:big],
        np.empty(big + APART, np.int64)[:big],
    )
    fill(flips, 0)
    fill(side, -1)
    size, scale = 0.0, 1e-300
    for i in range(r):
        z[i] = way[i]
        size += z[i] * z[i]
    for k in range(big):
        scale += abs(wk.jump[k]) + abs(wk.base[k])
    growth = 0.0
    for turn in range(400):
        size = np.sqrt(size)
        for i in range(r):
            z[i] = z[i] / size if size > 0.0 else 0.0
            D[i] = 0.0
        for k in range(big):
            u = 0.0
            for i in range(r):
                u += z[i] * pk.e[k, i]
            now = 1 if u > 0.0 else 0
            if now != side[k] and turn >= 300:
                flips[k] += 1
            side[k] = now
            coef = (1.0 if now == 1 else pk.slope) * wk.jump[k] + wk.base[k]
            for i in range(r):
                D[i] += coef * pk.e[k, i]
        growth, size = 0.0, 0.0
        for i in range(r):
            growth += s * D[i] * z[i]
            z[i] += s * D[i] / scale * 4.0 / (1.0 + 0.1 * turn)
            size += z[i] * z[i]
    for i in range(j * r, (j + 1) * r):
        st.y[i] = 0.0
    st.slid[j] = 0
    if growth <= 1e-6 * scale:
        fall_asleep(pk, st, j, ev, ci, cf)
        return
    st.dead[j] = 0
    for k in range(big):
        mark[k] = slide.HELD if flips[k] > 2 else slide.ABSENT
        new = ON if side[k] == 1 else OFF
        kind = slide.change(st.code[j, k], new)
        st.code[j, k] = new + FRESH
        st.bits[j, k] = 1.0 if new == ON else pk.slope
        if mark[k] == slide.ABSENT and kind >= 0:
            record(ev, ci, cf, j, k, kind, 0.0)
        elif mark[k] != slide.ABSENT:
            st.code[j, k] = SLID
    settle_surfaces(pk, st, j, mark, wk, noises, ev, ci, cf, 0.0)
    rest_if_held(pk, st, ev, ci, cf)


@making
def wake(pk, st, wk, noises, ev, ci, cf):
    """Neurons resting at w = 0 go on when the drive opens a way; True if one did."""
    m = st.sign.size
    r = pk.e.shape[1]
    way = np.empty(r + APART)[:r]
    woken = False
    for j in range(m):
        if st.dead[j] == ASLEEP:
            # Off the axes, so that no surface of the data is singled out.
            for i in range(r):
                way[i] = np.cos(1.0 + 2.0 * i)
            leave_origin(pk, st, j, way, wk, noises, ev, ci, cf)
            woken = woken or st.dead[j] != ASLEEP
    return woken
