r"""Stable ranks |W|_F^2 / |W|_2^2 of many matrices at once, on the device.

The largest singular value comes from Lanczos on W^T W with full reorthogonalisation. A Gaussian matrix, the slowest
case here, has a relative gap of about d^{-2/3} at its edge, and k steps leave an error of about e^{-4 k sqrt(gap)}: 100
steps are rounding up to d = 2000. Where k exceeds the rank the value is exact.
"""

from functools import lru_cache

import numpy as np

from reluflow.many._step import float64, import_jax

STEPS = 100
EPS = float(np.finfo(float).eps)


def stable_rank(q, c, rows: slice = slice(None)) -> np.ndarray:
    """Of W with rows e^{c_j} q_j, (runs,): `q` (runs, d, m) on the device, `c` (runs, m), `rows` those that count."""
    c = np.asarray(c)[:, rows]
    scale = np.exp(c - np.max(c, axis=1, keepdims=True))
    d, m = q.shape[1], c.shape[1]
    start = np.random.default_rng([0, 3]).normal(size=d)
    with float64():
        square, alpha, beta = _lanczos(min(STEPS, d, m + 1))(q[:, :, rows], scale, start / np.linalg.norm(start))
        square, alpha, beta = (np.asarray(v) for v in (square, alpha, beta))
    k = alpha.shape[1]
    T = np.zeros((len(alpha), k, k))
    i = np.arange(k)
    T[:, i, i] = alpha
    T[:, i[1:], i[:-1]] = T[:, i[:-1], i[1:]] = beta[:, :-1]
    good = np.all(np.isfinite(T), axis=(1, 2))
    top = np.full(len(T), np.nan)
    top[good] = np.linalg.eigvalsh(T[good])[:, -1]
    with np.errstate(invalid="ignore", divide="ignore"):
        return square / top


@lru_cache(maxsize=16)
def _lanczos(steps: int):
    jax = import_jax()
    jnp, lax = jax.numpy, jax.lax

    @jax.jit
    def run(q, scale, start):
        W = q.astype(jnp.float64) * scale[:, None, :]  # transposed: (runs, d, m)
        runs, d, _ = W.shape
        dot = lambda terms, a, b: jnp.einsum(terms, a, b, precision=lax.Precision.HIGHEST)

        def body(k, held):
            V, alpha, beta, v = held
            V = V.at[:, k].set(v)
            w = dot("rdm,rm->rd", W, dot("rdm,rd->rm", W, v))
            alpha = alpha.at[:, k].set(jnp.sum(w * v, axis=1))
            for _ in range(2):
                w = w - dot("rkd,rk->rd", V, dot("rkd,rd->rk", V, w))
            size = jnp.linalg.norm(w, axis=1)
            # Nothing is left to find once the remainder is rounding: zeros from here on change no eigenvalue above 0.
            more = size > d * EPS * jnp.max(alpha, axis=1)
            beta = beta.at[:, k].set(jnp.where(more, size, 0.0))
            return V, alpha, beta, jnp.where(more[:, None], w / jnp.where(more, size, 1.0)[:, None], 0.0)

        zeros = jnp.zeros((runs, steps))
        held = (jnp.zeros((runs, steps, d)), zeros, zeros, jnp.broadcast_to(start, (runs, d)))
        _, alpha, beta, _ = lax.fori_loop(0, steps, body, held)
        return jnp.sum(W * W, axis=(1, 2)), alpha, beta

    return run
