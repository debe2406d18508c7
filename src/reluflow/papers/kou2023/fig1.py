"""Figure 1 of [KCG23]: ten nearly orthogonal points, stable rank and training loss for several leaky slopes."""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.papers.kou2023._draw import band, log_axis, power
from reluflow.papers.kou2023._setting import setting
from reluflow.papers.kou2023._start import gaussian_rank
from reluflow.plot import look

ALL = dict(slopes=[0.0, 0.1, 0.5, 1.0], scales=[1e-5, 1e-3, 1e-2, 0.036], width=100, seeds=5, epochs=50, step=0.1)
SETTINGS = {"quick": ALL, "full": ALL}
REPLICA = {  # the handbook's values at the end, and the unit of their last digit
    ("stable_rank", 1e-5, 0.0): (1.12, 0.01),
    ("stable_rank", 1e-5, 0.1): (1.006, 0.001),
    ("stable_rank", 1e-3, 0.1): (1.14, 0.01),
    ("stable_rank", 1e-2, 0.0): (16.0, 1.0),
    ("stable_rank", 1e-2, 1.0): (7.0, 0.1),
    ("stable_rank", 0.036, 0.5): (45.0, 1.0),
    ("stacked_rank", 1e-5, 0.0): (1.91, 0.01),
    ("stacked_rank", 1e-5, 0.1): (1.49, 0.01),
    ("stacked_rank", 1e-2, 0.5): (8.4, 0.1),
    ("loss", 1e-5, 1.0): (0.133, 0.001),
}
STATED = {
    "paper": ("SR falls faster", "SR ends lower"),
    "handbook": ("SR(W_j) at epoch 50", "SR of the stacked W at epoch 50", "training loss at epoch 50"),
}


def compute(*, slopes, scales, width, seeds, epochs, step):
    """A run has its own centre, data and weights, the same for every slope; scales stretch the same weights."""
    import xarray as xr

    from reluflow.many import p1_problem

    count = np.array([k for k in range(epochs + 1) if k <= 10 or k % 4 == 2 or k == epochs])
    method = rf.Descent(step, fast_forward=False)
    shape = (len(slopes), len(scales), seeds, len(count))
    class_rank, whole_rank, loss, kappa = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(seeds)
    for run in range(seeds):
        data = rf.data.gaussian_mixture(seed=run)
        for i, slope in enumerate(slopes):
            for k, scale in enumerate(scales):
                problem = p1_problem(data, width, scale, run, slope)
                # A batch of 64 is larger than n = 10: an epoch is one step on all data.
                sol = solve(problem, method, t1=epochs * step, save=rf.Save(times=tuple(count * step)))
                w = sol.w * np.exp(sol.log_scale - sol.log_scale.max(axis=1, keepdims=True))[..., None]
                class_rank[i, k, run], whole_rank[i, k, run] = ranks(w, width)
                loss[i, k, run] = sol.loss
        kappa[run] = setting(problem).kappa
    dims = ("slope", "scale", "run", "epoch")
    return xr.Dataset(
        {
            "stable_rank": (dims, class_rank),
            "stacked_rank": (dims, whole_rank),
            "loss": (dims, loss),
            "kappa": ("run", kappa),
        },
        coords={"slope": slopes, "scale": scales, "run": np.arange(seeds), "epoch": count},
        attrs={"width": width, "dim": data.d, "points": data.n},
    )


def ranks(w: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Stable ranks of W_+ (the first m rows) and of all rows, (frames,)."""
    gram = w @ np.swapaxes(w, 1, 2)
    plus, whole = (np.array([np.trace(g) / _top(g) for g in part]) for part in (gram[:, :m, :m], gram))
    return plus, whole


def _top(gram: np.ndarray) -> float:
    from scipy.linalg import eigvalsh

    last = len(gram) - 1
    return float(eigvalsh(gram, subset_by_index=[last, last])[0])


def facts(ds) -> list[Claim]:
    """Text: "the stable rank will decrease faster for larger slopes and have a smaller value". Handbook: the start is
    that of a Gaussian matrix (slack: four standard errors), the ordering holds for every scale, leaky ranks tend to 1
    when the scale is small, and kappa = O(1): no theorem applies.

    Ranks that are all near 1 (scale 1e-5) are still ordered in SR - 1.
    """
    mean = ds.mean("run")
    runs, last = ds.sizes["run"], int(ds.epoch[-1])
    found = []
    for name, rows in (("stable_rank", ds.attrs["width"]), ("stacked_rank", 2 * ds.attrs["width"])):
        start = ds[name].isel(slope=0, scale=0, epoch=0).mean()
        about, spread = gaussian_rank(rows, ds.attrs["dim"])
        what = "SR(W_j)" if name == "stable_rank" else "SR of the stacked W"
        slack = 4.0 * spread / np.sqrt(runs)
        found.append(Claim(f"{what} at the start: a Gaussian matrix", start, "=", about, slack=slack))
    rank = mean.stable_rank
    early = int(ds.epoch[ds.epoch <= 10][-1])
    begun = (rank.sel(epoch=early).isel(slope=-1) < 0.9 * rank.isel(epoch=0, slope=-1)).values
    which = f"{int(np.sum(begun))} of {len(begun)} scales, where the fall has begun"
    for what, when, of, where in (
        ("falls faster", early, begun, which),
        ("ends lower", last, begun | True, "all scales"),
    ):
        excess = rank.sel(epoch=when, scale=of).transpose("slope", "scale").values - 1.0
        least = np.min(1.0 - excess[1:] / excess[:-1]) if np.any(of) else np.nan
        text = f"SR {what} with a larger slope: least relative drop of SR - 1 to the next slope, epoch {when}, {where}"
        found.append(Claim(text, least, ">", 0.0))
    small = ds.stable_rank.isel(scale=0)
    left = (small.isel(epoch=-1) - 1.0) / (small.isel(epoch=0) - 1.0)
    text = f"leaky, scale {float(ds.scale[0]):g}: SR(W_j) tends to 1; share of SR - 1 left, largest of all runs"
    found.append(Claim(text, left.sel(slope=ds.slope > 0).max(), "<=", 0.01, kind="limit"))
    drop = float(np.max(np.diff(mean.loss.sel(epoch=last), axis=0)))
    found.append(Claim("loss at the end falls with the slope: largest step to the next slope", drop, "<", 0.0))
    text = "kappa = np/R_min^2, mean: not small, the theorems' hypotheses fail"
    found.append(Claim(text, ds.kappa.mean(), ">=", 0.5))
    if runs >= 4 and last == 50:  # fewer do not tell their own spread
        there = [k for k in REPLICA if k[1] in ds.scale.values and k[2] in ds.slope.values]
        found += [_replica(ds, *k) for k in there]
    return found


def _replica(ds, name: str, scale: float, slope: float) -> Claim:
    """The handbook's 3 runs. Slack: half a unit of the last digit, three standard errors of a difference of means."""
    target, unit = REPLICA[name, scale, slope]
    values = ds[name].sel(scale=scale, slope=slope).isel(epoch=-1)
    spread = float(np.std(values, ddof=1)) * np.sqrt(1.0 / len(values) + 1.0 / 3.0)
    what = {"stable_rank": "SR(W_j)", "stacked_rank": "SR of the stacked W", "loss": "training loss"}[name]
    text = f"{what} at epoch 50, scale {scale:g}, slope {slope:g} (handbook: 3 runs)"
    return Claim(text, values.mean(), "=", target, slack=3.0 * spread + 0.5 * unit)


def draw(ds):
    fig = look.figure(look.PAGE, 3.6)
    axes = fig.subplots(2, ds.sizes["scale"], sharex=True, sharey="row")
    colours = [look.PLUS, *look.sequence(ds.sizes["slope"] + 1)[2:]]  # ReLU stands apart
    for k, (top, low) in enumerate(axes.T):
        for i, colour in enumerate(colours):
            band(top, ds.epoch, ds.stable_rank[i, k], colour, least=1.0)
            band(low, ds.epoch, ds.loss[i, k], colour)
        look.letter(top, "abcdefgh"[k], f"σ₀ = {power(float(ds.scale[k]))}")
        low.set_xlabel("epoch")
    log_axis(axes[0, 0], (0.85, 90), (1, 2, 5, 10, 20, 50))
    axes[0, 0].set_ylabel("stable rank of W₊")
    axes[1, 0].set(ylabel="training loss", ylim=(0.0, 0.75), xlim=(0, float(ds.epoch[-1])))
    for i, colour in enumerate(colours):
        slope = float(ds.slope[i])
        name = {0.0: "γ = 0 (ReLU)", 1.0: "γ = 1 (linear)"}.get(slope, f"γ = {slope:g}")
        axes[0, 0].text(
            0.97, 0.93 - 0.12 * i, name, color=colour, fontsize=7, ha="right", transform=axes[0, 0].transAxes
        )
    return fig


def caption(ds) -> str:
    ends = ds.stable_rank.mean("run").isel(epoch=-1)
    whole = ds.stacked_rank.mean("run").isel(epoch=-1)
    parts = [f"{s:g}: {', '.join(f'{float(v):.3g}' for v in ends.sel(scale=s))}" for s in ds.scale.values]
    kappa = float(ds.kappa.mean())
    return f"""{ds.attrs["points"]} points x = y mu + xi in R^{ds.attrs["dim"]}, with kappa = {kappa:.2f}, so that no
    theorem applies; m = {ds.attrs["width"]} neurons of each sign, step 0.1; a batch of 64 is all data, an
    epoch is one step. Means of {ds.sizes["run"]} runs, bands +-3 standard deviations. The larger the slope, the faster
    the stable rank falls and the lower it ends, at every initial scale; how far it falls is decided by the scale, which
    the paper does not state: here four of them (0.036 = 1/sqrt(784)). SR(W_+) at the end for slopes
    {", ".join(f"{float(g):g}" for g in ds.slope.values)}, by scale: {"; ".join(parts)}. The stacked matrix has a limit
    of rank two and ends higher ({float(whole[0, 0]):.2f} for ReLU at 1e-5)."""
