r"""A run as the page draws it: frames close enough together that moving between them looks smooth.

Frames are the run's own, of a flow and of a descent alike, and more where much happens between two of them. What
happens is counted by

    activity = .3 turning + .25 change of the loss + .35 growth of log norms + .1 change of the log loss

each divided by its total over the run. Event time is the activity so far: equal steps show equal change.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

import reluflow as rf

TINY = 1e-300
FAINT = 1e-100  # of the largest norm: squares of smaller ones underflow
OFF, ON, SLIDING = 0, 1, 2
DRAFT_FRAMES = 96  # of a draft: the run's own, since following it again costs as much as a draft itself
KEPT = 16  # sets of extremal directions remembered: they are the same at every scale
ROUNDS = {"flow": 3, "descent": 5}  # a descent's own frames are even in t, most of them after everything has happened


def is_descent(sol) -> bool:
    return isinstance(sol.method, rf.Descent)


class States:
    """States at increasing times, and what is read off them."""

    COLUMNS = ("t", "log_t", "unit", "log_w", "log_a", "sign", "head", "log_loss", "outputs", "bits")

    def __init__(self, seen):
        """From the columns of `sol.frames` or `sol.moments(...)`."""
        self.t, self.log_t = seen.t, seen.log_t
        self.bits = np.where(seen.sliding, np.uint8(SLIDING), seen.active.view(np.uint8))  # OFF, ON, SLIDING
        w, a, scale = seen.w, seen.a, seen.log_scale
        size = np.maximum(np.sqrt(np.einsum("...i,...i->...", w, w)), TINY)
        self.unit = w / size[..., None]
        self.log_w = scale + np.log(size)
        # With classes `head` is the direction of a in R^k and no sign is kept; with one output that is the sign.
        several = a.ndim == 3
        length = np.linalg.norm(a, axis=-1) if several else np.abs(a)
        self.log_a = scale + np.log(np.maximum(length, TINY))
        self.head = a / np.maximum(length, TINY)[..., None] if several else np.sign(a)[..., None]
        self.sign = np.ones(length.shape, np.int8) if several else np.sign(a).astype(np.int8)
        self.log_loss, self.outputs = seen.log_loss, seen.outputs

    def joined(self, other: States) -> States:
        """Both, in order of time; nothing is computed again."""
        found = States.__new__(States)
        order = np.argsort(np.concatenate([self.log_t, other.log_t]), kind="stable")
        for name in self.COLUMNS:
            setattr(found, name, np.concatenate([getattr(self, name), getattr(other, name)])[order])
        return found

    def __len__(self) -> int:
        return len(self.log_t)


def activity(s: States) -> np.ndarray:
    """How much happens between consecutive frames, summing to 1; never 0, so that time never stands still."""
    cosine = np.clip(np.sum(s.unit[1:] * s.unit[:-1], axis=-1), -1.0, 1.0)
    turning = np.mean(np.arccos(cosine), axis=1)
    size = np.clip(s.log_w, -1e6, 700.0)
    logs = np.maximum(s.log_loss, s.log_loss[0] - 60.0)
    parts = (
        (0.30, turning),
        (0.25, np.abs(np.diff(np.exp(np.minimum(s.log_loss - s.log_loss[0], 20.0))))),
        (0.35, np.mean(np.abs(np.diff(size, axis=0)), axis=1)),
        (0.10, np.abs(np.diff(logs))),
    )
    total = np.zeros(len(s) - 1)
    for share, part in parts:
        whole = np.sum(part)
        # A part that hardly moves at all must not be blown up to its share.
        total += share * part / whole if whole > 1e-6 else 0.0
    total += 0.02 / max(len(total), 1)
    return total / np.sum(total)


def refined(sol, most: int, more: int, also=()) -> States:
    """The run's own frames, at most `most`, those at times `log t` in `also`, and up to `more` where much happens."""
    own = sol.frames
    if len(own) > most:
        own = own[np.unique(np.linspace(0, len(own) - 1, most).astype(int))]
    states = States(own)
    if len(states) < 2:
        return states
    descent = is_descent(sol)
    step = float(sol.method.step) if descent else None
    extra = fresh(np.asarray(also, float), states, step) if len(also) else np.empty(0)
    if len(extra):
        states = states.joined(States(sol.moments(log_t=extra)))
    rounds = ROUNDS["descent" if descent else "flow"] if more else 0
    for _ in range(rounds):
        wanted = fresh(between(states, more // rounds), states, step)
        if len(wanted):
            states = states.joined(States(sol.moments(log_t=wanted)))
    return states


def fresh(log_t: np.ndarray, s: States, step: float | None) -> np.ndarray:
    """The times among `log_t` that lie inside the run and have no frame yet; those of iterations where it steps."""
    wanted = np.unique(log_t[(log_t > s.log_t[0]) & (log_t < s.log_t[-1])])
    if step is None:
        return np.setdiff1d(wanted, s.log_t)
    have = np.rint(np.exp(s.log_t) / step).astype(np.int64)
    count = np.setdiff1d(np.rint(np.exp(wanted) / step).astype(np.int64), have)
    return np.log(count[count > 0] * step)


def between(s: States, more: int) -> np.ndarray:
    """Logarithms of times that cut the busiest intervals, geometrically where time spans scales."""
    busy = activity(s)
    cuts = np.minimum(np.floor(busy * max(more, 1)).astype(int), 24)
    found = [np.empty(0)]
    for k in np.flatnonzero(cuts > 0):
        inner = np.linspace(0.0, 1.0, cuts[k] + 2)[1:-1]
        high = s.log_t[k + 1]
        low = s.log_t[k] if s.log_t[k] > -(TINY**-1) else high + np.log(1e-3)
        if high - low > np.log(2.0):
            found.append(low + (high - low) * inner)
        else:
            found.append(low + np.log1p(np.expm1(high - low) * inner))
    return np.concatenate(found)


def plane(problem) -> np.ndarray:
    """Two orthonormal rows: the plane that is drawn. All of R^2, else that of the two class sums, else of the data."""
    x, y = problem.data.x, problem.data.y
    d = x.shape[1]
    if d == 2:
        return np.eye(2)
    if d == 1:
        return np.array([[1.0], [0.0]])
    sums = np.stack([np.sum(np.where(s * y > 0, np.abs(y), 0.0)[:, None] * x, axis=0) for s in (1.0, -1.0)])
    rows = np.concatenate([sums, np.linalg.svd(x, full_matrices=True)[2]])
    basis: list[np.ndarray] = []
    for row in rows:
        size = np.linalg.norm(row)
        for e in basis:
            row = row - (row @ e) * e
        if np.linalg.norm(row) > 1e-6 * size and size > 0:
            basis.append(row / np.linalg.norm(row))
        if len(basis) == 2:
            break
    return np.stack(basis)


_aims: OrderedDict[tuple, list[dict]] = OrderedDict()


def targets(problem) -> list[dict]:
    """Extremal directions that neurons are drawn to early on, from the frozen drive; none where it is not known.

    They depend on the directions of the weights and not on their common scale: a moving scale finds them kept.
    """
    data, init = problem.data, problem.init
    if problem.outputs > 1:
        return []
    if init.log_scale_a is not None or problem.train == "first":
        return []
    scales = np.asarray(init.log_scale) - np.max(init.log_scale)
    arrays = tuple(np.ascontiguousarray(a).tobytes() for a in (data.x, data.y, init.w, init.a, scales))
    key = (*arrays, problem.loss, problem.reduction, problem.activation.slope)
    if key not in _aims:
        _aims[key] = _targets(problem)
        while len(_aims) > KEPT:
            _aims.popitem(last=False)
    return _aims[key]


def pair_alignment(s: States, problem) -> np.ndarray:
    """<b_j, M_j q_j> / sigma_1(M_j) of classes in the plane: 1 where a neuron is the top singular pair of what drives
    it, as `rf.observe.pair_alignment`; 0 where nothing does. A neuron that slides can only move along itself."""
    f = s.outputs - np.logaddexp.reduce(s.outputs, axis=-1, keepdims=True)
    own = problem.targets > 0
    log_p = np.where(own, -np.inf, f)
    others = np.exp(log_p - np.max(log_p, axis=(1, 2), keepdims=True))  # the scale of a drive does not matter
    g = np.where(own, np.sum(others, axis=-1, keepdims=True), -others)
    bits = np.where(s.bits == ON, 1.0, np.where(s.bits == OFF, problem.activation.slope, 0.0))
    M = np.einsum("fmn,fnk,nd->fmkd", bits, g, problem.data.x, optimize=True)
    Mq = np.einsum("fmkd,fmd->fmk", M, s.unit)
    free = np.sqrt(largest(M.reshape(-1, *M.shape[2:]))).reshape(Mq.shape[:2])
    top = np.where(np.any(s.bits == SLIDING, axis=-1), np.linalg.norm(Mq, axis=-1), free)
    found = np.sum(s.head * Mq, axis=-1) / np.maximum(top, TINY)
    return np.clip(np.where(top > 0.0, found, 0.0), -1.0, 1.0).astype(np.float32)


def _targets(problem) -> list[dict]:
    from reluflow._early import early_phase

    init = problem.init
    if not np.allclose(np.abs(init.a), np.linalg.norm(init.w, axis=1), rtol=1e-12, atol=0.0):
        return []
    try:
        found = early_phase(problem).targets[:24]
    except RuntimeError:  # some neuron never settles
        return []
    return [{"sign": k.sign, "direction": k.direction, "rate": k.rate, "neurons": len(k.neurons)} for k in found]


def cosines(s: States, problem, aims: list[dict]) -> np.ndarray:
    """Each neuron's largest cosine with an extremal direction of its sign (the class sum where none is known); with
    classes its alignment with a singular pair."""
    if problem.outputs > 1:
        return pair_alignment(s, problem)
    w = s.unit
    best = np.full(w.shape[:2], -1.0)
    x, y = problem.data.x, problem.data.y
    for sign in (1.0, -1.0):
        mine = s.sign[-1] == sign
        if not np.any(mine):
            continue
        rays = [np.asarray(k["direction"]) for k in aims if k["sign"] == sign]
        if not rays:
            total = np.sum(np.where(sign * y > 0, np.abs(y), 0.0)[:, None] * x, axis=0)
            size = np.linalg.norm(total)
            rays = [total / size] if size > 0 else []
        for ray in rays:
            best[:, mine] = np.maximum(best[:, mine], w[:, mine] @ ray)
    return np.clip(best, -1.0, 1.0).astype(np.float32)


def ranks(s: States) -> np.ndarray:
    """Stable rank |W|_F^2 / |W|_2^2 of all neurons, of those with a > 0 and of those with a < 0, (frames, 3); with
    classes of those that raise each class most, (frames, 1 + k).

    The largest norm is scaled out first; a group without neurons has rank 0.
    """
    k = s.head.shape[-1]
    groups = [s.sign > 0, s.sign < 0] if k == 1 else [np.argmax(s.head, axis=-1) == c for c in range(k)]
    found = np.zeros((len(s), 1 + len(groups)), np.float32)
    top = np.max(s.log_w, axis=1, keepdims=True)
    every = np.exp(s.log_w - np.where(np.isfinite(top), top, 0.0))
    if s.unit.shape[-1] == 2:
        # Sums over neurons of x^2, xy, y^2, of all and of each group.
        x, y = s.unit[..., 0], s.unit[..., 1]
        weights = np.stack([every * every, *(np.where(mine, every * every, 0.0) for mine in groups)], axis=1)
        if np.all(np.max(weights, axis=2) >= FAINT**2):
            a, b, c = np.moveaxis(weights @ np.stack([x * x, x * y, y * y], axis=2), 2, 0)
            found[:] = np.sum(weights, axis=2) / largest_of_two(a, b, c)
            return found
    for column, mine in enumerate((None, *groups)):
        size = every if mine is None else np.where(mine, every, 0.0)
        if mine is not None and np.any(np.max(size, axis=1) < FAINT):  # below the others, or without neurons
            logs = np.where(mine, s.log_w, -np.inf)
            own = np.max(logs, axis=1, keepdims=True)
            size = np.exp(logs - np.where(np.isfinite(own), own, 0.0))
        found[:, column] = np.sum(size**2, axis=1) / np.maximum(largest(s.unit * size[..., None]), TINY)
    return found


def largest(w: np.ndarray) -> np.ndarray:
    """The square of the largest singular value of every matrix of a stack."""
    if w.shape[2] == 2:
        x, y = w[..., 0], w[..., 1]
        a, b, c = np.sum(x * x, axis=1), np.sum(x * y, axis=1), np.sum(y * y, axis=1)
        return largest_of_two(a, b, c)
    other = np.swapaxes(w, 1, 2)
    return np.linalg.eigvalsh(w @ other if w.shape[1] < w.shape[2] else other @ w)[:, -1]


def largest_of_two(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The larger eigenvalue of [[a, b], [b, c]]."""
    return 0.5 * (a + c + np.hypot(a - c, 2 * b))


def margins(s: States, problem) -> np.ndarray:
    """The normalised margin of every datum, (frames, n): y_i f(x_i) / |theta|^2, or / |W| where only W is trained. With
    classes y_i f is f_y less the largest other output.

    Scales are taken out before sums, of W and of a together or, where only W is trained, of W.
    """
    both = problem.train == "both"
    top = np.max(np.maximum(s.log_w, s.log_a) if both else s.log_w, axis=1)[:, None]
    w, a = np.exp(s.log_w - top), np.exp(s.log_a - (top if both else 0.0))
    norm = np.sum(w**2 + a**2, axis=1) if both else np.sqrt(np.sum(w**2, axis=1))
    z = s.unit @ problem.data.x.T
    z = np.where(z > 0, z, problem.activation.slope * z)
    if problem.outputs == 1:
        lead = problem.data.y * np.einsum("fm,fmn->fn", s.sign * w * a, z)
    else:
        f, own = np.einsum("fm,fmk,fmn->fnk", w * a, s.head, z, optimize=True), problem.targets > 0
        lead = np.sum(np.where(own, f, 0.0), axis=-1) - np.max(np.where(own, -np.inf, f), axis=-1)
    return (lead / norm[:, None]).astype(np.float32)


def picture(
    sol, *, draft: bool = False, states: States | None = None, also=(), room: int = 480, refine: bool = True
) -> tuple[dict, dict[str, np.ndarray]]:
    """Header and arrays of a run for the page; `also` are logarithms of times that must be among the frames."""
    problem = sol.problem
    m, n, d = problem.init.width, problem.data.n, problem.data.d
    room = int(np.clip(1.2e6 / (m * max(n, 4)), 24, DRAFT_FRAMES if draft else room))
    more = 0 if draft or not refine else min(160, room // 2) if m * n <= 2000 else 24
    s = states if states is not None else refined(sol, max(room - more, 16), min(more, room // 2), also)
    aims = targets(problem)
    flat = plane(problem)
    event = np.concatenate([[0.0], np.cumsum(activity(s))]) if len(s) > 1 else np.zeros(1)
    balanced = bool(np.all(np.abs(s.log_a - s.log_w) < 1e-9))
    norm2 = np.sum(np.exp(2 * s.log_w) + np.exp(2 * s.log_a), axis=1)
    header = {
        "m": m,
        "n": n,
        "d": d,
        "frames": len(s),
        "draft": draft,
        "loss": problem.loss,
        "slope": problem.activation.slope,
        "decay": problem.decay,
        "bias": bool(d == 2 and np.all(problem.data.x[:, 1] == 1.0)),
        "tailed": problem.endless,
        "descent": is_descent(sol),
        "step": getattr(sol.method, "step", None),
        "outcome": sol.outcome.value,
        "success": sol.outcome.success,
        "steps": sol.stats.steps,
        "events": sol.stats.events,
        "slides": sol.stats.slides,
        "seconds": sol.stats.seconds,
        "non_unique": sol.stats.non_unique,
        "balanced": balanced,
        "classes": class_names(problem),
        "aims": [
            {**k, "direction": (flat @ k["direction"]).tolist(), "full": np.asarray(k["direction"]).tolist()}
            for k in aims
        ],
        "plane": flat.tolist(),
    }
    arrays = {
        "t": finite(s.t),
        "log_t": finite(s.log_t),
        "event": np.minimum(event, 1.0),
        "log_loss": finite(s.log_loss),
        "norm2": finite(norm2),
        "outputs": finite(s.outputs),
        "x": np.asarray(problem.data.x, float),
        "y": np.asarray(problem.data.y, float),
        "xy": problem.data.x @ flat.T,
        "dir": (s.unit @ flat.T).astype(np.float32),
        "log_w": finite(s.log_w),
        "sign": s.sign,
        "bits": s.bits,
        "cosine": cosines(s, problem, aims),
    }
    if d > 1:
        arrays["rank"] = ranks(s)
    if problem.endless:
        arrays["margin"] = margins(s, problem)
    if problem.outputs > 1:
        arrays["head"] = s.head.astype(np.float32)
    if not balanced:
        arrays["log_a"] = finite(s.log_a)
    return header, arrays


def class_names(problem) -> list[str]:
    """The names of the classes; none with one output."""
    k = problem.outputs
    return list(problem.data.classes or map(str, range(k))) if k > 1 else []


def finite(a: np.ndarray) -> np.ndarray:
    """Infinities as the largest numbers: the page reads them from the logarithms."""
    a = np.asarray(a, float)
    if np.isfinite(a).all():
        return a
    return np.nan_to_num(a, nan=0.0, posinf=1.7e308, neginf=-1.7e308)
