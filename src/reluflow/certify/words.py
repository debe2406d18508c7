"""A certificate in words: hypotheses and conclusions, with nothing that the checker does not verify."""

import textwrap

from reluflow.certify.decimals import spoken
from reluflow.certify.exact import rational, words

WIDTH = 92  # columns


def vector(row) -> str:
    return "(" + ", ".join(row) + ")"


def theorem(content: dict, events: list) -> str:
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
        lines += _rival(content["rival"], "f" if "rate" in content["limit"] else "e")
    return "\n".join(_wrapped(line) for line in lines)


def _wrapped(line: str) -> str:
    """A line of at most WIDTH columns, its continuation indented; long numbers are left whole."""
    start = line[: len(line) - len(line.lstrip())]
    after = start + ("    " if start or line.startswith("(") else "")
    return textwrap.fill(line, WIDTH, subsequent_indent=after, break_long_words=False, break_on_hyphens=False)


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


def _rival(rival, letter: str) -> list[str]:
    rows = [f"    {s:+d} max(<{vector(v)}, x>, 0)" for v, s in zip(rival["v"], rival["s"])]
    return [
        f"({letter}) The limit is not of minimum norm. This network, balanced, fits all data exactly, and its "
        f"|theta|^2 is less by a number in {spoken(rival['gap'])}:",
        *rows,
    ]
