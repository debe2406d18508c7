"""The phases of descent's kernels on small cases: one iteration, the closed form of a neuron, its first crossing."""

import numpy as np
import pytest

from reluflow.engine import closed_form as jumps
from reluflow.engine import descent as kernels
from reluflow.engine.layout import record


def python(kernel):
    return getattr(kernel, "py_func", kernel)


@pytest.fixture(autouse=True)
def in_python(monkeypatch):
    """Kernels only kernels call have no way in from Python: they are run as Python."""
    for module in (jumps, kernels):
        for name, part in vars(module).copy().items():
            if hasattr(part, "py_func"):
                monkeypatch.setattr(module, name, part.py_func)
    monkeypatch.setattr(jumps, "tailed", lambda loss: loss != 0)


def task(x, y, **more):
    given = dict(loss=0, slope=0.0, at_zero=0.0, mean=0, first=0, step=0.01, batch=len(x), products=False)
    live = np.any(x != 0.0, axis=1).astype(np.int64)
    reach = float(np.max(np.linalg.norm(x, axis=1)))
    return kernels.Task(x=x, y=y, live=live, **(given | more), reach=reach)


def moving(q, b, mask, log_scale=0.0):
    m = len(b)
    return kernels.Moving(
        q=q.T.copy(),
        b=b.copy(),
        c0=np.full(m, log_scale),
        exponent=np.zeros(m, np.int64),
        amp=np.full(m, np.exp(2 * log_scale)),
        mask=mask.T.astype(float),
        sign=np.sign(b),
        dead=np.zeros(m, np.int64),
        energy=np.zeros(1),
    )


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_a_closed_form_is_the_iterates_of_one_neuron_and_ends_at_its_first_change_of_a_bit_or_sign(seed, first):
    rng = np.random.default_rng([seed, 5])
    x, g = rng.normal(size=(4, 3)), rng.normal(size=4)
    q, b = rng.normal(size=(1, 3)), rng.normal(size=1)
    given = task(x, np.zeros(4), first=first)
    state = moving(q, b, q @ x.T > 0, log_scale=-60.0 if first == 0 else 0.0)
    if first == 1:
        state.q[:] *= 1e-20
        state.b[:] *= 1e-20
    jump = jumps.jump_room(4, 3, 1)
    jump.g[:] = g
    w, a = state.q[:, 0].copy(), float(state.b[0])
    bits, sign, pull = w @ x.T > 0, np.sign(a), ((state.mask[:, 0] * g) @ x)
    jumps.settle(given, state, jump, 0, 0)
    changed = None
    for k in range(1, 1500):
        w, a = w + 0.01 * a * pull, a + (0.01 * pull @ w if first == 0 else 0.0)
        now, shift = jumps.moved_to(given, state, jump, 0, k)
        np.testing.assert_allclose(jump.q * 2.0**shift, w, rtol=0, atol=1e-11 * np.max(np.abs(w)))
        assert now * 2.0**shift == pytest.approx(a, rel=1e-9, abs=1e-11 * np.max(np.abs(w)))
        if changed is None and (np.any((w @ x.T > 0) != bits) or a * sign < 0):
            changed = k
    if changed is None or changed > jump.exit[0]:
        assert jump.event[0] > min(1499, jump.exit[0] - 1)
    else:
        assert jump.event[0] == changed


@pytest.mark.parametrize("seed", range(20))
def test_the_first_crossing_of_a_line_is_the_first_of_all_iterations(seed):
    rng = np.random.default_rng([seed, 6])
    plus, minus, c, a = rng.normal(size=4)
    line = jumps.Line(0, 0.5 * (plus - minus), 0.0, plus, minus, np.log1p(0.02), np.log1p(-0.02))
    p = 0.5 * (plus * 1.02 ** np.arange(301) - minus * 0.98 ** np.arange(301))
    s = 1.0 if c + a * p[0] > 0 else -1.0
    low = np.flatnonzero(s * (c + a * p)[1:] <= 0.0)
    assert jumps.passes(line, s, c, a, 300) == (low[0] + 1 if len(low) else jumps.NEVER)


@pytest.mark.parametrize("products", [False, True])
def test_an_iteration_moves_both_layers_writes_what_is_due_and_notes_what_changed(products, monkeypatch):
    monkeypatch.setattr(kernels, "product", lambda a, b, out: np.dot(a, b, out))
    monkeypatch.setattr(kernels.losses, "force", lambda loss, c, y, f: c * (y - f))
    monkeypatch.setattr(kernels.losses, "factor", lambda loss: 1.0)
    rng = np.random.default_rng(7)
    x, y, q, b = rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=(5, 3)), rng.normal(size=5)
    given = task(x, y, products=products)
    state = moving(q, b, np.zeros((5, 4)))
    size = 5 * 3 + 2 * 5 + 1
    work = kernels.Work(
        order=np.arange(4),
        x=np.empty(0),
        flat=np.empty(20),
        turn=np.empty((5, 3)),
        block=np.empty((2, 5, 3)),
        u=np.empty(20),
        amp_b=np.empty(5),
        f=np.empty(4),
        g=np.empty(4),
        moved=np.empty(4),
        D=np.empty((3, 5)),
        h=np.empty(5),
        part=np.empty(5),
    )
    room = kernels.Room(
        saves=np.array([1]),
        ev=np.empty((100, 5)),
        at=np.empty((4, 3), np.int64),
        y=np.empty((4, size)),
        code=np.empty((4, 20), np.int8),
    )
    run = record(kernels.RUN)
    run.end, run.stride, run.fresh, run.most_bits, run.most_signs = 1, 10, 1, 100, 100
    batch = kernels.all_rows(given, work)
    assert kernels.iterate(given, state, run, batch, work, room) == kernels.RUNNING
    mask = q @ x.T > 0
    D = (mask * (y - b @ (mask * (q @ x.T)))) @ x
    np.testing.assert_allclose(state.q.T, q + 0.01 * b[:, None] * D, rtol=1e-14)
    np.testing.assert_allclose(state.b, b + 0.01 * np.sum(D * q, axis=1), rtol=1e-14)
    np.testing.assert_array_equal(state.mask.T, mask)
    assert kernels.iterate(given, state, run, batch, work, room) == kernels.REACHED
    # The start is a checkpoint; iteration 1 is the last and asked for.
    assert room.at[: run.rows_used, :2].tolist() == [[0, kernels.CHECKPOINT], [1, kernels.CHECKPOINT + kernels.FRAME]]
    np.testing.assert_array_equal(room.y[0, :15], q.ravel())
    assert run.log_used == run.n_bits + run.n_signs
