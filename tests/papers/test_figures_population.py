"""Figures on infinite data: facts hold on small settings, wrong numbers are refused, and they draw."""

import numpy as np
import pytest

from reluflow.papers._figures import Figure

SMALL = {
    "population_saddles": dict(log_scales=[-1000.0, -2000.0], width=6, dim=3),
    "population_samples": dict(sizes=[50, 200, 800], seeds=4, times=[1.0, 2.0, 3.0]),
    "population_spurious": dict(teachers=[5, 8], seeds=8, extra=[0, 1]),
}
LONG = ("population_spurious",)
NAMES = [pytest.param(name, marks=[pytest.mark.exhaustive] if name in LONG else []) for name in SMALL]


@pytest.fixture(scope="module")
def numbers():
    made = {}

    def get(name):
        if name not in made:
            made[name] = Figure("extra", name).compute("quick", **SMALL[name])
        return made[name].copy(deep=True)

    return get


@pytest.mark.parametrize("name", NAMES)
def test_every_fact_holds_and_the_figure_draws_from_its_numbers(name, numbers):
    ds, figure = numbers(name), Figure("extra", name)
    assert not [str(f) for f in figure.facts(ds) if not f.ok]
    assert figure.draw(ds) is not None and len(figure.caption(ds)) > 500
    assert "To cite:" in figure.caption(ds)


# What each must refuse: a change of the numbers, and words of the facts that then fail.
WRONG = [
    ("population_saddles", "times that grow by another rate", lambda d: d.assign(time=1.001 * d.time), "first growth"),
    ("population_saddles", "the same", lambda d: d.assign(time=1.001 * d.time), "second growth"),
    ("population_saddles", "the same", lambda d: d.assign(time=1.001 * d.time), "parting of the cluster"),
    ("population_saddles", "another saddle", lambda d: d.assign(level=d.level + 1e-5), "three saddles"),
    ("population_saddles", "rounding", lambda d: d.assign(gap=d.gap.clip(min=-36.0)), "smallest difference"),
    ("population_saddles", "cost that grows", lambda d: d.assign(steps=-d.log_scale), "steps at the smallest"),
    ("population_samples", "errors like 1/n", lambda d: d.assign(error=d.error / np.sqrt(d.n) ** 3), "power of n"),
    ("population_samples", "errors that stay", lambda d: d.assign(error=d.error * np.sqrt(d.n)), "at the largest n"),
    ("population_samples", "a time unlike the others", lambda d: d.assign(error=d.error * d.time**3), "largest over"),
    ("population_spurious", "trapped at 5", lambda d: d.assign(loss=d.loss + 0.027), "k <= 5"),
    ("population_spurious", "never trapped", lambda d: d.assign(loss=0 * d.loss), "known spurious minimum"),
    ("population_spurious", "trapped elsewhere", lambda d: d.assign(loss=d.loss + 0.01), "anywhere else"),
    ("population_spurious", "no saddle", lambda d: d.assign(least=abs(d.least)), "k = 5"),
    ("population_spurious", "no minimum", lambda d: d.assign(least=-abs(d.least)), "smallest for k >= 6"),
    ("population_spurious", "width does not help", lambda d: d.assign(wide=0 * d.wide + 1.0), "share trapped"),
]


@pytest.mark.parametrize(
    "name, what, change, words",
    [pytest.param(*row, marks=[pytest.mark.exhaustive] if row[0] in LONG else []) for row in WRONG],
)
def test_wrong_numbers_are_refused(name, what, change, words, numbers):
    refused = [f.text for f in Figure("extra", name).facts(change(numbers(name))) if not f.ok]
    assert any(words in text for text in refused), (what, refused)
