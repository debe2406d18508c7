"""Beyond [MBG18]: where each starting direction goes, the repelling directions between, and the share of each basin."""

from __future__ import annotations

import numpy as np

import reluflow as rf

SETTINGS = {
    "quick": dict(widths=[50, 200, 1000], log_scale=-1000.0, t1=1500.0, samples=2000),
    "full": dict(widths=[50, 200, 1000, 5000], log_scale=-100000.0, t1=150000.0, samples=20000),
}


def compute(*, widths, log_scale, t1, samples):
    import xarray as xr

    from reluflow_followups.maennel2018 import _line as of

    data = of.data()
    found = rf.bias.extremal(data, samples=samples)
    place = of.degrees(np.array([d.direction for d in found.directions]))
    attracting = np.array([d.kind == "attracting" for d in found.directions])
    sign = np.array([d.sign for d in found.directions])
    counts, off, groups = [], [], []
    for m in widths:
        init = rf.init.balanced(m, 2, log_scale=log_scale - 0.5 * np.log(m), seed=m)
        sol = rf.papers.solve(rf.Problem(data, init), rf.Flow(), t1=t1)
        w, s = sol.end.w[0], np.sign(sol.end.a[0])
        gone = of.dead(w, data.x)
        apart = np.abs(of.degrees(w)[:, None] - place)
        apart = np.where((s[:, None] == sign) & attracting, np.minimum(apart, 360 - apart), np.inf)
        who = np.where(gone, -1, np.argmin(apart, axis=1))
        counts.append([np.sum(who == k) / np.sum(s == sign[k]) for k in range(len(place))])
        off.append(float(np.max(np.min(apart, axis=1)[~gone])))
        groups.append(len(set(who[~gone].tolist())))
    shown = dict(  # of the last width
        start=("neuron", of.degrees(init.w)),
        end=("neuron", of.degrees(w)),
        sign=("neuron", s),
        dead=("neuron", gone.astype(float)),
        shrinks=("neuron", (sol.end.log_norm[0] < sol.log_norm[0]).astype(float)),
    )
    angle = np.linspace(-180, 180, 1441)
    turn = np.column_stack([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    arrays = shown | {
        "share": (("width", "direction"), counts),
        "off": ("width", off),
        "groups": ("width", groups),
        "basin": ("direction", [d.basin if k else np.nan for d, k in zip(found.directions, attracting, strict=True)]),
        "basin_error": ("direction", [d.basin_error for d in found.directions]),
        "rate": ("direction", [d.rate for d in found.directions]),
        "attracting": ("direction", attracting.astype(float)),
        "of_sign": ("direction", sign),
        "potential": ("angle", np.maximum(turn @ data.x.T, 0.0) @ data.y / data.n),
        "largest_output": float(np.max(np.abs(sol.outputs[-1]))),
    }
    coords = {"width": widths, "place": ("direction", place), "angle": angle}
    return xr.Dataset(arrays, coords=coords, attrs=dict(log_scale=float(log_scale), t1=float(t1)))


def facts(ds) -> list[rf.Claim]:
    """Six groups whatever the width, at the attracting directions; shares are those of the basins.

    A share of m/2 independent neurons has standard deviation at most 1/sqrt(2m); four of them are allowed.
    """
    on = ds.attracting.values > 0
    gap = np.abs(ds.share.values - ds.basin.values)[:, on].max(axis=1)
    room = 4 / np.sqrt(2 * ds.width.values)
    worst = int(np.argmax(gap - room))
    return [
        rf.Claim("attracting directions of the data", int(on.sum()), "=", 6),
        rf.Claim("groups of live neurons, least over the widths", int(ds.groups.min()), "=", 6),
        rf.Claim("groups of live neurons, most over the widths", int(ds.groups.max()), "=", 6),
        rf.Claim(
            "distance of a live neuron from its attracting direction, largest, degrees", float(ds.off.max()), "<=", 1e-6
        ),
        rf.Claim(
            "share of neurons in a group against the basin, farthest", float(gap[worst]), "<=", float(room[worst])
        ),
        rf.Claim("attracting directions along which neurons shrink", int(np.sum(on & (ds.rate.values < 0))), "=", 1),
        rf.Claim("outputs at the end, largest: still 0", float(ds.largest_output), "=", 0.0, slack=1e-12),
    ]


def draw(ds):
    from reluflow.plot import look

    fig = look.figure(look.PAGE, 2.7)
    one, two, three = fig.subplots(1, 3, width_ratios=[1, 1.2, 0.95])
    one.plot(ds.angle, ds.potential, color=look.INK, lw=1.0)
    one.axhline(0, color=look.FAINT, lw=0.5)
    height = np.interp(ds.place, ds.angle, ds.potential)
    for k in range(ds.sizes["direction"]):
        colour = look.PLUS if ds.of_sign[k] > 0 else look.MINUS
        full = bool(ds.attracting[k])
        one.plot(
            ds.place[k], height[k], "o", color=colour if full else "none", mec=colour, ms=5 if full else 7.5, mew=0.8
        )
    one.set(xlabel="direction of w (degrees)", ylabel="G(w)")
    look.corner(one, "full: attract\nopen: repel", "lower left", look.FAINT, 6.5)
    look.letter(one, "a", "extremal directions")
    alive = ds.dead.values == 0
    for sign, colour in ((1, look.PLUS), (-1, look.MINUS)):
        mine = alive & (ds.sign.values == sign)
        two.plot(ds.start[mine], ds.end[mine], "o", color=colour, ms=1.8, mew=0, alpha=0.8)
        for k in np.flatnonzero((ds.attracting.values > 0) & (ds.of_sign.values == sign)):
            two.axhline(float(ds.place[k]), color=colour, lw=0.4, alpha=0.6)
    gone = ~alive
    two.plot(ds.start[gone], ds.end[gone], "o", color=look.FAINT, ms=1.2, mew=0)
    two.set(xlabel="direction at the start", ylabel="direction at the end", ylim=(-180, 180))
    look.letter(two, "b", f"{ds.sizes['neuron']:,} neurons")
    on = np.flatnonzero(ds.attracting.values > 0)
    for k in range(ds.sizes["width"]):
        for j in on:
            colour = look.PLUS if ds.of_sign[j] > 0 else look.MINUS
            three.plot(ds.basin[j], ds.share[k, j], "o", color=colour, ms=2.5 + 1.3 * k, alpha=0.55, mew=0)
    top = 0.06 + float(np.nanmax([ds.basin.max(), ds.share.max()]))
    three.plot([0, top], [0, top], color=look.THEORY, lw=1.0, zorder=0)
    three.set(xlabel="basin", ylabel="share of neurons", xlim=(0, top), ylim=(0, top))
    first, last = f"{int(ds.width[0]):,}", f"{int(ds.width[-1]):,}"
    look.corner(three, f"dots: widths\nfrom {first} (small)\nto {last} (large)", "lower right", look.FAINT, 6)
    look.letter(three, "c", "shares")
    for ax in (one, two):
        ax.set(xlim=(-180, 180))
        ax.set_xticks([-180, -90, 0, 90, 180])
    two.set_yticks([-180, -90, 0, 90, 180])
    return fig


def caption(ds) -> str:
    return f"""Twelve points on a line. a: while outputs are 0 a neuron with a > 0 (red) climbs G on the circle of
    directions and one with a < 0 (blue) descends it; full dots are where they arrive, open ones repel. b: the whole
    map from the direction at the start to that at the end, t = {ds.attrs["t1"]:g} from e^{ds.attrs["log_scale"]:g}:
    a staircase of six steps, whose edges are the repelling directions; grey neurons see no datum at the end. c: how
    many neurons end in each group, against the length of its basin, from all widths. One of the six groups consists
    of neurons that shrink while they align: it never grows, and no training run shows it."""
