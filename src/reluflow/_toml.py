"""TOML text: line numbers of keys, and tables written as readable text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_HEADER = re.compile(r"^\s*\[+\s*([^\]]+?)\s*\]+")
_KEY = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")
_PART = re.compile(r""""[^"]*"|'[^']*'|[\w-]+""")
_STRING = re.compile(r'"""(?:.|\n)*?"""|' + r"'''(?:.|\n)*?'''" + r'|"(?:\\.|[^"\\\n])*"|' + r"'[^'\n]*'|#[^\n]*")


def _dotted(text: str) -> str:
    return ".".join(part.strip("\"'") for part in _PART.findall(text))


def lines(text: str) -> dict[str, int]:
    """The line (from 1) of every table header and key, by dotted name: `init` and `init.width`."""
    found: dict[str, int] = {}
    table, depth = "", 0
    blank = lambda match: "\n" * match[0].count("\n")
    # Multi-line strings and comments contain no keys; short strings may be keys, and brackets inside them do not count.
    keyed = _STRING.sub(lambda m: m[0] if m[0][0] != "#" and m[0][:3] not in ('"""', "'''") else blank(m), text)
    counted = _STRING.sub(blank, text)
    for number, (line, bare) in enumerate(zip(keyed.split("\n"), counted.split("\n"), strict=True), start=1):
        header = _HEADER.match(line) if depth == 0 else None
        if header:
            table = _dotted(header[1])
            found.setdefault(table, number)
            continue
        if depth == 0 and (key := _KEY.match(line)):
            found.setdefault(f"{table}.{_dotted(key[1])}" if table else _dotted(key[1]), number)
        depth = max(0, depth + sum(bare.count(c) for c in "[{") - sum(bare.count(c) for c in "]}"))
    return found


def value(v) -> str:
    """One value as TOML text that reads back as the same value."""
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, int | float):
        return repr(v)
    if isinstance(v, str):
        # JSON's escapes are TOML's, except for one character that JSON does not escape.
        return json.dumps(v, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(v, Mapping):
        return "{ " + ", ".join(f"{key(k)} = {value(x)}" for k, x in v.items()) + " }"
    return "[" + ", ".join(value(x) for x in v) + "]"


def key(name: str) -> str:
    """A key, quoted where TOML needs it: `"init.log_scale"` as one key."""
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else json.dumps(name, ensure_ascii=False)


def write(tables: Mapping, prefix: str = "") -> str:
    """Tables as TOML text: plain values first, then each sub-table under its header."""
    plain = [f"{key(k)} = {value(v)}" for k, v in tables.items() if not isinstance(v, Mapping)]
    parts = ["\n".join(plain)] if plain else []
    for name, table in tables.items():
        if isinstance(table, Mapping):
            path = f"{prefix}{key(name)}"
            body = write(table, path + ".")
            bare = not any(not isinstance(v, Mapping) for v in table.values())
            parts.append(body if bare and body else f"[{path}]\n{body}".rstrip("\n"))
    return "\n\n".join(parts)
