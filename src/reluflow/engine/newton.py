"""Newton's method for the drive of a stretch, in the place of plain iteration: half the sweeps of `windows`.

When the forces change by d, the sums over neurons of a m u change at the rates K d, hence the outputs, hence the forces
by V d = -curve H int_0^x K d, and so on. K is that of the start of the stretch; the next sweep finds what it misses.
"""

import numpy as np

from reluflow.engine._jit import inner
from reluflow.engine.field import SLID, copy, datum_curvature, fill, times
from reluflow.engine.layout import weights
from reluflow.engine.tracer import INTO, NODES, add_multiple, add_rows, dot

TERMS = 20  # of the series
PIECE = 500_000_000  # multiplications of `find_kernel` between two looks at Ctrl-C
FAR = 3.0  # the fastest rate of the residuals times the length of a stretch, from which it is too long for polynomials


@inner
def curvature(problem, f, s, out):
    """What each F_k loses when the sum over neurons of a m u on its surface grows, by the outputs f."""
    fill(out, 0.0)
    for i in range(problem.alpha.size):
        out[problem.surf[i]] += problem.alpha[i] ** 2 * datum_curvature(problem, i, f[i], s)


@inner
def find_kernel(problem, window):
    """Some more rows of the kernel, see `rows_of_kernel`; True when there are no more, or none is used."""
    m, big = window.bits.shape
    stretch = window.stretch
    if window.kernel.size == 0 or stretch.both or stretch.known == big:
        return True
    if stretch.known == 0:
        find_factors(window)
    last = min(big, stretch.known + 1 + PIECE // (2 * m * big))
    rows_of_kernel(problem, window, stretch.known, last)
    stretch.known = last
    return last == big


@inner
def find_factors(window):
    """e^c m b and e^c m u of the neurons at the start of the stretch, 0 where one is held."""
    m, big = window.bits.shape
    b, c = weights(window.y, m)
    for j in range(m):
        size = np.exp(c[j]) if window.dead[j] == 0 else 0.0
        for k in range(big):
            on = size * window.bits[j, k] if (window.code[j, k] & 3) < SLID else 0.0
            window.root[j, k] = b[j] * on
            window.lift[j, k] = on * window.u0[j, k]


@inner
def rows_of_kernel(problem, window, first, last):
    """How fast the sums over neurons of a m u grow on each surface when forces act there, at the start of the stretch:

    K_kl = sum_j e^{2c} m_k m_l (b^2 <e_k, e_l> + u_k u_l),

    without what holds take away; rows first ... last - 1.
    """
    m, big = window.root.shape
    root, lift, column = window.root, window.lift, window.column
    for k in range(first, last):
        to = window.kernel[k]
        fill(to, 0.0)
        for j in range(m):
            column[j] = root[j, k]
        add_rows(column, root, to, window.rows)
        for i in range(big):
            to[i] *= problem.gram[k, i]
        for j in range(m):
            column[j] = lift[j, k]
        add_rows(column, lift, to, window.rows)


@inner
def improve(problem, window):
    """Adds to the forces what their change d in the last sweep changes in turn, V d + V^2 d + ... False if the stretch
    is too long. Expects the kernel.

    The i-th term is at most rate H / i times the one before: where it is more than FAR / i times, the rate was not
    known to be so fast, and the polynomials are wrong, although this converges where the plain iteration would not.
    """
    stretch, at, term, more = window.stretch, window.at, window.term, window.more
    big = term.shape[1]
    if window.kernel.size == 0 or stretch.both:
        return True
    before = 0.0
    for node in range(NODES):
        copy(term[node], window.new[node, 0])
        before = max(before, dot(term[node], term[node]))
    for i in range(1, TERMS + 1):
        times(term, window.kernel, more)
        largest = 0.0
        for node in range(NODES):
            to = term[node]
            fill(to, 0.0)
            for from_node in range(NODES):
                add_multiple(to, INTO[node, from_node], more[from_node])
            moved = 0.0
            for k in range(big):
                to[k] *= -stretch.H * window.curve[node, k]
                at[node, 0, k] += to[k]
                moved += to[k] ** 2
            largest = max(largest, moved)
        if stretch.H * np.sqrt(stretch.gram_norm * largest) <= 0.01 * stretch.rtol:
            break
        if i * i * largest > FAR * FAR * before:
            return False
        before = largest
    return True
