"""Neurons of one cell with nearly the same direction: one (q, b) for all of them, to the bit, and the differences as
followers.

At a saddle the difference of two neurons of one cell grows at the rate sigma(M), and so does what rounding adds to it.
Neurons whose (q, b) are equal to the bit and whose cells are the same stay equal to the bit, so that rounding moves
them together, which is stable; their differences are linear, with log sizes of their own [vector_outputs, section 4].
"""

import numpy as np

from reluflow.engine._jit import inner
from reluflow.engine.field import copy, fill
from reluflow.engine.layout import weights
from reluflow.engine.vector.layout import pair

JOIN = 2.5e-8  # distance of (q, b) below which neurons are joined: rounding over it is an error of the difference, and
# so is its square over it, which linear followers leave out
SNAP = 4e-15  # distance that is rounding, where followers know the difference


@inner
def one_cell(state, i, j):
    """Whether two neurons have the same bits and are held on the same surfaces."""
    for s in range(state.code.shape[1]):
        if (state.code[i, s] & 3) != (state.code[j, s] & 3):
            return False
    return True


@inner
def balanced(state, c, j):
    """Whether |a|^2 - |w|^2 is below the rounding of neuron j, whose |q| and |b| are 1 then."""
    return state.defect_sign[j] == 0.0 or state.defect_log[j] - 2.0 * c[j] < -38.0


@inner
def distance(problem, state, i, j):
    """The distance of (q, b) of two neurons; 0 if and only if they are equal to the bit."""
    q, b = pair(problem, state.y, state.sign.size, i)
    p, a = pair(problem, state.y, state.sign.size, j)
    total, top = 0.0, 0.0
    for s in range(q.size):
        top = max(top, abs(q[s] - p[s]))
        total += (q[s] - p[s]) ** 2
    for o in range(b.size):
        top = max(top, abs(b[o] - a[o]))
        total += (b[o] - a[o]) ** 2
    return max(top, np.sqrt(total))


@inner
def leader(problem, state, j):
    """The largest neuron, larger than j, that j is to be joined with, and the distance; -1 if there is none."""
    _, c = weights(state.y, state.sign.size)
    best, least = -1, 0.0
    for i in range(problem.m):
        if i == j or state.dead[i] != 0 or not (c[i] > c[j] or (c[i] == c[j] and i < j)):
            continue
        if best >= 0 and c[i] <= c[best]:
            continue
        if balanced(state, c, i) and one_cell(state, i, j):
            gap = distance(problem, state, i, j)
            if gap < JOIN:
                best, least = i, gap
    return best, least


@inner
def known(problem, state, j):
    """Whether a follower of neuron j is not 0."""
    for p in range(problem.m + j, state.sign.size, problem.m):
        if state.lead[p] == j:
            q, b = pair(problem, state.y, state.sign.size, p)
            for i in range(q.size):
                if q[i] != 0.0:
                    return True
            for o in range(b.size):
                if b[o] != 0.0:
                    return True
    return False


@inner
def follow(problem, state, i, j):
    """Neuron j gets the (q, b) of neuron i; the difference is added to its follower in the last place."""
    rows = state.sign.size
    _, c = weights(state.y, rows)
    p = rows - problem.m + j
    q, b = pair(problem, state.y, rows, j)
    to, b_to = pair(problem, state.y, rows, i)
    more, b_more = pair(problem, state.y, rows, p)
    if state.lead[p] != j:
        state.lead[p] = j
        fill(more, 0.0)
        fill(b_more, 0.0)
        c[p] = c[j]
    old = np.exp(c[p] - c[j])
    total = 0.0
    for s in range(q.size):
        more[s] = old * more[s] + (q[s] - to[s])
        total += more[s] ** 2
    for o in range(b.size):
        b_more[o] = old * b_more[o] + (b[o] - b_to[o])
        total += b_more[o] ** 2
    size = np.sqrt(0.5 * total)
    if size > 0.0:
        for s in range(q.size):
            more[s] /= size
        for o in range(b.size):
            b_more[o] /= size
        c[p] = c[j] + np.log(size)


@inner
def gather(problem, state):
    """Joins neurons that have come near; whether any was."""
    rows = state.sign.size
    _, c = weights(state.y, rows)
    changed = False
    for j in range(problem.m):
        if state.dead[j] != 0 or not balanced(state, c, j):
            continue
        i, gap = leader(problem, state, j)
        if i < 0 or gap == 0.0:
            continue
        changed = True
        if gap > SNAP or not (known(problem, state, i) or known(problem, state, j)):
            follow(problem, state, i, j)
        q, b = pair(problem, state.y, rows, j)
        to, b_to = pair(problem, state.y, rows, i)
        copy(q, to)
        copy(b, b_to)
    return changed
