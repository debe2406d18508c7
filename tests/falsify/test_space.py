"""Spaces: every draw is a member, and its text makes the same problem again."""

import numpy as np
import pytest

import reluflow as rf

SPACES = {
    "line": rf.space.line(n=[1, 3, 5], width=[1, 3]),
    "free": rf.space.free(n=[2, 4], dim=3, labels="both", init="free"),
    "orthonormal": rf.space.orthonormal(n=[1, 2, 4], width=[2, 3], init="covering", log_scale=(-300.0, -5.0)),
    "orthogonal": rf.space.orthonormal(n=3, norms=True, labels="positive"),
    "separable": rf.space.separable(n=[2, 5], dim=3, mu=0.4, loss="exponential", log_scale="min2024"),
    "nearly": rf.space.nearly_orthogonal(
        n=[2, 4], kappa=0.1, width=4, init="fixed_output", loss="logistic", train="first", log_t1=10.0, slope=0.5
    ),
    "descent": rf.space.free(n=3, width=2, step=(0.01, 0.1)),
}


def draws(space, needs="flow", count=5):
    rng = np.random.default_rng(0)
    return [
        space.spec(rng.normal(size=space.dim(size, needs)), size, needs)
        for size in space.ladder()
        for _ in range(count)
    ]


@pytest.mark.parametrize("name", SPACES)
def test_every_draw_is_a_member_of_its_space(name):
    for spec in draws(SPACES[name]):
        assert SPACES[name].holds(spec)
    for spec in draws(SPACES[name], "data"):
        assert spec.w is None and SPACES[name].holds(spec)


def test_the_ladder_goes_from_small_to_large():
    assert SPACES["line"].ladder() == [(1, 1), (1, 3), (3, 1), (5, 1), (3, 3), (5, 3)]


def test_separable_data_have_cosines_above_mu():
    for spec in draws(SPACES["separable"], "data", 50):
        z = np.sign(spec.y)[:, None] * spec.x / np.linalg.norm(spec.x, axis=1)[:, None]
        assert np.all((z @ z.T)[~np.eye(len(z), dtype=bool)] > 0.4)


def test_the_scale_of_a_paper_meets_its_conditions():
    from reluflow.papers.min2024._constants import constants

    for spec in draws(SPACES["separable"]):
        found = constants(spec.problem())
        assert found.log_eps < min(found.log_eps_a, found.log_eps_b)


def test_a_start_that_covers_meets_assumption_3():
    for spec in draws(SPACES["orthonormal"]):
        if len(spec.y) > 1:
            report = rf.check("boursier2022.assumption3", spec.problem())
            assert all(c.ok for c in report.claims if "S_" in c.text), report


def test_what_leaves_the_family_is_no_member():
    from dataclasses import replace

    line, ortho, nearly = draws(SPACES["line"])[-1], draws(SPACES["orthonormal"])[-1], draws(SPACES["nearly"])[-1]
    assert not SPACES["line"].holds(replace(line, x=line.x[::-1]))
    assert not SPACES["line"].holds(replace(line, x=line.x * [1.0, 2.0]))
    assert not SPACES["line"].holds(replace(line, w=np.zeros_like(line.w)))
    assert not SPACES["line"].holds(replace(line, log_scale=-1.0))
    assert not SPACES["orthonormal"].holds(replace(ortho, x=2.0 * ortho.x))
    assert not SPACES["orthonormal"].holds(replace(ortho, w=-np.abs(ortho.w)))
    assert not SPACES["orthonormal"].holds(replace(ortho, log_scale=-1000.0))
    assert not SPACES["nearly"].holds(replace(nearly, s=np.abs(nearly.s)))


@pytest.mark.parametrize("name", SPACES)
def test_toml_and_python_make_the_same_problem_bit_for_bit(name, tmp_path):
    spec = draws(SPACES[name])[0]
    problem = spec.problem()
    path = tmp_path / "found.toml"
    path.write_text(spec.toml("problem"))
    made = {}
    exec("\n".join(spec.python("problem")), made)
    for other in (rf.Experiment.from_toml(path).problem(), made["subject"]):
        for part in ("w", "a"):
            np.testing.assert_array_equal(getattr(problem.init, part), getattr(other.init, part))
        np.testing.assert_array_equal(problem.data.x, other.data.x)
        np.testing.assert_array_equal(problem.init.log_scales, other.init.log_scales)
        assert (problem.loss, problem.train, problem.activation) == (other.loss, other.train, other.activation)


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: rf.space.line(n=[]), "`n` must be a whole number >= 1 or a list of them, got an empty list"),
        (lambda: rf.space.line(n=0), "`n` must be a whole number >= 1, got 0"),
        (lambda: rf.space.line(width=0), "`width` must be a whole number >= 1, got 0"),
        (lambda: rf.space.separable(mu=1.0), r"`mu` must be in \[0, 1\), got 1.0"),
        (lambda: rf.space.line(log_scale=(-1.0, -5.0)), "`log_scale` must be a range low < high < 0"),
        (lambda: rf.space.line(log_scale="lee2023"), "`log_scale` must be a number, a range"),
        (lambda: rf.space.line(labels="odd"), "`labels` must be one of 'free'"),
        (lambda: rf.space.line(init="small"), "`init` must be one of 'balanced'"),
    ],
)
def test_an_empty_or_impossible_space_is_one_sentence(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_an_unknown_argument_names_the_nearest():
    with pytest.raises(TypeError, match=r"`rf.space.line` takes no argument `widht`: did you mean `width`\?"):
        rf.space.line(widht=3)


@pytest.mark.parametrize("m", [0, 1, 2])
@pytest.mark.parametrize("step", [None, 0.05])
def test_the_plain_loop_of_a_single_neuron_agrees_with_the_solver(m, step):
    from reluflow.falsify.plain import end_of

    space = rf.space.single(m=m, step=step, t1=5.0)
    spec = space.spec(np.array([-0.3, 0.2, 0.0]), (m,), "single")
    run = spec.subject("single")
    norm, phi = end_of(spec, 5.0)
    assert norm == pytest.approx(run.norm[-1], abs=1e-9)
    assert phi == pytest.approx(2 * np.arctan(np.exp(run.y[-1])), abs=1e-9)
