"""Extra figures on limits: saddles without Assumption 3, minimum norm, the stable rank's rate."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.papers.extra import groups_of_saddles

FIGURES = rf.papers["extra"].figures
SMALL = {
    "groups_of_saddles": dict(seeds=4, widths=[2, 8], draws=100),
    "not_minimum_norm": dict(seeds=2, log_scales=[-46.0, -1000.0]),
    "stable_rank_rate": dict(runs=[[0.02, 0.5]], iterations=20_000),
}


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


WRONG = [
    ("groups_of_saddles", "half", lambda a: 1.05 * a, "time over that of 4.6"),
    ("groups_of_saddles", "clock", lambda a: 1.02 * a, "it falls like 1/ell"),
    ("groups_of_saddles", "norm", lambda a: a + 0.01, "|theta|^2 over"),
    ("groups_of_saddles", "off", lambda a: a + 1e-3, "predicted saddles"),
    ("groups_of_saddles", "end", lambda a: a * 0, "without a neuron"),
    ("groups_of_saddles", "end_predicted", lambda a: a * 0, "never fitted"),
    ("groups_of_saddles", "groups", lambda a: a * 0 + 2, "more than the two groups"),
    ("groups_of_saddles", "assumption3", lambda a: a + 0.3, "Assumption 3 holds"),
    ("groups_of_saddles", "covered", lambda a: a + 0.3, "every label has a neuron"),
    ("not_minimum_norm", "norm", lambda a: a - 1.0, "above a certified bound"),
    ("not_minimum_norm", "loss", lambda a: a + 1e-6, "every run fits"),
    ("not_minimum_norm", "lower", lambda a: a - 0.1, "is certified"),
    ("not_minimum_norm", "norm", lambda a: a + 0.01 * a.seed, "the same limit"),
    ("not_minimum_norm", "size", lambda a: 1.01 * a, "excess ="),
    ("not_minimum_norm", "kink", lambda a: a + 0.01, "kinks"),
    ("not_minimum_norm", "least", lambda a: a + 0.001, "minimum of"),
    ("not_minimum_norm", "norm", lambda a: a + 0.001, "limit of |theta|^2"),
    ("stable_rank_rate", "drift", lambda a: a + 1e-3, "E after T_pat"),
    ("stable_rank_rate", "bound", lambda a: 0.5 * a, "the handbook's bound"),
    ("stable_rank_rate", "excess", lambda a: 1.2 * a, "over C_j"),
    ("stable_rank_rate", "excess", lambda a: a * _log(a), "farthest from -2"),
    ("stable_rank_rate", "excess", lambda a: a * _log(a) ** 1.1, "the printed -1"),
    ("stable_rank_rate", "descent", lambda a: a * 0 + 1, "over the last decade"),
]


def _log(excess):
    """log t, in the shape of the excess (it is proportional to the excess to the power -1/2, late)."""
    return excess**-0.5


@pytest.mark.parametrize(("name", "what", "change", "text"), WRONG)
def test_wrong_numbers_are_refused_by_the_fact_about_them(name, what, change, text, numbers):
    ds = numbers(name).copy(deep=True)
    ds[what] = change(ds[what])
    assert any(f.verdict == "violated" and text in f.text for f in FIGURES[name].facts(ds)), text


def test_a_limit_whose_neurons_all_touch_the_certificate_would_be_of_minimum_norm(numbers):
    ds = numbers("not_minimum_norm").copy(deep=True)
    ds["eta"] = ds.sign
    said = {f.text: f.verdict for f in FIGURES["not_minimum_norm"].facts(ds)}
    assert said["a neuron where the certificate is not tight: least s_j eta"] == "violated"
    assert said["excess = 2 sum |a_j| |w_j| (1 - s_j eta)"] == "violated"


def test_sorting_rates_gives_the_formula_of_the_library():
    data = rf.data.orthonormal(6, labels=[1.3, 0.8, -0.6, -0.9, 1.1, -0.35], seed=3)
    for seed in range(20):
        start = rf.init.balanced(7, data.d, seed=seed)
        clock, _ = groups_of_saddles.course(data.y, groups_of_saddles.starts(data, start))
        saddles = rf.limit(rf.Problem(data, start)).saddles
        found = {s.slope: set(s.data) for s in saddles}
        assert np.allclose(sorted(found), np.unique(clock[np.isfinite(clock)]))
        assert [g for _, g in sorted(found.items())] == [
            set(np.flatnonzero(clock == T)) for T in np.unique(clock[np.isfinite(clock)])
        ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SMALL)
def test_every_stated_fact_holds_at_quick_size(name):
    bad = [str(f) for f in FIGURES[name].facts(FIGURES[name].compute("quick")) if not f.ok]
    assert not bad, "\n".join(bad)
