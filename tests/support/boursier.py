"""Standard runs of Boursier et al. and trajectories that break what is claimed of them. Written for tests alone."""

import copy

import numpy as np

import reluflow as rf
from reluflow.papers.boursier2022._standard import SUBJECTS
from reluflow.solution import Solution

TWO, ORTHONORMAL = "two points, 1e-60", "orthonormal, 1e-60"


def subject(name):
    return SUBJECTS[name]()


def check(name, on, **options):
    return rf.check(f"boursier2022.{name}", subject(on) if isinstance(on, str) else on, **options)


def verdicts(report):
    return [c.verdict for c in report.claims]


def claim(report, text):
    """The one claim whose text contains `text`."""
    (found,) = [c for c in report.claims if text in c.text]
    return found


def mislabelled(name=TWO, y=(2.0, -2.0)):
    """A run shown as that of other labels: a trajectory that is no flow of its problem."""
    broken = copy.copy(subject(name))
    for kept in ("_boursier2022", "_observed"):
        vars(broken).pop(kept, None)
    x = broken.problem.data.x
    broken.problem = rf.Problem(rf.Data(x, np.array(y)), broken.problem.init)
    return broken


def shrunk(name=TWO, by=40.0):
    """A run whose neurons are all e^-`by` smaller than they were."""

    class Shrunk(Solution):
        def _split(self, y):
            q, b, c = super()._split(y)
            return q, b, c - by

    broken = copy.copy(subject(name))
    for kept in ("_boursier2022", "_observed", "_looked", "log_norm"):
        vars(broken).pop(kept, None)
    broken.__class__ = Shrunk
    return broken


def five_points_flow(log_scale=-14.0, t1=200.0):
    return rf.solve(rf.Problem(rf.data.five_points(), rf.init.balanced(60, 2, log_scale=log_scale, seed=0)), t1=t1)
