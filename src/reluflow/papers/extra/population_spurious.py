r"""Spurious minima of infinite data: reached or not, against the number of teachers and the width of the student.

k orthonormal teachers with output weight 1, Gaussian inputs, m students with a = 1, first layer trained, started from
N(0, I/k). For m = k there is a symmetric stationary point with positive loss, a saddle for k = 5 and a minimum from
k = 6 on [Safran and Shamir 2018; Arjevani and Field]: `rf.population.spurious(k)`. Every flow is followed to rest.
"""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.plot import look

SETTINGS = {
    "quick": dict(teachers=[5, 6, 7, 8, 10], seeds=16, fixed=8, extra=[0, 1, 2], t1=6000.0),
    "full": dict(teachers=[4, 5, 6, 7, 8, 9, 10, 12], seeds=60, fixed=10, extra=[0, 1, 2, 3, 4], t1=20_000.0),
}
FIT = 1e-5  # of the first loss: below it a run has found the teachers (with m > k convergence is algebraic)


def compute(*, teachers, seeds, fixed, extra, t1):
    import xarray as xr

    points = {k: rf.population.spurious(k) for k in {max(k, 5) for k in [*teachers, fixed]}}
    equal = [[end(k, k, seed, t1) for seed in range(seeds)] for k in teachers]
    known = dict(zip(teachers, equal))
    wide = [
        known[fixed] if more == 0 and fixed in known else [end(fixed, fixed + more, seed, t1) for seed in range(seeds)]
        for more in extra
    ]
    curve = [history(fixed, seed, t1) for seed in range(min(seeds, 8))]
    return xr.Dataset(
        {
            "loss": (("k", "seed"), equal),
            "spurious": ("k", [points[max(k, 5)].loss for k in teachers]),
            "least": ("k", [points[max(k, 5)].eigenvalues[0] for k in teachers]),
            "wide": (("extra", "seed"), wide),
            "curve": (("run", "t"), [c for _, c in curve]),
            "fixed": fixed,
        },
        coords={"k": teachers, "extra": extra, "t": curve[0][0]},
    )


def problem(k: int, m: int, seed: int):
    rng = np.random.default_rng([seed, m, k, 3])
    init = rf.Params(rng.normal(size=(m, k)) / np.sqrt(k), np.ones(m))
    return rf.population.Problem(rf.Params(np.eye(k), np.ones(k)), init, train="first")


def end(k: int, m: int, seed: int, t1: float) -> float:
    """The loss at which the flow comes to rest, or at t1."""
    start = problem(k, m, seed)
    sol = rf.population.solve(start, rf.Flow(1e-7), t1=200.0)
    while sol.t[-1] < t1 and sol.loss[-1] > FIT * start.loss():
        if _at_rest(start, sol.final):
            break
        going = rf.population.Problem(start.teacher, sol.final, train="first")
        sol = rf.population.solve(going, rf.Flow(1e-7), t1=4.0 * float(sol.t[-1]))
    return float(sol.loss[-1])


def _at_rest(start, params) -> bool:
    """Next to a minimum: the gradient is small beside the smallest curvature, which is positive."""
    gradient = np.linalg.norm(start.gradient(params)[0])
    if gradient > 1e-4:
        return False
    return bool(np.linalg.eigvalsh(start.hessian(params))[0] > 30 * gradient)


def history(k: int, seed: int, t1: float):
    """(times, loss) of one run, for the picture."""
    t = np.geomspace(0.1, 400.0, 200)
    return t, rf.population.solve(problem(k, k, seed), rf.Flow(1e-7), t1=400.0).loss_at(t)


def kinds(loss, spurious: float, first: float) -> np.ndarray:
    """0: the teachers are found, 1: the known spurious minimum, 2: elsewhere."""
    loss = np.asarray(loss)
    return np.where(loss < FIT * first, 0, np.where(np.abs(loss - spurious) < 1e-4 * spurious, 1, 2))


def counts(ds) -> np.ndarray:
    """Runs with m = k that end in a fit, in the known minimum, elsewhere: (k, 3)."""
    rows = [kinds(ds.loss[i], float(ds.spurious[i]), _zero(int(k))) for i, k in enumerate(ds.k.values)]
    return np.array([[int(np.sum(row == kind)) for kind in range(3)] for row in rows])


def _zero(k: int) -> float:
    """The loss of no student at all: k (k - 1)/(4 pi) + k/4."""
    return k * (k - 1) / (4 * np.pi) + k / 4


def facts(ds) -> list[Claim]:
    """The loss of a run at rest is right to 1e-4: its gradient is below 1e-4 and below a thirtieth of the curvature."""
    found = counts(ds)
    k = ds.k.values
    few, many = k <= 5, k >= 6
    trapped = np.sum(ds.wide.values > FIT * _zero(int(ds.fixed)), axis=1)
    share = trapped / ds.sizes["seed"]
    return [
        Claim("k <= 5: runs that do not find the teachers", int(found[few, 1:].sum()), "=", 0),
        Claim("k >= 6: runs that end in the known spurious minimum", int(found[many, 1].sum()), ">=", 1),
        Claim("runs with m = k that end anywhere else", int(found[:, 2].sum()), "=", 0),
        Claim("curvature of the symmetric point, k = 5", float(ds.least[list(k).index(5)]), "<", 0.0),
        Claim("the same, smallest for k >= 6", float(ds.least.values[many].min()), ">", 0.0),
        Claim(
            f"k = {int(ds.fixed)}: share trapped with the widest student less that with m = k",
            float(share[-1] - share[0]),
            "<",
            0.0,
        ),
    ]


def draw(ds):
    fig = look.figure(look.PAGE, 2.6)
    left, middle, right = fig.subplots(1, 3)
    fixed, seeds = int(ds.fixed), ds.sizes["seed"]
    level = float(ds.spurious[list(ds.k.values).index(fixed)])
    for row in ds.curve.values:
        trapped = abs(row[-1] - level) < 0.1 * level
        left.loglog(ds.t, np.maximum(row, 1e-9), color=look.PLUS if trapped else look.MINUS, lw=0.9, alpha=0.8)
    left.axhline(level, color=look.THEORY, lw=0.8, ls="--")
    look.beside(left, float(ds.t[0]), 0.5 * level, "spurious minimum", look.THEORY, dx=2, fontsize=7)
    left.set(xlabel="t", ylabel="loss", ylim=(1e-8, None))
    look.letter(left, "a", f"k = m = {fixed}")
    found = counts(ds)
    x = np.arange(len(ds.k))
    middle.bar(x, found[:, 1] / seeds, color=look.PLUS, width=0.6)
    for i, count in enumerate(found[:, 1]):
        middle.text(i, count / seeds, f"{count}/{seeds}", ha="center", va="bottom", fontsize=6.5)
    middle.set_xticks(x, [str(k) for k in ds.k.values])
    middle.set(
        xlabel="teachers k = students m",
        ylabel="share of runs trapped",
        ylim=(0, 1.12 * max(0.1, float(found[:, 1].max() / seeds))),
    )
    look.letter(middle, "b")
    share = np.mean(ds.wide.values > FIT * _zero(fixed), axis=1)
    right.bar(np.arange(len(share)), share, color=look.PLUS, width=0.6)
    for i, value in enumerate(share):
        right.text(i, value, f"{round(value * seeds)}/{seeds}", ha="center", va="bottom", fontsize=6.5)
    right.set_xticks(np.arange(len(share)), [f"{fixed + int(e)}" for e in ds.extra.values])
    right.set(xlabel=f"students m, k = {fixed} teachers", ylim=middle.get_ylim())
    look.letter(right, "c")
    return fig


def caption(ds) -> str:
    found, seeds = counts(ds), ds.sizes["seed"]
    rows = ", ".join(f"{n[1]} of {seeds} at k = {k}" for k, n in zip(ds.k.values, found))
    fixed = int(ds.fixed)
    share = np.sum(ds.wide.values > FIT * _zero(fixed), axis=1)
    wide = ", ".join(f"{n} with {fixed + int(e)}" for e, n in zip(ds.extra.values, share))
    return f"""k orthonormal ReLU teachers and m students, Gaussian inputs, first layer trained by the population
    flow from N(0, I/k), followed to rest. (a) Losses for m = k = {fixed}: runs find the teachers (blue) or stop
    at the loss of the known spurious minimum (red, dashed line:
    {float(ds.spurious[list(ds.k.values).index(fixed)]):.9f}, from five equations). (b) Runs that end in it with m
    = k: {rows}; every other run finds the teachers. The symmetric point is a saddle at k = 5 (least curvature
    {float(ds.least[list(ds.k.values).index(5)]):.6f}) and a minimum from k = 6 on. (c) More students than
    teachers: of {seeds} runs at k = {fixed} those trapped are {wide} students. To cite: on infinite data the flow
    can be trapped, always in this one minimum and never where the symmetric point is a saddle, and a few neurons
    more set it free."""
