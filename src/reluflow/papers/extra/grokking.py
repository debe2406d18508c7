r"""Grokking: a fitted network keeps its training loss while weight decay takes it to the teacher's function.

A student of 30 neurons fits 16 points of a teacher of 2. Long after the loss is zero its test error falls a
thousandfold, on the time scale 1/decay: in tau = decay t runs with smaller and smaller decay tend to one curve, that of
`rf.DecayLimit`, theta' = J' nu - theta with K nu = 2 y, whose cost does not depend on decay. It ends near the least
norm that fits."""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.plot import look

SETTINGS = {
    "quick": dict(width=30, scale=0.9, seed=0, decays=[1e-2, 1e-3], tau=5.0, places=60, rtol=1e-7),
    "full": dict(width=30, scale=0.9, seed=0, decays=[1e-2, 1e-3, 1e-4], tau=12.0, places=120, rtol=1e-7),
}
TABLE = {0.1: 12.95, 1.0: 0.524, 2.0: 0.103, 5.0: 0.030, 12.0: 0.010}  # of regularised.md: tau, relative test error
START, LEAST = 168.37, 4.39926


def compute(*, width, scale, seed, decays, tau, places, rtol):
    import xarray as xr

    drawn = rf.data.teacher(n=16, d=4, width=2, seed=1)
    unit = float(np.std(drawn.y))
    data = rf.Data(drawn.x, drawn.y / unit)
    w, a = rf.data.teacher_weights(d=4, width=2, seed=1)
    test = np.random.default_rng(99).normal(size=(4000, 4))
    truth = np.maximum(test @ w.T, 0.0) @ a / unit

    def measured(run, times):
        """Relative test error, |theta|^2 and training loss at these times, a row each."""
        seen = run.moments(times)
        scale = np.exp(seen.log_scale)
        w, a = scale[..., None] * seen.w, scale * seen.a
        miss = [np.maximum(test @ v.T, 0.0) @ b - truth for v, b in zip(w, a)]
        error = np.mean(np.square(miss), axis=1) / np.mean(truth**2)
        return np.stack([error, np.sum(w**2, axis=(1, 2)) + np.sum(a**2, axis=1), np.exp(seen.log_loss)])

    start = rf.init.balanced(width, 4, float(np.log(scale)), seed=seed)
    taus = np.unique(np.concatenate([np.geomspace(1e-3, tau, places), [t for t in TABLE if t <= tau]]))
    limit = solve(rf.Problem(data, start), rf.DecayLimit(rtol=rtol), t1=tau)
    slow = measured(limit, np.concatenate([[0.0], taus]))
    runs = [solve(rf.Problem(data, start, decay=decay), rf.Flow(rtol=rtol), t1=tau / decay) for decay in decays]
    found = np.array([measured(run, taus / decay) for decay, run in zip(decays, runs)])
    least = rf.bias.min_norm(data)
    times = np.geomspace(0.1, tau / decays[-1], 2 * places)
    whole = measured(runs[-1], times)
    return xr.Dataset(
        {
            "limit_error": ("tau", slow[0, 1:]),
            "limit_norm": ("tau", slow[1, 1:]),
            "limit_loss": ("tau", slow[2, 1:]),
            "error": (("decay", "tau"), found[:, 0]),
            "norm": (("decay", "tau"), found[:, 1]),
            "loss": (("decay", "tau"), found[:, 2]),
            "whole_error": ("t", whole[0]),
            "whole_loss": ("t", whole[2]),
            "start_norm": float(slow[1, 0]),
            "least": least.value,
            "lower": least.lower,
            "limit_steps": limit.stats.steps,
            "steps": ("decay", [run.stats.steps for run in runs]),
            "limit_events": limit.stats.events,
            "limit_slides": limit.stats.slides,
            "energy": limit.stats.energy_error,
        },
        coords=dict(tau=taus, decay=decays, t=times),
        attrs={"rtol": rtol, "width": width},
    )


def facts(ds) -> list[Claim]:
    """The table of the handbook is printed to two or three digits: half a unit of the last one is its slack."""
    units = {0.1: 5e-3, 1.0: 5e-4, 2.0: 5e-4, 5.0: 5e-4, 12.0: 5e-4}
    found = [
        Claim(f"test error of the limit at tau = {t:g}", float(ds.limit_error.sel(tau=t)), "=", value, slack=units[t])
        for t, value in TABLE.items()
        if t <= float(ds.tau[-1])
    ]
    size = ds.limit_norm.values
    gaps = np.abs(np.log(ds.error / ds.limit_error)).where((ds.tau >= 0.05) & (ds.tau <= 2.0)).max("tau").values
    return [
        *found,
        Claim("|theta|^2 of the fitted network", float(ds.start_norm), "=", START, slack=5e-3),
        Claim("the least norm that fits", float(ds.least), "=", LEAST, slack=5e-6),
        Claim("the norm never rises, largest rise", float(np.max(np.diff(size))), "<=", 1e-6),
        Claim("the norm stays above the certified least, smallest", float(size.min()), ">=", float(ds.lower)),
        Claim("training loss of the limit, largest", float(ds.limit_loss.max()), "<=", (100 * ds.attrs["rtol"]) ** 2),
        Claim("smaller decay is nearer to the limit: log of the error, last over first", gaps[-1] / gaps[0], "<", 0.5),
        Claim(
            "test error falls while the loss stays: first over last",
            float(ds.limit_error[0] / ds.limit_error[-1]),
            ">=",
            10.0,
        ),
        Claim("|theta|^2 accounts for the motion, relative error", float(ds.energy), "<=", 1e-5),
    ]


def draw(ds):
    fig = look.figure(look.PAGE, 2.5)
    one, two, three = fig.subplots(1, 3)
    decay = float(ds.decay[-1])
    one.plot(ds.t, np.maximum(ds.whole_loss, 1e-12), color=look.INK)
    one.plot(ds.t, ds.whole_error, color=look.MINUS)
    one.plot(ds.tau / decay, ds.limit_error, color=look.THEORY, lw=3, alpha=0.5, zorder=0)
    one.set(xscale="log", yscale="log", xlabel="t", ylim=(1e-10, 100), xlim=(0.1, float(ds.t[-1])))
    look.beside(one, 0.15, 2.5, "test error", look.MINUS, ha="left")
    look.beside(one, 0.15, 1e-3, "training loss", look.INK, dy=0, ha="left")
    look.letter(one, "a", f"decay {decay:g}")
    for k, colour in zip(range(ds.sizes["decay"]), (look.FAINT, look.PURPLE, look.MINUS)):
        two.plot(ds.tau, ds.error[k], color=colour, lw=1.1, label=f"decay {float(ds.decay[k]):g}")
    two.plot(ds.tau, ds.limit_error, color=look.THEORY, lw=3, alpha=0.5, label="limit", zorder=0)
    two.set(xscale="log", yscale="log", xlabel="τ = decay · t", ylabel="relative test error")
    two.legend(frameon=False, loc="lower left")
    look.letter(two, "b", "one curve in τ")
    for k, colour in zip(range(ds.sizes["decay"]), (look.FAINT, look.PURPLE, look.MINUS)):
        three.plot(ds.tau, ds.norm[k], color=colour, lw=1.1)
    three.plot(ds.tau, ds.limit_norm, color=look.THEORY, lw=3, alpha=0.5, zorder=0)
    three.axhline(float(ds.least), color=look.INK, lw=0.8, ls="--")
    three.set(xscale="log", yscale="log", xlabel="τ = decay · t", ylabel="|θ|²")
    look.beside(three, float(ds.tau[0]), float(ds.least), "least norm that fits", look.INK, dy=5, dx=2, ha="left")
    look.letter(three, "c", "norm")
    return fig


def caption(ds) -> str:
    first, last = float(ds.limit_error[0]), float(ds.limit_error[-1])
    steps = ", ".join(f"{int(v)}" for v in ds.steps.values)
    return f"""Grokking. A network of {ds.attrs["width"]} neurons trained on 16 points of a teacher with 2 neurons (4
    dimensions, square loss, weight decay). a: with decay {float(ds.decay[-1]):g} the training loss (ink) is fitted
    early and then stays at the size of decay squared, while the test error (blue, relative, on 4000 fresh inputs) falls
    long afterwards. b: in tau = decay t the test errors tend to one curve as the decay shrinks, the limit decay -> 0
    (amber), in which the weights move along the networks that fit, theta' = J' nu - theta with K nu = 2y. It falls from
    {first:.3g} to {last:.2g}, through {int(ds.limit_events)} events with {int(ds.limit_slides)} slides, and takes
    {int(ds.limit_steps)} steps whatever the decay; the runs took {steps}. c: |theta|^2 falls from
    {float(ds.start_norm):.5g} to {float(ds.limit_norm[-1]):.5g}; the least norm of any network that fits is
    {float(ds.least):.5g} (certified)."""
