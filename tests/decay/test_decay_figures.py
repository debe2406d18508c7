"""Figures on weight decay and sharpness: their facts hold, and wrong numbers are refused by the fact about them."""

import pytest

import reluflow as rf

FIGURES = rf.papers["extra"].figures
SMALL = {
    "spurious_minima": dict(scales=[0.0, -5.0], decays=[3e-3, 1e-2]),
    "grokking": dict(decays=[1e-2, 1e-3], tau=1.0, places=12, rtol=1e-6),
    "edge_of_stability": dict(steps=[0.2, 0.8], moments=60),
}
WRONG = [
    ("spurious_minima", "ratio", lambda a: a - 0.01, "no run is below"),
    ("spurious_minima", "ratio", lambda a: a * 1.01, "means optimal"),
    ("spurious_minima", "gap", lambda a: a + 1e-6, "is certified"),
    ("spurious_minima", "improved", lambda a: a + 0.1, "one more neuron"),
    ("spurious_minima", "optimum", lambda a: a * 1.001, "the optimum"),
    ("grokking", "limit_error", lambda a: a * 1.01, "test error of the limit"),
    ("grokking", "limit_norm", lambda a: a[::-1].values + 0 * a, "never rises"),
    ("grokking", "limit_loss", lambda a: a + 1e-7, "training loss"),
    ("grokking", "least", lambda a: a + 0.01, "least norm"),
    ("edge_of_stability", "sharpness", lambda a: 1.1 * a, "over 2/step"),
    ("edge_of_stability", "flow", lambda a: 0 * a + 1.0, "at the end over"),
]


@pytest.fixture(scope="module")
def numbers():
    made = {}

    def get(name):
        if name not in made:
            made[name] = FIGURES[name].compute("quick", **SMALL[name])
        return made[name]

    return get


@pytest.mark.parametrize("name", SMALL)
def test_every_stated_fact_holds_and_the_figure_draws(name, numbers):
    ds = numbers(name)
    bad = [str(f) for f in FIGURES[name].facts(ds) if not f.ok]
    assert not bad, "\n".join(bad)
    assert FIGURES[name].draw(ds) is not None and len(FIGURES[name].caption(ds)) > 300


@pytest.mark.parametrize(("name", "what", "change", "text"), WRONG)
def test_wrong_numbers_are_refused_by_the_fact_about_them(name, what, change, text, numbers):
    ds = numbers(name).copy(deep=True)
    ds[what] = change(ds[what])
    assert any(f.verdict == "violated" and text in f.text for f in FIGURES[name].facts(ds)), text
