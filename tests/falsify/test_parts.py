"""The parts of a search: how near a report is to a violation, where to look next, and what is made smaller."""

import math
from dataclasses import replace

import numpy as np
import pytest

import reluflow as rf
from reluflow.claim import Claim, Report
from reluflow.falsify.judgement import HOLDS, VIOLATED, Judged, excess, firm, judged, name, tightness
from reluflow.falsify.search import cma, random
from reluflow.falsify.shrink import shrink


@pytest.mark.parametrize("relation", ["<=", ">="])
@pytest.mark.parametrize("measured", [-3.0, -1e-12, 0.0, 1e-300, 0.2, 1.0, 5.0, math.inf])
@pytest.mark.parametrize("bound", [-1.0, 0.0, 0.2, 3.0])
@pytest.mark.parametrize("log", [False, True])
def test_the_excess_is_positive_exactly_where_a_claim_is_violated(relation, measured, bound, log):
    claim = Claim("c", measured, relation, bound, log=log)
    assert (excess(claim) > 0) == (claim.verdict == "violated")


def test_the_excess_grows_with_the_violation():
    values = [-1.0, -1e-6, 1e-9, 1e-3, 1.0, 1e6]
    for bound in (0.0, 0.5, -2.0):
        found = [excess(Claim("c", bound + v, "<=", bound)) for v in values]
        assert found == sorted(found) and len(set(found)) == len(found)


def test_an_equation_is_counted_in_slacks():
    assert excess(Claim("c", 1.0 + 3e-6, "=", 1.0, slack=1e-6)) == pytest.approx(math.log(3.0), rel=1e-6)
    assert excess(Claim("c", 1.0, "=", 1.0)) < 0 < excess(Claim("c", 1.0, "=", 1.1))


def test_hypotheses_come_before_measurements_before_claims():
    met, unmet, nearly = (Claim("h", v, ">", 0.0) for v in (1.0, -1.0, -0.1))
    ok, bad, unknown = (Claim("c", v, "<=", 1.0) for v in (0.5, 2.0, math.nan))
    order = [Report("r", [bad], [unmet]), Report("r", [bad], [nearly]), Report("r", [unknown], [met])]
    order += [Report("r", [ok], [met]), Report("r", [ok, bad], [met])]
    scores = [judged(r).score for r in order]
    assert scores == sorted(scores, reverse=True) and len(set(scores)) == len(scores)
    assert judged(order[0]).text == "h" and judged(order[-1]).tier == VIOLATED


def test_a_run_whose_record_contradicts_itself_is_no_counterexample():
    report = Report("r", [Claim("c", 2.0, "<=", 1.0)], record=[Claim("bits and signs agree", 1.0, "=", 0.0)])
    assert judged(report).tier == 0 and "contradicts itself" in judged(report).text


def test_a_constant_that_a_paper_leaves_open_is_not_refuted_unless_it_is_named():
    report = Report("r", [Claim("c", 2.0, "<=", 1.0, kind="fitted"), Claim("d", 0.5, "<=", 1.0)])
    assert judged(report).tier == HOLDS and judged(report, "c").tier == VIOLATED


def test_tightness_is_the_ratio_to_the_bound_from_either_side():
    assert tightness(Claim("c", 1.0, "<=", 4.0)) == pytest.approx(0.25)
    assert tightness(Claim("c", 4.0, ">=", 1.0)) == pytest.approx(0.25)
    assert tightness(Claim("c", -700.0, "<=", -690.0, log=True)) == pytest.approx(math.exp(-10.0))
    assert tightness(Claim("c", 1.0 + 1e-9, "<=", 1.0, slack=1e-8)) == 1.0
    assert math.isnan(tightness(Claim("c", -20.0, "<=", -900.0, slack=1000.0, log=True)))
    assert math.isnan(tightness(Claim("c", -1.0, "<=", 4.0))) and math.isnan(tightness(Claim("c", 1.0, "=", 1.0)))


def test_claims_of_different_runs_have_one_name_and_small_violations_are_not_firm():
    assert name(Claim("last arrival of V+ (3 neurons)", 1, "<=", 2)) == name(
        Claim("last arrival of V+ (12 neurons)", 1, "<=", 2)
    )
    assert name(Claim("t_3 - t_u, eps ell / (57 |D-|)", 1, "<=", 2)) == "t_3 - t_u, eps ell / (57 |D-|)"
    assert name(Claim("gap, largest up to T = 12.06, 8 frames", 1, "<=", 2)) == "gap, largest up to T = ..., ... frames"
    assert not firm(Claim("c", 1.0 + 5e-6, "<=", 1.0, slack=1e-6)) and firm(
        Claim("c", 1.0 + 5e-5, "<=", 1.0, slack=1e-6)
    )


def test_slack_of_logarithms_below_rounding_counts_as_a_factor():
    # The bound e^-12000 cannot be measured: the slack reaches up to the rounding e^-24, and the violation beyond that.
    assert firm(Claim("c", 9.0, "<=", -12000.0, slack=11976.0, log=True))
    assert not firm(Claim("c", -23.0, "<=", -12000.0, slack=11976.0, log=True))


def best_of(strategy, score, generations):
    draws, best = next(strategy), math.inf
    taken = 0
    while taken < generations:
        scores = np.array([score(u) for u in draws])
        best, taken = min(best, scores.min()), taken + len(draws)
        draws = strategy.send(scores)
    return best


def test_cma_finds_a_far_point_that_random_draws_do_not():
    score = lambda u: float(np.sum((u - 2.0) ** 2))
    assert best_of(cma(6, 0), score, 1000) < 1e-6 < 0.1 < best_of(random(6, 0), score, 1000)


def test_a_search_depends_on_its_seed_alone():
    score = lambda u: float(np.sum(u**4))
    assert best_of(cma(3, 1), score, 300) == best_of(cma(3, 1), score, 300) != best_of(cma(3, 2), score, 300)


def drawn(space):
    size = space.ladder()[-1]
    return space.spec(np.random.default_rng(3).normal(size=space.dim(size, "flow")), size, "flow")


def test_shrinking_keeps_the_claim_the_space_and_half_the_excess():
    space = rf.space.line(n=4, width=4, log_scale=(-1000.0, -5.0))
    spec = drawn(space)

    def evaluate(s):  # the spread of the inputs, which must stay large; another claim takes over when it is not
        spread = float(np.ptp(s.x[:, 0]))
        return Judged(VIOLATED, spread, "spread") if spread > 0 else Judged(VIOLATED, 99.0, "another")

    first = evaluate(spec)
    chain, runs = shrink(spec, first, space, evaluate)
    small, said = chain[-1]
    assert space.holds(small) and said.text == "spread" and said.value >= 0.5 * first.value
    assert len(small.x) == 2 and len(small.w) == 1 and small.characters <= 14 < spec.characters
    assert small.log_scale == -5.0 and 0 < runs <= 600


def test_shrinking_leaves_as_many_data_as_were_asked_for():
    space = rf.space.line(n=4, width=4)
    spec = drawn(space)
    chain, _ = shrink(spec, Judged(VIOLATED, 1.0, "c"), space, lambda s: Judged(VIOLATED, 1.0, "c"), fewest=4)
    assert [len(s.x) for s, _ in chain] == [4] * len(chain) and len(chain[-1][0].w) == 1


def test_nothing_is_shrunk_to_what_holds():
    space = rf.space.line(n=3, width=2)
    spec = drawn(space)
    evaluate = lambda s: Judged(VIOLATED, 1.0, "c") if s is spec else Judged(HOLDS, -1.0, "c")
    assert [s for s, _ in shrink(spec, evaluate(spec), space, evaluate)[0]] == [spec]
    always = lambda s: Judged(VIOLATED, 1.0, "c")
    assert [s for s, _ in shrink(spec, always(spec), space, always, lambda s, found: False)[0]] == [spec]


def test_a_neighbour_is_near_and_keeps_zeros_ones_and_signs():
    spec = drawn(rf.space.line(n=3, width=2))
    spec = replace(spec, y=np.array([0.0, -1.0, 0.3]))
    moved = spec.moved(np.random.default_rng(0), 1e-6)
    np.testing.assert_array_equal(moved.x[:, 1], 1.0)
    np.testing.assert_array_equal(moved.y[:2], spec.y[:2])
    np.testing.assert_array_equal(moved.s, spec.s)
    assert 0 < np.max(np.abs(moved.w / spec.w - 1.0)) < 1e-5
