r"""Norms and directions of neurons over training, as Figures 12 and 13 of [MMV24] show them.

    norm change = sum_j d|w_j|^2/dt = sum_j 2 <-g_j, w_j>,    direction change = sum_j |P_{w_j} g_j| / |w_j|

with the full gradient g_j = grad_{w_j} L of the mean exponential loss, while training by SGD (step 2e-3).
"""

import numpy as np

import reluflow as rf
from reluflow import observe
from reluflow.papers._figures import solve
from reluflow.papers.min2024._mnist import ALL, STEP, digits
from reluflow.plot import look


def run(*, pair, images, width, sigma, seed, batch, last, every, train, dtype):
    import xarray as xr

    data = digits(pair, images, seed)
    if train == "both":
        init = rf.init.gaussian(width, data.d, log_scale=float(np.log(sigma)), seed=seed)
    else:
        rng = np.random.default_rng(seed)
        w = rng.normal(size=(width, data.d))
        signs = rng.choice([-1.0, 1.0], size=width)
        init = rf.Params(w, signs, log_scale=float(np.log(sigma)), log_scale_a=0.0)
    problem = rf.Problem(data, init, loss="exponential", reduction="mean", train=train)
    count = np.unique(np.r_[np.arange(0, last + 1, every), last])
    method = rf.Descent(step=STEP, batch=batch, seed=seed, dtype=dtype)
    sol = solve(problem, method, t1=last * STEP, save=rf.Save(times=tuple(count * STEP)))
    found = {
        "loss": ("iteration", sol.loss),
        "norm_change": ("iteration", observe.norm_change(sol).sum("neuron").values),
        "direction_change": ("iteration", observe.direction_rate(sol).sum("neuron").values),
    }
    note = "" if data.n == ALL["10"] else f"quick: {data.n} of {ALL['10']:,} images, batches of {batch}"
    attrs = {"note": note, "epoch": int(-(-data.n // batch)), "images": data.n, "batch": int(batch)}
    return xr.Dataset(found, coords={"iteration": count}, attrs=attrs)


def half(ds) -> float:
    """The iteration at which half of the loss is gone."""
    loss, count = ds.loss.values, ds.iteration.values
    k = int(np.argmax(loss < 0.5))
    return float(np.interp(-0.5, -loss[k - 1 : k + 1], count[k - 1 : k + 1])) if k else np.nan


def start(ds) -> float:
    """The iteration at which norms start: they change by 1 % of their fastest."""
    quiet = ds.norm_change.values < 0.01 * float(ds.norm_change.max())
    return float(ds.iteration[int(np.argmin(quiet))]) if not quiet.all() else np.nan


def silent_epochs(ds) -> float:
    """How many epochs pass before norms start."""
    return start(ds) / ds.attrs["epoch"]


def draw(ds):
    fig = look.figure(look.PAGE, 2.1)
    axes = fig.subplots(1, 3)
    epochs = ds.iteration / ds.attrs["epoch"]
    rows = (
        (ds.loss, "loss", look.INK, "a"),
        (ds.norm_change, "change of norms, d|W|²/dt", look.GREEN, "b"),
        (ds.direction_change, "change of directions", look.PURPLE, "c"),
    )
    at = half(ds) / ds.attrs["epoch"]
    for ax, (values, name, colour, letter) in zip(axes, rows, strict=True):
        ax.plot(epochs, values, color=colour)
        ax.axvline(at, color=look.FAINT, lw=0.6, ls=":")
        look.letter(ax, letter, name)
        ax.set(xlabel="epoch", xlim=(0, float(epochs[-1])), ylim=(0, None))
    look.beside(axes[0], at, 0.9, "half of it gone", look.FAINT, dx=3, fontsize=6.5)
    return fig
