"""A neuron meets a surface, is released from one, or arrives at w = 0; decided by the kernels of one output, which see
the neuron's own forces <b_j, F_k>."""

from reluflow.engine import surfaces
from reluflow.engine._jit import inner
from reluflow.engine.events import mark_surfaces, settle_surfaces
from reluflow.engine.field import DORMANT, fill
from reluflow.engine.locate import norm_q
from reluflow.engine.origin import leave_origin
from reluflow.engine.vector.field import contract, noise


@inner
def at_event(problem, state, run, scratch, v):
    """Resolves everything that happens at this instant. What was located is step.neuron, step.surface, step.side.

    `v` is the velocity; work.size are the norms |q_j| at the start of the step. Expects work at the present state, with
    the bits from before.
    """
    r = problem.e.shape[1]
    step, work = scratch.step, scratch.work
    noise(problem, state, state.y, work)
    for j in range(state.sign.size):
        if state.dead[j] != 0:
            continue
        fill(work.mark, surfaces.ABSENT)
        if j == step.neuron and state.slid[j] > 0 and step.side < 0:
            # Held on all but one dimension, the neuron moves on a line, which meets other surfaces at w = 0 alone.
            if state.slid[j] == r - 1 or norm_q(state.y, j, r) <= 1e-9 * work.size[j]:
                run.origin = j + 1
                continue
        if mark_surfaces(problem, state, run, scratch, v, j):
            contract(problem, state, state.y, work, j)
            settle_surfaces(problem, state, run, work, j, 1.0)


@inner
def leave_dormancy(problem, state, run, work):
    """Dormant neurons at w = 0 go on when the drive opens a way."""
    r = problem.e.shape[1]
    for j in range(state.sign.size):
        if state.dead[j] == DORMANT:
            # A fixed direction off the axes, so that no surface of the data is singled out.
            for i in range(r):
                work.way[i] = 1.0 / (1.3 + i) - 0.37 * (i % 2)
            contract(problem, state, state.y, work, j)
            leave_origin(problem, state, run, work, j, work.way)
