"""An experiment as a file: the keyword arguments of the public constructors, and nothing else.

    format = 1
    [data]      kind = "two_points"                         rf.data.two_points()
    [init]      kind = "balanced", width = 60, ...          rf.init.balanced(width=60, dim=data.d, ...)
    [problem]   loss = "square", ...                        rf.Problem(data, init, loss="square", ...)
    [method]    kind = "flow", rtol = 1e-8                  rf.Flow(rtol=1e-8)
    [solve]     t1 = 30.0, ...                              rf.solve(problem, method, t1=30.0, ...)
    [sweep]     over = {"init.seed" = [0, 1, 2]}            rf.sweep(experiment, over=...)

Dotted keys (`init.log_scale`) name any of them. The signatures are the schema (`_schema.py`).
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reluflow import _schema, _toml
from reluflow._checks import plainly
from reluflow._schema import Mistake, near, show
from reluflow.data.core import class_count
from reluflow.methods import Flow
from reluflow.outcome import SolveError

if TYPE_CHECKING:
    from reluflow.data import Data
    from reluflow.drive.loop import Progress
    from reluflow.init import Params
    from reluflow.methods import Limits, Method
    from reluflow.problem import Problem
    from reluflow.solution import Solution

FORMAT = 1
LONGEST = 16 * 2**20  # characters in a file
DOTTED = 100  # parts in one dotted key
ROOM = 2**28  # most numbers in the data and weights of a file's experiment: 2 GiB
CHEAP = 2**17  # neurons drawn only to validate the arguments


class ExperimentError(ValueError):
    """The mistakes in an experiment, one sentence each, all in `.mistakes`."""

    def __init__(self, sentences: list[str]):
        super().__init__("\n".join(sentences))
        self.mistakes = sentences


class Experiment:
    """Tables `data`, `init`, `problem`, `method`, `solve`, `sweep` of keyword arguments; immutable.

    Left-out arguments take the constructors' defaults, so experiments that mean the same are equal and share a `key`.
    Relative paths are resolved against `folder`, which is not part of the experiment.
    """

    def __init__(self, *, data, init, problem=None, method=None, solve=None, sweep=None, folder=None):
        given = dict(data=data, init=init, problem=problem, method=method, solve=solve, sweep=sweep)
        self._set(given, Path(folder) if folder is not None else None, _Place())

    @classmethod
    def from_dict(cls, tables: Mapping, *, folder: str | Path | None = None) -> Experiment:
        """From `{"format": 1, "data": {...}, ...}`, as `to_dict` gives it."""
        return cls._from(tables, folder, _Place())

    @classmethod
    def from_toml(cls, path: str | Path) -> Experiment:
        """From a TOML file. Mistakes raise one `ExperimentError` with a sentence each: the line, the rule, the fix."""
        path = Path(path)
        called = f"`{plainly(str(path))}`"
        if path.suffix in (".csv", ".npz") and path.is_file():
            keys = f'`kind = "from_{path.suffix[1:]}"` and `path = "{plainly(path.name, 60)}"`'
            more = "`reluflow data describe` and `reluflow check NAME --data` accept data files directly"
            way_out = f"refer to it in an experiment, as `[data]` with {keys}; {more}."
            raise ExperimentError([f"{called} is a data file, not an experiment: {way_out}"])
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read(LONGEST + 1)
        except UnicodeDecodeError:
            raise ExperimentError(
                [f"{called} must be TOML in UTF-8, but it has other bytes: save it as plain text."]
            ) from None
        except (OSError, ValueError) as error:
            if isinstance(error, FileNotFoundError):
                how = f"Make an experiment file with `reluflow run --template > {plainly(path.name, 60)}`."
                raise ExperimentError([f"File not found: {plainly(str(path))}. {how}"]) from None
            why = (getattr(error, "strerror", None) or "not a valid path").lower()
            raise ExperimentError([f"Cannot read {called}: {why}."]) from None
        return cls.parse(text, name=path.name, folder=path.parent)

    @classmethod
    def parse(cls, text: str, *, name: str = "", folder: str | Path | None = None) -> Experiment:
        """From TOML text; error messages call it `name`."""
        place = _Place(name)
        if len(text) > LONGEST:
            sentence = f"this must be at most {LONGEST} characters, got more: put the data into a CSV or NPZ file"
            raise ExperimentError([place.sentence("", sentence)])
        # The parser's cost grows with the square of a dotted key's length; these characters separate keys.
        if any(part.count(".") > DOTTED for part in re.split(r"[=,{}\[\]\n]", text)):
            sentence = f"a dotted key must have at most {DOTTED} parts, got more: write tables in [ ] instead"
            raise ExperimentError([place.sentence("", sentence)])
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ExperimentError([_syntax(error, text, place)]) from None
        except (ValueError, RecursionError) as error:  # numbers of thousands of digits, deeply nested brackets
            got = (
                "lists or tables nested too deeply"
                if isinstance(error, RecursionError)
                else "a number with too many digits"
            )
            raise ExperimentError([place.sentence("", f"this must be TOML, got {got}: simplify it")]) from None
        return cls._from(tables, folder, _Place(name, _toml.lines(text)))

    @classmethod
    def _from(cls, tables: Mapping, folder: str | Path | None, place: _Place) -> Experiment:
        self = cls.__new__(cls)
        self._set(tables, Path(folder) if folder is not None else None, place)
        return self

    def _set(self, given: Mapping, folder: Path | None, place: _Place) -> None:
        self.folder, self._place = folder, place
        mistakes: list[Mistake] = []
        unfit = _schema.unfit(given)
        if unfit is not None:
            raise ExperimentError(place.sentences([unfit]))
        self._tables = _complete(given, mistakes)
        mistakes += self._cheap_values(mistakes)
        if mistakes:
            # Report all mistakes of a file at once. Tables that come from no file (a stored run's, a
            # page's) have no line numbers, and no files are read for them.
            made = not any(m.key.split(".")[0] == "data" for m in mistakes) and not self._too_large()
            mistakes += self._wrong("data", lambda: self.data) if made and place.name else []
            raise ExperimentError(place.sentences(mistakes))

    # Reading and changing -------------------------------------------------------------------------------------------

    def __getitem__(self, key: str) -> Any:
        """The value of a dotted key, defaults included: `experiment["init.log_scale"]`."""
        where: Any = self._tables
        for part in key.split("."):
            if not isinstance(where, Mapping) or part not in where:
                raise KeyError(f"`{key}` is not in this experiment: {near(key, self.keys())}")
            where = where[part]
        return where if isinstance(where, str | int | float) else json.loads(json.dumps(where))

    def keys(self) -> list[str]:
        """Every dotted key that has a value."""
        return _flat(self._tables)

    def changed(self, values: Mapping[str, Any]) -> Experiment:
        """A new experiment with other values at dotted keys: `experiment.changed({"init.seed": 3})`.

        Changing a `kind` drops the arguments that the new kind does not have.
        """
        tables = self.to_dict()
        for key, value in values.items():
            *path, last = key.split(".")
            where = tables
            for part in path:
                where = where.setdefault(part, {})
                if not isinstance(where, dict):
                    raise ExperimentError(
                        [f"`{key}` is not a key of an experiment: `{part}` holds a value, not a table."]
                    )
            if last == "kind" and where.get("kind") != value:
                kinds = _table(".".join(path)).kinds if _table(".".join(path)) else {}
                keep = kinds[value].params if value in kinds else where
                for name in [n for n in where if n not in keep]:
                    del where[name]
            where[last] = value
        return Experiment.from_dict(tables, folder=self.folder)

    def to_dict(self) -> dict:
        """The tables with all defaults filled in, so that a stored experiment does not depend on later defaults."""
        return {"format": FORMAT, **json.loads(json.dumps(self._tables))}

    def to_toml(self) -> str:
        """TOML text that reads back as an equal experiment."""
        tables = {k: v for k, v in self.to_dict().items() if v != {}}
        return _toml.write(tables) + "\n"

    @cached_property
    def key(self) -> str:
        """16 hex digits of the SHA-256 of the canonical JSON (defaults filled in, keys sorted, no spaces)."""
        tables = {"format": FORMAT, **self._tables}
        canonical = json.dumps(tables, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Experiment) and self._tables == other._tables

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        t = self._tables
        return f"Experiment({t['data']['kind']}, {t['init']['kind']}, {t['method']['kind']}; key {self.key})"

    # Doing it -------------------------------------------------------------------------------------------------------

    @cached_property
    def data(self) -> Data:
        """The data set (computed once)."""
        filled = dict(self._tables["data"])
        for name in ("path", "folder"):
            if isinstance(filled.get(name), str) and self.folder is not None:
                filled[name] = str(self.folder / filled[name])
        return _schema.build(_schema.tables()["data"], filled)

    def problem(self) -> Problem:
        """The `rf.Problem`, with data and initial weights generated and checked for consistency (computed once)."""
        return self._made

    @cached_property
    def _made(self) -> Problem:
        init: list[Params] = []
        made: list[Problem] = []
        mistakes = self._wrong("data", lambda: self.data)
        if not mistakes:
            large = self._too_large(self.data.n, self.data.d)
            mistakes = large or self._wrong("init", lambda: init.append(self._init()))
        if not mistakes:
            mistakes = self._wrong("problem", lambda: made.append(self._problem(self.data, init[0])))
        if mistakes:
            raise ExperimentError(self._place.sentences(mistakes))
        return made[0]

    def method(self) -> Method:
        """The `rf.Flow`, `rf.SteppedFlow` or `rf.Descent`."""
        return _schema.build(_schema.tables()["method"], self._tables["method"])

    def run(
        self, progress: Callable[[Progress], None] | bool | None = None, *, limits: Limits | None = None
    ) -> Solution:
        """The `rf.Solution`, with this experiment as its `.experiment`; `limits` override the experiment's own."""
        from reluflow.solve import solve

        keywords = _schema.arguments(_schema.tables()["solve"], self._tables["solve"])
        keywords |= {} if limits is None else {"limits": limits}
        problem = self.problem()
        try:
            sol = solve(problem, self.method(), **keywords, progress=progress)
        except SolveError as error:
            error.solution.experiment = self
            raise
        sol.experiment = self
        return sol

    def _init(self, dim: int | None = None) -> Params:
        table, filled = _schema.tables()["init"], self._tables["init"]
        kind = table.kinds[filled["kind"]]
        more = {"dim": self.data.d if dim is None else dim} if "dim" in kind.params and "dim" not in filled else {}
        if dim is None and "outputs" in kind.params and "outputs" not in filled and self._outputs() > 1:
            more["outputs"] = self._outputs()
        return _schema.build(table, filled, **more)

    def _outputs(self) -> int:
        """The number of outputs that fits the data: that of their labels, or of their classes for the softmax loss."""
        if self._tables["problem"].get("loss") != "softmax" or self.data.outputs > 1:
            return self.data.outputs
        return max(2, class_count(self.data.y), len(self.data.classes or ()))

    def _problem(self, data: Data, init: Params) -> Problem:
        return _schema.build(_schema.tables()["problem"], self._tables["problem"], data=data, init=init)

    # Mistakes -------------------------------------------------------------------------------------------------------

    def _cheap_values(self, found: list[Mistake]) -> list[Mistake]:
        """Mistakes in values that constructors reject, found without generating data or large arrays."""
        from reluflow.problem import Problem
        from reluflow.solve import end_clock

        one = _smallest(2 if self._tables.get("problem", {}).get("loss") == "softmax" else 1)
        toy = [Problem(*_smallest(1))]
        method: list[Method] = [Flow()]
        solve, table = self._tables.get("solve", {}), _schema.tables()["solve"]
        few = not isinstance(self._tables.get("init", {}).get("width"), int) or self._tables["init"]["width"] <= CHEAP
        checks: list[tuple[str, Callable]] = [
            ("init", lambda: self._init(dim=1) if few else None),
            ("problem", lambda: toy.append(self._problem(*one))),
            ("method", lambda: method.append(self.method())),
            ("solve.save", lambda: _schema.build(table.inner("save"), solve["save"])),
            ("solve.limits", lambda: _schema.build(table.inner("limits"), solve.get("limits", {}))),
            ("solve", lambda: end_clock(toy[-1], solve.get("t1"), solve.get("log_t1"), method[-1])),
        ]
        made = [mistake for name, check in checks if not _spoilt(name, found) for mistake in self._wrong(name, check)]
        return made or ([] if found else self._too_large())

    def _too_large(self, n: int | None = None, d: int | None = None) -> list[Mistake]:
        """A mistake if data or weights would need more than ROOM numbers, judged from the arguments."""
        data, init = self._tables.get("data", {}), self._tables.get("init", {})

        def size(name: str) -> int:
            value = data.get(name)
            return value if isinstance(value, int) else 0

        given = data.get("norms") or data.get("x")
        rows = n or size("n") or (len(given) if isinstance(given, list) else 0)
        columns = d or size("d") or rows
        square = rows if data.get("kind") == "nearly_orthogonal" else 0
        width = init["width"] if isinstance(init.get("width"), int) else 0
        largest = max(
            (rows * max(columns, square), "data", f"{rows} rows of {max(columns, square)} numbers"),
            (size("width") * columns, "data.width", f"{size('width')} neurons in {columns} dimensions"),
            (
                width * max(rows, columns, 1),
                "init.width",
                f"{show(width)} neurons for {rows} rows of {columns} numbers",
            ),
        )
        if largest[0] <= ROOM:
            return []
        rule = f"`{largest[1]}` must take at most {ROOM} numbers in a file's experiment"
        return [Mistake(largest[1], f"{rule}, got {largest[2]}: make it smaller, or call `rf.solve` from Python")]

    def _wrong(self, table: str, call: Callable) -> list[Mistake]:
        """The error raised by `call`, attached to the key that its message names first."""
        try:
            call()
        except MemoryError:
            return [Mistake(table, f"`[{table}]` does not fit in memory: make it smaller")]
        except (ValueError, TypeError, OSError, ImportError) as error:
            text = str(error)
            named = re.findall(r"`([a-z_0-9]+)[`=]", text)
            if isinstance(error, OSError):
                named = ["path", "folder", *named]  # what a file is named by
            known = [key for key in _flat(self._tables) for name in named[:2] if key.split(".")[-1] == name]
            inside = [key for key in known if key.startswith(table + ".")]
            return [Mistake((inside or known or [table])[0], text)]
        return []


class _Place:
    """Line numbers of keys, for error messages."""

    def __init__(self, name: str = "", lines: Mapping[str, int] | None = None):
        self.name, self.lines = name, lines or {}

    def line(self, key: str) -> int | None:
        while key:
            if key in self.lines:
                return self.lines[key]
            key = key.rpartition(".")[0]
        return None

    def sentences(self, mistakes: list[Mistake]) -> list[str]:
        order = sorted(mistakes, key=lambda m: self.line(m.key) or 0)
        return [self.sentence(m.key, m.sentence) for m in order]

    def sentence(self, key: str, text: str) -> str:
        line = self.line(key)
        text = plainly(text)
        text = text if text.endswith((".", "?")) else text + "."
        if line is None:
            return f"{self.name}: {text}" if self.name else text
        return f"{self.name} line {line}: {text}" if self.name else f"Line {line}: {text}"


def _syntax(error: Exception, text: str, place: _Place) -> str:
    """A parser error as a sentence, with the line number and the text on that line."""
    what, _, where = str(error).partition(" (at ")
    found = re.search(r"line (\d+)", where)
    line = int(found[1]) if found else text.count("\n") + 1
    there = plainly(text.split("\n")[min(line, text.count("\n") + 1) - 1].strip(), 80)
    what = plainly(what, 80)
    name = f"{place.name} line {line}" if place.name else f"Line {line}"
    fix = "give each key once" if "overwrite" in what else 'write `name = value`, with text in quotes: `kind = "flow"`'
    return f"{name}: this must be TOML, got `{there}` ({what[:1].lower() + what[1:]}): {fix}."


@cache
def _smallest(outputs: int) -> tuple[Data, Params]:
    """Data and weights of the smallest problem with so many outputs."""
    from reluflow.data import Data
    from reluflow.init import Params

    row = np.ones((1, 1))
    return Data(row, row[0]), Params(row, np.ones((1, outputs)))


def _spoilt(name: str, mistakes: list[Mistake]) -> bool:
    """Whether a mistake already found prevents building a table; `solve` is built without its sub-tables."""
    inside = [m.key for m in mistakes if m.key == name or name.startswith(m.key + ".") or m.key.startswith(name + ".")]
    return any(name != "solve" or key.count(".") < 2 for key in inside)


def with_solve(experiment: Experiment, solve: Mapping) -> Experiment:
    """The same experiment with another table `solve`, of valid values: data and weights that were made are kept."""
    mistakes: list[Mistake] = []
    found = Experiment.__new__(Experiment)
    found.__dict__.update({name: value for name, value in experiment.__dict__.items() if name != "key"})
    found._tables = experiment._tables | {"solve": _schema.complete(_schema.tables()["solve"], solve, mistakes)}
    if mistakes:
        raise ExperimentError(experiment._place.sentences(mistakes))
    return found


def _complete(given: Mapping, mistakes: list[Mistake]) -> dict:
    tables = _schema.tables()
    number = given.get("format", FORMAT)
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        mistakes.append(Mistake("format", f"`format` must be {FORMAT}, got {show(number)}: write `format = {FORMAT}`"))
    elif number > FORMAT:
        mistakes.append(
            Mistake(
                "format", f"`format` must be at most {FORMAT} for this version, got {number}: install a newer reluflow"
            )
        )
    for name in given:
        if name != "format" and name not in tables:
            homes = [key for key, t in tables.items() if any(name in kind.params for kind in t.kinds.values())]
            way_out = f"it belongs to `{homes[0]}`, as `{homes[0]}.{name}`" if homes else near(name, tables)
            mistakes.append(Mistake(name, f"`{name}` is not a table of an experiment: {way_out}"))
    filled = {}
    for name, table in tables.items():
        value = given.get(name)
        if value is None and name in ("data", "init"):
            first = {"data": "two_points", "init": "balanced"}[name]
            mistakes.append(Mistake(name, f'`[{name}]` is missing: add `[{name}]` with `kind = "{first}"`'))
        elif value is not None and not isinstance(value, Mapping):
            mistakes.append(
                Mistake(name, f"`{name}` must be a table, got {show(value)}: write `[{name}]` and its keys below")
            )
        elif name == "sweep":
            filled[name] = _sweep(value or {}, mistakes)
        else:
            filled[name] = _schema.complete(table, value or {}, mistakes)
    return filled


def _sweep(given: Mapping, mistakes: list[Mistake]) -> dict:
    """`[sweep]`: `over` has dotted keys, each with the list of its values."""
    if not given:
        return {}
    filled = _schema.complete(_schema.tables()["sweep"], given, mistakes)
    if not isinstance(filled.get("over"), Mapping):
        return filled
    over = {}
    for key, values in _leaves(filled["over"]).items():
        path = f"sweep.over.{key}"
        if _table(key.rpartition(".")[0]) is None:
            mistakes.append(
                Mistake(path, f'`{key}` in `[sweep.over]` is not a dotted key: write it like `"init.log_scale"`')
            )
        elif not isinstance(values, list) or not values:
            mistakes.append(
                Mistake(path, f"`{key}` in `[sweep.over]` must be a list of values, got {show(values)}: put it in [ ]")
            )
        over[key] = values
    return filled | {"over": over}


def _leaves(tables: Mapping, prefix: str = "") -> dict:
    found = {}
    for name, value in tables.items():
        found.update(_leaves(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value})
    return found


def _flat(tables: Mapping) -> list[str]:
    return list(_leaves(tables))


def _table(path: str) -> Any:
    """The schema of a table by its dotted path, or None."""
    name, _, rest = path.partition(".")
    table = _schema.tables().get(name)
    return table.inner(rest) if table is not None and rest else table
