"""Cells of the arrangement <w, x_i> = 0."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.bias.patterns import most_cells

SIZES = [(3, 1), (5, 2), (9, 2), (6, 3), (12, 3), (8, 4), (7, 5), (6, 6), (5, 8)]


def rows(n, d, seed=0):
    return np.random.default_rng([seed, n, d]).normal(size=(n, d))


@pytest.mark.parametrize(("n", "d"), SIZES[1:])
def test_general_position_has_the_textbook_number_of_cells(n, d):
    found = rf.bias.patterns(rows(n, d))
    assert found.exact
    assert len(found) == most_cells(n, min(n, d))


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_every_pattern_is_that_of_its_own_direction_and_none_is_missing(n, d):
    x = rows(n, d)
    found = rf.bias.patterns(x)
    assert np.array_equal(found.points @ x.T > 0, found.bits)
    listed = {b.tobytes() for b in found.bits}
    sampled = rf.bias.patterns(x, "sampled", samples=5000)
    assert not sampled.exact
    assert all(b.tobytes() in listed for b in sampled.bits)


def test_parallel_opposite_coplanar_and_zero_rows_share_cells():
    # Four planes, three of which meet in a line: 12 cells where general position would have 14.
    x = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [2, 0, 0], [-1, 0, 0], [0, 0, 0]], float)
    found = rf.bias.patterns(x)
    assert len(found) == 12
    assert np.array_equal(found.bits[:, 0], found.bits[:, 4])
    assert np.array_equal(found.bits[:, 0], ~found.bits[:, 5])
    assert not found.bits[:, 6].any()
    sampled = {b.tobytes() for b in rf.bias.patterns(x, "sampled", samples=20000).bits}
    assert sampled == {b.tobytes() for b in found.bits}


def test_a_trained_networks_own_patterns_are_among_the_sampled_ones():
    x, w = rows(30, 10), rows(4, 10, seed=1)
    found = {b.tobytes() for b in rf.bias.patterns(x, "sampled", samples=10, extra=w).bits}
    assert all(b.tobytes() in found for b in w @ x.T > 0)


def test_too_many_cells_are_refused_with_a_sentence():
    with pytest.raises(
        ValueError, match=r"must not enumerate more than 5000 cells, got up to .* use `how=\"sampled\"`"
    ):
        rf.bias.patterns(rows(40, 8), "exact")
    assert rf.bias.patterns(rows(40, 8)).how == "sampled"
