r"""Gaussian inputs: a student learns a teacher on the whole law of x, by closed forms.

    teacher = rf.Params([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [1.0, 0.6])
    problem = rf.population.Problem(teacher, rf.init.balanced(width=10, dim=3, log_scale=-1000.0, seed=0))
    sol = rf.population.solve(problem, rf.Flow(), t1=4000.0)

f(x) = sum_j a_j s(<w_j, x>), L = E (f - f*)^2 / 2 with x ~ N(0, I), or any spherically symmetric law. One student and
one teacher are `rf.single` with m = 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reluflow._lazy import by_file, lazily

_NAMES = by_file(
    problem="Problem from_overlaps",
    solve="solve",
    solution="Solution",
    store="load",
    landscape="stationary Point spurious",
    samples="compare",
    sweep="sweep",
)

__all__ = list(_NAMES)

lazily(__name__, _NAMES)

if TYPE_CHECKING:
    from reluflow.population.landscape import Point as Point
    from reluflow.population.landscape import spurious as spurious
    from reluflow.population.landscape import stationary as stationary
    from reluflow.population.problem import Problem as Problem
    from reluflow.population.problem import from_overlaps as from_overlaps
    from reluflow.population.samples import compare as compare
    from reluflow.population.solution import Solution as Solution
    from reluflow.population.solve import solve as solve
    from reluflow.population.store import load as load
    from reluflow.population.sweep import sweep as sweep
