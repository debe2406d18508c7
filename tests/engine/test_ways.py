"""The ways out of w = 0, against a look at every direction."""

from types import SimpleNamespace

import numpy as np
import pytest

from reluflow.engine.ways import MOST, rays


def random_forces(seed, r):
    """Surfaces with random normals and forces, as the kernels hold them; forces are negative more often than not."""
    g = np.random.default_rng([seed, r])
    big = 1 if r == 1 else int(g.integers(max(2, r), 12))
    e = g.normal(size=(big, r))
    e /= np.linalg.norm(e, axis=1)[:, None]
    jump = np.abs(g.normal(size=big)) * np.where(g.random(big) < 0.15, 1.0, -1.0)
    base = 0.3 * g.normal(size=big) * (g.random() < 0.3)
    opposite = np.where(base != 0, 1, 0)
    slope = float(g.choice([0.0, 0.2]))
    problem = SimpleNamespace(e=e, slope=slope, opposite=opposite, rank=r, rays=rays(e, r))
    return problem, SimpleNamespace(jump=jump, base=base, noise=np.full(big, 1e-300))


def size_of(work):
    """The sum of the forces: no growth changes faster with the direction."""
    return np.sum(np.abs(work.jump) + np.abs(work.base))


def growth(problem, work, z):
    """h(z) of many directions at once."""
    u = z @ problem.e.T
    return np.sum((np.where(u > 0, 1.0, problem.slope) * work.jump + work.base) * u, axis=1)


@pytest.mark.parametrize("r", [1, 2])
def test_a_way_out_is_found_where_one_of_40000_directions_grows_and_only_there(engine, r):
    angles = np.linspace(0, 2 * np.pi, 40001)[:-1]
    z = np.array([[1.0], [-1.0]]) if r == 1 else np.stack([np.cos(angles), np.sin(angles)], axis=1)
    open_ones, step = 0, angles[1] if r == 2 else 1e-12
    for seed in range(300):
        problem, work = random_forces(seed, r)
        top = np.max(growth(problem, work, z))
        closed = engine.ways.closed(problem, work, 1.0, 100.0)
        assert (closed < 0.0) == (top > 0.0)
        if top > 0.0:
            open_ones += 1
            out = engine.ways.out_of_plane if r == 2 else lambda *a: engine.ways.out_of_line(*a[:3])[0]
            assert 0.0 < out(problem, work, 1.0, 0.0, 0.0).growth <= top + step * size_of(work)
    assert 20 < open_ones < 280


def test_the_way_uphill_is_where_a_walk_over_40000_directions_ends(engine):
    angles = np.linspace(0, 2 * np.pi, 40001)[:-1]
    z = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    on_rays = 0
    for seed in range(100):
        problem, work = random_forces(seed, 2)
        circle, h = engine.ways.circle(problem, work, 1.0), growth(problem, work, z)
        for at in np.random.default_rng(seed).integers(0, len(angles), size=5):
            found = engine.ways.uphill(circle, angles[at])
            side = 1 if h[(at + 1) % len(h)] > h[at - 1] else -1
            while h[(at + side) % len(h)] > h[at]:
                at = (at + side) % len(h)
            assert found.growth == pytest.approx(h[at], abs=angles[1] * size_of(work))
            assert np.hypot(*(z[at] - [found.z0, found.z1])) < 1e-3 or abs(found.growth) < 1e-9
            if found.surface >= 0:
                on_rays += 1
                assert abs(problem.e[found.surface] @ [found.z0, found.z1]) < 1e-12
    assert 50 < on_rays < 450


def test_a_neuron_of_the_other_sign_leaves_under_the_opposite_forces(engine):
    problem, work = random_forces(5, 2)
    minus = SimpleNamespace(jump=-work.jump, base=-work.base, noise=work.noise)
    assert engine.ways.closed(problem, work, -1.0, 100.0) == engine.ways.closed(problem, minus, 1.0, 100.0)


@pytest.mark.parametrize("r", [3, 4])
def test_in_more_dimensions_a_direction_that_grows_means_a_ray_that_does(engine, r):
    open_ones = 0
    z = np.random.default_rng(r).normal(size=(40_000, r))
    for seed in range(60):
        problem, work = random_forces(seed, r)
        closed = engine.ways.closed(problem, work, 1.0, 100.0)
        assert closed < 0.0 or np.max(growth(problem, work, z)) <= 1e-9 * size_of(work)
        if closed < 0.0:
            open_ones += 1
            ray, steepest = engine.ways.steepest(problem, work, 1.0)
            found = growth(problem, work, problem.rays[ray : ray + 1])[0]
            assert found == pytest.approx(steepest, abs=1e-13 * size_of(work)) and found > 0.0
    assert 5 < open_ones < 55


def test_rays_lie_on_their_surfaces_and_are_counted_once():
    cube = np.array(np.meshgrid([1.0], [-1.0, 1.0], [-1.0, 1.0])).reshape(3, -1).T / np.sqrt(3)
    e = np.concatenate([np.eye(3), cube, [[np.sqrt(0.5), np.sqrt(0.5), 0.0]]])
    found = rays(np.pad(e, ((0, 0), (0, 1))), 3)  # with a coordinate outside the span
    assert np.all(found[:, 3] == 0.0) and len(np.unique(np.round(found, 9), axis=0)) == len(found)
    u = np.abs(found[:, :3] @ e.T)
    assert np.all((u <= 1e-14) | (u > 1e-3)) and np.all(np.sum(u <= 1e-14, axis=1) >= 2)
    by_pairs = np.array([np.cross(a, b) for i, a in enumerate(e) for b in e[:i]])
    cosines = np.abs(by_pairs @ found[:, :3].T) / np.linalg.norm(by_pairs, axis=1)[:, None]
    assert np.all(np.max(cosines, axis=1) > 1.0 - 1e-14)


def test_one_dimension_inside_the_plane_has_two_rays():
    np.testing.assert_array_equal(rays(np.array([[1.0, 0.0]]), 1), [[1.0, 0.0], [-1.0, 0.0]])


def test_too_many_rays_are_not_tabulated():
    e = np.random.default_rng(0).normal(size=(46, 3))
    assert len(rays(e[:45], 3)) == 2 * 45 * 44 // 2 <= MOST < 2 * 90 * 89 // 2
    assert len(rays(np.concatenate([e, e + 1.0]), 3)) == 0
