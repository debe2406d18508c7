"""Release from held surfaces with forces of each neuron's own, F_jk = <b_j, F_k>; the rest is `engine.surfaces`.

    v_k = <M_j' b_j, e_k>:   m_k = slope => v_k <= 0,   m_k = 1 => v_k >= 0,   slope < m_k < 1 => v_k = 0

A surface attracts when F_jk < 0. As F_jk rises to 0 its interval closes and the release to the on side comes first.
"""

from reluflow.engine._jit import inner
from reluflow.engine.field import DORMANT, PINNED, SLID
from reluflow.engine.surfaces import (
    FROM_ORIGIN,
    ROUND,
    Hold,
    dependent_margin,
    held_margin,
    multipliers,
    muted,
    rounding,
)
from reluflow.engine.vector.field import contract
from reluflow.engine.ways import GO, closed, few


@inner
def margins(problem, state, y, work, out):
    """How far the held surfaces are from release: (smallest margin, neuron, surface, side), every margin in `out`; see
    `engine.surfaces.margins`. Expects work at y."""
    rows, big = state.bits.shape
    worst, neuron, surface, side = 1.0, -1, -1, 0
    for j in range(rows):
        if state.dead[j] == DORMANT:
            contract(problem, state, y, work, j)
            out[j, 0] = closed(problem, work, 1.0, GO) if few(problem) else 1.0
            if out[j, 0] < worst:
                worst, neuron, surface, side = out[j, 0], j, -1, FROM_ORIGIN
        if state.slid[j] == 0 or state.dead[j] != 0:
            continue
        contract(problem, state, y, work, j)
        scale = 1e-300
        held, loose, codes = 0.0, 0.0, 0
        for s in range(big):
            if (state.code[j, s] & 3) < SLID:
                scale += abs(state.bits[j, s] * work.jump[s] + work.base[s])
                loose += rounding(problem, state, work, j, s)
            else:
                held += abs(work.jump[s]) + abs(work.base[s])
                codes += 1
        clear = 2.0 * ROUND * (scale + held) / scale
        if codes > state.slid[j]:
            margin, s = dependent_margin(problem, state, work, j, scale, ROUND * (scale + held) + loose)
            margin = muted(state, j, s, margin, clear)
            for a in range(state.slid[j]):
                out[j, state.where[j, a]] = margin
            if margin < worst:
                worst, neuron, surface, side = margin, j, s, 3
            continue
        multipliers(state, work, j)
        for a in range(state.slid[j]):
            s = state.where[j, a]
            out[j, s] = 1.0
            F = work.jump[s]
            need = work.nu[a] - work.base[s]
            if abs(F) <= 10.0 * work.noise[s]:
                continue
            pinned = (state.code[j, s] & 3) == PINNED
            margin, to = held_margin(F, need, Hold(1.0, scale, held, work.noise[s], loose, problem.slope, pinned))
            margin = muted(state, j, s, margin, clear)
            if F < 0.0 and not pinned:
                state.bits[j, s] = min(1.0, max(problem.slope, need / F))
            out[j, s] = margin
            if margin < worst:
                worst, neuron, surface, side = margin, j, s, to
    return worst, neuron, surface, side
