"""The same descent on two backends: numpy on this processor, or compiled by JAX for a device.

Both have `advance(count)`, which takes that many steps and returns whether numbers stayed finite, `look()`, the loss
and the norm of every layer, and `weights()`, as numpy arrays.
"""

from functools import lru_cache

import numpy as np

from reluflow.deep.network import backward, forward

BLOCK = 500  # rows of data that one block of a gradient's sum has: many blocks keep a device busy


class Plain:
    """numpy, step by step."""

    def __init__(self, weights, x: np.ndarray, y: np.ndarray, step: float, dtype: str):
        self.w = [w.astype(dtype) for w in weights]
        self.x, self.y, self.step = x.astype(dtype), y.astype(dtype), np.asarray(step, dtype)

    def advance(self, count: int) -> bool:
        for _ in range(count):
            loss, grads = backward(self.w, self.x, self.y)
            if not np.isfinite(loss):
                return False
            for w, g in zip(self.w, grads):
                w -= self.step * g
        return True

    def look(self) -> tuple[float, list[float]]:
        gap = forward(self.w, self.x)[-1][:, 0] - self.y
        loss = 0.5 * float(np.mean(np.square(gap, dtype=np.float64)))
        return loss, [float(np.linalg.norm(w.astype(np.float64))) for w in self.w]

    def weights(self) -> tuple[np.ndarray, ...]:
        return tuple(self.w)


class Compiled:
    """JAX: all steps between two records are one call."""

    def __init__(self, weights, x: np.ndarray, y: np.ndarray, step: float, dtype: str, device: str):
        from reluflow.many._runner import pick
        from reluflow.many._step import float64, import_jax

        there = pick(device)
        blocks = max(k for k in range(1, len(x) // BLOCK + 2) if len(x) % k == 0)
        with float64():
            put = lambda value: import_jax().device_put(np.ascontiguousarray(value, dtype), there)
            self.w = tuple(put(w) for w in weights)
            self.x, self.y = put(x.reshape(blocks, -1, x.shape[1])), put(y.reshape(blocks, -1))
            self.step = put(step)

    def advance(self, count: int) -> bool:
        from reluflow.many._step import float64

        with float64():
            self.w = _compiled()[0](self.w, self.x, self.y, self.step, np.int64(count))
        return True  # `look` finds what overflowed

    def look(self) -> tuple[float, list[float]]:
        from reluflow.many._step import float64

        with float64():
            loss, norms = _compiled()[1](self.w, self.x, self.y)
            return float(loss), [float(v) for v in norms]

    def weights(self) -> tuple[np.ndarray, ...]:
        return tuple(np.array(w) for w in self.w)


@lru_cache(maxsize=1)
def _compiled():
    """(steps, look); JAX keeps one compiled version for each shape and precision."""
    from reluflow.many._step import import_jax

    jax = import_jax()
    jnp, lax = jax.numpy, jax.lax

    def product(terms, a, b):
        return jnp.einsum(terms, a, b, precision=lax.Precision.HIGHEST)

    def layers(weights, x):
        h = [x]
        for w in weights[:-1]:
            h.append(jnp.maximum(product("bpi,oi->bpo", h[-1], w), 0))
        return h, product("bpi,i->bp", h[-1], weights[-1][0])

    def step_once(weights, x, y, step):
        h, f = layers(weights, x)
        back, moved = ((f - y) / y.size)[..., None], []
        for k in range(len(weights) - 1, -1, -1):
            # One sum for each block of data first: as one long sum it would keep a single core of a device busy.
            parts = lax.optimization_barrier(product("bpo,bpi->boi", back, h[k]))
            moved.append(weights[k] - step * parts.sum(axis=0))
            if k:
                back = product("bpo,oi->bpi", back, weights[k]) * (h[k] > 0)
        return tuple(moved[::-1])

    def steps(weights, x, y, step, count):
        return lax.fori_loop(0, count, lambda _, w: step_once(w, x, y, step), weights)

    def look(weights, x, y):
        wide = jnp.float64
        loss = 0.5 * jnp.mean(jnp.square((layers(weights, x)[1] - y).astype(wide)))
        return loss, [jnp.sqrt(jnp.sum(jnp.square(w.astype(wide)))) for w in weights]

    return jax.jit(steps), jax.jit(look)
