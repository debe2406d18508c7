"""What happens on activation surfaces: a neuron crosses, slides (Filippov), is released. `resolve` decides all bits.

On the surfaces T of a neuron with sign s the bits m_k solve the box complementarity problem

    v_k = s <D, e_k>:   m_k = slope => v_k <= 0,   m_k = 1 => v_k >= 0,   slope < m_k < 1 => v_k = 0.

A surface attracts when s F_k < 0: there n_k = m_k |F_k| minimises (1/2) n'Gn - p'n over slope |F_k| <= n_k <= |F_k|,
which is a projection and unique. When s F_k > 0 both sides agree and the neuron crosses; starting on such a surface
is not unique and the bit stays off.

PINNED is a surface held with its bit at the slope because the velocity normal to it is zero to rounding (orthogonal
data): it counts as off.
"""

from typing import NamedTuple

import numpy as np

from reluflow.engine import bernstein
from reluflow.engine._jit import APART, glue, inner, making
from reluflow.engine.field import DORMANT, FRESH, OFF, ON, PINNED, SLID, fill
from reluflow.engine.layout import row, weights
from reluflow.engine.loss import tailed
from reluflow.engine.ways import GO, closed, few

# How a surface came to be resolved.
ABSENT, FALLING, RISING, HELD, FORCE_OFF, FORCE_ON, AT_START, RELEASE = 0, 1, 2, 3, 4, 5, 6, 7
# Kinds of events, in the order of `events.KINDS`.
EV_ON, EV_OFF, EV_SLIDE, EV_RELEASE_ON, EV_RELEASE_OFF, EV_DEAD, EV_SIGN, EV_ORIGIN = 0, 1, 2, 3, 4, 5, 6, 7
FROM_ORIGIN = 4  # the side of a release from w = 0

ROUND = 1e-13  # relative to the sum of the moduli of a neuron's surface forces
LABEL = 1e-9  # of |F|: a bit nearer to the slope counts as being there
ALLOW = 4.36  # times what the polynomial through the margins at the stages misses there, see `locate.REACH`


class Hold(NamedTuple):
    """What decides whether a neuron stays on a surface it is held on."""

    sign: float
    scale: float  # sum of the moduli of the neuron's forces on other surfaces
    held: float  # the same for the surfaces it is held on
    noise: float  # rounding error of the jump
    loose: float  # rounding error of the forces on other surfaces
    slope: float
    pinned: bool


class Watched(NamedTuple):
    """Places of a step at which release margins are known, and the polynomial through them (`bernstein`)."""

    rows: int
    fit: np.ndarray  # (8, rows) margins -> Bernstein coefficients
    back: np.ndarray  # (rows, 8) coefficients -> margins


class Box(NamedTuple):
    """The complementarity problem of one neuron on t surfaces, n = m |F| with the sign turned where they repel."""

    surface: np.ndarray  # (t,)
    attract: np.ndarray  # (t,) 1 where n is free within its bounds
    p: np.ndarray
    G: np.ndarray  # (t, t)
    lower: np.ndarray
    upper: np.ndarray
    n: np.ndarray
    v: np.ndarray  # p - G n, the normal velocities
    scale: float  # sum of the moduli of all forces
    grain: float  # rounding of the velocities
    loose: float  # rounding of the forces on other surfaces; added to grain where a surface is held already
    dependent: bool  # whether the normals depend on each other


@inner
def out_of_held(state, j, z):
    """Projects z on the complement of the surfaces neuron j is held on."""
    r = z.size
    for p in range(state.slid[j]):
        dot = 0.0
        for i in range(r):
            dot += state.basis[j, p, i] * z[i]
        for i in range(r):
            z[i] -= dot * state.basis[j, p, i]


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


@glue
def rounding(problem, state, work, j, k):
    """Rounding error of the force on surface k that acts on neuron j; where rows point both ways, one always acts."""
    return max(state.bits[j, k], float(problem.opposite[k])) * work.noise[k]


@inner
def noise(problem, state, y, work):
    """Fills work.noise: the rounding error of the forces F_k, from the sum of the moduli of what was added up to get
    them. Expects work at y."""
    m, big = state.bits.shape
    r = problem.e.shape[1]
    b, _ = weights(y, m)
    out, size = work.noise, work.acc[0]
    fill(size, 0.0)
    for j in range(m):
        amp = work.e2c[j] * abs(b[j])
        if amp == 0.0:
            continue
        q = row(y, j, r)
        for k in range(big):
            bit = 1.0 if problem.opposite[k] == 1 else state.bits[j, k]
            if bit > 0.0 and (state.code[j, k] & 3) < SLID:
                total = 0.0
                for i in range(r):
                    total += abs(q[i] * problem.e[k, i])
                size[k] += amp * bit * total
    fill(out, 0.0)
    for i in range(problem.alpha.size):
        k, a = problem.surf[i], abs(problem.alpha[i])
        if tailed(problem.loss):
            out[k] += 1e-15 * a * abs(work.g[i]) * (1.0 + a * size[k])
        else:
            out[k] += 1e-15 * problem.weight * a * (abs(problem.y[i]) + a * size[k])


@inner
def grain_of_hold(hold):
    """Forces on a held surface that are rounding."""
    return ROUND * (hold.scale + hold.held) + 10.0 * hold.noise + hold.loose


@inner
def held_margin(F, need, hold):
    """(margin, side) of one held surface with jump F whose bit would have to give the force `need`; see `margins`.

    `resolve` counts the forces on held surfaces as rounding, so a surface that is held by rounding is released only
    above twice that, or it would be held again.
    """
    s = hold.sign
    grain = grain_of_hold(hold)
    if F != 0.0 and abs(F) <= 10.0 * hold.noise:  # it is 0 beyond the kink of a loss, and holds nothing there
        return 1.0, 0
    if s * F < 0.0:
        lo = -s * need - hold.slope * abs(F)
        hi = abs(F) + s * need
        # Sliding with the bit at the slope is the same motion: the code changes when the bit is clearly above it.
        if hold.pinned and lo > 2.0 * grain + LABEL * abs(F) and hi > 0.0:
            return -1e-300, 2
        return (min(lo, hi) + grain) / hold.scale, 0 if lo < hi else 1
    # A slid surface that repels is released; on a pinned one the neuron stays while no force acts along it.
    lost = abs(need - hold.slope * F) if hold.pinned else max(abs(need), abs(F))
    return (2.0 * grain - lost) / hold.scale, 3


@inner
def multipliers(state, work, j):
    """Fills work.nu: sum_a nu_a e_a = -(the part of the free pull of neuron j along its held normals)."""
    r = work.free.shape[1]
    count = state.slid[j]
    nu = work.nu
    for p in range(count - 1, -1, -1):
        total = 0.0
        for i in range(r):
            total -= state.basis[j, p, i] * work.free[j, i]
        for a in range(p + 1, count):
            total -= state.tri[j, p, a] * nu[a]
        nu[p] = total / state.tri[j, p, p]


@making
def dependent_margin(problem, state, work, j, scale, grain):
    """(margin, surface) of neuron j held on surfaces whose normals depend on each other: it stays while some bits in
    the box keep its velocity along all of them at 0. Sets these bits; `grain` is the rounding of forces elsewhere."""
    big = state.bits.shape[1]
    r = problem.e.shape[1]
    s, t = state.sign[j], 0
    for k in range(big):
        if (state.code[j, k] & 3) >= SLID:
            t += 1
    surface, G = np.empty(t + APART, np.int64)[:t], np.empty((t + APART, t))[:t]
    p, n = np.empty(t + APART)[:t], np.empty(t + APART)[:t]
    lower, upper = np.empty(t + APART)[:t], np.empty(t + APART)[:t]
    t = 0
    for k in range(big):
        if (state.code[j, k] & 3) >= SLID:
            surface[t] = k
            t += 1
            grain += 10.0 * work.noise[k]
    for a in range(t):
        k = surface[a]
        F = work.jump[k]
        p[a] = 0.0
        for i in range(r):
            p[a] += s * work.free[j, i] * problem.e[k, i]
        for b in range(t):
            G[a, b] = problem.gram[k, surface[b]]
            p[a] += s * work.base[surface[b]] * G[a, b]
        attracts = s * F < -10.0 * work.noise[k]
        lower[a] = problem.slope * abs(F) if attracts else -s * F * problem.slope
        upper[a] = abs(F) if attracts else lower[a]
        n[a] = min(upper[a], max(lower[a], state.bits[j, k] * abs(F)))
    one_by_one(G, p, lower, upper, n)
    worst, where = 0.0, surface[0]
    for a in range(t):
        v = p[a]
        for b in range(t):
            v -= G[a, b] * n[b]
        if abs(v) > worst:
            worst, where = abs(v), surface[a]
        if lower[a] < upper[a]:
            state.bits[j, surface[a]] = min(1.0, max(problem.slope, n[a] / abs(work.jump[surface[a]])))
    return (2.0 * grain - worst) / scale, where


@inner
def muted(state, j, k, margin, clear):
    """The margin, or 1 for a surface that was released and held again at once (FRESH): it is tested again once it
    has held by more than `clear`."""
    if state.code[j, k] < FRESH:
        return margin
    if margin > clear:
        state.code[j, k] -= FRESH
    return 1.0


@inner
def held_count(state, j):
    """Release margins of neuron j: one for each surface it is held on, one while it rests at w = 0."""
    if state.dead[j] == DORMANT:
        return 1
    return state.slid[j] if state.dead[j] == 0 else 0


@inner
def holders(state, holds):
    """Fills `holds` with the neurons that have release margins; returns how many there are."""
    count = 0
    for j in range(state.sign.size):
        if held_count(state, j) > 0:
            holds[count] = j
            count += 1
    return count


@inner
def margins(problem, state, work, out):
    """How far the held surfaces are from release: (smallest margin, neuron, surface, side), every margin in `out`.

    Sets the bits of slid surfaces on the way. A margin is relative to the neuron's forces; negative means release, to
    the off side (0), to the on side (1), from pinned to sliding (2), to be resolved anew (3), or from w = 0
    (FROM_ORIGIN). Expects work.free, work.jump, work.base, work.noise of the state in question.
    """
    big = state.bits.shape[1]
    worst, neuron, surface, side = 1.0, -1, -1, 0
    last, way = 0.0, 1.0  # neurons of one sign leave w = 0 together
    for p in range(holders(state, work.holds)):
        j = work.holds[p]
        if state.dead[j] == DORMANT:
            if state.sign[j] != last and few(problem):
                last, way = state.sign[j], closed(problem, work, state.sign[j], GO)
            out[j, 0] = way
            if out[j, 0] < worst:
                worst, neuron, surface, side = out[j, 0], j, -1, FROM_ORIGIN
        if state.slid[j] == 0 or state.dead[j] != 0:
            continue
        scale = 1e-300
        held, loose, codes = 0.0, 0.0, 0
        for k in range(big):
            # Without a branch, which would be guessed wrong where every neuron is held on another surface.
            live = (state.code[j, k] & 3) < SLID
            scale += abs(state.bits[j, k] * work.jump[k] + work.base[k]) if live else 0.0
            loose += rounding(problem, state, work, j, k) if live else 0.0
            held += 0.0 if live else abs(work.jump[k]) + abs(work.base[k])
            codes += 0 if live else 1
        clear = 2.0 * ROUND * (scale + held) / scale
        if codes > state.slid[j]:
            margin, k = dependent_margin(problem, state, work, j, scale, ROUND * (scale + held) + loose)
            margin = muted(state, j, k, margin, clear)
            for a in range(state.slid[j]):
                out[j, state.where[j, a]] = margin
            if margin < worst:
                worst, neuron, surface, side = margin, j, k, 3
            continue
        multipliers(state, work, j)
        s = state.sign[j]
        for a in range(state.slid[j]):
            k = state.where[j, a]
            out[j, k] = 1.0
            F = work.jump[k]
            need = work.nu[a] - work.base[k]
            if F != 0.0 and abs(F) <= 10.0 * work.noise[k]:
                continue
            pinned = (state.code[j, k] & 3) == PINNED
            margin, to = held_margin(F, need, Hold(s, scale, held, work.noise[k], loose, problem.slope, pinned))
            margin = muted(state, j, k, margin, clear)
            if s * F < 0.0 and not pinned:
                state.bits[j, k] = min(1.0, max(problem.slope, need / F))
            out[j, k] = margin
            if margin < worst:
                worst, neuron, surface, side = margin, j, k, to
    return worst, neuron, surface, side


@inner
def watch(state, margin, to):
    """Copies the margins of all held surfaces into one row, the a-th of neuron j at j kmax + a."""
    room = state.where.shape[1]
    for j in range(state.sign.size):
        for a in range(held_count(state, j)):
            to[j * room + a] = margin[j, state.where[j, a]]


@inner
def fitted(held, column, fit, back, out):
    """Bernstein coefficients of the polynomial through the margins of a held surface at the stages (least squares);
    returns its largest miss there. `fit` gives the coefficients, `back` the values at the stages."""
    n = held.shape[0]
    for l in range(8):
        total = 0.0
        for p in range(n):
            total += fit[l, p] * held[p, column]
        out[l] = total
    miss = 0.0
    for p in range(n):
        total = 0.0
        for l in range(8):
            total += back[p, l] * out[l]
        miss = max(miss, abs(total - held[p, column]))
    return miss


@inner
def release_place(state, work, watched, j, a, hi):
    """Where in (0, hi] of a step the margin of the a-th held surface of neuron j may be negative; 0 if it cannot be.

    The margin is that of the polynomial through its values at the stages, give or take ALLOW times what the polynomial
    misses there. A pinned surface, whose margin is rounding by construction, counts by its values at the stages.
    """
    held, stack = work.held[: watched.rows], work.stack
    column = j * state.where.shape[1] + a
    if (state.code[j, state.where[j, a]] & 3) == PINNED and state.dead[j] == 0:
        for p in range(watched.rows):
            if held[p, column] < 0.0:
                return hi
        return 0.0
    miss = fitted(held, column, watched.fit, watched.back, stack[0])
    if hi < 1.0:
        bernstein.up_to(stack, hi)
    low = stack[0, 0]
    for l in range(8):
        low = min(low, stack[0, l])
    if low >= ALLOW * miss:
        return 0.0
    best, place = np.inf, 16
    for p in range(1, 17):
        v = bernstein.at(stack, 0, p / 16.0)
        if v < best:
            best, place = v, p
    # What the coefficients left open is excluded by the values of the polynomial, where these are far above its miss.
    if place < 16 and best > 0.5 * min(stack[0, 0], stack[0, 7]) and best >= ALLOW * miss:
        return 0.0
    return hi * place / 16.0


@inner
def none_released(state, work, watched):
    """Whether no held surface can have been released inside the step."""
    for j in range(state.sign.size):
        for a in range(held_count(state, j)):
            if release_place(state, work, watched, j, a, 1.0) > 0.0:
                return False
    return True


@inner
def depends(state, j):
    """Whether the normals that neuron j is held on depend on each other."""
    codes = 0
    for k in range(state.code.shape[1]):
        if (state.code[j, k] & 3) >= SLID:
            codes += 1
    return codes > state.slid[j] and state.slid[j] > 0


@inner
def hold(problem, state, j):
    """Orthonormal basis of the normals neuron j is held on."""
    r = problem.e.shape[1]
    room = state.basis.shape[1]
    count = 0
    for k in range(state.code.shape[1]):
        if (state.code[j, k] & 3) < SLID:
            continue
        if count == room:
            break
        z = state.basis
        for i in range(r):
            z[j, count, i] = problem.e[k, i]
        for p in range(count):
            state.tri[j, p, count] = 0.0
        for _ in range(2):
            for p in range(count):
                dot = 0.0
                for i in range(r):
                    dot += z[j, p, i] * z[j, count, i]
                state.tri[j, p, count] += dot
                for i in range(r):
                    z[j, count, i] -= dot * z[j, p, i]
        size = 0.0
        for i in range(r):
            size += z[j, count, i] ** 2
        size = np.sqrt(size)
        if size > 1e-7:
            for i in range(r):
                z[j, count, i] /= size
            state.tri[j, count, count] = size
            state.where[j, count] = k
            count += 1
    state.slid[j] = count


@inner
def project(problem, state, y, j):
    """Takes the held normals out of the q_j of y."""
    r = problem.e.shape[1]
    q = row(y, j, r)
    for p in range(state.slid[j]):
        dot = 0.0
        for i in range(r):
            dot += state.basis[j, p, i] * q[i]
        for i in range(r):
            q[i] -= dot * state.basis[j, p, i]


@making
def box_qp(G, p, lower, upper, n):
    """Minimises (1/2) n'Gn - p'n over the box, starting from n.

    Principal pivoting: the coordinates that are free solve a linear system, those at a bound must be pushed against it;
    all that fail change places, one at a time once that stops helping (then it ends for certain, where G is definite).
    A few sweeps of Gauss-Seidel give the first guess; where G is singular `one_by_one` gives the answer.
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
    one_by_one(G, p, lower, upper, n)


@inner
def most_pushed(G, p, lower, upper, n, free):
    """The coordinate at a bound that is pushed hardest away from it, -1 if none is."""
    worst, who = 0.0, -1
    for k in range(p.size):
        if free[k] == 1 or lower[k] == upper[k]:
            continue
        v, size = p[k], abs(p[k])
        for l in range(p.size):
            v -= G[k, l] * n[l]
            size += abs(G[k, l] * n[l])
        push = v if n[k] == lower[k] else -v
        if push > 1e-14 * size and push > worst:
            worst, who = push, k
    return who


@making
def one_by_one(G, p, lower, upper, n):
    """`box_qp` where normals may depend on each other, by the active sets of Lawson and Hanson.

    All coordinates start at a bound; the one pushed hardest away from its bound is freed, the free ones are solved for,
    and those that would leave the box are stopped at it. A coordinate that depends on the free ones is not pushed, so
    that the free ones stay independent, and no set comes back.
    """
    t = p.size
    free, kept = np.zeros(t + APART, np.int64)[:t], np.empty(t + APART, np.int64)[:t]
    small, rhs = np.empty((t + APART, t))[:t], np.empty(t + APART)[:t]
    for k in range(t):
        n[k] = lower[k] if abs(n[k] - lower[k]) <= abs(upper[k] - n[k]) else upper[k]
    for _ in range(10 * t + 20):
        who = most_pushed(G, p, lower, upper, n, free)
        if who < 0:
            return
        free[who] = 1
        while True:
            count = 0
            for k in range(t):
                if free[k] == 1:
                    kept[count] = k
                    count += 1
            for a in range(count):
                rhs[a] = p[kept[a]]
                for l in range(t):
                    if free[l] == 0:
                        rhs[a] -= G[kept[a], l] * n[l]
                for b in range(count):
                    small[a, b] = G[kept[a], kept[b]]
            if solve_spd(small, rhs, count) <= 1e-13:
                # Pushed by rounding alone: it depends on the others.
                free[who] = 0
                return
            way, stop = 1.0, -1
            for a in range(count):
                k = kept[a]
                to = lower[k] if rhs[a] < lower[k] else upper[k]
                if (rhs[a] < lower[k] or rhs[a] > upper[k]) and (to - n[k]) / (rhs[a] - n[k]) < way:
                    way, stop = (to - n[k]) / (rhs[a] - n[k]), a
            for a in range(count):
                n[kept[a]] += way * (rhs[a] - n[kept[a]])
            if stop < 0:
                break
            k = kept[stop]
            n[k] = lower[k] if rhs[stop] < lower[k] else upper[k]
            free[k] = 0


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
def independent(G):
    """Whether the normals with Gram matrix G are linearly independent."""
    t = G.shape[0]
    if t <= 1:
        return True
    L, rest = np.empty((t + APART, t))[:t], np.empty(t + APART)[:t]
    for a in range(t):
        rest[a] = 0.0
        for b in range(t):
            L[a, b] = G[a, b]
    return not solve_spd(L, rest, t) < 1e-10


@making
def gather(problem, state, work, j):
    """The complementarity problem of neuron j on its marked surfaces."""
    big = state.bits.shape[1]
    s, mark = state.sign[j], work.mark
    t = 0
    for k in range(big):
        if mark[k] != ABSENT:
            t += 1
    surface, attract = np.empty(t + APART, np.int64)[:t], np.empty(t + APART, np.int64)[:t]
    p, lower, upper = np.empty(t + APART)[:t], np.empty(t + APART)[:t], np.empty(t + APART)[:t]
    n, v, G = np.empty(t + APART)[:t], np.empty(t + APART)[:t], np.empty((t + APART, t))[:t]
    t = 0
    for k in range(big):
        if mark[k] != ABSENT:
            surface[t] = k
            t += 1
    scale, loose = 1e-300, 0.0
    for a in range(t):
        p[a] = 0.0
    for k in range(big):
        if mark[k] == ABSENT:
            loose += rounding(problem, state, work, j, k)
        coef = work.base[k] + (state.bits[j, k] * work.jump[k] if mark[k] == ABSENT else 0.0)
        scale += abs(coef) + (abs(work.jump[k]) if mark[k] != ABSENT else 0.0)
        for a in range(t):
            p[a] += s * coef * problem.gram[surface[a], k]
    grain = ROUND * scale
    # n is the force s m F along e_k with its sign turned, so that attracting surfaces have n = m |F| >= 0.
    for a in range(t):
        k = surface[a]
        F = work.jump[k]
        for b in range(t):
            G[a, b] = problem.gram[k, surface[b]]
        # A jump of the force below rounding does not attract, except where the neuron returns at once.
        returns = mark[k] < HELD and state.code[j, k] >= FRESH
        least = 0.0 if returns else grain + 10.0 * work.noise[k]
        attract[a] = 1 if s * F * (1.0 - problem.slope) < -least else 0
        if attract[a] == 1 and mark[k] != FORCE_OFF and mark[k] != FORCE_ON:
            lower[a], upper[a] = problem.slope * abs(F), abs(F)
        else:
            on = mark[k] == RISING or mark[k] == FORCE_ON
            lower[a] = -s * F * (1.0 if on else problem.slope)
            upper[a] = lower[a]
        n[a] = max(lower[a], min(upper[a], state.bits[j, k] * abs(F)))
    return Box(surface, attract, p, G, lower, upper, n, v, scale, grain, loose, not independent(G))


@inner
def turn_round(problem, state, work, j, box):
    """Gives repelling surfaces the bit that fits the velocity at the solution: (whether one changed, unique?)."""
    s, mark = state.sign[j], work.mark
    again, unique = False, True
    for a in range(box.surface.size):
        k = box.surface[a]
        if box.attract[a] == 1:
            continue
        on_force = -s * work.jump[k]
        on = box.n[a] == on_force and problem.slope < 1.0
        if on and box.v[a] < -box.grain and mark[k] != FORCE_ON:
            # Another surface met at the same instant turned the neuron round.
            box.lower[a] = box.upper[a] = problem.slope * on_force
            again = True
        elif not on and box.v[a] > box.grain and mark[k] != FORCE_OFF:
            box.lower[a] = box.upper[a] = on_force
            again = True
        elif not on and mark[k] >= HELD and abs(work.jump[k]) > box.grain + 10.0 * work.noise[k]:
            # On a repelling surface: leaving with the bit on would be a solution too.
            if box.v[a] - box.G[a, a] * (1.0 - problem.slope) * on_force > box.grain:
                unique = False
    return again, unique


@inner
def attracted(problem, state, work, j, box, a):
    """Bit and code of an attracting surface from its force; returns the distance from the other outcome.

    Where normals depend on each other the forces are not unique, only the velocity is: a surface is held when that is
    zero along it.
    """
    k = box.surface[a]
    bound = box.grain + 10.0 * work.noise[k]
    low, high = box.n[a] - box.lower[a], box.upper[a] - box.n[a]
    # Let go with a bit of 1 to rounding and back at once: held, until its bit would have to be clearly above 1.
    back = work.mark[k] == FALLING and state.code[j, k] == ON + FRESH
    # A normal velocity within the rounding of the other forces does not take it off a surface that holds it.
    stays = work.mark[k] == HELD and abs(box.v[a]) <= bound + box.loose
    if low > bound and (high > bound or back or stays or (box.dependent and abs(box.v[a]) <= bound)):
        state.bits[j, k] = min(1.0, box.n[a] / abs(work.jump[k]))
        state.code[j, k] = SLID
        return 1.0 if box.dependent or (stays and high <= bound) else min(low, high) / box.scale
    if low <= bound and box.v[a] <= bound:
        state.bits[j, k] = problem.slope
        state.code[j, k] = PINNED if stays or abs(box.v[a]) <= bound else OFF + FRESH
    else:
        state.bits[j, k] = 1.0
        state.code[j, k] = ON + FRESH
    return abs(box.v[a]) / box.scale if abs(box.v[a]) > bound and not stays else 1.0


@inner
def crossed(problem, state, work, j, box, a):
    """Bit and code of a repelling, a negligible or a forced surface; returns the distance from the other outcome."""
    k = box.surface[a]
    mark = work.mark[k]
    F, v = work.jump[k], box.v[a]
    bound = box.grain + 10.0 * work.noise[k]
    least = bound + (box.loose if mark == HELD else 0.0)
    forced = mark == FORCE_OFF or mark == FORCE_ON
    # Too small a jump is read off the way the neuron arrived, or is going.
    on = box.n[a] == -state.sign[j] * F if abs(F) > bound else (mark == RISING or (mark >= HELD and v > least))
    if forced:
        on = mark == FORCE_ON
    state.bits[j, k] = 1.0 if on else problem.slope
    state.code[j, k] = (ON if on else OFF) + FRESH
    if not on and not forced and mark >= HELD and abs(v) <= least:
        state.code[j, k] = PINNED
    return abs(v) / box.scale if not forced and mark != HELD and abs(F) > bound else 1.0


@making
def resolve(problem, state, work, j):
    """Decides the bits of neuron j on the surfaces in work.mark: (unique?, distance from a bifurcation, on which).

    Writes state.bits and state.code; the caller records events, then calls `hold`. Expects work.jump, work.base,
    work.noise at the present state.
    """
    box = gather(problem, state, work, j)
    t = box.surface.size
    # Where all surfaces attract, the velocity is the element of least norm of a convex set, dependent or not.
    unique = True
    for a in range(t):
        unique = unique and not (box.dependent and box.attract[a] == 0)
    for _ in range(t + 1):
        box_qp(box.G, box.p, box.lower, box.upper, box.n)
        for a in range(t):
            box.v[a] = box.p[a]
            for b in range(t):
                box.v[a] -= box.G[a, b] * box.n[b]
        again, sure = turn_round(problem, state, work, j, box)
        unique = unique and sure
        if not again:
            break
    distance, where = 1.0, -1
    for a in range(t):
        mark = work.mark[box.surface[a]]
        if box.attract[a] == 1 and mark != FORCE_OFF and mark != FORCE_ON:
            here = attracted(problem, state, work, j, box, a)
        else:
            here = crossed(problem, state, work, j, box, a)
        if here < distance:
            distance, where = here, box.surface[a]
    return unique, distance, where


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
def is_dead(problem, state, j):
    """True when no datum can ever move neuron j again: every bit is 0 and no surface has rows on both sides."""
    if problem.slope > 0.0:
        return False
    for k in range(state.bits.shape[1]):
        kind = state.code[j, k] & 3
        if kind == ON or kind == SLID or problem.opposite[k] == 1:
            return False
    return True
