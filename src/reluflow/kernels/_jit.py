"""How every kernel is compiled: cached on disk, NaN and infinity kept, sums free to be reordered for SIMD.

`entry` marks what Python calls; `inner` what only kernels call, which saves compiling a way in from Python; `glue`
what is pasted into its caller, because every function compiled on its own compiles all it calls once more.
"""

import numba

_OPTIONS = dict(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})

entry = numba.njit(**_OPTIONS)
inner = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)
glue = numba.njit(inline="always", **_OPTIONS)
