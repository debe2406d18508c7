r"""Samples of n points against the population: weights differ by n^{-1/2}, and where a small sample goes elsewhere.

Gaussian inputs in R^3, two orthogonal teachers with output weights 1 and .6, a balanced student of six neurons, two of
them negative. The flow on n labelled points, L = (1/2n) sum (f - y)^2, is set beside the flow on the whole law from the
same start: error(n, t) = |theta_n(t) - theta(t)|/|theta(t)|, averaged over draws of the points. The central limit
theorem for the gradient gives n^{-1/2} at every fixed time.
"""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.plot import look

SETTINGS = {
    "quick": dict(sizes=[100, 316, 1000, 3162], seeds=8, times=[2.0, 5.0, 10.0], log_scale=-2.0),
    "full": dict(sizes=[100, 316, 1000, 3162, 10_000, 31_623], seeds=20, times=[2.0, 5.0, 10.0], log_scale=-2.0),
}
POINTS = 200


def compute(*, sizes, seeds, times, log_scale):
    import xarray as xr

    from reluflow.population.samples import sample_run

    teacher = rf.Params(np.eye(3)[:2], np.array([1.0, 0.6]))
    init = rf.init.balanced(6, 3, log_scale=log_scale, seed=0, signs=[1, 1, 1, 1, -1, -1])
    problem = rf.population.Problem(teacher, init)
    found = rf.population.compare(problem, sizes, times[-1], times=times, seeds=seeds)
    grid = np.linspace(0.0, times[-1], POINTS)
    curves = [[problem.loss(p) for p in sample_run(problem, n, 0, grid)] for n in sizes[:3]]
    return xr.Dataset(
        {
            "error": (("n", "seed", "time"), found.error),
            "population": ("t", found.population.loss_at(grid)),
            "curve": (("shown", "t"), curves),
            "excess": (("n", "seed", "time"), found.loss - found.population.loss_at(np.array(times))),
        },
        coords={"n": sizes, "time": times, "t": grid, "shown": sizes[:3]},
    )


def fit(ds) -> tuple[np.ndarray, np.ndarray]:
    """The power of n at every time, and its standard error from the scatter of the draws."""
    x = np.log(ds.n.values) - np.mean(np.log(ds.n.values))
    logs = np.log(ds.error.values)
    weights = x / np.sum(x**2)
    power = np.einsum("n,nt->t", weights, logs.mean(axis=1))
    spread = np.sqrt(np.einsum("n,nt->t", weights**2, logs.var(axis=1, ddof=1) / logs.shape[1]))
    return power, spread


def facts(ds) -> list[Claim]:
    """Slack of a power: four standard errors, from the scatter over draws."""
    power, spread = fit(ds)
    scaled = ds.error.mean("seed").values * np.sqrt(ds.n.values)[:, None]
    return [
        *(
            Claim(
                f"power of n in the error of the weights at t = {t:g}",
                float(power[k]),
                "=",
                -0.5,
                slack=float(4 * spread[k]),
            )
            for k, t in enumerate(ds.time.values)
        ),
        Claim(
            "error times sqrt n, largest over smallest of all sizes and times",
            float(scaled.max() / scaled.min()),
            "<=",
            4.0,
        ),
        Claim(
            "error at the largest n over that at the smallest, mean of all times",
            float(np.mean(ds.error[-1].mean("seed") / ds.error[0].mean("seed"))),
            "<",
            float(3.0 * np.sqrt(ds.n[0] / ds.n[-1])),
        ),
    ]


def draw(ds):
    fig = look.figure(look.PAGE, 2.6)
    left, right = fig.subplots(1, 2)
    colours = (look.THEORY, look.PURPLE, look.MINUS)
    left.plot(ds.t, ds.population, color=look.INK, lw=2.2, alpha=0.8)
    for k, n in enumerate(ds.shown.values):
        left.plot(ds.t, ds.curve[k], color=colours[k], lw=1)
        left.text(
            0.97,
            0.86 - 0.085 * k,
            f"trained on n = {n}",
            color=colours[k],
            transform=left.transAxes,
            ha="right",
            fontsize=7.5,
        )
    left.text(0.97, 0.945, "population flow", color=look.INK, transform=left.transAxes, ha="right", fontsize=7.5)
    left.set(xlabel="t", ylabel="population loss", yscale="log")
    look.letter(left, "a")
    n = ds.n.values
    for k, t in enumerate(ds.time.values):
        right.loglog(n, ds.error.mean("seed")[:, k], "o-", color=colours[k], ms=3.5, lw=1)
        for seed in range(ds.sizes["seed"]):
            right.loglog(n, ds.error[:, seed, k], ".", color=colours[k], ms=2, alpha=0.4)
        right.text(0.05, 0.06 + 0.08 * k, f"t = {t:g}", color=colours[k], transform=right.transAxes, fontsize=7.5)
    top = 1.6 * float(ds.error.mean("seed")[0].max())
    right.loglog(n, top * np.sqrt(n[0] / n), "--", color=look.FAINT, lw=0.9)
    look.beside(right, n[1], top * np.sqrt(n[0] / n[1]), "$n^{-1/2}$", look.FAINT, dx=4, dy=4)
    right.set(xlabel="n", ylabel="relative error of the weights")
    look.letter(right, "b")
    return fig


def caption(ds) -> str:
    power, spread = fit(ds)
    n = ds.n.values
    return f"""A student of six neurons learns two orthogonal ReLU teachers under Gaussian inputs in three
    dimensions, on the whole law and on samples of {n[0]} to {n[-1]} points, {ds.sizes["seed"]} draws of each. (a)
    The population loss along the population flow and of networks trained on one sample each. (b) The relative
    difference of all weights, at three times: single draws (dots) and their means, falling as n to the power
    {power[0]:.3f}, {power[1]:.3f}, {power[2]:.3f} (standard errors {spread[0]:.3f}, {spread[1]:.3f},
    {spread[2]:.3f}). Samples of at most 400 points are followed with every crossing of an activation boundary
    located, larger ones with bits read off signs (rtol 1e-4). To cite: at fixed times training on n Gaussian
    points is the population flow up to n^-1/2, with a constant of about {
        float((ds.error.mean("seed").values * np.sqrt(n)[:, None]).mean()):.1f} here."""
