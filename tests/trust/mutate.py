"""Ways to spoil bytes and values."""

from __future__ import annotations

from random import Random

ODD_NUMBERS = (
    *(
        0,
        -1,
        1,
        2,
        3,
        0.0,
        -0.0,
        0.5,
        1e-320,
        1e-300,
        1e300,
        -1e308,
        1.7e308,
        float("nan"),
        float("inf"),
        float("-inf"),
    ),
    *(2**31, 2**63 - 1, 2**63, -(2**63), 10**9, 10**12, 10**30, -(10**30), 10**400, True, False),
)
ODD_TEXTS = (
    *("", " ", "x", "y", "nan", "1e999", "../outside/secret.csv", "/etc/passwd", "\0", "\x1b[31mred\x1b[0m", "a\nb"),
    *(
        "\u202eright to left",
        "\ud83d\udd25" * 20,
        "ﬁ\u0301\u200b",
        "%s%n{0}",
        "__class__",
        "x" * 5000,
        "\U0010ffff",
        "\x7f\x85",
    ),
)


def spoiled(rng: Random, raw: bytes) -> tuple[str, bytes]:
    """(how, other bytes): flips, cuts, repeats, bytes put in or moved."""
    how = rng.choice(["flip", "flips", "cut", "drop", "repeat", "insert", "swap", "zeros", "append", "extreme"])
    n = len(raw)
    if n == 0:
        return "insert", bytes(rng.randrange(256) for _ in range(rng.randint(1, 40)))
    out = bytearray(raw)
    at = rng.randrange(n)
    width = min(n - at, rng.choice([1, 1, 2, 4, 8, 40]))
    if how in ("flip", "flips"):
        for _ in range(1 if how == "flip" else rng.randint(2, 24)):
            out[rng.randrange(n)] ^= 1 << rng.randrange(8)
    elif how == "cut":
        del out[at:]
    elif how == "drop":
        del out[at : at + width]
    elif how == "repeat":
        out[at:at] = out[at : at + width] * rng.choice([1, 2, 100])
    elif how == "insert":
        out[at:at] = bytes(rng.randrange(256) for _ in range(width))
    elif how == "swap":
        to = rng.randrange(n)
        out[at], out[to] = out[to], out[at]
    elif how == "zeros":
        out[at : at + width] = bytes(width)
    elif how == "extreme":
        size = min(4, n - at)
        out[at : at + size] = rng.choice(
            [b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80"]
        )[:size]
    else:
        out += bytes(rng.randrange(256) for _ in range(rng.randint(1, 64)))
    return how, bytes(out)


def odd(rng: Random, depth: int = 0):
    """A value that is rarely what was meant."""
    roll = rng.random()
    if roll < 0.45 or depth > 3:
        return rng.choice(ODD_NUMBERS)
    if roll < 0.7:
        return rng.choice(ODD_TEXTS)
    if roll < 0.88:
        return [odd(rng, depth + 1) for _ in range(rng.randint(0, 4))]
    return {rng.choice(ODD_TEXTS[:12]) or "k": odd(rng, depth + 1) for _ in range(rng.randint(0, 3))}


def paths(value, at=()):
    """Every place in nested tables and lists."""
    found = [at] if at else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        found += paths(inner, (*at, key))
    return found


def struck(rng: Random, value, way=odd) -> str:
    """Changes `value` at one place, in place: another value, a lost or an added key, the same under another name."""
    places = paths(value)
    if not places:
        return "nothing"
    *head, last = rng.choice(places)
    where = value
    for key in head:
        where = where[key]
    act = rng.choice(["other", "other", "other", "lose", "add", "rename", "nudge"])
    name = ".".join(map(str, (*head, last)))
    if act == "lose":
        del where[last]
    elif act == "add" and isinstance(where, dict):
        where[rng.choice([*ODD_TEXTS[:14], "kind", "extra", "over"])] = way(rng)
    elif act == "rename" and isinstance(where, dict):
        where[str(last)[::-1] + "x"] = where.pop(last)
    elif act == "nudge" and isinstance(where[last], int | float) and not isinstance(where[last], bool):
        where[last] += rng.choice([-1, 1, 0.5, 10**6])
    else:
        where[last] = way(rng)
    return f"{act} {name}"
