"""Random problems at many tolerances against rtol 1e-12 in the other regime.

    python benchmarks/exactness.py LO HI STEP FILE r|s|w|d|br|bs SECONDS

solves problems LO, LO + STEP, ... below HI: n 5-60, m 10-120, d 2-10; four losses; slopes 0, 0.1, 1; balanced,
unbalanced, first layer alone; scales e^0 to e^-300; rtol 1e-4 to 1e-10; random inputs (r) or structured ones (s: cube,
integers, duplicates, opposites, orthonormal, mirrored, on a circle); w is wider: the squared hinge as well, weight
decay, sums over the data, a column of ones, a slope of 1/2, d from 1, scales to e^-1000. Writes one JSON object a line:
the largest error of the outputs over rtol, events of both runs, bits against the signs of <w_j, x_i>, the distance from
a bifurcation. With d, random problems from e^0 to e^-10 are compared with descent of three step sizes, extrapolated,
which knows nothing of events: `err` is the difference over what the last halving of the step still changed. With br and
bs, problems of r and s whose run has events that are not unique, or comes within 1e-6 of a bifurcation, are solved from
both sides of their start: `outside` is how far the run lies outside of the others' outputs, over rtol, `spread` how far
these lie apart. Stops after SECONDS.
"""

import json
import sys
import time
from dataclasses import replace

import numpy as np

import reluflow as rf
from reluflow.drive import exact

NEAR = 1e-6  # distance from a bifurcation, over |w|, below which a run counts as flagged
TURN, PAIRS = 1e-7, 4  # of a neighbour's weights, relative to them; neighbours on either side
OTHER = {"coupled": "windows", "windows": "coupled", None: "windows"}  # None: as the rate of events decides


def structured(which, X, g):
    """Inputs of one of seven structures, from random ones."""
    n, d = X.shape
    made = {
        0: lambda: g.integers(0, 2, size=(n, d)) * 2.0 - 1,
        1: lambda: g.integers(-2, 3, size=(n, d)).astype(float),
        2: lambda: np.vstack([X, X[: n // 2]]),
        3: lambda: np.vstack([X, -X[: n // 2]]),
        4: lambda: np.linalg.qr(g.normal(size=(d, d)))[0][:n],
        5: lambda: np.vstack([X, X * np.r_[-1.0, np.ones(d - 1)]]),
        6: lambda: np.array([[np.cos(t), np.sin(t)] + [0.0] * (d - 2) for t in 2 * np.pi * np.arange(n) / n]),
    }[which]()
    made = made[np.any(made != 0, axis=1)]
    return made if len(made) else np.eye(d)


def problem(seed, structure=False):
    """(problem, t1, rtol, what it is)."""
    g = np.random.default_rng([seed, 77])
    n, m, d = int(g.integers(5, 61)), int(g.integers(10, 121)), int(g.integers(2, 11))
    kind = g.choice(["balanced", "unbalanced", "first"], p=[0.6, 0.25, 0.15])
    loss = str(g.choice(["square", "logistic", "logistic2", "exponential"], p=[0.55, 0.15, 0.15, 0.15]))
    slope = float(g.choice([0.0, 0.1, 1.0], p=[0.7, 0.2, 0.1]))
    scale = -float(g.choice([0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0]))
    X = g.normal(size=(n, d)) / np.sqrt(d)
    X = structured(seed % 7, X, g) if structure else X
    n = len(X)
    y = np.tanh(2 * X[:, 0]) + 0.3 * g.normal(size=n)
    if structure and seed % 2:
        y = np.rint(2 * y) / 2
    if loss != "square":
        y = np.where(y >= 0, 1.0, -1.0)
    if kind == "first":
        scale = max(scale, -30.0)
        a = g.choice([-1.0, 1.0], size=m) / np.sqrt(m)
        init = rf.Params(g.normal(size=(m, d)), a, log_scale=scale, log_scale_a=0.0)
    elif kind == "unbalanced":
        init = rf.Params(g.normal(size=(m, d)) / np.sqrt(d), g.normal(size=m), log_scale=scale)
    else:
        init = rf.init.balanced(m, d, scale, seed=seed)
    activation = rf.LeakyReLU(slope) if slope else rf.ReLU()
    train = "first" if kind == "first" else "both"
    made = rf.Problem(rf.Data(X, y), init, loss=loss, activation=activation, train=train)
    pull = np.linalg.norm(y @ X) / n
    t1 = float(min(200.0 + 4 * abs(scale), 3.0 * (abs(scale) + 6.0) / max(pull, 0.02)))
    rtol = 10.0 ** -float(g.choice([4, 5, 6, 7, 8, 9, 10]))
    return made, t1, rtol, dict(n=n, m=m, d=d, kind=str(kind), loss=loss, slope=slope, scale=scale)


def wide(seed):
    """(problem, t1, rtol, what it is) of the wider kind."""
    g = np.random.default_rng([seed, 555])
    n, m, d = int(g.integers(5, 61)), int(g.integers(10, 121)), int(g.integers(1, 13))
    kind = str(g.choice(["balanced", "unbalanced", "first"], p=[0.6, 0.25, 0.15]))
    losses, often = ["square", "logistic", "logistic2", "exponential", "hinge2"], [0.4, 0.12, 0.12, 0.12, 0.24]
    loss, reduction = str(g.choice(losses, p=often)), str(g.choice(["mean", "sum"]))
    slope = float(g.choice([0.0, 0.1, 0.5, 1.0], p=[0.65, 0.15, 0.1, 0.1]))
    decay = float(g.choice([0.0, 1e-4, 1e-2], p=[0.6, 0.2, 0.2]))
    scale = -float(g.choice([0, 2, 5, 14, 40, 200, 1000]))
    scale = max(scale, -30.0) if kind == "first" else scale
    X = g.normal(size=(n, d)) / np.sqrt(d)
    if d > 1 and g.random() < 0.2:
        X = structured(int(g.integers(0, 7)), X, g)
        n = len(X)
    y = np.tanh(2 * X[:, 0]) + 0.3 * g.normal(size=n)
    y = y if loss == "square" else np.where(y >= 0, 1.0, -1.0)
    X = np.hstack([X, np.ones((n, 1))]) if g.random() < 0.25 else X
    d = X.shape[1]
    if kind == "first":
        a = g.choice([-1.0, 1.0], size=m) / np.sqrt(m)
        init = rf.Params(g.normal(size=(m, d)), a, log_scale=scale, log_scale_a=0.0)
    elif kind == "unbalanced":
        init = rf.Params(g.normal(size=(m, d)) / np.sqrt(d), g.normal(size=m), log_scale=scale)
    else:
        init = rf.init.balanced(m, d, scale, seed=seed)
    activation = rf.LeakyReLU(slope) if slope else rf.ReLU()
    train = "first" if kind == "first" else "both"
    options = dict(loss=loss, reduction=reduction, decay=decay, activation=activation, train=train)
    over = n if reduction == "mean" else 1  # the sum of the weights of the data is n / over
    pull = np.linalg.norm(y @ X) / over
    t1 = float(min((200.0 + 4 * abs(scale)) * over / n, 3.0 * (abs(scale) + 6.0) / max(pull, 0.02)))
    rtol = 10.0 ** -float(g.choice([4, 5, 6, 7, 8, 9, 10]))
    about = dict(n=n, m=m, d=d, kind=kind, loss=loss, slope=slope, scale=scale, decay=decay, reduction=reduction)
    return rf.Problem(rf.Data(X, y), init, **options), t1, rtol, about


def wrong_bits(sol):
    """The largest |<w_j, x_i>| over |w_j||x_i| of a bit that is not the sign's, at the checkpoints."""
    p, w, bits = sol.problem, sol.checkpoints.w, sol.checkpoints.bits
    u = np.einsum("tjd,nd->tjn", w, p.data.x)
    size = np.linalg.norm(w, axis=-1)[..., None] * np.linalg.norm(p.data.x, axis=1)
    wrong = ((bits == 1.0) & (u < 0)) | ((bits == p.activation.slope) & (u > 0))
    return 0.0 if p.activation.slope == 1 else float(np.max(np.where(wrong, np.abs(u) / np.maximum(size, 1e-300), 0)))


def one(seed, kind):
    """Both runs of a problem, compared."""
    p, t1, rtol, about = wide(seed) if kind == "w" else problem(seed, kind == "s")
    regime = ("coupled", "windows", None)[seed % 3]
    row = dict(seed=seed, rtol=rtol, t1=t1, regime=regime or "free", **about)
    limits = rf.Limits(seconds=120)
    exact.REGIME = regime
    a = rf.solve(p, rf.Flow(rtol=rtol), t1=t1, limits=limits, throw=False)
    exact.REGIME = OTHER[regime]
    b = rf.solve(p, rf.Flow(rtol=1e-12), t1=t1, limits=limits, throw=False)
    if not (a.outcome.success and b.outcome.success):
        row["outcomes"] = [a.outcome.name, b.outcome.name]
    t = np.linspace(0, 1, 21)[1:] * min(a.t_end, b.t_end)
    fa, fb = a.outputs_at(t), b.outputs_at(t)
    scale = np.max(np.abs(p.data.y)) if p.loss == "square" else np.maximum(1.0, np.abs(fb))
    both = lambda name: [getattr(a.stats, name), getattr(b.stats, name)]
    columns = ("events", "steps", "seconds", "non_unique", "nearest_bifurcation", "energy_error")
    found = {name: both(name) for name in columns}
    return row | found | dict(err=float(np.max(np.abs(fa - fb) / scale) / rtol), bits=wrong_bits(a))


def against_descent(seed):
    """The flow at rtol 1e-8 against descent with steps h, h/2, h/4, extrapolated to h = 0; None from below e^-10."""
    p, t1, _, about = problem(seed)
    if about["scale"] < -10:
        return None
    end = min(t1, 20.0 - 4 * about["scale"])
    h = end / 2.0 ** np.ceil(np.log2(end / 2e-3))
    t = np.arange(1, 9) / 8.0 * end
    exact.REGIME = None
    sol = rf.solve(p, rf.Flow(rtol=1e-8), t1=end, limits=rf.Limits(seconds=60), throw=False)
    runs = [rf.solve(p, rf.Descent(step=h / k), t1=end, throw=False) for k in (1, 2, 4)]
    if not all(run.outcome.success for run in (sol, *runs)):
        return dict(seed=seed, **about, outcomes=[run.outcome.name for run in (sol, *runs)], err=float("nan"))
    whole, half, quarter = (run.outputs_at(t) for run in runs)
    rough, fine = 2 * half - whole, 2 * quarter - half
    left = np.abs(fine - rough)
    scale = np.maximum(1.0, np.abs(fine))
    apart = np.abs(sol.outputs_at(t) - fine) / scale
    unit = np.max(left / scale) + 1e-6
    return dict(seed=seed, **about, t1=end, step=h, events=sol.stats.events, slides=sol.stats.slides) | dict(
        apart=float(np.max(apart)), left=float(np.max(left / scale)), err=float(np.max(apart) / unit)
    )


def both_sides(seed, structure):
    """A flagged problem and its neighbours: every direction turned by TURN, to either side, PAIRS times."""
    p, t1, rtol, about = problem(seed, structure)
    exact.REGIME = ("coupled", "windows", None)[seed % 3]
    run = lambda p: rf.solve(p, rf.Flow(rtol=rtol), t1=t1, limits=rf.Limits(seconds=120), throw=False)
    sol = run(p)
    if sol.stats.non_unique == 0 and sol.stats.nearest_bifurcation > NEAR:
        return None
    t = np.linspace(0, 1, 21)[1:] * sol.t_end
    found, g, init = [], np.random.default_rng([seed, 4]), p.init
    size = np.linalg.norm(init.w, axis=1, keepdims=True)
    for _ in range(PAIRS):
        aside = TURN * size * g.normal(size=init.w.shape)
        for w in (init.w + aside, init.w - aside):
            w = w / np.linalg.norm(w, axis=1, keepdims=True) * size
            found.append(run(replace(p, init=rf.Params(w, init.a, *init.log_scales))).outputs_at(t))
    f, lo, hi = sol.outputs_at(t), np.min(found, axis=0), np.max(found, axis=0)
    scale = np.max(np.abs(p.data.y)) if p.loss == "square" else np.maximum(1.0, np.abs(f))
    worst = lambda gap: float(np.max(gap / scale) / rtol)
    flags = dict(non_unique=sol.stats.non_unique, nearest_bifurcation=sol.stats.nearest_bifurcation)
    return dict(
        seed=seed, rtol=rtol, **about, **flags, outside=worst(np.maximum(lo - f, f - hi)), spread=worst(hi - lo)
    )


if __name__ == "__main__":
    lo, hi, step = map(int, sys.argv[1:4])
    began = time.time()
    with open(sys.argv[4], "w") as file:
        for seed in range(lo, hi, step):
            if time.time() - began > float(sys.argv[6]):
                break
            kind = sys.argv[5]
            if kind == "d":
                row = against_descent(seed)
            else:
                row = both_sides(seed, kind == "bs") if kind[0] == "b" else one(seed, kind)
            if row is not None:
                file.write(json.dumps(row) + "\n")
                file.flush()
