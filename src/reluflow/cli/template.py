"""`reluflow run --template`: an experiment ready to run, with all other options in comments."""

import textwrap

from reluflow import _schema, _toml
from reluflow._schema import EXAMPLES, REQUIRED, Param, Table, note, plain

# The values that the template sets; everything else comes from the signatures.
START: dict[str, dict] = {
    "data": {"kind": "two_points"},
    "init": {"kind": "balanced", "width": 60, "log_scale": -16.0, "seed": 0},
    "problem": {"loss": "square", "reduction": "mean", "train": "both"},
    "problem.activation": {"kind": "relu"},
    "method": {"kind": "flow", "rtol": 1e-8},
    "solve": {"t1": 60.0},
    "solve.save": {},
    "solve.limits": {},
}
COLUMN = 28
HEADER = "# A reluflow experiment"


def template() -> str:
    parts = [
        f"{HEADER}: each table is a call of the Python constructor named beside it, each key one of its\n"
        "# arguments. Lines that start with #: are defaults or other options; remove the mark to use one.\n"
        "# Run it with `reluflow run my.toml`; change a value for one run with `--set init.log_scale=-40`.\n"
        "format = 1"
    ]
    for name, table in _schema.tables().items():
        if name == "sweep":
            continue
        parts.append(_section(table, START[name]))
        for param in table.kinds[None].params.values() if table.single else ():
            if param.table is not None:
                parts.append(_section(param.table, START[param.table.path]))
    parts.append(
        "#: [sweep]                    # for `rf.sweep`; `reluflow run` ignores it\n"
        "#: keep = []                  # quantities to keep\n"
        '#: design = "grid"            # or "list", "random", "latin"\n'
        "#: points = 100               # number of points, for random and latin designs\n"
        "#: seed = 0                   # of random and latin designs\n"
        "#: [sweep.over]               # every combination of these lists\n"
        '#: "init.log_scale" = [-4.0, -8.0, -16.0]\n'
        '#: "init.seed" = [0, 1, 2]'
    )
    return "\n\n".join(parts) + "\n"


def _section(table: Table, start: dict) -> str:
    name = None if table.single else start["kind"]
    kind = table.kinds[name]
    lines = [_beside(f"[{table.path}]", kind.text)]
    if name is not None:
        lines.append(f'kind = "{name}"')
        lines += [f"# {line}" for line in _wrapped(kind.summary)]
    for param in kind.params.values():
        if param.table is None:
            lines.append(_line(table, param, start))
    others = [k for k in table.kinds if k != name and k is not None]
    if others:
        lines.append("# Other kinds:")
    for other in others:
        lines += _other(table, other)
    return "\n".join(lines)


def _line(table: Table, param: Param, start: dict) -> str:
    if param.name in start:
        text = f"{param.name} = {_toml.value(start[param.name])}"
    else:
        text = f"#: {_assignment(param)}"
    return _beside(text, note(table, param))


def _assignment(param: Param, kind: str = "") -> str:
    example = EXAMPLES.get(f"{kind}.{param.name}", EXAMPLES.get(param.name))
    value = example if param.default is REQUIRED else param.default
    return f"{param.name} = {'...' if value is None else _toml.value(plain(value))}"


def _other(table: Table, name: str) -> list[str]:
    kind = table.kinds[name]
    lines = [f'#: kind = "{name}"', *(f"#      {line}" for line in _wrapped(kind.summary, 108))]
    for param in kind.params.values():
        must = "must be given; " if param.required else ""
        lines.append(_beside(f"#:     {_assignment(param, name)}", must + note(table, param)))
    return lines


def _beside(text: str, meaning: str) -> str:
    return f"{text:<{COLUMN}} # {meaning}" if meaning else text


def _wrapped(text: str, width: int = 112) -> list[str]:
    return textwrap.wrap(text, width)
