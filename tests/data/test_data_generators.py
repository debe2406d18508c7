"""Each generator delivers what its name promises."""

import sys

import numpy as np
import pytest

import reluflow.data as rfd


def test_two_angles_have_mu_sine_delta():
    for delta in (0.1, 0.001, 0.0):
        assert rfd.two_angles(delta).describe().mu == pytest.approx(np.sin(delta), rel=1e-12)
    with pytest.raises(ValueError, match=r"`delta` must be in \[0, pi/2\), got 2: radians; the figures use 0.1\."):
        rfd.two_angles(2)


def test_five_points_take_both_readings_of_y3():
    assert rfd.five_points().y[2] == -0.3 and rfd.five_points(y3=-0.4).y[2] == -0.4
    # Square losses (mean, with the 1/2) at zero output: orthogonal_square_loss.md, section 3.
    assert np.mean(rfd.five_points().y ** 2) == pytest.approx(0.1740, abs=1e-12)
    assert np.mean(rfd.five_points(y3=-0.4).y ** 2) == pytest.approx(0.188, abs=1e-12)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (5, 5), (7, 30), (100, 150)])
def test_orthonormal_rows_are_orthonormal(n, d):
    about = rfd.orthonormal(n, d, seed=2).describe()
    assert about.defect <= (n + d) * np.finfo(float).eps


def test_orthogonal_rows_have_the_norms_given():
    data = rfd.orthogonal([2.0, 0.7, 5.0], labels=[1.0, -1.0, 0.5], d=6, seed=1)
    np.testing.assert_allclose(data.x @ data.x.T, np.diag([4.0, 0.49, 25.0]), atol=1e-14)
    assert data.y.tolist() == [1.0, -1.0, 0.5]


@pytest.mark.parametrize("mu", [1e-6, 0.01, 0.3, 0.9, 0.999])
@pytest.mark.parametrize(("n", "d"), [(2, 2), (6, 2), (40, 5), (700, 3)])
def test_orthogonally_separable_data_attain_the_mu_asked_for(n, d, mu):
    data = rfd.orthogonally_separable(n, d, mu, norm_min=0.5, norm_max=2.0, seed=n + d)
    about = data.describe()
    assert about.mu == pytest.approx(mu, abs=1e-15)
    assert about.norm_min >= 0.5 * (1 - 1e-15) and about.norm_max <= 2.0 * (1 + 1e-15)
    assert about.positive == (n + 1) // 2


@pytest.mark.parametrize(("n", "kappa"), [(2, 1.9), (10, 0.0), (10, 0.05), (10, 1.0), (50, 2.0)])
@pytest.mark.parametrize("d", [None, 60])
def test_nearly_orthogonal_data_have_the_kappa_asked_for_at_every_pair(n, kappa, d):
    data = rfd.nearly_orthogonal(n, kappa, d=d, norm=3.0, seed=4)
    about = data.describe()
    assert about.kappa == pytest.approx(kappa, rel=1e-12, abs=1e-13)
    assert (about.norm_min, about.norm_max) == pytest.approx((3.0, 3.0), rel=1e-14)
    gram = data.x @ data.x.T
    np.testing.assert_allclose(np.abs(gram[np.triu_indices(n, 1)]), 9 * kappa / n, atol=1e-13)
    assert data.d == (d or n)


def test_an_impossible_kappa_is_refused_with_the_limit_of_the_draw():
    with pytest.raises(
        ValueError, match=r"`kappa` must be below 2 for these signs \(n = 2, seed = 0\), got 2: no rows with"
    ):
        rfd.nearly_orthogonal(2, 2.0)
    with pytest.raises(ValueError, match=r"`kappa` must be below [\d.]+ for these signs \(n = 10, seed = 1\), got 9"):
        rfd.nearly_orthogonal(10, 9.0, seed=1)


def test_the_gaussian_mixture_is_one_centre_with_signs_and_noise():
    quiet = rfd.gaussian_mixture(6, 20, noise_std=0.0, seed=1)
    np.testing.assert_array_equal(quiet.x * quiet.y[:, None], np.tile(quiet.x[0] * quiet.y[0], (6, 1)))
    figure = rfd.gaussian_mixture()
    assert (figure.n, figure.d) == (10, 784)
    assert figure.describe().kappa == pytest.approx(1.0, abs=0.4)  # gd_nearly_orthogonal.md: "kappa about 1"


def test_the_gaussian_neuron_labels_by_its_target():
    for depth in (1, 2, 3):
        data = rfd.gaussian_neuron(200, 10, std=0.5, depth=depth, seed=3)
        w = rfd.gaussian_neuron_target(10, std=0.5, seed=3)
        np.testing.assert_allclose(data.y, np.linalg.norm(w) ** (depth - 1) * np.maximum(data.x @ w, 0), rtol=1e-13)
    assert (rfd.gaussian_neuron().n, rfd.gaussian_neuron().d) == (10_000, 100)


def test_the_teacher_labels_by_its_weights():
    data = rfd.teacher(40, 12, width=3, seed=5)
    w, a = rfd.teacher_weights(12, width=3, seed=5)
    np.testing.assert_allclose(data.y, np.maximum(data.x @ w.T, 0) @ a, rtol=1e-13)
    assert w.shape == (3, 12) and a.shape == (3,)


def test_torch_seed_4_is_the_draw_of_figure_6():
    torch = pytest.importorskip("torch", reason="the authors drew with PyTorch")
    state = torch.random.get_rng_state()
    data = rfd.teacher(torch_seed=4)
    assert torch.equal(torch.random.get_rng_state(), state)  # the user's own stream is not touched
    about = data.describe()
    assert (about.positive, about.negative) == (36, 39)
    # orthogonal_square_loss.md, section 3, Figures 6 and 7.
    assert (about.norm_min, about.norm_max) == pytest.approx((10.2, 14.2), abs=0.05)
    assert (about.max_cos, about.pull_plus, about.pull_minus) == pytest.approx((0.32, 0.326, 0.283), abs=5e-3)
    assert np.mean(data.y**2) == pytest.approx(0.0781, abs=5e-5)


def test_without_torch_the_authors_draw_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        ImportError, match=r"^`torch_seed` needs PyTorch: install `reluflow\[torch\]`, or use `seed`\.$"
    ):
        rfd.teacher(torch_seed=4)


def test_labels_can_be_named_or_given():
    assert rfd.orthonormal(5, labels="balanced").y.tolist() == [1, 1, 1, -1, -1]
    assert rfd.orthonormal(3, labels="positive").y.tolist() == [1, 1, 1]
    assert set(rfd.orthonormal(50, labels="signs").y) == {-1.0, 1.0}
    assert len(set(rfd.orthonormal(5, labels="gaussian").y)) == 5


SEEDED = [
    lambda seed: rfd.random_points(4, 3, seed=seed),
    lambda seed: rfd.orthonormal(4, seed=seed),
    lambda seed: rfd.orthogonal([1.0, 2.0], seed=seed),
    lambda seed: rfd.orthogonally_separable(4, 3, 0.2, seed=seed),
    lambda seed: rfd.nearly_orthogonal(6, 0.3, d=9, seed=seed),
    lambda seed: rfd.gaussian_mixture(4, 3, seed=seed),
    lambda seed: rfd.gaussian_neuron(4, 3, seed=seed),
    lambda seed: rfd.teacher(4, 3, seed=seed),
]


@pytest.mark.parametrize("make", SEEDED)
def test_a_seed_fixes_the_draw(make):
    assert make(1) == make(1) and make(1) != make(2)
    with pytest.raises(ValueError, match=r"`seed` must be a whole number >= 0, got -1: any non-negative seed\."):
        make(-1)


def test_the_data_stream_is_the_one_the_design_names():
    np.testing.assert_array_equal(rfd.random_points(3, 2, seed=7).x, np.random.default_rng([7, 1]).normal(size=(3, 2)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: rfd.orthonormal(3, 2),
            r"`d` must be at least the number of rows \(3\), got 2: R\^2 holds only 2 ortho",
        ),
        (
            lambda: rfd.orthogonal([1.0, 0.0]),
            r"`norms` must be positive, one per row, got 0: as in `norms=\[1.0, 2.0\]`\.",
        ),
        (lambda: rfd.orthogonal([]), r"`norms` must be positive, one per row, got none"),
        (lambda: rfd.orthonormal(0), r"`n` must be a whole number >= 1, got 0: a data set needs at least one row\."),
        (lambda: rfd.orthonormal(3, labels=[1.0]), r"`labels` must be 3 numbers, one per row, got 1: or name them"),
        (
            lambda: rfd.orthonormal(3, labels="sings"),
            r"`labels` must be one of .*, got 'sings': did you mean `signs`\?",
        ),
        (lambda: rfd.orthogonally_separable(1, 2, 0.3), r"`n` must be a whole number >= 2, got 1: mu is about pairs"),
        (
            lambda: rfd.orthogonally_separable(3, 1, 0.3),
            r"`d` must be a whole number >= 2, got 1: on a line every cosine",
        ),
        (lambda: rfd.orthogonally_separable(3, 2, 0.0), r"`mu` must be in \(0, 1\), got 0.0: no theorem applies"),
        (
            lambda: rfd.orthogonally_separable(3, 2, 0.5, norm_min=2.0),
            r"`norm_max` must be at least `norm_min` = 2, got 1",
        ),
        (
            lambda: rfd.orthogonally_separable(3, 2, 0.5, labels=[1.0, 0.0, 1.0]),
            r"`labels` must not be 0 here, got 0 at row 1: its sign decides a class\.",
        ),
        (lambda: rfd.nearly_orthogonal(4, -1.0), r"`kappa` must be finite and not negative, got -1.0: try 0.1\."),
        (
            lambda: rfd.nearly_orthogonal(4, 0.1, d=3),
            r"`d` must be at least n = 4, got 3: nearly orthogonal rows are ind",
        ),
        (lambda: rfd.random_points(2, 2, scale=0), r"`scale` must be positive and finite, got 0: try 1.0\."),
        (
            lambda: rfd.gaussian_neuron(2, 2, depth=0),
            r"`depth` must be a whole number >= 1, got 0: 1 is a single neuron\.",
        ),
        (
            lambda: rfd.teacher(width=0),
            r"`width` must be a whole number >= 1, got 0: a teacher needs at least one neuron",
        ),
        (lambda: rfd.random_points(2, 0), r"`d` must be a whole number >= 1, got 0: a row needs at least one entry\."),
    ],
)
def test_misuse_is_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
