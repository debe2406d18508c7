r"""Edge of stability on five points: descent with step eta ends where the sharpness is 2 / eta, the flow goes beyond.

Sharpness is the largest eigenvalue of the Hessian (`rf.observe.sharpness`). Along the flow it rises to its final value.
Descent follows until the sharpness reaches 2 / eta, where it would be unstable, and then stays around it while the loss
falls by ups and downs; if the flow's final sharpness is below 2 / eta, descent ends like the flow."""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.plot import look

SETTINGS = {
    "quick": dict(width=60, log_scale=-1.0, steps=[0.2, 0.4, 0.8, 1.2], t1=5000.0, moments=120, rtol=1e-8),
    "full": dict(width=60, log_scale=-1.0, steps=[0.2, 0.4, 0.8, 1.2], t1=5000.0, moments=400, rtol=1e-8),
}
SHARE = 0.05  # of 2 / step that the median may be off (regularised.md)


def compute(*, width, log_scale, steps, t1, moments, rtol):
    import xarray as xr

    start = rf.init.balanced(width, 2, log_scale - np.log(width) / 2, seed=0)
    problem = rf.Problem(rf.data.five_points(), start)
    t = np.unique(np.concatenate([np.linspace(0.0, t1, moments), np.geomspace(20.0, t1, moments // 2)]))
    flow = solve(problem, rf.Flow(rtol=rtol), t1=t1)
    early = np.unique(np.concatenate([np.geomspace(1.0, t1, moments), [t1]]))
    sharp = rf.observe.sharpness(flow, t=early, sides=True).sel(side="off").values
    found, loss, rises = np.empty((len(steps), len(t))), np.empty((len(steps), len(t))), np.empty(len(steps))
    for k, step in enumerate(steps):
        run = solve(problem, rf.Descent(step=step), t1=t1, save=rf.Save(frames=2000))
        found[k] = rf.observe.sharpness(run, t=t).values
        loss[k] = run.loss_at(t)
        late = run.loss[len(run.loss) // 2 :]
        rises[k] = float(np.mean(np.diff(late) > 1e-12 * late[:-1]))
    return xr.Dataset(
        {
            "flow": ("early", sharp),
            "flow_loss": ("early", flow.loss_at(early)),
            "sharpness": (("step", "t"), found),
            "loss": (("step", "t"), loss),
            "rises": ("step", rises),
        },
        coords=dict(t=t, early=early, step=steps),
        attrs={"width": width, "log_scale": log_scale, "rtol": rtol},
    )


def facts(ds) -> list[Claim]:
    """Medians over the last half of the run, to 5 %: single values reach 1.4 times 2 / step (regularised.md)."""
    end = float(ds.flow[-1])
    half = _medians(ds)
    found = [Claim("sharpness of the flow at the end over that at the start", end / float(ds.flow[0]), ">", 10.0)]
    for step in ds.step.values:
        median, edge = float(half.sel(step=step)), 2.0 / step
        if edge < end:
            text = f"step {step:g}: median sharpness over 2/step"
            found.append(Claim(text, median / edge, "=", 1.0, slack=SHARE))
        else:
            found.append(Claim(f"step {step:g}: descent ends below 2/step", median, "<", edge))
            text = f"step {step:g}: its sharpness is the flow's"
            found.append(Claim(text, median / end, "=", 1.0, slack=SHARE))
    return found


def _medians(ds):
    """Over the last half of the run, by step."""
    return ds.sharpness.where(ds.t >= 0.5 * ds.t[-1]).median("t")


def draw(ds):
    fig = look.figure(look.PAGE, 2.5)
    one, two = fig.subplots(1, 2, width_ratios=[1.35, 1])
    colours = (look.FAINT, look.PURPLE, look.MINUS, look.GREEN)
    one.plot(ds.early, ds.flow, color=look.INK, lw=1.6, zorder=5)
    for k, (step, colour) in enumerate(zip(ds.step.values, colours)):
        one.plot(ds.t[1:], ds.sharpness[k, 1:], color=colour, lw=0.9)
        if 2.0 / step < float(ds.flow.max()) * 1.2:
            one.axhline(2.0 / step, color=colour, lw=0.8, ls="--")
            look.beside(one, float(ds.t[-1]), 2.0 / step, f"2/{step:g}", colour, dx=3, ha="left")
        two.plot(ds.t[1:], np.maximum(ds.loss[k, 1:], 1e-14), color=colour, lw=0.9, label=f"step {step:g}")
    one.set(
        xscale="log", xlabel="t", ylabel="sharpness", xlim=(1, float(ds.t[-1])), ylim=(0, 1.15 * float(ds.flow.max()))
    )
    look.beside(one, float(ds.early[-1]), float(ds.flow[-1]), "flow", look.INK, dx=3, ha="left")
    look.letter(one, "a", "sharpness")
    two.plot(ds.early, np.maximum(ds.flow_loss, 1e-14), color=look.INK, lw=1.6, label="flow")
    two.set(xscale="log", yscale="log", xlabel="t", ylabel="loss", ylim=(1e-14, 1), xlim=(1, float(ds.t[-1])))
    two.legend(frameon=False, loc="lower left")
    look.letter(two, "b", "training loss")
    return fig


def caption(ds) -> str:
    half = _medians(ds)
    medians = "; ".join(f"{s:g}: {float(half.sel(step=s)):.3f} (2/step = {2 / s:.3f})" for s in ds.step.values)
    return f"""Edge of stability on the five points (width {ds.attrs["width"]}, initial log scale
    {ds.attrs["log_scale"]:g} - log(width)/2). a: the largest eigenvalue of the Hessian along the flow (ink) rises from
    {float(ds.flow[0]):.2g} to {float(ds.flow[-1]):.3f}. Descent with a fixed step follows it until the sharpness
    reaches 2/step (dashed), where the quadratic model becomes unstable, and stays near that value; medians of the last
    half by step: {medians}. A step whose 2/step lies above the flow's final sharpness ends like the flow. b: the
    training loss, which at the edge falls by ups and downs."""
