"""How kernels are compiled: parts are taken in by entries, which alone are optimised and emitted and kept on disk."""

import gc
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from reluflow.engine import _jit, _parts

KNOWN, UNKNOWN = "0.68.1", "9.1.0"


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
    options = {**_jit.OPTIONS, "_nrt": False}
    return numba.njit(pipeline_class=_parts.EntryCompiler, **options)(lambda x: np.sqrt(sum_of_squares(x)))


def test_an_entry_takes_in_its_parts_and_they_are_not_emitted(norm):
    assert norm(np.array([3.0, 4.0])) == 5.0
    [whole], part = norm.overloads.values(), sum_of_squares.overloads[norm.signatures[0]]
    assert isinstance(part.library, _parts.Part) and not isinstance(whole.library, _parts.Part)
    assert part.library.get_pointer_to_function(part.fndesc.llvm_func_name) == 0
    assert whole.library.get_pointer_to_function(whole.fndesc.llvm_func_name) != 0
    defined = [f.name for f in whole.library.get_defined_functions()]
    assert not any("square" in name for name in defined), "both parts are pasted in"


@_jit.inner
def cube(x):
    return x * x * x


def test_a_function_made_to_call_another_leaves_the_first_as_it_is(norm):
    cubes = _jit.calling(sum_of_squares, square=cube)
    options = {**_jit.OPTIONS, "_nrt": False}
    both = numba.njit(pipeline_class=_parts.EntryCompiler, **options)(lambda x: (cubes(x), sum_of_squares(x)))
    assert both(np.array([1.0, 2.0])) == (9.0, 5.0)
    assert norm(np.array([3.0, 4.0])) == 5.0


def test_only_what_a_function_calls_can_be_replaced_in_it():
    with pytest.raises(ValueError, match="`sum_of_squares` must call what is replaced, got cube"):
        _jit.calling(sum_of_squares, cube=cube)


def test_compilations_are_announced_once_for_each_purpose(norm, monkeypatch, caplog):
    from reluflow.engine import coupled, rare, windows

    monkeypatch.setattr(_jit, "_announced", set())
    norm(np.zeros(2))
    norm(np.zeros(2, np.float32))
    for entry in (coupled.burst, rare.handle, windows.advance, windows.trace_blocks):
        _jit.announce(entry)
    rest = "once on this machine: about half a minute."
    assert [(r.name, r.levelname, r.message) for r in caplog.records] == [
        ("reluflow", "WARNING", f"reluflow compiles its kernels, {rest}"),
        ("reluflow", "WARNING", f"reluflow compiles its kernels for large flows, {rest}"),
    ]


def test_waiting_for_another_process_that_compiles_is_announced(monkeypatch, caplog):
    from reluflow.drive import compile

    monkeypatch.setattr(_jit, "_announced", set())
    work = SimpleNamespace(poll=lambda: None, wait=lambda: 0)
    done = SimpleNamespace(poll=lambda: 0, wait=lambda: 0)
    monkeypatch.setattr(compile, "_running", {"windows": work, "stiff": done})
    compile.ready("windows")
    compile.ready("stiff")
    assert [r.message for r in caplog.records] == [
        "reluflow compiles its kernels for large flows, once on this machine: about half a minute."
    ]


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
    bad = numba.njit(pipeline_class=_parts.EntryCompiler)(lambda x: x.no_such_thing)
    with pytest.raises(numba.TypingError):
        bad(1.0)
    assert gc.isenabled()


def test_only_tested_versions_of_numba_get_the_special_compiler(monkeypatch):
    monkeypatch.delenv("RELUFLOW_JIT", raising=False)
    assert [_jit.tested(v) for v in ("0.60.1", "0.61.0", KNOWN, "0.69.0rc1", "1.0", UNKNOWN)] == [0, 1, 1, 0, 0, 0]
    monkeypatch.setenv("RELUFLOW_JIT", "plain")
    assert not _jit.tested(KNOWN)


def test_the_installed_numba_is_a_tested_one():
    assert _jit.tested(numba.__version__)


@pytest.mark.parametrize("version", [KNOWN, UNKNOWN])
def test_kernels_of_an_unknown_numba_compute_the_same(version, monkeypatch, tmp_path):
    # One of each kind, as in the engine: an entry calls a part that makes an array and a part that does not.
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    make = _jit.decorators(version)

    @make.glue
    def first(x, r):
        return x[:r]

    @make.inner
    def dot(x, y):
        total = 0.0
        for i in range(x.size):
            total += x[i] * y[i]
        return total

    @make.making
    def doubled(x):
        y = np.empty(x.size)
        for i in range(x.size):
            y[i] = 2.0 * x[i]
        return dot(x, y)

    @make.entry
    def both(x, r):
        return doubled(first(x, r)) + dot(x, x)

    x = np.arange(6.0)
    assert both(x, 3) == 2.0 * 5.0 + 55.0
    assert (dot.targetoptions.get("no_cpython_wrapper", False)) is (version == KNOWN)


def test_kernels_compiled_from_other_sources_are_forgotten_wherever_numba_keeps_them(monkeypatch, tmp_path):
    # A read-only installation is cached in the user's folder, not beside the source.
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def entry():
        return _jit.entry(lambda x: 2.0 * x)

    compiled = entry()
    assert compiled(1.5) == 3.0
    folder = Path(compiled.stats.cache_path)
    assert tmp_path in folder.parents and list(folder.glob("*.nbc"))
    entry()
    assert list(folder.glob("*.nbc")), "nothing has changed"
    monkeypatch.setattr(_jit, "sources", lambda *_: "a force was doubled in field.py")
    entry()
    assert not list(folder.glob("*.nb[ci]"))


def test_kernels_stored_late_by_a_process_with_older_sources_are_not_used(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def entry():
        return _jit.entry(lambda x: 2.0 * x)

    late = entry()
    monkeypatch.setattr(_jit, "sources", lambda *_: "newer")
    entry()
    late(1.5)
    found = entry()
    assert found(1.5) == 3.0 and sum(found.stats.cache_hits.values()) == 0
    again = entry()
    assert again(1.5) == 3.0 and sum(again.stats.cache_hits.values()) == 1


def test_the_digest_of_the_sources_covers_every_kernel_and_the_table_of_losses(monkeypatch, tmp_path):
    package = tmp_path / "engine"
    package.mkdir()
    monkeypatch.setattr(_jit, "__file__", str(package / "_jit.py"))
    seen = set()
    for name, text in (("engine/field.py", "a"), ("engine/field.py", "b"), ("losses.py", "c"), ("engine/new.py", "")):
        (tmp_path / "losses.py").touch()
        (tmp_path / name).write_text(text)
        seen.add(_jit.sources.__wrapped__())
    assert len(seen) == 4


def test_options_of_functions_are_compared_as_numba_compares_them():
    from numba.core.compiler import Flags

    from reluflow.engine._parts import quick_flags

    one, same, other = Flags(), Flags(), Flags()
    same.nrt, other.nrt = False, True  # set to the default, and to something else
    plain = [hash(one), hash(other), one == same, one == other, one == "nrt"]
    with quick_flags():
        assert [hash(one), hash(other), one == same, one == other, one == "nrt"] == plain
    assert plain[2:] == [True, False, False] and Flags.__eq__.__module__.startswith("numba")
