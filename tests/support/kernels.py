"""The engine's modules as plain Python, so that a test can call the functions inside the compiled kernels."""

import importlib
import sys
from types import SimpleNamespace

import numba
import numpy as np

import reluflow
from reluflow import Problem

MODULES = """layout tableau field bernstein ways surfaces locate explicit implicit events origin frozen rare tracer
kinks newton windows coupled landing stiff pack""".split()


def plain_engine() -> SimpleNamespace:
    """A second copy of the engine, imported with compilation switched off."""
    importlib.import_module("reluflow.engine")
    compiled = {name: module for name, module in sys.modules.items() if name.startswith("reluflow.engine")}
    package, switched = reluflow.engine, numba.config.DISABLE_JIT
    for name in compiled:
        del sys.modules[name]
    numba.config.DISABLE_JIT = 1
    try:
        return SimpleNamespace(**{name: importlib.import_module(f"reluflow.engine.{name}") for name in MODULES})
    finally:
        numba.config.DISABLE_JIT = switched
        for name in [n for n in sys.modules if n.startswith("reluflow.engine")]:
            del sys.modules[name]
        sys.modules.update(compiled)
        reluflow.engine = package


def start(engine: SimpleNamespace, problem: Problem) -> SimpleNamespace:
    """A problem at t = 0 as the kernels see it: packed, state, run, work, scratch; bits decided, velocity at hand."""
    packed, _, first = engine.pack.pack(problem, engine.pack.Units())
    (m, r), surfaces, n = first.q.shape, packed.e.shape[0], packed.alpha.size
    state, run = engine.layout.new_state(first, surfaces), engine.layout.record(engine.layout.RUN)
    run.rtol, run.end, run.nearest = 1e-8, np.inf, 1.0
    work = engine.layout.new_work(m, r, surfaces, n)
    scratch = engine.layout.new_scratch(work, state.y.size)
    with np.errstate(all="ignore"):
        engine.rare.at_start(packed, state, run, work, scratch.y1)
        scratch.K[0] = 0.0
        run.G = engine.explicit.velocity(packed, state, state.y, 0.0, scratch.K[0], work)
        engine.surfaces.noise(packed, state, state.y, work)
    return SimpleNamespace(problem=packed, state=state, run=run, work=work, scratch=scratch)


def asked(engine: SimpleNamespace, one: SimpleNamespace, span: np.record, t: float):
    """What a jump of `one` from 0 to time t asks for."""
    layout, size = engine.layout, one.state.code.size
    there = (np.array([t]), np.array([t]), np.zeros(1, np.int64))
    instants = layout.Instants(np.zeros(1), *there, np.empty((1, one.state.y.size)), np.empty((1, size)))
    return layout.Asked(span, instants, None)
