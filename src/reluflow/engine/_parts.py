"""How numba is made to compile inner functions once instead of twice. The only module that uses numba's internals.

Numba optimises a function together with all it calls and turns both into machine code, then does so again for whatever
calls it. Here an inner function (a `Part`) stays as numba first writes it down, and only entries are optimised and
emitted, which halves the time they take to compile. What is computed is the same.

    Plain           a code library whose functions are tidied, before they are linked, in half the time
    Part            one that is linked into its callers and never optimised, emitted or called by itself
    Whole           that of an entry, optimised once
    PartCompiler    compiles an inner function into a Part
    EntryCompiler   compiles an entry as numba does, announces it, and stops the garbage collector meanwhile
    quick_flags     compares the options of two functions by what was set before it compares all of them
    stamp           makes numba keep an entry for as long as a text stays the same, rather than its own file

`_jit` imports this module only for versions of numba it was tested with.
"""

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

from llvmlite.binding import Linkage  # type: ignore[import-untyped]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.targetconfig import TargetConfig

from reluflow.engine._jit import announce


class Plain(JITCodeLibrary):
    """Numba runs all its passes on every function that a module names. Here on those it defines, and the simple ones:
    what is linked together is optimised in full anyway."""

    _codegen: Any

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager(opt=1)
                passes.run(function, builder)


class Whole(Plain):
    """An entry's code. Numba optimises it twice, first to see which references need no count; here none are counted."""

    _final_module: Any

    def _optimize_final_module(self):
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)
        self._final_module.verify()


class Part(Plain):
    """Code that entries take in. It never runs by itself, so it has no address and no environment."""

    _shared_module: Any

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self):
        """The module itself, for others to link. Numba links a copy, as it also emits the module; here nothing does."""
        self._ensure_finalized()
        if self._shared_module is None:
            for function in self._final_module.functions:
                if not function.is_declaration and function.linkage == Linkage.external:
                    function.linkage = "linkonce_odr"
            self._shared_module = self._final_module
        return self._shared_module

    def get_pointer_to_function(self, name):
        return 0

    @property
    def codegen(self):
        return self  # the caller wants to `set_env`

    def set_env(self, env_name, env):
        pass


class PartCompiler(Compiler):
    def compile_extra(self, func):
        self.state.library = Part(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class EntryCompiler(Compiler):
    def compile_extra(self, func):
        """Announces that compiling takes a while. Without the collector of cycles: most objects are kept."""
        announce(func)
        collecting = gc.isenabled()
        gc.disable()
        self.state.library = Whole(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        try:
            with quick_flags():
                return super().compile_extra(func)
        finally:
            if collecting:
                gc.enable()


@contextlib.contextmanager
def quick_flags() -> Iterator[None]:
    """Numba compares the options of two functions, some thirty properties each, at every call that it types."""
    plain_hash, plain_eq = TargetConfig.__hash__, TargetConfig.__eq__
    hashes: dict[type, int] = {}

    def quick_hash(self):
        kind = type(self)  # numba's own depends on nothing else: it is that of the options' names
        if kind not in hashes:
            hashes[kind] = plain_hash(self)
        return hashes[kind]

    def quick_eq(self, other):
        if type(self) is type(other) and self._values == other._values:
            return True
        return plain_eq(self, other)

    TargetConfig.__hash__, TargetConfig.__eq__ = quick_hash, quick_eq
    try:
        yield
    finally:
        TargetConfig.__hash__, TargetConfig.__eq__ = plain_hash, plain_eq


def stamp(compiled, text: str) -> None:
    """What numba has on disk for an entry is of use only if it was stored with the same text."""
    compiled._cache._cache_file._source_stamp = text
