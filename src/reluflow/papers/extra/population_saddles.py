r"""Saddle to saddle on infinite data: three teachers from e^-10 to e^-1000 and the times at which saddles are left.

Gaussian inputs, orthonormal teachers with output weights b = (1, .6, -.8), a balanced student at scale e^-l; time is
counted in units of l. A small neuron in direction u has |w| growing at the rate +-<u, D(u)>, D the pull of what is not
yet learned; neurons of one sign align to one direction, and what tells them apart, the part of w across it, grows at
the rate sigma, the largest curvature of <u, D(u)> there. With primes for the values on the saddle after,

    positive neurons grow at      T1 = 1/h+
    negative neurons grow at      T2 = T1 + (1 - h- T1)/h-'
    the positive cluster parts at T3 = T2 + (1 - sigma T2)/sigma'

all from closed forms, and all read off the runs. Between T1 and T3 the directions of the cluster differ by less than
rounding can tell: by e^-639 at the scale e^-1000.
"""

from itertools import pairwise

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.plot import look
from reluflow.population import closed_form as cf

B = (1.0, 0.6, -0.8)
SETTINGS = {
    "quick": dict(log_scales=[-10.0, -30.0, -100.0, -1000.0, -2000.0], width=12, dim=4, seed=0, rtol=1e-8),
    "full": dict(log_scales=[-10.0, -30.0, -100.0, -300.0, -1000.0, -10000.0], width=24, dim=6, seed=0, rtol=1e-9),
}
END = 5.6  # units of l
POINTS = 500


def compute(*, log_scales, width, dim, seed, rtol):
    import xarray as xr

    share = np.linspace(0.0, END, POINTS)
    rows: dict[str, list] = {key: [] for key in ("loss", "gap", "times", "steps", "levels")}
    teacher = rf.Params(np.eye(dim)[: len(B)], np.array(B))
    predicted, levels = saddles(teacher)
    for log_scale in log_scales:
        signs = np.where(np.arange(width) % 3 == 2, -1.0, 1.0)
        init = rf.init.balanced(width, dim, log_scale=log_scale, seed=seed, signs=signs)
        problem = rf.population.Problem(teacher, init)
        grid = np.unique(np.concatenate([-share * log_scale, _near(-log_scale)]))
        sol = rf.population.solve(problem, rf.Flow(rtol), t1=float(grid[-1]), save=rf.Save(times=tuple(grid)))
        plus = np.flatnonzero(init.a > 0)
        rows["loss"].append(np.interp(-share * log_scale, sol.t, sol.loss))
        rows["gap"].append(np.interp(-share * log_scale, sol.t, sol.log_gap(int(plus[0]), int(plus[1]))))
        rows["times"].append(crossings(sol, levels))
        rows["levels"].append([float(sol.loss[np.argmin(np.abs(sol.t + x * log_scale))]) for x in (0.5, 3.0, 4.6)])
        rows["steps"].append(sol.stats.steps)
    return xr.Dataset(
        {
            "loss": (("log_scale", "share"), rows["loss"]),
            "gap": (("log_scale", "share"), rows["gap"]),
            "time": (("log_scale", "event"), rows["times"]),
            "level": (("log_scale", "saddle"), rows["levels"]),
            "steps": ("log_scale", rows["steps"]),
            "predicted": ("event", predicted),
            "predicted_level": ("saddle", levels),
            "rtol": rtol,
        },
        coords={"log_scale": log_scales, "share": share},
    )


def _near(ell: float) -> np.ndarray:
    """Times next to the three events, where the curves are steep."""
    return np.concatenate([x * ell + np.linspace(-40.0, 40.0, 321) for x in (1.8839, 4.1597, 4.9341)]).clip(0.0)


def crossings(sol, levels: list[float]) -> list[float]:
    """When the loss is halfway between two saddles, three times."""
    ends = [*levels, 0.0]
    found = []
    for high, low in pairwise(ends):
        level = 0.5 * (high + low)
        k = int(np.argmax(sol.loss < level))
        found.append(float(np.interp(-level, -sol.loss[k - 1 : k + 1], sol.t[k - 1 : k + 1])) if k else np.nan)
    return found


def saddles(teacher) -> tuple[list[float], list[float]]:
    """(T1, T2, T3) in units of l, and the losses of the three saddles, from the closed forms alone."""
    v, b = teacher.arrays()
    none = (np.zeros((0, v.shape[1])), np.zeros(0))
    # The student so far: nothing; the best positive neuron; with it the best negative one.
    plus, h_plus = _best(v, b, none, 1.0)
    one = _settled(teacher, [plus], [1.0])
    before, h_minus = _best(v, b, none, -1.0)
    after, h_minus_there = _best(v, b, one, -1.0, before)
    two = _settled(teacher, [one[0][0], after], [1.0, -1.0], one)
    # The cluster itself adds no curvature along its own direction: sigma is that of the start until T2.
    sigma, sigma_there = _curvature(one[0][0], v, b, one), _curvature(two[0][0], v, b, two)
    first = 1.0 / h_plus
    second = first + (1.0 - h_minus * first) / h_minus_there
    third = second + (1.0 - sigma * second) / sigma_there
    zero = cf.loss(*none, v, b)
    levels = [zero, *(rf.population.Problem(teacher, rf.Params(*student)).loss() for student in (one, two))]
    return [first, second, third], levels


def _best(v, b, student, sign: float, start=None):
    """The direction to which small neurons of this sign align, and the rate at which they grow there."""
    u = sign * np.asarray(b) @ v if start is None else start
    u = u / np.linalg.norm(u)
    for _ in range(20_000):
        d = sign * cf.pull(u[None], student[0], student[1], v, b)[0]
        new = u + d / np.linalg.norm(d)
        new = new / np.linalg.norm(new)
        if np.linalg.norm(new - u) < 1e-15:
            break
        u = new
    return u, float(u @ d)


def _settled(teacher, directions, signs, before=None):
    """The stationary point of a network with neurons started in these directions, balanced."""
    w = np.array([u / np.linalg.norm(u) for u in directions])
    size = 0.3 * np.ones(len(w))
    if before is not None:
        size[: len(before[1])] = np.abs(before[1])
    init = rf.Params(w * size[:, None], signs * size)
    sol = rf.population.solve(rf.population.Problem(teacher, init), rf.Flow(1e-10), t1=400.0)
    return rf.population.stationary(rf.population.Problem(teacher, init), sol.final).params.arrays()


def _curvature(w, v, b, student) -> float:
    """The largest eigenvalue of dD/du across u = w/|w|."""
    u = w / np.linalg.norm(w)
    total = sum(b[k] * cf.turning(u, v[k]) for k in range(len(b)))
    total = total - sum(a * cf.turning(u, row) for row, a in zip(*student))
    return float(np.linalg.eigvalsh(total)[-1])


def facts(ds) -> list[Claim]:
    """Slopes are between the two smallest scales, so that constants cancel; a crossing is located to 0.25 between saved
    times and interpolated linearly, well within 0.02, over a difference of 1000 or more in l."""
    ell = -ds.log_scale.values
    slope = (ds.time.values[-1] - ds.time.values[-2]) / (ell[-1] - ell[-2])
    slack = 0.04 / (ell[-1] - ell[-2])
    names = ("first growth T1 = 1/h+", "second growth T2", "parting of the cluster T3")
    said = [
        Claim(f"{name}: time per unit of log(1/scale)", float(slope[k]), "=", float(ds.predicted[k]), slack=slack)
        for k, name in enumerate(names)
    ]
    small = ell >= 1000
    off = np.abs(ds.level.values[small] - ds.predicted_level.values)
    deep = float(ds.gap.sel(log_scale=-1000.0).min())
    return [
        *said,
        Claim(
            "losses on the three saddles against stationary points, l >= 1000, largest difference",
            float(off.max()),
            "=",
            0.0,
            slack=1e-6,
        ),
        Claim("l = 1000: log of the smallest difference of two directions of the cluster", deep, "<", -500.0),
        Claim(
            "steps at the smallest scale over steps at l = 1000",
            float(ds.steps[-1] / ds.steps.sel(log_scale=-1000.0)),
            "<=",
            1.3,
        ),
    ]


def draw(ds):
    fig = look.figure(look.PAGE, 2.7)
    left, middle, right = fig.subplots(1, 3, width_ratios=[1.35, 1, 1])
    colours = (look.FAINT, look.THEORY, look.PURPLE, look.MINUS, look.INK, look.PLUS)
    share = ds.share.values
    shown = [v for v in (-10.0, -30.0, -100.0, -1000.0) if v in ds.log_scale.values]
    for k, value in enumerate(shown):
        left.plot(share, ds.loss.sel(log_scale=value), color=colours[k], lw=1.2)
        left.text(2.3, 0.36 - 0.03 * k, f"$e^{{{value:.0f}}}$", color=colours[k], fontsize=7.5)
    for level in ds.predicted_level.values:
        left.axhline(level, color=look.FAINT, lw=0.6, ls=":", zorder=0)
    for x, name in zip(ds.predicted.values, ("$T_1$", "$T_2$", "$T_3$")):
        left.axvline(x, color=look.FAINT, lw=0.6, ls=":", zorder=0)
        left.text(x, 1.02, name, transform=left.get_xaxis_transform(), ha="center", fontsize=7, color=look.FAINT)
    left.set(xlabel="time / log(1/scale)", ylabel="loss", ylim=(0, None), xlim=(0, END))
    look.letter(left, "a")
    value = shown[-1]
    middle.plot(share, ds.gap.sel(log_scale=value), color=look.MINUS)
    middle.axhline(np.log(1e-16), color=look.PLUS, lw=0.8, ls="--")
    look.beside(middle, 0.55, -78.0, "rounding of unit vectors", look.PLUS, dx=0, fontsize=7)
    middle.set(xlabel="time / log(1/scale)", ylabel="log difference of two directions", xlim=(0, END))
    look.letter(middle, "b", f"one cluster, $e^{{{value:.0f}}}$")
    ell = -ds.log_scale.values
    for k, (colour, name) in enumerate(zip((look.PLUS, look.MINUS, look.INK), ("$T_1$", "$T_2$", "$T_3$"))):
        right.plot(ell, ds.time[:, k] / ell, "o-", ms=3, lw=0.8, color=colour)
        right.axhline(float(ds.predicted[k]), color=colour, lw=0.8, ls=":")
        look.beside(right, ell[-1], float(ds.predicted[k]), name, colour, dx=4)
    right.set(xscale="log", xlabel="log(1/scale)", ylabel="time / log(1/scale)", ylim=(1, 5.5))
    look.letter(right, "c")
    return fig


def caption(ds) -> str:
    ell = -ds.log_scale.values
    slope = (ds.time.values[-1] - ds.time.values[-2]) / (ell[-1] - ell[-2])
    one, two, three = ds.predicted.values
    return f"""Gradient flow on infinite data: a student learns three orthonormal ReLU teachers (output weights 1,
    0.6, -0.8) under Gaussian inputs, from scales e^-10 to e^{-ell[-1]:.0f}. (a) The loss against time over
    log(1/scale) tends to three steps: the best positive neuron, the best negative one, then the positive cluster
    parts and each teacher gets its own. Dotted: losses of the saddles, as stationary points, and the times T1,
    T2, T3 from closed forms at these points. (b) Two neurons of the positive cluster differ by
    e^{float(ds.gap.sel(log_scale=-1000.0).min()):.0f} when they have grown, and by that much they part later: in
    plain unit vectors (dashed) the saddle would be left at once. (c) Measured times per log(1/scale) approach
    {one:.5f}, {two:.5f}, {three:.5f}; between the two smallest scales their slopes are {slope[0]:.5f},
    {slope[1]:.5f}, {slope[2]:.5f}. All runs at rtol {float(ds.rtol):g}, {int(ds.steps.min())} to
    {int(ds.steps.max())} steps. To cite: with infinite data too, small initialisation learns one teacher after
    the other, and the last saddle is left by differences between neurons that no floating-point number can hold."""
