"""Verdicts with weight decay: globally optimal or spurious, against the certified convex optimum."""

import numpy as np
import pytest

import reluflow as rf

THREE = rf.Data([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]], [1.1, 0.1, 0.8])
FIVE = rf.data.five_points()
DATA = {"three": THREE, "five": FIVE}
# Of regularised.md: the optimum, and objective over optimum and dual ratio at t = 60 / decay from log scale l.
OPTIMUM = {
    ("five", 0.03): 0.0719814310,
    ("five", 0.01): 0.0491670227,
    ("five", 0.001): 0.0078501585,
    ("three", 0.1): 0.1462202765,
    ("three", 0.03): 0.1042133022,
    ("three", 0.01): 0.0503377674,
    ("three", 0.001): 0.0057357767,
}
TABLE = [
    ("five", 0.03, -5.0, 1.0, 1.0),
    ("five", 0.001, -2.0, 1.0, 1.0),
    ("five", 0.001, -5.0, 1.04924, 1.46751),
    ("three", 0.1, -10.0, 1.0, 1.0),
    ("three", 0.03, -2.0, 1.01995, 1.33787),
    ("three", 0.01, 0.0, 1.0, 1.0),
    ("three", 0.01, -5.0, 1.86564, 3.41190),
    ("three", 0.001, -2.0, 15.3714, 30.9531),
]


def problem(name, decay, log_scale):
    start = rf.init.balanced(60, 2, log_scale - np.log(60) / 2, seed=0)
    return rf.Problem(DATA[name], start, decay=decay)


@pytest.mark.parametrize(("name", "decay"), OPTIMUM)
def test_the_regularised_optimum_is_the_handbooks_and_certified(name, decay):
    found = rf.bias.min_norm(DATA[name], decay=decay)
    assert found.exact and 0.0 <= found.gap + 1e-15 <= 1e-11 * found.value
    np.testing.assert_allclose(found.value, OPTIMUM[name, decay], rtol=0, atol=5e-11)
    # The network attains the value: an evaluation that shares nothing with the programme.
    w, a = found.params.arrays()
    x, y = DATA[name].x, DATA[name].y
    loss = np.mean((np.maximum(x @ w.T, 0.0) @ a - y) ** 2) / 2
    np.testing.assert_allclose(loss + decay / 2 * (np.sum(w**2) + np.sum(a**2)), found.value, rtol=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "logistic2", "exponential", "hinge2"])
def test_the_optimum_of_other_losses_is_certified(loss):
    data = rf.Data(FIVE.x, np.sign(FIVE.y))
    found = rf.bias.min_norm(data, decay=0.01, loss=loss)
    assert found.exact and abs(found.gap) <= 1e-9 * found.value
    if loss == "logistic":
        np.testing.assert_allclose(found.value, 0.378325856, atol=5e-10)


@pytest.mark.parametrize(("name", "decay", "log_scale", "ratio", "dual"), TABLE)
def test_the_flow_ends_where_the_handbook_says(name, decay, log_scale, ratio, dual):
    sol = rf.solve(problem(name, decay, log_scale), rf.Flow(rtol=1e-8), t1=60.0 / decay)
    found = rf.bias.optimal(sol)
    np.testing.assert_allclose(found.objective / OPTIMUM[name, decay], ratio, rtol=1e-5)
    np.testing.assert_allclose(found.ratio, dual, rtol=1e-5)
    assert found.verdict == ("globally optimal" if ratio == 1.0 else "spurious")
    if found.verdict == "spurious":
        # The proof: one more neuron along the direction found, evaluated anew.
        w, a = found.better.arrays()
        assert len(a) == 61 and np.sign(a[-1]) == found.sign
        u = DATA[name].x @ w.T
        value = np.mean((np.maximum(u, 0.0) @ a - DATA[name].y) ** 2) / 2 + decay / 2 * (np.sum(w**2) + np.sum(a**2))
        np.testing.assert_allclose(value, found.improved, rtol=1e-9)
        assert value < found.objective * (1 - 1e-6)
    assert "verdict" in dict(rf.bias.report(sol).rows())


@pytest.mark.parametrize(("name", "largest"), [("five", 0.1640121947), ("three", 0.7149689193)])
def test_the_origin_is_optimal_exactly_above_the_largest_decay(name, largest):
    tiny = rf.Params(np.full((1, 2), 1e-30), np.full(1, 1e-30))
    start = rf.init.balanced(4, 2, -1.0, seed=0)
    at_one = rf.bias.optimal(rf.Problem(DATA[name], start, decay=1.0), tiny)
    np.testing.assert_allclose(at_one.ratio, largest, rtol=1e-9)
    for share, verdict in ((1.001, "globally optimal"), (0.97, "spurious")):
        assert rf.bias.optimal(rf.Problem(DATA[name], start, decay=share * largest), tiny).verdict == verdict


def random_problem(seed):
    sizes = np.random.default_rng([seed, 5])
    n, d, m = int(sizes.integers(3, 7)), int(sizes.integers(2, 4)), int(sizes.integers(2, 12))
    rng = np.random.default_rng([seed, 6])
    loss = ("square", "square", "logistic", "hinge2")[seed % 4]
    x, y = rng.normal(size=(n, d)), rng.normal(size=n)
    y = y if loss == "square" else np.where(y > 0, 1.0, -1.0)
    start = rf.init.balanced(m, d, float(rng.choice([0.0, -1.0, -4.0])), seed=seed)
    decay = float(rng.choice([0.003, 0.01, 0.03, 0.1]))
    return rf.Problem(rf.Data(x, y), start, loss=loss, decay=decay)


@pytest.mark.parametrize("seed", [pytest.param(k, marks=() if k < 8 else pytest.mark.exhaustive) for k in range(40)])
def test_verdicts_agree_with_the_certified_optimum(seed):
    p = random_problem(seed)
    sol = rf.solve(p, rf.Flow(rtol=1e-9), t1=300.0 / p.decay)
    best, found = rf.bias.min_norm(p, decay=p.decay), rf.bias.optimal(sol)
    assert best.exact and found.certified and best.gap <= 1e-8 * best.value
    excess = found.objective / best.value - 1.0
    assert excess >= -1e-10 and found.lower <= best.value * (1 + 1e-10)
    if found.stationarity < 1e-6:
        assert found.verdict == ("globally optimal" if excess < 1e-6 else "spurious")


def test_a_network_that_still_moves_is_called_so():
    sol = rf.solve(problem("five", 0.01, 0.0), rf.Flow(rtol=1e-8), t1=2.0)
    assert rf.bias.optimal(sol).verdict == "not at rest"


def test_questions_without_an_answer_are_refused():
    plain = rf.solve(problem("three", 0.0, 0.0), t1=1.0)
    with pytest.raises(ValueError, match=r"`rf\.bias\.optimal` needs `decay` > 0, got 0"):
        rf.bias.optimal(plain)
    with pytest.raises(ValueError, match="`decay` must be positive and finite, got 0"):
        rf.bias.min_norm(THREE, decay=0.0)
    with pytest.raises(ValueError, match=r"Labels must be \+1 or -1 for the logistic loss, got 1\.1"):
        rf.bias.min_norm(THREE, decay=0.1, loss="logistic")
