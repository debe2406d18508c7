"""Gradient flow and gradient descent of two-layer ReLU networks, at any scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reluflow._lazy import by_file, lazily

__version__ = "0.2.0"

# Public names and where they live; each is imported when first used, so that `import reluflow` is fast.
_MODULES = ("data", "init", "plot", "observe", "papers", "single", "population", "deep", "bias", "torch", "space")
_NAMES = by_file(
    data="Data",
    init="Params",
    problem="Problem ReLU LeakyReLU",
    methods="Flow SteppedFlow DecayLimit Descent Save Limits",
    compare="compare",
    limit="limit",
    confirm="confirm Confirmation",
    solution="Solution",
    outcome="Outcome SolveError",
    resume="resume",
    solve="solve",
    experiment="Experiment ExperimentError",
    store="load",
    claim="Claim Report",
    checking="check checker checks",
    certify="certify Certificate Refused",
    falsify="falsify",
    sweep="sweep",
    many="solve_many",
    torch="from_torch",
    explorer="show",
)

__all__ = ["__version__", *_MODULES, *_NAMES]

lazily(__name__, _NAMES, _MODULES)

if TYPE_CHECKING:
    from reluflow import bias as bias
    from reluflow import data as data
    from reluflow import deep as deep
    from reluflow import init as init
    from reluflow import observe as observe
    from reluflow import papers as papers
    from reluflow import plot as plot
    from reluflow import population as population
    from reluflow import single as single
    from reluflow import space as space
    from reluflow import torch as torch
    from reluflow.certify import Certificate as Certificate
    from reluflow.certify import Refused as Refused
    from reluflow.certify import certify as certify
    from reluflow.checking import check as check
    from reluflow.checking import checker as checker
    from reluflow.checking import checks as checks
    from reluflow.claim import Claim as Claim
    from reluflow.claim import Report as Report
    from reluflow.compare import compare as compare
    from reluflow.confirm import Confirmation as Confirmation
    from reluflow.confirm import confirm as confirm
    from reluflow.data import Data as Data
    from reluflow.experiment import Experiment as Experiment
    from reluflow.experiment import ExperimentError as ExperimentError
    from reluflow.explorer import show as show
    from reluflow.falsify import falsify as falsify
    from reluflow.init import Params as Params
    from reluflow.limit import limit as limit
    from reluflow.many import solve_many as solve_many
    from reluflow.methods import DecayLimit as DecayLimit
    from reluflow.methods import Descent as Descent
    from reluflow.methods import Flow as Flow
    from reluflow.methods import Limits as Limits
    from reluflow.methods import Save as Save
    from reluflow.methods import SteppedFlow as SteppedFlow
    from reluflow.outcome import Outcome as Outcome
    from reluflow.outcome import SolveError as SolveError
    from reluflow.problem import LeakyReLU as LeakyReLU
    from reluflow.problem import Problem as Problem
    from reluflow.problem import ReLU as ReLU
    from reluflow.resume import resume as resume
    from reluflow.solution import Solution as Solution
    from reluflow.solve import solve as solve
    from reluflow.store import load as load
    from reluflow.sweep import sweep as sweep
    from reluflow.torch import from_torch as from_torch
