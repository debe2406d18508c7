"""`rf.DecayLimit` with exponential tails: theta / sqrt(margin) in sigma = decay t + log(margin) / 2."""

import numpy as np
import pytest

import reluflow as rf


def classified(k, margin=1.0):
    """Networks that classify their data: P(k; 4, 3, 8, 1) of regularised.md, labels +-1, scaled to a margin."""
    rng = np.random.default_rng(k)
    x, y, w = rng.normal(size=(4, 3)), np.sign(rng.normal(size=4)), rng.normal(size=(8, 3))
    a = rng.choice([-1.0, 1.0], 8) * np.linalg.norm(w, axis=1)
    size = np.sqrt(margin / smallest(x, y, w, a))
    return rf.Data(x, y), rf.Params(size * w, size * a)


def smallest(x, y, w, a):
    return float(np.min(y * (a @ np.maximum(w @ x.T, 0.0))))


def late(k, margin, decay, log_t1):
    """(phi, M) of the flow at the end."""
    data, start = classified(k, margin)
    sol = rf.solve(rf.Problem(data, start, loss="exponential", decay=decay), rf.Flow(1e-10), log_t1=log_t1)
    w, a = sol.final.arrays()
    least = smallest(data.x, data.y, w, a)
    return np.hstack([w, a[:, None]]) / np.sqrt(least), least


def limit(k, t1):
    data, start = classified(k)
    return rf.solve(rf.Problem(data, start, loss="exponential"), rf.DecayLimit(rtol=1e-9), t1=t1)


def weights(params):
    w, a = params.arrays()
    return np.hstack([w, a[:, None]])


# Errors of phi at tau = 1.5, where two data have entered; regularised.md.
@pytest.mark.parametrize(
    ("k", "errors"), [(10, (0.35, 0.0127, 0.0063)), (25, (0.018, 0.0072, 0.0036)), (30, (0.031, 0.0094, 0.0048))]
)
def test_small_decay_tends_to_the_limit_like_one_over_the_margin(k, errors):
    slow = limit(k, 1.5)
    assert slow.stats.regimes["data_entered"] >= 3  # one has margin 1 at the start
    for margin, error in zip((30.0, 100.0, 200.0), errors, strict=True):
        phi, least = late(k, margin, np.exp(-margin), np.log(1.5) + margin)
        sigma = 1.5 + 0.5 * np.log(least / margin)
        np.testing.assert_allclose(np.linalg.norm(phi - weights(slow.at(sigma))), error, rtol=0.03)


@pytest.mark.parametrize("k", [10, 25, 30])
def test_late_training_without_decay_is_the_same_motion(k):
    # Margin 100 grows e^{2 sigma}-fold by log t = about 100 e^{2 sigma}; sigma = 0.2 here.
    phi, least = late(k, 100.0, 0.0, 100.0 * np.exp(0.4))
    sigma = 0.5 * np.log(least / 100.0)
    assert 0.15 < sigma < 0.25
    assert np.linalg.norm(phi - weights(limit(k, 0.5).at(sigma))) < 2e-3


@pytest.mark.parametrize("k", [10, 25, 30])
def test_the_end_is_stationary_among_networks_of_margin_one(k):
    data, _ = classified(k)
    sol = limit(k, 60.0)
    w, a = sol.final.arrays()
    assert smallest(data.x, data.y, w, a) > 1.0 - 1e-6
    sizes = [float(np.sum(weights(p) ** 2)) for p in sol.at(np.linspace(0.0, 60.0, 30))]
    assert np.max(np.diff(sizes)) <= 1e-7 * sizes[0]
    assert sol.stats.energy_error < 1e-6
    best = 1.0 / rf.bias.max_margin(data).margin
    assert best * (1.0 - 1e-6) < sizes[-1] < 1.02 * best


def test_a_network_that_does_not_classify_is_trained_first():
    data = rf.Data([[1.0, 0.2], [-0.3, 1.0], [0.5, -1.0]], [1.0, -1.0, 1.0])
    sol = rf.solve(rf.Problem(data, rf.init.balanced(20, 2, -4.0, seed=0), loss="logistic"), rf.DecayLimit(), t1=1.0)
    w, a = sol.at(0.0).arrays()
    np.testing.assert_allclose(smallest(data.x, data.y, w, a), 1.0, rtol=1e-9)


def test_data_that_cannot_be_classified_are_refused_in_a_sentence():
    data = rf.Data([[1.0], [2.0]], [1.0, -1.0])
    problem = rf.Problem(data, rf.init.balanced(4, 1, -2.0, seed=0), loss="logistic")
    with pytest.raises(ValueError, match="needs a network that comes to classify its data"):
        rf.solve(problem, rf.DecayLimit(), t1=1.0)
