"""The table of losses in compiled form: functions of a loss's code, made from the rows of `reluflow.losses`.

Kernels cannot take functions as arguments and still be kept on disk. So each formula becomes one function that chooses
by the code, written as text and compiled like any other kernel function.
"""

import linecache
from collections.abc import Iterable
from textwrap import indent

import numpy as np

from reluflow.engine._jit import inner
from reluflow.losses import LOSSES


@inner
def softplus(z):
    """log(1 + e^z) without overflow."""
    return max(z, 0.0) + np.log1p(np.exp(-abs(z)))


@inner
def log_softplus(z):
    """log log(1 + e^z) without underflow."""
    if z < -30.0:
        return z - 0.5 * np.exp(z)
    return np.log(softplus(z))


@inner
def positive(z):
    return max(z, 0.0)


NAMES = {
    "np": np,
    "inf": np.inf,
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "softplus": softplus,
    "log_softplus": log_softplus,
    "positive": positive,
}


def chosen(arguments: str, rows: Iterable[tuple[int, str]], body: str = "return {}") -> str:
    """The source of a function of (loss, arguments) from (code, formula); codes of one formula share a branch.

    A branch is `body` with the formula put in.
    """
    groups: dict[str, list[int]] = {}
    for code, text in rows:
        groups.setdefault(text, []).append(code)
    source = f"def chosen(loss{arguments}):\n"
    for text, codes in groups.items():
        source += f"    if {' or '.join(f'loss == {code}' for code in codes)}:\n"
        source += indent(body.format(text), " " * 8) + "\n"
    return source + "    return np.nan\n"


def _compiled(name: str, *parts):
    source, file = chosen(*parts), f"<losses: {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)  # for numba's messages
    scope = dict(NAMES)
    exec(compile(source, file, "exec"), scope)
    return inner(scope["chosen"])


SUM = """\
total = 0.0
for i in range(f_all.size):
    y, f = y_all[i], f_all[i]
    total += {}
return total"""

_ROWS = LOSSES.values()
_TAILS = [(row.code, row.tail) for row in _ROWS if row.tail is not None]

# Of (loss, c, y, f), c being the datum's weight times `factor`: c (-dl/df), c d^2 l/df^2.
force = _compiled("force", ", c, y, f", ((row.code, row.linear.force) for row in _ROWS))
curvature = _compiled("curvature", ", c, y, f", ((row.code, row.linear.curvature) for row in _ROWS))
# Of (loss, c, labels, outputs): the sum of c l.
total = _compiled("total", ", c, y_all, f_all", ((row.code, row.linear.value) for row in _ROWS), SUM)
# Of (loss, z), for losses with a tail: logarithms without c.
log_value = _compiled("log_value", ", z", ((code, tail.value) for code, tail in _TAILS))
log_force = _compiled("log_force", ", z", ((code, tail.force) for code, tail in _TAILS))
# Of (loss, s, z): s plus the logarithm of the curvature, summed from the left.
log_curvature = _compiled("log_curvature", ", s, z", ((code, tail.curvature) for code, tail in _TAILS), "return s + {}")
# Of (loss): whether it has an exponential tail; what multiplies its formulas; the margin at which its curvature jumps.
tailed = _compiled("tailed", "", ((row.code, repr(row.tailed)) for row in _ROWS))
factor = _compiled("factor", "", ((row.code, repr(row.factor)) for row in _ROWS))
kink = _compiled("kink", "", ((row.code, repr(row.kink)) for row in _ROWS))
