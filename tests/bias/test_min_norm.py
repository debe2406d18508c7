"""Minimum norm: reference values, an independent linear programme, certificates, sentences."""

import numpy as np
import pytest
from scipy.optimize import linprog
from support.counted import Clock

import reluflow as rf
from reluflow.bias._input import outputs, squared_norm


def handbook():
    return rf.data.orthonormal(5, labels=[1.3, 0.8, -0.6, -0.9, 1.1])


KNOWN = [
    (rf.data.two_points, 2.6832816),
    (handbook, 5.9263085),
    (rf.data.five_points, 16.40795),
    (lambda: rf.data.five_points(-0.4), 17.90506),
]


@pytest.mark.parametrize("patterns", ["auto", "exact"])
@pytest.mark.parametrize(("make", "value"), KNOWN)
def test_the_handbooks_values_with_lower_and_upper_bound_within_1e_6(make, value, patterns):
    found = rf.bias.min_norm(make(), patterns=patterns)
    assert found.exact
    assert found.value == pytest.approx(value, abs=6e-6 if value > 10 else 6e-7)  # half a unit of the digits printed
    assert 0 <= found.value - found.lower + 1e-12 < 1e-6
    data = make()
    np.testing.assert_allclose(found(data.x), data.y, atol=1e-12)
    assert squared_norm(found.params) == pytest.approx(found.value, rel=1e-12)
    assert found.variation_norm == found.value / 2


def test_closed_form_of_orthogonal_rows_is_what_the_cone_programme_finds():
    data = rf.data.orthogonal([2.0, 0.7, 1.0, 3.0], labels=[1.0, 0.5, -2.0, 1.0], d=6)
    closed, cone = rf.bias.min_norm(data), rf.bias.min_norm(data, patterns="exact")
    assert (closed.way, cone.way) == ("closed form", "cone programme")
    assert cone.value == pytest.approx(closed.value, rel=1e-8)
    assert cone.lower <= closed.value * (1 + 1e-12)


def test_five_points_switch_where_the_handbook_says():
    found = rf.bias.min_norm(rf.data.five_points())
    assert sorted(set(np.round(found.kinks, 4))) == [-0.4167, 0.25]
    assert sorted(set(np.round(rf.bias.min_norm(rf.data.five_points(-0.4)).kinks, 4))) == [-0.3654, 0.25]


# An independent linear programme over directions on a fine grid -------------------------------------------------------


def directions(x):
    """Unit vectors: a fine grid, the surfaces of the data, and in space the lines where two of them meet."""
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    if x.shape[1] == 2:
        angle = 2 * np.pi * np.arange(4000) / 4000
        turned = np.column_stack([-unit[:, 1], unit[:, 0]])
        return np.vstack([np.column_stack([np.cos(angle), np.sin(angle)]), turned, -turned])
    k = np.arange(6000) + 0.5
    z, turn = 1 - 2 * k / len(k), np.pi * (1 + 5**0.5) * k
    ball = np.column_stack([np.cos(turn) * np.sqrt(1 - z**2), np.sin(turn) * np.sqrt(1 - z**2), z])
    parts, angle = [ball], 2 * np.pi * np.arange(1200) / 1200
    for u in unit:
        a, b = np.linalg.svd(u[None])[2][1:]
        parts.append(np.outer(np.cos(angle), a) + np.outer(np.sin(angle), b))
    for i in range(len(unit)):
        for j in range(i):
            meet = np.cross(unit[i], unit[j])
            parts += [(meet / np.linalg.norm(meet))[None], -(meet / np.linalg.norm(meet))[None]]
    return np.vstack(parts)


def grid_programme(data, slope=0.0):
    u = directions(data.x) @ data.x.T
    columns = np.where(u > 0, u, slope * u).T
    found = linprog(
        np.full(2 * columns.shape[1], 2.0), A_eq=np.hstack([columns, -columns]), b_eq=data.y, method="highs"
    )
    assert found.status == 0
    return found.fun


def random_data(seed):
    rng = np.random.default_rng([seed, 13])
    n, d = int(rng.integers(2, 8)), 2 + seed % 2
    return rf.Data(rng.normal(size=(n, d)), rng.normal(size=n))


def compare_with_the_grid(seed):
    data = random_data(seed)
    found, grid = rf.bias.min_norm(data), grid_programme(data)
    # Directions on a grid are some of all directions: the grid's value is an upper bound, up to the LP's own 1e-7.
    assert found.lower <= found.value * (1 + 1e-9)
    assert found.value <= grid * (1 + 1e-6)
    assert grid <= found.value * (1 + 1e-3)
    assert found.residuals["interpolation"] < 1e-7


@pytest.mark.parametrize("seed", range(8))
def test_random_problems_equal_a_fine_grid_programme_from_the_right_side(seed):
    compare_with_the_grid(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(8, 50))
def test_fifty_random_problems_equal_a_fine_grid_programme_from_the_right_side(seed):
    compare_with_the_grid(seed)


def test_a_leaky_slope_equals_its_grid_programme_and_slope_one_the_linear_minimum():
    data = random_data(3)
    found = rf.bias.min_norm(data, activation=rf.LeakyReLU(0.3))
    grid = grid_programme(data, 0.3)
    assert found.value <= grid * (1 + 1e-6)
    assert grid <= found.value * (1 + 1e-3)
    flat = rf.Data(np.random.default_rng(0).normal(size=(3, 5)), [1.0, -2.0, 0.5])
    linear = np.linalg.lstsq(flat.x, flat.y, rcond=None)[0]
    assert rf.bias.min_norm(flat, activation=rf.LeakyReLU(1.0)).value == pytest.approx(2 * np.linalg.norm(linear))


# Certificates ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_the_dual_is_feasible_in_every_direction_and_never_above_the_primal(seed):
    data = random_data(seed)
    found = rf.bias.min_norm(data)
    w = np.random.default_rng(seed).normal(size=(20000, data.d))
    reach = np.abs(np.maximum(w @ data.x.T, 0) @ found.nu) / np.linalg.norm(w, axis=1)
    assert np.max(reach) <= 1 + found.residuals["dual"] + 1e-12
    assert 2 * found.nu @ data.y / (1 + found.residuals["dual"]) <= found.value * (1 + 1e-9)
    assert found.bounds["lower eigenvalue"].value <= found.value * (1 + 1e-9)


@pytest.fixture
def clock(monkeypatch):
    """The search for patterns reads a clock that stands still: its rounds end when no pattern is new."""
    monkeypatch.setattr("reluflow.bias._programme.monotonic", lambda: 0.0)


def test_a_lower_bound_from_too_few_cells_is_not_called_certified(clock):
    # On this draw the dual of the sampled programme promises more than the truth: the label is what keeps it honest.
    rng = np.random.default_rng(0)
    for n, d in [(8, 3), (12, 4), (30, 3), (12, 12)]:
        rng.normal(size=(n, d)), rng.normal(size=n)
    data = rf.Data(rng.normal(size=(20, 4)), rng.normal(size=20))
    exact, sampled = rf.bias.min_norm(data), rf.bias.min_norm(data, patterns="sampled", seconds=10)
    assert sampled.bounds["lower sampled"].value > exact.value * (1 + 1e-5)
    assert sampled.bounds["lower sampled"].label.startswith("sampled")
    assert sampled.lower == sampled.bounds["lower eigenvalue"].value <= exact.value <= sampled.value


@pytest.mark.parametrize("seed", range(6))
def test_more_patterns_never_raise_the_value(seed):
    data = random_data(seed + 20)
    every = rf.bias.min_norm(data, patterns="exact")
    used = [p for p in every.patterns.bits]
    order = np.random.default_rng(seed).permutation(len(used))
    values = []
    for count in range(1, len(used) + 1):
        try:
            values.append(rf.bias.min_norm(data, patterns=[used[k] for k in order[:count]]).value)
        except ValueError as error:
            assert "The patterns must allow a network that fits" in str(error)
    assert np.all(np.diff(values) <= 1e-6 * np.array(values[1:]))
    assert values[-1] == pytest.approx(every.value, rel=1e-8)


def test_residuals_show_a_network_that_is_not_optimal():
    data = rf.data.five_points()
    every = rf.bias.min_norm(data)
    some = rf.bias.min_norm(data, patterns=every.patterns.bits[[0, 1, 2, 4, 5, 6]])
    assert some.value > 1.01 * every.value
    assert some.residuals["dual"] > 0.01 > 1e-8 > every.residuals["dual"]
    assert some.lower <= every.value  # what is left of its dual once feasible on every cell


@pytest.mark.parametrize("log_scale", [-11.0, -46.0])
def test_among_the_patterns_it_ends_in_the_flows_limit_of_vanishing_scale_is_the_minimum(log_scale):
    data = rf.data.five_points()
    sol = rf.solve(rf.Problem(data, rf.init.balanced(60, 2, log_scale=log_scale, seed=0)))
    live = sol.log_norm[-1] > np.log(1e-2)  # the others' bits on held surfaces are rounding
    found = rf.bias.min_norm(data, patterns=sol.bits_at(sol.t[-1])[live] > 0.5)
    assert found.value == pytest.approx(17.2950496085, abs=1e-9)  # |theta|^2 of the limit [numerics, section 5]
    assert found.value <= squared_norm(sol.final) * (1 + 1e-8)  # the run fits to the square root of its loss
    assert rf.bias.min_norm(data, network=sol, patterns="sampled", samples=300).value <= found.value * (1 + 1e-8)


@pytest.mark.parametrize(("n", "d", "readings"), [(30, 60, 5), pytest.param(75, 150, 20, marks=pytest.mark.exhaustive)])
def test_figure_6_sizes_get_bounds_with_labels_within_their_time(n, d, readings, monkeypatch):
    clock = Clock(1.0)
    monkeypatch.setattr("reluflow.bias._programme.monotonic", clock)
    found = rf.bias.min_norm(rf.data.teacher(n, d, 6, seed=0), seconds=float(readings))
    assert clock.readings <= readings + 3  # it stopped in time, or before
    assert not found.exact
    assert found.lower == found.bounds["lower eigenvalue"].value
    below, above = found.bounds["lower sampled"].value, found.bounds["upper eigenvalue"].value
    assert found.lower < below < found.value < above
    np.testing.assert_allclose(outputs(found.params, found.data.x), found.data.y, atol=1e-6)


# Sentences ------------------------------------------------------------------------------------------------------------


def test_data_no_network_fits_are_refused_with_a_sentence():
    same = rf.Data([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0]], [1.0, 0.5, 2.0])
    with pytest.raises(ValueError, match=r"No network can fit rows 0 and 2: they are the same point .* `data.merged"):
        rf.bias.min_norm(same)
    with pytest.raises(ValueError, match="rows 0 and 1: they lie on one ray"):
        rf.bias.min_norm(rf.Data([[1.0, 2.0], [2.0, 4.0]], [1.0, 1.0]))
    with pytest.raises(ValueError, match="Every network without bias is 0 at x = 0, got label 1 for the zero row 1"):
        rf.bias.min_norm(rf.Data([[1.0, 2.0], [0.0, 0.0]], [1.0, 1.0]))
    with pytest.raises(ValueError, match="takes at most 400 points, got 401"):
        rf.bias.min_norm(rf.Data(np.ones((401, 2)), np.ones(401)))
    with pytest.raises(ValueError, match="Every label is 0"):
        rf.bias.min_norm(rf.Data(np.eye(2), [0.0, 0.0]))
    with pytest.raises(ValueError, match=r"A linear network \(slope 1\) must be able to fit"):
        rf.bias.min_norm(rf.data.five_points(), activation=rf.LeakyReLU(1.0))
    with pytest.raises(ValueError, match="The patterns must allow a network that fits"):
        rf.bias.min_norm(rf.data.five_points(), patterns=np.ones((1, 5)))
    with pytest.raises(TypeError, match=r"`rf.bias.min_norm` needs an rf.Data"):
        rf.bias.min_norm(3)


def test_multiples_that_agree_and_zero_rows_with_label_zero_change_nothing():
    data = rf.data.five_points()
    more = rf.Data(np.vstack([data.x, 2 * data.x[:1], [[0.0, 0.0]]]), np.append(data.y, [2 * data.y[0], 0.0]))
    assert rf.bias.min_norm(more).value == pytest.approx(rf.bias.min_norm(data).value, rel=1e-8)
