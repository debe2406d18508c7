"""How kernels are compiled: parts are taken in by entries, which alone are optimised and emitted."""

import gc

import numba
import numpy as np
import pytest

from reluflow.engine import _jit


@_jit.inner
def square(x):
    return x * x


@_jit.inner
def sum_of_squares(x):
    total = 0.0
    for i in range(x.size):
        total += square(x[i])
    return total


@pytest.fixture
def norm():
    return numba.njit(**(_jit.ENTRY | {"cache": False}))(lambda x: np.sqrt(sum_of_squares(x)))


def test_an_entry_takes_in_its_parts_and_they_are_not_emitted(norm):
    assert norm(np.array([3.0, 4.0])) == 5.0
    [whole], part = norm.overloads.values(), sum_of_squares.overloads[norm.signatures[0]]
    assert isinstance(part.library, _jit.Part) and not isinstance(whole.library, _jit.Part)
    assert part.library.get_pointer_to_function(part.fndesc.llvm_func_name) == 0
    assert whole.library.get_pointer_to_function(whole.fndesc.llvm_func_name) != 0
    defined = [f.name for f in whole.library.get_defined_functions()]
    assert not any("square" in name for name in defined), "both parts are pasted in"


def test_a_compilation_is_told_once(norm, monkeypatch, caplog):
    monkeypatch.setattr(_jit.EntryCompiler, "told", False)
    norm(np.zeros(2))
    norm(np.zeros(2, np.float32))
    assert [(r.name, r.levelname, r.message) for r in caplog.records] == [("reluflow", "WARNING", _jit.TOLD)]


def test_infinity_and_nan_are_kept(norm):
    assert norm(np.array([1.0, np.inf])) == np.inf
    assert np.isnan(norm(np.array([1.0, np.nan])))


@pytest.mark.parametrize("collecting", [True, False])
def test_the_collector_is_as_it_was_after_a_compilation(norm, collecting):
    before = gc.isenabled()
    try:
        (gc.enable if collecting else gc.disable)()
        norm(np.zeros(1))
        assert gc.isenabled() is collecting
    finally:
        (gc.enable if before else gc.disable)()


def test_the_collector_is_as_it_was_after_a_failed_compilation():
    bad = numba.njit(**(_jit.ENTRY | {"cache": False}))(lambda x: x.no_such_thing)
    with pytest.raises(numba.TypingError):
        bad(1.0)
    assert gc.isenabled()
