"""Starts with |a| far from |w|: outputs are small beside the weights they are made of, and errors are judged there."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import reluflow as rf

# Wrong by 100 to 280,000 rtol while errors of a stretch were judged neuron by neuron.
FAILED = (10, 14, 18, 25, 30, 37, 42, 43, 45, 50, 52)


def drawn(seed):
    """(problem, rtol, end, log of |a|/|w| up to the width)."""
    rng = np.random.default_rng([77, seed])
    n, m, d = int(rng.integers(4, 20)), int(rng.integers(5, 40)), int(rng.integers(2, 6))
    ratio = rng.choice([-24.0, -20.0, -16.0, -12.0, -8.0, 8.0, 12.0, 16.0, 20.0, 24.0])
    loss = str(rng.choice(["square", "logistic", "exponential", "hinge2"])) if seed % 2 else "square"
    rtol = float(rng.choice([1e-6, 1e-8, 1e-9]))
    x, y = rng.normal(size=(n, d)), rng.normal(size=n)
    y = y if loss == "square" else np.where(y > 0.0, 1.0, -1.0)
    w, a = rng.normal(size=(m, d)), rng.normal(size=m)
    w *= np.exp(-0.5 * ratio) / np.linalg.norm(w, axis=1)[:, None]
    a *= np.exp(0.5 * ratio) / m / np.abs(a)
    slope = float(rng.choice([0.0, 0.0, 0.1, 1.0]))
    problem = rf.Problem(rf.Data(x, y), rf.Params(w, a), loss=loss, activation=rf.LeakyReLU(slope))
    return problem, rtol, float(rng.choice([30.0, 1000.0])) * np.exp(-abs(ratio)), ratio


@pytest.mark.parametrize(
    "seeds", [FAILED, pytest.param(range(200), marks=pytest.mark.exhaustive, id="two hundred draws")]
)
def test_outputs_from_lopsided_starts_keep_the_promise(seeds):
    for seed in seeds:
        problem, rtol, end, _ = drawn(seed)
        t = np.linspace(0.05, 1.0, 20) * end
        coarse, fine = (rf.solve(problem, rf.Flow(rtol=r), t1=end).outputs_at(t) for r in (rtol, 1e-12))
        size = max(1.0, np.max(np.abs(problem.data.y)))
        assert np.max(np.abs(coarse - fine)) <= 100 * rtol * size, seed


@pytest.mark.parametrize("seed", [25, 30, 42])
def test_a_lopsided_start_without_slides_agrees_with_scipy(seed):
    problem, rtol, end, ratio = drawn(seed)
    x, y, slope = problem.data.x, problem.data.y, problem.activation.slope
    w, a = problem.init.arrays()
    big, small = np.exp(-0.5 * ratio), np.exp(0.5 * ratio)

    def parts(z):
        v, b = z[: w.size].reshape(w.shape) * big, z[w.size :] * small
        u = v @ x.T
        bits = np.where(u > 0.0, 1.0, slope)
        return v, b, bits, b @ (bits * u)

    def velocity(_, z):
        v, b, bits, f = parts(z)
        g = {"square": y - f, "exponential": y * np.exp(-y * f)}[problem.loss] / y.size
        pull = (bits * g) @ x
        return end * np.r_[(b[:, None] * pull / big).ravel(), np.sum(pull * v, axis=1) / small]

    t = np.linspace(0.02, 0.4, 20)
    start = np.r_[(w / big).ravel(), a / small]
    by_scipy = solve_ivp(velocity, (0.0, t[-1]), start, method="LSODA", rtol=1e-12, atol=1e-13, t_eval=t)
    sol = rf.solve(problem, rf.Flow(rtol=rtol), t1=end)
    assert sol.stats.slides == 0
    expected = np.array([parts(z)[3] for z in by_scipy.y.T])
    assert np.max(np.abs(sol.outputs_at(t * end) - expected)) <= 100 * rtol
