"""What a person sees of events: a line, the first rows, or all of them as a table."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.events import Events


@pytest.fixture(scope="module")
def events():
    return rf.solve(rf.Problem(rf.data.five_points(), rf.init.balanced(20, 2, log_scale=-6.0, seed=0)), t1=60.0).events


def test_printing_shows_counts_and_the_first_rows_in_order(events):
    lines = str(events).splitlines()
    assert lines[0] == repr(events) and len(events) > 10
    assert lines[1].split() == ["t", "neuron", "datum", "kind"]
    for k, line in enumerate(lines[2:-1]):
        cells = line.split()
        assert float(cells[0]) == pytest.approx(events.t[k], rel=1e-7)
        assert int(cells[1]) == events.neuron[k] and cells[-1] == events.kind[k]
    assert lines[-1] == f"... {len(events) - 10} more: `.to_pandas()` has all"
    assert len(str(events[:3]).splitlines()) == 5
    assert str(events[:0]) == "Events(none)"


def test_times_beyond_floats_are_powers_of_e():
    late = Events([np.inf], [900.0], [3], [-1], [5], [True])
    assert str(late).splitlines()[-1].split() == ["e^900", "3", "dead"]


def test_the_table_has_every_row(events):
    table = events.to_pandas()
    assert list(table) == ["t", "log_t", "neuron", "datum", "kind", "unique"]
    assert len(table) == len(events) and dict(table.kind.value_counts()) == events.counts()
    np.testing.assert_array_equal(table.t, events.t)


def test_what_might_have_gone_otherwise_is_said():
    row = Events([1.0], [0.0], [3], [0], [2], [False])
    assert str(row).splitlines()[-1].endswith("slide, not unique")
