"""`rf.falsify`: the search, from the smallest members of a space to the largest, until a violation is believed."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from reluflow._checks import by_name, number, one_of, whole
from reluflow.falsify import defaults
from reluflow.falsify.finding import Finding, History
from reluflow.falsify.journal import Journal
from reluflow.falsify.judgement import ERROR, HOLDS, HYPOTHESES, NO_CLAIM, TIERS, UNMEASURED, VIOLATED, Judged
from reluflow.falsify.pool import Here, Many
from reluflow.falsify.search import STRATEGIES
from reluflow.falsify.shrink import shrink
from reluflow.falsify.target import Target, target
from reluflow.falsify.verify import Case, Test, doubts, steady, verify

EARLY = 200  # runs after which a claim that never applied is spoken of
FARTHEST = 6.0  # of an entry of u, in its standard deviations: an optimiser left alone walks to infinity
DOUBTS = 12  # violations that were looked at closely and not believed, before the rest are taken as doubtful too


@dataclass(frozen=True)
class Now:
    """What `progress` is told after every generation."""

    runs: int
    seconds: float
    budget: float
    size: tuple
    best: Judged | None
    note: str = ""


@dataclass
class Budget:
    """Seconds of one core's time, or a number of runs."""

    seconds: float
    runs: int | None
    workers: int
    spent: float = 0.0
    taken: int = 0

    @property
    def share(self) -> float:
        """The part that is used up."""
        return self.taken / self.runs if self.runs is not None else self.spent / self.workers / self.seconds

    @property
    def left(self) -> int | None:
        """How many runs are left; None where seconds count."""
        return None if self.runs is None else max(0, self.runs - self.taken)


@dataclass
class Best:
    """The nearest to a violation so far."""

    spec: Any = None
    judged: Judged | None = None

    def offer(self, spec, found: Judged) -> bool:
        if self.judged is not None and found.score >= self.judged.score:
            return False
        self.spec, self.judged = spec, found
        return True


@dataclass
class Tally:
    """Counts of a search, for the history."""

    tiers: Counter = field(default_factory=Counter)
    hypotheses: Counter = field(default_factory=Counter)
    errors: Counter = field(default_factory=Counter)
    examples: dict[str, Any] = field(default_factory=dict)
    tight: dict[str, tuple[float, Any]] = field(default_factory=dict)
    trace: list[tuple[int, int, float]] = field(default_factory=list)

    def add(self, spec, found: Judged) -> None:
        self.tiers[TIERS[found.tier]] += 1
        if found.tier == HYPOTHESES:
            self.hypotheses[found.text] += 1
        if found.tier == ERROR:
            self.errors[found.text] += 1
            self.examples.setdefault(found.text, spec)
        for text, value in found.tight.items():
            if value > self.tight.get(text, (-1.0, None))[0]:
                self.tight[text] = (value, spec)


@by_name
def falsify(
    claim: str | Callable,
    over=None,
    *,
    form: str | None = None,
    only: str = "",
    seconds: float = 60.0,
    runs: int | None = None,
    seed: int = 0,
    workers: int = 1,
    scheduler: str | None = None,
    search: str = "cma",
    store: str | Path | None = None,
    resume: bool = False,
    progress: Callable[[Now], None] | None = None,
) -> Finding:
    """Searches the space `over` for a run that meets the hypotheses of `claim` and violates it.

    `claim` is the name of a check (with `form="printed"` for the paper's own wording, `only` for the claims whose text
    contains it) or a function of a run, of `rf.Data` or of `rf.Problem` (its argument's annotation says which) that
    returns a margin (negative: violated), True or False, a Claim or a Report. A check has a space of its own where
    `over` is left out.

    The search takes `seconds` of each core's time (or so many `runs`), on `workers` processes or a Dask `scheduler`.
    A violation counts only after it has been judged again by other means (`Finding.tests`), and is then made small:
    neurons may become fewer than `width`, data no fewer than the smallest `n` of a space that is given.
    With `store` every run is written to a file, from which `resume=True` goes on. Ctrl-C returns what there is.
    """
    number("seconds", seconds, rule="positive", ok=lambda v: 0 < v < np.inf, hint="60 is a good start")
    if runs is not None:
        whole("runs", runs, least=1, hint="left out, `seconds` decides")
    one_of("search", search, STRATEGIES)
    at = target(claim, form, only, over)
    space = defaults.space_of(at, over)
    work = _Search(
        at, space, Budget(float(seconds), runs, whole("workers", workers, least=1, hint="1 is this process"))
    )
    about = {"claim": at.name, "form": at.form, "only": only, "space": repr(space), "seed": seed, "search": search}
    work.fewest = 1 if over is None else min(getattr(space, "n", (1,)))
    work.journal = Journal(store, about, resume)
    work.progress, work.seed, work.strategy = progress, whole("seed", seed, least=0, hint="any seed"), search
    pool = Many(at, space, workers, scheduler) if workers > 1 or scheduler else Here(at)
    try:
        return work.run(pool)
    finally:
        pool.close()
        work.journal.close()


class _Search:
    journal: Journal
    progress: Callable[[Now], None] | None
    seed: int
    strategy: str

    def __init__(self, at: Target, space, budget: Budget):
        self.at, self.space, self.budget = at, space, budget
        self.best, self.tally = Best(), Tally()
        self.doubtful: list[tuple[Any, Judged, list[Test]]] = []
        self.early: set[str] = set()
        self.note = ""
        self.fewest = 1  # data that shrinking leaves
        self.spent_before = time.process_time()

    def run(self, pool) -> Finding:
        interrupted = False
        found = None
        try:
            ladder = self.space.ladder()
            for k, size in enumerate(ladder):
                found = self._one_size(pool, size, (k + 1) / len(ladder))
                if found is not None:
                    break
        except KeyboardInterrupt:
            interrupted = True
        if found is not None:
            return self._refuted(*found)
        return self._not_refuted(interrupted)

    def _one_size(self, pool, size, until: float):
        """Generations of one size, until a violation is believed or its share of the budget is spent."""
        needs = self.at.needs
        steps = STRATEGIES[self.strategy](self.space.dim(size, needs), self.seed)
        draws = next(steps)
        while self.budget.share < until:
            left = self.budget.left
            specs = [self._spec(u, size) for u in draws[:left]]
            scores = []
            for spec, found in zip(specs, self._judge(pool, specs)):
                self.budget.taken += 1
                if found.tier == VIOLATED and not doubts(self._believed(spec, found)):
                    self._count(spec, found)
                    self.tell(size)
                    return spec, found
                scores.append(self._scored(spec, found))
            self.tell(size)
            if len(scores) < len(draws):
                return None
            draws = steps.send(np.array(scores))
        return None

    def _spec(self, u, size):
        try:
            with np.errstate(all="ignore"):
                return self.space.spec(np.clip(u, -FARTHEST, FARTHEST), size, self.at.needs)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            return error

    def _judge(self, pool, specs: list) -> list[Judged]:
        """Judgements of a generation, from the journal where it has them."""
        found: list[Judged | None] = [None] * len(specs)
        new = []
        for k, spec in enumerate(specs):
            if isinstance(spec, Exception):
                found[k] = Judged(ERROR, -1.0, f"{type(spec).__name__}: {spec}")
            elif spec.digest in self.journal.known:
                found[k] = self.journal.known[spec.digest]
            else:
                new.append(k)
        for k, judged in pool.judge([(k, specs[k]) for k in new]):
            found[k] = judged
            self.journal.add(specs[k].digest, judged)
        done = [f for f in found if f is not None]
        self.budget.spent += sum(f.seconds for f in done)
        return done

    def _believed(self, spec, found: Judged) -> list[Test]:
        """Quick tests of a violation; the first few that fail are kept as doubtful."""
        if len(self.doubtful) >= DOUBTS:
            return [Test("doubtful", False, "like those before")]
        began = time.process_time()
        tests = verify(Case(self.at, spec, found), quick=True)
        self.budget.spent += time.process_time() - began
        # A limit that is not reached at one scale, and is at smaller ones, is as it should be.
        if any(t.upheld is False and t.name != "limit" for t in tests):
            self.doubtful.append((spec, found, tests))
        elif doubts(tests):
            self.early.add(spec.digest)
        return tests

    def _scored(self, spec, found: Judged) -> float:
        if isinstance(spec, Exception):
            self.tally.tiers["error"] += 1
            self.tally.errors[found.text] += 1
            return found.score
        if found.tier == VIOLATED and spec.digest in self.early:
            found = Judged(HOLDS, 0.0, found.text)
        if found.tier == VIOLATED:  # doubtful, or it would have ended the search
            self.tally.tiers["doubtful"] += 1
            return Judged(HOLDS, 0.0).score
        self._count(spec, found)
        return found.score

    def _count(self, spec, found: Judged) -> None:
        self.tally.add(spec, found)
        if self.best.offer(spec, found):
            self.tally.trace.append((self.budget.taken, found.tier, found.value))

    def tell(self, size) -> None:
        count = self.budget.taken
        applied = sum(self.tally.tiers[t] for t in ("holds", "violated", "doubtful"))
        if not self.note and count >= EARLY and not applied:
            self.note = self._why_not(count)
        if self.progress is not None:
            spent = self.budget.spent / self.budget.workers
            self.progress(Now(count, spent, self.budget.seconds, size, self.best.judged, self.note))

    def _why_not(self, count: int) -> str:
        """What keeps a claim from being judged, in one sentence."""
        tiers = self.tally.tiers
        if tiers["unmeasured"] and self.best.judged is not None and self.best.judged.text == NO_CLAIM:
            return "None of its claims can be violated: each has a constant that the paper leaves open."
        if tiers["unmeasured"]:
            return f"Nothing was measured in {count:,} runs ({tiers['unmeasured']:,} met the hypotheses)."
        if self.tally.hypotheses:
            text, times = self.tally.hypotheses.most_common(1)[0]
            fails = f'the hypothesis that fails most is "{text}" ({times:,} times)'
            return f"The claim applied in none of {count:,} runs; {fails}."
        text, times = self.tally.errors.most_common(1)[0]
        return f"All of {count:,} runs failed, {times:,} of them with: {text}"

    # What comes back --------------------------------------------------------------------------------------------------

    def _history(self) -> History:
        seconds = self.budget.spent / self.budget.workers
        tight = {text: (value, spec) for text, (value, spec) in self.tally.tight.items()}
        return History(
            runs=self.budget.taken,
            seconds=seconds,
            tiers=dict(self.tally.tiers),
            hypotheses=dict(self.tally.hypotheses.most_common()),
            errors=dict(self.tally.errors.most_common()),
            examples=self.tally.examples,
            tight=tight,
            trace=tuple(self.tally.trace),
        )

    def _refuted(self, spec, found: Judged) -> Finding:
        history = self._history()
        sound = lambda spec, found: steady(Case(self.at, spec, found))
        chain, taken = shrink(spec, found, self.space, self.at.evaluate, sound, fewest=self.fewest)
        # The smallest that is upheld: where the last is not, ones before it, in steps that double.
        back = 1
        while True:
            small, said = chain[-min(back, len(chain))]
            tests = verify(Case(self.at, small, said))
            if not doubts(tests) or back >= len(chain):
                break
            back *= 2
        verdict = "doubtful" if doubts(tests) else "refuted"
        return Finding(self.at, self.space, verdict, small, said, history, tests, doubts(tests), spec, taken)

    def _not_refuted(self, interrupted: bool) -> Finding:
        history, at = self._history(), self.at
        note = "interrupted" if interrupted else ""
        if self.doubtful:
            spec, found, tests = max(self.doubtful, key=lambda d: d[1].value)
            return Finding(at, self.space, "doubtful", spec, found, history, tests, doubts(tests), spec, 0, note)
        best = self.best.judged
        if best is None or best.tier <= UNMEASURED:
            why = self._why_not(history.runs) if history.runs else "no run was judged"
            spec = self.best.spec
            return Finding(at, self.space, "vacuous", spec, best, history, [], why, spec, 0, note)
        return Finding(at, self.space, "not refuted", self.best.spec, best, history, [], "", self.best.spec, 0, note)
