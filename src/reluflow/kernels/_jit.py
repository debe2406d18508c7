"""How every kernel is compiled: cached on disk, NaN and infinity kept, sums free to be reordered for SIMD."""

import numba

jit = numba.njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
