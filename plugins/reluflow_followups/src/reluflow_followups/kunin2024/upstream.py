"""Beyond [KRD+24]: exact counts of changed activations from downstream over balanced to upstream starts."""

from __future__ import annotations

import numpy as np

import reluflow as rf

SETTINGS = {
    "quick": dict(width=60, seeds=10, log_size=-1.0, ratios=[-6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6], rtol=1e-8),
    "full": dict(
        width=200, seeds=40, log_size=-1.0, ratios=[-8, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 8], rtol=1e-8
    ),
}
RATES, STEPS, UNTIL = (4.0, 0.075), (4e-3, 2e-3, 1e-3, 5e-4), 2.0
START = (
    2  # the seed compared with descent: one whose flow is unique (from seed 0 a neuron meets a fork, and descent and
)
#            the regular solution take different branches)


def compute(*, width, seeds, log_size, ratios, rtol):
    import xarray as xr

    from reluflow_followups.kunin2024 import _rates as of

    data = rf.data.five_points()
    names = ("changed", "crossings", "half", "loss", "drift")
    found = {name: np.full((len(ratios), seeds), np.nan) for name in names}
    for k, seed in np.ndindex(len(ratios), seeds):
        problem = rf.Problem(data, _start(width, log_size, ratios[k], seed))
        sol = rf.papers.solve(problem, rf.Flow(rtol=rtol))
        before, after = sol.bits_at(0.0), sol.bits_at(sol.t_end)
        report = rf.check("kunin2024.conserved", sol)
        row = (
            np.mean(before != after),
            (len(sol.events["on"].t) + len(sol.events["off"].t)) / before.size,
            _half(sol),
            float(sol.loss[-1]),
            report.claims[0].measured,
        )
        for name, value in zip(names, row, strict=True):
            found[name][k, seed] = value
    problem = rf.Problem(data, _start(60, -1.0, 0, START))
    flow = rf.papers.solve(of.rescaled(problem, *RATES), rf.Flow(rtol=1e-10), t1=UNTIL)
    gap = [float(np.max(np.abs(of.two_rates(problem, *RATES, step, UNTIL) - flow.outputs_at(UNTIL)))) for step in STEPS]
    arrays = {name: (("ratio", "seed"), values) for name, values in found.items()}
    arrays |= {"gap": ("step", gap), "forks": flow.stats.non_unique}
    coords = {"ratio": ratios, "seed": np.arange(seeds), "step": list(STEPS)}
    return xr.Dataset(arrays, coords=coords, attrs=dict(rtol=float(rtol), width=int(width), log_size=float(log_size)))


def _start(width, log_size, ratio, seed):
    """Normal w and a of sizes e^(log_size -+ ratio/2): the product of the scales stays."""
    return rf.init.gaussian(width, 2, log_scale=log_size - ratio / 2, log_scale_a=log_size + ratio / 2, seed=seed)


def _half(sol) -> float:
    """When the loss is half of what it was: it falls, so between two frames, then by bisection on the run itself."""
    frame = int(np.argmax(sol.loss <= sol.loss[0] / 2))
    low, high = float(sol.t[frame - 1]), float(sol.t[frame])
    while high - low > 1e-6 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if sol.loss_at(middle) > sol.loss[0] / 2 else (low, middle)
    return high


def facts(ds) -> list[rf.Claim]:
    """All fit; only starts that are not far downstream change activations; speed and features are different things."""
    tol = 100 * ds.attrs["rtol"] * 2
    mean, half = ds.changed.mean("seed"), ds.half.median("seed")
    up, down = ds.ratio >= 2, ds.ratio <= -2
    order = np.polyfit(np.log(ds.step), np.log(ds.gap), 1)[0]
    return [
        rf.Claim("loss at the end, largest", float(ds.loss.max()), "<=", tol**2),
        rf.Claim("change of a^2 - |w|^2 along a run, largest, relative", float(ds.drift.max()), "<=", 4 * tol),
        rf.Claim("activations changed from the most downstream starts, share", float(mean[0]), "<=", 2e-3),
        rf.Claim(
            "the same upstream (q >= 2), least, over downstream (q <= -2), largest",
            float(mean.where(up).min() / mean.where(down).max()),
            ">",
            2.0,
        ),
        rf.Claim(
            "steps of q at which the share falls, up to q = 2",
            int((mean.where(ds.ratio <= 2, drop=True).diff("ratio") < 0).sum()),
            "=",
            0,
        ),
        rf.Claim(
            "median time to half the loss, balanced over the faster of the two ends",
            float(half.sel(ratio=0) / max(half[0], half[-1])),
            ">",
            10.0,
        ),
        rf.Claim(
            "order in the step at which two-rate descent approaches the rescaled flow",
            float(order),
            "=",
            1.0,
            slack=0.3,
        ),
        rf.Claim("non-unique events of that flow", int(ds.forks), "=", 0),
        rf.Claim("its distance at the smallest step", float(ds.gap[-1]), "<", 1e-3),
    ]


def draw(ds):
    from matplotlib.ticker import LogLocator

    from reluflow.plot import look

    fig = look.figure(look.PAGE, 2.5)
    one, two, three = fig.subplots(1, 3, width_ratios=[1.1, 1.1, 0.8])
    one.plot(ds.ratio, ds.changed, color=look.FAINT, lw=0.4, alpha=0.6)
    one.plot(ds.ratio, ds.changed.mean("seed"), "o-", color=look.PLUS, ms=3.5)
    one.set(ylabel="share of activations changed", ylim=(0, None))
    look.letter(one, "a", "features move upstream")
    two.plot(ds.ratio, ds.half, color=look.FAINT, lw=0.4, alpha=0.6)
    two.plot(ds.ratio, ds.half.median("seed"), "o-", color=look.INK, ms=3.5)
    two.set(ylabel="time to half the loss", yscale="log")
    look.letter(two, "b", "balanced is slow")
    for ax in (one, two):
        ax.axvline(0, color=look.FAINT, lw=0.6, ls=":")
        ax.set(xlabel="q = log |a| / |w|")
        ax.set_xticks(range(-6, 7, 2))
    three.loglog(ds.step, ds.gap, "o-", color=look.INK, ms=3.5)
    three.loglog(ds.step, float(ds.gap[-1]) * ds.step / float(ds.step[-1]), color=look.THEORY, lw=0.9, ls="--")
    look.beside(
        three, float(ds.step[1]), float(ds.gap[-1] * ds.step[1] / ds.step[-1]), "order 1", look.THEORY, dx=4, dy=-9
    )
    three.set(xlabel="step", ylabel="outputs apart")
    three.set_xticks([5e-4, 1e-3, 2e-3, 4e-3], ["5e-4", "1e-3", "2e-3", "4e-3"])
    three.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    three.yaxis.set_major_formatter(lambda v, _: f"{v:.0e}".replace("e-0", "e-"))
    three.minorticks_off()
    look.letter(three, "c", "two rates, one flow")
    return fig


def caption(ds) -> str:
    mean, half = ds.changed.mean("seed"), ds.half.median("seed")
    h_w, h_a = RATES
    return f"""Five points, {ds.attrs["width"]} neurons, {ds.sizes["seed"]} starts for each ratio q of the layers'
    scales with the same product, every run followed until it fits. a: the share of neuron-datum pairs whose
    activation at the end is not that at the start: {float(mean[0]):.1%} for |a| far below |w| (downstream, lazy),
    {float(mean.sel(ratio=0)):.1%} when balanced, {float(mean.sel(ratio=2)):.1%} at q = 2 (upstream). b: the time to
    half the loss is longest for balanced layers, {float(half.sel(ratio=0)):.2g}, and short at both ends: fast and
    lazy on the left, fast and rich on the right. c: learning rates {h_w:g} and {h_a:g} for the two layers are the
    plain flow of rescaled inputs and weights: descent with two rates approaches it with its step."""
