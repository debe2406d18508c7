"""Counted probabilities: the interval is that of Clopper and Pearson, and it covers as often as it says."""

import numpy as np
import pytest

from reluflow.papers._chance import counted, interval


def test_the_interval_is_the_exact_one():
    # Defining equations: P(X >= hits | low) = P(X <= hits | high) = (1 - level)/2.
    from scipy.stats import binom

    low, high = interval(7, 50, 0.95)
    assert binom.sf(6, 50, low) == pytest.approx(0.025) and binom.cdf(7, 50, high) == pytest.approx(0.025)
    assert interval(0, 10)[0] == 0.0 and interval(10, 10)[1] == 1.0
    assert interval(0, 40, 0.95)[1] == pytest.approx(1 - 0.025 ** (1 / 40))


@pytest.mark.parametrize("p", [0.01, 0.1, 0.5, 0.97])
def test_the_interval_covers_at_least_as_often_as_its_level(p):
    from scipy.stats import binom

    hits = np.arange(61)
    inside = [low <= p <= high for low, high in (interval(int(k), 60, 0.9) for k in hits)]
    assert float(np.sum(binom.pmf(hits, 60, p)[inside])) >= 0.9


def test_a_probability_is_violated_only_where_no_value_of_the_interval_will_do():
    assert counted("a", 20, 1000, "<=", 0.05).verdict == "holds"
    assert counted("a", 60, 1000, "<=", 0.05).verdict == "holds within slack"
    assert counted("a", 120, 1000, "<=", 0.05).verdict == "violated"
    assert counted("a", 500, 1000, "=", 0.48).verdict == "holds within slack"
    assert counted("a", 500, 1000, "=", 0.40).verdict == "violated" == counted("a", 500, 1000, "=", 0.60).verdict
    assert counted("a", 880, 1000, ">=", 0.9).verdict == "holds within slack"
    assert counted("a", 800, 1000, ">=", 0.9).verdict == "violated"
