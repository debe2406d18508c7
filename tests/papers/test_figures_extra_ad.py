"""Figures beyond the papers, (a) to (d): facts hold on small settings, wrong numbers are refused, and they draw."""

import numpy as np
import pytest

from reluflow.papers._figures import Figure

SMALL = {
    "theorem1_scale": dict(width=12),
    "flow_and_descent": dict(powers=[3, 10, 11], seeds=1, halvings=1),
    "alignment_time": dict(each=2, width=40),
    "late_stable_rank": dict(kappas=[0.0, 0.003, 0.01]),
}


@pytest.fixture(scope="module")
def numbers():
    made = {}

    def get(name):
        if name not in made:
            made[name] = Figure("extra", name).compute("quick", **SMALL[name])
        return made[name].copy(deep=True)

    return get


def facts(name, ds):
    return Figure("extra", name).facts(ds)


def refused(name, ds):
    """Texts of the facts that fail."""
    return [f.text for f in facts(name, ds) if not f.ok]


@pytest.mark.parametrize("name", SMALL)
def test_every_fact_holds_and_the_figure_draws_from_its_numbers(name, numbers):
    ds, figure = numbers(name), Figure("extra", name)
    assert not refused(name, ds), "\n".join(str(f) for f in facts(name, ds) if not f.ok)
    assert figure.draw(ds) is not None and len(figure.caption(ds)) > 500
    assert "To cite:" in figure.caption(ds)
    assert set(figure.module.SETTINGS["quick"]) == set(figure.module.SETTINGS["full"])


def _tried(*kept):
    return {"tried_step": ("attempt", [2e-3, 5e-4]), "tried_kept": ("attempt", list(kept))}


# What each must refuse: a change of the numbers, and words of the facts that then fail.
WRONG = {
    "theorem1_scale": [
        ("a scale above (28)", lambda d: d.assign(log_eps=d.log_eps_b + 1.0), "eps against (28)"),
        ("a neuron later than t1", lambda d: d.assign(arrival=d.arrival + 1000.0), "against t1"),
        ("a neuron lost", lambda d: d.assign(alive=0 * d.alive), "lost"),
        ("norms that grow early", lambda d: d.assign(log_norm=d.log_norm + 9000.0), "Lemma 3"),
        ("an escape before T", lambda d: d.assign(t2=d.t2 / 20), "the earlier t2"),
        ("an escape at another rate", lambda d: d.assign(t2=1.01 * d.t2), "escape"),
        ("an escape after (39)", lambda d: d.assign(t2=100 * d.t2), "against (39)"),
        ("a loss like t^-0.9", lambda d: d.assign(log_loss=0.9 * d.log_loss), "log of L over"),
        (
            "a tail without the logarithm",
            lambda d: d.assign(side_log_loss=d.side_log_loss + np.log(np.maximum(d.log_t, 1))),
            "tail",
        ),
        ("a tail off by two per cent", lambda d: d.assign(side_log_loss=d.side_log_loss + 0.02), "tail"),
        ("a stable rank above 2", lambda d: d.assign(stable_rank=d.stable_rank + 1.2), "largest"),
        ("another limit of the rank", lambda d: d.assign(stable_rank=d.stable_rank + 0.01), "as t -> infinity"),
    ],
    "alignment_time": [
        ("times off by 1e-6", lambda d: d.assign(arrival=d.arrival * (1 + 1e-6)), "against the formulas"),
        ("a neuron outside at the end", lambda d: d.assign(end=0 * d.end), "nor dead"),
        ("negative neurons that live", lambda d: d.assign(end=0 * d.end + 1), "not dead"),
        ("a power of mu", lambda d: d.assign(arrival=d.arrival * d.mu**-0.05), "growth of the last"),
        ("later than the worst case", lambda d: d.assign(worst=d.worst - 5.0), "log cot"),
        ("later than t1", lambda d: d.assign(t1=d.t1 * 1e-30), "theorem's t1"),
        ("later than t1'", lambda d: d.assign(t1_sharp=d.t1_sharp * 1e-9), "sharper"),
        ("t1 like mu^-1/2", lambda d: d.assign(t1=d.t1 * d.mu**2 * 1e16), "slope of the theorem's t1"),
        ("six decades only", lambda d: d.isel(mu=slice(2, None)), "decades"),
    ],
}
WRONG["flow_and_descent"] = [
    ("a flow that changes signs", lambda d: d.assign(flips=d.flips + 1), "changed sign, flow"),
    ("a flow that rests", lambda d: d.assign(end_loss=0 * d.end_loss + d.saddle), "the flow leaves"),
    ("descent that goes on", lambda d: d.assign(end_loss=0.999 * d.end_loss), "rests at the saddle"),
    ("descent that passes", lambda d: d.assign(end_loss=0.001 * d.end_loss), "the step needed is too small"),
    ("another saddle", lambda d: d.assign(stay=d.stay + 1e-5), "the same saddle"),
    ("a sign that is kept", lambda d: d.assign(unflipped=d.unflipped + 1), "keep their sign in descent"),
    ("times that know the scale", lambda d: d.assign(flip_time=d.flip_time + 0.01 * d.power), "spread over scales"),
    ("half the rate", lambda d: d.assign(probe_rate=0.5 * d.probe_rate), "less log(2)/(2d)"),
    ("a rate off by one per cent", lambda d: d.assign(probe_rate=1.01 * d.probe_rate), "less log(2)/(2d)"),
    ("another speed of exit", lambda d: d.assign(deep_exit=1.00001 * d.deep_exit), "per unit of log(1/scale)"),
    ("a step that failed", lambda d: d.assign(_tried(2, 0)), "half the step needed"),
    ("a step that should have failed", lambda d: d.assign(_tried(2, 3)), "twice the step needed"),
]
WRONG["late_stable_rank"] = [
    ("another limit", lambda d: d.assign(f3=d.f3 + 1e-3), "from W(0)"),
    (
        "an approach like 1/sqrt(log)",
        lambda d: d.assign(stable_rank=d.f3 + d.log_s**-0.5 + 0 * d.kappa),
        "over that at",
    ),
    ("a late change of a bit", lambda d: d.assign(switch=d.switch + 5.0), "last change"),
    ("pairs that slide", lambda d: d.assign(sliding=d.sliding + 1), "sliding at the end"),
    ("none that slides", lambda d: d.assign(sliding=0 * d.sliding), "fewest"),
    ("a pair lost", lambda d: d.assign(lost=d.lost + 1), "went off"),
    ("the rank of orthogonal data", lambda d: d.assign(stable_rank=d.stable_rank + 0.5), "over the limit"),
    ("turned on too late", lambda d: d.assign(turned=1.05 * d.turned), "first own-class pair"),
]
CASES = [(name, why, change, words) for name, rows in WRONG.items() for why, change, words in rows]


@pytest.mark.parametrize("name, why, change, words", CASES, ids=[f"{c[0]}: {c[1]}" for c in CASES])
def test_numbers_that_are_wrong_are_refused(name, why, change, words, numbers):
    found = refused(name, change(numbers(name)))
    assert any(words in text for text in found), (why, found)


def test_every_fact_of_every_figure_is_refused_by_some_wrong_numbers(numbers):
    for name, rows in WRONG.items():
        ds = numbers(name)
        texts = {f.text for f in facts(name, ds)}
        hit = set().union(*({f.text for f in facts(name, change(ds)) if not f.ok} for _, change, _ in rows))
        assert texts <= hit, (name, texts - hit)


def test_the_margin_of_a_class_is_the_largest_least_cosine_over_a_fine_grid():
    from reluflow.papers.extra.theorem1_scale import margin

    x = np.random.default_rng(0).normal(size=(5, 2)) + [4.0, 0.0]
    angle = np.linspace(-np.pi, np.pi, 400_001)
    best = np.max(np.min(x @ np.stack([np.cos(angle), np.sin(angle)]), axis=0))
    # The least cosine has a corner at its maximum: half a cell of the grid misses it by |x| times that angle.
    assert 0.0 <= margin(x)[0] - best <= np.linalg.norm(x, axis=1).max() * 0.5 * (angle[1] - angle[0])
    with pytest.raises(ValueError, match="half-space"):
        margin(np.array([[1.0, 0.0], [-1.0, 0.0]]))


def test_the_saddle_of_the_five_points_is_1209_over_38000():
    from reluflow.papers.extra.flow_and_descent import saddle

    assert saddle() == pytest.approx(1209 / 38000, rel=1e-14)


def test_kappas_must_start_with_the_one_that_predicts_the_rest():
    with pytest.raises(ValueError, match="must start with 0"):
        Figure("extra", "late_stable_rank").compute("quick", kappas=[0.01, 0.1])


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", ["quick", "full"])
@pytest.mark.parametrize("name", SMALL)
def test_every_fact_holds_at_the_sizes_of_the_gallery(name, size):
    found = [str(f) for f in facts(name, Figure("extra", name).compute(size)) if not f.ok]
    assert not found, "\n".join(found)
