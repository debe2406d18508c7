"""What `surfaces.resolve` decides, against the conditions it solves and cases done by hand."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from support.kernels import start

import reluflow as rf

DIRECTIONS = {"slope": 0.0, "leaky": 0.25}


def neuron(engine, x, slope=0.0, sign=1.0):
    """One neuron over data x, its forces to be set by hand."""
    x = np.asarray(x, float)
    problem = rf.Problem(
        rf.Data(x, np.ones(len(x))),
        rf.Params(np.ones((1, x.shape[1])), [sign * np.sqrt(x.shape[1])]),
        activation=rf.LeakyReLU(slope),
    )
    one = start(engine, problem)
    one.work.noise[:] = 0.0
    return one


def resolve(engine, one, jump, base, bits, mark):
    """(bits, codes, unique, distance) for forces F = jump, B = base, bits from before and marks."""
    one.work.jump[:], one.work.base[:], one.work.mark[:] = jump, base, mark
    one.state.bits[0] = bits
    unique, distance, where = engine.surfaces.resolve(one.problem, one.state, one.work, 0)
    assert where < 0 or mark[where] != engine.surfaces.ABSENT
    return one.state.bits[0].copy(), one.state.code[0].copy(), unique, distance


def pull(one, jump, base, bits):
    return (np.asarray(bits) * jump + base) @ one.problem.e


@pytest.mark.parametrize("slope", DIRECTIONS.values(), ids=DIRECTIONS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_neuron_slides_with_the_bit_that_cancels_its_normal_velocity(engine, slope, sign):
    s = engine.surfaces
    one = neuron(engine, [[1.0, 0.0], [0.6, 0.8]], slope, sign)
    # Surface 0 attracts (sign F < 0) with |F| = 2; surface 1 pushes with 1.2 along e_1: m F_0 + 0.6 * 1.2 sign = 0.
    jump, base = sign * np.array([-2.0, 1.2]), np.zeros(2)
    bits, code, unique, distance = resolve(engine, one, jump, base, [slope, 1.0], [s.FALLING, s.ABSENT])
    assert code[0] == engine.field.SLID and unique
    assert bits[0] == pytest.approx(0.36, abs=1e-14)
    assert pull(one, jump, base, bits) @ one.problem.e[0] == pytest.approx(0.0, abs=1e-14)
    # Distance from leaving: the force to the nearer end of the bit's range over all forces.
    assert distance == pytest.approx(2.0 * min(0.36 - slope, 1.0 - 0.36) / 3.2)


@pytest.mark.parametrize("push, kind", [(-0.5, "OFF"), (0.0, "PINNED"), (3.0, "ON")])
def test_an_attracting_surface_is_left_to_the_side_the_force_points_to(engine, push, kind):
    s, f = engine.surfaces, engine.field
    one = neuron(engine, [[1.0, 0.0], [0.0, 1.0]])
    bits, code, unique, _ = resolve(engine, one, [-2.0, 0.0], [push, 0.5], [1.0, 1.0], [s.FALLING, s.ABSENT])
    assert code[0] == {"OFF": f.OFF + f.FRESH, "PINNED": f.PINNED, "ON": f.ON + f.FRESH}[kind] and unique
    assert bits[0] == (1.0 if kind == "ON" else 0.0)


@pytest.mark.parametrize("arrival, on", [("RISING", True), ("FALLING", False)])
def test_a_repelling_surface_is_crossed_the_way_it_was_met(engine, arrival, on):
    s, f = engine.surfaces, engine.field
    one = neuron(engine, [[1.0, 0.0], [0.0, 1.0]])
    push = 0.5 if on else -3.0
    bits, code, unique, distance = resolve(
        engine, one, [2.0, 0.0], [push, 0.5], [0.0 if on else 1.0, 1.0], [getattr(s, arrival), s.ABSENT]
    )
    assert (bits[0], code[0]) == ((1.0, f.ON + f.FRESH) if on else (0.0, f.OFF + f.FRESH)) and unique
    assert distance == pytest.approx(abs(push + 2.0 * on) / (2.0 + abs(push) + 0.5))


def test_a_start_on_a_repelling_surface_stays_off_and_is_not_unique(engine):
    s, f = engine.surfaces, engine.field
    one = neuron(engine, [[1.0, 0.0], [0.0, 1.0]])
    # Off: v = -0.5 leads off; on: v = 1.5 leads on. Both solve the flow.
    bits, code, unique, _ = resolve(engine, one, [2.0, 0.0], [-0.5, 0.5], [0.0, 1.0], [s.AT_START, s.ABSENT])
    assert (bits[0], code[0], unique) == (0.0, f.OFF + f.FRESH, False)


@pytest.mark.parametrize("slope", [0.0, 0.1, 0.9])
def test_a_weak_surface_is_crossed_the_way_the_neuron_moves(engine, slope):
    """A run stood still at t = 2e-7: the surface of a datum with a force of 1.3e-13 attracted, but bits 0.9 times that
    apart counted as equal, so that a neuron moving across was put back on the side it came from."""
    s, f = engine.surfaces, engine.field
    one = neuron(engine, [[1.0, 0.0], [0.6, 0.8]], slope)
    for force in np.geomspace(1e-15, 1e-11, 60):
        for push, mark, to in ((1.0, s.RISING, f.ON), (-1.0, s.FALLING, f.OFF)):
            bits = [slope if mark == s.RISING else 1.0, 1.0]
            _, code, unique, _ = resolve(engine, one, [-force, push], [0.0, 0.0], bits, [mark, s.ABSENT])
            assert (code[0] & 3) == to and unique


@pytest.mark.parametrize("push", [0.2, 0.5, 0.8])
def test_a_surface_too_weak_to_tell_from_rounding_holds_a_neuron_that_comes_back(engine, push):
    """Rows of norms 1e-3 .. 1e3, draw 9: a neuron crossed the surface of the strongest datum, whose force was below ten
    times its rounding, to and fro for ever."""
    s, f = engine.surfaces, engine.field
    one = neuron(engine, [[1.0, 0.0], [0.0, 1.0]])
    noise = 1e-12
    for force in (2.0 * noise, 5.0 * noise):
        one.work.noise[0], one.state.code[0] = noise, [f.ON, f.ON]
        # On it goes back, off it comes: the bit that holds it is `push`.
        forces = [-force, 0.3], [push * force, 0.0]
        _, code, _, _ = resolve(engine, one, *forces, [1.0, 1.0], [s.FALLING, s.ABSENT])
        assert code[0] == f.OFF + f.FRESH
        _, code, unique, distance = resolve(engine, one, *forces, [0.0, 1.0], [s.RISING, s.ABSENT])
        assert code[0] == f.PINNED and unique and distance == 1.0
        # A force that is not rounding takes it across, however soon it comes back.
        one.state.code[0] = [f.OFF + f.FRESH, f.ON]
        _, code, _, _ = resolve(engine, one, [-force, 0.3], [20.0 * noise, 0.0], [0.0, 1.0], [s.RISING, s.ABSENT])
        assert code[0] == f.ON + f.FRESH


def test_a_held_neuron_is_released_only_beyond_the_rounding_of_all_its_forces(engine):
    s, f = engine.surfaces, engine.field
    one = neuron(engine, [[1.0, 0.0], [0.6, 0.8]])
    out = np.ones((1, 2))
    for push, past in ((4.0, 0.4), (-0.5, 0.3)):
        # The force needed is 0.6 push, and surface 0 gives 0 to 2: so far `past` its range.
        for rounding in (0.5 * past, 0.9 * past, 1.1 * past, 2.0 * past):
            one.state.code[0], one.state.bits[0] = [f.SLID, f.ON], [0.5, 1.0]
            s.hold(one.problem, one.state, 0)
            one.work.noise[:] = 0.0, rounding
            one.work.jump[:], one.work.base[:] = [-2.0, push], 0.0
            one.work.free[0] = push * one.problem.e[1]
            worst, _, _, _ = s.margins(one.problem, one.state, one.work, out)
            assert (worst < 0.0) == (rounding < past)
            # The same where it is looked at because of another event; a neuron that arrives is not held by it.
            for mark, stays in ((s.HELD, rounding > past), (s.RISING if push > 0.0 else s.FALLING, False)):
                one.state.code[0] = [f.SLID if mark == s.HELD else (f.OFF if push > 0.0 else f.ON), f.ON]
                _, code, _, _ = resolve(engine, one, [-2.0, push], [0.0, 0.0], [0.5, 1.0], [mark, s.ABSENT])
                assert (code[0] in (f.SLID, f.PINNED)) == stays


def test_forced_releases_are_obeyed(engine):
    s, f = engine.surfaces, engine.field
    one = neuron(engine, [[1.0, 0.0], [0.6, 0.8]])
    for mark, bit, code in ((s.FORCE_OFF, 0.0, f.OFF + f.FRESH), (s.FORCE_ON, 1.0, f.ON + f.FRESH)):
        found = resolve(engine, one, [-2.0, 1.2], [0.0, 0.0], [0.36, 1.0], [mark, s.ABSENT])
        assert (found[0][0], found[1][0]) == (bit, code)


def fan(engine):
    """A neuron in the plane over three data: their normals depend on each other."""
    angles = np.array([0.1, 0.9, 1.7])
    return neuron(engine, np.column_stack([np.cos(angles), np.sin(angles)]))


def test_on_dependent_normals_that_all_attract_the_velocity_is_the_one_of_least_norm(engine):
    s, one = engine.surfaces, fan(engine)
    rng = np.random.default_rng(9)
    for _ in range(20):
        jump, base = -rng.uniform(0.5, 3.0, 3), rng.normal(size=3)
        bits, _, unique, _ = resolve(engine, one, jump, base, [0.5] * 3, [s.HELD] * 3)
        # D = sum (m_k F_k + B_k) e_k over 0 <= m <= 1: its least norm by another programme.
        best = lsq_linear(one.problem.e.T * jump, -base @ one.problem.e, bounds=(0.0, 1.0), method="bvls")
        expected = (best.x * jump + base) @ one.problem.e
        np.testing.assert_allclose(pull(one, jump, base, bits), expected, atol=1e-11)
        assert unique


def test_dependent_normals_of_which_one_repels_are_not_unique(engine):
    s = engine.surfaces
    found = resolve(engine, fan(engine), [-2.0, -2.0, 1.0], [0.4, 0.3, 0.2], [0.5] * 3, [s.HELD] * 3)
    assert not found[2]


@pytest.mark.parametrize("seed", range(40))
def test_a_singular_box_problem_has_the_velocity_of_scipy(engine, seed):
    """min (1/2) n'Gn - p'n over a box, G = E E' of lower rank than its size: n is not unique, p - G n is."""
    rng = np.random.default_rng([seed, 7])
    t, r = int(rng.integers(3, 9)), int(rng.integers(1, 3))
    E, z = rng.normal(size=(t, r)), 2.0 * rng.normal(size=r)
    E /= np.linalg.norm(E, axis=1)[:, None]
    lower = rng.uniform(0.0, 0.3, t) * rng.integers(0, 2, t)
    upper = lower + rng.uniform(0.1, 2.0, t) * rng.integers(0, 2, t)
    expected = z - E.T @ bounded(E, z, lower, upper)
    for solve in (engine.surfaces.one_by_one, engine.surfaces.box_qp):
        n = rng.uniform(lower, upper)
        solve(E @ E.T, E @ z, lower, upper, n)
        assert np.all((n >= lower - 1e-13) & (n <= upper + 1e-13))
        np.testing.assert_allclose(z - E.T @ n, expected, atol=1e-9)


def bounded(E, z, lower, upper):
    """scipy's minimiser of |E'n - z| over the box; it wants lower < upper, so the others are taken out."""
    n, free = lower.copy(), upper > lower
    if np.any(free):
        left = z - E[~free].T @ lower[~free]
        n[free] = lsq_linear(E[free].T, left, bounds=(lower[free], upper[free]), method="bvls", tol=1e-14).x
    return n


@pytest.mark.parametrize("seed", range(20))
def test_bits_of_attracting_surfaces_solve_the_complementarity_problem(engine, seed):
    """m = slope => v <= 0, m = 1 => v >= 0, between => v = 0, with v = sign <D, e>; the reading is numpy's."""
    s, rng = engine.surfaces, np.random.default_rng([seed, 5])
    n, d, slope, sign = int(rng.integers(2, 6)), 6, (0.0, 0.3)[seed % 2], (1.0, -1.0)[seed // 2 % 2]
    one = neuron(engine, rng.normal(size=(n, d)), slope, sign)
    held = int(rng.integers(1, n + 1))
    jump, base = rng.normal(size=n), rng.normal(size=n)
    jump[:held] = -sign * np.abs(jump[:held])
    before = np.where(rng.random(n) < 0.5, 1.0, slope)
    mark = [s.HELD] * held + [s.ABSENT] * (n - held)
    bits, code, unique, _ = resolve(engine, one, jump, base, before, mark)
    v = sign * one.problem.e @ pull(one, jump, base, bits)
    assert unique and np.array_equal(bits[held:], before[held:])
    for k in range(held):
        assert slope <= bits[k] <= 1.0
        low, high = bits[k] > slope, bits[k] < 1.0
        assert (v[k] > -1e-11 if low else True) and (v[k] < 1e-11 if high else True)
        assert (code[k] == engine.field.SLID) == (low and high)


def test_a_margin_is_negative_exactly_when_the_bit_would_leave_its_range(engine):
    s = engine.surfaces
    one = neuron(engine, [[1.0, 0.0], [0.6, 0.8]])
    one.state.code[0], one.state.bits[0] = [engine.field.SLID, engine.field.ON], [0.5, 1.0]
    s.hold(one.problem, one.state, 0)
    out = np.ones((1, 2))
    for push, side in ((1.2, None), (-0.1, 0), (4.0, 1)):
        one.work.jump[:], one.work.base[:] = [-2.0, push], 0.0
        one.work.free[0] = push * one.problem.e[1]
        worst, j, k, found = s.margins(one.problem, one.state, one.work, out)
        bit = 0.6 * push / 2.0
        assert (worst < 0.0) == (not 0.0 <= bit <= 1.0)
        if side is not None:
            assert (j, k, found) == (0, 0, side)
        assert one.state.bits[0, 0] == pytest.approx(min(1.0, max(0.0, bit)))


def test_a_force_that_is_gone_holds_nothing_and_one_lost_in_rounding_is_left_alone(engine):
    # Beyond the kink of a loss the force of a datum is 0, not small.
    hold = engine.surfaces.Hold(1.0, 1.0, 0.0, 1e-16, 0.0, 0.0, False)
    assert engine.surfaces.held_margin(0.0, 0.3, hold)[0] < 0.0
    assert engine.surfaces.held_margin(0.0, 1e-18, hold)[0] > 0.0
    assert engine.surfaces.held_margin(1e-16, 0.3, hold) == (1.0, 0)
