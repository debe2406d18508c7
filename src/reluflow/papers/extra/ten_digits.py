r"""Ten digits by the flow itself: the ten-class protocol of [KCG23] and its limit as the step goes to 0.

Protocol P2 of Figures 2 to 5: f = A s(W x) with ten outputs, both layers trained, softmax cross-entropy, weights N(0,
std^2), pixels in [0, 1]. The paper trains by batches of 64 with step 0.1. Here a few images are trained on as full
batches, at that step and smaller ones, beside the exact gradient flow, whose crossings and slides are located. Descent
differs from the flow by a multiple of its step, and the stable rank |W|_F^2/|W|_2^2 falls alike in both.
"""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.plot import look

REQUIRES = ("mnist",)
STEPS = [0.1, 0.05, 0.025, 0.0125]
SETTINGS = {
    "quick": dict(images=30, width=10, std=1e-3, seed=0, t1=40.0, steps=STEPS, rtol=1e-6, points=200),
    "full": dict(images=60, width=20, std=1e-3, seed=0, t1=60.0, steps=STEPS, rtol=1e-6, points=400),
}
SHOWN = 0  # the step drawn beside the flow: the paper's


def compute(*, images, width, std, seed, t1, steps, rtol, points):
    import xarray as xr

    from reluflow.many import p2_problem

    problem = p2_problem(rf.data.mnist(digits="all", size=images, seed=seed), width, std, seed)
    t = np.linspace(0.0, t1, points)
    flow, coarse = solve(problem, rf.Flow(rtol), t1=t1), solve(problem, rf.Flow(100 * rtol), t1=t1)
    f = flow.outputs_at(t)
    size = np.maximum(1.0, np.abs(f))
    rows: dict[str, list] = {"loss": [], "rank": [], "gap": [], "error": []}
    for step in steps:
        run = solve(problem, rf.Descent(step), t1=t1)
        g = run.outputs_at(t)
        rows["loss"].append(run.loss_at(t))
        rows["rank"].append(rf.observe.stable_rank(run, t=t).values)
        rows["gap"].append(np.max(np.abs(g - f), axis=(1, 2)))
        rows["error"].append(1.0 - run.accuracy())
    dims = {"error": ("step",)}
    found: dict = {name: (dims.get(name, ("step", "t")), np.array(v)) for name, v in rows.items()}
    found |= {
        "flow_loss": ("t", flow.loss_at(t)),
        "flow_rank": ("t", rf.observe.stable_rank(flow, t=t).values),
        "flow_error": 1.0 - flow.accuracy(),
        "coarse": float(np.max(np.abs(coarse.outputs_at(t) - f) / size)),
        "events": flow.stats.events,
        "slides": flow.stats.slides,
        "rtol": rtol,
        "images": images,
        "width": width,
        "std": std,
    }
    return xr.Dataset(found, coords={"step": steps, "t": t})


def facts(ds) -> list[Claim]:
    """The order of descent is a fitted slope of the largest difference over the smaller steps; differences of the
    second order in the largest of them leave it 0.15."""
    gap = ds.gap.values.max(axis=1)
    small = slice(-3, None)
    order = float(np.polyfit(np.log(ds.step.values[small]), np.log(gap[small]), 1)[0])
    ranks = np.abs(ds["rank"].values[:, -1] / float(ds.flow_rank[-1]) - 1.0)
    return [
        Claim("flow at 100 times the tolerance, largest difference of outputs", float(ds.coarse), "<=", 0.0,
              slack=100 * 100 * float(ds.rtol)),
        Claim("order of descent in its step", order, "=", 1.0, slack=0.15),
        Claim("stable rank at the end, smallest step against the flow", float(ranks[-1]), "<=", float(ranks[0])),
        Claim("stable rank of the flow, end over start", float(ds.flow_rank[-1] / ds.flow_rank[0]), "<", 1.0),
        Claim("loss where the stable rank is lowest, over its start", _lowest(ds), ">=", 0.8),
        Claim("images that the flow or a descent gets wrong, share", max(float(ds.flow_error), float(ds.error.max())),
              "=", 0.0),
    ]  # fmt: skip


def _lowest(ds) -> float:
    return float(ds.flow_loss[int(np.argmin(ds.flow_rank.values))] / ds.flow_loss[0])


def draw(ds):
    fig = look.figure(look.PAGE, 2.5)
    left, middle, right = fig.subplots(1, 3)
    t, step = ds.t.values, float(ds.step[SHOWN])
    for ax, of_flow, of_descent in ((left, ds.flow_loss, ds.loss), (middle, ds.flow_rank, ds["rank"])):
        ax.plot(t, of_flow, color=look.THEORY, lw=3.2, label="gradient flow")
        ax.plot(t, of_descent[SHOWN], color=look.INK, lw=1.0, label=f"descent, step {step:g}")
        ax.set(xlabel="t", xlim=(0, t[-1]))
    left.set(yscale="log", ylabel="loss")
    left.legend(loc="lower left")
    middle.set(ylabel="stable rank of W", ylim=(1, None))
    look.letter(left, "a", "ten classes, one network")
    look.letter(middle, "b", "the rank falls alike")
    gap = ds.gap.values.max(axis=1)
    right.loglog(ds.step, gap, "o-", color=look.MINUS, ms=4)
    right.loglog(ds.step, gap[-1] * ds.step / ds.step[-1], ":", color=look.FAINT)
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

    right.xaxis.set_major_locator(FixedLocator(ds.step.values))
    right.xaxis.set_major_formatter(lambda v, _: f"{v:g}")
    right.xaxis.set_minor_locator(NullLocator())
    right.yaxis.set_minor_formatter(NullFormatter())
    look.beside(right, float(ds.step[1]), float(gap[-1] * ds.step[1] / ds.step[-1]), "order 1", look.FAINT, dx=4, dy=-9)
    right.set(xlabel="step of descent", ylabel="largest difference of an output")
    look.letter(right, "c", "descent tends to the flow")
    return fig


def caption(ds) -> str:
    gap = ds.gap.values.max(axis=1)
    low, end = float(ds.flow_rank.min()), float(ds.flow_rank[-1])
    return f"""Protocol P2 of Kou, Chen and Gu on {int(ds.images)} MNIST images ({int(ds.width)} neurons, ten outputs,
    std {float(ds["std"]):g}, softmax loss, full batches). (a) The loss of the exact gradient flow (gold,
    {int(ds.events)} events of which {int(ds.slides)} slides located) and of descent with the paper's step
    {float(ds.step[SHOWN]):g}. (b) The stable rank of the first layer, {float(ds.flow_rank[0]):.2f} at the start, as low
    as {low:.2f} before the loss falls, and {end:.2f} at the end. (c) The largest difference of an output between
    descent and the flow over all images, classes and times: {gap[0]:.2g} at step {float(ds.step[0]):g}, {gap[-1]:.2g}
    at {float(ds.step[-1]):g}, of first order. To cite: in the ten-class protocol the stable rank falls nearly to 1
    while neurons align, before the loss moves, and the flow itself does this: it is no effect of the step."""
