"""The MNIST protocols of Kou et al., on small data against slow and plain code."""

import os

import numpy as np
import pytest

import reluflow as rf

jax = pytest.importorskip("jax")

from reluflow.many import mnist_protocol, p1_problem
from reluflow.many._rank import stable_rank

SIGNS, DIGITS = np.array([-1.0, 1.0]), np.arange(10.0)


def images(n, labels, seed):
    """Sparse rows in [0, 1], as images are."""
    rng = np.random.default_rng([seed, 1])
    x = rng.uniform(size=(n, 30)) * (rng.uniform(size=(n, 30)) < 0.4)
    return rf.Data(x, rng.choice(labels, n))


def direct_rank(w):
    s = np.linalg.svd(w, compute_uv=False)
    return np.sum(s**2) / s[0] ** 2


def test_p1_is_the_mini_batch_descent_of_solve():
    train, test = images(50, SIGNS, 0), images(20, SIGNS, 1)
    found = mnist_protocol(
        "P1", width=6, std=[1e-3, 0.1], slope=0.1, seeds=[3, 5], epochs=4, batch=8, data=(train, test), dtype="float64"
    )
    assert found["loss"].shape == (2, 2, 5) and found["stable_rank"].shape == (2, 2, 5, 3)
    assert list(found["matrix"]) == ["plus", "minus", "stacked"]
    for i, std in enumerate((1e-3, 0.1)):
        for j, seed in enumerate((3, 5)):
            problem = p1_problem(train, 6, std, seed, slope=0.1)
            sol = rf.solve(problem, rf.Descent(0.1, batch=8, seed=seed), t1=0.1 * 28)
            t = 0.1 * found["iteration"]
            np.testing.assert_allclose(found["loss"][i, j], sol.loss_at(t), rtol=1e-12)
            for k, params in enumerate(sol.at(t)):
                w, a = params.arrays()
                f = np.maximum(test.x @ w.T, 0.1 * (test.x @ w.T)) @ a
                assert found["test_error"][i, j, k] == np.mean(f * test.y <= 0)
                ranks = [direct_rank(part) for part in (w[:6], w[6:], w)]
                np.testing.assert_allclose(found["stable_rank"][i, j, k], ranks, rtol=1e-11)


def plain_p2(train, m, std, seed, slope, step, batch, epochs):
    """Softmax cross entropy by the textbook loop on (W, A) themselves: their values after every epoch."""
    rng = np.random.default_rng(seed)
    W, A = std * rng.normal(size=(m, train.d)), std * rng.normal(size=(m, 10)).T
    order_of = np.random.default_rng([seed, 2])
    kept = [(W.copy(), A.copy())]
    for _ in range(epochs):
        order = order_of.permuted(np.arange(train.n))
        for lo in range(0, train.n, batch):
            rows = order[lo : lo + batch]
            x, y = train.x[rows], train.y[rows].astype(int)
            z = x @ W.T
            hidden, bits = np.maximum(z, slope * z), np.where(z >= 0, 1.0, slope)
            f = hidden @ A.T
            p = np.exp(f - f.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            g = (np.eye(10)[y] - p) / len(rows)
            W, A = W + step * ((g @ A) * bits).T @ x, A + step * g.T @ hidden
        kept.append((W.copy(), A.copy()))
    return kept


def test_p2_is_the_textbook_loop():
    train, test = images(50, DIGITS, 2), images(20, DIGITS, 3)
    setting = dict(slope=0.1, step=0.5, batch=8, epochs=6)
    found = mnist_protocol("P2", width=7, std=[0.01, 0.3], seeds=[1, 2], data=(train, test), dtype="float64", **setting)
    for i, std in enumerate((0.01, 0.3)):
        for j, seed in enumerate((1, 2)):
            for k, (W, A) in enumerate(plain_p2(train, 7, std, seed, **setting)):
                f, z = ((lambda u: np.maximum(u, 0.1 * u) @ A.T)(data.x @ W.T) for data in (train, test))
                loss = np.mean(np.log(np.sum(np.exp(f), axis=1)) - f[np.arange(50), train.y.astype(int)])
                np.testing.assert_allclose(found["loss"][i, j, k], loss, rtol=1e-12)
                assert found["test_error"][i, j, k] == np.mean(np.argmax(z, axis=1) != test.y)
                np.testing.assert_allclose(found["stable_rank"][i, j, k, 0], direct_rank(W), rtol=1e-10)


def test_single_precision_stays_near_double_and_memory_splits_the_runs():
    data = images(50, DIGITS, 2), images(20, DIGITS, 3)
    # The shapes of the test above, which are compiled by now.
    setting = dict(width=7, std=[0.1, 0.3], seeds=[1, 2], epochs=4, batch=8, data=data, slope=0.1)
    double = mnist_protocol("P2", dtype="float64", **setting)
    heard = []
    single = mnist_protocol("P2", memory="20 KiB", progress=heard.append, **setting)
    np.testing.assert_allclose(single["loss"], double["loss"], rtol=1e-5)
    assert np.any(single["loss"] != double["loss"])
    assert heard[-1].fraction == 1.0 and len(heard) >= 2


MORE = [pytest.param(shape, marks=pytest.mark.exhaustive) for shape in ((4, 9), (60, 50))]


@pytest.mark.parametrize("shape", [(9, 4), (200, 300), (1, 5), *MORE])
def test_stable_ranks_are_those_of_singular_values(shape):
    rng = np.random.default_rng(7)
    w = rng.normal(size=(3, *shape))
    w[1] = np.outer(w[1, :, 0], w[1, 0])  # rank one
    with jax.enable_x64(True):
        found = stable_rank(jax.numpy.asarray(np.swapaxes(w, 1, 2)), np.full((3, shape[0]), -3000.0))
    np.testing.assert_allclose(found, [direct_rank(v) for v in w], rtol=1e-11)


def test_scales_of_rows_count_in_stable_ranks():
    w, c = np.random.default_rng(8).normal(size=(1, 6, 5)), np.linspace(-2002.0, -2000.0, 6)[None]
    with jax.enable_x64(True):
        found = stable_rank(jax.numpy.asarray(np.swapaxes(w, 1, 2)), c)
    np.testing.assert_allclose(found, [direct_rank(w[0] * np.exp(c[0] + 2000.0)[:, None])], rtol=1e-11)


def test_labels_of_the_other_protocol_are_refused():
    data = images(20, DIGITS, 0)
    with pytest.raises(ValueError, match=r"Labels of P1 must be \+1 or -1, got"):
        mnist_protocol("P1", width=3, std=0.1, data=(data, data))
    with pytest.raises(ValueError, match="`std` must be positive"):
        mnist_protocol("P2", width=3, std=-0.1, data=(data, data))


@pytest.mark.skipif(not os.environ.get("RELUFLOW_DATA"), reason="needs the MNIST files")
def test_on_digits_a_smaller_scale_makes_the_stable_rank_fall_further():
    train, test = (rf.data.mnist(parity=True, size=k, split=s) for k, s in ((1000, "train"), (300, "test")))
    found = mnist_protocol("P1", width=20, std=[1e-5, 1e-2], seeds=[0], epochs=2, data=(train, test))
    rank = found["stable_rank"][:, 0, :, 0]
    # A Gaussian matrix has m d / (sqrt m + sqrt d)^2 to about m^{-2/3} of itself.
    np.testing.assert_allclose(rank[:, 0], 20 * 784 / (np.sqrt(20) + 28) ** 2, rtol=20 ** (-2 / 3))
    assert rank[0, -1] < 1.1 and rank[1, -1] > 5
    assert np.all(found["loss"][..., -1] < found["loss"][..., 0])
