r"""Whether a run's record agrees with itself: its log of events, its weights, its outputs and its equations of motion.

Nothing here is a theorem: these are the statements that every check of a theorem takes for granted about a run. They
are judged at the run's frames, and the motion at a few moments, so that they cost little beside the run.
"""

import numpy as np

from reluflow import _text
from reluflow.claim import Claim
from reluflow.methods import DecayLimit
from reluflow.observe._view import View, log_abs
from reluflow.observe._witness import EPS, Witness, direction_tolerance

ON, OFF, SLIDE = ("on", "release_on"), ("off", "release_off"), ("slide",)
TINY = 1e-290  # of an output
MOMENTS = 8  # at which the motion is compared with the equations
MOST = 20_000_000  # bits looked at: frames are thinned beyond
NEAR = 1e-9  # of log t: two times closer than this are one
WINDOW = 1e-2  # of the fastest time scale: the half width of a difference


def consistency(sol) -> list[Claim]:
    """Claims that the record of a run (a Solution) does not contradict itself; found once for each run.

    "log and weights agree": at every frame the sign of <w_j, x_i> is what the initial pattern and the events up to
    then say; for pairs within the accuracy of a direction, the bit of the state is. "outputs and weights agree". "The
    run starts from the problem's weights". "The motion is that of the equations": w_j' = a_j D_j by differences at a
    few moments.
    """
    return list(sol.derived(_claims))


def _claims(sol) -> tuple[Claim, ...]:
    return _log(sol), _outputs(sol), _start(sol), _motion(sol)


def _frames(sol) -> Witness:
    """The frames, thinned where all of them would be too many numbers."""
    size = sol.problem.init.width * sol.problem.data.n
    if len(sol.log_t) * size <= MOST:
        return Witness(sol)
    chosen = np.unique(np.linspace(0, len(sol.log_t) - 1, max(2, MOST // size)).astype(int))
    return Witness(sol, log_t=sol.log_t[chosen])


def _log(sol) -> Claim:
    text = "log and weights agree: pairs of neuron and datum on the other side of a surface than the log of events says"
    if sol.stats.unrecorded:
        return Claim(text, np.nan, "=", 0.0, note=f"{sol.stats.unrecorded} events of the run are not listed")
    seen, events = _frames(sol), sol.events
    kind = events.kind
    about = np.flatnonzero(np.isin(kind, ON + OFF + SLIDE))
    about = about[np.argsort(events.log_t[about], kind="stable")]
    on, slid = sol.initial_bits >= 1.0, np.zeros((sol.problem.init.width, sol.problem.data.n), bool)
    turned = np.isin(kind, ON)
    last = np.full(on.shape, -np.inf)
    wrong, first, done = 0, None, 0
    for k, log_t in enumerate(seen.log_t):
        while done < len(about) and events.log_t[about[done]] <= log_t + NEAR:
            e = about[done]
            on[events.neuron[e], events.datum[e]] = turned[e]
            slid[events.neuron[e], events.datum[e]] = kind[e] == "slide"
            last[events.neuron[e], events.datum[e]] = events.log_t[e]
            done += 1
        cos = seen.cosines_of(slice(k, k + 1))[0]
        clear = np.abs(cos) > seen.tol
        # Where the sign is not determined, the state's own bit must be that of the log, except at an event.
        resting = ~clear & ~slid & (log_t > last + 2 * NEAR)
        apart = clear & np.where(slid, np.abs(cos) > 1e3 * seen.tol, (cos > 0) != on)
        if np.any(resting):
            apart |= resting & ((View.bits_of(seen, slice(k, k + 1))[0] >= 1.0) != on)
        wrong += int(np.sum(apart))
        if first is None and np.any(apart):
            j, i = np.argwhere(apart)[0]
            first = f"t = {_time(seen, k)}, neuron {j}, datum {i}"
    return Claim(f"{text}, {len(seen.log_t)} frames", wrong, "=", 0.0, at=first)


def _outputs(sol) -> Claim:
    """|f recorded - f by weights| over sum_j |a_j||w_j||x_i|; an undetermined bit changes it by `tol` at most."""
    seen = _frames(sol)
    log_size = np.logaddexp.reduce(2 * seen.log_scale + log_abs(seen.size_a) + log_abs(seen.norm), axis=1)
    size = np.exp(log_size)[:, None] * np.linalg.norm(sol.problem.data.x, axis=1)
    recorded = sol.outputs if len(seen.log_t) == len(sol.log_t) else sol.outputs_at(log_t=seen.log_t)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        # Subnormal outputs have few digits, or one: they are not compared.
        off = np.abs(recorded - seen.outputs)
        finite = np.isfinite(recorded)
        if off.ndim == 3:  # several outputs: the worst of each datum
            off, finite = np.max(off, axis=2), np.all(finite, axis=2)
        gap = np.where(size > TINY, off / size, 0.0)
    gap = np.where(np.isnan(gap), np.where(finite, np.inf, 0.0), gap)
    k, i = (int(v) for v in np.unravel_index(int(np.argmax(gap)), gap.shape))
    slack = 4 * seen.tol + 4 * (sol.problem.init.width + sol.problem.data.d) * EPS
    at = f"t = {_time(seen, k)}, datum {i}"
    return Claim("outputs and weights agree: |difference| over sum |a_j||w_j||x_i|", gap[k, i], "=", 0.0, slack, at=at)


def _start(sol) -> Claim:
    """The largest relative difference of a neuron at t = 0 from the problem's."""
    init, seen = sol.problem.init, Witness(sol, t=np.zeros(1))
    log_w, log_a = init.log_scales
    given = np.column_stack([init.w, (init.a.T * np.exp(log_a - log_w)).T])
    found = np.column_stack([seen.w[0], seen.a[0]])
    with np.errstate(over="ignore", invalid="ignore"):
        found = found * np.exp(seen.log_scale[0] - log_w)[:, None]
    size = np.maximum(np.linalg.norm(given, axis=1), 1e-300)
    gap = np.linalg.norm(found - given, axis=1) / size
    j = int(np.argmax(gap))
    slack = max(direction_tolerance(sol), 1e-12 * float(1 + np.max(np.abs(log_w))))
    text = "the run starts from the problem's weights: largest relative difference"
    return Claim(text, gap[j], "=", 0.0, slack, at=f"neuron {j}")


def _motion(sol) -> Claim:
    r"""$|w_j' - a_j D_j|$ over $|w_j|$ and the fastest rate of a neuron, at a few moments.

    A flow: central differences over $\pm\delta$, $\delta$ = `WINDOW` over the fastest rate, of neurons without an event
    in between; that leaves $\delta^2/6$ of a third derivative, 1e-3 with room, and the accuracy of a state, rtol over
    `WINDOW` and the ratio of the fastest rate to that of the weights. A moment where that exceeds 1/4 is left out.
    Descent: one iteration, exactly, but for rounding and the 1e-13 that a leap over many iterations may be off by.
    """
    text = "the motion is that of the equations: |w_j' - a_j D_j| over |w_j| and the fastest rate"
    descent = hasattr(sol.method, "step")
    if isinstance(sol.method, DecayLimit):
        return Claim(text, np.nan, "=", 0.0, note="the slow motion along fitted networks has equations of its own")
    if descent and (sol.method.batch or sol.problem.data.n) < sol.problem.data.n:
        return Claim(text, np.nan, "=", 0.0, note="batches are drawn at random")
    worst, slack_then, where = -np.inf, 0.0, None
    inner = np.flatnonzero((sol.log_t > -np.inf) & (sol.log_t < sol.log_t[-1]))
    for k in np.unique(inner[np.linspace(0, len(inner) - 1, MOMENTS).astype(int)]) if len(inner) else []:
        found = (_step if descent else _difference)(sol, float(sol.t[k]))
        if found is not None and found[0] - found[1] > worst:
            worst, slack_then = found[0] - found[1], found[1]
            where = f"t = {sol.t[k]:.6g}, neuron {found[2]}"
    if where is None:
        return Claim(text, np.nan, "=", 0.0, note="no moment at which a difference tells")
    return Claim(text, worst + slack_then, "=", 0.0, slack=slack_then, at=where)


def _field(seen: Witness) -> tuple[np.ndarray, np.ndarray]:
    """((a_j D_j - decay w_j)/|w_j|, rates of the neurons) at one moment, (width, d) and (width,)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if seen.problem.outputs > 1:
            pushed = np.where(seen.norm[0] > 0, seen.push[0].T / seen.norm[0], 0.0).T
        else:
            pushed = np.where(seen.norm > 0, seen.a / seen.norm, 0.0)[0][:, None] * seen.pull[0]
        field = pushed * np.exp(seen.drive[1][0]) - seen.problem.decay * seen.unit[0]
    return field, np.linalg.norm(field, axis=1)


def _stiffness(seen: Witness) -> float:
    """A bound on how fast outputs relax: weight * curvature * sum_j (a_j^2 + |w_j|^2) * sum_i |x_i|^2."""
    top = float(np.logaddexp.reduce(2 * seen.log_scale[0] + log_abs(seen.size_a[0] ** 2 + seen.norm[0] ** 2)))
    curvature = 0.0 if seen.problem.loss == "square" else float(seen.drive[1][0]) - np.log(seen.problem.weight)
    return float(np.exp(min(top + curvature, 700.0)) * seen.problem.weight * np.sum(seen.data.x**2))


def _difference(sol, t: float) -> tuple[float, float, int] | None:
    seen = Witness(sol, t=np.array([t]))
    field, rates = _field(seen)
    rate = float(np.max(rates))
    fastest = max(rate, _stiffness(seen))
    if not (0 < rate and np.isfinite(fastest)):
        return None
    delta = WINDOW / fastest
    slack = 1e-3 + 10 * sol.stats.rtol / WINDOW * fastest / rate + 4 * EPS * t / delta
    end = float(sol.t[-1])
    if not slack < 0.25 or t - delta < 0 or t + delta > end:
        return None
    near = Witness(sol, t=np.array([t - delta, t + delta]))
    quiet = np.ones(len(rates), bool)
    quiet[sol.events.neuron[np.abs(sol.events.t - t) <= delta]] = False
    if not np.any(quiet):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        moved = near.w * np.exp(near.log_scale - seen.log_norm[0])[..., None]
    gap = np.linalg.norm((moved[1] - moved[0]) / (2 * delta) - field, axis=1) / rate
    gap = np.where(quiet & np.isfinite(seen.log_norm[0]), gap, 0.0)
    gap = np.where(np.isnan(gap), np.inf, gap)
    j = int(np.argmax(gap))
    return float(gap[j]), float(slack), j


def _step(sol, t: float) -> tuple[float, float, int] | None:
    step = float(sol.method.step)
    k = round(t / step)
    if not 0 <= k < sol.stats.steps:
        return None
    seen = Witness(sol, t=np.array([k * step, (k + 1) * step]))
    now = Witness(sol, t=np.array([k * step]))
    field, rates = _field(now)
    rate = float(np.max(rates))
    accuracy = 1e-6 if getattr(sol.method, "dtype", None) == "float32" else 1e-12
    if not rate * step > 4 * accuracy:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        moved = seen.w * np.exp(seen.log_scale - now.log_norm[0])[..., None]
    gap = np.linalg.norm((moved[1] - moved[0]) / step - field, axis=1) / rate
    gap = np.where(np.isfinite(now.log_norm[0]), np.where(np.isnan(gap), np.inf, gap), 0.0)
    j = int(np.argmax(gap))
    return float(gap[j]), accuracy / (rate * step), j


def _time(seen: Witness, k: int) -> str:
    return _text.time(float(seen.t[k]), float(seen.log_t[k]))
