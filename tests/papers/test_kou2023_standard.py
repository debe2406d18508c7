"""Every check of Kou et al. on the paper's standard runs: descent to 1e6 iterations and the flow to t = 1e100."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.papers.kou2023 import _standard as standard
from reluflow.papers.kou2023._path import coefficients, frames, path, recursion
from reluflow.papers.kou2023._setting import setting

CASES = [(name, subject) for name, subjects in standard.ON.items() for subject in subjects]


def test_every_check_that_needs_a_subject_has_standard_ones():
    needing = {c.name for c in rf.checks("kou2023") if c.needs != "nothing"}
    assert needing == set(standard.ON)


@pytest.mark.parametrize("name, subject", CASES)
def test_no_claim_is_violated_where_the_hypotheses_are_met(name, subject):
    report = rf.check(name, standard.SUBJECTS[subject]())
    assert report.applies, [str(h) for h in report.hypotheses if not h.ok]
    assert report.ok, [str(c) for c in report.violated]
    # The one open end: log T2 of Lemma E.2 is about 28 there, and log s ends at 15.
    late = (name, subject) == ("kou2023.lemma_e2", "relu, kappa = 0.03")
    assert [c.text[:3] for c in report.claims if c.verdict == "unfinished"] == (["E.3"] if late else [])
    assert not any(c.verdict == "unmeasured" for c in report.claims)


@pytest.mark.parametrize("name", [c.name for c in rf.checks("kou2023") if c.needs == "nothing"])
def test_no_claim_without_a_subject_is_violated(name):
    report = rf.check(name)
    assert report.applies
    assert report.ok, [str(c) for c in report.violated]


def test_the_descents_have_the_iterations_and_the_flows_the_time_they_are_named_for():
    for name in ("leaky", "leaky, kappa = 0.02", "relu"):
        assert standard.SUBJECTS[name]().stats.steps == 1_000_000
    assert standard.SUBJECTS["leaky flow"]().log_t[-1] == pytest.approx(100 * np.log(10.0), rel=1e-12)


def claim(report, start):
    return next(c for c in report.claims if c.text.startswith(start))


@pytest.mark.parametrize("subject", ["leaky", "leaky, kappa = 0.02", "relu"])
def test_slopes_of_a_million_iterations_are_the_limits_to_four_parts_in_ten_thousand(subject):
    # Handbook: slopes 1.0001 of the prediction (1.0003 for ReLU), t L 3.9606 for 3.9604.
    sol = standard.SUBJECTS[subject]()
    report = rf.check("kou2023.limits", sol)
    for start in ("d rho_{y_i", "|d w_{j,r}"):
        assert float(claim(report, start).note.split()[-1]) < 4e-4
    size = claim(report, "log(s L_S)")
    assert abs(size.measured - size.bound) < 1e-4


@pytest.mark.parametrize("subject", ["leaky flow", "leaky flow, kappa = 0.02", "relu flow", "relu flow, kappa = 0.03"])
def test_the_flow_at_1e100_has_the_limits_to_ten_digits(subject):
    # Handbook: t L = sum alpha to 1e-10 from t = 1e30 on. The last of the four slides, with bits between 0 and 1.
    report = rf.check("kou2023.limits", standard.SUBJECTS[subject]())
    size, offset = claim(report, "log(s L_S)"), claim(report, "M_i - log s")
    assert abs(size.measured - size.bound) < 1e-10
    assert abs(offset.measured) < 1e-10


@pytest.mark.parametrize("subject", ["leaky", "leaky flow", "leaky flow, kappa = 0.02"])
def test_excess_stable_rank_falls_like_one_over_log_squared(subject):
    report = rf.check("kou2023.lemma_c3", standard.SUBJECTS[subject]())
    for j in ("+1", "-1"):
        rate = claim(report, f"1/(sqrt(SR(W_{j})")
        assert rate.measured == pytest.approx(rate.bound, rel=2e-2 if subject == "leaky" else 1e-6)
        assert rate.slack < 0.05 * rate.bound  # an exponent of 1 instead of 2 would send this to 0


def test_the_limit_of_lemma_f3_is_computed_from_the_start_and_approached_like_one_over_log():
    sol = standard.SUBJECTS["relu flow"]()
    run = path(sol, steps=0)
    goal = claim(rf.check("kou2023.lemma_f3", sol), "SR(W_+1)").bound
    rank = [np.sum(w**2) / np.linalg.norm(w, 2) ** 2 for w in run.w[:, run.of_class(1)]]
    gap = np.abs(np.array(rank) - goal) * run.log_s
    late = run.log_s > 20
    assert np.abs(rank[-1] - goal) < 1e-4
    assert gap[late].max() < 2 * gap[-1]


def test_the_million_iterations_end_within_a_hundredth_of_the_limit_computed_from_the_start():
    report = rf.check("kou2023.lemma_f3", standard.SUBJECTS["relu"]())
    for start in ("SR(W_+1)", "SR(W_-1)"):
        found = claim(report, start)
        assert abs(float(found.note.split()[0]) - found.bound) < 1e-2
        assert abs(found.measured - found.bound) < 1e-4


def test_descent_switches_at_a_constant_rate_where_the_flow_slides():
    descent, flow = (standard.SUBJECTS[f"relu{kind}, kappa = 0.03"]() for kind in ("", " flow"))
    counted = rf.check("kou2023.switching", descent)
    assert counted.claims[0].measured > 10_000
    assert 0.8 < counted.claims[1].measured < 1.25
    # Pairs that switch in the last tenth of the descent slide in the flow at that time. (Others that slide there were
    # thrown below the kink by the first step of the descent, and are still on their way back.)
    events = descent.events[descent.events.t > 0.9 * descent.events.t[-1]]
    switching = np.zeros((descent.problem.init.width, descent.problem.data.n), bool)
    switching[events.neuron, events.datum] = True
    sliding = flow.sliding_at(float(descent.t[-1]))
    assert switching.sum() > 20
    assert np.mean(sliding[switching]) > 0.9


def test_margin_over_log_t_differs_between_widths_only_by_the_logarithm_of_the_width():
    report = rf.check("kou2023.width", standard.SUBJECTS["leaky problem"](), widths=(4, 64))
    ratio = report.constants["M/log s, m = 4"] - report.constants["M/log s, m = 64"]
    log_s = 230.0 - 2 * np.log(2.0)
    assert ratio == pytest.approx(np.log(16.0) / log_s, rel=1e-6)  # alpha is proportional to m
    assert claim(report, "spread").measured < 1e-9


def test_output_weights_of_another_size_are_the_same_training_in_other_units():
    of = standard.problem(0.02, 0.5)
    other = rf.Problem(
        of.data,
        rf.Params(of.init.w, 3 * of.init.a, log_scale=of.init.log_scale - np.log(3), log_scale_a=0.0),
        loss="logistic",
        activation=of.activation,
        train="first",
    )
    one, two = (path(standard.descent(p, 1000), steps=0) for p in (of, other))
    np.testing.assert_allclose(one.rho, two.rho, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.log_s, two.log_s, rtol=1e-12)


def test_rho_of_dependent_data_comes_from_the_recursion():
    x = np.random.default_rng(0).normal(size=(5, 3))
    of = rf.Problem(
        rf.Data(x, [1.0, -1.0, 1.0, 1.0, -1.0]),
        rf.init.fixed_output(6, 3, log_scale=-2.0, seed=0),
        loss="logistic",
        activation=rf.LeakyReLU(0.3, at_zero=1.0),
        train="first",
    )
    sol = standard.descent(of, 200)
    at, run = setting(sol), path(sol, steps=10)
    assert run.rho.shape == (len(sol.t) + 11, 6, 5)
    np.testing.assert_allclose(at.w0 + (run.rho[-1] / at.norm2) @ at.x, run.w[-1], atol=1e-12)
    least = coefficients(at, frames(sol, at)[-1:])[0]
    assert np.abs(least - run.rho[-1]).max() > 1e-3  # other coefficients give the same weights


def test_the_recursion_stops_where_it_is_told():
    at = setting(standard.descent(standard.problem(0.0, 0.5), 10))
    rho, z = recursion(at, np.array([0.0, 3.0, 10.0]))
    assert rho.shape == z.shape == (3, 20, 8)
    assert np.all(rho[0] == 0)


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(loss="exponential"), '`loss` must be "logistic"'),
        (dict(train="both"), '`train` must be "first"'),
        (dict(activation=rf.LeakyReLU(0.5)), "s'\\(0\\) = 1"),
        (dict(init=rf.init.balanced(20, 8, log_scale=-2.0)), "half of each sign"),
    ],
)
def test_runs_that_are_not_the_papers_are_refused_in_one_sentence(change, message):
    of = standard.problem(0.0, 0.5)
    parts = dict(loss="logistic", activation=of.activation, train="first", init=of.init) | change
    sol = rf.solve(rf.Problem(of.data, **parts), rf.Descent(step=0.1), t1=1.0)
    with pytest.raises(ValueError, match=message):
        rf.check("kou2023.limits", sol)


def test_mini_batches_and_relu_in_a_leaky_result_are_refused():
    of = standard.problem(0.0, 0.5)
    with pytest.raises(ValueError, match="full batches"):
        rf.check("kou2023.lemma5_2", rf.solve(of, rf.Descent(step=0.1, batch=2), t1=1.0))
    with pytest.raises(ValueError, match="divide by the slope"):
        rf.check("kou2023.lemma_b3", standard.SUBJECTS["relu"]())
    with pytest.raises(ValueError, match="two decades"):
        rf.check("kou2023.limits", standard.descent(of, 5))


@pytest.mark.exhaustive
@pytest.mark.parametrize("kappa", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("seed", [0, 1])
def test_relu_patterns_do_not_freeze_in_three_hundred_thousand_iterations(kappa, seed):
    of = standard.problem(kappa, 0.0, m=20, seed=seed)
    eta = standard.step(of)
    save, limits = rf.Save(frames=100, memory="4 GiB"), rf.Limits(steps=10**6, events=10**7)  # list every switch
    sol = rf.solve(of, rf.Descent(step=eta), t1=300_000 * eta, save=save, limits=limits)
    report = rf.check("kou2023.switching", sol)
    assert report.ok and report.claims[0].measured > 1000


@pytest.mark.parametrize("kappa", [0.05, 0.5])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_bits_of_a_sliding_flow_come_to_rest_and_decide_its_limits(kappa, seed):
    sol = standard.flow(standard.problem(kappa, 0.0, m=20, seed=seed), rtol=1e-9)
    bits = sol.bits_at(log_t=float(sol.log_t[-1]))
    assert np.sum((bits > 0) & (bits < 1)) > 20
    report = rf.check("kou2023.limits", sol)
    assert report.ok and report.applies


@pytest.mark.exhaustive
@pytest.mark.parametrize("kappa, slope", [(0.0, 0.1), (0.0, 0.5), (0.2, 0.1), (0.2, 0.5)])
def test_leaky_limits_at_the_handbooks_settings(kappa, slope):
    sol = standard.descent(standard.problem(kappa, slope, beta=0.1 * slope), 1_000_000)
    report = rf.check("kou2023.limits", sol)
    assert report.ok and report.applies
    assert float(claim(report, "d rho_{y_i").note.split()[-1]) < 4e-4
