r"""Stable rank in [KCG23], Theorem 4.1: SR(W_j) - 1 falls like 1/log^2 t, not like the printed 1/log t.

Leaky ReLU, first layer trained. Once the activation pattern rests (T_pat) all neurons of a class move alike, so that
W_j = 1 v^T + E with 1^T E = 0, E at rest and v/log t -> u_j (handbook, exact limits). The singular values give

    SR(W_j) - 1 ~ |E Q|_F^2 / (m |v|^2) ~ C_j / log^2 t,   C_j = |E Q|_F^2 / (m |u_j|^2),   Q = I - u_j u_j^T / |u_j|^2;

t is the paper's, eta times iterations.
"""

import numpy as np

from reluflow.claim import Claim
from reluflow.papers.kou2023._constants import final_limit
from reluflow.papers.kou2023._measure import excess_rank
from reluflow.papers.kou2023._path import path
from reluflow.papers.kou2023._setting import setting
from reluflow.plot import look

RUNS = [[0.0, 0.5], [0.02, 0.5], [0.0, 0.1]]  # kappa, slope
SETTINGS = {
    "quick": dict(runs=RUNS, n=8, m=10, beta=0.05, seed=0, decades=100, iterations=100_000, rtol=1e-10),
    "full": dict(runs=RUNS, n=8, m=50, beta=0.05, seed=0, decades=1000, iterations=1_000_000, rtol=1e-11),
}
CLASSES = (1, -1)


def compute(*, runs, n, m, beta, seed, decades, iterations, rtol):
    import xarray as xr

    from reluflow.papers.kou2023 import _standard

    of = [_standard.problem(kappa, slope, n=n, m=m, beta=beta * slope / 0.5, seed=seed) for kappa, slope in runs]
    last = decades * float(np.log(10.0))
    parts = [_measured(_standard.flow(p, last - 2 * float(np.log(setting(p).scale)), rtol)) for p in of]
    ds = xr.concat(parts, dim="run", join="override")
    ds = ds.assign_coords(kappa=("run", [k for k, _ in runs]), slope=("run", [g for _, g in runs]))
    by_steps = _measured(_standard.descent(of[0], iterations))
    ds["descent"], ds["descent_log_t"] = by_steps.excess.rename(time="step"), by_steps.log_t.rename(time="step")
    return ds


def _measured(sol):
    """The excess SR - 1 of both classes over time, what bounds it and what it tends to."""
    import xarray as xr

    run = path(sol, 0)
    at = run.at
    first = np.searchsorted(run.log_s, max(run.log_pattern, 0.0)) + 1  # the pattern is at rest, and log t > 0
    # A flow has frames at its own steps: as many of them for every run, evenly in log log t.
    wanted = np.geomspace(run.log_s[first], run.log_s[-1], 240)
    keep = np.unique(np.searchsorted(run.log_s, wanted).clip(first, len(run.log_s) - 1))
    keep = keep[np.rint(np.linspace(0, len(keep) - 1, 120)).astype(int)]
    u = final_limit(run).directions
    names = ("excess", "bound", "mean", "rest")
    rows: dict[str, list] = {name: [] for name in names}
    kept: dict[str, list] = {name: [] for name in ("constant", "along", "turn", "drift", "error")}
    for j in CLASSES:
        mine = run.of_class(j)
        w, goal = run.w[keep][:, mine], u[mine].mean(axis=0)
        v = w.mean(axis=1)
        e = w - v[:, None]
        out = e[-1] - np.outer(e[-1] @ goal, goal) / (goal @ goal)
        rows["excess"].append(excess_rank(w))
        rows["mean"].append(np.sqrt(at.m) * np.linalg.norm(v, axis=1))
        rows["rest"].append(np.linalg.norm(e, axis=(1, 2)))
        rows["bound"].append(_handbook(w, at.w0[mine], at.m))
        kept["constant"].append(float(np.sum(out**2) / (at.m * (goal @ goal))))
        kept["turn"].append(float(np.linalg.norm(e[-1]) / np.linalg.norm(out)))
        kept["along"].append(float(np.linalg.norm(v[-1] - goal * run.log_s[keep[-1]]) / np.linalg.norm(goal)))
        kept["drift"].append(float(np.max(np.linalg.norm(e - e[-1], axis=(1, 2)))))
        kept["error"].append(float(run.error * np.sqrt(mine.size * at.x.shape[1])))
    arrays: dict = {name: (("class", "time"), rows[name]) for name in names}
    arrays |= {name: (("class",), kept[name]) for name in kept}
    return xr.Dataset(arrays | {"log_t": ("time", run.log_s[keep])}, coords={"class": list(CLASSES)})


def _handbook(w, w0, m) -> np.ndarray:
    """|E|_F^2 / (sqrt m |v| - |E|_F)^2, v the row mean of W - W^(0) and E = W - 1 v^T; nan where the bracket is not
    positive."""
    v = np.mean(w - w0, axis=1)
    e = np.linalg.norm(w - v[:, None], axis=(1, 2))
    gap = np.sqrt(m) * np.linalg.norm(v, axis=1) - e
    return np.where(gap > 0, (e / np.where(gap > 0, gap, 1.0)) ** 2, np.nan)


def _room(ds, log_t) -> np.ndarray:
    """How far log((SR - 1) log^2 t / C) may be from 0.

    |v - u log t| <= b |u| changes |v| by b/log t of itself and turns Q by as much, which changes |E Q| by |E|/|E Q|
    times that; what is left out is second order in SR - 1.
    """
    shift = ds.along.values / log_t[:, None]
    first = np.log((1 + shift * ds.turn.values) / (1 - shift))
    return 2 * first + 4 * ds.constant.values / log_t[:, None] ** 2


def _exponent(ds) -> tuple[np.ndarray, np.ndarray]:
    """d log(SR - 1)/d log log t over the last half of log t, and the slack of its limit -2."""
    log_t, excess = ds.log_t.values, ds.excess.values
    half = np.argmin(np.abs(log_t - 0.5 * log_t[:, -1:]), axis=1)
    rows = np.arange(len(half))
    span = np.log(log_t[:, -1] / log_t[rows, half])[:, None]
    room = (_room(ds, log_t[rows, half]) + _room(ds, log_t[:, -1])) / span
    return np.log(excess[:, :, -1] / excess[rows, :, half]) / span, room


def facts(ds) -> list[Claim]:
    """E is at rest up to the run's error (Lemma 5.7); slack of the constant and of the exponent: `_room`."""
    last = ds.log_t.values[:, -1]
    product = ds.excess.values[:, :, -1] * last[:, None] ** 2 / ds.constant.values
    room = np.expm1(_room(ds, last))
    exponent, slack = _exponent(ds)
    worst = np.unravel_index(int(np.argmax(np.abs(product - 1) - room)), product.shape)
    far = np.unravel_index(int(np.argmax(np.abs(exponent + 2) - slack)), exponent.shape)
    moved = ds.drift.values - ds.error.values
    loose = np.unravel_index(int(np.argmax(moved)), moved.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        over = np.log(ds.excess.values / ds.bound.values)
    steps = ds.descent.values * ds.descent_log_t.values
    tenth = np.argmin(np.abs(ds.descent_log_t.values - (ds.descent_log_t.values[-1] - np.log(10.0))))
    return [
        Claim("E after T_pat, how far it moves", ds.drift.values[loose], "=", 0.0, slack=ds.error.values[loose]),
        Claim("log(SR - 1) against the handbook's bound, worst", float(np.nanmax(over)), "<=", 0.0),
        Claim(
            "(SR - 1) log^2 t over C_j at the last time, farthest from 1",
            product[worst],
            "=",
            1.0,
            slack=room[worst],
            kind="limit",
        ),
        Claim(
            "power of log t over the last half of log t, farthest from -2",
            exponent[far],
            "=",
            -2.0,
            slack=slack[far],
            kind="limit",
        ),
        Claim("the same power, nearest to the printed -1", float(exponent.max()), "<", -1.0),
        Claim(
            "descent: (SR - 1) log t over the last decade, last over first",
            float(np.max(steps[:, -1] / steps[:, tenth])),
            "<",
            1.0,
        ),
    ]


def draw(ds):
    fig = look.figure(look.PAGE, 2.5)
    one, two, three = fig.subplots(1, 3, width_ratios=[1.15, 1, 1])
    colours = (look.INK, look.MINUS, look.PLUS)
    for r in range(ds.sizes["run"]):
        log_t, excess = ds.log_t.values[r], ds.excess.values[r, 0]
        name = f"κ = {float(ds.kappa[r]):g}, γ = {float(ds.slope[r]):g}"
        colour = colours[r % 3]
        one.loglog(log_t, excess, color=colour)
        two.semilogx(log_t, excess * log_t**2 / float(ds.constant[r, 0]), color=colour)
        two.semilogx(log_t, excess * log_t / (excess[0] * log_t[0]), color=colour, ls=":", lw=1)
        one.text(
            0.04, 0.05 + 0.085 * (ds.sizes["run"] - 1 - r), name, transform=one.transAxes, color=colour, fontsize=7
        )
    one.loglog(ds.descent_log_t, ds.descent[0], color=look.THEORY, lw=3, alpha=0.5, zorder=0)
    low, high = ds.log_t.values[0, [0, -1]]
    guide = np.array([max(low, 8.0), high])
    top = 3 * float(np.interp(guide[0], ds.log_t.values[0], ds.excess.values[:, 0].max(axis=0)))
    for power, text in ((1, "1/log t (printed)"), (2, "1/log² t")):
        line = top * (guide[0] / guide) ** power
        one.loglog(guide, line, color=look.FAINT, lw=0.8, ls="--")
        at = 22.0 if power == 1 else 75.0
        look.beside(one, at, top * (guide[0] / at) ** power, text, look.FAINT, dx=1, dy=5, fontsize=6.5)
    look.beside(
        one, float(ds.descent_log_t[0]), float(ds.descent[0, 0]), "descent", look.THEORY, dx=3, dy=5, fontsize=6.5
    )
    one.set(xlabel="log t", ylabel="SR(W₊) − 1")
    look.letter(one, "a")
    two.axhline(1, color=look.FAINT, lw=0.7, ls=":")
    two.set(xlabel="log t", ylim=(0, 2))
    look.beside(two, high, 1.82, "(SR − 1) log² t / C", look.INK, dx=0, ha="right")
    look.beside(two, high, 0.1, "(SR − 1) log t", look.INK, dx=0, dy=6, ha="right")
    look.letter(two, "b")
    for r in range(ds.sizes["run"]):
        three.loglog(ds.log_t[r], ds["mean"][r, 0], color=colours[r % 3])
        three.loglog(ds.log_t[r], ds.rest[r, 0], color=colours[r % 3], ls="--", lw=1)
    look.beside(three, high, float(ds["mean"][0, 0, -1]), "√m |v|", look.INK, dx=-24, dy=0, ha="right")
    look.beside(three, high, float(ds.rest[:, 0, -1].max()), "|E|", look.INK, dx=0, dy=7, ha="right")
    three.set(xlabel="log t")
    look.letter(three, "c")
    return fig


def caption(ds) -> str:
    power, _ = _exponent(ds)
    return f"""Two-layer leaky ReLU networks on nearly orthogonal data (Kou, Chen, Gu), first layer trained by the flow
    from the moment the activation pattern rests to t = 1e{ds.log_t.values[0, -1] / np.log(10.0):.0f}, and by descent
    (amber). a: the excess SR(W_+) - 1 of the stable rank against log t, both logarithmic. The printed rate is 1/log t;
    the power of log t over the last half of it is {power.min():.3f} to {power.max():.3f}: 1/log^2 t. b: times log^2 t
    and over its limit C, computed from the pattern and the rest E alone, it tends to 1 (full lines); times log t
    (dotted, over its first value) it vanishes. c: why. All neurons of a class move alike once the pattern rests: their
    mean v grows like log t and what tells them apart, E, never changes again. kappa = 0.02 is data with all pairs at
    that correlation bound; t is eta times iterations."""
