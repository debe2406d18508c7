"""Standard runs of Boursier et al. and trajectories that break what is claimed of them. Written for tests alone."""

import dataclasses

import numpy as np

import reluflow as rf
from reluflow.papers.boursier2022._standard import SUBJECTS
from reluflow.replay import Replay

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
    sol = subject(name)
    problem = rf.Problem(rf.Data(sol.problem.data.x, np.array(y)), sol.problem.init)
    return rf.Solution(dataclasses.replace(sol.recording, problem=problem), sol.replay)


def shrunk(name=TWO, by=40.0):
    """A run whose neurons are all e^-`by` smaller than they were."""

    class Shrunk(Replay):
        def __init__(self, of):
            vars(self).update(vars(of))

        def split(self, y):
            q, b, c = super().split(y)
            return q, b, c - by

    sol = subject(name)
    return rf.Solution(sol.recording, Shrunk(sol.replay))


def five_points_flow(log_scale=-14.0, t1=200.0):
    return rf.solve(rf.Problem(rf.data.five_points(), rf.init.balanced(60, 2, log_scale=log_scale, seed=0)), t1=t1)
