"""Section 5 of [BF25a] at e^-1000: three points, neurons that align to one direction, and a line that never fits."""

from __future__ import annotations

import numpy as np

import reluflow as rf

SETTINGS = {
    "quick": dict(width=200, log_scale=-1000.0, large=-1.0, seed=0, rtol=1e-9),
    "full": dict(width=2000, log_scale=-100000.0, large=-1.0, seed=0, rtol=1e-10),
}
SPAN = (-1.0, 0.5)
SHOWN = 200  # neurons drawn
EARLY = 12.0  # alignment takes the same time at every scale


def compute(*, width, log_scale, large, seed, rtol):
    import xarray as xr

    from reluflow_followups._network import outputs
    from reluflow_followups.boursier2025sword import _points

    data = _points.data()
    beta, level = _points.least_squares(data)
    least = rf.bias.min_norm(data)
    small = rf.papers.solve(_points.problem(width, log_scale, seed), rf.Flow(rtol=rtol))
    big = rf.papers.solve(_points.problem(width, large, seed), rf.Flow(rtol=rtol))
    x = np.linspace(*SPAN, 301)
    rows = np.column_stack([x, np.ones_like(x)])
    early, clock = np.linspace(0.0, EARLY, 121), np.linspace(0.0, small.t_end, 400)
    w = small.moments(early).w
    z = np.einsum("tjd,nd->tjn", w, data.x)
    groups = rf.observe.merged(small, angle=1e-3)
    arrays = {
        "small": ("x", outputs(small.final, rows)),
        "large": ("x", outputs(big.final, rows)),
        "least": ("x", least(rows)),
        "line": ("x", rows @ beta),
        "angle": (("early", "neuron"), np.degrees(np.arctan2(w[..., 1], w[..., 0]))),
        "dead": ("neuron", np.all(z[-1] <= 0, axis=1).astype(float)),
        "loss": ("time", small.loss_at(clock)),
        "sign": ("neuron", np.sign(small.final.a)),
        "outputs": ("datum", small.outputs[-1]),
        "fitted": ("datum", data.x @ beta),
        "point_x": ("datum", data.x[:, 0]),
        "point_y": ("datum", data.y),
        "direction": ("axis", groups[0].direction),
        "beta": ("axis", beta),
        "groups": len(groups),
        "members": len(groups[0].neurons),
        "size": groups[0].size,
        "level": level,
        "end": float(small.loss[-1]),
        "end_large": float(big.loss[-1]),
        "least_norm": least.value,
        "least_bound": least.lower,
        "norm": 2 * float(np.sum(np.exp(2 * small.log_norm[-1]))),
        "converged": float(small.outcome is rf.Outcome.STATIONARY),
    }
    attrs = dict(rtol=float(rtol), log_scale=float(log_scale), large=float(large), width=int(width))
    return xr.Dataset(arrays, coords={"x": x, "time": clock, "early": early}, attrs=attrs)


def facts(ds) -> list[rf.Claim]:
    """The end is stationary and is the least-squares line; a larger start fits. Outputs are right to 100 rtol of the
    largest label, and the loss, quadratic near its least value on a line, to twice that."""
    tol = 100 * ds.attrs["rtol"] * float(np.max(np.abs(ds.point_y)))
    beta = ds.beta.values / np.linalg.norm(ds.beta.values)
    return [
        rf.Claim("the flow converged (1: yes)", float(ds.converged), "=", 1.0),
        rf.Claim("loss at the end minus that of the least-squares line", float(ds.end - ds.level), "=", 0.0, slack=tol),
        rf.Claim(
            "outputs against the line, farthest", float(np.abs(ds.outputs - ds.fitted).max()), "=", 0.0, slack=tol
        ),
        rf.Claim("directions of the neurons that matter (within 1e-3)", int(ds.groups), "=", 1),
        rf.Claim(
            "that direction against beta/|beta|", float(np.linalg.norm(ds.direction - beta)), "=", 0.0, slack=1e-6
        ),
        rf.Claim("their joint size over |beta|", float(ds.size / np.linalg.norm(ds.beta)), "=", 1.0, slack=1e-6),
        rf.Claim("loss at the end from the larger start", float(ds.end_large), "<=", tol**2),
        rf.Claim(
            "|theta|^2 at the end, below that of any network that fits", float(ds.norm), "<", float(ds.least_bound)
        ),
    ]


def draw(ds):
    from reluflow.plot import look

    fig = look.figure(look.PAGE, 2.5)
    one, two, three = fig.subplots(1, 3, width_ratios=[1.15, 1, 1])
    one.plot(ds.x, ds.least, color=look.THEORY, lw=3, alpha=0.55)
    one.plot(ds.x, ds.large, color=look.FAINT, lw=1.2)
    one.plot(ds.x, ds.small, color=look.INK, lw=1.6)
    one.plot(ds.point_x, ds.point_y, "o", color=look.DATA, mec="white", mew=0.6, ms=6, zorder=5)
    one.set(xlabel="x", ylabel="f(x)", xlim=SPAN, ylim=(-0.15, 1.55))
    one.set_xticks([-1, -0.5, 0, 0.5])
    look.beside(one, 0.49, float(ds.small[-1]), f"from $e^{{{ds.attrs['log_scale']:g}}}$", dx=0, dy=-8, ha="right")
    look.beside(one, -0.72, 1.22, f"from $e^{{{ds.attrs['large']:g}}}$", look.FAINT, dx=5, dy=9)
    look.beside(one, 0.49, float(ds.least[-1]), "least norm", look.THEORY, dx=0, dy=7, ha="right")
    look.letter(one, "a", "the function at the end")
    colours = np.where(ds.sign.values > 0, look.PLUS, look.MINUS)
    colours = np.where(ds.dead.values > 0, look.FAINT, colours)
    angle = ds.angle.values.copy()
    angle[1:][np.abs(np.diff(angle, axis=0)) > 180] = np.nan  # no line from 180 to -180, the same direction
    some = np.arange(0, len(colours), max(1, len(colours) // SHOWN))
    for j in some[np.argsort(-ds.dead.values[some], kind="stable")]:
        two.plot(ds.early, angle[:, j], color=colours[j], lw=0.5, alpha=0.5)
    two.set(xlabel="t", ylabel="direction of w (degrees)", ylim=(-180, 180), xlim=(0, EARLY))
    two.set_yticks([-180, -90, 0, 90, 180])
    look.letter(two, "b", "neurons align" if len(some) == len(colours) else f"neurons align ({len(some)} shown)")
    t = ds.time.values / -ds.attrs["log_scale"]
    held = 1.2 * t[-1]  # the run ends where it has converged; from there on the loss stays
    three.plot([*t, held], [*ds.loss.values, float(ds.end)], color=look.INK)
    three.axhline(float(ds.level), color=look.THEORY, lw=1.2)
    look.beside(three, 0.02, float(ds.level), "least-squares line", look.THEORY, dx=2, dy=7, ha="left")
    three.set(xlabel="t / log(1/scale)", ylabel="loss", ylim=(0, 1.1 * float(ds.loss.max())), xlim=(0, held))
    look.letter(three, "c", "the loss stops")
    return fig


def caption(ds) -> str:
    return f"""Three points that a network of {ds.attrs["width"]} neurons can fit. a: from
    e^{ds.attrs["log_scale"]:g} the flow converges to the least-squares line (ink), loss {float(ds.end):.6f}; from
    e^{ds.attrs["large"]:g} it fits (grey). Amber: the network of least norm that fits, |theta|^2 =
    {float(ds.least_norm):.4f} with a certificate; the flow from small scale stops at {float(ds.norm):.4f}, too small
    to fit. b: why. While outputs are still 0 every neuron with a > 0 (red) that sees data turns to one direction,
    active on all points; those with a < 0 (blue) turn until they see none, and grey ones never did. c: one direction
    is one line on the data, and the best line is a stationary point."""
