"""The flow on random problems: against itself at other tolerances, its invariants, and two independent methods."""

import numpy as np
import pytest
from support import euler, plain
from support.problems import random_balanced, random_unbalanced

import reluflow as rf

RTOL = 1e-8
PROMISE = 100 * RTOL


def seeds(light: int, full: int):
    """`light` seeds in the ordinary run, spread over all kinds of problems; every one of `full` in the exhaustive
    run."""
    step = max(1, full // light) | 1
    chosen = set(range(0, full, step))
    return [pytest.param(k, marks=() if k in chosen else pytest.mark.exhaustive) for k in range(full)]


def gap(a, b):
    return float(np.max(np.abs(a - b) / np.maximum(1.0, np.abs(b))))


@pytest.mark.parametrize("seed", seeds(40, 500))
def test_a_balanced_run_keeps_the_promise(seed):
    problem, t1 = random_balanced(seed)
    t = np.linspace(0.0, t1, 9)
    sol = rf.solve(problem, rf.Flow(rtol=RTOL), t1=t1)
    half = rf.solve(problem, rf.Flow(rtol=RTOL / 2), t1=t1)
    assert sol.outcome.success
    assert gap(sol.outputs_at(t), half.outputs_at(t)) <= PROMISE
    assert np.max(np.diff(sol.loss), initial=0.0) <= PROMISE * sol.loss[0]
    assert sol.stats.energy_error <= PROMISE
    # Balance and sign hold by construction: b is exactly +-1 at every frame.
    np.testing.assert_array_equal(sol.a, np.broadcast_to(np.sign(problem.init.a), sol.a.shape))
    dead = sol.events["dead"]
    for when, j in zip(dead.t, dead.neuron, strict=True):
        later = (sol.events.neuron == j) & (sol.events.t >= when) & (sol.events.kind != "dead")
        assert not np.any(later & (sol.events.t > when))
        assert not np.any(sol.bits_at(sol.t[-1])[j])


@pytest.mark.parametrize("seed", seeds(12, 100))
def test_a_balanced_run_agrees_with_polar_euler(seed):
    problem, t1 = random_balanced(5 * seed)
    sol = rf.solve(problem, rf.Flow(rtol=RTOL), t1=t1)
    expected, spread = euler.reference(problem, t1, 8000)
    if not spread < 0.1:
        pytest.skip("Euler itself is unstable on this stiff problem at any affordable step")
    found = sol.outputs_at(np.linspace(0.0, t1, 9))
    assert np.all(np.abs(found - expected) <= spread + PROMISE * np.maximum(1.0, np.abs(expected)))


@pytest.mark.parametrize("train", ["both", "first"])
@pytest.mark.parametrize("seed", seeds(10, 60))
def test_an_unbalanced_run_agrees_with_extrapolated_descent(seed, train):
    problem, t1 = random_unbalanced(seed, train)
    sol = rf.solve(problem, rf.Flow(rtol=RTOL), t1=t1)
    if sol.stats.non_unique:
        # Descent's end depends on its step there: nothing to compare with, but the run must say so and still
        # dissipate energy.
        assert not np.all(sol.events.unique)
        assert np.max(np.diff(sol.loss), initial=0.0) <= PROMISE * sol.loss[0]
        return
    expected, error = plain.reference(problem, t1, 20000)
    found = sol.outputs_at(np.linspace(0.0, t1, 9))
    assert np.all(np.abs(found - expected) <= error + PROMISE * np.maximum(1.0, np.abs(expected)))
    if train == "both":
        w, a = zip(*(p.arrays() for p in sol.at(np.linspace(0.0, t1, 5))), strict=True)
        delta = np.array(a) ** 2 - np.sum(np.array(w) ** 2, axis=2)
        np.testing.assert_allclose(
            delta, np.broadcast_to(delta[0], delta.shape), rtol=0, atol=1e-12 * np.max(np.abs(delta))
        )


@pytest.mark.parametrize("seed", seeds(10, 60))
def test_initial_bits_and_events_give_the_bits_at_any_time(seed):
    problem, t1 = random_balanced(7 * seed + 1) if seed % 2 else random_unbalanced(seed, "both")
    sol = rf.solve(problem, rf.Flow(rtol=1e-6), t1=t1)
    slope = problem.activation.slope
    for t in np.linspace(0.0, t1, 6):
        if t > sol.t[-1]:
            break
        bits, sliding = sol.initial_bits.copy(), np.zeros(sol.initial_bits.shape, bool)
        for k in np.flatnonzero(sol.events.t <= t):
            j, i, kind = sol.events.neuron[k], sol.events.datum[k], sol.events.kind[k]
            if i >= 0:
                sliding[j, i] = kind == "slide"
                bits[j, i] = 1.0 if kind in ("on", "release_on") else slope
        found = sol.bits_at(t)
        np.testing.assert_array_equal(sol.sliding_at(t), sliding)
        np.testing.assert_array_equal(found[~sliding], bits[~sliding])
        assert np.all((found[sliding] >= slope) & (found[sliding] <= 1.0))
