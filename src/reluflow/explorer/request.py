"""Requests of the page as an `rf.Experiment`, with sizes bounded before anything large is allocated.

The page's state is the experiment itself: tables `data`, `init`, `problem`, `method`, `solve` of keyword arguments.
Data files, the storage of a run and its limits cannot be chosen by the page.
"""

import json
import math
from collections import OrderedDict
from typing import Any

import numpy as np

from reluflow.losses import TABLE

DATA = (
    *("arrays", "two_points", "five_points", "toy_plane", "two_angles", "orthogonal", "orthonormal"),
    *("random_points", "orthogonally_separable", "nearly_orthogonal", "gaussian_mixture", "blobs"),
)
INIT = ("balanced", "gaussian", "fixed_output")
MOST = {"width": 2000, "n": 200, "d": 100}
CELLS = 400_000  # width n, and width d: what a frame holds
LABELS = 1e6
CLASSES = 6
ITERATIONS = 400_000
DRAFT_ITERATIONS = 20_000
STEPS, DRAFT_STEPS = 40_000, 500
DRAFT_RTOL = 1e-5
SECONDS = 8.0  # for one answer, of which
SOLVE_SECONDS = 5.0  # for the run itself
BODY = 256 * 1024
DEPTH = 12
KEPT = 16  # data sets whose rates are remembered


class Refused(ValueError):
    """A request that is not answered, with the sentence that says why."""


def parse(body: bytes) -> dict:
    """The JSON object of a request."""

    def no_constant(name):
        raise Refused(f"Numbers must be finite, got {name}.")

    try:
        found = json.loads(body, parse_constant=no_constant)
    except RecursionError:
        raise Refused("The request must not be nested so deeply.") from None
    except Refused:
        raise
    except ValueError:
        raise Refused("The request must be JSON.") from None
    if not isinstance(found, dict):
        raise Refused("The request must be a JSON object.")
    _depth(found)
    return found


def _depth(value: Any, left: int = DEPTH) -> None:
    if left == 0:
        raise Refused("The request must not be nested so deeply.")
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _depth(inner, left - 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise Refused("Numbers must be finite.")


def experiment(tables: Any, *, draft: bool = False):
    """The `rf.Experiment` that `tables` mean, with an end time where one is needed; `Refused` otherwise."""
    from reluflow.experiment import Experiment, ExperimentError, with_solve

    tables = _bounded(tables)
    method = tables["method"]
    if draft and method.get("kind", "flow") == "flow" and isinstance(method.get("rtol", 0.0), int | float):
        method["rtol"] = max(method.get("rtol", 0.0), DRAFT_RTOL)
    try:
        asked = tables["solve"]
        # An end time that is still to be found must not count as forgotten.
        found = Experiment.from_dict({**tables, "solve": asked or {"t1": 1e9}})
        data = found.data
        _classes(data, found["problem.loss"])
        _sizes(data.n, data.d, found["init.width"])
        if max(np.max(np.abs(data.y)), np.max(np.abs(data.x))) > LABELS:
            raise Refused(f"Data must not exceed {LABELS:g} here.")
        more = end_time(found.problem(), found, asked)
        more |= {"throw": False, "limits": {"steps": steps(found, draft)}, "save": {"frames": 400, "memory": "24 MiB"}}
        return with_solve(found, more)
    except ExperimentError as error:
        raise Refused(str(error)) from None
    except (ValueError, TypeError, OverflowError, MemoryError, ArithmeticError, np.linalg.LinAlgError) as error:
        raise Refused(str(error) or "These numbers cannot be used.") from None


def in_plane(data) -> bool:
    """Whether the rows are points in the plane, not points on a line with a bias column."""
    return bool(data.d == 2 and not np.all(data.x[:, 1] == 1.0))


def _classes(data, loss: str) -> None:
    """Several outputs are shown as classes of points in the plane."""
    if data.outputs > 1:
        raise Refused(
            f"The explorer shows networks with one output or classes, got labels with {data.outputs} columns: draw the "
            "run with `rf.solve(...).plot()`."
        )
    if loss != "softmax":
        return
    if not in_plane(data):
        raise Refused(
            f"The softmax loss needs classes of points in the plane here, got rows of {data.d} columns: choose the "
            "preset `Three classes`, or draw the run with `rf.solve(...).plot()`."
        )
    if np.max(data.y) >= CLASSES:
        raise Refused(
            f"The explorer has colours for classes 0 to {CLASSES - 1}, got class {np.max(data.y):g}: draw the run with "
            "`rf.solve(...).plot()`."
        )


def steps(found, draft: bool) -> int:
    """How many steps a run may try."""
    if found["method.kind"] == "descent":
        return DRAFT_ITERATIONS if draft else ITERATIONS
    return DRAFT_STEPS if draft else STEPS


def _bounded(tables: Any) -> dict:
    if not isinstance(tables, dict):
        raise Refused("`experiment` must be an object with tables `data` and `init`.")
    found = {}
    for name in ("data", "init", "problem", "method", "solve"):
        table = tables.get(name, {})
        if not isinstance(table, dict):
            raise Refused(f"`{name}` must be a table.")
        found[name] = dict(table)
    for name in tables:
        if name not in (*found, "format"):
            raise Refused(f"`{name}` is not a table that the explorer takes.")
    for name, kinds in (("data", DATA), ("init", INIT)):
        if found[name].get("kind") not in kinds:
            raise Refused(f"`{name}.kind` must be one of {', '.join(kinds)} here.")
    for key in found["solve"]:
        if key not in ("t1", "log_t1"):
            raise Refused(f"`solve.{key}` cannot be set by the page.")
    found["init"].pop("dim", None)
    width = _whole("init.width", found["init"].get("width"), MOST["width"])
    data = found["data"]
    sizes = {}
    for name in ("n", "d"):
        if data.get(name) is not None:
            sizes[name] = _whole(f"data.{name}", data[name], MOST[name])
    for name, axis in (("x", "n"), ("norms", "n")):
        if isinstance(data.get(name), list):
            sizes[axis] = _whole(f"the length of data.{name}", len(data[name]), MOST["n"])
    rows = data.get("x")
    if isinstance(rows, list) and rows and isinstance(rows[0], list):
        sizes["d"] = _whole("the number of columns", len(rows[0]), MOST["d"])
    _sizes(sizes.get("n", 1), sizes.get("d", 1), width)
    return found


def _whole(name: str, value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise Refused(f"`{name}` must be a whole number from 1 to {most}.")
    return value


def _sizes(n: int, d: int, width: int) -> None:
    if (
        n > MOST["n"]
        or d > MOST["d"]
        or width > MOST["width"]
        or width * max(n, d) > CELLS
        or width * n * d > 4 * CELLS
    ):
        raise Refused(
            f"The explorer takes up to {MOST['n']} points in {MOST['d']} dimensions and {MOST['width']} neurons, "
            f"and width x n x d up to {4 * CELLS}, got {width} x {n} x {d}: use `rf.solve`."
        )


def end_time(problem, found, asked: dict) -> dict:
    """The end time asked for; where none is given and one is needed, a round one by which the loss has fallen.

    A neuron grows from e^-ell to 1 in about ell / rate, rate the fastest of the slower class. The square loss needs no
    end: it runs until the flow converges. Descent takes no more iterations than the explorer allows.
    """
    descent = found["method.kind"] == "descent"
    given = {k: v for k, v in asked.items() if v is not None}
    if not given and (descent or problem.endless):
        ell = max(0.0, -float(np.max(problem.init.log_scales[0])))
        rates = list(class_rates(problem).values())
        wait = (ell + 10.0) / min(rates) if rates else 100.0
        given = {"t1": round_up((20.0 if problem.endless else 4.0) * wait)}
    if descent:
        step = found.method().step
        t1 = given["t1"] if "t1" in given else math.exp(min(given["log_t1"], 700.0))
        given = {"t1": max(min(t1, ITERATIONS * step), step)}
    return given


_rates: OrderedDict[tuple, dict[float, float]] = OrderedDict()


def class_rates(problem) -> dict[float, float]:
    """How fast a neuron grows along the gradient of one class alone, at f = 0, for every class: +1 and -1, or 0, 1,
    ... with the softmax loss. They depend on the data, not on the weights: moving the scale finds them once."""
    x, y = problem.data.x, problem.data.y
    key = (problem.loss, problem.weight, problem.outputs, x.shape, x.tobytes(), y.tobytes())
    if key not in _rates:
        _rates[key] = _class_rates(problem)
        while len(_rates) > KEPT:
            _rates.popitem(last=False)
    return _rates[key]


def _class_rates(problem) -> dict[float, float]:
    x, y, row = problem.data.x, problem.data.y, TABLE[problem.loss]
    drive = row.force(problem.targets, np.zeros(problem.targets.shape))
    found = {}
    for c in range(problem.outputs) if row.labels == "classes" else (1.0, -1.0):
        mine = y == c if row.labels == "classes" else c * y > 0
        pull = problem.weight * np.linalg.norm(drive[mine].T @ x[mine], 2) if np.any(mine) else 0.0
        if pull > 0:
            found[c] = float(pull)
    return found


def round_up(t: float) -> float:
    """To two digits."""
    power = 10.0 ** (math.floor(math.log10(t)) - 1)
    return float(f"{math.ceil(t / power) * power:.6g}")
