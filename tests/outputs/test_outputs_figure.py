"""The figure of three classes: facts hold on small settings, wrong numbers are refused, and it draws."""

import numpy as np
import pytest

from reluflow.papers._figures import Figure


@pytest.fixture(scope="module")
def numbers():
    return Figure("extra", "three_classes").compute("quick")


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
    ("half-times late by a millionth", lambda d: d.assign(half=d.half * (1 + 1e-6)), "e^-100 and below"),
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


@pytest.mark.parametrize("why, change, words", WRONG)
def test_numbers_that_are_wrong_are_refused(why, change, words, numbers):
    assert any(words in text for text in refused(change(numbers)))
