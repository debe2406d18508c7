"""What `rf.compare` says."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.compare import Comparison
from reluflow.phases import Phase, Phases


def two_points(log_scale=-14.0):
    return rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=log_scale, seed=0))


def test_on_orthogonal_data_they_stay_together_and_the_shift_is_the_steps():
    found = rf.compare(two_points(), rf.Descent(2e-3), t1=40.0)
    assert found.parted is None and not found.trapped and len(found.flips) == 0
    assert "They stay together" in found.summary() and "No output weight changed sign" in found.summary()
    assert np.max(found.bits) == 0
    # Growing by log(1 + step |D|) / step, not |D|, per unit of time: late by step |D| / 2 of the time passed.
    late = [shift / p.start for p, _, shift in found.shifts if p.start > 0]
    D = np.sqrt(5) / 2
    assert late[0] == pytest.approx(2e-3 * D / 2, rel=0.2)


def test_a_large_step_parts_and_says_when():
    found = rf.compare(two_points(), rf.Descent(0.1), t1=40.0)
    assert found.parted is not None and "They separate at t =" in found.summary()
    k = round(found.parted / 0.1)
    gap = lambda k: np.max(np.abs(found.flow.outputs_at(0.1 * k) - found.descent.outputs_at(0.1 * k)))
    assert gap(k - 1) <= found.threshold < gap(k)


def test_the_gap_halves_with_the_step():
    gaps = [np.max(rf.compare(two_points(), rf.Descent(h), t1=40.0).gap) for h in (4e-3, 2e-3)]
    assert gaps[0] / gaps[1] == pytest.approx(2.0, rel=0.05)


def test_table_and_figure():
    found = rf.compare(two_points(), rf.Descent(1e-2), t1=40.0, points=50)
    assert "loss (descent)" in repr(found) and "plateau" in repr(found) and found.summary() in repr(found)
    figure = found.figure()
    assert len(figure.axes) == 3 and figure.axes[-1].get_xlabel() == "t"


def test_unbalanced_neurons_may_flip_in_the_flow_too():
    rng = np.random.default_rng(4)
    data = rf.Data(rng.normal(size=(4, 2)), rng.normal(size=4))
    problem = rf.Problem(data, rf.init.gaussian(20, 2, log_scale=-0.7, seed=2))
    found = rf.compare(problem, rf.Descent(1e-3), t1=8.0)
    assert len(found.flow_flips) > 0 and set(found.flow_flips) == set(found.flips)
    assert "in the flow" in found.summary()


def phases(*rows):
    """Phases from rows (kind, start, loss), one after the other."""
    ends = [*(start for _, start, _ in rows[1:]), 1000.0]
    log = lambda v: np.log(v) if v > 0 else -np.inf
    made = [
        Phase(kind, start, end, log(start), log(end), np.log(loss))
        for (kind, start, loss), end in zip(rows, ends, strict=True)
    ]
    return Phases(made)


def with_phases(flow, descent):
    """A comparison of two short runs that are said to have these phases."""
    found = rf.compare(two_points(), rf.Descent(1e-2), t1=1.0, points=4)
    object.__setattr__(found, "phases", (flow, descent))
    assert isinstance(found, Comparison)
    return found


def test_a_phase_is_compared_with_the_one_at_its_own_loss():
    flow = phases(("alignment", 0.0, 0.5), ("growth", 133.0, 0.02), ("plateau", 429.0, 0.0135))
    extra = phases(
        ("alignment", 0.0, 0.5), ("plateau", 133.4, 0.49), ("growth", 136.6, 0.02), ("plateau", 428.5, 0.0135)
    )
    found = with_phases(flow, extra)
    assert [None if s is None else round(s, 6) for _, _, s in found.shifts] == [0.0, 3.6, -0.5]
    assert [p.start for p in found.extra_phases] == [133.4]
    assert "growth 3.6 later, plateau 0.5 earlier." in found.summary()
    assert "Only descent has a plateau from t = 133.4 to 136.6 at loss 0.49." in found.summary()
    back = with_phases(extra, flow)
    assert "Only the flow has a plateau from t = 133.4 to 136.6 at loss 0.49." in back.summary()
    trapped = with_phases(flow, phases(("alignment", 0.0, 0.5), ("growth", 133.0, 0.3), ("plateau", 429.0, 0.3)))
    assert [q is None for _, q, _ in trapped.shifts] == [False, False, True]
