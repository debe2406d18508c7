"""`rf.resume`: a run in two pieces is the run in one; long runs are on disk while they are computed."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.drive import loop


def cloud(seed=2, **more):
    rng = np.random.default_rng(seed)
    data = rf.Data(rng.normal(size=(12, 3)), rng.normal(size=12))
    return rf.Problem(data, rf.init.balanced(20, 3, -3.0, seed=seed), **more)


def agree(sol, whole, rtol):
    assert sol.outcome is whole.outcome and len(sol.events) == len(whole.events)
    np.testing.assert_array_equal(sol.events.neuron, whole.events.neuron)
    np.testing.assert_allclose(sol.events.t, whole.events.t, rtol=1e3 * rtol)
    t = np.linspace(0.0, whole.t_end, 9)
    np.testing.assert_allclose(sol.outputs_at(t), whole.outputs_at(t), atol=100 * rtol)
    assert sol.stats.energy_error < 10 * rtol
    assert sol.t[0] == 0.0 and np.all(np.diff(sol.t) > 0)


@pytest.mark.parametrize("steps", [3, 60])
def test_a_flow_that_was_stopped_goes_on_to_its_own_end(steps, tmp_path):
    whole = rf.solve(cloud(), rf.Flow(1e-9), t1=30.0)
    part = rf.solve(cloud(), rf.Flow(1e-9), t1=30.0, limits=rf.Limits(steps=steps), throw=False)
    assert part.t_end < 30.0
    agree(rf.resume(part), whole, 1e-9)
    sol = rf.resume(part.save(tmp_path / "part"))
    agree(sol, whole, 1e-9)
    agree(rf.load(sol.save(tmp_path / "whole")), whole, 1e-9)
    assert sol.stats.steps >= whole.stats.steps


def test_a_run_is_extended_to_a_later_time():
    early = rf.solve(cloud(), rf.Flow(1e-9), t1=8.0)
    agree(rf.resume(early, t1=30.0), rf.solve(cloud(), rf.Flow(1e-9), t1=30.0), 1e-9)


def test_a_tail_is_extended_in_log_t():
    problem = rf.Problem(rf.Data(np.eye(2), [1.0, -1.0]), rf.init.balanced(6, 2, -2.0, seed=0), loss="logistic")
    sol = rf.resume(rf.solve(problem, rf.Flow(1e-9), log_t1=5.0), log_t1=230.0)
    whole = rf.solve(problem, rf.Flow(1e-9), log_t1=230.0)
    np.testing.assert_allclose(sol.outputs[-1], whole.outputs[-1], rtol=1e-7)


@pytest.mark.parametrize("way", [{"fast_forward": False}, {"batch": 4, "seed": 3}])
def test_a_descent_taken_up_has_the_bits_of_one_in_one_piece(way):
    method = rf.Descent(step=0.01, **way)
    whole = rf.solve(cloud(), method, t1=20.0)
    sol = rf.resume(rf.solve(cloud(), method, t1=7.0), t1=20.0)
    np.testing.assert_array_equal(sol.outputs[-1], whole.outputs[-1])
    np.testing.assert_array_equal(sol.events.t, whole.events.t)
    assert sol.stats.steps == whole.stats.steps and sol.stats.regimes == whole.stats.regimes


def test_a_descent_that_leaps_is_taken_up_as_exactly():
    method = rf.Descent(step=0.01)
    whole = rf.solve(cloud(), method, t1=200.0)
    sol = rf.resume(rf.solve(cloud(), method, t1=70.0), t1=200.0)
    np.testing.assert_allclose(sol.outputs[-1], whole.outputs[-1], atol=1e-9)


class Killed(Exception):
    pass


def test_a_run_that_is_killed_has_its_last_state_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(loop, "MOST", 20)  # steps between two looks
    monkeypatch.setattr(loop, "TELL_SECONDS", 0.0)

    def kill(now):
        if now.steps > 40:
            raise Killed

    with pytest.raises(Killed):
        rf.solve(cloud(), rf.Flow(1e-9), t1=30.0, save=rf.Save(to=tmp_path / "run"), progress=kill)
    kept = rf.load(tmp_path / "run")
    assert kept.outcome is rf.Outcome.INTERRUPTED and 0.0 < kept.t_end < 30.0
    agree(rf.resume(kept), rf.solve(cloud(), rf.Flow(1e-9), t1=30.0), 1e-9)


def test_writing_a_run_meanwhile_changes_no_bit_of_it_and_its_end_is_written_too(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(loop, "MOST", 20)
    sol = rf.solve(cloud(), rf.Flow(1e-6), t1=12.0, save=rf.Save(to=tmp_path / "run"))
    plain = rf.solve(cloud(), rf.Flow(1e-6), t1=12.0)
    assert sol.stats.steps > 60
    np.testing.assert_array_equal(sol.recording.checkpoints.y, plain.recording.checkpoints.y)
    assert rf.load(tmp_path / "run").outcome is rf.Outcome.REACHED
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_what_cannot_go_on_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"needs a `t1` later than the end of the run, which has reached t = 2"):
        rf.resume(rf.solve(cloud(), t1=2.0))
    with pytest.raises(ValueError, match="needs a run that can go on, got one that converged at t = "):
        rf.resume(rf.solve(rf.Problem(rf.Data([[1.0]], [1.0]), rf.init.balanced(2, 1, -2.0, seed=0))), t1=1e9)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    with pytest.raises((ValueError, OSError)):
        rf.solve(cloud(), t1=1.0, save=rf.Save(to=tmp_path / "mine"))
    assert (tmp_path / "mine" / "notes.txt").exists()
