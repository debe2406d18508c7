"""How every kernel is compiled: NaN and infinity kept, sums in the order written, products and
sums fused, entries cached on disk.

    entry     what Python calls; stored on disk with everything it calls inside
    inner     what only kernels call; a call from Python crashes
    making    an inner function that makes arrays, so that references to them are counted; elsewhere they are not, which
              would take as long as the arithmetic
    glue      pasted into its caller, before types are known
    calling   an inner function again, with other functions in the place of some that it calls

With a version of numba this was tested with (`TESTED`), inner functions are compiled by `_parts`, which halves the time
a first run waits. With any other version, or with RELUFLOW_JIT=plain in the environment, all of them are ordinary
`numba.njit` functions: slower to compile, the same results.

Numba keeps a compiled entry until its own file changes, although code of other files is compiled into it. So whatever
lies in the folder that numba chose for an entry is deleted when any source of the kernels has changed since, and an
entry is stored with a digest of the sources that it was compiled from.
"""

import contextlib
import hashlib
import logging
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numba

# Room between small arrays. A vectorised loop first tests whether what it writes starts close behind what it reads, and
# is run as a scalar loop if so, which rounds differently: two arrays must never be neighbours by chance.
APART = 64

TESTED = (0, 61), (0, 69)  # versions of numba: from, and below
OPTIONS: dict[str, Any] = dict(error_model="numpy", nogil=True, fastmath={"contract"})

# What the kernels of a module are for, where that is not every flow; those with several outputs are a folder.
PURPOSE = {
    "windows": "large flows",
    "stiff": "stiff flows",
    "descent": "descent",
    "fast_forward": "fast-forwarded descent",
    "vector": "several outputs",
}
_announced: set[str] = set()


class Decorators(NamedTuple):
    """How the four kinds of functions are compiled."""

    entry: Callable
    inner: Callable
    making: Callable
    glue: Callable


def announce(function: Callable) -> None:
    """Logs that a kernel is being compiled, once for all that serve the same purpose."""
    found = [PURPOSE[name] for name in function.__module__.split(".") if name in PURPOSE]
    purpose = f" for {found[0]}" if found else ""
    if purpose not in _announced:
        _announced.add(purpose)
        text = f"reluflow compiles its kernels{purpose}, once on this machine: about half a minute."
        logging.getLogger("reluflow").warning(text)


def decorators(version: str) -> Decorators:
    """The decorators for a version of numba: see the head of this file."""
    glue = numba.njit(inline="always", **OPTIONS)
    if not tested(version):
        plain = numba.njit(**OPTIONS)
        return Decorators(numba.njit(cache=True, **OPTIONS), plain, plain, glue)
    from reluflow.engine._parts import EntryCompiler, PartCompiler

    part = dict(no_cpython_wrapper=True, no_cfunc_wrapper=True, pipeline_class=PartCompiler, **OPTIONS)
    return Decorators(
        numba.njit(cache=True, pipeline_class=EntryCompiler, _nrt=False, **OPTIONS),
        numba.njit(_nrt=False, **part),
        numba.njit(_nrt=True, **part),
        glue,
    )


def tested(version: str) -> bool:
    """Whether `_parts` was tested with this version of numba, and is wanted."""
    found = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    return TESTED[0] <= found < TESTED[1] and os.environ.get("RELUFLOW_JIT") != "plain"


_decorators = decorators(numba.__version__)
inner, making, glue = _decorators[1:]


def entry(function: Callable) -> Callable:
    """Compiles an entry, and deletes what was compiled from other sources."""
    compiled = _decorators.entry(function)
    if hasattr(compiled, "stats"):  # not when compilation is switched off
        text = sources(Path(function.__code__.co_filename).parent)
        forget_stale(Path(compiled.stats.cache_path), text)
        if tested(numba.__version__):
            from reluflow.engine._parts import stamp

            # A process that compiles older sources may be about to store them.
            stamp(compiled, text)
    return compiled


def calling(function: Callable, **others: Callable) -> Callable:
    """The same text as an inner `function`, compiled to call `others` in the place of the functions with their names.

    So that a phase is written once: `engine.vector` has its own velocity, but most of what calls it is the same.
    """
    plain = getattr(function, "py_func", function)
    unknown = set(others) - set(plain.__code__.co_names)
    if unknown:
        raise ValueError(f"`{plain.__name__}` must call what is replaced, got {', '.join(sorted(unknown))}.")
    again = FunctionType(plain.__code__, {**plain.__globals__, **others}, plain.__name__)
    again.__doc__, again.__qualname__ = plain.__doc__, plain.__qualname__
    return inner(again)


@cache
def sources(folder: Path | None = None) -> str:
    """A digest of all that the kernels in `folder` are made from: what lies there, and the kernels here, which those of
    a folder below may call."""
    here = Path(__file__).parent
    digest = hashlib.sha256(os.environ.get("RELUFLOW_JIT", "").encode())
    below = [] if folder is None or folder == here else sorted(folder.glob("*.py"))
    for path in (*sorted(here.glob("*.py")), here.parent / "losses.py", *below):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def forget_stale(folder: Path, text: str) -> None:
    """Deletes what numba keeps in `folder` if it was compiled from other sources than those with the digest `text`."""
    note = folder / "kernels.stamp"
    with contextlib.suppress(OSError):
        if note.exists() and note.read_text() == text:
            return
        for old in (*folder.glob("*.nbi"), *folder.glob("*.nbc")):
            old.unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        note.write_text(text)
