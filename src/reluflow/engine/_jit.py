"""How every kernel is compiled: NaN and infinity kept, sums free to be reordered for SIMD, entries cached on disk.

`entry` marks what Python calls, and is stored with all it calls inside; `inner` what only kernels call, which needs
neither a way in from Python (a call from there crashes) nor a place on disk; `making` an inner function that makes
arrays; `glue` what is pasted into its caller. Only `making` counts references to arrays, which would take as long as
the arithmetic elsewhere.

Numba optimises a function together with all it calls and turns both into machine code, then does so again for whatever
calls it. Here an inner function stays as numba first writes it down, and only entries are optimised and emitted, which
halves the time they take to compile.
"""

import gc
import logging

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

# Room between small arrays. A vectorised loop first looks whether what it writes starts close behind what it reads, and
# takes the scalar way if so, which rounds differently: two arrays must never be neighbours by chance.
APART = 64


TOLD = "reluflow compiles its kernels, once on this machine: half a minute to a minute."


class Part(JITCodeLibrary):
    """Code that entries take in. It never runs by itself, so it has no address and no environment."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name):
        return 0

    @property
    def codegen(self):
        return self  # whoever asks wants to `set_env`

    def set_env(self, env_name, env):
        pass


class PartCompiler(Compiler):
    def compile_extra(self, func):
        self.state.library = Part(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class EntryCompiler(Compiler):
    told = False

    def compile_extra(self, func):
        """Says once that it works, which takes a while. Without the collector of cycles: most objects are kept."""
        if not EntryCompiler.told:
            EntryCompiler.told = True
            logging.getLogger("reluflow").warning(TOLD)
        collecting = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if collecting:
                gc.enable()


_OPTIONS = dict(error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
ENTRY = dict(cache=True, pipeline_class=EntryCompiler, _nrt=False, **_OPTIONS)
INNER = dict(no_cpython_wrapper=True, no_cfunc_wrapper=True, pipeline_class=PartCompiler, **_OPTIONS)

entry = numba.njit(**ENTRY)
inner = numba.njit(_nrt=False, **INNER)
making = numba.njit(_nrt=True, **INNER)
glue = numba.njit(inline="always", **_OPTIONS)
