"""Whether a violation is believed: judged again by other means, each of which may refute it.

A run is solved again at rtol/100 in the other regime and at rtol/10000; ten neighbours at a relative distance of 1e-6
are solved and judged; the independent reference follows it; its distance from a bifurcation is read; a limit is judged
at three scales, a check that samples with other seeds; and the violation must exceed its slack ten times.

Windows have no implicit steps (but in linear networks), and reach their step limit where a run is stiff. Then they
say nothing about the rest of the run: the run at rtol/100 is made in the same regime, and the reference, which is left
out elsewhere where it would take too long, must be there and have the same outputs and the same events.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from reluflow import _text
from reluflow.claim import Claim
from reluflow.confirm import PROMISE, Confirmation, Scale, again, compared
from reluflow.engine.pack import units_of
from reluflow.falsify.judgement import HYPOTHESES, UNMEASURED, VIOLATED, Judged, chosen, firm, judged, name
from reluflow.falsify.plain import end_of
from reluflow.falsify.target import Target
from reluflow.methods import Limits
from reluflow.outcome import Outcome
from reluflow.solution import Solution
from reluflow.solve import solve
from reluflow.space.spec import SingleSpec, Spec

NEIGHBOURS, DISTANCE, ENOUGH = 10, 1e-6, 8
SEEDS = 4
STEPS = 50_000
AGREE = 1e-7  # of outputs: two runs may miss the promise at tolerances near rounding and still be the same run
REFERENCE_SCALE = -320.0  # the reference needs as many digits as the scale has: below, it takes minutes
REFERENCE_SECONDS, DECIDES_SECONDS = 20.0, 120.0
REFERENCE_ITERATIONS = 3000
OTHER = "other regime"


@dataclass(frozen=True)
class Test:
    """One way a find was looked at again. `upheld` is None where it cannot be, with the reason in `said`."""

    name: str
    upheld: bool | None
    said: str

    def __str__(self) -> str:
        return f"{self.name}: {self.said}"

    __test__ = False  # pytest looks for classes of this name


@dataclass(frozen=True)
class Case:
    """A violation: the target, where, and what was judged there."""

    target: Target
    spec: object
    first: Judged

    @property
    def a_run(self) -> bool:
        return self.target.needs not in ("data", "problem")

    def same(self, found: Judged) -> bool:
        """The same claim violated by at least half the excess."""
        return found.tier == VIOLATED and found.text == self.first.text and found.value >= 0.5 * self.first.value


def verify(case: Case, *, quick: bool = False) -> list[Test]:
    """All tests that suit the case; with `quick`, those that cost a run or two."""
    steps: list[Callable[[Case], Iterator[Test]]] = [_slack, _limit, _seeds]
    if isinstance(case.spec, SingleSpec):
        steps += [_single]
    elif case.a_run:
        steps += [_flow] if case.spec.step is None else [_descent]  # type: ignore[attr-defined]
    steps += [_neighbours]
    found: list[Test] = []

    def reference(case: Case) -> Iterator[Test]:
        return _reference(case, decides=any(t.name == OTHER for t in found))

    if not quick and isinstance(case.spec, Spec) and case.a_run and case.spec.step is None:
        steps += [reference]
    for step in steps:
        try:
            found += step(case)
        except KeyboardInterrupt:
            raise
        except Exception as error:
            found.append(
                Test(step.__name__.strip("_"), False, f"{type(error).__name__}: {' '.join(str(error).split())}")
            )
        if any(t.upheld is False for t in found):
            break
    return found


def doubts(tests: list[Test]) -> str:
    """Why a find is not believed; empty if it is."""
    return "; ".join(str(t) for t in tests if t.upheld is False)


def steady(case: Case) -> bool:
    """Whether a smaller counterexample is no accident: away from bifurcations, and two neighbours alike."""
    if isinstance(case.spec, Spec) and case.a_run and case.spec.step is None:
        base = case.spec.solve()
        if _near(base) or doubts(_second(base)[1]):
            return False
    rng = np.random.default_rng([0, 7])
    moved = (case.target.evaluate(case.spec.moved(rng, DISTANCE)) for _ in range(2))  # type: ignore[attr-defined]
    return all(case.same(found) for found in moved)


# The claim ------------------------------------------------------------------------------------------------------------


def _claim(case: Case) -> Claim:
    report = case.target.report(case.spec.subject(case.target.needs))  # type: ignore[attr-defined]
    return next(c for c in chosen(report, case.target.only) if name(c) == case.first.text and c.verdict == "violated")


def _slack(case: Case) -> Iterator[Test]:
    claim = _claim(case)
    if claim.slack > 0:
        beyond = (
            f"e^{-claim.margin - claim.slack:.3g} times" if claim.log else f"{-claim.margin / claim.slack:.3g} times"
        )
        # The slack of a limit is an estimate of what is left of it, and no bound.
        named = ("limit", f"slack exceeded {beyond}") if claim.kind == "limit" else ("slack", f"exceeded {beyond}")
        yield Test(named[0], firm(claim), named[1])


def _limit(case: Case) -> Iterator[Test]:
    """A limit is judged where it is taken: at a scale two and four times as small in logarithm."""
    claim = _claim(case)
    if claim.kind != "limit" or not isinstance(case.spec, Spec) or case.spec.w is None:
        return
    found = [case.target.evaluate(replace(case.spec, log_scale=k * case.spec.log_scale)) for k in (2.0, 4.0)]
    away = [f for f in found if f.tier == VIOLATED and f.text == case.first.text and f.value >= 0.5 * case.first.value]
    said = "same at scales two and four times as small in logarithm"
    yield Test("limit", len(away) == 2, said if len(away) == 2 else "not violated at smaller scales, as a limit allows")


def _seeds(case: Case) -> Iterator[Test]:
    if not case.target.samples:
        return
    subject = case.spec.subject(case.target.needs)  # type: ignore[attr-defined]
    found = [judged(case.target.report(subject, seed=seed), case.target.only) for seed in range(1, 1 + SEEDS)]
    # One sample that violates is enough for a claim about all; that others find one too excludes an accident.
    count = sum(f.tier == VIOLATED and f.text == case.first.text for f in found)
    yield Test("other seeds", count > 0, f"violated with {count} of {SEEDS}")


# Runs -----------------------------------------------------------------------------------------------------------------


def _flow(case: Case) -> Iterator[Test]:
    spec = case.spec
    assert isinstance(spec, Spec)
    base = spec.solve()
    other, tests = _second(base)
    yield from tests
    regime = "windows" if other.stats.regimes.get("windows", 0) else "coupled"
    yield _again(case, f"rtol/100, {regime} regime", other)
    end = {"log_t1": base.log_t_end} if base.problem.tailed else {"t1": base.t_end}
    rtol = max(1e-13, spec.training.rtol / 1e4)
    yield _again(case, "rtol/10000", replace_end(spec, rtol, end))
    yield Test("bifurcation", not _near(base), f"at a distance of {base.stats.nearest_bifurcation:.2g}")


def _near(sol) -> bool:
    """Whether a run is not unique, or nearer to a bifurcation than its error."""
    return bool(sol.stats.non_unique) or sol.stats.nearest_bifurcation < 100 * sol.stats.rtol


def _second(base) -> tuple[Solution, list[Test]]:
    """The run at rtol/100 in the other regime or, where that takes too many steps, in the same; and how they agree."""
    other = again(base, Limits(steps=STEPS))
    agreed = compared(base, other)
    if agreed.reason != "stopped early" or agreed.outcome is not Outcome.STEP_LIMIT:
        return other, [_confirmed(agreed)]
    said = f"{agreed.regime} takes more than {STEPS:,} steps; until it stops, at t = {_text.by_log(agreed.log_t)}, "
    said += f"outputs agree to {agreed.digits:.1f} digits, and "
    said += f"{agreed.agreeing} of {max(agreed.events, agreed.finer_events)} events"
    other = again(base, Limits(steps=STEPS), other=False)
    so_far = Test(OTHER, None if agreed.outputs <= AGREE else False, said)
    return other, [so_far, _confirmed(compared(base, other))]


def _confirmed(agreed: Confirmation) -> Test:
    """What `rf.confirm` says of a run and its second."""
    if agreed.place is not None and agreed.reason in ("not unique", "near a bifurcation"):
        return Test("confirmation", False, f"{agreed.reason}, at a distance of {agreed.place.distance:.2g}")
    if agreed.reason == "stopped early" or agreed.first is not None or agreed.outputs > AGREE:
        return Test("confirmation", False, str(agreed))
    return Test("confirmation", True, f"outputs to {agreed.digits:.1f} digits, {agreed.agreeing} events")


def replace_end(spec: Spec, rtol: float, end: dict):
    """The run at another tolerance, until a given time."""
    return solve(spec.problem(), spec.method(rtol), **end, limits=Limits(steps=STEPS), throw=False)


def _again(case: Case, what: str, subject) -> Test:
    found = judged(case.target.report(subject), case.target.only)
    if found.tier == UNMEASURED:
        return Test(what, None, "not measured on a run that ends there")
    if found.tier == HYPOTHESES:
        return Test(what, False, f"a hypothesis fails: {found.text}")
    return Test(what, case.same(found), "same" if case.same(found) else f"excess {found.value:.3g} of {found.text}")


def _neighbours(case: Case) -> Iterator[Test]:
    rng = np.random.default_rng([0, 6])
    found = [case.target.evaluate(case.spec.moved(rng, DISTANCE)) for _ in range(NEIGHBOURS)]  # type: ignore[attr-defined]
    same = sum(case.same(f) for f in found)
    said = f"same in {same} of {NEIGHBOURS}"
    yield Test("neighbours", same >= ENOUGH, said)


def _reference(case: Case, decides: bool = False) -> Iterator[Test]:
    """The flow in arbitrary precision, from other code: outputs at five times. Where it `decides`, because the other
    regime did not take part, it must be there, and have the same events."""
    spec = case.spec
    assert isinstance(spec, Spec)
    absent = False if decides else None
    if spec.log_scale < REFERENCE_SCALE:
        yield Test("reference", absent, f"not run: e^{spec.log_scale:.6g} would take hundreds of digits")
        return
    try:
        import reluflow.reference  # noqa: F401
    except ImportError:
        yield Test("reference", absent, "not run: it needs `reluflow[precise]`")
        return
    base = spec.solve()
    last = float(np.max(base.events.t, initial=0.0))
    # After the last event the pattern is constant, and the rest takes long where it is stiff.
    times = [c * last for c in (0.25, 0.5, 0.75, 1.0001)] if decides and 0 < last < 1e7 else _times(base)
    if not times:
        yield Test("reference", absent, "not run: the run ends beyond the range of times it follows")
        return
    for share in (0.45, 0.95):  # of |log scale| in decimal digits: the second is needed past several saddles
        try:
            most = DECIDES_SECONDS if decides else REFERENCE_SECONDS
            exact = _followed(base.problem, times, 30 + int(share * abs(spec.log_scale)), most)
        except (RuntimeError, NotImplementedError) as error:
            yield Test("reference", absent, f"not run to the end: {error}")
            return
        f, g = exact.outputs(), base.outputs_at(times)
        size = max(float(np.max(np.abs(base.problem.data.y))), float(np.max(np.abs(f))))
        apart = float(np.max(np.abs(f - g))) / size
        if apart <= 100 * spec.training.rtol:
            break
    digits = min(16.0, -math.log10(apart)) if apart > 0 else 16.0
    agrees = apart <= 100 * spec.training.rtol
    said = f"outputs at {len(times)} times agree to {digits:.1f} digits"
    if decides:
        same, count = _same_events(base, exact, times[-1])
        agrees = agrees and same
        said += f", and {'' if same else 'not '}all events do ({count} up to t = {times[-1]:.6g})"
    yield Test("reference", agrees, said)


def _same_events(sol, exact, end: float) -> tuple[bool, int]:
    """Whether a run and the reference have the same changes of bits until `end`, at times equal as promised."""
    scale = Scale(math.log(end), -units_of(sol.problem).log_time, PROMISE * sol.stats.rtol)
    columns = (sol.events.t, sol.events.neuron, sol.events.datum, sol.events.kind)
    ours = [(int(j), int(k), str(kind), float(t)) for t, j, k, kind in zip(*columns) if k >= 0 and 0 < t <= end]
    theirs = [(e.neuron, e.datum, e.kind, float(e.t)) for e in exact.events if e.datum >= 0 and 0 < float(e.t) <= end]
    pairs = zip(sorted(ours), sorted(theirs))
    same = all(a[:3] == b[:3] and scale.apart(math.log(a[3]), math.log(b[3])) <= scale.promise for a, b in pairs)
    return same and len(ours) == len(theirs), len(ours)


def _followed(problem, times: list[float], digits: int, seconds: float):
    """The reference, given as many steps as fit in its time, judged by its first hundred."""
    from reluflow.reference import flow

    began = time.process_time()
    try:
        return flow(problem, times, digits=digits, steps=100)
    except RuntimeError:
        each = max(time.process_time() - began, 1e-3) / 100
    return flow(problem, times, digits=digits, steps=int(seconds / each))


def _times(sol) -> list[float]:
    """Four moments of a run, up to where its loss has fallen by e^20, or to t = 1e6, and one after the last event."""
    fallen = np.flatnonzero(sol.log_loss <= sol.log_loss[0] - 20.0)
    end = float(sol.t[fallen[0]]) if len(fallen) else sol.t_end
    end = min(end, 1e6) if sol.problem.tailed else end
    if not 0 < end < 1e7:
        return []
    events = [t for t in sol.events.t.tolist() if 0 < t < end]
    marks = {0.25 * end, 0.5 * end, 0.75 * end, end, *(1.0001 * t for t in events[-1:] if 1.0001 * t < end)}
    return sorted(marks)


def _descent(case: Case) -> Iterator[Test]:
    """Every iteration in 30 digits, from other code."""
    spec = case.spec
    assert isinstance(spec, Spec) and spec.step is not None
    from reluflow.reference import descent

    sol = spec.solve()
    count = min(REFERENCE_ITERATIONS, round(sol.t_end / spec.step))
    exact = descent(sol.problem, spec.step, [count])
    f, g = exact.outputs()[0], sol.outputs_at([count * spec.step])[0]
    error = float(np.max(np.abs(f - g))) / max(1.0, float(np.max(np.abs(f))))
    yield Test("reference", error <= 1e-9, f"outputs after {count} iterations differ by {error:.2g}")


# Single neurons -------------------------------------------------------------------------------------------------------


def _single(case: Case) -> Iterator[Test]:
    spec = case.spec
    assert isinstance(spec, SingleSpec)
    if spec.step is None:
        for parts in (100, 10_000):
            rtol = max(1e-13, spec.rtol / parts)
            yield _again(case, f"rtol/{parts}", spec.subject("single", rtol))
    yield _plain(spec)


def _plain(spec: SingleSpec) -> Test:
    """The two equations of magnitude and angle, integrated by scipy or iterated by a loop over plain weights."""
    run = spec.subject("single")
    ours = float(run.norm[-1]), float(2.0 * math.atan(math.exp(min(run.y[-1], 700.0))))
    theirs = end_of(spec, float(run.t[-1]))
    error = max(abs(ours[0] - theirs[0]) / max(1.0, theirs[0]), abs(ours[1] - theirs[1]))
    return Test("reference", error <= 1e-6, f"a plain loop ends within {error:.2g}")
