"""`rf.certify`: from a problem to a theorem about its gradient flow."""

import math
from collections.abc import Callable
from fractions import Fraction

from reluflow._checks import plainly
from reluflow._checks import shown as printed
from reluflow._progress import of_proof, shown
from reluflow.certify.certificate import Certificate
from reluflow.problem import Problem

LATEST = 1e300  # the largest t1


def moment(t1: str) -> Fraction:
    """A time as the decimal or the fraction that it is written as."""
    try:
        usable = "/" in t1 or 1 / LATEST <= float(t1) <= LATEST  # 1e9999999 has ten million digits
        found = Fraction(t1 if usable else 0)
    except (ValueError, ZeroDivisionError):
        found = Fraction(0)
    if not 0 < found <= LATEST:
        raise ValueError(f"`t1` must be a positive number or fraction up to 1e300, got {plainly(t1, 60)}: try 30.")
    return found


def certify(
    problem,
    t1=None,
    *,
    log_t1: float | None = None,
    digits: int = 40,
    every_scale_below: bool = False,
    latest: float = 2000.0,
    progress: Callable | bool | None = None,
) -> Certificate:
    """A theorem about the gradient flow of `problem`, proved in ball arithmetic.

    With `t1` (a number, or a decimal as text) or `log_t1`: all events up to that time, and enclosures of outputs, loss
    and norm there. Without: all events for ever, convergence, and an enclosure of the limit, to be found by the time
    `latest`. `every_scale_below` states it for every scale up to e^log_scale at once. Numbers of the problem are read
    as the decimals that print them and taken exactly; `digits` is the precision to begin with, doubled up to three
    times. Covers balanced ReLU neurons, small problems (say 10 neurons, 6 data), square loss, and logistic loss up to
    a time. Raises `Refused`, with place and reason, where no proof was found.

    An event takes about 0.1 s at 10 neurons and 6 data, 0.5 s at 40 and 30, 2 s at 80 and 60, where a run has
    thousands. `progress=True` shows the time reached and the events proved, a function is told them; left out, they
    are shown after two seconds at a prompt or in a notebook.
    """
    if not isinstance(problem, Problem):
        raise TypeError(
            f"`problem` must be an rf.Problem, got {printed(problem)}: for instance `rf.Problem(data, init)`."
        )
    if t1 is not None and log_t1 is not None:
        raise ValueError("`certify` takes `t1` or `log_t1`, not both: leave one out.")
    if log_t1 is not None:
        t1 = float(f"{math.exp(min(log_t1, 700.0)):.12g}")
    t1 = t1 if t1 is None or isinstance(t1, str) else repr(float(t1))
    if t1 is not None:
        moment(t1)
    if digits < 15:
        raise ValueError(f"`digits` must be at least 15, got {digits}: try 40.")
    from reluflow.certify.proof import proved

    with shown(progress, of_proof) as tell:
        return Certificate(proved(problem, t1, digits, every_scale_below, latest, tell))
