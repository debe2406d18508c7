"""Beyond [BF25b]: with more samples the flow stops interpolating, established by convergence, and learns
the teacher."""

from __future__ import annotations

import numpy as np

import reluflow as rf

SETTINGS = {
    "quick": dict(samples=[4, 6, 8, 12, 24, 48, 96], seeds=4, width=100, log_scale=-25.0, rtol=1e-8),
    "full": dict(samples=[4, 6, 8, 12, 16, 24, 32, 48, 96, 192], seeds=10, width=100, log_scale=-25.0, rtol=1e-8),
}
FITTED = 1e-10  # a loss below this, relative to that of the best linear function, is 0 up to the tolerance squared


def compute(*, samples, seeds, width, log_scale, rtol):
    import xarray as xr

    from reluflow_followups.boursier2025threshold import _setting as of

    names = ("loss", "linear", "halves", "excess", "linear_excess", "groups", "rest")
    found = {name: np.full((len(samples), seeds), np.nan) for name in names}
    for k, seed in np.ndindex(len(samples), seeds):
        data = of.data(samples[k], seed)
        init = rf.init.balanced(width, of.DIM, log_scale=log_scale, seed=seed)
        sol = rf.papers.solve(rf.Problem(data, init), rf.Flow(rtol=rtol), t1=1e7)
        groups = rf.observe.merged(sol, angle=1e-3, share=1e-6)
        side = data.x[:, 0] > 0
        beta = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
        halves = sum(of.least_squares(data.x[s], data.y[s]) for s in (side, ~side))
        neurons = np.array([g.size * g.direction for g in groups])
        row = (
            float(sol.loss[-1]),
            of.least_squares(data.x, data.y) / data.n,
            halves / data.n,
            of.excess(neurons, np.array([g.sign for g in groups])),
            float(np.sum((beta - np.eye(of.DIM)[0]) ** 2)),
            len(groups),
            float(sol.outcome is rf.Outcome.STATIONARY),
        )
        for name, value in zip(names, row, strict=True):
            found[name][k, seed] = value
    arrays = {name: (("samples", "seed"), values) for name, values in found.items()}
    attrs = dict(rtol=float(rtol), log_scale=float(log_scale), width=int(width))
    return xr.Dataset(arrays, coords={"samples": samples, "seed": np.arange(seeds)}, attrs=attrs)


def facts(ds) -> list[rf.Claim]:
    """Interpolation at few samples only; where it stops, the run has converged; two directions and the teacher."""
    ratio = (ds.loss / ds.linear).where(ds.linear > 1e-12)
    stuck = ds.loss > FITTED
    last = ds.isel(samples=-1)
    few = ds.samples <= 8
    return [
        rf.Claim("loss over that of the best linear function, largest", float(ratio.max()), "<=", 1.0, slack=1e-6),
        rf.Claim("runs with loss above 0 that have converged, share", float(ds.rest.where(stuck).mean()), "=", 1.0),
        rf.Claim(
            "runs that interpolate up to 8 samples, share", float((~stuck).where(few, drop=True).mean()), ">", 0.0
        ),
        rf.Claim(
            "runs that interpolate from 24 samples on", int((~stuck).where(ds.samples >= 24, drop=True).sum()), "=", 0
        ),
        rf.Claim("directions at the largest sample, most", int(last.groups.max()), "<=", 3),
        rf.Claim("the same, median", float(last.groups.median()), "=", 2.0),
        rf.Claim(
            "loss against least squares on the teacher's two half spaces at the largest sample, farthest, relative",
            float(np.abs(last.loss / last.halves - 1).max()),
            "<=",
            1 / float(last.samples),
        ),
        rf.Claim(
            "median excess error at the largest sample over that at 12",
            float(last.excess.median() / ds.excess.sel(samples=12).median()),
            "<",
            0.2,
        ),
    ]


def draw(ds):
    from reluflow.plot import look

    fig = look.figure(look.PAGE, 2.5)
    one, two, three = fig.subplots(1, 3)
    n = ds.samples.values
    ratio = (ds.loss / ds.linear).where(ds.samples > 3)
    shift = np.exp(np.linspace(-0.06, 0.06, ds.sizes["seed"]))
    for k in range(ds.sizes["seed"]):
        two.plot(n * shift[k], ds.excess[:, k], "o", color=look.INK, ms=3, alpha=0.55, mew=0)
        three.plot(n * shift[k], ds.groups[:, k], "o", color=look.INK, ms=3, alpha=0.55, mew=0)
        one.plot(n * shift[k], ratio[:, k], "o", color=look.INK, ms=3, alpha=0.55, mew=0)
    one.plot(n, (ds.halves / ds.linear).median("seed"), color=look.THEORY)
    one.axhline(1, color=look.FAINT, lw=0.8, ls=":")
    look.beside(one, n[-1], 1.0, "best linear function", look.FAINT, dx=0, dy=6, ha="right")
    at = len(n) // 2
    look.beside(
        one, n[at], float((ds.halves / ds.linear).median("seed")[at]), "two half spaces", look.THEORY, dx=6, dy=-9
    )
    one.set(ylabel="loss at the end / linear", ylim=(-0.05, 1.12))
    look.letter(one, "a", "interpolation stops")
    two.plot(n, ds.linear_excess.median("seed"), color=look.FAINT)
    middle = len(n) // 2
    look.beside(
        two, n[middle], float(ds.linear_excess.median("seed")[middle]), "linear", look.FAINT, dx=-2, dy=-12, ha="right"
    )
    two.set(yscale="log", ylabel="excess error")
    look.letter(two, "b", "and learning begins")
    three.set(ylabel="directions", ylim=(0, float(ds.groups.max()) + 0.6))
    three.axhline(2, color=look.THEORY, lw=1.0)
    look.letter(three, "c", "neurons in groups")
    for ax in (one, two, three):
        ax.set(xscale="log", xlabel="samples")
        ax.set_xticks([v for v in n if v in (4, 12, 48, 192) or v == n[-1]])
        ax.get_xaxis().set_major_formatter("{x:g}")
        ax.minorticks_off()
    return fig


def caption(ds) -> str:
    stuck = (ds.loss > FITTED).mean("seed")
    first = int(ds.samples.values[np.argmax(stuck.values > 0.5)])
    return f"""Labels y = x_1 + noise in three dimensions, {ds.attrs["width"]} neurons from
    e^{ds.attrs["log_scale"]:g}, every run followed until it converges; each dot is one draw. a: the loss at the end,
    relative to that of the best linear function. From about {first} samples on most runs end at a loss above 0
    although the network could fit them; as the sample grows it tends to least squares on each half space of the
    teacher (amber), two linear functions. b: the error against the teacher over Gaussian inputs, in closed form,
    falls with the failure to interpolate, to that of least squares (grey). c: the number of different directions:
    two in the end, one for each side of the teacher. Descent with a fixed step cannot tell "does not interpolate"
    from "not yet"; here rest is established."""
