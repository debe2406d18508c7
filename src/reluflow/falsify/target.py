"""What is attacked: a check by its name and form, or a function of the user's own, and which of its claims."""

import inspect
import json
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reluflow.checking import _import, _mine, check, checks
from reluflow.claim import Claim, Report
from reluflow.falsify.judgement import ERROR, Judged, judged
from reluflow.space.core import SingleSpace

KINDS = {"Data": "data", "Problem": "problem", "Solution": "flow", "Run": "single"}


@dataclass(frozen=True)
class Target:
    """`claim` is a check's name or a function; `only` chooses claims by a part of their text."""

    claim: str | Callable
    needs: str
    form: str | None = None
    only: str = ""
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        return self.claim if isinstance(self.claim, str) else getattr(self.claim, "__name__", "claim")

    @property
    def samples(self) -> bool:
        """Whether the check samples, so that other seeds may judge otherwise."""
        return isinstance(self.claim, str) and "seed" in inspect.signature(_function(self.claim)).parameters

    def report(self, subject, **options) -> Report:
        """The claim judged on a subject."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            given = dict(self.options) | options
            if isinstance(self.claim, str):
                return check(self.claim, subject, form=self.form, **given)
            return check(_as_check(self.claim), subject, **given)

    def evaluate(self, spec) -> Judged:
        """One member of a space, solved and judged. What raises is an error, with its text."""
        began = time.process_time()
        try:
            found = judged(self.report(spec.subject(self.needs)), self.only)
        except KeyboardInterrupt:
            raise
        except Exception as error:  # any failure of a run or of a check is itself a finding
            found = Judged(ERROR, 0.0, f"{type(error).__name__}: {' '.join(str(error).split())}"[:300])
        return Judged(found.tier, found.value, found.text, found.tight, time.process_time() - began)

    def python(self, found: Claim | None = None) -> str:
        """The lines that judge `subject`; `found` is the claim that was judged."""
        if not isinstance(self.claim, str):
            return self._function(found)
        form = f', form="{self.form}"' if self.form else ""
        return f'print(rf.check("{self.claim}", subject{form}))'

    def _function(self, found: Claim | None) -> str:
        """The same where the claim is a function, read from its file if it has one. `rf.check` takes no margins."""
        assert callable(self.claim)
        file = Path(getattr(getattr(self.claim, "__code__", None), "co_filename", ""))
        name = self.name if self.name.isidentifier() else "claim"
        margin = found is not None and (found.text, found.relation, found.bound) == (_about(self.claim), ">=", 0.0)
        judged = f"print({name}(subject))" if margin else f"print(rf.check({name}, subject))"
        if name != self.name or not file.is_file():
            return f"# `{name}` is the function that was searched, which is in no file.\n{judged}"
        return f'import runpy\n\n{name} = runpy.run_path({json.dumps(str(file.resolve()))})["{name}"]\n{judged}'


def target(claim, form: str | None, only: str, space) -> Target:
    """The target that the arguments of `rf.falsify` name, or one sentence."""
    if isinstance(claim, str):
        known = {c.name: c for c in checks()} if "." in claim else {}
        if claim not in known:
            from reluflow._schema import near

            raise ValueError(f'"{claim}" is not a check: {near(claim, [c.name for c in checks()])}')
        entry = known[claim]
        if form is not None and form not in entry.forms:
            ways = " or ".join(f'"{f}"' for f in entry.forms)
            raise ValueError(f'`form` must be {ways} for {claim}, got "{form}".')
        if entry.needs == "nothing":
            raise ValueError(
                f"{claim} is about no data and no run, so there is nothing to search: `rf.check` judges it."
            )
        return Target(claim, entry.needs, form, only)
    if not callable(claim):
        raise TypeError(f"`claim` must be the name of a check or a function, got {type(claim).__name__}.")
    if form is not None:
        raise ValueError("`form` belongs to the checks of papers, got a function: leave it out.")
    return Target(claim, _needs(claim, space), None, only)


def _needs(function: Callable, space) -> str:
    """What a function is about: its `needs`, the type of its first argument, else a run."""
    if isinstance(space, SingleSpace):
        return "single"
    found = getattr(function, "needs", None)
    if found is None:
        first = next(iter(inspect.signature(function).parameters.values()), None)
        text = str(getattr(first, "annotation", ""))
        found = next((kind for word, kind in KINDS.items() if word in text), "flow")
    step = getattr(getattr(space, "training", None), "step", None)
    return "descent" if found in ("flow", "solution") and step is not None else found


def _function(name: str) -> Callable:
    return _mine[name] if name in _mine else _import(name).check


def _about(function: Callable) -> str:
    """What a margin is about."""
    return (inspect.getdoc(function) or "").split("\n")[0] or "the margin"


def _as_check(function: Callable) -> Callable:
    """The function, with a plain number understood as a margin: the claim holds where it is >= 0."""

    def judge(subject, **options):
        found = function(subject, **options)
        if isinstance(found, bool | np.bool_):
            return bool(found)
        if isinstance(found, float | int | np.floating | np.integer):
            return Claim(_about(function), float(found) if math.isfinite(found) else math.nan, ">=", 0.0)
        return found

    judge.__doc__, judge.__name__ = function.__doc__, getattr(function, "__name__", "claim")
    return judge
