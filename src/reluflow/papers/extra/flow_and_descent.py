r"""Flow against descent on the five points of [BPF22], from scale 1e-2 to 1e-20: where they part, and why.

Descent is run as the authors do, in (a, W), step 2e-3 on L = (1/2n) sum (f - y)^2; the flow from the same starts.

While the network is still 0, a neuron with a_j < 0 slides along <w, x_i> = 0, against its pull: it shrinks as e^-dt, at
the unstable end of its line. The flow keeps |a| = |w| and shrinks on, until the drive turns and lets it go. A step of
descent adds eta^2 (<w,D>^2 - a^2|D|^2) to a^2 - |w|^2, a defect of relative size delta ~ eta, which grows as e^{2dt}
beside the neuron: a_j changes sign at

    t = t_slide + log(1/delta)/(2d),      later by log(2)/(2d) for half the step, whatever the scale.

The drive turns at a time of order log(1/scale). Hence at small scales every such neuron has changed sign before, and
the saddle that only they could leave is for ever. Its loss: datum 0 fitted, datum 1 left, a line through the others.
"""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.plot import look

SETTINGS = {
    "quick": dict(powers=[2, 3, 4, 5, 6, 8, 10, 12, 16, 20], seeds=2, width=60, step=2e-3, halvings=2, rtol=1e-9),
    "full": dict(powers=[*range(2, 21)], seeds=5, width=60, step=2e-3, halvings=4, rtol=1e-10),
}
WAYS = ("descent", "flow")
DEEP = (-1000.0, -10000.0)  # log scales that fix the line on which exits lie
PROBE = 12  # the scale 10^-PROBE at which single neurons are followed
TRIED = 5  # the scale 10^-TRIED at which the step that would do is tried out
SMALL, FROZEN = 6, 10  # from 1e-6 on the flips come first; from 1e-10 on they know nothing of the scale


def compute(*, powers, seeds, width, step, halvings, rtol):
    import xarray as xr

    data, level = rf.data.five_points(), saddle()
    logs = {p: float(np.log(10.0**-p / np.sqrt(width))) for p in powers}

    def start(log_scale, seed):
        return rf.Problem(data, rf.init.balanced(width, 2, log_scale=log_scale, seed=seed), loss="square")

    shape = (len(powers), seeds)
    found = {key: np.full(shape, np.nan) for key in ("first", "last", "exit", "stay", "unflipped")}
    flips, ends = np.zeros((2, *shape)), np.zeros((2, *shape))
    probe, who, slid = followed(start(float(np.log(10.0**-PROBE / np.sqrt(width))), 0), step, halvings, rtol)
    release: list[np.ndarray] = []
    flip_time = np.full((*shape, width), np.nan)
    share = np.linspace(0.0, 34.0, 681)  # of time, in units of log(1/scale)
    curves = np.full((2, len(powers), len(share)), np.nan)
    for i, power in enumerate(powers):
        for seed in range(seeds):
            problem, reach = start(logs[power], seed), -logs[power]
            end = 30.0 * reach + 200.0
            sols = [solve(problem, rf.Descent(step=step), t1=end), solve(problem, rf.Flow(rtol=rtol), t1=end)]
            sign = np.sign(problem.init.a)
            for k, sol in enumerate(sols):
                turned = np.sign(sol.final.a) != sign
                flips[k, i, seed], ends[k, i, seed] = turned.sum(), sol.loss[-1]
                if seed == 0:
                    inside = share * reach <= end
                    curves[k, i, inside] = sol.loss_at(share[inside] * reach)
            events, flow = sols[0].events, sols[1]
            signs = events[events.kind == "sign"]
            flip_time[i, seed, signs.neuron] = signs.t
            if len(signs):
                found["first"][i, seed], found["last"][i, seed] = signs.t.min(), signs.t.max()
            alive = (sign < 0) & np.any(flow.bits_at(float(flow.t[-1])) > 0, axis=1)
            kept = np.sign(sols[0].final.a) == sign
            found["unflipped"][i, seed] = np.sum(alive & kept)
            if seed == 0:
                release.append(let_go(flow, who, slid))
            found["exit"][i, seed] = leaving(flow, 0.9 * level)
            found["stay"][i, seed] = flow.loss_at(0.8 * found["exit"][i, seed])
    deep = np.full((len(DEEP), seeds), np.nan)
    for i, log_scale in enumerate(DEEP):
        for seed in range(seeds):
            sol = solve(start(log_scale, seed), rf.Flow(rtol=rtol), t1=-24.0 * log_scale)
            deep[i, seed] = leaving(sol, 0.9 * level)
    variables = {
        "end_loss": (("way", "power", "seed"), ends),
        "flips": (("way", "power", "seed"), flips),
        "flip_time": (("power", "seed", "neuron"), flip_time),
        "loss": (("way", "power", "share"), curves),
        "deep_exit": (("deep", "seed"), deep),
        "log_scale": ("power", [logs[p] for p in powers]),
        "saddle": level,
        "step": step,
        "rtol": rtol,
        **{key: (("power", "seed"), value) for key, value in found.items()},
        "release": (("power", "who"), np.array(release)),
        **probe,
    }
    made = xr.Dataset(variables, coords={"way": list(WAYS), "power": list(powers), "share": share, "deep": list(DEEP)})
    return made.assign(tried(made, start(logs[TRIED], 0))) if TRIED in powers else made


def tried(ds, problem) -> dict:
    """Descent at 10^-TRIED with twice and with half the step that `needed` says: negative neurons that keep their sign
    past their release, of those that changed it at `step`."""
    row = int(np.flatnonzero(ds.power.values == TRIED)[0])
    steps = needed(ds)[row] * np.array([2.0, 0.5])
    kept = []
    for eta in steps:
        sol = solve(problem, rf.Descent(step=float(eta)), t1=float(ds.release.values[row].max()) + 5.0)
        kept.append(int(np.sum(sol.final.a[ds.who.values] < 0)))
    return {"tried_step": ("attempt", steps), "tried_kept": ("attempt", kept)}


def saddle() -> float:
    """L where datum 0 is fitted, datum 1 gives 0, and the others a line by least squares: 1209/38000."""
    data = rf.data.five_points()
    x, y = data.x[2:], data.y[2:]
    rest = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    return float(data.y[1] ** 2 + rest @ rest) / (2 * data.n)


def leaving(sol, level: float) -> float:
    """The last time at which the loss is above `level`."""
    above = np.flatnonzero(sol.loss > level)
    if len(above) == 0 or above[-1] == len(sol.t) - 1:
        return np.nan
    lo, hi = float(sol.t[above[-1]]), float(sol.t[above[-1] + 1])
    for _ in range(10):
        cuts = np.linspace(lo, hi, 17)
        k = int(np.argmax(sol.loss_at(cuts) <= level))
        lo, hi = cuts[max(k - 1, 0)], cuts[k]
    return hi


def let_go(flow, who, slid) -> np.ndarray:
    """When neurons `who`, sliding since `slid`, are released; NaN where they are not in this run."""
    found = []
    for j, since in zip(who, slid, strict=True):
        mine = flow.events[flow.events.neuron == j]
        later = mine.t[np.isin(mine.kind, ("release_on", "release_off")) & (mine.t > since)]
        found.append(float(later.min()) if len(later) else np.nan)
    return np.array(found)


def followed(problem, step: float, halvings: int, rtol: float) -> tuple[dict, np.ndarray, np.ndarray]:
    """Neurons that change sign, in the flow and in descents with halved steps: when, how fast they shrink in the flow,
    and log|a_j| over time; which they are, and since when they slide."""
    steps = step * 0.5 ** np.arange(halvings + 1)
    moments = np.linspace(0.0, 220.0, 441)
    flow = solve(problem, rf.Flow(rtol=rtol), t1=float(moments[-1]))
    size = lambda sol, t: np.array([p.log_scales[1] + np.log(np.abs(p.a)) for p in sol.at(t)])
    sign, when, descents = np.sign(problem.init.a), [], []
    for eta in steps:
        sol = solve(problem, rf.Descent(step=float(eta)), t1=90.0)
        signs = sol.events[sol.events.kind == "sign"]
        times = np.full(len(sign), np.nan)
        times[signs.neuron] = signs.t
        when.append(times)
        with np.errstate(divide="ignore"):
            descents.append(size(sol, moments[moments <= 90.0]))
    who = np.flatnonzero(np.isfinite(when[0]))
    # In the frozen phase a slid neuron shrinks at a constant rate; the unit of time before its flip has it.
    t = when[0][who]
    before, at = size(flow, t - 1.0), size(flow, t)
    rate = np.array([before[k, j] - at[k, j] for k, j in enumerate(who)])
    log_a = np.full((len(steps), len(moments), len(who)), np.nan)
    for k, values in enumerate(descents):
        log_a[k, : len(values)] = values[:, who]
    slides = flow.events[flow.events.kind == "slide"]
    slid = [float(slides.t[(slides.neuron == j) & (slides.t < t[k])].max()) for k, j in enumerate(who)]
    found = {
        "who": who,
        "probe_flip": (("eta", "who"), np.array(when)[:, who]),
        "probe_rate": ("who", rate),
        "probe_slid": ("who", slid),
        "probe_log_a": (("eta", "moment", "who"), log_a),
        "probe_flow": (("moment", "who"), size(flow, moments)[:, who]),
        "probe_t": ("moment", moments),
        "probe_step": ("eta", steps),
        "probe_log_scale": float(np.max(problem.init.log_scales[0])),
    }
    return found, who, np.array(slid)


def facts(ds) -> list[Claim]:
    r"""Signs are constants of the flow (Lemma 1). Descent at small scales rests on the saddle, to rounding; the flow
    passes it (numerics, section 3; orthogonal_square_loss, E15). Frozen, both are homogeneous in the scale, so that
    flips come at the same iteration at all small scales. Slack of a delay: a flip is known to its iteration, and the
    defect that grows is of size eta (1 + O(eta)), which moves it by O(eta)/(2d). The flow's exit per unit of
    log(1/scale): (2267550 - 22592)/99000 [numerics, section 5], given to a unit of time at both
    ends."""
    level, small, frozen = float(ds.saddle), (ds.power >= SMALL).values, (ds.power >= FROZEN).values
    flow, descent = ds.sel(way="flow"), ds.sel(way="descent")
    rest = np.abs(descent.end_loss.values[small] / level - 1.0)
    times = np.nan_to_num(ds.flip_time.values[frozen], nan=-1.0)  # a neuron that flips at some scales only stands out
    rate, step = ds.probe_rate.values, ds.probe_step.values
    delay = np.diff(ds.probe_flip.values, axis=0) - np.log(2.0) / (2 * rate)
    slack = (step[:-1] + step[1:])[:, None] * (1 + 1 / (2 * rate))
    worst = np.unravel_index(int(np.argmax(np.abs(delay) / slack)), delay.shape)
    slope = ds.deep_exit.diff("deep").isel(deep=0) / (DEEP[0] - DEEP[1])
    return [
        Claim("output weights that changed sign, flow, all scales and seeds", int(flow.flips.sum()), "=", 0),
        Claim(
            "the flow leaves the saddle: L at the end over its L, largest",
            float(flow.end_loss.max()) / level,
            "<=",
            0.1,
        ),
        Claim(
            f"descent from 1e-{SMALL} and below rests at the saddle: relative distance, largest",
            float(rest.max()),
            "<=",
            0.0,
            slack=1e-12,
        ),
        Claim(
            "the flow stays at the same saddle: relative distance of L at 0.8 of its exit, 1e-8 and below, largest",
            float(np.abs(ds.stay.values[(ds.power >= 8).values] / level - 1).max()),
            "<=",
            1e-4,
        ),
        Claim(
            f"negative neurons that live in the flow and keep their sign in descent, 1e-{SMALL} and below",
            int(ds.unflipped.values[small].max()),
            "=",
            0,
        ),
        Claim(
            f"time of every sign change, spread over scales 1e-{FROZEN} and below, largest, iterations",
            float(np.ptp(times, axis=0).max() / ds.step),
            "<=",
            1.0,
        ),
        Claim(
            "delay of a sign change when the step is halved, less log(2)/(2d), worst neuron",
            float(delay[worst]),
            "=",
            0.0,
            slack=float(slack[worst]),
            at=f"{len(rate)} neurons, {len(step)} steps",
        ),
        Claim(
            "the flow's exit from the saddle per unit of log(1/scale), seed 0",
            float(slope[0]),
            "=",
            (2267550 - 22592) / 99000,
            slack=2 / 99000 + 100 * float(ds.rtol) * float(slope[0]),
        ),
        Claim(
            "scales at which descent passes where the step needed is too small, or rests where it is not, seed 0",
            int(np.sum((needed(ds) > float(ds.step)) != (descent.end_loss.values[:, 0] < 0.5 * level))),
            "=",
            0,
        ),
        *(
            [
                Claim(f"at 1e-{TRIED}, twice the step needed: neurons that keep their sign", ds.tried_kept[0], "=", 0),
                Claim(f"at 1e-{TRIED}, half the step needed: neurons that keep their sign", ds.tried_kept[1], ">=", 1),
            ]
            if "tried_kept" in ds
            else []
        ),
    ]


def needed(ds) -> np.ndarray:
    """Per scale, the step with which the last of the neurons (seed 0) would change sign just when it is let go:
    step e^{-2d (t_release - t_flip)}."""
    logs = np.log(float(ds.step)) - 2 * ds.probe_rate.values * (ds.release.values - ds.probe_flip.values[0])
    return np.exp(np.nanmax(logs, axis=1))


def _exponent(ds) -> float:
    """The power of the scale by which the step needed falls, over the smaller scales."""
    late = ds.power.values >= SMALL
    return float(np.polyfit(-ds.power.values[late], np.log10(needed(ds)[late]), 1)[0])


def draw(ds):
    fig = look.figure(look.PAGE, 4.7)
    (first, second), (third, fourth) = fig.subplots(2, 2)
    level, power = float(ds.saddle), ds.power.values
    chosen = [p for p in (2, 4, 8, 20) if p in power]
    for p, colour in zip(chosen, look.sequence(len(chosen) + 1)[1:], strict=True):
        one = ds.loss.sel(power=p)
        first.plot(ds.share, one.sel(way="flow"), color=colour)
        first.plot(ds.share, one.sel(way="descent"), color=colour, ls="--", lw=1.0)
        inside = np.flatnonzero(one.sel(way="flow").values > 1.3e-4)
        i = int(inside[-1])
        look.beside(first, float(ds.share[i]), float(one.sel(way="flow")[i]), f"$10^{{-{p}}}$", colour, fontsize=7)
    first.set(yscale="log", ylim=(1e-4, 0.2), xlim=(0, 34), xlabel="time / log(1/scale)", ylabel="L")
    look.beside(
        first, 33, level, "descent (dashed) from\n$10^{-5}$ and below: for ever", look.INK, dx=0, dy=13, ha="right"
    )
    look.letter(first, "a", "the flow (solid) leaves the saddle at every scale")

    for way, colour, marker in (("flow", look.THEORY, "s"), ("descent", look.INK, "o")):
        ends = ds.end_loss.sel(way=way)
        second.plot(power, ends[:, 0], "-", color=colour, lw=0.8)
        second.plot(np.repeat(power, ds.sizes["seed"]), ends.values.ravel(), marker, color=colour, ms=3.2, mew=0)
    for p, count, at in zip(
        power, ds.flips.sel(way="descent", seed=0).values, ds.end_loss.sel(way="descent", seed=0).values, strict=True
    ):
        look.beside(
            second, p, at, f"{int(count)}", look.PLUS, dx=0, dy=7 if at > 0.5 * level else -8, ha="center", fontsize=6.5
        )
    look.beside(second, power[-1], level, "signs changed", look.PLUS, dx=0, dy=16, ha="right", fontsize=7)
    look.beside(second, power[-1], level, "descent", look.INK, dx=0, dy=-8, ha="right")
    middle = len(power) // 2
    look.beside(
        second,
        power[middle],
        float(ds.end_loss.sel(way="flow", seed=0)[middle]),
        "flow: no sign changes",
        look.THEORY,
        dx=6,
        dy=5,
    )
    second.set(yscale="log", ylim=(5e-8, 0.4), xlabel="scale", ylabel="L at the end")
    look.letter(second, "b", "where descent parts from the flow")

    k = int(np.argmin(ds.probe_rate.values))
    t, ten = ds.probe_t.values, np.log(10.0)
    start = float(ds.probe_flow[0, k])
    row = int(np.argmin(np.abs(power - PROBE)))
    for e, colour in enumerate(look.sequence(ds.sizes["eta"] + 1)[1:]):
        third.plot(t, (ds.probe_log_a[e, :, k] - start) / ten, color=colour, lw=1.0)
        flip = float(ds.probe_flip[e, k])
        base = (np.interp(flip, t, ds.probe_flow[:, k]) - start) / ten
        third.plot([flip], [base], "x", color=look.PLUS, ms=5, mew=1.3, zorder=5)
    third.plot(t, (ds.probe_flow[:, k] - start) / ten, color=look.THEORY, zorder=3)
    release = float(ds.release[row, k])
    low = float(np.nanmin(ds.probe_flow[:, k]) - start) / ten
    third.plot([release], [np.interp(release, t, ds.probe_flow[:, k] - start) / ten], "o", color=look.THEORY, ms=4)
    look.beside(third, release, low, "released: the drive\nhas turned", look.THEORY, dx=-6, dy=-2, ha="right")
    i = int(np.argmin(np.abs(t - 118.0)))
    look.beside(
        third,
        t[i],
        float(ds.probe_flow[i, k] - start) / ten,
        "flow: slides,\nshrinks as $e^{-dt}$",
        look.THEORY,
        dx=6,
        dy=9,
    )
    look.beside(
        third,
        95.0,
        0.0,
        f"descent, steps {float(ds.step):g} and halved:\n$a_j$ changes sign (×),\nlog 2/(2d) later each",
        look.INK,
        dx=6,
        dy=0,
        va="top",
    )
    third.set(xlim=(0, 205), ylim=(1.25 * low, 0.06 * abs(low)), xlabel="time", ylabel="$\\log_{10}|a_j|$ over start")
    look.letter(third, "c", f"one neuron with $a_j < 0$, scale $10^{{-{PROBE}}}$")

    need = needed(ds)
    fourth.fill_between(power, need, 10.0, color="#f3ead2", lw=0)
    fourth.plot(power, need, color=look.THEORY)
    passes = ds.end_loss.sel(way="descent", seed=0).values < 0.5 * level
    for here, marker, colour in ((passes, "o", look.INK), (~passes, "x", look.PLUS)):
        fourth.plot(power[here], np.full(int(here.sum()), float(ds.step)), marker, color=colour, ms=4, mew=1.2)
    if "tried_kept" in ds:
        for eta, kept in zip(ds.tried_step.values, ds.tried_kept.values, strict=True):
            fourth.plot([TRIED], [eta], "o" if kept else "x", color=look.INK if kept else look.PLUS, ms=4, mew=1.2)
    fourth.set(yscale="log", ylim=(0.2 * need.min(), 3.0), xlabel="scale", ylabel="step")
    look.corner(fourth, "changes every sign,\nrests for ever  ×", "upper right", look.PLUS)
    fourth.texts[-1].set_y(0.72)
    look.corner(fourth, "• follows the flow", "lower left", look.INK)
    i = len(power) - 3
    look.beside(
        fourth, power[i], need[i], f"needed: scale$^{{{_exponent(ds):.2f}}}$", look.THEORY, dx=-8, dy=-8, ha="right"
    )
    look.letter(fourth, "d", "the step that descent would need")
    for ax in (second, fourth):
        ax.set_xticks(range(2, int(power[-1]) + 1, 6), [f"$10^{{-{v}}}$" for v in range(2, int(power[-1]) + 1, 6)])
    return fig


def caption(ds) -> str:
    counts = ds.flips.sel(way="descent", seed=0)
    need = needed(ds)
    return f"""Five points, 60 balanced neurons, from scale 1e-{int(ds.power[0])} to 1e-{int(ds.power[-1])}
    (/sqrt(60)), {ds.sizes["seed"]} seeds: exact flow (rtol {float(ds.rtol):g}, slides followed, signs kept by
    construction) and plain descent in (a, W) as the authors run it, step {float(ds.step):g} on L. (a, b) From 1e-5 on
    descent rests for ever at the saddle L = {float(ds.saddle):.7f} (one negative label given up, a line through three
    points), which the flow leaves at every scale, {float(ds.deep_exit.diff("deep")[0, 0]) / (DEEP[0] - DEEP[1]):.3f}
    units of time per unit of log(1/scale). Red numbers: output weights that changed sign in descent, up to
    {int(counts.max())}, which are all of the negative neurons that would have left the saddle; in the flow none. (c)
    Why: such a neuron slides along a datum's boundary and shrinks as e^-dt; the imbalance that steps leave grows beside
    it as e^2dt, and the sign changes, at the same iteration at every small scale and log(2)/(2d) later for half the
    step (found to {_delay(ds):.0e}). (d) To keep one such neuron until the drive turns descent needs a step that falls
    as scale^{_exponent(ds):.2f}, {need[-1]:.0e} at 1e-{int(ds.power[-1])}; marks are runs. To cite: on data
    that are not orthogonal the small-initialisation limit of descent with a fixed step is not that of the flow, and a
    step that would do shrinks like the initialisation itself."""


def _delay(ds) -> float:
    """The largest departure of a delay from log(2)/(2d)."""
    return float(np.abs(ds.probe_flip.diff("eta") - np.log(2.0) / (2 * ds.probe_rate)).max())
