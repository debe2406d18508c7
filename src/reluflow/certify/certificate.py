"""A proved statement about one flow: read as a theorem, stored as JSON, checked by other code."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from reluflow.certify.decimals import ball, spoken
from reluflow.certify.exact import rational, words

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
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.get("kind") != KIND or content.get("format") != FORMAT:
            raise ValueError(
                f"`{path}` is not a certificate of format {FORMAT}: write one with `certificate.save(path)`."
            )
        return cls(content)

    def __str__(self) -> str:
        return theorem(self.content, self.events)

    def __repr__(self) -> str:
        end = "to its limit" if self.converges else f"to t = {self._end['t']}"
        m, n = len(self.content["problem"]["w"]), len(self.content["problem"]["x"])
        return f"Certificate({m} neurons, {n} data, {len(self.events)} events, {end})"


def _around(lo: str, hi: str) -> tuple[float, float]:
    """Floats that contain a stored interval."""
    b = ball((lo, hi))
    down, up = float(b.lower()), float(b.upper())
    return math.nextafter(down, -math.inf), math.nextafter(up, math.inf)


# Words ----------------------------------------------------------------------------------------------------------------


def vector(row) -> str:
    return "(" + ", ".join(row) + ")"


def theorem(content: dict, events: list[Event]) -> str:
    p = content["problem"]
    lines = ["Theorem. " + _setting(p), "", *_data(p), "", "Then:"]
    until = content["limit"]["t"] if "limit" in content else content["end"]["t"]
    when = "for all t >= 0" if "limit" in content else f"on [0, {until}]"
    each = ", for every such scale" if p["every_scale_below"] else ""
    lines.append(f"(a) The flow has exactly one solution in Filippov's sense {when}{each}.")
    forever = " and never again" if "limit" in content else ""
    if events:
        lines.append(
            f"(b) Its activation pattern changes at exactly these {len(events)} events up to t = {until}{forever} "
            "(events of one interval have no proved order):"
        )
        lines += [f"    t in {spoken((e.start, e.end), 14)}: {e}" for e in events]
    else:
        lines.append(f"(b) Its activation pattern never changes up to t = {until}{forever}.")
    lines += _limit(content["limit"], p) if "limit" in content else _finite(content["end"])
    if "rival" in content:
        lines += _rival(content["rival"])
    return "\n".join(lines)


def _setting(p) -> str:
    m, n, d = len(p["w"]), len(p["x"]), len(p["x"][0])
    loss = {
        "square": f"L = {p['weight']} sum_i (f(x_i) - y_i)^2 / 2",
        "logistic": f"L = {p['weight']} sum_i log(1 + exp(-y_i f(x_i)))",
    }[p["loss"]]
    scale = "for any scale 0 < eps <= e^{ls}" if p["every_scale_below"] else "with eps = e^{ls}"
    return (
        f"Let f(x) = sum_j a_j max(<w_j, x>, 0) have m = {m} neurons on n = {n} data in dimension d = {d}, and let "
        f"(w, a) follow the gradient flow of {loss} from w_j(0) = eps W_j, a_j(0) = s_j |w_j(0)|, "
        + scale.replace("{ls}", p["log_scale"] if p["log_scale"][0] != "-" else f"({p['log_scale']})")
        + ". All numbers are exact."
    )


def _data(p) -> list[str]:
    rows = [f"    x_{i} = {vector(x)}, y_{i} = {y}" for i, (x, y) in enumerate(zip(p["x"], p["y"]))]
    return rows + [f"    W_{j} = {vector(w)}, s_{j} = {s:+d}" for j, (w, s) in enumerate(zip(p["w"], p["s"]))]


def _limit(limit, p) -> list[str]:
    alive = ", ".join(map(str, limit["alive"])) or "none"
    lines = [
        f"(c) It converges: f(x_i) -> {vector(limit['outputs'])} and L -> {limit['loss']}; the neurons active on some "
        f"datum from t = {limit['t']} on are {alive}."
    ]
    if "excess" in limit and p["every_scale_below"]:
        lines.append(
            f"(d) |theta|^2 = sum_j |w_j|^2 + a_j^2 -> {_base(limit, p)} + c eps^2 with c in {spoken(limit['excess'])}."
        )
    else:
        lines.append(f"(d) |theta|^2 = sum_j |w_j|^2 + a_j^2 tends to a number in {spoken(limit['norm2'])}.")
    if "rate" in limit:
        lines.append(
            f"(e) After t = {limit['t']} the distance of (f(x_i)) from its limit is at most its value then times "
            f"exp(-{limit['rate']} (t - {limit['t']}))."
        )
    return lines


def _base(limit, p) -> str:
    """The part of |theta|^2 on orthogonal data that is free of the scale: 2 |y_i| / |x_i| of the rows fitted."""
    parts = []
    for x, y, f in zip(p["x"], p["y"], limit["outputs"]):
        if rational(f) != 0:
            square = sum((rational(v) ** 2 for v in x), rational(0))
            parts.append(f"2 |{y}| / sqrt({words(square)})")
    return " + ".join(parts) or "0"


def _finite(end) -> list[str]:
    outputs = ", ".join(spoken(v) for v in end["outputs"])
    return [
        f"(c) At t = {end['t']}: f(x_i) in {outputs}; L in {spoken(end['loss'])}; |theta|^2 in {spoken(end['norm2'])}."
    ]


def _rival(rival) -> list[str]:
    rows = [f"    {s:+d} max(<{vector(v)}, x>, 0)" for v, s in zip(rival["v"], rival["s"])]
    return [
        "(f) The limit is not of minimum norm. This network, balanced, fits all data exactly, and its |theta|^2 is "
        f"less by a number in {spoken(rival['gap'])}:",
        *rows,
    ]
