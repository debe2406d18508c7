"""What the prover proves, against the facts of the handbook [certified, section 6] and closed forms."""

import numpy as np
import pytest
from tests.certify.draws import named, two_points

import reluflow as rf

pytest.importorskip("flint")

A47 = [
    (0, 2, "off", 0.365038076305), (4, 1, "slide", 0.403928265216), (1, 2, "on", 3.862634986861),
    (4, 1, "release_on", 6.918669962730), (1, 0, "slide", 8.887727664415), (2, 2, "slide", 12.787422439775),
    (4, 1, "slide", 23.649059083448), (0, 1, "slide", 27.612032775532), (1, 0, "release_on", 27.915416124317),
]  # fmt: skip


def test_the_nine_events_and_the_outputs_of_a47_are_proved_to_the_digits_known():
    found = rf.certify(named("A47"), t1=30)
    assert [(e.neuron, e.datum, e.kind) for e in found.events] == [fact[:3] for fact in A47]
    np.testing.assert_allclose([e.t for e in found.events], [fact[3] for fact in A47], rtol=0, atol=6e-13)
    for (lo, hi), known in zip(found.outputs, (-0.662653145355, 0.388122820810, 1.042963120127)):
        assert hi - lo < 1e-14  # rounding of the floats that hold the bounds
        assert lo - 6e-13 < known < hi + 6e-13


@pytest.mark.parametrize(
    ("name", "loss", "norm2", "events"),
    [
        ("A18", 0.0, 3.9539337, 8),
        ("A23", 1 / 24, 1.6167013, 13),
        pytest.param("A47", 0.0, 4.3112117, 9, marks=pytest.mark.exhaustive),
        pytest.param("B11", 0.0, 1.6512765, 6, marks=pytest.mark.exhaustive),
    ],
)
def test_limits_of_the_handbook_are_proved(name, loss, norm2, events):
    found = rf.certify(named(name))
    assert found.converges and len(found.events) == events
    assert found.loss[0] <= loss <= found.loss[1] and found.loss[1] - found.loss[0] < 1e-15
    lo, hi = found.norm2
    assert lo < norm2 < hi and hi - lo < 1e-5


def test_a_limit_is_not_missed_where_floats_say_first_whether_it_is_near(monkeypatch):
    from reluflow.certify import limit

    asked, far = [], limit.far
    monkeypatch.setattr(limit, "MANY", 1)
    monkeypatch.setattr(limit, "far", lambda *at: asked.append(far(*at)) or asked[-1])
    many = rf.certify(named("A23"))
    assert any(asked) and not asked[-1]
    monkeypatch.setattr(limit, "far", lambda *at: False)
    assert rf.certify(named("A23")).content == many.content


def test_two_points_at_a_scale_end_where_the_handbook_says():
    found = rf.certify(two_points(-7.0))
    assert [(e.neuron, e.datum, e.kind) for e in found.events] == [(3, 0, "off"), (2, 0, "off")]
    lo, hi = found.norm2
    assert lo < 0.8944274147 < hi and hi - lo < 1e-9
    assert found.loss[0] <= 0.25 <= found.loss[1]


def test_two_points_are_settled_for_every_scale_below_one():
    found = rf.certify(two_points(-14.0), every_scale_below=True)
    for e, known, rounding in zip(found.events, (0.25534076, 2.3927495), (5e-9, 5e-8), strict=True):
        assert float(e.start) - rounding < known < float(e.end) + rounding
        assert float(e.end) - float(e.start) < 1e-5
    lo, hi = map(float, found.content["limit"]["excess"])
    assert lo < 0.26898 < 0.26903 < hi and hi - lo < 3e-4
    one = rf.certify(two_points(-20.0))  # a scale below it
    assert lo <= float(one.content["limit"]["excess"][0]) and float(one.content["limit"]["excess"][1]) <= hi


def test_one_neuron_on_one_point_ends_at_the_norm_of_its_closed_form():
    # d = 1, balanced: f = w |w| ... -> y, so |theta|^2 -> 2 |y|/|x|, whatever the scale.
    problem = rf.Problem(rf.Data([[2.0]], [3.0]), rf.Params([[1.0]], [1.0], log_scale=-5.0))
    found = rf.certify(problem)
    lo, hi = found.norm2
    assert lo <= 2 * 3.0 / 2.0 <= hi and hi - lo < 1e-12 and not found.events


def test_the_gap_to_minimum_norm_is_that_of_the_cone_programme():
    found = rf.certify(named("B11"), digits=30)
    least = rf.bias.min_norm(named("B11").data)
    assert least.exact
    np.testing.assert_allclose(found.gap, np.array(found.norm2) - least.value, rtol=0, atol=1e-6)
    assert found.gap[0] > 0.024
