"""Roots, faces and Filippov choices on their own."""

import sys

import pytest

pytest.importorskip("flint", reason="the reference needs python-flint")

from flint import arb, ctx

from reluflow.data import Data
from reluflow.init import Params
from reluflow.problem import Problem
from reluflow.reference.filippov import covectors, resolve
from reluflow.reference.network import network
from reluflow.reference.roots import first_root

BITS = 150


def fixed(*coefficients):
    return [round(c * 2**40) << (BITS - 40) for c in coefficients]


def test_a_pair_of_close_roots_is_not_missed():
    # (x - 0.5)^2 - 1e-8: both ends positive, two roots 2e-4 apart.
    root = first_root(fixed(0.25 - 1e-8, -1.0, 1.0), BITS)
    assert root / 2**BITS == pytest.approx(0.5 - 1e-4, abs=1e-6)
    assert first_root(fixed(0.25 + 1e-8, -1.0, 1.0), BITS) is None


def test_roots_are_exact_to_the_last_bits():
    root = first_root(fixed(2.0, -3.0, 0.0, 0.0, -1.0), BITS)  # 2 - 3x - x^4
    x = arb((root, -BITS))
    with ctx.workprec(200):
        assert abs(2 - 3 * x - x**4) < 1e-44


def vectors(*rows):
    return [[arb(v) for v in row] for row in rows]


def test_lines_through_the_origin_cut_the_plane_into_two_sectors_each():
    faces = covectors(vectors((1, 0), (0, 1), (1, 1), (2, -1)))
    assert sum(0 not in f for f in faces) == 8 and sum(f.count(0) == 1 for f in faces) == 8 and len(faces) == 17


def test_independent_normals_realise_every_pattern_and_coplanar_ones_do_not():
    assert len(covectors(vectors((1, 0, 0), (1, 1, 0)))) == 9
    assert len(covectors(vectors((1, 0, 0), (0, 1, 0), (1, 1, 0)))) == 13


@pytest.mark.parametrize(
    ("sign", "g", "expected"),
    [
        (1, (1.0, -2.0), (1, True)),  # below, pushed up; above, pushed up more: cross
        (1, (-1.0, 2.0), (-1, True)),  # pushed down from both sides
        (1, (-1.0, -0.5), (0, True)),  # up from below, down from above: slide
        (1, (1.0, 0.5), (-1, False)),  # down from below, up from above: not unique, off
        (-1, (1.0, 0.5), (0, True)),  # the same forces on a negative neuron: slide
    ],
)
def test_one_surface(sign, g, expected):
    # x_0 = (1, 0) is touched, x_1 = (-1, 1) is active: <D, x_0> = m g_0 - g_1.
    net = network(Problem(Data([[1.0, 0.0], [-1.0, 1.0]], [1.0, 1.0]), Params([[0.0, 1.0]], [1.0])))
    choice = resolve(net, sign, [arb(v) for v in g], [0, 1], [0], (), arb(1e-20))
    assert (choice.sides[0], choice.unique) == expected


def test_orthogonal_points_leave_nothing_to_slide_on():
    net = network(Problem(Data([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0]), Params([[0.0, 1.0]], [1.0])))
    choice = resolve(net, 1, [arb(-1), arb(1)], [0, 1], [0], (), arb(1e-20))
    assert (choice.sides[0], choice.resting, choice.unique, choice.margins) == (-1, {0}, True, {})


def test_without_flint_one_sentence_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("reluflow.reference")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(ImportError, match=r"^The reference needs python-flint: install `reluflow\[precise\]`.$"):
        import reluflow.reference  # noqa: F401
