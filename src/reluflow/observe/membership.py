"""The cone of each neuron, and the sign of its output weight.

    S+ = {<x_i, w> > 0 exactly for y_i > 0},  S- = {<x_i, w> > 0 exactly for y_i < 0},  dead = {<x_i, w> <= 0 for all i}

Boundaries belong as written: <x_i, w> = 0 is not active. With no positive datum S+ is the dead cone.
"""

import numpy as np

from reluflow._checks import one_output
from reluflow.observe._view import view

CONES = ("S+", "S-", "dead")


def members(bits: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Membership from bits (..., n): (..., 3), in the order of `CONES`. A slid bit is on the surface: not active."""
    on = bits >= 1.0
    return np.stack([np.all(on == (y > 0), -1), np.all(on == (y < 0), -1), ~np.any(on, -1)], axis=-1)


def cones(sol, t=None, *, log_t=None):
    """True where a neuron is in a cone: dims cone, frame, neuron."""
    one_output(sol.problem, "`cones`", "read activation patterns with `rf.observe.patterns`")
    seen, y = view(sol, t, log_t), sol.problem.data.y
    inside = seen.reduce(lambda bits, _: members(bits, y))
    return seen.array(np.moveaxis(inside, -1, 0), ("cone", "frame", "neuron"), "cones", cone=list(CONES))


def groups(sol, t=None, *, log_t=None):
    """The name of each neuron's cone, "S+", "S-", "dead" or "none": dims frame, neuron."""
    inside = cones(sol, t, log_t=log_t)
    names = np.array(["none", *CONES])
    found = np.where(inside.values.any(axis=0), 1 + inside.values[::-1].argmax(axis=0), 0)
    found = np.where(found > 0, 4 - found, 0)  # the dead cone first, where it coincides with S+ or S-
    return view(sol, t, log_t).array(names[found], ("frame", "neuron"), "groups")


def signs(sol, t=None, *, log_t=None):
    """sign(a_j): the neurons with +1 are V+, those with -1 are V-: dims frame, neuron."""
    one_output(sol.problem, "`signs`", "a_j is a vector then: read its direction from `sol.a`")
    seen = view(sol, t, log_t)
    return seen.array(np.sign(seen.a), ("frame", "neuron"), "signs")
