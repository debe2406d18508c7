"""Subjects on which a search once called a corrected form violated: a slack, a hypothesis or a rounding was missing."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.papers.boursier2022._track import Track
from reluflow.papers.boursier2022.nearly_orthogonal import tilted
from reluflow.papers.lee2023._bounds import log_h
from reluflow.single import angle


def holds(report):
    return report.applies and report.ok and not report.unfinished


def balanced(x, y, w, signs, log_scale, **keys):
    w = np.array(w)
    init = rf.Params(w, np.array(signs) * np.linalg.norm(w, axis=1), log_scale=log_scale)
    return rf.Problem(rf.Data(np.array(x), np.array(y)), init, **keys)


def test_h_of_criterion_11_increases_where_its_angle_is_small():
    run = rf.single.solve(rf.single.Problem(m=0, norm=0.0088, phi=0.0015), rf.Flow(rtol=1e-10), t1=60.0)
    assert holds(rf.check("lee2023.criterion11", run))


def test_the_logarithm_of_s_is_right_at_both_ends():
    mp = pytest.importorskip("mpmath")
    with mp.workdps(400):
        for y in (-250.0, -7.17, -2.0, -1.0, 0.0, 1.0, 7.0, 30.0):
            phi = 2 * mp.atan(mp.exp(y))
            exact = mp.log((mp.sin(phi) - phi * mp.cos(phi)) / mp.pi)
            assert float(abs(angle.log_s(y) / exact - 1)) < 2e-14
    assert np.all(np.diff(log_h(0, np.linspace(-900.0, 30.0, 200))) > 0)


def test_the_saddle_of_fact_1_is_one_for_large_labels():
    x, y = np.eye(2), [34.81377348806958, -144.0865989832124]
    w = [[2.255491303799721, -0.9679937573067354], [0.31698339551521276, 3.183152864606646]]
    sol = rf.solve(balanced(x, y, w, [1, -1], -1016.5961200758413, reduction="sum"), rf.Flow(rtol=1e-12))
    assert holds(rf.check("boursier2022.fact1", sol))


def test_lemma_12_leaves_room_for_the_rounding_of_a_logarithm():
    x, y = np.eye(2), [4.923057003767181, -5.00442039964608]
    w = [[1.5639167452380613, -0.10075186163114691], [0.17206152336041242, 2.215484812714436]]
    sol = rf.solve(balanced(x, y, w, [1, -1], -362452.8520513884, reduction="sum"), rf.Flow(rtol=2e-13))
    assert not [c for c in rf.check("boursier2022.lemma12", sol).claims if c.verdict == "violated"]


def test_crossings_of_the_limit_are_asked_for_before_the_first_exit_only():
    y = [4.2, 3.4, -2.8, 0.53]
    w = [[1.93, 2.12, 4.1, 0.6], [-0.79, -2.5, 1.34, 0.5], [0.91, -0.32, -0.72, 3.8], [-0.5, -4.5, -0.18, 1.3]]
    report = {}
    for log_scale in (-20.0, -100.0):
        sol = rf.solve(balanced(np.eye(4), y, w, [1, -1, -1, -1], log_scale, reduction="mean"))
        report[log_scale] = rf.check("boursier2022.limit_alignment", sol)
    assert not report[-20.0].applies and report[-100.0].applies
    assert not [c for c in report[-100.0].claims if c.verdict == "violated"]


def test_the_first_exit_counts_where_it_fits_inputs_of_several_norms():
    # The first saddle fits norms 1 and 2, so outputs of half the labels have no formula; the other class, much later,
    # has one. "Midway to the first exit" was read there, when the first class had long been fitted.
    problem = balanced(np.diag([1.0, 2.0, 1.0]), [1.0, 1.0, -0.1], [[1.0, 1, 0.5], [-1.0, -1, 1]], [1, -1], -60.0)
    sol = rf.solve(problem)
    track, report = Track(sol), rf.check("boursier2022.limit_alignment", sol)
    first, last = track.exits
    assert first == pytest.approx(60 / (np.sqrt(5) / 3), rel=0.1) and last > 10 * first
    assert holds(report) and report.claims[-1].slack < 1e-3


def test_a_class_of_several_norms_that_is_fitted_last_is_waited_for():
    problem = balanced(np.diag([1.0, 2.0, 5.0]), [0.1, 0.1, -1.0], [[1.0, 1, 0.5], [-1.0, -1, 1]], [1, -1], -60.0)
    track = Track(rf.solve(problem, t1=400.0))
    first, last = track.exits
    assert first < 60 and last > 700 and "both classes" in track.unfit


def test_nearly_orthogonal_rows_exclude_neurons_that_start_on_a_kink():
    problem = balanced(np.eye(2), [-1.0, 0.1], [[1.0, 1.0], [2.0, 1.0], [1.0, 0.0]], [1, -1, 1], -5.0)
    assert not rf.check("boursier2022.nearly_orthogonal", problem).applies


def test_bits_at_the_start_are_exact_for_a_small_neuron():
    w = [[0.13, 0.83], [-0.25, 1.07], [-0.43, 0.00146], [-1.49, -0.43]]
    init = rf.Params(np.array(w), np.array([1, 1, -1, -1]) / 4, log_scale=-9.84, log_scale_a=0.0)
    relu = rf.LeakyReLU(0.0, at_zero=1.0)
    problem = rf.Problem(rf.Data(np.eye(2), [1.0, -1.0]), init, loss="logistic", train="first", activation=relu)
    assert holds(rf.check("kou2023.relu_rate", rf.solve(problem, rf.Flow(rtol=1e-10), log_t1=100.0)))


@pytest.mark.parametrize(("cosine", "switch"), [(0.0005, 130), (0.0003, 213.8)])
def test_the_growth_of_margins_is_read_after_the_last_switch(cosine, switch):
    # A neuron of the first datum drifts into the second one's half space and changes its alpha as late as that.
    data = rf.Data(np.array([[1.0, 0, 0], [cosine, 1, 0], [0, 0, 1]]), [1.0, 1, -1])
    start = rf.init.fixed_output(8, 3, log_scale=-1.0, seed=0)
    problem = rf.Problem(data, start, loss="logistic", activation=rf.ReLU(at_zero=1.0), train="first")
    first, second, spread = rf.check("kou2023.width", problem, widths=(4, 8)).claims
    if switch < 0.9 * 230:
        assert {c.verdict for c in (first, second, spread)} == {"consistent so far"}
        assert max(abs(first.measured - 1), abs(second.measured - 1), spread.measured) < 1e-10
        assert max(first.slack, second.slack) < 2e-6
    else:
        assert {c.verdict for c in (first, second, spread)} == {"unfinished"}
        assert f"log s = {switch}" in first.missing


def test_the_least_force_until_t2_counts_t2_itself():
    x = [
        [-0.6802615102415948, 0.01626004118945727, 0.00930861189540961],
        [0.9606254943381215, 0.2313090349248358, 0.020506209751221503],
        [0.5439552275662485, -0.02578667342955228, 0.06610996719526123],
        [2.55745024967001, 0.19710118055348913, 0.07681640399331364],
    ]
    w = [
        [-0.6375757102802153, 0.2416869311304533, 1.1241639917593569],
        [2.711563788528812, 1.0576957569553176, 0.09945804336616794],
    ]
    problem = balanced(x, [-1.0, 1, 1, 1], w, [1, -1], -23368.07611765637, loss="exponential", reduction="sum")
    report = rf.check("min2024.sharp_t2", rf.solve(problem, rf.Flow(rtol=1e-8), log_t1=18.06))
    assert not [c for c in report.claims if c.verdict == "violated"]


def test_a_group_has_grown_at_t2_only_if_neurons_arrive_before():
    # The second neuron belongs to no group, and its output of 1 on the other class is not that of its group.
    w = [[0.3], [-1.0], [-0.001]]
    problem = balanced([[1.0], [-1.0]], [1.0, -1.0], w, [1, 1, -1], 0.0, loss="exponential", reduction="sum")
    report = rf.check("min2024.final_rate", rf.solve(problem, t1=4.0))
    grown = next(c for c in report.claims if "Vt-" in c.text)
    late = next(h for h in report.hypotheses if "arrives before t2" in h.text)
    assert grown.measured < 0.1 < grown.bound and not late.ok and not report.applies


def test_the_poster_says_nothing_of_directions_where_every_neuron_starts_dead():
    w = [[-1.0, 0.1], [-1.0, -0.1]]
    problem = balanced([[1.0, 0.0], [1.0, 0.5]], [1.0, 1.0], w, [1, -1], -50.0, loss="exponential", reduction="sum")
    report = rf.check("min2024.poster", rf.solve(problem, t1=5.0))
    assert report.claims[0].verdict == "unmeasured" and not report.applies


def test_an_equality_of_lemma_15_holds_up_to_roundings_of_its_logarithms():
    x = [[4.548940669963812, -0.026728693693140685], [-0.28897625692967877, 0.0016979684758397064]]
    w = [[2.437679480996303, -0.054163952518103534], [3.3380093199006873, 4.5784688088988155]]
    problem = balanced(x, [1.0, -1.0], w, [1, -1], -2121.5157461746426, loss="exponential", reduction="sum")
    assert holds(rf.check("min2024.lemma15", rf.solve(problem, rf.Flow(rtol=1e-8), log_t1=18.0)))


@pytest.mark.parametrize(
    ("name", "neuron"),
    [
        ("theorem3_2", {"m": 2, "norm": 0.00399, "phi": 0.0004}),  # at t = 60 the loss has not changed by a rounding
        ("theorem3_2", {"m": 2, "norm": 0.005708985318236008, "phi": 0.0029965195009623797}),  # one rounding up
        ("rates", {"m": 0, "norm": 4.953588770853872, "phi": 2.0018502472263338}),  # v* is all but met on the way
        ("rates", {"m": 0, "norm": 4.9520806853132235, "phi": 2.0018903322553916}),  # and nearly so
        ("rates", {"m": 1, "norm": 0.03, "phi": 0.18}),  # far from its limit at t = 60
        ("restarts", {"m": 1, "norm": 0.30638569913963226, "phi": 0.00041375853662044444}),  # widths equal to rounding
        ("theorem3_3", {"m": 0, "norm": 19.838523840528172, "phi": 0.00038765549341117307}),  # a frame 117 rtol off
        ("orbit", {"m": 1, "norm": 1.315445796719499, "phi": 1.1979389251814}),  # a frame 126 rtol off
    ],
)
@pytest.mark.parametrize("rtol", [1e-10, 1e-12])
def test_claims_on_one_neuron_are_not_violated_by_roundings(name, neuron, rtol):
    run = rf.single.solve(rf.single.Problem(**neuron), rf.Flow(rtol=rtol), t1=60.0)
    assert not [c for c in rf.check(f"lee2023.{name}", run).claims if c.verdict == "violated"]


def test_frames_of_one_neuron_between_steps_lie_on_its_orbit():
    run = rf.single.solve(
        rf.single.Problem(m=1, norm=1.315445796719499, phi=1.1979389251814), rf.Flow(rtol=1e-10), t1=60
    )
    rising = np.flatnonzero(np.diff(run.y, prepend=-np.inf) > 0)[1:]
    exact = rf.single.orbit(run.problem, y=run.y[rising])
    assert np.max(np.abs(exact.log_norm - run.log_norm[rising])) < 2e-10


def test_nearly_orthogonal_rows_need_not_have_events():
    problem = balanced(np.eye(2), [0.0017772300184495, -0.0015758479588865366], [[1.0, -2], [-1, 3]], [1, -1], -5.0)
    assert not [c for c in rf.check("boursier2022.nearly_orthogonal", problem).claims if c.verdict == "violated"]


def test_cosines_of_lambda_itself_can_switch_a_grown_neuron_on():
    """A neuron that starts off a datum by 0.5 lambda and grows to length 0.8 meets it when rows are lambda from
    orthogonal: the final networks stay 0.1 apart as lambda falls. Half of what keeps it off is small enough."""
    w = [
        [3.071183929289436, 1.8899334216930543, 0.7670578459735846, -1.0814719562974935],
        [2.021293286847013, 1.3719709896183665, 0.09291027579752664, 0.05972463940502848],
        [-1.8844206268064525, -1.6578021526638362, 0.6687258683885011, -0.3335219411628251],
        [-0.5173950910409777, 0.6409417507670819, 2.2784831758547774, 1.4618698160181212],
    ]
    y = [-0.1680638764188266, -0.20507784557776348, 0.3255170510746512, -1.0636618170197245]
    problem = balanced(np.eye(4), y, w, [1, -1, -1, -1], -10.0, reduction="mean")
    report = rf.check("boursier2022.nearly_orthogonal", problem)
    assert report.applies and not [c for c in report.claims if c.verdict == "violated"]
    lam = np.exp(-10.0)
    ends = [
        rf.solve(rf.Problem(d, problem.init, reduction="mean")).final for d in (problem.data, tilted(problem.data, lam))
    ]
    apart = ends[0].w * np.exp(ends[0].log_scale)[:, None] - ends[1].w * np.exp(ends[1].log_scale)[:, None]
    assert np.linalg.norm(apart) > 1000 * lam
