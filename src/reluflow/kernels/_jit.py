"""How every kernel is compiled: NaN and infinity kept, sums free to be reordered for SIMD, entries cached on disk.

`entry` marks what Python calls, and is stored with all it calls inside; `inner` what only kernels call, which needs
neither a way in from Python nor a place on disk; `glue` what is pasted into its caller, because every function compiled
on its own compiles all it calls once more.
"""

import numba

# Room between small arrays. A vectorised loop first looks whether what it writes starts close behind what it reads, and
# takes the scalar way if so, which rounds differently: two arrays must never be neighbours by chance.
APART = 64

_OPTIONS = dict(error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})

entry = numba.njit(cache=True, **_OPTIONS)
inner = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)
glue = numba.njit(inline="always", **_OPTIONS)
