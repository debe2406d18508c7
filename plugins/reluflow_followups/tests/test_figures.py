"""Every figure states facts that hold, and that wrong numbers break."""

import numpy as np
import pytest

import reluflow as rf

from .conftest import SMALL

PAPERS = sorted({name.split("/")[0] for name in SMALL})


def figure(name):
    paper, one = name.split("/")
    return rf.papers[paper].figures[one]


def test_every_figure_of_the_package_is_tested():
    mine = {f"{p}/{f}" for p in rf.papers if rf.papers[p].package == "reluflow-followups" for f in rf.papers[p].figures}
    assert mine == set(SMALL)


@pytest.mark.parametrize("name", SMALL)
def test_every_fact_holds_and_the_figure_draws(name, numbers):
    ds = numbers(name)
    bad = [str(f) for f in figure(name).facts(ds) if not f.ok]
    assert not bad, "\n".join(bad)
    assert len(figure(name).draw(ds).axes) >= 2 and len(figure(name).caption(ds)) > 300


WRONG = [
    ("boursier2025sword/dynamics", "converged", lambda a: 0 * a, "converged"),
    ("boursier2025sword/dynamics", "end", lambda a: a + 1e-4, "loss at the end minus"),
    ("boursier2025sword/dynamics", "outputs", lambda a: a + 1e-4, "outputs against the line"),
    ("boursier2025sword/dynamics", "groups", lambda a: a + 1, "directions of the neurons"),
    ("boursier2025sword/dynamics", "direction", lambda a: -a, "beta/|beta|"),
    ("boursier2025sword/dynamics", "size", lambda a: 1.001 * a, "joint size"),
    ("boursier2025sword/dynamics", "end_large", lambda a: a + 1e-4, "larger start"),
    ("boursier2025sword/dynamics", "norm", lambda a: 10 * a, "that of any network"),
    ("boursier2025sword/threshold", "near", lambda a: a + 0.01, "other than 0"),
    ("boursier2025sword/threshold", "tiny", lambda a: 0 * a, "at e^-4 and below"),
    ("boursier2025sword/threshold", "unfinished", lambda a: a + 1, "did not converge"),
    ("boursier2025sword/threshold", "switch", lambda a: a + np.nan, "whose switch was found"),
    ("boursier2025sword/threshold", "top", lambda a: a + 0.0875, "just where no neuron bends"),
    ("boursier2025sword/threshold", "switch", lambda a: a - 1.0, "one switch a start"),
    ("boursier2025sword/threshold", "switch", lambda a: a * a.width, "spread of the switch"),
    ("boursier2025threshold/samples", "loss", lambda a: 2 * a, "best linear function, largest"),
    ("boursier2025threshold/samples", "rest", lambda a: 0 * a, "have converged"),
    ("boursier2025threshold/samples", "loss", lambda a: a + 1e-3, "up to 8 samples"),
    ("boursier2025threshold/samples", "loss", lambda a: 0 * a, "from 24 samples on"),
    ("boursier2025threshold/samples", "own", lambda a: 1.001 * a, "patterns of their own end"),
    ("boursier2025threshold/samples", "patterns", lambda a: a + 5, "boundary: activation patterns, most"),
    ("boursier2025threshold/samples", "halves", lambda a: 0.9999 * a, "half spaces, farthest"),
    ("boursier2025threshold/samples", "patterns", lambda a: a + 5, "inputs: activation patterns, median"),
    ("boursier2025threshold/samples", "halves", lambda a: 0.9 * a, "half spaces, median"),
    ("boursier2025threshold/samples", "excess", lambda a: 0 * a + 1, "median excess error"),
    ("chistikov2023/rank_and_norm", "ratio_tiny", lambda a: a + 1e-3, "s2/s1 of W at e^-20"),
    ("chistikov2023/rank_and_norm", "ratio", lambda a: a**2, "power of the scale"),
    ("chistikov2023/rank_and_norm", "norm_tiny", lambda a: a - 0.1, "against the teacher's 2"),
    ("chistikov2023/rank_and_norm", "loss_tiny", lambda a: a + 1e-6, "loss there"),
    ("chistikov2023/rank_and_norm", "least", lambda a: 0 * a + 2, "certified from above"),
    ("chistikov2023/rank_and_norm", "least_bound", lambda a: a - 0.1, "value minus dual bound"),
    ("chistikov2023/rank_and_norm", "switch", lambda a: a + np.nan, "whose jump was found"),
    ("chistikov2023/rank_and_norm", "beside", lambda a: 0 * a, "just below the jump"),
    ("chistikov2023/rank_and_norm", "minimal", lambda a: 0 * a, "not of least norm"),
    ("frei2023/rank", "condition", lambda a: 0.5 * a, "what the condition asks"),
    ("frei2023/rank", "ratio", lambda a: a + 1e-3, "s3/s1 at small scale"),
    ("frei2023/rank", "apart", lambda a: a + 1e-3, "of one sign apart"),
    ("frei2023/rank", "margin", lambda a: 0.9 * a, "at the end, least"),
    ("frei2023/rank", "margin", lambda a: 1.1 * a, "at the end, largest"),
    ("frei2023/rank", "ratio", lambda a: a**2, "s3/s1 against its closed form"),
    ("frei2023/rank", "stable", lambda a: a + 0.01 * a.scale, "stable rank against its closed form there"),
    ("frei2023/rank", "stable", lambda a: a + 0.01 * a.scale, "small scale's at the end"),
    ("frei2023/rank", "closed_stable", lambda a: a + 1e-6, "stable rank at small scale"),
    ("frei2023/rank", "spread", lambda a: a + 0.01, "spread of the margins"),
    ("frei2023/rank", "out_condition", lambda a: 0 * a + 2, "outside the condition"),
    ("frei2023/rank", "out_stable", lambda a: a * (2 + (a.out_scale > -10)), "from all scales"),
    ("kunin2024/upstream", "loss", lambda a: a + 1e-6, "loss at the end"),
    ("kunin2024/upstream", "drift", lambda a: a + 1e-3, "change of a^2"),
    ("kunin2024/upstream", "changed", lambda a: a + 0.1, "most downstream"),
    ("kunin2024/upstream", "changed", lambda a: 0 * a + 0.1, "upstream (q >= 2)"),
    ("kunin2024/upstream", "changed", lambda a: -a, "share falls"),
    ("kunin2024/upstream", "half", lambda a: 0 * a + 1, "balanced over the faster"),
    ("kunin2024/upstream", "gap", lambda a: 0 * a + 1e-4, "order in the step"),
    ("kunin2024/upstream", "forks", lambda a: a + 1, "non-unique"),
    ("kunin2024/upstream", "gap", lambda a: a + 1, "its distance"),
    ("lyu2021/margin", "margin", lambda a: 1.1 * a, "above the certified largest"),
    ("lyu2021/margin", "largest", lambda a: 1.01 * a, "over that of the linear network, sym"),
    ("lyu2021/margin", "margin", lambda a: -a, "growth of the margin"),
    ("lyu2021/margin", "away", lambda a: 0 * a, "from log t = 20 on, least"),
    ("lyu2021/margin", "away", lambda a: 2 * a, "from log t = 20 on, largest"),
    ("lyu2021/margin", "share", lambda a: -a, "growth of the non-linear share"),
    ("lyu2021/margin", "share", lambda a: a + 0.01, "share at the end"),
    ("lyu2021/margin", "share", lambda a: 0 * a, "without the mirror image"),
    ("lyu2021/margin", "largest", lambda a: 0 * a + 1, "without it"),
    ("maennel2018/basins", "attracting", lambda a: 0 * a + 1, "attracting directions of the data"),
    ("maennel2018/basins", "groups", lambda a: a - 1, "groups of live neurons, least"),
    ("maennel2018/basins", "groups", lambda a: a + 1, "groups of live neurons, most"),
    ("maennel2018/basins", "off", lambda a: a + 1, "distance of a live neuron"),
    ("maennel2018/basins", "share", lambda a: 0 * a, "against the basin"),
    ("maennel2018/basins", "rate", lambda a: abs(a), "neurons shrink"),
    ("maennel2018/basins", "largest_output", lambda a: a + 1, "still 0"),
]


@pytest.mark.parametrize(("name", "what", "change", "text"), WRONG)
def test_wrong_numbers_are_refused_by_the_fact_about_them(name, what, change, text, numbers):
    ds = numbers(name)
    ds[what] = change(ds[what])
    assert any(not f.ok and text in f.text for f in figure(name).facts(ds)), text


def test_every_fact_is_shown_a_number_that_it_refuses(numbers):
    for name in SMALL:
        texts = [t for n, _, _, t in WRONG if n == name]
        missed = [f.text for f in figure(name).facts(numbers(name)) if not any(t in f.text for t in texts)]
        assert not missed, (name, missed)


def test_three_points_are_never_fitted_by_neurons_that_cannot_bend_the_function_upwards():
    # Width 20, start 10: of the neurons with a > 0 two are active on all points and four on none.
    from reluflow_followups.boursier2025sword import _points

    _, level = _points.least_squares(_points.data())
    assert not _points.bends_upwards(_points.problem(20, 0.0, 10)) and _points.bends_upwards(
        _points.problem(20, 0.0, 0)
    )
    for log_scale in (-100.0, -1.0, 1.5, 5.0, 8.0):
        sol = rf.solve(_points.problem(20, log_scale, 10), rf.Flow(rtol=1e-8))
        assert sol.outcome is rf.Outcome.STATIONARY
        assert sol.loss[-1] == pytest.approx(level, rel=1e-6)
    assert rf.solve(_points.problem(20, 1.5, 0), rf.Flow(rtol=1e-8)).loss[-1] < 1e-12


@pytest.mark.exhaustive
def test_a_draw_of_192_samples_with_four_directions_is_at_rest():
    # Normal inputs close to the teacher's boundary: the loss is 4.5% below that of its two half spaces, and exactly
    # that of least squares with the activation patterns that the neurons end with.
    from reluflow_followups.boursier2025threshold import _setting as of

    data = of.data(192, 9)
    init = rf.init.balanced(100, of.DIM, log_scale=-25.0, seed=9)
    sol = rf.solve(rf.Problem(data, init), rf.Flow(rtol=1e-8), t1=1e7)
    groups = rf.observe.merged(sol, angle=1e-3, share=1e-6)
    patterns = of.patterns(sol.final.w[[j for g in groups for j in g.neurons]], data)
    assert sol.outcome is rf.Outcome.STATIONARY and len(groups) == 4
    assert sol.loss[-1] < 0.96 * of.halves(data)
    assert sol.loss[-1] == pytest.approx(of.least_with(patterns, data), rel=1e-10)
    assert len(of.patterns(np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]), data)) == 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SMALL)
def test_every_fact_holds_at_the_size_of_the_command(name):
    bad = [str(f) for f in figure(name).facts(figure(name).compute("quick")) if not f.ok]
    assert not bad, "\n".join(bad)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SMALL)
def test_every_fact_holds_at_full_size(name):
    bad = [str(f) for f in figure(name).facts(figure(name).compute("full")) if not f.ok]
    assert not bad, "\n".join(bad)
