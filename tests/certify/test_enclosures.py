"""Enclosures against the reference's digits, and what must be refused."""

import itertools

import numpy as np
import pytest
from benchmarks.certify import draws, general
from tests.certify.draws import draw, named

import reluflow as rf

pytest.importorskip("flint")

from flint import arb, ctx, fmpq

from reluflow import reference
from reluflow.certify.cell import cell
from reluflow.certify.decimals import ball
from reluflow.certify.enclosure import step
from reluflow.certify.exact import Exact
from reluflow.certify.run import Run


def covered(count: int):
    """The first problems (n, d, m = 3, 2, 3) of general position."""
    found = 0
    for number in itertools.count():
        problem = draw(3, 2, 3, number)
        try:
            if problem is not None:
                Exact.of(problem)
                found += 1
                yield number, problem
        except rf.Refused:
            continue
        if found == count:
            return


def contained(problem, t1) -> None:
    """The reference's 30 digits lie in every enclosure, and the events are the same."""
    found = rf.certify(problem, t1=t1)
    exact = reference.flow(problem, [t1], digits=30)
    with ctx.workdps(60):
        for value, claimed in zip(exact.f[0], found.content["end"]["outputs"], strict=True):
            assert ball(claimed).overlaps(arb(value, arb(10) ** -28))  # the reference's own error
            assert ball(claimed).rad() < 1e-15
        for value, claimed in ((exact.loss[0], found.content["end"]["loss"]),):
            assert ball(claimed).overlaps(arb(value, arb(10) ** -28))
    known = sorted((float(e.t), e.neuron, e.datum) for e in exact.events if e.datum >= 0)
    assert [(j, i) for _, j, i in known] == [(e.neuron, e.datum) for e in found.events]
    np.testing.assert_allclose([e.t for e in found.events], [t for t, _, _ in known], rtol=1e-13)


def test_the_reference_lies_in_the_enclosures_of_three_problems():
    for _, problem in covered(3):
        contained(problem, 4)


def logistic(problem: rf.Problem) -> rf.Problem:
    return rf.Problem(rf.Data(problem.data.x, np.sign(problem.data.y)), problem.init, loss="logistic")


def test_the_reference_lies_in_the_enclosures_of_a_logistic_loss():
    problem = logistic(draw(3, 2, 4, 6))
    contained(problem, 6)
    found = rf.certify(problem, t1=6)
    assert found.check()[-1].startswith("outputs, loss and norm")
    with pytest.raises(rf.Refused, match="square loss alone"):
        rf.certify(problem)


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", [n for n, _ in covered(20)])
def test_the_reference_lies_in_the_enclosures_of_logistic_losses(number):
    contained(logistic(draw(3, 2, 3, number)), 12)


def test_a_row_crossed_while_another_lets_go_is_unique_if_it_is_driven_across():
    # Neuron 0 slides on datum 3 and crosses to the active side of datum 1, where s g > 0; that releases it from 3.
    problem = next(general(draws(5, 3, 4)))
    found = rf.certify(problem, t1=2)
    together = [e for e in found.events if abs(e.t - 1.4064851) < 1e-6]
    assert [(e.neuron, e.datum, e.change) for e in together] == [(0, 1, "01"), (0, 3, "s0")]
    assert found.check()


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", [n for n, _ in covered(20)])
def test_the_reference_lies_in_the_enclosures(number):
    contained(draw(3, 2, 3, number), 12)


@pytest.mark.parametrize("name", ["A47", "A23", "A18"])
def test_a_run_with_its_first_event_missed_leaves_the_enclosures(name):
    t1, problem = fmpq(3, 2), named(name)
    claimed = [ball(v) for v in rf.certify(problem, t1="1.5").content["end"]["outputs"]]
    with ctx.workdps(40):
        run = Run.begin(Exact.of(problem))
        while run.state.t < t1:  # the pattern of the start, kept without asking for signs
            run.state = step(run.net, run.state, run.order, t1 - run.state.t).at(fmpq(1))
        wrong = [run.net.mu * v for v in run.state.phi(run.net)]
    assert not all(c.overlaps(v) for c, v in zip(claimed, wrong, strict=True))


def test_the_radius_around_a_curve_contains_a_flow_from_elsewhere_in_the_ball():
    # A start at distance 1e-8 stays inside a tube whose radius began with that distance.
    problem = named("B11")
    with ctx.workdps(40):
        run, moved = Run.begin(Exact.of(problem)), Run.begin(Exact.of(problem))
        run.state.r = arb("1e-8")
        moved.state.w[0][0] += arb("0.6e-8")
        moved.state.a[3] -= arb("0.8e-8")
        for _ in range(3):
            h = min(step(r.net, r.state, r.order, fmpq(1, 2)).h for r in (run, moved))
            for r in (run, moved):
                r.state = step(r.net, r.state, r.order, h).at(fmpq(1))
        flat = [[*r.state.a, *(v for w in r.state.w for v in w)] for r in (run, moved)]
        apart = sum(((u - v) ** 2 for u, v in zip(*flat, strict=True)), arb(0)).sqrt()
        assert apart < run.state.r and run.state.r < arb("1e-7") and apart > arb("1e-9")


def test_projected_rows_and_multipliers_are_exact():
    x = tuple(tuple(map(fmpq, row)) for row in ([1, 0, 1], [0, 2, 1], [1, 1, 1], [-1, 3, 2]))
    c = cell(x, -1, "s10s")
    for k in range(4):
        assert all(sum(a * b for a, b in zip(c.xi[k], x[i])) == 0 for i in (0, 3))
    # With row 1 alone on and g_1 = 1, D = x_1 + nu_0 x_0 + nu_3 x_3 is orthogonal to both slid rows.
    D = [x[1][k] + c.multiplier(0)[1] * x[0][k] + c.multiplier(3)[1] * x[3][k] for k in range(3)]
    assert D == list(c.xi[1])


def resting_then_woken() -> rf.Problem:
    """A neuron rests on a boundary when the residual there changes sign [certified, section 1]."""
    x, y = [[0.5, 1], [1.5, -1], [2, -2]], [-2, 2, 2]
    w, s = np.array([[-0.75, -1.5], [-0.75, -2], [1.75, 0.75]]), np.array([1, -1, -1])
    return rf.Problem(rf.Data(x, y), rf.Params(w, s * np.linalg.norm(w, axis=1), log_scale=-2.0))


def test_a_flow_that_is_not_unique_is_refused_where_it_branches():
    with pytest.raises(rf.Refused, match="not unique") as refusal:
        rf.certify(resting_then_woken(), t1=2)
    assert abs(refusal.value.t - 0.87660) < 1e-4
    before = rf.certify(resting_then_woken(), t1="0.87").events
    assert any(e.change == "1r" and abs(e.t - 0.1865) < 1e-4 for e in before)


@pytest.mark.parametrize(
    ("x", "w", "a", "options", "words"),
    [
        ([[1, 0], [2, 0]], [[1, 1]], [2**0.5], {}, "one line"),
        ([[1, 0], [0, 0]], [[1, 1]], [2**0.5], {}, "zero"),
        ([[1, 0], [0, 1]], [[0, 1]], [1.0], {}, "starts on the boundary"),
        ([[1, 0], [0, 1]], [[1, 1]], [1.0], {}, "balanced"),
        ([[1, 0], [0, 1]], [[1, 1]], [2**0.5], {"activation": rf.LeakyReLU(0.1)}, "slope"),
        ([[1, 0], [0, 1]], [[1, 1]], [2**0.5], {"loss": "exponential"}, "exponential"),
        ([[1, 0], [0, 1]], [[1, 1]], [2**0.5], {"train": "first"}, "first layer"),
    ],
)
def test_what_the_theorems_do_not_cover_is_refused_at_once(x, w, a, options, words):
    problem = rf.Problem(rf.Data(np.array(x, float), [1.0, -1.0]), rf.Params(w, a, log_scale=-1.0), **options)
    with pytest.raises(rf.Refused, match=words):
        rf.certify(problem, t1=1)


def test_arguments_that_make_no_sense_are_refused_by_a_sentence():
    problem = named("A47")
    with pytest.raises(ValueError, match="not both"):
        rf.certify(problem, 1.0, log_t1=0.0)
    with pytest.raises(ValueError, match="positive"):
        rf.certify(problem, -1)
    with pytest.raises(ValueError, match="at least 15"):
        rf.certify(problem, 1, digits=5)
    with pytest.raises(TypeError, match=r"`problem` must be an rf\.Problem, got 3"):
        rf.certify(3)


def test_a_proof_tells_the_time_reached_and_the_events_proved():
    told = []
    found = rf.certify(named("A47"), 3, progress=told.append)
    assert [now.end for now in told] == [3.0] * len(told) and told[0].t == 0.0
    assert sorted(now.t for now in told) == [now.t for now in told] and told[-1].events <= len(found.events)
    assert rf.certify(named("A47"), 3).content == found.content
