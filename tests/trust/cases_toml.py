"""Experiment files: spoiled text, spoiled tables, and texts drawn from TOML's own grammar."""

from __future__ import annotations

import copy
import json
import math
import tomllib
from pathlib import Path
from random import Random

from trust.mutate import odd, spoiled, struck

VALID = [
    """format = 1
[data]
kind = "two_points"
[init]
kind = "balanced"
width = 8
log_scale = -14.0  # e^-14
[solve]
t1 = 30.0
""",
    """[data]
kind = "arrays"
x = [[1.0, 0.5], [0.25, -1.0]]
y = [1.0, -1.0]
[init]
kind = "gaussian"
width = 5
seed = 3
[problem]
loss = "logistic"
reduction = "sum"
activation = { kind = "leaky_relu", slope = 0.1 }
[method]
kind = "descent"
step = 0.01
[solve]
t1 = 4.0
save = { times = [1.0, 2.0], memory = "8 MiB" }
[solve.limits]
steps = 1000
""",
    """[data]
kind = "from_csv"
path = "points.csv"
[init]
kind = "balanced"
width = 4
[sweep]
keep = ["final.log_loss"]
[sweep.over]
"init.log_scale" = [-2.0, -4.0]
"init.seed" = [0, 1]
""",
    """[data]
kind = "orthogonally_separable"
n = 6
d = 4
mu = 0.3
[init]
kind = "fixed_output"
width = 6
[problem]
loss = "exponential"
train = "first"
[method]
kind = "flow"
rtol = 1e-6
[solve]
log_t1 = 5.0
""",
    """data = { kind = "nearly_orthogonal", n = 4, kappa = 0.5 }
init = { kind = "arrays", w = [[1.0, 0.0, 0.0, 0.0]], a = [1.0] }
""",
    """[data]
kind = "gaussian_mixture"
n = 5
d = 7
[init]
kind = "balanced"
width = 3
signs = [1, -1, 1]
""",
]
MORE = [
    *(
        "teacher",
        "gaussian_neuron",
        "random_points",
        "orthonormal",
        "orthogonal",
        "two_angles",
        "five_points",
        "toy_plane",
    ),
    *("from_npz", "mnist"),
]


def written(value) -> str:
    """A value as TOML, odd ones included."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(str(k))} = {written(v)}" for k, v in value.items()) + "}"
    return "[" + ", ".join(written(v) for v in value) + "]"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def document(tables: dict) -> str:
    lines = [f"{_text(str(k))} = {written(v)}" for k, v in tables.items() if not isinstance(v, dict)]
    for name, table in tables.items():
        if isinstance(table, dict):
            lines.append(f"[{_text(name)}]")
            lines += [f"{_text(str(k))} = {written(v)}" for k, v in table.items()]
    return "\n".join(lines) + "\n"


def grammar(rng: Random) -> str:
    """Any TOML at all, tables of an experiment more often than others."""
    names = [
        "data",
        "init",
        "problem",
        "method",
        "solve",
        "sweep",
        "solve.save",
        "sweep.over",
        "x",
        '"q u"',
        "data.x.y",
    ]
    keys = ["kind", "width", "n", "d", "path", "seed", "log_scale", "loss", "t1", "over", "keep", '""', "a.b", "été"]
    texts = ["two_points", "balanced", "flow", "descent", "square", "from_csv", *MORE]
    lines = []
    for _ in range(rng.randint(0, 12)):
        roll = rng.random()
        if roll < 0.3:
            lines.append(rng.choice(["[{}]", "[{}]", "[[{}]]", "[ {} ]"]).format(rng.choice(names)))
        elif roll < 0.4:
            lines.append(
                rng.choice(["# {}", "{} = 1979-05-27T07:32:00Z", "{} = 07:32:00", "{} = 0xdead_beef", "{} ="]).format(
                    rng.choice(keys)
                )
            )
        else:
            value = rng.choice(texts) if rng.random() < 0.4 else odd(rng)
            lines.append(f"{rng.choice(keys)} = {written(value)}")
    return rng.choice(["\n", "\r\n", "\n\n"]).join(lines)


def drawn(kind: str, more: str) -> str:
    return f'[data]\nkind = "{kind}"\n{more}\n[init]\nkind = "balanced"\nwidth = 3\n'


def absurd(rng: Random) -> tuple[str, str]:
    deep = rng.choice([50, 500, 5000, 100_000])
    first = VALID[0]
    choices = {
        "nested lists": f"x = {'[' * deep}{']' * deep}\n{first}",
        "nested tables": f"x = {'{a=' * deep}1{'}' * deep}\n{first}",
        "long dotted header": f"[{'a.' * deep}b]\nc = 1\n",
        "long dotted key": f"{'a.' * deep}b = 1\n",
        "unclosed": first + 'x = """' + "y" * deep,
        "open brackets": first + "x = " + "[" * deep,
        "large whole number": first + f"[problem]\nx = {'9' * min(deep, 20_000)}\n",
        "large hex": first + f"[problem]\nx = 0x{'f' * deep}\n",
        "large exponent": first.replace("30.0", "1e99999999"),
        "many keys": first + "".join(f"k{k} = {k}\n" for k in range(min(deep, 3000))),
        "many tables": first + "".join(f"[t{k}]\n" for k in range(min(deep, 3000))),
        "duplicate key": first + "t1 = 3.0\n",
        "duplicate table": first + '[data]\nkind = "toy_plane"\n',
        "backslashes": first + 'x = "' + "\\" * deep,
        "quotes": first + '"' * deep,
        "nan in a sweep": VALID[2].replace("-4.0", "nan"),
        "inf in a sweep": VALID[2].replace("-4.0", "-inf"),
        "nested sweep": VALID[2].replace("-4.0", f"{'[' * min(deep, 80)}{']' * min(deep, 80)}"),
        "wide": first.replace("width = 8", f"width = {10 ** rng.randint(9, 40)}"),
        "much data": drawn("random_points", f"n = {10 ** rng.randint(8, 25)}\nd = {10 ** rng.randint(1, 12)}"),
        "many pairs": drawn("nearly_orthogonal", f"kappa = 0.1\nn = {10 ** rng.randint(5, 12)}"),
        "long orthogonal": drawn("orthonormal", f"n = 3\nd = {10 ** rng.randint(9, 20)}"),
        "much of both": drawn("gaussian_neuron", f"n = 3\nd = {10 ** rng.randint(9, 20)}"),
        "more than there is": drawn("random_points", "n = 200000000\nd = 1"),
        "a wide teacher": drawn("teacher", f"width = {10 ** rng.randint(8, 20)}"),
        "a device": VALID[2].replace(
            "points.csv", rng.choice(["/dev/zero", "/dev/stdin", "/proc/self/mem", "/proc/self/environ", ".", "/"])
        ),
        "another file": VALID[2].replace("points.csv", "points.csv\\u0000.png"),
        "not a number": VALID[2].replace("points.csv", "broken.csv"),
    }
    label = rng.choice(list(choices))
    return label, choices[label]


class Cases:
    """Writes one file after the other and reads it as `reluflow run` does, up to the problem, its key and its text."""

    def __init__(self, folder: Path, outside: Path):
        self.folder = folder / "inside"
        self.folder.mkdir()
        (self.folder / "points.csv").write_text("x0,x1,y\n1,2,1\n3,-4,-1\n")
        (self.folder / "broken.csv").write_text("x0,x1,y\n1,2,1\n3,\x1b[31m,-1\n")
        self.path = self.folder / "case.toml"

    def write(self, rng: Random, valid: bool = False) -> str:
        text = rng.choice(VALID)
        label = "valid"
        if not valid:
            roll = rng.random()
            if roll < 0.3:
                label, raw = spoiled(rng, text.encode())
                while rng.random() < 0.3:
                    label, raw = spoiled(rng, raw)
                self.path.write_bytes(raw)
                return label
            if roll < 0.7:
                tables = copy.deepcopy(tomllib.loads(text))
                if rng.random() < 0.3:
                    tables["data"]["kind"] = rng.choice(MORE)
                label = "; ".join(struck(rng, tables) for _ in range(rng.randint(1, 3)))
                text = document(tables)
            elif roll < 0.85:
                label, text = absurd(rng)
            else:
                label, text = "grammar", grammar(rng)
        self.path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return label[:200]

    def asked(self) -> bool:
        """Whether the file itself names the one outside as its data: an experiment may, anywhere on the machine."""
        data = tomllib.loads(self.path.read_text()).get("data", {})
        return data.get("path") == "../outside/secret.csv"

    def load(self) -> None:
        from reluflow.experiment import Experiment

        found = Experiment.from_toml(self.path)
        assert Experiment.parse(found.to_toml(), folder=self.folder).key == found.key
        assert repr(found)
        found.problem()
