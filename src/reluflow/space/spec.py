"""A specification: one problem in plain numbers, with the subject it makes, its TOML and its Python."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from reluflow import _toml
from reluflow.data.core import Data
from reluflow.init import Params
from reluflow.methods import Descent, Flow, Limits
from reluflow.space.training import LOG_T1, Training

STEPS = 20_000  # most steps of a run: what takes more is an error, not a result
ITERATIONS = 2000  # of descents


class Stopped(RuntimeError):
    """A run that did not end as it should."""


@dataclass(frozen=True, eq=False)
class Spec:
    """Data x, y; mantissas w with signs s (output weights where `init` is "free"), times e^log_scale."""

    x: np.ndarray
    y: np.ndarray
    w: np.ndarray | None
    s: np.ndarray | None
    log_scale: float
    training: Training
    step: float | None = None

    # What it makes ----------------------------------------------------------------------------------------------------

    def data(self):
        return Data(self.x, self.y)

    @property
    def a(self) -> np.ndarray:
        """Output weights: mantissas, as `rf.Params` takes them."""
        assert self.w is not None and self.s is not None
        if self.training.init == "free":
            return self.s
        if self.training.init == "fixed_output":
            return self.s / len(self.s)
        return self.s * np.linalg.norm(self.w, axis=1)

    def problem(self):
        from reluflow.problem import LeakyReLU, Problem, ReLU

        t = self.training
        log_scale_a = 0.0 if t.init == "fixed_output" else None
        assert self.w is not None
        init = Params(self.w, self.a, log_scale=self.log_scale, log_scale_a=log_scale_a)
        # Kou et al. use the derivative 1 at 0, which makes a difference for descent only.
        at_zero = {"at_zero": 1.0} if t.train == "first" else {}
        activation = LeakyReLU(t.slope, **at_zero) if t.slope or at_zero else ReLU()
        return Problem(self.data(), init, loss=t.loss, reduction=t.reduction, activation=activation, train=t.train)

    def method(self, rtol: float | None = None):
        return Flow(rtol=rtol or self.training.rtol) if self.step is None else Descent(step=self.step)

    def end(self) -> dict[str, Any]:
        """`t1` or `log_t1` of the run; empty where it goes on until it converges."""
        t = self.training
        if t.t1 is not None or t.log_t1 is not None:
            return {"t1": t.t1} if t.t1 is not None else {"log_t1": t.log_t1}
        if self.step is not None:
            return {"t1": ITERATIONS * self.step}
        if t.loss == "square":
            return {}
        return {"log_t1": max(LOG_T1, 8.0 + math.log(max(1.0, -self.log_scale)))}

    def solve(self, rtol: float | None = None, end: dict[str, Any] | None = None):
        """The run, or `Stopped` with its outcome."""
        from reluflow.solve import solve

        limits = Limits() if self.step is not None else Limits(steps=STEPS)
        sol = solve(
            self.problem(), self.method(rtol), **(self.end() if end is None else end), limits=limits, throw=False
        )
        if not sol.outcome.success:
            raise Stopped(sol.outcome.value)
        return sol

    def subject(self, needs: str, rtol: float | None = None):
        """What a check that `needs` data, a problem or a run is given."""
        if needs == "data":
            return self.data()
        return self.problem() if needs == "problem" else self.solve(rtol)

    # What it is, in text ----------------------------------------------------------------------------------------------

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """Everything that distinguishes members of a space."""
        found: dict[str, Any] = {"x": self.x.tolist(), "y": self.y.tolist()}
        if self.w is not None and self.s is not None:
            found |= {"w": self.w.tolist(), "s": self.s.tolist(), "log_scale": self.log_scale}
        return found if self.step is None else found | {"step": self.step}

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.numbers).encode()).hexdigest()[:16]

    @cached_property
    def characters(self) -> int:
        """The length of the numbers written as short as they go: what shrinking makes less of."""
        return sum(len(short(v)) for v in _flat(self.numbers))

    @classmethod
    def read(cls, numbers: dict, training: Training) -> Spec:
        array = lambda name: None if name not in numbers else np.array(numbers[name], float)
        scale, step = float(numbers.get("log_scale", 0.0)), numbers.get("step")
        return cls(
            np.array(numbers["x"], float), np.array(numbers["y"], float), array("w"), array("s"), scale, training, step
        )

    def moved(self, rng: np.random.Generator, size: float) -> Spec:
        """A neighbour: every free number changed by a relative `size`; zeros, ones and signs stay."""
        jog = lambda v: np.where(np.isin(v, (0.0, 1.0, -1.0)), v, v * (1.0 + size * rng.normal(size=np.shape(v))))
        w = None if self.w is None else self.w * (1.0 + size * rng.normal(size=self.w.shape))
        s = jog(self.s) if self.s is not None and self.training.init == "free" else self.s
        return replace(self, x=jog(self.x), y=jog(self.y), w=w, s=s)

    def tables(self, needs: str) -> dict:
        """An experiment: what `rf.Experiment.from_dict` and `reluflow run` read."""
        t = self.training
        data = {"kind": "arrays", "x": _plain(self.x), "y": _plain(self.y)}
        if self.w is None:  # an experiment has initial weights; a check of the data does not look at them
            return {"format": 1, "data": data, "init": {"kind": "balanced", "width": 2}}
        init = {"kind": "arrays", "w": _plain(self.w), "a": _plain(self.a), "log_scale": self.log_scale}
        init |= {"log_scale_a": 0.0} if t.init == "fixed_output" else {}
        problem: dict[str, Any] = {"loss": t.loss, "reduction": t.reduction, "train": t.train}
        if t.slope or t.train == "first":
            more = {"at_zero": 1.0} if t.train == "first" else {}
            problem["activation"] = {"kind": "leaky_relu", "slope": t.slope, **more}
        method = {"kind": "flow", "rtol": t.rtol} if self.step is None else {"kind": "descent", "step": self.step}
        tables = {"format": 1, "data": data, "init": init, "problem": problem, "method": method}
        return tables | ({"solve": self.end()} if self.end() else {})

    def toml(self, needs: str) -> str:
        return _toml.write(self.tables(needs)) + "\n"

    def python(self, needs: str) -> list[str]:
        """Lines that make the subject, called `subject`."""
        t = self.training
        lines = ["import numpy as np", "import reluflow as rf", "", f"data = rf.Data({_text(self.x)}, {_text(self.y)})"]
        if needs == "data" or self.w is None or self.s is None:
            return [*lines, "subject = data"]
        lines.append(f"w = np.array({_text(self.w)}, float)")
        how = {"free": _text(self.a), "fixed_output": f"np.array({_text(self.s)}, float) / {len(self.a)}"}
        balanced = f"np.array({_text(self.s)}, float) * np.linalg.norm(w, axis=1)"
        lines.append(f"a = {how.get(t.init, balanced)}")
        more = ", log_scale_a=0.0" if t.init == "fixed_output" else ""
        lines.append(f"init = rf.Params(w, a, log_scale={self.log_scale!r}{more})")
        activation = ""
        if t.slope or t.train == "first":
            at_zero = ", at_zero=1.0" if t.train == "first" else ""
            activation = f", activation=rf.LeakyReLU({t.slope!r}{at_zero})"
        asked = f'loss="{t.loss}", reduction="{t.reduction}", train="{t.train}"{activation}'
        lines.append(f"problem = rf.Problem(data, init, {asked})")
        if needs == "problem":
            return [*lines, "subject = problem"]
        method = f"rf.Flow(rtol={t.rtol!r})" if self.step is None else f"rf.Descent(step={self.step!r})"
        end = "".join(f", {k}={v!r}" for k, v in self.end().items())
        return [*lines, f"subject = rf.solve(problem, {method}{end})"]


@dataclass(frozen=True, eq=False)
class SingleSpec:
    """One neuron: m outer layers, |w_0| = norm, pi - phi the angle to the target, a step for descent."""

    m: int
    norm: float
    phi: float
    step: float | None
    rtol: float
    t1: float

    def problem(self):
        from reluflow.single import Problem

        return Problem(m=self.m, norm=self.norm, phi=self.phi)

    def subject(self, needs: str, rtol: float | None = None):
        from reluflow.single import solve

        method = Flow(rtol=rtol or self.rtol) if self.step is None else Descent(step=self.step)
        run = solve(self.problem(), method, t1=self.t1)
        if not run.outcome.success:
            raise Stopped(run.outcome.value)
        return run

    @cached_property
    def numbers(self) -> dict[str, Any]:
        found = {"m": self.m, "norm": self.norm, "phi": self.phi}
        return found if self.step is None else found | {"step": self.step}

    digest = Spec.digest
    characters = Spec.characters

    @classmethod
    def read(cls, numbers: dict, space) -> SingleSpec:
        return cls(numbers["m"], numbers["norm"], numbers["phi"], numbers.get("step"), space.rtol, space.t1)

    def moved(self, rng: np.random.Generator, size: float) -> SingleSpec:
        jog = lambda v: v * (1.0 + size * rng.normal())
        return replace(self, norm=jog(self.norm), phi=jog(self.phi), step=None if self.step is None else jog(self.step))

    def tables(self, needs: str) -> dict:
        method = {"kind": "flow", "rtol": self.rtol} if self.step is None else {"kind": "descent", "step": self.step}
        return {
            "single": {"m": self.m, "norm": self.norm, "phi": self.phi},
            "method": method,
            "solve": {"t1": self.t1},
        }

    def toml(self, needs: str) -> str:
        return _toml.write(self.tables(needs)) + "\n"

    def python(self, needs: str) -> list[str]:
        method = f"rf.Flow(rtol={self.rtol!r})" if self.step is None else f"rf.Descent(step={self.step!r})"
        problem = f"rf.single.Problem(m={self.m}, norm={self.norm!r}, phi={self.phi!r})"
        return ["import reluflow as rf", "", f"subject = rf.single.solve({problem}, {method}, t1={self.t1!r})"]


def short(value: float) -> str:
    """A number without a needless ".0" or "0" before the point: what it costs to write down."""
    text = repr(float(value))
    text = text[:-2] if text.endswith(".0") else text
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def _flat(value) -> list[float]:
    if isinstance(value, dict):
        return [v for inner in value.values() for v in _flat(inner)]
    if isinstance(value, list | tuple):
        return [v for inner in value for v in _flat(inner)]
    return [value]


def _plain(array: np.ndarray) -> list:
    return array.tolist()


def _text(array: np.ndarray) -> str:
    """An array as Python writes it, whole numbers without their point."""
    whole: Any = lambda v: int(v) if isinstance(v, float) and v.is_integer() and abs(v) < 1e15 else v
    trim: Any = lambda v: [trim(inner) for inner in v] if isinstance(v, list) else whole(v)
    return repr(trim(array.tolist()))
