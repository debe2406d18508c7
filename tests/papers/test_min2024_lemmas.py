"""The lemmas of Min et al.: each holds on good subjects and rejects something that breaks it; each erratum shown."""

import copy

import numpy as np
import pytest

import reluflow as rf
from reluflow.papers._kept import kept
from reluflow.papers.min2024 import _errata, _standard, lemma2
from reluflow.papers.min2024._run import Run

from .test_min2024_theorem import claim, relabelled


def separable(**more):
    return rf.data.orthogonally_separable(6, 4, 0.4, norm_max=1.5, seed=2, **more)


def unseparable():
    """A plane with two positive data more than a right angle apart."""
    angle = np.deg2rad([0.0, 100.0, 200.0, 230.0])
    return rf.Data(np.column_stack([np.cos(angle), np.sin(angle)]), np.array([1.0, 1.0, -1.0, -1.0]))


def follow(data, log_scale=-30.0, width=30, log_t1=9.0, seed=0, **options):
    init = rf.init.balanced(width, data.d, log_scale=log_scale, seed=seed)
    options = dict(loss="exponential", reduction="sum") | options
    return rf.solve(rf.Problem(data, init, **options), rf.Flow(rtol=1e-8), log_t1=log_t1)


@pytest.fixture(scope="module")
def six():
    return _standard.SUBJECTS["six at e^-14"]()


@pytest.fixture(scope="module")
def broken():
    """A flow on data that are not orthogonally separable, where neurons slide and leave what they should not."""
    x = [[1.0, 0.2, 0.1], [0.9, -0.3, 0.4], [-1.0, 0.1, 0.2], [-0.8, -0.4, -0.9], [0.3, 1.0, -0.2]]
    return follow(rf.Data(np.array(x), np.array([1.0, 1.0, -1.0, -1.0, -1.0])), width=20)


@pytest.mark.parametrize("name", sorted(_standard.ON) + ["min2024.lemma2", "min2024.remark4", "min2024.separability"])
def test_no_claim_is_violated_on_its_standard_subjects(name):
    subjects = [_standard.SUBJECTS[s]() for s in _standard.ON.get(name, ())] or [None]
    for subject in subjects:
        report = rf.check(name, subject)
        assert report.claims
        assert not report.violated, report


def test_every_check_has_a_standard_subject_or_needs_none():
    for check in rf.checks("min2024"):
        assert check.needs == "nothing" or _standard.ON[check.name], check.name


# Geometry -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, wrong",
    [
        ("lemma5", {"mu": 0.41}),
        ("lemma6", {"cones": ("other",)}),
        ("lemma7", {"mu": 0.6}),
        ("lemma8", {"zeta1": 0.9}),
        ("lemma9", {"xi": 0.17}),
        ("lemma11", {"mu": 0.95}),
    ],
)
def test_a_geometric_lemma_holds_and_rejects_an_overstated_constant(name, wrong):
    assert rf.check(f"min2024.{name}", separable()).ok
    assert rf.check(f"min2024.{name}", separable(), **wrong).violated


def test_closed_forms_of_xi_and_zeta_are_attained():
    report = rf.check("min2024.lemma9", separable())
    assert claim(report, "attained").ok
    assert claim(rf.check("min2024.lemma8", separable()), "1.001 zeta_1 leaves").measured < 0


def test_assumption_1_names_the_worst_pair_and_what_to_leave_out():
    report = rf.check("min2024.assumption1", unseparable())
    (one,) = report.claims
    assert one.verdict == "violated"
    assert one.measured == pytest.approx(np.cos(np.deg2rad(100)))
    assert one.at == "rows 0 and 1"
    assert report.notes[0].startswith(
        "1 of 6 pairs break Assumption 1: rows 0 and 1 (same label, cosine -0.1736 must be"
    )
    assert report.notes[1].startswith("Without row 0 the other 3 satisfy it with mu = ")
    assert rf.check("min2024.assumption1", separable()).notes == ()


def test_assumption_2_is_about_the_opposite_class():  # E10
    data = separable()
    minus = np.sum(data.x[data.y < 0], axis=0)
    init = rf.Params(minus[None], np.array([np.linalg.norm(minus)]), log_scale=-20.0)
    problem = rf.Problem(data, init, loss="exponential")
    assert rf.check("min2024.assumption2", problem).violated
    assert rf.check("min2024.assumption2", problem, form="printed").ok
    # It never leaves S-: only shrinks.
    sol = rf.solve(rf.Problem(data, init, loss="exponential", reduction="sum"), t1=5.0)
    assert rf.observe.groups(sol).values[-1, 0] == "S-"


def test_equation_28_as_printed_misses_29_by_a_factor_of_two():  # E3
    problem = _standard.SUBJECTS["six"]().problem
    printed = claim(rf.check("min2024.equation28", problem, form="printed"), "against what (29) needs")
    assert printed.verdict == "violated"
    assert printed.margin == pytest.approx(-np.log(2.0))
    assert rf.check("min2024.equation28", problem).ok


def test_equation_37_fails_above_one_third():  # E11
    x = np.array([[100.0, 1.0, 0.1], [1.0, 100.0, 0.1], [0.4, 0.4, 0.2]])
    data = rf.Data(x, np.ones(3))
    assert rf.check("min2024.equation37", data).hypotheses[0].ok
    assert rf.check("min2024.equation37", data, form="printed").violated
    assert rf.check("min2024.equation37", data).ok


def test_the_number_of_lucky_neurons_is_exact_in_the_plane_and_rejects_other_data():
    report = rf.check("min2024.random_init", rf.data.toy_plane())
    assert report.ok
    assert claim(report, "a V+ neuron starts").measured == pytest.approx(0.5 + 20 / 360, abs=0.015)
    far = np.deg2rad([0.0, 120.0, 240.0])
    data = rf.Data(np.column_stack([np.cos(far), np.sin(far)]), np.array([1.0, 1.0, 1.0]))
    assert claim(rf.check("min2024.random_init", data), "V+ neurons that end in S+").verdict == "violated"


# Losses, sizes, directions --------------------------------------------------------------------------------------------


def test_lemma_2_holds_for_two_losses_and_the_square_and_fails_for_the_printed_logistic():  # E1
    assert rf.check("min2024.lemma2").claims[0].measured == pytest.approx(np.e - 1)
    assert rf.check("min2024.remark4").ok
    printed = rf.check("min2024.lemma2", form="printed")
    assert [c.verdict for c in printed.claims] == ["holds", "violated"]
    assert lemma2.worst_ratio("logistic log(1+e^-z)").verdict == "violated"


@pytest.mark.parametrize("name", ["lemma1", "lemma4", "lemma10"])
def test_directions_under_the_printed_logistic_loss_move_half_as_fast(name):  # E1
    sol = _standard.SUBJECTS["seven, mean logistic at e^-50"]()
    assert rf.check(f"min2024.{name}", sol, form="printed").violated
    assert rf.check(f"min2024.{name}", sol).ok


def test_the_gap_of_lemma_4_is_that_of_differences_of_directions(six):
    from reluflow.papers.min2024._errors import log_gaps
    from reluflow.papers.min2024._run import as_run

    run = as_run(six)
    k = int(np.searchsorted(run.tau, 3.0))  # outputs matter there, and no event is near
    t, step = run.tau[k], 1e-4
    units = [p.w / np.linalg.norm(p.w, axis=1)[:, None] for p in six.at([t - step, t, t + step])]
    x, y = six.problem.data.x, six.problem.data.y
    x_a = (six.bits_at(t) * y) @ x
    across = x_a - np.sum(x_a * units[1], axis=1)[:, None] * units[1]
    gap = (units[2] - units[0]) / (2 * step) - run.sign[:, None] * across
    np.testing.assert_allclose(np.linalg.norm(gap, axis=1), np.exp(log_gaps(run)[k]), rtol=1e-3, atol=1e-8)


@pytest.mark.parametrize("name", ["lemma1", "lemma3"])
def test_weights_larger_than_claimed_are_noticed(six, name):
    init = six.problem.init
    small = relabelled(six, init=rf.Params(init.w, init.a, log_scale=-1000.0))
    assert rf.check(f"min2024.{name}", six).ok
    assert rf.check(f"min2024.{name}", small).violated


@pytest.mark.parametrize("name", ["lemma1", "lemma3", "lemma4", "lemma10"])
@pytest.mark.parametrize("subject", ["six, leaky at e^-50", "six, square loss at e^-200"])
def test_early_lemmas_hold_for_leaky_activations_and_the_square_loss(name, subject):
    report = rf.check(f"min2024.{name}", _standard.SUBJECTS[subject]())
    assert report.applies
    assert all(c.verdict == "holds" for c in report.claims)


# Patterns -------------------------------------------------------------------------------------------------------------


def swapped(sol):
    """The same run with the output signs of all neurons misstated."""
    init = sol.problem.init
    return relabelled(sol, init=rf.Params(init.w, -init.a, log_scale=init.log_scale))


@pytest.mark.parametrize("name", ["equation7", "repulsion", "travel_time", "appendix_f", "theorem1"])
def test_motion_the_wrong_way_is_noticed(six, name):
    assert rf.check(f"min2024.{name}", six).ok
    assert rf.check(f"min2024.{name}", swapped(six)).violated


@pytest.mark.parametrize("name", ["lemma12", "equation46", "equation7", "appendix_f"])
def test_data_that_break_assumption_1_break_what_rests_on_it(broken, name):
    report = rf.check(f"min2024.{name}", broken)
    assert not report.applies
    assert report.violated


def test_equation_46_has_the_other_sign_in_print(six):  # E7
    assert rf.check("min2024.equation46", six, form="printed").violated


def test_a_neuron_almost_on_x_minus_stays_longer_than_the_maximum_allows():  # E2
    data = rf.data.orthogonally_separable(6, 4, 0.8, seed=2)
    minus = np.sum(data.x[data.y < 0], axis=0)
    minus /= np.linalg.norm(minus)
    across = np.linalg.svd(minus[None])[2][1]
    w = minus + 1e-12 * across
    plus = np.sum(data.x[data.y > 0], axis=0)
    rows = np.stack([w, plus / np.linalg.norm(plus)])
    init = rf.Params(rows, np.array([1.0, 1.0]) * np.linalg.norm(rows, axis=1), log_scale=-1e5)
    problem = rf.Problem(data, init, loss="exponential", reduction="sum")
    sol = rf.solve(problem, rf.Flow(rtol=1e-10), t1=2000.0)
    printed, corrected = (rf.check("min2024.dwell", sol, form=f) for f in ("printed", "corrected"))
    stay = printed.claims[0]
    assert stay.verdict == "violated"
    size = np.linalg.norm(np.sum(data.x[data.y < 0], axis=0))
    assert stay.measured == pytest.approx(np.log(2e12) / size, rel=0.1)  # exact dwell ~ log(2/theta)/|x-|
    assert corrected.ok


def test_the_maximal_path_is_dearest_and_the_intermediate_bound_fails_at_two():  # E5
    assert rf.check("min2024.maximal_path").ok
    (one,) = rf.check("min2024.maximal_path", form="printed").claims
    assert (one.verdict, one.at) == ("violated", "n = 2")


def test_growth_before_arrival_is_not_growth(six):
    early = copy.copy(six)
    run = Run(early)
    vars(run)["arrival"] = np.zeros(len(run.sign))  # as if all had been aligned from the start
    kept(early, ("min2024", "corrected"), lambda: run)
    assert rf.check("min2024.lemma14", six).ok
    assert rf.check("min2024.lemma14", early).violated


def test_a_group_that_shrinks_too_fast_is_noticed():
    data = separable()
    minus = np.sum(data.x[data.y < 0], axis=0)
    w = np.stack([minus + 0.05 * np.ones(4), -minus + 0.05 * np.ones(4)])
    init = rf.Params(w, np.linalg.norm(w, axis=1) * np.array([1.0, -1.0]), log_scale=-30.0)
    sol = rf.solve(rf.Problem(data, init, loss="exponential", reduction="sum"), t1=60.0)
    assert rf.check("min2024.lemma13", sol).ok
    assert rf.check("min2024.lemma13", relabelled(sol, data=rf.Data(data.x / 1000, data.y))).violated


def test_a_margin_claimed_too_large_breaks_lemma_15(six):
    assert rf.check("min2024.lemma15", six).ok
    assert rf.check("min2024.lemma15", six, gamma=20.0).violated


def test_a_gradient_larger_than_claimed_is_noticed(six):
    data = six.problem.data
    assert rf.check("min2024.equation50", six).ok
    fake = relabelled(six)
    run = Run(fake)
    import dataclasses

    run.geo = dataclasses.replace(run.geo, x_max=run.geo.x_max / 10)
    kept(fake, ("min2024", "corrected"), lambda: run)
    assert rf.check("min2024.equation50", fake).violated
    assert data.n == 6


def test_refined_alignment_has_another_pace_when_inactive_data_pull_too(six):
    assert rf.check("min2024.refined_alignment", six).ok
    leaky = follow(_standard.data("six"), log_scale=-50.0, activation=rf.LeakyReLU(0.3))
    assert claim(rf.check("min2024.refined_alignment", leaky), "log tan(angle to x+").verdict == "violated"


def test_separability_enters_t1_with_exponent_five_halves():  # E4
    assert rf.check("min2024.separability").ok
    (one,) = rf.check("min2024.separability", form="printed").claims
    assert one.verdict == "violated"
    assert one.measured == pytest.approx(-2.5, abs=1e-6)


def test_the_poster_leaves_out_the_sign():
    sol = _standard.SUBJECTS["six"]()
    assert claim(rf.check("min2024.poster", sol, form="printed"), "motion of directions").verdict == "violated"
    assert rf.check("min2024.poster", sol).ok


# Existence ------------------------------------------------------------------------------------------------------------


def test_example_e3_needs_a_derivative_at_zero():
    assert rf.check("min2024.example_e3").ok
    assert rf.check("min2024.example_e3", a=0.0).violated  # with relu'(0) = 0 no step moves anything


def test_example_e4_has_two_solutions_and_lemma_12_as_printed_fails():  # E6
    assert rf.check("min2024.example_e4").ok
    assert rf.check("min2024.example_e4", form="printed").violated


# Errata ---------------------------------------------------------------------------------------------------------------


def test_every_erratum_names_a_check_that_exists_and_labels_are_unique():
    labels = [e.label for e in _errata.ERRATA]
    assert labels == sorted(set(labels), key=labels.index)
    assert {f"E{k}" for k in range(1, 15)} <= set(labels)
    names = {c.name: c for c in rf.checks("min2024")}
    for e in _errata.ERRATA:
        assert e.check is None or e.check in names
        if e.check and e.printed:
            assert "printed" in names[e.check].forms, e.label
