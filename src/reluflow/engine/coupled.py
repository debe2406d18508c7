"""All neurons together: order-8 steps with bits frozen, every crossing and every release located, then resolved.

A step is taken as if no bit changed. If afterwards some <q_j, e_k> has the wrong sign, or a held surface wants to let
go, the earliest such moment is found on the dense output, which gives the state there, and `slide.resolve` decides
what happens. Where the step is bounded by stability rather than by its error, `stiff` offers an implicit one.
"""

import numpy as np

from reluflow.engine import implicit as stiff
from reluflow.engine import surfaces as slide
from reluflow.engine._jit import entry, inner
from reluflow.engine.events import at_event
from reluflow.engine.explicit import clock_shift, dense, error, offer, settle, stages, velocity
from reluflow.engine.field import ASLEEP, FRESH, ON, SQUARE, copy, copy_rows, stiffness
from reluflow.engine.layout import (
    ASIDE,
    CHECKED,
    CK_USED,
    CLOCK,
    END,
    EV_USED,
    FLUSH,
    FR_NEXT,
    FR_USED,
    LOSS0,
    N_FIELDS,
    N_REJECTED,
    N_STEPS,
    N_STIFF,
    NOT_FINITE,
    ORIGIN,
    PASSIVE,
    PATIENCE,
    QUIET,
    REACHED,
    REST,
    RTOL,
    RUNNING,
    SPEED,
    STALLED,
    STATIONARY,
    STEP,
    STORM,
    STRIDE,
    TICK,
    WAIT,
)
from reluflow.engine.locate import (
    LEFT,
    between,
    first_release,
    first_violation,
    lowest_dip,
    margin_at,
    may_let_go,
    norm_q,
    normal_plain,
    surface_poly,
    suspects,
)
from reluflow.engine.tableau import STAGES

STABLE = 4.0  # step times fastest rate: the pair holds to 6, but beyond 4.4 residuals alternate and surfaces let go
AHEAD, WORTH = 1.3, 2.0  # times the longest stable step: what makes an implicit one be tried, and be gone on with
AGAIN = 16  # explicit steps after one that was refused


@inner
def resting(pk, st, K, G, rest, wk):
    """Whether nothing moves and nothing small grows: every pull is below `rest`, or belongs to a neuron that only
    shrinks.

    A held neuron may sit at the unstable end of its line, w = -s D/|D|, and shrink for ever without turning.
    """
    m = st.sign.size
    r = pk.e.shape[1]
    # With an exponential tail pulls fade for ever on separable data: there rest means that they cancel.
    shrink = np.exp(G) if pk.loss == SQUARE else 1.0
    for j in range(m):
        if st.dead[j] != 0:
            continue
        size = 0.0
        turn = 0.0
        for i in range(r):
            size += wk.pull[j, i] ** 2
            turn += K[0, j * r + i] ** 2
        if np.sqrt(size) * shrink <= rest:
            continue
        if st.slid[j] > 0 and np.sqrt(turn) <= rest and K[0, m * r + m + j] < 0.0 and pk.first == 0:
            continue
        return False
    return True


@inner
def calm(pk, st, v, noises, cf, wk):
    """Whether the outputs stand still: neurons that matter rest, all others are too small to be seen. Sets cf[SPEED].

    V = sum_j e^{2c} (2 |c'| + |q'| + |b'|), the speed of the outputs up to |x|, against 1e-15 and the rounding of the
    drive.
    """
    m = st.sign.size
    r = pk.e.shape[1]
    fast, slow, size, grain = 0.0, 0.0, 0.0, 0.0
    for j in range(m):
        if st.dead[j] != 0:
            continue
        e2c = wk.e2c[j]
        turn = 0.0
        for i in range(j * r, (j + 1) * r):
            turn += v[i] * v[i]
        rate = e2c * (2.0 * abs(v[m * r + m + j]) + np.sqrt(turn) + abs(v[m * r + j]))
        size += e2c
        if st.y[m * r + m + j] < cf[PASSIVE]:
            fast += rate
        else:
            slow += rate
    for k in range(noises.size):
        grain += noises[k]
    # A drift below the rounding of the drive is none: it would bound every jump, for ever.
    cf[SPEED] = slow if slow > 0.3 * size * grain else 0.0
    return fast + slow <= 1e-15 + 0.3 * size * grain


@inner
def write_row(rows_y, rows_code, row, y, code):
    """Stores a state and its codes as one row."""
    for i in range(y.size):
        rows_y[row, i] = y[i]
    big = code.shape[1]
    for j in range(code.shape[0]):
        for k in range(big):
            rows_code[row, j * big + k] = code[j, k]


@entry
def burst(
    pk,
    st,
    cf,
    ci,
    budget,
    saves,
    K,
    P,
    y1,
    tmp,
    e5,
    e3,
    u0,
    u1,
    at_lo,
    at_hi,
    at_x,
    wk,
    sf,
    probe,
    ev,
    ck_f,
    ck_y,
    ck_code,
    fr_f,
    fr_y,
    fr_code,
):
    """Up to `budget` steps; returns a status. Everything needed to go on is in st, cf, ci.

    Frames asked for in `saves` (clock values, ascending) are written to fr_*; a checkpoint after every STRIDE-th step
    to ck_*.
    """
    m, big = st.bits.shape
    r = pk.e.shape[1]
    room = m * (big + 2)
    noises, who, where, poly, q0 = wk.noise, wk.who, wk.where, wk.poly, wk.size
    taken = 0
    idle = 0
    fresh_field = True
    G = 0.0
    while True:
        clock = cf[CLOCK]
        if fresh_field:
            G = velocity(pk, st, st.y, clock, K[0], wk)
            ci[N_FIELDS] += 1
            fresh_field = False
        total = 0.0
        for i in range(st.y.size):
            total += K[0, i]
        if not np.isfinite(total):
            return NOT_FINITE
        any_slid, any_asleep = False, False
        for j in range(m):
            if st.slid[j] > 0 and st.dead[j] == 0:
                any_slid = True
            if st.dead[j] == ASLEEP:
                any_asleep = True
        margin0 = 1.0
        if any_slid:
            slide.noise(pk, st.y, m, r, wk, noises)
            margin0, wj, wkk, side = slide.margins(pk, st, wk, noises, at_lo)
            if margin0 < 0.0:
                if ci[EV_USED] + room > ev.shape[0]:
                    return FLUSH
                for j in range(m):
                    q0[j] = norm_q(st.y, j, r)
                at_event(pk, st, K[0], q0, wj, wkk, side, wk, noises, ev, ci, cf)
                if ci[ORIGIN] > 0:
                    return ASIDE
                fresh_field = True
                idle += 1
                if idle > 20 * room:
                    return STORM
                continue
        if any_asleep and ci[CHECKED] == 0:
            return ASIDE
        if taken >= budget:
            return RUNNING
        if clock >= cf[END]:
            while ci[FR_NEXT] < saves.size:
                if ci[FR_USED] == fr_f.size:
                    return FLUSH
                row = ci[FR_USED]
                fr_f[row] = clock
                write_row(fr_y, fr_code, row, st.y, st.code)
                ci[FR_USED] += 1
                ci[FR_NEXT] += 1
            return REACHED
        if resting(pk, st, K, G, cf[REST], wk):
            return STATIONARY
        if ci[WAIT] == 0 and pk.first == 0:
            slide.noise(pk, st.y, m, r, wk, noises)
            if calm(pk, st, K[0], noises, cf, wk):
                return QUIET
        if ci[EV_USED] + room > ev.shape[0] or ci[CK_USED] == ck_y.shape[0] or ci[FR_USED] == fr_f.size:
            return FLUSH
        copy_rows(u0, wk.u)
        rate = stiffness(pk, st.y, clock_shift(pk, clock), st.bits, st.code, st.dead, st.slid, st.basis, probe, wk)
        h = min(cf[STEP], cf[END] - clock)
        longest = STABLE / rate if rate > 0.0 else np.inf
        implicit, grow, loss = False, 1.0, 0.0
        if ci[PATIENCE] > 0:
            ci[PATIENCE] -= 1
        elif sf.rhs.size > 0 and h > AHEAD * longest:
            loss = stiff.square_loss(pk, wk.f)
            size, err = offer(pk, st, h, longest, K, y1, wk, sf, e5, e3, cf, ci)
            implicit = size > 0.0
            if implicit:
                h = size
                grow = min(4.0, max(0.2, 0.9 * max(err, 1e-10) ** (-1.0 / stiff.ORDER)))
            if not implicit or h * grow < WORTH * longest:
                ci[PATIENCE] = AGAIN
        if not implicit:
            # An explicit pair never settles unless kept inside its region of stability.
            h = min(h, longest)
        # One step, shortened until its error fits.
        while not implicit:
            taken += 1
            ci[N_FIELDS] += STAGES - 1
            stages(pk, st, clock, h, K, y1, wk)
            err = error(pk, st, K, h, cf[RTOL], cf[LOSS0], wk, e5, e3)
            if not np.isfinite(err):
                err = 1e10
            if err <= 1.0:
                grow = min(5.0, max(0.2, 0.9 * max(err, 1e-10) ** -0.125))
                break
            ci[N_REJECTED] += 1
            h *= max(0.1, 0.9 * err**-0.125)
            if clock + h == clock or h < 1e-300:
                return STALLED
        last = clock + h >= cf[END] * (1.0 - 1e-15)
        if implicit:
            taken += 1
        new = cf[END] if last else clock + h
        velocity(pk, st, y1, new, K[12], wk)
        ci[N_FIELDS] += 1
        if implicit:
            # The energy feels the square of what the error estimate sees: what is spent must be what the loss lost.
            gap = stiff.square_loss(pk, wk.f) - loss + y1[y1.size - 1] - st.y[y1.size - 1]
            if not abs(gap) <= 0.1 * cf[RTOL] * cf[LOSS0]:
                ci[N_REJECTED] += 1
                cf[STEP] = 0.5 * h
                fresh_field = True
                continue
        copy_rows(u1, wk.u)
        margin1 = 1.0
        if any_slid:
            slide.noise(pk, y1, m, r, wk, noises)
            margin1, _, _, _ = slide.margins(pk, st, wk, noises, at_hi)
        count, moved = suspects(pk, st, y1, h, K, u0, u1, who, where)
        dips = any_slid and (margin1 < 0.0 or min(margin0, margin1) < 0.02 + 0.5 * abs(margin1 - margin0))
        if implicit and (count > 0 or (any_slid and may_let_go(st, at_lo, at_hi))):
            # Events are for explicit steps, which can be looked into.
            ci[PATIENCE] = AGAIN
            fresh_field = True
            continue
        dips = dips and not implicit
        x, pj, pkk, side = 2.0, -1, -1, -1
        if count > 0 or dips:
            dense(pk, st, clock, h, K, y1, tmp, wk, P)
            ci[N_FIELDS] += 3
            for p in range(count):
                j, k = who[p], where[p]
                if k < 0:
                    at = m * r + j
                    for i in range(7):
                        poly[i] = P[i, at]
                    xs = first_violation(st.y[at], poly, st.sign[j], 0.0)
                else:
                    surface_poly(pk, P, j, k, r, poly)
                    sgn = 1.0 if (st.code[j, k] & 3) == ON else -1.0
                    grain = 0.1 * LEFT * norm_q(y1, j, r) if st.code[j, k] >= FRESH else 0.0
                    xs = first_violation(u0[j, k], poly, sgn, grain)
                if xs < x:
                    x, pj, pkk, side = xs, j, k, -1
            if dips:
                hi = min(x, 1.0)
                low = margin1
                if hi < 1.0 or margin1 >= 0.0:
                    # Not at the end of the step, but perhaps before the crossing, or in between and back.
                    low, _, _, _ = margin_at(pk, st, clock, h, 0.5 * hi, P, tmp, K, wk, noises, at_x)
                    ci[N_FIELDS] += 1
                    if low < 0.0:
                        hi *= 0.5
                        copy_rows(at_hi, at_x)
                    else:
                        if hi < 1.0:
                            low, _, _, _ = margin_at(pk, st, clock, h, hi, P, tmp, K, wk, noises, at_hi)
                            ci[N_FIELDS] += 1
                        if low >= 0.0:
                            dip = lowest_dip(st, at_lo, at_x, at_hi)
                            if dip > 0.0:
                                low, _, _, _ = margin_at(pk, st, clock, h, dip * hi, P, tmp, K, wk, noises, at_hi)
                                ci[N_FIELDS] += 1
                                hi *= dip
                if low < 0.0:
                    grain = max(1e-16, 1e-4 * cf[RTOL] * max(1.0, clock) / h)
                    x, pj, pkk, side = first_release(
                        pk, st, clock, h, hi, grain, P, tmp, K, wk, noises, at_lo, at_hi, at_x, ci
                    )
        event = x <= 1.0
        if event:
            new = clock + x * h
            last = False
        # Frames inside the step: a step of their own, so that the run does not depend on what is saved.
        full, lost = True, False
        while ci[FR_NEXT] < saves.size and saves[ci[FR_NEXT]] < new:
            row = ci[FR_USED]
            if row == fr_f.size:
                full = False
                break
            at = max(saves[ci[FR_NEXT]], clock)
            if implicit and at - clock > longest:
                lost = not stiff.stages(pk, st, at - clock, cf[RTOL], K[1:6], tmp, wk, sf)
                if lost:
                    break
                settle(pk, st, tmp)
            else:
                stages(pk, st, clock, at - clock, K, tmp, wk)
            fr_f[row] = at
            write_row(fr_y, fr_code, row, tmp, st.code)
            ci[FR_USED] += 1
            ci[FR_NEXT] += 1
            fresh_field = True
        if lost:
            # No implicit step to this frame: explicit ones lead there.
            ci[PATIENCE] = AGAIN
            fresh_field = True
            continue
        if not full:
            # The step is taken again once there is room.
            fresh_field = True
            return FLUSH
        ci[N_STEPS] += 1
        ci[N_STIFF] += 1 if implicit else 0
        ci[CHECKED] = 0
        ci[WAIT] = max(0, ci[WAIT] - 1)
        if event:
            for j in range(m):
                q0[j] = norm_q(st.y, j, r)
            part = x * h
            if part > 0.0:
                # Inside an accepted step the interpolant is off by no more than the step's own error estimate.
                between(st, P, x, y1)
                settle(pk, st, y1)
            else:
                copy(y1, st.y)
            velocity(pk, st, y1, new, K[12], wk)
            if side < 0:
                # The located time is good to the step's error; one Newton step along the flow puts it on the surface.
                if pkk < 0:
                    miss, slope = y1[m * r + pj], K[12, m * r + pj]
                else:
                    miss, slope = wk.u[pj, pkk], normal_plain(pk, K[12], pj, pkk, r)
                shift = -miss / slope if slope != 0.0 else 0.0
                if abs(shift) <= 1e-4 * max(part, 1e-12 * abs(clock)) and new + shift > clock:
                    for i in range(y1.size):
                        y1[i] += shift * K[12, i]
                    new += shift
                    settle(pk, st, y1)
            velocity(pk, st, y1, new, K[12], wk)
            ci[N_FIELDS] += 2
            idle = idle + 1 if new == clock else 0
            copy(st.y, y1)
            cf[CLOCK] = new
            at_event(pk, st, K[12], q0, pj, pkk, side, wk, noises, ev, ci, cf)
            fresh_field = True
            if ci[ORIGIN] > 0:
                return ASIDE
            if idle > 20 * room:
                return STORM
            # Steps stay as long as before the event, which the error test allowed.
            cf[STEP] = h * max(1.0, grow)
        else:
            copy(st.y, y1)
            cf[CLOCK] = new
            idle = 0
            if not last:
                cf[STEP] = h * grow
            for j in range(m):
                if st.dead[j] != 0:
                    continue
                q1 = norm_q(y1, j, r)
                for k in range(big):
                    if st.code[j, k] >= FRESH:
                        sgn = 1.0 if (st.code[j, k] & 3) == ON else -1.0
                        if sgn * u1[j, k] > LEFT * q1:
                            st.code[j, k] -= FRESH
            if fresh_field or count > 0 or dips or moved:
                fresh_field = True
            else:
                for i in range(st.y.size):
                    K[0, i] = K[12, i]
        ci[TICK] += 1
        if ci[TICK] >= ci[STRIDE]:
            ci[TICK] = 0
            row = ci[CK_USED]
            ck_f[row, 0] = cf[CLOCK]
            ck_f[row, 1] = cf[STEP]
            write_row(ck_y, ck_code, row, st.y, st.code)
            ci[CK_USED] += 1
