"""What comes back: phases, saving, sweeps, samples, limits and messages."""

import numpy as np
import pytest

import reluflow as rf

TWO = rf.Params([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [1.0, 0.6])
BEST_ONE = 0.0447027929  # loss of the best single neuron


def two_teachers(log_scale, width=10, seed=0):
    return rf.population.Problem(TWO, rf.init.balanced(width, 3, log_scale=log_scale, seed=seed))


@pytest.fixture(scope="module")
def run():
    return rf.population.solve(two_teachers(-400.0), t1=1500.0)


def test_phases_name_alignment_both_growths_and_the_saddle_between_them(run):
    found = run.phases()
    assert [p.kind for p in found[:4]] == ["alignment", "growth", "plateau", "growth"]
    plateau = found["plateau"][0]
    assert plateau.loss == pytest.approx(BEST_ONE, abs=1e-8)
    # Growth at 400/h, exit at 400/lambda, up to times of order 1/h and 1/lambda.
    assert found["growth"][0].half == pytest.approx(400 * 1.59966, abs=5.0)
    assert plateau.end == pytest.approx(400 * 3.30952, abs=20.0)


def test_neurons_of_one_sign_come_within_e_to_the_minus_200_and_part_again(run):
    plus = np.flatnonzero(run.sign[0] > 0)
    gap = run.log_gap(int(plus[0]), int(plus[1]))
    assert gap.min() < -200.0 and gap[-1] > -10.0
    # log gap = lambda t - (c - c0): at the first growth, mu/h = 1 - lambda/h of the log scale is gone.
    assert gap.min() == pytest.approx(-400 * (1 - 1.59966 / 3.30952), rel=0.03)


def test_a_saved_run_comes_back_the_same(run, tmp_path):
    path = run.save(tmp_path / "run.npz")
    back = rf.population.load(path)
    np.testing.assert_array_equal(back.loss, run.loss)
    np.testing.assert_array_equal(back.at(1000.0).w, run.at(1000.0).w)
    assert repr(back) == repr(run)
    with pytest.raises(FileExistsError, match="must be free"):
        run.save(path)
    with pytest.raises(ValueError, match="must be a run saved"):
        (tmp_path / "no.npz").write_bytes(b"nothing")
        rf.population.load(tmp_path / "no.npz")


def test_a_run_as_labelled_arrays_and_as_a_picture(run):
    ds = run.to_xarray()
    assert dict(ds.sizes) == {"frame": len(run.t), "neuron": 10, "teacher": 2, "feature": 3}
    assert len(run.plot().axes) == 3


def test_a_sweep_is_one_dataset_over_the_names_of_its_grid():
    build = lambda log_scale, seed: two_teachers(log_scale, width=4, seed=seed)
    over = {"log_scale": [-5.0, -50.0], "seed": [0, 1]}
    ds = rf.population.sweep(build, over, keep=["loss", "steps"], t1=lambda log_scale, seed: -4 * log_scale + 20)
    assert ds.loss.dims == ("log_scale", "seed") and np.all(ds.steps > 10)
    assert ds.loss.sel(log_scale=-5.0, seed=1) == pytest.approx(
        rf.population.solve(build(-5.0, 1), t1=40.0).loss[-1], rel=1e-12
    )
    with pytest.raises(ValueError, match="`keep` must be of loss"):
        rf.population.sweep(build, over, keep=["lost"])


def handbook_samples(n, seeds):
    init = rf.init.balanced(6, 3, log_scale=-2.0, seed=0, signs=[1, 1, 1, 1, -1, -1])
    return rf.population.compare(rf.population.Problem(TWO, init), n, 10.0, times=[2.0, 5.0, 10.0], seeds=seeds)


def test_weights_on_a_sample_differ_from_the_population_by_the_root_of_its_size():
    found = handbook_samples([100, 1600], 4)
    # The mean of four draws scatters by about a fifth of itself: a factor of 4 stays within 2 and 8.
    ratio = found.error[0].mean(axis=0) / found.error[1].mean(axis=0)
    assert np.all((ratio > 2.0) & (ratio < 8.0))
    assert "error ~ n^" in repr(found)


@pytest.mark.exhaustive
def test_the_rate_in_the_number_of_points_is_one_half():
    found = handbook_samples([100, 316, 1000, 3162, 10_000], 6)
    assert found.rate == pytest.approx(-0.5, abs=0.06)


def test_compare_takes_population_problems():
    found = rf.compare(two_teachers(-1.0, width=3), 50, 2.0)
    assert found.n.tolist() == [50] and found.error.shape == (1, 3, 3)


def test_late_in_an_overparametrised_run_the_loss_falls_as_the_cube_of_time():
    # One teacher, two students: L ~ t^-3 (Xu and Du 2023).
    init = rf.Params([[np.cos(0.7), np.sin(0.7)], [np.cos(0.4), -np.sin(0.4)]], [1.0, 1.0], log_scale=-1.0)
    sol = rf.population.solve(rf.population.Problem(rf.Params([[1.0, 0.0]], [1.0]), init), t1=1e5)
    power = np.log(sol.loss_at(1e5) / sol.loss_at(1e4)) / np.log(10.0)
    assert power == pytest.approx(-3.0, abs=0.01)
    assert sol.stats.steps < 3000 and sol.stats.implicit > 0


@pytest.mark.exhaustive
def test_a_hundred_students_ten_teachers_and_a_hundred_dimensions_take_few_steps():
    rng = np.random.default_rng(0)
    teacher = rf.Params(rng.normal(size=(10, 100)) / 10, np.where(np.arange(10) < 7, 1.0, -1.0))
    problem = rf.population.Problem(teacher, rf.init.balanced(100, 100, log_scale=-5.3, seed=1))
    sol = rf.population.solve(problem, rf.Flow(1e-6), t1=100.0)
    assert sol.stats.fields < 4000 and sol.stats.energy_error < 1e-6
    assert sol.loss[-1] < 0.1 * sol.loss[0]


def test_limits_stop_a_run_and_it_keeps_what_it_has():
    with pytest.raises(rf.SolveError, match="step limit") as error:
        rf.population.solve(two_teachers(-50.0), t1=300.0, limits=rf.Limits(steps=20))
    assert len(error.value.solution.t) == 21


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: rf.population.Problem(TWO, rf.init.balanced(3, 2)), "must have one dimension, got 3 and 2"),
        (lambda: rf.population.Problem(TWO, TWO, slope=2.0), r"`slope` must be in \[0, 1\], got 2.0"),
        (lambda: rf.population.Problem(TWO, TWO, train="second"), "`train` must be one of"),
        (lambda: rf.population.Problem(np.eye(3), TWO), "`teacher` must be an rf.Params, got ndarray"),
        (
            lambda: rf.population.Problem(TWO, rf.init.balanced(3, 3, log_scale=-900.0), train="first"),
            "must be >= -700",
        ),
        (lambda: rf.population.solve(two_teachers(-1.0), rf.Descent(0.1)), "`t1` must be given for descent"),
        (lambda: rf.population.solve(two_teachers(-1.0), t1=1.0, log_t1=1.0), "not both"),
        (lambda: rf.population.from_overlaps([[1.0]], [[2.0]], [[1.0]], [1.0], [1.0]), "not positive semidefinite"),
        (lambda: rf.population.from_overlaps([[1.0]], [[0.0, 0.0]], [[1.0]], [1.0], [1.0]), "must have shapes"),
        (lambda: rf.population.spurious(4), "`k` must be a whole number >= 5"),
    ],
)
def test_misuse_is_one_sentence(call, text):
    with pytest.raises((ValueError, TypeError), match=text):
        call()
