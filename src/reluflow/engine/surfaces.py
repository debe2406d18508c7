"""What happens on activation surfaces: cross, slide (Filippov), let go. The only place that decides bits.

On the surfaces T of a neuron with sign s the bits m_k solve the box complementarity problem

    v_k = s <D, e_k>:   m_k = slope => v_k <= 0,   m_k = 1 => v_k >= 0,   slope < m_k < 1 => v_k = 0.

A surface attracts when s F_k < 0: there n_k = m_k |F_k| minimises (1/2) n'Gn - p'n over slope |F_k| <= n_k <= |F_k|,
which is a projection and unique. When s F_k > 0 both sides agree and the neuron crosses; starting on such a surface
is not unique and the bit stays off.

PINNED is a surface held with its bit at the slope because the velocity normal to it is zero to rounding (orthogonal
data): it counts as off.
"""

import numpy as np

from reluflow.engine._jit import APART, inner, making
from reluflow.engine.field import FRESH, OFF, ON, PINNED, SLID, SQUARE, fill

# How a surface came to be resolved.
ABSENT, FALLING, RISING, HELD, FORCE_OFF, FORCE_ON, AT_START = 0, 1, 2, 3, 4, 5, 6
# Kinds of events, in the order of `events.KINDS`.
EV_ON, EV_OFF, EV_SLIDE, EV_RELEASE_ON, EV_RELEASE_OFF, EV_DEAD, EV_SIGN, EV_ORIGIN = 0, 1, 2, 3, 4, 5, 6, 7

ROUND = 1e-13  # relative to the sum of the moduli of a neuron's surface forces


@inner
def out_of_held(st, j, r, z):
    """Projects z on the complement of the surfaces neuron j is held on."""
    for p in range(st.slid[j]):
        dot = 0.0
        for i in range(r):
            dot += st.basis[j, p, i] * z[i]
        for i in range(r):
            z[i] -= dot * st.basis[j, p, i]


@inner
def solve_spd(G, rhs, k):
    """Solves G x = rhs in place for the leading k rows; dependent rows get 0. Returns the smallest pivot."""
    smallest = 1.0
    for a in range(k):
        for b in range(a + 1):
            total = G[a, b]
            for p in range(b):
                total -= G[a, p] * G[b, p]
            if a == b:
                smallest = min(smallest, total)
                G[a, a] = np.sqrt(total) if total > 1e-13 else np.inf
            else:
                G[a, b] = total / G[b, b]
    for a in range(k):
        for p in range(a):
            rhs[a] -= G[a, p] * rhs[p]
        rhs[a] /= G[a, a]
    for a in range(k - 1, -1, -1):
        for p in range(a + 1, k):
            rhs[a] -= G[p, a] * rhs[p]
        rhs[a] /= G[a, a]
    return smallest


@inner
def noise(pk, y, m, r, wk, out):
    """Rounding error of the surface forces F_k, from the size of what was summed to get them. Expects wk at `y`."""
    total = 0.0
    for j in range(m):
        size = 0.0
        for i in range(r):
            size += y[j * r + i] ** 2
        total += wk.e2c[j] * abs(y[m * r + j]) * np.sqrt(size)
    fill(out, 0.0)
    for i in range(pk.alpha.size):
        a = abs(pk.alpha[i])
        if pk.loss == SQUARE:
            out[pk.surf[i]] += 1e-15 * pk.weight * a * (abs(pk.y[i]) + a * total)
        else:
            out[pk.surf[i]] += 1e-15 * a * abs(wk.g[i]) * (1.0 + a * total)


@inner
def held_margin(s, F, need, scale, held, noise, slope, pinned):
    """(margin, side) of one held surface with jump F whose bit would have to give the force `need`; see `margins`.

    `held` is the sum of the forces on held surfaces: `resolve` counts them as rounding, so a pinned surface is let go
    only above it, or it would be held again.
    """
    grain = ROUND * scale + 10.0 * noise
    if abs(F) <= 10.0 * noise:
        return 1.0, 0
    if s * F < 0.0:
        lo = -s * need - slope * abs(F)
        hi = abs(F) + s * need
        if pinned and lo > 2.0 * (grain + ROUND * held) and hi > 0.0:
            return -1e-300, 2
        return (min(lo, hi) + grain) / scale, 0 if lo < hi else 1
    # Pinned ones may stay while nothing pushes; a slid one has lost its hold.
    lost = abs(need - slope * F) if pinned else max(abs(need), abs(F))
    return (grain - lost) / scale, 3


@inner
def margins(pk, st, wk, noises, out):
    """How far the held surfaces are from letting go: (smallest margin, neuron, surface, side), every one in `out`.

    Sets the bits of slid surfaces on the way. A margin is relative to the neuron's forces; negative means release,
    to the
    off side (0), to the on side (1), from pinned to sliding (2), or to be resolved anew (3). Expects wk.free, wk.jump,
    wk.base of the state in question.
    """
    m, big = st.bits.shape
    r = pk.e.shape[1]
    worst, wj, wk_, wside = 1.0, -1, -1, 0
    nu = wk.nu
    for j in range(m):
        if st.slid[j] == 0 or st.dead[j] != 0:
            continue
        scale = 1e-300
        held = 0.0
        for p in range(big):
            if (st.code[j, p] & 3) < SLID:
                scale += abs(st.bits[j, p] * wk.jump[p] + wk.base[p])
            else:
                held += abs(wk.jump[p]) + abs(wk.base[p])
        # nu solves sum_a nu_a e_a = -(the part of the free pull along the held normals).
        count = st.slid[j]
        for p in range(count - 1, -1, -1):
            total = 0.0
            for i in range(r):
                total -= st.basis[j, p, i] * wk.free[j, i]
            for a in range(p + 1, count):
                total -= st.tri[j, p, a] * nu[a]
            nu[p] = total / st.tri[j, p, p]
        s = st.sign[j]
        for a in range(count):
            p = st.where[j, a]
            out[j, p] = 1.0
            F = wk.jump[p]
            need = nu[a] - wk.base[p]
            if abs(F) <= 10.0 * noises[p]:
                continue
            pinned = (st.code[j, p] & 3) == PINNED
            margin, side = held_margin(s, F, need, scale, held, noises[p], pk.slope, pinned)
            if s * F < 0.0 and not pinned:
                st.bits[j, p] = min(1.0, max(pk.slope, need / F))
            out[j, p] = margin
            if margin < worst:
                worst, wj, wk_, wside = margin, j, p, side
    return worst, wj, wk_, wside


@inner
def hold(pk, st, j):
    """Orthonormal basis of the normals neuron j is held on."""
    r = pk.e.shape[1]
    room = st.basis.shape[1]
    count = 0
    for k in range(st.code.shape[1]):
        if (st.code[j, k] & 3) < SLID:
            continue
        if count == room:
            break
        z = st.basis
        for i in range(r):
            z[j, count, i] = pk.e[k, i]
        for p in range(count):
            st.tri[j, p, count] = 0.0
        for _ in range(2):
            for p in range(count):
                dot = 0.0
                for i in range(r):
                    dot += z[j, p, i] * z[j, count, i]
                st.tri[j, p, count] += dot
                for i in range(r):
                    z[j, count, i] -= dot * z[j, p, i]
        size = 0.0
        for i in range(r):
            size += z[j, count, i] ** 2
        size = np.sqrt(size)
        if size > 1e-7:
            for i in range(r):
                z[j, count, i] /= size
            st.tri[j, count, count] = size
            st.where[j, count] = k
            count += 1
    st.slid[j] = count


@inner
def project(st, y, j, r):
    """Takes the held normals out of q_j."""
    for p in range(st.slid[j]):
        dot = 0.0
        for i in range(r):
            dot += st.basis[j, p, i] * y[j * r + i]
        for i in range(r):
            y[j * r + i] -= dot * st.basis[j, p, i]


@making
def box_qp(G, p, lower, upper, n):
    """Minimises (1/2) n'Gn - p'n over the box, starting from n.

    Principal pivoting: the coordinates that are free solve a linear system, those at a bound must be pushed against it;
    all that fail change places, one at a time once that stops helping (then it ends for certain, where G is definite).
    A few sweeps of Gauss-Seidel give the first guess, and many of them the answer if the pivots do not.
    """
    t = p.size
    for k in range(t):
        n[k] = min(upper[k], max(lower[k], n[k]))
    sweep_box(G, p, lower, upper, n, 2)
    if t == 1:
        return
    place, free = np.empty(t + APART, np.int64)[:t], np.empty(t + APART, np.int64)[:t]
    small, rhs = np.empty((t + APART, t))[:t], np.empty(t + APART)[:t]
    for k in range(t):
        place[k] = 2 if lower[k] < n[k] < upper[k] else (0 if n[k] == lower[k] else 1)
    best, patience = t + 1, 3
    for _ in range(20 + 4 * t):
        count = 0
        for k in range(t):
            if place[k] == 2:
                free[count] = k
                count += 1
            else:
                n[k] = lower[k] if place[k] == 0 else upper[k]
        for a in range(count):
            rhs[a] = p[free[a]]
            for l in range(t):
                if place[l] != 2:
                    rhs[a] -= G[free[a], l] * n[l]
            for b in range(count):
                small[a, b] = G[free[a], free[b]]
        if solve_spd(small, rhs, count) <= 1e-13:
            break
        for a in range(count):
            n[free[a]] = rhs[a]
        wrong, last = 0, -1
        for k in range(t):
            if fails(G, p, lower, upper, n, place, k) >= 0:
                wrong += 1
                last = k
        if wrong == 0:
            return
        if wrong < best:
            best, patience = wrong, 3
        else:
            patience -= 1
        for k in range(t):
            if k == last or patience > 0:
                to = fails(G, p, lower, upper, n, place, k)
                if to >= 0:
                    free[k] = to  # written down first: `fails` reads every place
                else:
                    free[k] = place[k]
            else:
                free[k] = place[k]
        for k in range(t):
            place[k] = free[k]
    for k in range(t):
        n[k] = min(upper[k], max(lower[k], n[k]))
    sweep_box(G, p, lower, upper, n, 2000)


@inner
def sweep_box(G, p, lower, upper, n, sweeps):
    """Projected Gauss-Seidel, until nothing changes or for `sweeps` rounds."""
    t = p.size
    for _ in range(sweeps):
        same = True
        for k in range(t):
            rest = p[k]
            for l in range(t):
                if l != k:
                    rest -= G[k, l] * n[l]
            rest = min(upper[k], max(lower[k], rest / G[k, k]))
            if rest != n[k]:
                same = False
            n[k] = rest
        if same:
            return


@inner
def fails(G, p, lower, upper, n, place, k):
    """Where coordinate k of `box_qp` should go instead (0 lower, 1 upper, 2 free), -1 if it is right where it is."""
    if lower[k] == upper[k]:
        return -1
    if place[k] == 2:
        grain = 1e-14 * max(abs(lower[k]), abs(upper[k]))
        if n[k] < lower[k] - grain:
            return 0
        return 1 if n[k] > upper[k] + grain else -1
    v, size = p[k], abs(p[k])
    for l in range(p.size):
        v -= G[k, l] * n[l]
        size += abs(G[k, l] * n[l])
    if (place[k] == 0 and v > 1e-14 * size) or (place[k] == 1 and v < -1e-14 * size):
        return 2
    return -1


@making
def resolve(pk, st, j, mark, wk, noises):
    """Decides the bits of neuron j on its marked surfaces; returns (unique?, distance from a bifurcation).

    Writes st.bits and st.code; the caller records events, then calls `hold`. Expects wk.jump, wk.base at the present
    state.
    """
    big = st.bits.shape[1]
    s = st.sign[j]
    t = 0
    for k in range(big):
        if mark[k] != ABSENT:
            t += 1
    T = np.empty(t + APART, np.int64)[:t]
    p, lower, upper, n, v = (
        np.empty(t + APART)[:t],
        np.empty(t + APART)[:t],
        np.empty(t + APART)[:t],
        np.empty(t + APART)[:t],
        np.empty(t + APART)[:t],
    )
    G = np.empty((t + APART, t))[:t]
    attract = np.empty(t + APART, np.int64)[:t]
    t = 0
    for k in range(big):
        if mark[k] != ABSENT:
            T[t] = k
            t += 1
    scale = 1e-300
    for a in range(t):
        p[a] = 0.0
    for k in range(big):
        coef = wk.base[k] + (st.bits[j, k] * wk.jump[k] if mark[k] == ABSENT else 0.0)
        scale += abs(coef) + (abs(wk.jump[k]) if mark[k] != ABSENT else 0.0)
        for a in range(t):
            p[a] += s * coef * pk.gram[T[a], k]
    grain = ROUND * scale
    # n is the force s m F along e_k with its sign turned, so that attracting surfaces have n = m |F| >= 0.
    for a in range(t):
        k = T[a]
        F = wk.jump[k]
        for b in range(t):
            G[a, b] = pk.gram[k, T[b]]
        # A jump below rounding decides nothing: such a surface is simply crossed.
        attract[a] = 1 if s * F < -(grain + 10.0 * noises[k]) else 0
        if attract[a] == 1 and mark[k] != FORCE_OFF and mark[k] != FORCE_ON:
            lower[a], upper[a] = pk.slope * abs(F), abs(F)
        else:
            on = mark[k] == RISING or mark[k] == FORCE_ON
            lower[a] = -s * F * (1.0 if on else pk.slope)
            upper[a] = lower[a]
        n[a] = max(lower[a], min(upper[a], st.bits[j, k] * abs(F)))
    unique = True
    if t > 1:
        L, rest = np.empty((t + APART, t))[:t], np.empty(t + APART)[:t]
        for a in range(t):
            rest[a] = 0.0
            for b in range(t):
                L[a, b] = G[a, b]
        if solve_spd(L, rest, t) < 1e-10:
            unique = False
    for _ in range(t + 1):
        box_qp(G, p, lower, upper, n)
        again = False
        for a in range(t):
            v[a] = p[a]
            for b in range(t):
                v[a] -= G[a, b] * n[b]
        for a in range(t):
            k = T[a]
            if attract[a] == 1:
                continue
            on_force = -s * wk.jump[k]
            on = n[a] == on_force and pk.slope < 1.0
            if on and v[a] < -grain and mark[k] != FORCE_ON:
                # Another surface met at the same instant turned the neuron round.
                lower[a] = upper[a] = pk.slope * on_force
                again = True
            elif not on and v[a] > grain and mark[k] != FORCE_OFF:
                lower[a] = upper[a] = on_force
                again = True
            elif not on and mark[k] >= HELD and abs(wk.jump[k]) > grain + 10.0 * noises[k]:
                # On a repelling surface: leaving with the bit on would be a solution too.
                if v[a] - G[a, a] * (1.0 - pk.slope) * on_force > grain:
                    unique = False
        if not again:
            break
    distance = 1.0
    for a in range(t):
        k = T[a]
        F = wk.jump[k]
        forced = mark[k] == FORCE_OFF or mark[k] == FORCE_ON
        bound = grain + 10.0 * noises[k]
        if attract[a] == 1 and not forced:
            low, high = n[a] - lower[a], upper[a] - n[a]
            if low > bound and high > bound:
                st.bits[j, k] = n[a] / abs(F)
                st.code[j, k] = SLID
                distance = min(distance, min(low, high) / scale)
                continue
            if low <= bound:
                st.bits[j, k] = pk.slope
                st.code[j, k] = PINNED if abs(v[a]) <= bound else OFF + FRESH
            else:
                st.bits[j, k] = 1.0
                st.code[j, k] = ON + FRESH
            if abs(v[a]) > bound:
                distance = min(distance, abs(v[a]) / scale)
            continue
        # Too small a jump is read off the way the neuron arrived, or is going.
        on = n[a] == -s * F if abs(F) > bound else (mark[k] == RISING or (mark[k] >= HELD and v[a] > bound))
        if forced:
            on = mark[k] == FORCE_ON
        st.bits[j, k] = 1.0 if on else pk.slope
        st.code[j, k] = (ON if on else OFF) + FRESH
        if not on and not forced and mark[k] >= HELD and abs(v[a]) <= bound:
            st.code[j, k] = PINNED
        if not forced and mark[k] != HELD and abs(F) > bound:
            distance = min(distance, abs(v[a]) / scale)
    return unique, distance


@inner
def change(old, new):
    """The event that takes a surface from one code to another; -1 for none."""
    a, b = old & 3, new & 3
    if a == b:
        return -1
    if b == ON:
        return EV_RELEASE_ON if a == SLID else EV_ON
    if b == SLID:
        return EV_SLIDE
    if a == SLID:
        return EV_RELEASE_OFF
    return EV_OFF if a == ON else -1


@inner
def is_dead(pk, st, j):
    """True when no datum can ever move neuron j again: every bit is 0 and no surface has rows on both sides."""
    if pk.slope > 0.0:
        return False
    for k in range(st.bits.shape[1]):
        kind = st.code[j, k] & 3
        if kind == ON or kind == SLID or pk.opposite[k] == 1:
            return False
    return True
