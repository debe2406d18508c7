r"""Descent of many networks at once, compiled by JAX: the loop of `engine.descent` with a leading axis for runs.

    w_j = e^{c_j} q_j,  a_j = e^{c_j} b_j:    q += eta b D,   b += eta <D, q>  (old q)
    several outputs, b_j in R^K:              q += eta sum_i m_ji <b_j, g_i> x_i,   b += eta sum_i m_ji <q_j, x_i> g_i

The scale of every neuron is beside its mantissas here too, brought back to size by powers of two. A run whose share of
a burst is over goes on with eta = 0, which changes nothing to the last bit, so that steps and ends may differ. Nothing
is drawn here: the orders of mini-batches are numpy's and come in as arrays.
"""

import importlib
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

from reluflow.engine.descent import LOG2, RESCALE
from reluflow.losses import LOSSES, function

SOFTMAX = -1  # cross entropy over several outputs; labels are whole numbers
STRIDE = RESCALE + 1  # iterations between two rescalings
UNROLLED = 64  # sums over n d terms up to this many are written out: XLA fuses them into one pass over the neurons


class Rule(NamedTuple):
    """What a compiled burst depends on besides shapes."""

    loss: int
    slope: float
    at_zero: float
    mean: bool
    first: bool
    n: int
    batch: int  # n for full batches
    decay: float = 0.0


class Fixed(NamedTuple):
    """What does not move: data shared by all runs, x (n, d), or one for each, x (runs, n, d)."""

    x: Any
    y: Any  # (n,) or (runs, n)
    step: Any  # (runs,)
    c0: Any  # (runs, m)


class Moving(NamedTuple):
    """What moves. q has the run's precision, everything else is float64."""

    q: Any  # (runs, d, m)
    b: Any  # (runs, m), or (runs, K, m)
    exponent: Any  # (runs, m) int32
    amp: Any  # (runs, m) e^{2c}
    energy: Any  # (runs,)


class Turns(NamedTuple):
    """Where each run is in its stream of epoch orders; empty arrays for full batches."""

    orders: Any  # (streams, epochs n) int32
    stream: Any  # (runs,) which row of `orders`
    first: Any  # (runs,) first epoch of that row


def import_jax():
    """jax, or one sentence."""
    try:
        import jax
    except ImportError:
        raise ImportError("Many runs at once need jax: install `reluflow[gpu]`.") from None
    return jax


@contextmanager
def float64():
    """float64 in JAX for as long as this lasts; the user's own setting stays."""
    jax = import_jax()
    switch = getattr(jax, "enable_x64", None)
    if switch is None:
        switch = importlib.import_module("jax.experimental").enable_x64
    with switch(True):
        yield


def formula(jax, text: str):
    """A formula of `reluflow.losses` as a function of (c, y, f)."""
    np, nn = jax.numpy, jax.nn
    names = {"exp": np.exp, "log": np.log, "log1p": np.log1p, "softplus": nn.softplus, "positive": nn.relu}
    return function(text, "c, y, f", names)


@lru_cache(maxsize=64)
def compiled(rule: Rule):
    """(burst, outputs) for a rule; JAX keeps one compiled version for each shape."""
    jax = import_jax()
    jnp, lax = jax.numpy, jax.lax
    full = rule.batch == rule.n
    per_epoch = -(-rule.n // rule.batch)
    wide = jnp.float64
    if rule.loss != SOFTMAX:
        [row] = [row for row in LOSSES.values() if row.code == rule.loss]
        force = formula(jax, row.linear.force)

    def product(terms: str, a, b):
        return jnp.einsum(terms, a, b, precision=lax.Precision.HIGHEST)

    def written_out(x) -> bool:
        return x.shape[-1] * x.shape[-2] <= UNROLLED

    def bit(z):
        return jnp.where(z > 0, 1.0, jnp.where(z < 0, rule.slope, rule.at_zero)).astype(z.dtype)

    def before(x, q):
        """<q_j, x_i>: (runs, rows, m)."""
        if written_out(x):
            return sum(x[..., :, k, None] * q[:, None, k, :] for k in range(x.shape[-1]))
        return product("pd,bdm->bpm" if x.ndim == 2 else "bpd,bdm->bpm", x, q)

    def outputs(amp, b, s, u):
        """(runs, rows), or (runs, rows, K)."""
        after = (s * u).astype(wide)
        if b.ndim == 2:
            return jnp.sum((amp * b)[:, None, :] * after, axis=2)
        return product("bkm,bpm->bpk", amp[:, None, :] * b, after)

    def drive(y, f, weight):
        """-dL/df of a batch; `weight` (runs, rows) is 0 where a batch has no more rows."""
        if rule.loss == SOFTMAX:
            return weight[..., None] * (jax.nn.one_hot(y, f.shape[-1], dtype=wide) - jax.nn.softmax(f, axis=-1))
        return force(row.factor * (weight if f.ndim == 2 else weight[..., None]), y, f)

    def gathered(x, sg):
        """sum_i sg_ij x_i: (runs, d, m)."""
        if written_out(x):
            rows, d = x.shape[-2:]
            return jnp.stack([sum(x[..., p, k, None] * sg[:, p, :] for p in range(rows)) for k in range(d)], axis=1)
        return product("pd,bpm->bdm" if x.ndim == 2 else "bpd,bpm->bdm", x, sg)

    def rows_of(fixed, turns, k):
        """x, y and weight of the batch of iteration k (runs,)."""
        if full:
            weight = 1.0 / rule.n if rule.mean else 1.0
            return fixed.x, fixed.y, jnp.full((1, rule.n), weight, wide)
        at = (k % per_epoch) * rule.batch
        place = (k // per_epoch - turns.first) * rule.n + at
        here = jnp.arange(rule.batch)
        count = jnp.minimum(rule.batch, rule.n - at)
        there = jnp.minimum(place[:, None] + here, turns.orders.shape[1] - 1)
        rows = turns.orders[turns.stream[:, None], there]
        inside = here < count[:, None]
        weight = jnp.where(inside, 1.0 / count[:, None] if rule.mean else 1.0, 0.0)
        if fixed.x.ndim == 2:
            return fixed.x[rows], fixed.y[rows], weight
        run = jnp.arange(rows.shape[0])[:, None]
        return fixed.x[run, rows], fixed.y[run, rows], weight

    def step(fixed, turns, k0, todo, i, st):
        k = k0 + jnp.minimum(i, jnp.maximum(todo - 1, 0))
        eta = jnp.where(i < todo, fixed.step, 0.0)[:, None]
        x, y, weight = rows_of(fixed, turns, k)
        u = before(x, st.q)
        s = bit(u)
        g = drive(y, outputs(st.amp, st.b, s, u), weight)
        if st.b.ndim == 2:
            D = gathered(x, s * g[..., None].astype(s.dtype))
            v = (eta * st.b)[:, None, :] * D.astype(wide)
            by = eta * jnp.sum((D * st.q).astype(wide), axis=1)
            spent = jnp.sum(st.amp * by * by, axis=1)
        else:
            D = gathered(x, (s * product("bpk,bkm->bpm", g, st.b)).astype(s.dtype))
            v = eta[..., None] * D.astype(wide)
            by = eta[..., None] * product("bpk,bpm->bkm", g, (s * u).astype(wide))
            spent = jnp.sum(st.amp[:, None, :] * by * by, axis=(1, 2))
        if rule.decay > 0.0:
            fade = rule.decay * (eta if st.b.ndim == 2 else eta[..., None])
            v, by = v - rule.decay * eta[..., None] * st.q.astype(wide), by - fade * st.b
            squares = st.amp * by * by if st.b.ndim == 2 else st.amp[:, None, :] * by * by
            spent = jnp.sum(squares.reshape(squares.shape[0], -1), axis=1)
        spent = (0.0 if rule.first else spent) + jnp.sum(st.amp * jnp.sum(v * v, axis=1), axis=1)
        return st._replace(
            q=(st.q.astype(wide) + v).astype(st.q.dtype),
            b=st.b if rule.first else st.b + by,
            energy=st.energy + spent / fixed.step,
        )

    def rescale(fixed, st, going):
        """Mantissas back to size by powers of two, which rounds nothing; those of runs that are still `going`."""
        if rule.first:
            return st._replace(amp=jnp.exp(2.0 * fixed.c0))
        head = st.b * st.b if st.b.ndim == 2 else jnp.sum(st.b * st.b, axis=1)
        size = head + jnp.sum(jnp.square(st.q.astype(wide)), axis=1)
        shift = jnp.rint(0.5 * jnp.log2(2.0 / size))
        shift = jnp.where(jnp.isfinite(shift) & (jnp.abs(shift) > 1) & going[:, None], shift, 0.0).astype(jnp.int32)
        factor = jnp.ldexp(jnp.ones_like(size), shift)
        exponent = st.exponent - shift
        return Moving(
            (st.q.astype(wide) * factor[:, None, :]).astype(st.q.dtype),
            st.b * (factor if st.b.ndim == 2 else factor[:, None, :]),
            exponent,
            jnp.exp(2.0 * (fixed.c0 + exponent * LOG2)),
            st.energy,
        )

    @jax.jit
    def burst(fixed, turns, st, k0, todo, most):
        """`most` iterations; run r takes its first `todo[r]` of them, from iteration `k0[r]` on."""
        one = lambda i, state: step(fixed, turns, k0, todo, i, state)

        def several(j, state):
            """16 iterations from i = 16 j on, after a rescaling: when that happens depends on nothing but the calls."""
            begin = STRIDE * j
            return lax.fori_loop(0, STRIDE, lambda r, s: one(begin + r, s), rescale(fixed, state, begin < todo))

        st = lax.fori_loop(0, most // STRIDE, several, st)
        begin = STRIDE * (most // STRIDE)
        return lax.fori_loop(begin, most, one, rescale(fixed, st, begin < todo))

    @jax.jit
    def look(x, st):
        """Outputs of all runs on rows x."""
        u = before(x, st.q)
        return outputs(st.amp, st.b, bit(u), u)

    return burst, look
