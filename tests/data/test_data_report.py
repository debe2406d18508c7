"""`data.describe()`: numbers against brute force, verdicts against the handbooks."""

import json

import numpy as np
import pytest

import reluflow.data as rfd
from reluflow.data import Data, _gram


def verdict(data, paper, name):
    (found,) = [a for a in data.describe().assumptions if (a.paper, a.name) == (paper, name)]
    return found


def brute(data):
    unit = data.x / np.linalg.norm(data.x, axis=1, keepdims=True)
    upper = np.triu_indices(data.n, 1)
    cos, gram = (unit @ unit.T)[upper], (data.x @ data.x.T)[upper]
    signed = cos * np.outer(np.sign(data.y), np.sign(data.y))[upper]
    return upper, cos, gram, signed


@pytest.mark.parametrize("block", [1, 7, 512])
@pytest.mark.parametrize("labels", ["gaussian", [0.0, 1.0, -1.0, 2.0, 0.0] * 6])
def test_extremes_over_pairs_agree_with_the_full_gram_matrix(block, labels, monkeypatch):
    monkeypatch.setattr(_gram, "BLOCK", block)
    data = rfd.random_points(30, 4, labels=labels, seed=7)
    about = data.describe()
    (i, k), cos, gram, signed = brute(data)
    norms = np.linalg.norm(data.x, axis=1)
    np.testing.assert_allclose(about.mu, signed.min(), rtol=1e-13)
    assert about.mu_pair == (i[signed.argmin()], k[signed.argmin()])
    np.testing.assert_allclose(about.max_cos, np.abs(cos).max(), rtol=1e-13)
    assert about.max_cos_pair == (i[np.abs(cos).argmax()], k[np.abs(cos).argmax()])
    np.testing.assert_allclose(about.p, np.abs(gram).max(), rtol=1e-13)
    np.testing.assert_allclose(about.kappa, 30 * np.abs(gram).max() / norms.min() ** 2, rtol=1e-13)
    np.testing.assert_allclose(about.negative_pairs, np.mean(signed < 0), rtol=1e-13)
    np.testing.assert_allclose(about.defect, np.abs(data.x @ data.x.T - np.eye(30)).max(), rtol=1e-13)
    assert about.rank == 4


def test_handbook_numbers_of_random_orthonormal_data():
    # orthogonal_square_loss.md, section 7, item 2: depends on the labels alone.
    data = rfd.orthonormal(5, labels=[1.3, 0.8, -0.6, -0.9, 1.1], seed=11)
    about = data.describe()
    assert about.pull_plus == pytest.approx(0.3763, abs=5e-5)
    assert about.pull_minus == pytest.approx(0.2163, abs=5e-5)
    assert 2 * 5 * (about.pull_plus + about.pull_minus) == pytest.approx(5.926308, abs=1e-6)  # minimum norm
    assert np.mean(data.y**2) / 2 == pytest.approx(0.471, abs=1e-12)
    assert verdict(data, "boursier2022", "A1").verdict in ("holds", "holds within slack")
    assert verdict(data, "boursier2022", "A2, pulls").verdict == "holds"
    assert verdict(data, "min2024", "Assumption 1").verdict == "not met"  # mu is 0 to rounding


def test_two_points_are_exactly_orthogonal_and_not_orthonormal():
    about = rfd.two_points().describe()
    assert (about.mu, about.max_cos, about.kappa) == (0.0, 0.0, 0.0)
    assert about.pull_plus == pytest.approx(np.sqrt(5) / 2, rel=1e-15)
    assert about.pull_minus == pytest.approx(np.sqrt(1.25) / 2, rel=1e-15)
    assert verdict(rfd.two_points(), "boursier2022", "A1").verdict == "not met"
    assert verdict(rfd.two_points(), "boursier2022", "A1, any norms").verdict == "holds"
    assert verdict(rfd.two_points(), "kou2023", "data").verdict == "holds"


def test_toy_plane_is_separable_with_the_handbooks_mu():
    data = rfd.toy_plane()
    found = verdict(data, "min2024", "Assumption 1")
    assert found.verdict == "holds" and found.margin == pytest.approx(np.cos(np.deg2rad(75)), rel=1e-14)
    assert "worst pair (rows 2 and 3)" in found.note
    x_plus, x_minus = data.x[data.y > 0].sum(axis=0), data.x[data.y < 0].sum(axis=0)
    assert np.linalg.norm(x_plus) == pytest.approx(3.07, abs=5e-3)
    assert np.linalg.norm(x_minus) == pytest.approx(1.79, abs=5e-3)


def test_five_points_break_assumption_1_of_both_papers():
    # Neighbours 0 and 1 are nearly parallel with opposite labels: mu = -2.5/sqrt(3.25 * 2).
    found = verdict(rfd.five_points(), "min2024", "Assumption 1")
    assert found.verdict == "not met" and found.measured == pytest.approx(-2.5 / np.sqrt(6.5), rel=1e-14)
    assert verdict(rfd.five_points(), "boursier2022", "A1").verdict == "not met"


def test_equal_pulls_break_assumption_2():
    data = rfd.orthonormal(4, labels=[1.0, 1.0, -1.0, -1.0])
    assert verdict(data, "boursier2022", "A2, pulls").verdict == "not met"
    assert verdict(rfd.orthonormal(3, labels=[1.0, 0.0, -2.0]), "boursier2022", "A2, labels").verdict == "not met"


def test_kou_constants_are_reported_and_not_judged():
    data = rfd.nearly_orthogonal(10, 0.5)
    found = verdict(data, "kou2023", "data")
    assert found.verdict == "unmeasured" and found.measured == pytest.approx(0.5, rel=1e-13)
    assert verdict(data, "kou2023", "Gershgorin").measured == pytest.approx(0.45, rel=1e-13)
    assert verdict(data, "kou2023", "independent rows").verdict == "holds"
    assert verdict(rfd.random_points(9, 4, labels="signs"), "kou2023", "independent rows").measured == 5


def test_gaussian_rows_pass_for_gaussian_and_others_do_not():
    data = rfd.gaussian_neuron(1500, 20)
    assert verdict(data, "lee2023", "Gaussian inputs").verdict == "holds"
    assert verdict(data, "lee2023", "labels").verdict == "holds"
    stretched = Data(data.x * np.linspace(1, 2, 20), data.y)
    assert verdict(stretched, "lee2023", "Gaussian inputs").verdict == "not met"
    assert verdict(rfd.two_points(), "lee2023", "Gaussian inputs").verdict == "unmeasured"


def test_zero_duplicate_parallel_and_opposite_rows_are_named():
    x = [[1.0, 2.0], [3.0, 6.0], [1.0, 2.0], [-0.1, -0.2], [0.0, 0.0], [2.0, -1.0]]
    about = Data(x, [1.0, -1.0, 1.0, 1.0, -1.0, 1.0]).describe()
    assert about.duplicates.first == ((0, 2),)
    assert about.parallel.first == ((0, 1), (0, 2), (1, 2))
    assert about.opposite.first == ((0, 3), (1, 3), (2, 3))
    assert about.zero_rows == (4,)
    assert about.kappa == np.inf and about.ratio == np.inf
    assert about.mu == pytest.approx(-1.0)


def test_nearly_parallel_rows_are_not_called_parallel():
    about = Data([[1.0, 0.0], [1.0, 1e-12]], [1.0, 1.0]).describe()
    assert about.parallel.count == 0 and about.max_cos == 1.0


@pytest.mark.parametrize("scale", [1e-180, 1e180])
def test_angles_survive_scales_whose_squares_do_not(scale):
    data = rfd.toy_plane()
    about = Data(data.x * scale, data.y).describe()
    assert about.mu == pytest.approx(np.cos(np.deg2rad(75)), rel=1e-13)
    assert about.ratio == pytest.approx(2.4, rel=1e-13)


def test_a_single_row_has_no_pairs():
    about = Data([[3.0, 4.0]], [1.0]).describe()
    assert (about.mu, about.max_cos, about.negative_pairs, about.norm_max) == (None, None, None, 5.0)
    assert "needs two rows" in str(about)


@pytest.mark.parametrize("data", [rfd.two_points(), rfd.toy_plane(), Data([[0.0], [1.0]], [0.0, 1.0])])
def test_a_description_is_json_and_a_table(data):
    about = data.describe()
    back = json.loads(json.dumps(about.to_dict(), allow_nan=False))
    assert back["n"] == data.n and len(back["assumptions"]) == len(about.assumptions)
    assert {a["verdict"] for a in back["assumptions"]} <= {"holds", "holds within slack", "not met", "unmeasured"}
    text = str(about)
    assert f"n = {data.n}, d = {data.d}" in text and "min2024 Assumption 1" in text


def test_a_strict_relation_needs_more_than_rounding():
    strict = rfd.Assumption("p", "a", "t", 1e-16, ">", 0.0, slack=1e-15)
    assert strict.verdict == "not met"
    assert rfd.Assumption("p", "a", "t", 1e-16, "<=", 0.0, slack=1e-15).verdict == "holds within slack"
    assert rfd.Assumption("p", "a", "t", 1e-14, "<=", 0.0, slack=1e-15).verdict == "not met"
