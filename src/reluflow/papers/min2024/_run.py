r"""A run as the paper sees it: sum loss, r(0) = 1, and every moment at which a claim must be looked at.

    loss         theory time       r = -dl/dz in theory's units
    sum exp      t                 e^-z                          the mean divides time by n
    sum log2     t                 2 / (1 + e^z)
    sum log1     t / 2             2 / (1 + e^z)                 exactly log2 at half the pace; printed: t and 1/(1+e^z)
    square       t                 (no part 2 of Theorem 1; Remark 4)

Moments looked at: the run's own frames, every event, midpoints between events, and even grids over the alignment phase
and up to T. Patterns, cones, outputs and pulls come from the weights at those moments (`observe._witness`), never from
the log of events. A claim about moments after the end of the run is unfinished: `Run.ends_before` says what is missing.
"""

from functools import cached_property

import numpy as np

from reluflow.claim import Claim
from reluflow.observe._view import log_abs
from reluflow.observe._witness import Witness
from reluflow.observe.membership import members
from reluflow.observe.paths import Visit, moments, visits
from reluflow.papers._unfinished import ends_before, so_far
from reluflow.papers.min2024._constants import constants

LEVEL = 0.25  # of max |f|, in the definition of t2
GRID = 64


class Run:
    """A Solution with theory's clock and the quantities that several results need."""

    def __init__(self, sol, form: str = "corrected"):
        self.sol, self.problem, self.form = sol, sol.problem, form
        self.data = sol.problem.data
        self.c = constants(self.problem, form)
        self.geo = self.c.geo
        self.gain = 2.0 if self.problem.loss == "logistic" and form == "corrected" else 1.0
        self.tempo = self.problem.weight / self.gain
        self.sign = np.sign(self.problem.init.a)
        self.t_end = float(sol.t[-1]) * self.tempo

    # Moments --------------------------------------------------------------------------------------------------------

    @cached_property
    def seen(self) -> Witness:
        """The run at every moment looked at."""
        end = self.t_end / self.tempo
        events = np.unique(self.sol.events.t)
        last = min(end, 2.0 * events[-1]) if len(events) and events[-1] > 0 else end
        marks = [moments(self.sol), np.linspace(0.0, last, GRID)]
        marks.append(np.array([self.c.t1, self.c.t1_sharp, *self.t2.values()]) / self.tempo)
        if self.c.T > 0:
            marks.append(np.linspace(0.0, self.c.T / self.tempo, GRID))
        times = np.unique(np.concatenate([np.atleast_1d(m[np.isfinite(m)]) for m in marks]))
        return self.at(times[(times >= 0) & (times <= end)])

    def at(self, t) -> Witness:
        """The run at its own times t."""
        return Witness(self.sol, t=np.atleast_1d(np.asarray(t, float)))

    def ends_before(self, until: float, what: str) -> str:
        """What is missing where the run ends before theory's time `until`, called `what`; empty where it does not."""
        return ends_before(self.t_end, until, what)

    def own_time(self, until: float) -> float:
        """Theory's time in the run's own."""
        return until / self.tempo if np.isfinite(until) else 0.0

    @cached_property
    def tau(self) -> np.ndarray:
        """Theory's times of those moments."""
        return self.seen.t * self.tempo

    def where(self, k: int, j: int | None = None) -> str:
        """A moment and a neuron, for `Claim.at`."""
        return f"t = {self.tau[k]:.4g}" + ("" if j is None else f", neuron {j}")

    # Patterns -------------------------------------------------------------------------------------------------------

    @cached_property
    def visits(self) -> list[list[Visit]]:
        """Each neuron's patterns, in theory's time, from the signs of <w_j, x_i>."""
        return [[Visit(v.on, v.start * self.tempo, v.end * self.tempo) for v in row] for row in visits(self.seen)]

    def cone(self, on) -> str:
        """The cone of `on` = (neuron, active data): own (S+ for V+, S- for V-), dead, other (the opposite), or none."""
        j, active = on
        bits = np.zeros(self.data.n)
        bits[list(active)] = 1.0
        plus, minus, dead = members(bits, self.data.y)
        if dead:
            return "dead"
        if plus or minus:
            return "own" if plus == (self.sign[j] > 0) else "other"
        return ""

    @cached_property
    def homes(self) -> list[list[str]]:
        """The cone of every visit."""
        return [[self.cone((j, v.on)) for v in row] for j, row in enumerate(self.visits)]

    @cached_property
    def arrival(self) -> np.ndarray:
        """When each neuron first is in its own cone or dead; inf if never in this run."""
        first = []
        for row, homes in zip(self.visits, self.homes, strict=True):
            found = [v.start for v, home in zip(row, homes, strict=True) if home in ("own", "dead")]
            first.append(found[0] if found else np.inf)
        return np.array(first)

    @property
    def aligned(self) -> float:
        """When the last neuron has arrived."""
        return float(np.max(self.arrival))

    @cached_property
    def ends(self) -> list[str]:
        """Where each neuron is at the end."""
        return [row[-1] for row in self.homes]

    def group(self, sign: float) -> np.ndarray:
        """Vt+ or Vt-: neurons that arrived in their own cone (not dead), with that sign."""
        own = [next((h for h in homes if h in ("own", "dead")), "") == "own" for homes in self.homes]
        return np.array(own) & (self.sign == sign)

    def of_class(self, sign: float) -> np.ndarray:
        """I+ or I-."""
        return np.sign(self.data.y) == sign

    @property
    def sides(self) -> list[float]:
        """The classes that have data."""
        return [s for s in (1.0, -1.0) if np.any(self.of_class(s))]

    # Outputs --------------------------------------------------------------------------------------------------------

    @cached_property
    def log_f(self) -> np.ndarray:
        """log max_i |f(x_i)|, (moments,)."""
        return np.max(self.seen.log_outputs, axis=1)

    @cached_property
    def deviation(self) -> tuple[np.ndarray, np.ndarray]:
        """(mantissas, logs): -dl/df_i - y_i = mantissa_i e^log, the scale of max|f| taken out where it is small."""
        y, seen, log_f = self.data.y, self.seen, self.log_f
        if self.problem.loss == "logistic" and self.form == "printed":
            z = y * seen.outputs
            return -y / (1.0 + np.exp(-z)), np.zeros(len(seen))
        finite = np.where(np.isfinite(log_f), log_f, 0.0)
        share = y * np.sign(seen.mantissa) * np.exp(seen.log_outputs - finite[:, None])
        size = np.exp(np.minimum(finite, 300.0))[:, None]
        small = size < 1e-290
        safe = np.where(small, 1.0, size)
        if self.problem.loss == "square":
            ratio = -share
        elif self.problem.loss == "exponential":
            ratio = np.where(small, -share, np.expm1(-np.where(small, 0.0, size * share)) / safe)
        else:
            ratio = np.where(small, -share / 2, -np.tanh(np.where(small, 0.0, size * share) / 2) / safe)
        return y * ratio, finite

    @cached_property
    def force(self) -> tuple[np.ndarray, np.ndarray]:
        """`force_of` at every moment."""
        return self.force_of(self.seen)

    def force_of(self, seen: Witness) -> tuple[np.ndarray, np.ndarray]:
        """(mantissas, logs): r_i in theory's units (signed for the square loss: y_i (y_i - f_i))."""
        g, log_g = seen.drive
        return self.data.y * g, log_g - np.log(self.problem.weight) + np.log(self.gain)

    @cached_property
    def pull(self) -> np.ndarray:
        """D_j / e^log of `force`: sum over active i of r_i y_i x_i, (moments, h, d)."""
        return self.seen.pull

    def log_class_loss(self, sign: float) -> np.ndarray:
        """log of the sum of l(y_i, f_i) over one class, in theory's units (log1 counts twice)."""
        z = (self.data.y * self.seen.outputs)[:, self.of_class(sign)]
        if self.problem.loss == "exponential":
            logs = -z
        else:
            with np.errstate(divide="ignore", over="ignore"):
                logs = np.where(z > 30, -z, np.log(np.logaddexp(0.0, -z)))
            logs = logs + np.log(2.0 if self.problem.loss == "logistic2" else self.gain)
        return np.logaddexp.reduce(logs, axis=1)

    @cached_property
    def log_loss(self) -> np.ndarray:
        """log L in theory's units: the sum."""
        return self.seen.log_loss - np.log(self.problem.weight) + np.log(self.gain)

    @cached_property
    def t2(self) -> dict[float, float]:
        """t2+ and t2-: when max |f| over a class first exceeds 1/4; inf if not in this run, absent classes left out."""
        return {sign: self._first(self.of_class(sign)) for sign in self.sides}

    def _first(self, of) -> float:
        frames, t = Witness(self.sol), self.sol.t
        above = np.flatnonzero(np.max(np.abs(frames.outputs[:, of]), axis=1) > LEVEL)
        if len(above) == 0:
            return np.inf
        lo, hi = t[max(above[0] - 1, 0)], t[above[0]]
        for _ in range(6):
            cuts = np.linspace(lo, hi, 17)
            over = np.max(np.abs(self.at(cuts).outputs[:, of]), axis=1) > LEVEL
            over[-1] = True  # a frame, at which it was
            k = int(np.argmax(over))
            lo, hi = cuts[max(k - 1, 0)], cuts[k]
        return float(hi) * self.tempo

    # Hypotheses -----------------------------------------------------------------------------------------------------

    def hypotheses(self, *names: str) -> list[Claim]:
        return [hypothesis(name, self.problem, self.c, self) for name in names]


def hypothesis(name: str, problem, c, run: Run | None = None) -> Claim:
    """One of the assumptions that results share, as a claim."""
    geo = c.geo
    if name == "separable":
        pair = None if geo.pair is None else f"rows {geo.pair[0]} and {geo.pair[1]}"
        return Claim("Assumption 1: mu, the least label-signed cosine, is positive", geo.mu, ">", 0.0, at=pair)
    if name == "two data":
        return Claim("n is at least 2", geo.n, ">=", 2)
    if name == "labels":
        return Claim(
            "labels are +1 and -1: max ||y_i| - 1|", float(np.max(np.abs(np.abs(problem.data.y) - 1))), "=", 0.0
        )
    if name == "balanced":
        log_w, log_a = problem.init.log_scales
        w, a = np.linalg.norm(problem.init.w, axis=1), np.abs(problem.init.a) * np.exp(log_a - log_w)
        gap = np.max(np.abs(w**2 - a**2) / np.maximum(w**2 + a**2, 1e-300))
        eps = float(np.finfo(float).eps)
        return Claim("balanced (3): max |v_j^2 - |w_j|^2| / (v_j^2 + |w_j|^2)", gap, "<=", 0.0, slack=8 * eps)
    if name == "assumption 2":
        return Claim("Assumption 2: zeta_2, the distance from the opposite class sum, is positive", c.zeta2, ">", 0.0)
    if name == "relu":
        return Claim("the activation is ReLU: slope below 0", problem.activation.slope, "=", 0.0)
    if name == "both layers":
        return Claim("both layers are trained (1: yes)", float(problem.train == "both"), "=", 1.0)
    if name == "tail":
        return Claim("the loss is exponential or logistic (1: yes)", float(problem.tailed), "=", 1.0)
    if name == "horizon":
        return Claim("sqrt(h) eps < 1, so that T > 0", c.log_eps + 0.5 * np.log(c.h), "<", 0.0, log=True)
    if name == "eps lemma 3":
        return Claim("eps <= 1/(4 sqrt(h) Xmax Wmax^2)", c.log_eps, "<=", c.log_eps_lemma3, log=True)
    if name == "eps_A":
        return Claim("eps <= eps_A of (28)", c.log_eps, "<=", c.log_eps_a, log=True)
    if name == "eps_B":
        return Claim("eps <= eps_B of (28), so that t1 <= T", c.log_eps, "<=", c.log_eps_b, log=True)
    assert run is not None
    if name == "both groups":
        have = min(int(np.sum(run.group(s))) for s in run.sides)
        text = "neurons in S+ and in S- after alignment: the smaller number"
        missing = run.ends_before(c.t1, "t1") if have == 0 else ""
        return Claim(text, have, ">=", 1, missing=missing)
    if name == "aligned":
        first = min(run.t2.values())
        on_the_way = not np.isfinite(run.aligned) and not np.isfinite(first)
        missing = run.ends_before(c.t1, "t1") if on_the_way else ""
        return Claim("the last neuron arrives before t2+ and t2-", run.aligned, "<=", first, missing=missing)
    raise KeyError(name)


def as_run(sol, form: str = "corrected") -> Run:
    """The Run of a Solution, made once."""
    return sol.derived(Run, form)


def worst(values: np.ndarray, low: bool = False) -> tuple[float, tuple[int, ...]]:
    """The largest (smallest) entry that is not NaN, and where; (nan, ()) if there is none."""
    values = np.asarray(values, float)
    if values.size == 0 or np.all(np.isnan(values)):
        return np.nan, ()
    flat = int(np.nanargmin(values) if low else np.nanargmax(values))
    return float(values.flat[flat]), tuple(int(k) for k in np.unravel_index(flat, values.shape))


__all__ = ["LEVEL", "Run", "as_run", "hypothesis", "log_abs", "so_far", "worst"]
