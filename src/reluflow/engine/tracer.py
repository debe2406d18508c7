r"""One neuron under a recorded drive, with its own events: what neurons do between two looks at each other.

The surface forces over a stretch of time of length H are polynomials, F_k(x) = sum_i F_ki x^i with x in [0, 1] the
fraction of the stretch. In a cell the neuron obeys a linear equation with D(x) = sum_i D_i x^i:

    w' = a D(x),   a' = <D(x), w>,    so   w = q + sum_i alpha_i(x) D_i,   alpha_i' = a x^i,
    a' = sum_i x^i (beta_i + sum_l Gamma_il alpha_l),   beta_i = <D_i, q>,   Gamma_il = <D_i, D_l>,

solved by the Taylor series of the one number a. Everything the events need is an inner product: with coefficients C_i,
D_i = sum_k C_ik e_k, and V_ik = <D_i, e_k> = (C_i Gram)_k, the surfaces see <w, e_k> = u_k + sum_i alpha_i V_ik. A bit
that changes changes one column of C and adds one row of the Gram matrix to V. A held surface has the coefficient nu
that keeps <D, e_k> = 0.
"""

import numpy as np

from reluflow.engine import surfaces as slide
from reluflow.engine._jit import inner
from reluflow.engine.events import SAME_INSTANT, record, settle_surfaces
from reluflow.engine.field import FRESH, ON, PINNED, SLID
from reluflow.engine.layout import CLOCK, ORIGIN
from reluflow.engine.locate import LEFT, norm_q

NODES = 6  # of the Gauss rule, and coefficients of a polynomial
TAYLOR = 18
LOOKS = 10  # places at which a surface is looked at before its crossing is located
MOST = 400  # events of one neuron in one stretch

_x, _w = np.polynomial.legendre.leggauss(NODES)
AT, WEIGHT = 0.5 * (1.0 + _x), 0.5 * _w
LEGENDRE = np.polynomial.legendre.legvander(_x, NODES - 1).T.copy()  # [l, node]
FIT = np.linalg.inv(np.vander(AT, NODES, increasing=True))  # values at the nodes -> coefficients of x^i

DONE, BAD = 0, 1  # BAD: too long a stretch, or something only the coupled regime handles


@inner
def value(poly, k, x):
    """sum_i poly[i, k] x^i."""
    v = 0.0
    for i in range(NODES - 1, -1, -1):
        v = v * x + poly[i, k]
    return v


@inner
def series(beta, gamma, a0, A):
    """Taylor coefficients of a(x); returns whether they have died out at x = 1."""
    A[0] = a0
    for k in range(TAYLOR):
        total = 0.0
        for i in range(min(k, NODES - 1) + 1):
            if i == k:
                total += beta[i]
            p = k - i
            part = 0.0
            for l in range(min(p, NODES)):
                part += gamma[i, l] * A[p - 1 - l]
            if p > 0:
                total += part / p
        A[k + 1] = total / (k + 1)
    top = 0.0
    for k in range(TAYLOR + 1):
        top = max(top, abs(A[k]))
    return abs(A[TAYLOR]) + abs(A[TAYLOR - 1]) <= 1e-14 * top


@inner
def amounts(A, x, alpha):
    """Fills alpha with alpha_i(x) and returns a(x)."""
    for i in range(NODES):
        alpha[i] = 0.0
    power = 1.0
    a = A[0]
    for k in range(1, TAYLOR + 1):
        power *= x
        a += A[k] * power
        step = power / k
        for i in range(min(k, NODES)):
            alpha[i] += A[k - 1 - i] * step
    return a


@inner
def hold_coefficients(pk, st, j, C, V, along):
    """Gives the held surfaces of neuron j the coefficients nu that make V vanish there; expects V without them."""
    big = V.shape[1]
    count = st.slid[j]
    for i in range(NODES):
        for a in range(count):
            total = V[i, st.where[j, a]]
            for p in range(a):
                total -= st.tri[j, p, a] * along[p]
            along[a] = total / st.tri[j, a, a]
        for p in range(count - 1, -1, -1):
            total = -along[p]
            for a in range(p + 1, count):
                total -= st.tri[j, p, a] * C[i, st.where[j, a]]
            C[i, st.where[j, p]] = total / st.tri[j, p, p]
        for a in range(count):
            k = st.where[j, a]
            nu = C[i, k]
            for l in range(big):
                V[i, l] += nu * pk.gram[k, l]
        for a in range(count):
            V[i, st.where[j, a]] = 0.0


@inner
def surface_at(u, V, alpha, k):
    """<w, e_k> given the amounts."""
    v = u[k]
    for i in range(NODES):
        v += alpha[i] * V[i, k]
    return v


@inner
def look(A, length, table):
    """alpha_i and a at LOOKS + 1 equally spaced places, one row each."""
    for p in range(LOOKS + 1):
        table[p, NODES] = amounts(A, length * p / LOOKS, table[p])


@inner
def sided(mode, k, x, side, sp):
    """What must stay positive: the right side of surface k (mode 0) or the sign of a (mode 1)."""
    a = amounts(sp.A, x, sp.alpha)
    return side * (a if mode == 1 else surface_at(sp.u, sp.V, sp.alpha, k))


@inner
def holding(k, x, s, scale, held, noise, slope, pinned, sp):
    """The margin with which surface k is held at x."""
    margin, _ = slide.held_margin(
        s, value(sp.F, k, x), value(sp.C, k, x) - value(sp.B, k, x), scale, held, noise, slope, pinned
    )
    return margin


@inner
def probe(mode, k, x, side, scale, held, noise, slope, pinned, sp):
    return holding(k, x, side, scale, held, noise, slope, pinned, sp) if mode == 2 else sided(mode, k, x, side, sp)


@inner
def first_below(mode, k, length, grain, side, scale, held, noise, slope, pinned, sp):
    """Smallest x in [0, length] at which surface k is left on the wrong side by more than `grain` (mode 0), a has the
    wrong sign (1) or the hold is lost (2); 2 if there is none.

    Looks at LOOKS places, and between three that show a minimum.
    """
    lo, hi = 0.0, 2.0
    before, here = 0.0, 0.0
    for p in range(LOOKS + 1):
        x = length * p / LOOKS
        if mode == 2:
            there = holding(k, x, side, scale, held, noise, slope, pinned, sp)
        elif mode == 1:
            there = side * sp.table[p, NODES]
        else:
            there = side * surface_at(sp.u, sp.V, sp.table[p], k)
        if there < -grain:
            if p == 0:
                return 0.0
            lo, hi = length * (p - 1) / LOOKS, x
            break
        if p > 1 and here <= before and here <= there and here < 0.5 * (before + there):
            # How far below the lowest of the three a parabola through them goes; doubled to be safe.
            dip = (there - before) ** 2 / (16.0 * (there + before - 2.0 * here) + 1e-300)
            if here - 2.0 * dip - 0.1 * (there + before - 2.0 * here) < -grain:
                left, right = x - 2.0 * length / LOOKS, x
                a, b = right - 0.618 * (right - left), left + 0.618 * (right - left)
                fa = probe(mode, k, a, side, scale, held, noise, slope, pinned, sp)
                fb = probe(mode, k, b, side, scale, held, noise, slope, pinned, sp)
                for _ in range(24):
                    if min(fa, fb) < -grain:
                        break
                    if fa < fb:
                        right, b, fb = b, a, fa
                        a = right - 0.618 * (right - left)
                        fa = probe(mode, k, a, side, scale, held, noise, slope, pinned, sp)
                    else:
                        left, a, fa = a, b, fb
                        b = left + 0.618 * (right - left)
                        fb = probe(mode, k, b, side, scale, held, noise, slope, pinned, sp)
                if min(fa, fb) < -grain:
                    lo, hi = x - 2.0 * length / LOOKS, a if fa < fb else b
                    break
        before, here = here, there
    if hi > 1.0:
        return 2.0
    # False position with a bisection every third time: down to rounding in about ten turns.
    low = probe(mode, k, lo, side, scale, held, noise, slope, pinned, sp) + grain
    high = probe(mode, k, hi, side, scale, held, noise, slope, pinned, sp) + grain
    for turn in range(100):
        if hi - lo <= 4e-16:
            break
        x = lo + (hi - lo) * low / (low - high) if low > 0.0 else lo
        near = 0.02 * (hi - lo)
        x = 0.5 * (lo + hi) if turn % 3 == 2 else min(max(x, lo + 0.1 * near * near), hi - 0.1 * near * near)
        if not lo < x < hi:
            x = 0.5 * (lo + hi)
            if not lo < x < hi:
                break
        v = probe(mode, k, x, side, scale, held, noise, slope, pinned, sp) + grain
        if v < 0.0:
            hi, high = x, v
        else:
            lo, low = x, v
    return hi


@inner
def shift(poly, by):
    """Turns the coefficients of poly(x) into those of poly(by + x)."""
    for start in range(NODES - 1):
        for i in range(NODES - 2, start - 1, -1):
            for k in range(poly.shape[1]):
                poly[i, k] += by * poly[i + 1, k]


@inner
def advance_neuron(pk, st, j, C, alpha, a):
    """Moves q, b, c of neuron j by the amounts; the caller sets c's invariant straight."""
    m, big = st.bits.shape
    r = pk.e.shape[1]
    for k in range(big):
        theta = 0.0
        for i in range(NODES):
            theta += alpha[i] * C[i, k]
        if theta != 0.0:
            for i in range(r):
                st.y[j * r + i] += theta * pk.e[k, i]
    normalise(st, j, m, r, a)


@inner
def normalise(st, j, m, r, a):
    """Puts (q, a) e^c back on |q|^2 + b^2 = 2 and on the invariant a^2 - |w|^2; held surfaces are taken out of q."""
    at_b, at_c = m * r + j, m * r + m + j
    slide.project(st, st.y, j, r)
    size = a * a
    for i in range(j * r, (j + 1) * r):
        size += st.y[i] * st.y[i]
    size = np.sqrt(0.5 * size)
    c = st.y[at_c] + np.log(size)
    b = st.sign[j]
    if st.delta_sign[j] != 0.0:
        b = a / size
        if abs(b * b - 1.0) < 0.5:
            b = np.sign(b) * np.sqrt(max(0.0, 1.0 + 0.5 * st.delta_sign[j] * np.exp(st.delta_log[j] - 2.0 * c)))
        else:
            c = 0.5 * (st.delta_log[j] - np.log(2.0 * abs(b * b - 1.0)))
    st.y[at_b], st.y[at_c] = b, c
    norm = norm_q(st.y, j, r)
    if norm > 0.0:
        factor = np.sqrt(max(0.0, 2.0 - b * b)) / norm
        for i in range(j * r, (j + 1) * r):
            st.y[i] *= factor


@inner
def contribute(st, j, x0, length, sp, both, values, moments, energy):
    """Adds the neuron's outputs over a piece to `values` (at the nodes, if the piece is the whole stretch) or to the
    Legendre `moments`, and the energy it spends to `energy`. `both`: some surface has rows on both of its sides."""
    m, big = st.bits.shape
    V, A, gamma, alpha, on = sp.V, sp.A, sp.gamma, sp.alpha, sp.on
    size = np.exp(2.0 * st.y[st.y.size - 1 - m + j])
    if size == 0.0:
        return
    for k in range(big):
        live = 1.0 if (st.code[j, k] & 3) < SLID else 0.0
        on[0, k] = live * st.bits[j, k]
        on[1, k] = live
    whole = x0 == 0.0 and length == 1.0
    for node in range(NODES):
        x = length * AT[node]
        a = amounts(A, x, alpha)
        amp = size * a
        rate, power = 0.0, 1.0
        for k in range(1, TAYLOR + 1):
            rate += k * A[k] * power
            power *= x
        pull2, left = 0.0, 1.0
        for i in range(NODES):
            right = 1.0
            for l in range(NODES):
                pull2 += gamma[i, l] * left * right
                right *= x
            left *= x
        spent = size * (a * a * pull2 + rate * rate)
        for k in range(big):
            sp.here[k] = amp * sp.u[k]
        for i in range(NODES):
            step = amp * alpha[i]
            for k in range(big):
                sp.here[k] += step * V[i, k]
        if whole:
            energy[node] += spent
            for part in range(2 if both else 1):
                for k in range(big):
                    values[node, part, k] += on[part, k] * sp.here[k]
            continue
        z = 2.0 * (x0 + x) - 1.0
        before, here = 0.0, length * WEIGHT[node]
        for l in range(NODES):
            energy[NODES + l] += here * spent
            for part in range(2 if both else 1):
                for k in range(big):
                    moments[l, part, k] += here * on[part, k] * sp.here[k]
            before, here = here, ((2.0 * l + 1.0) * z * here - l * before) / (l + 1.0)


@inner
def trace(
    pk,
    st,
    j,
    clock,
    H,
    unit,
    u0,
    C0,
    V0,
    F0,
    B0,
    both,
    values,
    moments,
    energy,
    last_C,
    ends,
    hits,
    wk,
    noises,
    sp,
    ev,
    ci,
    cf,
):
    """Neuron j over the stretch [clock, clock + H] of the run's clock; DONE, or BAD.

    C0, V0 (NODES, S) belong to the bits at its start; F0, B0 (NODES, S) are the forces times H, `unit` their unit
    relative to wk.jump. What it adds to the outputs goes to `values` or `moments`. On return st holds the neuron at its
    last event, if it had one, and (last_C, ends) what remains to be added: q += sum_i ends[i] D_i, a = ends[NODES].
    """
    m, big = st.bits.shape
    r = pk.e.shape[1]
    C, V, F, B, u, A, alpha, beta, gamma = sp.C, sp.V, sp.F, sp.B, sp.u, sp.A, sp.alpha, sp.beta, sp.gamma
    bound, along, mark = sp.bound, sp.along, sp.mark
    for i in range(NODES):
        for k in range(big):
            C[i, k], V[i, k], F[i, k], B[i, k] = C0[i, k], V0[i, k], F0[i, k], B0[i, k]
    for k in range(big):
        u[k] = u0[k]
    if st.slid[j] > 0:
        hold_coefficients(pk, st, j, C, V, along)
    at_b = m * r + j
    x0 = 0.0
    hits[j] = 0
    for _turn in range(MOST):
        length = 1.0 - x0
        s = st.sign[j]
        for i in range(NODES):
            beta[i] = 0.0
            for k in range(big):
                beta[i] += C[i, k] * u[k]
            for l in range(i + 1):
                total = 0.0
                for k in range(big):
                    total += C[i, k] * V[l, k]
                gamma[i, l] = total
                gamma[l, i] = total
        if not series(beta, gamma, st.y[at_b], A):
            return BAD
        # How far anything can have moved.
        move = 0.0
        for i in range(NODES):
            bound[i] = 0.0
        power = 1.0
        for k in range(1, TAYLOR + 1):
            power *= length
            for i in range(min(k, NODES)):
                bound[i] += abs(A[k - 1 - i]) * power / k
        for i in range(NODES):
            move += bound[i] * np.sqrt(abs(gamma[i, i]))
        size = norm_q(st.y, j, r)
        looked = False
        x, hit, side = 2.0, -2, -1
        if st.delta_sign[j] != 0.0:
            reach = 0.0
            for k in range(1, TAYLOR + 1):
                reach += abs(A[k])
            if s * A[0] <= reach:
                look(A, length, sp.table)
                looked = True
                x = first_below(1, 0, length, 0.0, s, 1.0, 0.0, 0.0, pk.slope, False, sp)
                if x <= length:
                    hit = -1
        scale, held = 1e-300, 0.0
        for k in range(big):
            kind = st.code[j, k] & 3
            if kind >= SLID:
                held += abs(F[0, k]) + abs(B[0, k])
            else:
                scale += abs(C[0, k])
                if pk.slope == 1.0:
                    continue
                right = 1.0 if kind == ON else -1.0
                grain = 1e-13 * move
                if st.code[j, k] >= FRESH:
                    grain += 0.1 * LEFT * size
                away = right * u[k]
                if away < 0.0 and st.code[j, k] < FRESH:
                    u[k] = 0.0
                    away = 0.0
                far = 0.0
                for i in range(NODES):
                    far += bound[i] * abs(V[i, k])
                if away + grain > far:
                    continue
                if not looked:
                    look(A, length, sp.table)
                    looked = True
                found = first_below(0, k, length, grain, right, 1.0, 0.0, 0.0, pk.slope, False, sp)
                if found < x:
                    x, hit, side = found, k, -1
        for a in range(st.slid[j]):
            k = st.where[j, a]
            pinned = (st.code[j, k] & 3) == PINNED
            found = first_below(2, k, min(x, length), 0.0, s, scale, held, unit * noises[k], pk.slope, pinned, sp)
            if found < x:
                x, hit = found, k
                _, side = slide.held_margin(
                    s, value(F, k, x), value(C, k, x) - value(B, k, x), scale, held, unit * noises[k], pk.slope, pinned
                )
        if x > 0.0:
            contribute(st, j, x0, min(x, length), sp, both, values, moments, energy)
        if x > length:
            ends[NODES] = amounts(A, length, alpha)
            for i in range(NODES):
                ends[i] = alpha[i]
                for k in range(big):
                    last_C[i, k] = C[i, k]
            return DONE
        # The event: move there, decide, and set out anew.
        hits[j] += 1
        a = amounts(A, x, alpha)
        advance_neuron(pk, st, j, C, alpha, a)
        x0 += x
        cf[CLOCK] = clock + x0 * H
        for k in range(big):
            wk.jump[k] = value(F, k, x) / unit
            wk.base[k] = value(B, k, x) / unit
            mark[k] = slide.ABSENT
        unique = 1.0
        if hit == -1:
            st.sign[j] = -s
            st.y[at_b] = -s * 1e-300
            unique = 1.0 if st.slid[j] == 0 else 0.0
            record(ev, ci, cf, j, -1, slide.EV_SIGN, unique)
        elif side < 0 and st.slid[j] > 0 and norm_q(st.y, j, r) <= 1e-9 * size:
            return BAD
        changes = hit >= 0 or unique == 0.0
        speed = 0.0
        for i in range(NODES):
            speed = max(speed, np.sqrt(abs(gamma[i, i])))
        for k in range(big):
            kind = st.code[j, k] & 3
            if kind >= SLID:
                mark[k] = slide.HELD
                if k == hit and side == 0:
                    mark[k] = slide.FORCE_OFF
                elif k == hit and side == 1:
                    mark[k] = slide.FORCE_ON
                continue
            if pk.slope == 1.0:
                continue
            if k == hit:
                mark[k] = slide.FALLING if kind == ON else slide.RISING
            elif st.code[j, k] < FRESH:
                right = 1.0 if kind == ON else -1.0
                here = right * surface_at(u, V, alpha, k)
                if here <= SAME_INSTANT * size:
                    rate = 0.0
                    power = 1.0
                    for i in range(NODES):
                        rate += V[i, k] * power
                        power *= x
                    if right * a * rate < -1e-13 * speed:
                        mark[k] = slide.FALLING if kind == ON else slide.RISING
                        changes = True
        for k in range(big):
            sp.was[k] = st.code[j, k]
        if changes:
            settle_surfaces(pk, st, j, mark, wk, noises, ev, ci, cf, unique)
        if ci[ORIGIN] > 0:
            return BAD
        if st.dead[j] != 0:
            for i in range(NODES):
                ends[i] = 0.0
            ends[NODES] = st.sign[j]
            return DONE
        normalise(st, j, m, r, st.y[at_b])
        restart(pk, st, j, x, sp)
    return BAD


@inner
def restart(pk, st, j, x, sp):
    """Forces, coefficients and surfaces of neuron j from the event at x on."""
    big = st.bits.shape[1]
    r = pk.e.shape[1]
    C, V, F, B, u = sp.C, sp.V, sp.F, sp.B, sp.u
    shift(F, x)
    shift(B, x)
    shift(C, x)
    shift(V, x)
    for k in range(big):
        u[k] = 0.0
        for i in range(r):
            u[k] += st.y[j * r + i] * pk.e[k, i]
        live = (st.code[j, k] & 3) < SLID
        if live and (sp.was[k] & 3) == (st.code[j, k] & 3):
            continue
        for i in range(NODES):
            more = (st.bits[j, k] * F[i, k] + B[i, k] if live else 0.0) - C[i, k]
            C[i, k] += more
            if more != 0.0:
                for l in range(big):
                    V[i, l] += more * pk.gram[k, l]
    if st.slid[j] > 0:
        hold_coefficients(pk, st, j, C, V, sp.along)
        for a in range(st.slid[j]):
            u[st.where[j, a]] = 0.0
    size = norm_q(st.y, j, r)
    for k in range(big):
        if st.code[j, k] >= FRESH:
            right = 1.0 if (st.code[j, k] & 3) == ON else -1.0
            if right * u[k] > LEFT * size:
                st.code[j, k] -= FRESH
