"""Three classes and ten digits: facts hold on small settings, wrong numbers are refused, and the figures draw."""

import os
from pathlib import Path

import numpy as np
import pytest

from reluflow.papers._figures import Figure


@pytest.fixture(scope="module")
def numbers():
    return Figure("extra", "three_classes").compute("quick", points=200)


def refused(ds):
    return [fact.text for fact in Figure("extra", "three_classes").facts(ds) if not fact.ok]


def test_every_fact_holds_and_the_figure_draws_from_its_numbers(numbers):
    figure = Figure("extra", "three_classes")
    assert not refused(numbers)
    assert figure.draw(numbers) is not None and "To cite:" in figure.caption(numbers)


def test_the_half_times_are_those_of_the_handbook(numbers):
    # vector_outputs, fact C; at e^-30 and e^-300.
    expected = [[105.09790178, 147.51752785, 202.81024069], [1050.0982341861, 1483.9493443039, 2092.8072243244]]
    np.testing.assert_allclose(numbers.half, expected, rtol=1e-8)


WRONG = [
    ("half-times late by a millionth", lambda d: d.assign(half=d.half * (1 + 1e-6)), "e^-300 and below"),
    ("half-times late by a thousandth", lambda d: d.assign(half=d.half * 1.001), "all scales"),
    ("another rate", lambda d: d.assign(half=d.half * (1 + 1e-4)), "class 0 per unit"),
    ("another rate", lambda d: d.assign(half=d.half * (1 + 1e-4)), "class 1 per unit"),
    ("another rate", lambda d: d.assign(half=d.half * (1 + 1e-4)), "class 2 per unit"),
    ("times that a rotation changes", lambda d: d.assign(rotated=d.rotated * (1 + 1e-6)), "rotated"),
    ("no saddles", lambda d: d.assign(loss=d.loss + 1e-6), "plateau 0"),
    ("no saddles", lambda d: d.assign(loss=d.loss + 1e-6), "plateau 1"),
    ("no saddles", lambda d: d.assign(loss=d.loss + 1e-6), "plateau 2"),
    ("a larger norm", lambda d: d.assign(theta=d.theta * 1.001), "least norm"),
]


def test_numbers_that_are_wrong_are_refused(numbers):  # in one test: the figure's numbers take ten seconds
    missed = [(why, words) for why, change, words in WRONG if not any(words in t for t in refused(change(numbers)))]
    assert not missed


MNIST = Path(os.environ.get("RELUFLOW_DATA", "nowhere")) / "mnist"


@pytest.mark.skipif(not MNIST.is_dir(), reason="MNIST is not at $RELUFLOW_DATA/mnist/")
def test_ten_digits_by_the_flow_and_by_descent():
    figure = Figure("extra", "ten_digits")
    ds = figure.compute("quick", images=20, width=6, t1=30.0)
    assert all(fact.ok for fact in figure.facts(ds)), [str(fact) for fact in figure.facts(ds) if not fact.ok]
    assert figure.draw(ds) is not None and "To cite:" in figure.caption(ds)
    wrong = [
        ds.assign(coarse=1.0),
        ds.assign(gap=ds.gap / ds.step),
        ds.assign(rank=ds["rank"].isel(step=slice(None, None, -1)).drop_vars("step")),
        ds.assign(flow_rank=ds.flow_rank.isel(t=slice(None, None, -1)).drop_vars("t")),
        ds.assign(flow_loss=ds.flow_loss * np.where(ds.flow_rank == ds.flow_rank.min(), 0.1, 1.0)),
        ds.assign(flow_error=0.1),
    ]
    missed = [[f.text for f in figure.facts(d) if not f.ok] for d in wrong]
    assert all(missed) and set().union(*missed) == {f.text for f in figure.facts(ds)}
