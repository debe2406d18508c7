"""The engine as plain Python: it gives what the compiled one gives, and its small problems reach nearly every line."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gates import pure

WHOLE = 0.95  # of all engine lines
EACH = 0.85  # of any file's


def run_plainly(folder, *step):
    """Results of all cases, or of every `step`-th, run with NUMBA_DISABLE_JIT=1."""
    subprocess.run([sys.executable, pure.__file__, str(folder), *map(str, step)], check=True, capture_output=True)
    with np.load(folder / "results.npz") as stored:
        return dict(stored)


def differences(found, step):
    """Where plain Python and compiled kernels differ."""
    cases = pure.some(step).items()
    return [f"{name}: {why}" for name, make in cases for why in pure.differences(pure.one(found, name), make())]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """(results, lines reached) of all cases."""
    folder = tmp_path_factory.mktemp("pure")
    return run_plainly(folder), json.loads((folder / "lines.json").read_text())


def test_plain_python_gives_what_the_compiled_kernels_give_on_every_sixth_case(tmp_path):
    wrong = differences(run_plainly(tmp_path, 6), 6)
    assert not wrong, "\n".join(wrong)


@pytest.mark.exhaustive
def test_plain_python_gives_what_the_compiled_kernels_give(plain):
    wrong = differences(plain[0], 1)
    assert not wrong, "\n".join(wrong)


@pytest.mark.exhaustive
def test_more_than_95_percent_of_the_engine_is_reached(plain):
    _, lines = plain
    reached, every = (sum(row[k] for row in lines.values()) for k in ("reached", "lines"))
    poor = {name: row["missing"] for name, row in lines.items() if row["reached"] < EACH * row["lines"]}
    assert not poor, f"hardly tested as plain Python: {poor}"
    assert reached > WHOLE * every, f"{reached} of {every} lines; {Path(pure.__file__).name} prints the others"


def test_a_result_that_is_off_is_told():
    one = {
        "f": np.array([[1.0, 2.0]]),
        "event": np.array([[0, 1, 2]]),
        "event_t": np.array([0.5]),
        "tol": np.array(1e-3),
    }
    assert pure.differences(one, one) == []
    assert "f" in pure.differences(one | {"f": one["f"] + 0.01}, one)[0]
    assert "event" in pure.differences(one | {"event": one["event"] + 1}, one)[0]
    assert "event_t" in pure.differences(one | {"event_t": one["event_t"] + 0.01}, one)[0]
    assert pure.differences(one | {"f": one["f"] + 1e-4}, one) == []
