"""The same problem gives the same bits, whatever lies on the heap and however many threads there are."""

import hashlib

import numpy as np
import pytest

import reluflow as rf

SOLVES = 100_000


def problems():
    """Twenty small problems: four losses, three slopes, both ways to train, several scales."""
    for k in range(20):
        g = np.random.default_rng([k, 11])
        n, d, m = int(g.integers(2, 6)), int(g.integers(2, 4)), int(g.integers(2, 7))
        loss = ("square", "logistic", "logistic2", "exponential")[k % 4]
        x, y = g.normal(size=(n, d)), g.normal(size=n)
        y = y if loss == "square" else np.where(y >= 0, 1.0, -1.0)
        init = rf.init.balanced(m, d, log_scale=-float(g.choice([0, 3, 20, 300])), seed=k)
        activation = rf.LeakyReLU(0.1) if k % 3 == 1 else rf.ReLU()
        train = "first" if k % 5 == 4 else "both"
        problem = rf.Problem(rf.Data(x, y), init, loss=loss, activation=activation, train=train)
        yield problem, float(20 - 2 * init.log_scale if np.ndim(init.log_scale) == 0 else 20.0)


def digest(problem, t1, threads):
    sol = rf.solve(problem, rf.Flow(rtol=1e-6), t1=t1, limits=rf.Limits(threads=threads), throw=False)
    parts = (sol.checkpoints.w, sol.checkpoints.bits, sol.events.t, sol.events.neuron, sol.log_loss)
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def littered(g):
    """Freed arrays of odd sizes and places, so that what the run allocates lies elsewhere."""
    return [np.full(int(g.integers(1, 3000)), np.nan) for _ in range(int(g.integers(0, 6)))][:: int(g.integers(1, 3))]


def solve_often(count):
    g = np.random.default_rng(0)
    subjects = list(problems())
    first = [digest(*subject, 1) for subject in subjects]
    held = []
    for k in range(count):
        held = [*held[-int(g.integers(1, 20)) :], littered(g)]
        i = int(g.integers(len(subjects)))
        assert digest(*subjects[i], int(g.integers(1, 3))) == first[i], (k, i)


def test_two_hundred_small_runs_are_equal_to_the_bit():
    solve_often(200)


@pytest.mark.exhaustive
def test_a_hundred_thousand_small_runs_are_equal_to_the_bit():
    solve_often(SOLVES)
