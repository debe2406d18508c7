"""Jumps over phases of constant residual: states on their way."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.drive import exact, loop

ROWS = 3  # of an event log that one neuron's events just fit in


class Tight(exact.Machine):
    """A machine whose jumps have next to no room for events."""

    def jump_through(self, times):
        scratch, room = self.scratch, np.empty((ROWS, 5))
        self.scratch = scratch._replace(work=scratch.work._replace(log=room))
        try:
            return super().jump_through(times)
        finally:
            self.scratch = scratch


def recorded(problem, t1, kind=exact.Machine, most=None, frames=1000):
    machine = kind(problem, 1e-6, t1)
    machine.most = machine.most if most is None else most
    return loop.run(machine, rf.Save(frames=frames), rf.Limits(), None, loop.Stops())


def same(one, two):
    marks, others = one.tape.checkpoints(), two.tape.checkpoints()
    pairs = [*zip(marks[0], others[0], strict=True), (marks[1], others[1])]
    events = one.tape.all_events(), two.tape.all_events()
    return all(np.array_equal(a, b) for a, b in [*pairs, events])


@pytest.mark.parametrize(
    "name, loss", [("two_points", "square"), ("five_points", "square"), ("toy_plane", "exponential")]
)
def test_a_jump_in_pieces_or_with_a_full_log_of_events_is_the_same(name, loss):
    data = getattr(rf.data, name)()
    problem = rf.Problem(data, rf.init.balanced(20, data.d, log_scale=-40.0, seed=3), loss=loss)
    t1 = 5.0 if loss == "exponential" else 200.0
    whole = recorded(problem, t1)
    assert whole.costs.regimes["jumps"] > 0
    assert whole.costs.regimes["jump_events"] > ROWS
    for other in (recorded(problem, t1, most=1), recorded(problem, t1, most=4), recorded(problem, t1, Tight)):
        assert same(whole, other)
        assert other.costs == whole.costs


def test_a_jump_that_does_not_fit_is_thinned_as_if_its_states_came_one_by_one():
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(20, 2, log_scale=-40.0, seed=3))
    whole = recorded(problem, 200.0)
    few = recorded(problem, 200.0, frames=10)
    kept = few.tape.checkpoints()[0].clock
    assert 5 <= len(kept) <= 10
    assert np.all(np.isin(kept, whole.tape.checkpoints()[0].clock))
    assert same(few, recorded(problem, 200.0, most=1, frames=10))
