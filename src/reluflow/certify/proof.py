"""The content of a certificate: a run to its end, with more digits where they are needed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reluflow.certify._flint import arb, ctx, fmpq
from reluflow.certify.certificate import FORMAT, KIND
from reluflow.certify.decimals import ball, interval
from reluflow.certify.exact import Exact, rational, words
from reluflow.certify.limit import Limit, close
from reluflow.certify.refusal import Refused
from reluflow.certify.rival import norm2 as norm_of
from reluflow.certify.rival import rival
from reluflow.certify.run import Run

DOUBLINGS = 3  # of the working digits, before a refusal stands
SHARP = 1e-7  # relative width of |theta|^2 at the limit that is waited for,
PATIENCE = 2.0  # but not longer than this multiple of the time of the first proof of convergence


@dataclass(frozen=True)
class Proving:
    """What `progress` is told after every step: the time `t` reached on the way to `end` (None: until the limit is
    proved), the `events` proved until then, and the `digits`, doubled `attempt` times."""

    t: float
    end: float | None
    events: int
    digits: int
    attempt: int


def proved(
    problem, t1: str | None, digits: int, every_scale_below: bool, latest: float, tell: Callable | None = None
) -> dict:
    """What is proved up to t1, or for ever; begins with `digits` and doubles them."""
    exact = Exact.of(problem, every_scale_below)
    end = None if t1 is None else rational(t1)
    if exact.loss != "square" and end is None:
        raise Refused("Limits are proved for the square loss alone: give `t1`.", final=True)
    refusals = []
    for attempt in range(DOUBLINGS + 1):

        def say(run: Run, attempt=attempt) -> None:
            if tell is not None:
                to = None if end is None else float(arb(end))
                tell(Proving(float(arb(run.state.t)), to, len(run.events), digits << attempt, attempt))

        try:
            with ctx.workdps(digits << attempt):
                content = _forever(exact, problem, latest, say) if end is None else _until(exact, end, say)
                return {**_head(exact, digits << attempt), **content}
        except Refused as refusal:
            refusals.append(refusal)
            if refusal.final:
                break
    raise max(refusals, key=lambda r: r.t or 0.0)  # the one that came farthest


def _head(exact: Exact, digits: int) -> dict:
    return {"kind": KIND, "format": FORMAT, "problem": exact.to_dict(), "digits": digits}


def _windows(run: Run) -> list[dict[str, Any]]:
    """The events, those of one window together."""
    out: list[dict[str, Any]] = []
    for e in run.events:
        start, end = words(e.start), words(e.end)
        if not out or out[-1]["start"] != start:
            out.append({"start": start, "end": end, "changes": []})
        out[-1]["changes"].append([e.j, e.i, e.before + e.after])
    return out


def _until(exact: Exact, end: fmpq, say: Callable) -> dict:
    run = Run.begin(exact)
    while run.state.t < end:
        say(run)
        run.advance(end)
    return {"windows": _windows(run), "end": {"t": words(end), **_values(run)}}


def _values(run: Run) -> dict:
    """Outputs, loss and norm at the state, enclosed."""
    net, state = run.net, run.state
    exact = net.exact
    reach = net.mu * arb(0, (state.norm() * state.r + state.r**2 / 2).upper())
    f = [net.mu * v + reach * s for v, s in zip(state.phi(net), net.size, strict=True)]
    if exact.loss == "square":
        each = [(v - arb(y)) ** 2 / 2 for v, y in zip(f, exact.y)]
    else:
        each = [(1 + (-arb(y) * v).exp()).log() for v, y in zip(f, exact.y)]
    loss = sum(each, arb(0)) * arb(exact.weight)
    size = sum((v * v for v in (*state.a, *(c for w in state.w for c in w))), arb(0)).sqrt() + arb(0, state.r)
    return {"outputs": [interval(v) for v in f], "loss": interval(loss), "norm2": interval(net.mu * size**2)}


def _forever(exact: Exact, problem, latest: float, say: Callable) -> dict:
    run, limit = Run.begin(exact), None
    last, first = rational(latest), None
    while limit is None or not _sharp(limit, first, run):
        say(run)
        if run.state.t >= last:
            if limit is not None:
                break
            raise Refused(
                "Convergence is not proved up to `latest`: the flow may converge too slowly, or to a limit that the "
                "theorems do not cover.",
                float(arb(run.state.t)),
            )
        run.advance(last)
        found = close(run.net, run.state)
        if found is not None and first is None:
            first = run.state.t
        limit = found or limit
    run, limit = _rounded(run)
    content: dict[str, Any] = {"windows": _windows(run), "limit": {"t": words(run.state.t), **_described(limit, exact)}}
    if limit.loss == 0 and not exact.below:
        smaller = rival(exact, problem.data)
        if smaller is not None:
            gap = ball(content["limit"]["norm2"]) - norm_of([[rational(c) for c in v] for v in smaller["v"]])
            if gap > 0:
                content["rival"] = {**smaller, "gap": interval(gap)}
    return content


def _sharp(limit: Limit, first: fmpq, run: Run) -> bool:
    thin = float(limit.norm2.rad()) <= SHARP * float(limit.norm2.mid())
    return thin or limit.theorem == "orthogonal" or float(arb(run.state.t)) > PATIENCE * float(arb(first))


def _rounded(run: Run) -> tuple[Run, Limit]:
    """Goes on to a time of few decimals and closes there."""
    places = 0 if run.state.t > 20 else 2
    unit = fmpq(10) ** places
    t = -((-run.state.t * unit).floor()) / unit
    while run.state.t < t:
        run.advance(t)
    limit = close(run.net, run.state)
    if limit is None:
        raise Refused("Convergence was proved at an earlier time, but not at the rounded time.", float(arb(t)))
    return run, limit


def _described(limit: Limit, exact: Exact) -> dict:
    out = {
        "theorem": limit.theorem,
        "outputs": [words(v) for v in limit.outputs],
        "loss": words(limit.loss),
        "norm2": interval(limit.norm2),
        "alive": list(limit.alive),
        **limit.choices,
    }
    if limit.rate is not None:
        out["rate"] = words(exact.weight * rational(limit.choices["kappa"]))
    if limit.excess is not None:
        out["excess"] = interval(limit.excess)
    return out
