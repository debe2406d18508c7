"""The toy problems of the papers: the engine against 25 digits, and the stored digits against formulas."""

import mpmath as mp
import numpy as np
import pytest

import reluflow as rf
from reference_comparison import judge


def run(name, spec, rtol):
    data = {"two_points": rf.data.two_points, "five_points": rf.data.five_points}[name]()
    problem = rf.Problem(data, rf.init.balanced(60, 2, log_scale=spec["log_scale"], seed=0))
    return rf.solve(problem, rf.Flow(rtol=rtol), t1=spec["times"][-1])


def toys():
    for name in ("two_points", "five_points"):
        for spec in judge.stored(name):
            yield pytest.param(name, spec, id=f"{name} at e^{spec['log_scale']:.1f}")


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, *(pytest.param(r, marks=pytest.mark.exhaustive) for r in (1e-10, 1e-12))])
@pytest.mark.parametrize("name, spec", list(toys()))
def test_two_and_five_points_keep_the_promise(name, spec, rtol):
    verdict = judge.compare(spec, rtol, run(name, spec, rtol))
    assert verdict.holds, str(verdict)


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("spec", judge.stored("paper_toys"), ids=lambda s: s["name"])
def test_the_other_toys_of_the_papers_keep_the_promise(spec, rtol):
    verdict = judge.compare(spec, rtol)
    assert verdict.holds, str(verdict)


@pytest.mark.parametrize("spec", judge.stored("five_points"), ids=["1e-4", "1e-12"])
def test_five_points_are_right_to_twelve_digits_at_150_300_450_600_and_900(spec):
    assert spec["times"] == [150.0, 300.0, 450.0, 600.0, 900.0] and spec["agree"] > 40
    sol = run("five_points", spec, 1e-12)
    exact, losses = np.array(spec["f"], float), np.array(spec["losses"], float)
    found = sol.outputs_at(spec["times"])
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-12)
    # A loss is (1/2n) sum r_i^2: an output off by a rounding, 1e-16 of its size, is a relative 2e-16 / |r| of the loss,
    # which at t = 900 (1e-4, loss 3e-9) is the last of the twelve digits. Sixteen roundings are allowed.
    residual = np.sqrt(2 * losses)
    np.testing.assert_array_less(np.abs(sol.loss_at(spec["times"]) / losses - 1), 1e-12 + 16 * 2.2e-16 / residual)
    counts = {kind: k for kind, k in sol.events.counts().items() if kind != "dead"}
    assert counts == {kind: k for kind, k in spec["counts"].items() if kind != "dead"}


def closed_form(data, init):
    """Crossing times {(neuron, datum): t}, half-times and rates by sign: `theory/orthogonal_square_loss.md` 4.1-4.3.

    Exact up to the square of the scale: until the outputs move, a neuron w of sign s goes along s D, D the sum of
    y_i x_i / 2 over the points it sees, in sinh time, and drops points of the other sign; then each class follows a
    logistic curve.
    """
    x = [[mp.mpf(v) for v in row] for row in data.x]
    y = [int(v) for v in data.y]
    norm2 = [mp.fdot(row, row) for row in x]
    crossings, V = {}, {1: mp.mpf(0), -1: mp.mpf(0)}
    for j in range(init.width):
        s = 1 if init.a[j] > 0 else -1
        w = [mp.mpf(float(v)) for v in init.w[j]]
        c = [mp.fdot(w, row) for row in x]
        active = [k for k in (0, 1) if c[k] > 0]
        t = mp.mpf(0)
        for k in [k for k in active if s * y[k] < 0]:
            D = [sum(s * y[i] * x[i][p] / 2 for i in active) for p in (0, 1)]
            speed = mp.sqrt(mp.fdot(D, D))
            along = mp.fdot(w, D) / speed
            across = mp.sqrt(mp.fdot(w, w) - along**2)
            eta = 2 * c[k] / norm2[k]
            t += (mp.asinh((along + speed * eta) / across) - mp.asinh(along / across)) / speed
            w = [w[p] + eta * D[p] for p in (0, 1)]
            crossings[j, k] = t
            active.remove(k)
        for k in active:
            along = mp.fdot(w, x[k]) / mp.sqrt(norm2[k])
            V[s] += ((along + mp.sqrt(mp.fdot(w, w))) / 2 * mp.exp(-mp.sqrt(norm2[k]) / 2 * t)) ** 2
    rate = {y[k]: mp.sqrt(norm2[k]) / 2 for k in (0, 1)}
    scale = mp.mpf(float(init.log_scales[0][0]))
    half = {y[k]: (-scale + mp.log(1 / (mp.sqrt(norm2[k]) * V[y[k]])) / 2) / rate[y[k]] for k in (0, 1)}
    return crossings, half, rate


def test_the_stored_two_points_meet_the_closed_form_to_25_digits():
    # Scale 1e-20: the closed form neglects 1e-40. Strings of 25 significant digits are off by up to 5e-25 of their
    # leading power of ten.
    with mp.workdps(50):
        spec = min(judge.stored("two_points"), key=lambda s: s["log_scale"])
        data, init = rf.data.two_points(), rf.init.balanced(60, 2, log_scale=spec["log_scale"], seed=0)
        crossings, half, rate = closed_form(data, init)
        off = {(j, i): mp.mpf(t) for t, j, i, kind, _, _ in spec["events"] if kind == "off"}
        assert off.keys() == crossings.keys() and len(off) == 32
        assert max(abs(off[k] / crossings[k] - 1) for k in off) < mp.mpf("5.1e-25")
        assert {e[3] for e in spec["events"]} == {"off", "dead"}
        compared = 0
        for t, row in zip(spec["times"], spec["f"], strict=True):
            for i, s in ((0, -1), (1, 1)):
                exact = s / (1 + mp.exp(-2 * rate[s] * (mp.mpf(t) - half[s])))
                assert abs(mp.mpf(row[i]) - exact) < mp.mpf("5.1e-25")
                compared += abs(exact) > 0.1
        assert compared >= 7  # times at which an output is of order one, the half-times among them


def test_the_engine_meets_the_closed_form_of_the_two_points_to_twelve_digits():
    with mp.workdps(50):
        data, init = rf.data.two_points(), rf.init.balanced(60, 2, log_scale=np.log(1e-20), seed=0)
        crossings, half, rate = closed_form(data, init)
        times = [float(half[s]) + shift for s in (1, -1) for shift in (-1.0, 0.0, 2.0)]
        sol = rf.solve(rf.Problem(data, init), rf.Flow(rtol=1e-12), t1=90.0)
        off = sol.events["off"]
        assert len(off) == 32
        for t, j, i in zip(off.t, off.neuron, off.datum, strict=True):
            assert abs(t - crossings[int(j), int(i)]) < 1e-12
        for t, row in zip(times, sol.outputs_at(times), strict=True):
            for i, s in ((0, -1), (1, 1)):
                assert abs(row[i] - s / (1 + mp.exp(-2 * rate[s] * (t - half[s])))) < 1e-12
