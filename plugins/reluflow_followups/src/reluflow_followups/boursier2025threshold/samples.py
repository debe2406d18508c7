"""Beyond [BF25b]: with more samples the flow stops interpolating, established by convergence, and learns
the teacher."""

from __future__ import annotations

import numpy as np

import reluflow as rf

SETTINGS = {
    "quick": dict(samples=[4, 6, 8, 12, 24, 48, 96], seeds=4, gap=0.3, width=100, log_scale=-25.0, rtol=1e-8),
    "full": dict(
        samples=[4, 6, 8, 12, 16, 24, 32, 48, 96, 192], seeds=10, gap=0.3, width=100, log_scale=-25.0, rtol=1e-8
    ),
}
FITTED = 1e-10  # a loss below this, relative to that of the best linear function, is 0 up to the tolerance squared
NAMES = ("loss", "linear", "halves", "own", "excess", "linear_excess", "patterns", "rest")


def compute(*, samples, seeds, gap, width, log_scale, rtol):
    import xarray as xr

    from reluflow_followups.boursier2025threshold import _setting as of

    def end(data, seed) -> tuple[float, ...]:
        init = rf.init.balanced(width, of.DIM, log_scale=log_scale, seed=seed)
        sol = rf.papers.solve(rf.Problem(data, init), rf.Flow(rtol=rtol), t1=1e7)
        groups = rf.observe.merged(sol, angle=1e-3, share=1e-6)
        patterns = of.patterns(sol.final.w[[j for g in groups for j in g.neurons]], data)
        neurons = np.array([g.size * g.direction for g in groups])
        beta = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
        return (
            float(sol.loss[-1]),
            of.least_squares(data.x, data.y) / data.n,
            of.halves(data),
            of.least_with(patterns, data),
            of.excess(neurons, np.array([g.sign for g in groups])),
            float(np.sum((beta - np.eye(of.DIM)[0]) ** 2)),
            len(patterns),
            float(sol.outcome is rf.Outcome.STATIONARY),
        )

    gaps = [0.0, gap]
    rows = [[[end(of.data(n, k, g), k) for k in range(seeds)] for n in samples] for g in gaps]
    found = np.moveaxis(np.array(rows), -1, 0)
    arrays = {name: (("gap", "samples", "seed"), values) for name, values in zip(NAMES, found, strict=True)}
    attrs = dict(rtol=float(rtol), log_scale=float(log_scale), width=int(width))
    return xr.Dataset(arrays, coords={"gap": gaps, "samples": samples, "seed": np.arange(seeds)}, attrs=attrs)


def facts(ds) -> list[rf.Claim]:
    """Interpolation at few samples only; where it stops, the run has converged; then two half spaces and the teacher.

    The end is exactly least squares on the teacher's half spaces once no input lies between the boundaries of the
    neurons and the teacher's. Normal inputs come arbitrarily close to it: neurons that align on different sides of
    such an input stay apart, and a draw of any size can end with more than two activation patterns. For them the
    fact is about the median, and its bound 1/n is what one more fitted parameter takes off the loss on average.
    """
    tol = 100 * ds.attrs["rtol"]
    stuck = ds.loss > FITTED
    normal, apart = ds.isel(gap=0, samples=-1), ds.isel(gap=1, samples=-1)
    few, many = ds.samples <= 8, ds.samples >= 24
    return [
        rf.Claim(
            "loss over that of the best linear function, largest",
            float((ds.loss / ds.linear).where(ds.linear > 1e-12).max()),
            "<=",
            1.0,
            slack=1e-6,
        ),
        rf.Claim("runs with loss above 0 that have converged, share", float(ds.rest.where(stuck).mean()), "=", 1.0),
        rf.Claim(
            "their loss against least squares with the activation patterns of their own end, farthest, relative",
            float(np.abs(ds.loss / ds.own - 1).where(stuck).max()),
            "=",
            0.0,
            slack=tol,
        ),
        rf.Claim("runs that interpolate up to 8 samples, share", float((~stuck).where(few, drop=True).mean()), ">", 0),
        rf.Claim("runs that interpolate from 24 samples on", int((~stuck).where(many, drop=True).sum()), "=", 0),
        rf.Claim(
            "largest sample, inputs away from the teacher's boundary: activation patterns, most",
            int(apart.patterns.max()),
            "=",
            2,
        ),
        rf.Claim(
            "the same: loss against least squares on the teacher's two half spaces, farthest, relative",
            _off(apart, "max"),
            "=",
            0.0,
            slack=tol,
        ),
        rf.Claim(
            "largest sample, normal inputs: activation patterns, median", float(normal.patterns.median()), "=", 2.0
        ),
        rf.Claim(
            "the same: loss against the two half spaces, median, relative",
            _off(normal, "median"),
            "<=",
            1 / float(normal.samples),
        ),
        rf.Claim(
            "the same: median excess error over that at 12 samples",
            float(normal.excess.median() / ds.excess.isel(gap=0).sel(samples=12).median()),
            "<",
            0.2,
        ),
    ]


def _off(ds, what: str) -> float:
    return float(getattr(np.abs(ds.loss / ds.halves - 1), what)())


def draw(ds):
    from reluflow.plot import look

    fig = look.figure(look.PAGE, 4.6)
    (one, two), (three, four) = fig.subplots(2, 2)
    n = ds.samples.values
    normal, apart = ds.isel(gap=0), ds.isel(gap=1)
    step = 0.09 / max(ds.sizes["seed"] - 1, 1)

    def dots(ax, values, colour, shift) -> None:
        for k in range(ds.sizes["seed"]):
            place = n * np.exp(shift + step * (k - 0.5 * (ds.sizes["seed"] - 1)))
            ax.plot(place, values.isel(seed=k), "o", color=colour, ms=3, alpha=0.55, mew=0)

    dots(one, (normal.loss / normal.linear).where(n[:, None] > 3), look.INK, 0.0)
    line = (normal.halves / normal.linear).median("seed")
    one.plot(n, line, color=look.THEORY)
    one.axhline(1, color=look.FAINT, lw=0.8, ls=":")
    look.beside(one, n[-1], 1.0, "best linear function", look.FAINT, dx=0, dy=6, ha="right")
    at = len(n) // 2
    look.beside(one, n[-1], 0.45, "two half spaces", look.THEORY, dx=0, ha="right")
    one.set(ylabel="loss at the end / linear", ylim=(-0.05, 1.12))
    look.letter(one, "a", "interpolation stops")
    dots(two, normal.excess, look.INK, 0.0)
    two.plot(n, normal.linear_excess.median("seed"), color=look.FAINT)
    look.beside(
        two, n[at], float(normal.linear_excess.median("seed")[at]), "linear", look.FAINT, dx=-2, dy=-12, ha="right"
    )
    two.set(yscale="log", ylabel="excess error")
    look.letter(two, "b", "and learning begins")
    for values, colour, shift in ((normal, look.INK, -0.06), (apart, look.PLUS, 0.06)):
        off = np.abs(values.loss / values.halves - 1).where(values.halves > 1e-12)
        dots(three, np.maximum(off, 1e-16), colour, shift)
        dots(four, values.patterns, colour, shift)
    three.plot(n, 1 / n, color=look.THEORY, lw=1.0)
    look.beside(three, n[-1], 1 / n[-1], "1/n", look.THEORY, dx=0, dy=7, ha="right")
    three.set(yscale="log", ylabel="|loss / two half spaces - 1|", ylim=(3e-17, 10))
    look.letter(three, "c", "exactly two linear functions")
    look.beside(three, n[0], 1e-7, "normal inputs", look.INK)
    near = np.degrees(np.arcsin(float(apart.gap)))
    look.beside(three, n[0], 1e-12, f"no input within {near:.0f}° of the boundary", look.PLUS)
    four.set(ylabel="activation patterns", ylim=(0, float(ds.patterns.max()) + 0.6))
    four.axhline(2, color=look.THEORY, lw=1.0)
    look.letter(four, "d", "two kinds of neurons, mostly")
    for ax in (one, two, three, four):
        ax.set(xscale="log", xlabel="samples", xlim=(n[0] / 1.3, n[-1] * 1.3))
        ax.set_xticks([v for v in n if v in (4, 12, 48, 192) or v == n[-1]])
        ax.get_xaxis().set_major_formatter("{x:g}")
        ax.minorticks_off()
    return fig


def caption(ds) -> str:
    stuck = (ds.loss.isel(gap=0) > FITTED).mean("seed")
    first = int(ds.samples.values[np.argmax(stuck.values > 0.5)])
    last = ds.isel(gap=0, samples=-1)
    more = int((last.patterns > 2).sum())
    near = np.degrees(np.arcsin(float(ds.gap[1])))
    return f"""Labels y = x_1 + noise in three dimensions, {ds.attrs["width"]} neurons from
    e^{ds.attrs["log_scale"]:g}, every run followed until it converges; each dot is one draw. a: the loss at the end,
    relative to that of the best linear function. From about {first} samples on most runs end at a loss above 0
    although the network could fit them; as the sample grows it tends to least squares on each half space of the
    teacher (amber), two linear functions. b: the error against the teacher over normal inputs, in closed form,
    falls with the failure to interpolate, to that of least squares (grey). c: how far the loss at the end is from that
    of the two half spaces. Where no input is within {near:.0f} degrees of the teacher's boundary (red) it is exactly
    that, in every draw from {_exact(ds)} samples on; normal inputs (ink) come arbitrarily close to the boundary,
    neurons on different sides of such an input stay apart, and {more} of {ds.sizes["seed"]} draws of
    {int(last.samples)} samples end with more than two activation patterns (d). Descent with a fixed step cannot tell
    "does not interpolate" from "not yet"; here rest is established: the loss at the end is that of least squares with
    the network's own activation patterns."""


def _exact(ds) -> int:
    """The sample from which every draw away from the boundary is the two half spaces, to the run's accuracy."""
    n, off = ds.samples.values, np.abs(ds.loss / ds.halves.where(ds.halves > 0) - 1).isel(gap=1).max("seed").values
    rough = np.flatnonzero(~(off <= 100 * ds.attrs["rtol"]))
    return int(n[min(rough[-1] + 1, len(n) - 1)] if len(rough) else n[0])
