"""A proved statement about one flow: read as a theorem, stored as JSON, checked by other code."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

KIND = "reluflow certificate"
FORMAT = 1
DONE = {
    "on": "crosses the boundary of datum {i} and becomes active on it",
    "off": "crosses the boundary of datum {i} and becomes inactive on it",
    "rest": "reaches the boundary of datum {i} and rests on it, inactive",
    "slide": "reaches the boundary of datum {i} and slides along it",
    "release_on": "leaves the boundary of datum {i} and is active on it",
    "release_off": "leaves the boundary of datum {i} and is inactive on it",
}
KIND_OF = {"01": "on", "10": "off", "1r": "off", "0r": "off", "1s": "slide", "0s": "slide", "s1": "release_on",
           "s0": "release_off", "sr": "release_off", "r1": "on", "r0": "off", "rs": "slide"}  # fmt: skip


@dataclass(frozen=True)
class Event:
    """One proved event: between `start` and `end` (decimals) row `datum` of `neuron` changes, exactly once."""

    start: str
    end: str
    neuron: int
    datum: int
    change: str

    @property
    def kind(self) -> str:
        """The engine's word for it."""
        return KIND_OF[self.change]

    @property
    def t(self) -> float:
        return (float(self.start) + float(self.end)) / 2

    def __str__(self) -> str:
        done = "rest" if self.change[1] == "r" else self.kind
        return f"neuron {self.neuron} " + DONE[done].format(i=self.datum)


@dataclass(frozen=True, eq=False)
class Certificate:
    """What was proved about a flow. `print` it to read the theorem; `check()` verifies it with other code."""

    content: dict

    @property
    def events(self) -> list[Event]:
        return [
            Event(w["start"], w["end"], j, i, change) for w in self.content["windows"] for j, i, change in w["changes"]
        ]

    @property
    def converges(self) -> bool:
        """Whether the statement is about all time."""
        return "limit" in self.content

    @property
    def _end(self) -> dict:
        return self.content["limit"] if self.converges else self.content["end"]

    @property
    def outputs(self) -> list[tuple[float, float]]:
        """Bounds of f(x_i) at the limit, or at the last time."""
        if self.converges:
            return [_around(v, v) for v in self._end["outputs"]]
        return [_around(*pair) for pair in self._end["outputs"]]

    @property
    def loss(self) -> tuple[float, float]:
        """Bounds of the loss at the limit, or at the last time."""
        value = self._end["loss"]
        return _around(value, value) if isinstance(value, str) else _around(*value)

    @property
    def norm2(self) -> tuple[float, float]:
        """Bounds of |theta|^2 at the limit, or at the last time; for the largest scale where there are many."""
        return _around(*self._end["norm2"])

    @property
    def gap(self) -> tuple[float, float] | None:
        """Bounds of |theta|^2 at the limit less that of a network that fits with less, if one is part of the
        proof."""
        return _around(*self.content["rival"]["gap"]) if "rival" in self.content else None

    def check(self) -> list[str]:
        """Verifies the statement with the independent checker: its report; raises `reluflow.certify_check.Wrong`."""
        from reluflow import certify_check

        return certify_check.check(self.content)

    def to_json(self) -> str:
        return json.dumps(self.content, indent=1)

    def save(self, path) -> Path:
        """Writes the JSON."""
        path = Path(path)
        path.write_text(self.to_json() + "\n", encoding="utf-8")
        return path

    @classmethod
    def load(cls, path) -> Certificate:
        """Reads a saved certificate; reading proves nothing, `check()` does."""
        path = Path(path)
        if not path.exists():
            raise FileNotFoundError(f"File not found: {path}.")
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:  # no JSON, or no text
            content = None
        if not isinstance(content, dict) or content.get("kind") != KIND or content.get("format") != FORMAT:
            raise ValueError(
                f"`{path}` is not a certificate of format {FORMAT}: write one with `certificate.save(path)` or "
                "`reluflow certify FILE.toml --out CERT`."
            )
        return cls(content)

    def __str__(self) -> str:
        from reluflow.certify.words import theorem

        return theorem(self.content, self.events)

    def __repr__(self) -> str:
        end = "to its limit" if self.converges else f"to t = {self._end['t']}"
        m, n = len(self.content["problem"]["w"]), len(self.content["problem"]["x"])
        return f"Certificate({m} neurons, {n} data, {len(self.events)} events, {end})"


def _around(lo: str, hi: str) -> tuple[float, float]:
    """Floats that contain a stored interval."""
    down, up = float(Fraction(lo)), float(Fraction(hi))
    return math.nextafter(down, -math.inf), math.nextafter(up, math.inf)
