"""A flow from its start to a given time, or until `limit` proves what follows: steps, signs, windows, all proved."""

from __future__ import annotations

from dataclasses import dataclass, field

from reluflow.certify._flint import arb, arb_poly, ctx, fmpq
from reluflow.certify.decimals import fraction
from reluflow.certify.enclosure import Net, State, Tube, inner, length, start, step, tube, up
from reluflow.certify.refusal import Refused
from reluflow.certify.signs import Watch, bracket, root
from reluflow.certify.window import Box, Due, Event, cross

WIDE = 4  # a window reaches so many times the uncertainty of its events to either side


@dataclass
class Run:
    """A run under proof: where it is, and what has been proved on the way."""

    net: Net
    state: State
    order: int
    events: list[Event] = field(default_factory=list)
    steps: int = 0

    @classmethod
    def begin(cls, exact) -> Run:
        net = Net.of(exact)
        return cls(net, start(net), int(ctx.prec / 2.3) + 8)

    def advance(self, until: fmpq) -> bool:
        """One step, or a step up to the next events and their window; whether events happened."""
        net, state = self.net, self.state
        now = step(net, state, self.order, until - state.t)
        self.steps += 1
        watches, left, free = self._watches(now)
        due = _first(watches, now)
        if due:  # a tube that ends soon after the events is thinner
            last = max((r for _, r, _ in due), key=_mid)
            room = max((up(w.error / slope) for w, _, slope in due), key=_mid)
            h = fraction(last + 8 * WIDE * room + arb(2) ** -(ctx.prec // 2)) * now.h
            now = tube(net, state, min(now.h, h), now.coefficients) or now
            watches, left, free = self._watches(now)
            due = _first(watches, now)
        if not due:
            self.state = now.at(fmpq(1))
            self.state.leaving = left
            return False
        lo, hi = self._window(now, due)
        s = (lo - state.t) / now.h
        members = {id(w) for w, _, _ in due}
        for w in watches:
            if id(w) in members:
                fine = w.since < s and w.value(s) > w.error  # and it falls from where it was proved positive
            else:
                fine = w.since >= s or bracket(w, w.since, s) is None  # before `since` the rate proves it
            if not fine:
                raise Refused(f"The sign of neuron {w.j} at datum {w.i} is not proved up to an event.", float(arb(lo)))
        before, past = now.at(s), now.at((hi - state.t) / now.h)
        before.leaving = {k: v for k, v in state.leaving.items() if free[k] > s}
        self.state, events = cross(net, before, past, [Due(w.j, w.i, w.kind) for w, _, _ in due])
        self.events += events
        return True

    def _window(self, now: Tube, due) -> tuple[fmpq, fmpq]:
        """Decimal times around the events, as near as they are known."""
        first = min((r for _, r, _ in due), key=_mid)
        last = max((r for _, r, _ in due), key=_mid)
        width = max((up(w.error / slope) for w, _, slope in due), key=_mid)
        width = WIDE * width + arb(2) ** -(ctx.prec - 8)
        h, t = arb(now.h), arb(now.state.t)
        lo, hi = t + (first - width) * h, t + (last + width) * h
        places = max(6, int(float(-(width * h).log() / arb(10).log())) + 2)
        unit = fmpq(10) ** places
        lo, hi = (fraction(lo) * unit).floor() / unit, (fraction(hi) * unit).ceil() / unit
        if hi > now.state.t + now.h:
            raise Refused("Events happen too near the end of a step.", float(arb(hi)))
        return max(lo, now.state.t), hi

    def _watches(self, now: Tube):
        """All quantities whose signs keep the pattern, each with the time from which it is watched."""
        net, state = self.net, self.state
        exact, watches, left, free = net.exact, [], {}, {}
        for j, c in enumerate(state.cells):
            for i, letter in enumerate(c.states):
                if letter in "sr":
                    for kind, row in c.stays(i).items():
                        watches.append(_form(now, j, i, kind, row))
                elif c.on:
                    side = 1 if letter == "1" else -1
                    q = side * inner(exact.x[i], now.w[j])
                    w = Watch(j, i, "hit", q, up(net.size[i] * now.r))
                    if (j, i) in state.leaving:
                        w.since, level = _left(net, now, w, c, side, state.leaving[j, i])
                        free[j, i] = w.since
                        if w.since == 1:
                            left[j, i] = level
                    watches.append(w)
        return watches, left, free


def _mid(x):
    return x.mid()


def _form(now: Tube, j, i, kind, row) -> Watch:
    """A linear form of g along the tube."""
    q = inner(row, now.g) if any(row) else arb_poly([0])
    error = sum((abs(arb(c)) * e for c, e in zip(row, now.spread, strict=True)), arb(0))
    return Watch(j, i, kind, q, up(error), row)


def _left(net, now: Tube, watch: Watch, c, side, level):
    """How long a pair that leaves its boundary must be watched by its rate: until u is clear of 0.

    Returns that time (1: all the step) and the level for the next step.
    """
    rate = _form(now, watch.j, watch.i, "rate", tuple(side * v for v in c.rate(watch.i)))
    clear = _clear(watch)
    t = float(arb(now.state.t))
    since = fmpq(0)
    if level == 2:
        since = _clear(rate)
        rho = up(now.r + arb(since) * arb(now.h) * now.norm * _fastest(now))
        box = Box(net, now.state, rho)
        drift = box.drift([(k,) for k in now.state.cells])
        if not inner(rate.row, drift) > 0:
            raise Refused(f"Neuron {watch.j} is not proved to leave the boundary of datum {watch.i}.", t)
    if since < clear and bracket(rate, since, clear) is not None:
        raise Refused(f"Neuron {watch.j} is not proved to leave the boundary of datum {watch.i}.", t)
    return clear, 2 if since == 1 else 1


def _fastest(now: Tube) -> arb:
    whole = arb(0.5, 0.5)
    best = arb(0)
    for c, pull in now.D.items():
        extra = sum((now.spread[i] * length([arb(v) for v in c.xi[i]]) for i in c.on), arb(0))
        best = max(best, up(length([q(whole) for q in pull]) + extra))
    return best


def _clear(watch: Watch) -> fmpq:
    """The first of ..., 1/4, 1/2, 1 at which a quantity is well above its error, or 1."""
    for k in range(2 * ctx.prec, 0, -1):
        s = fmpq(1, 2**k)
        if watch.value(s) > 4 * watch.error:
            return s
    return fmpq(1)


def _first(watches, now: Tube):
    """The events that come first: (watch, root, slope) of each; none if all signs hold."""
    limit, found, doubts = fmpq(1), [], []
    for w in watches:
        if w.since >= limit:
            continue
        part = bracket(w, w.since, limit)
        if part is None:
            continue
        lo, hi, falls = part
        if not falls:
            doubts.append((lo, w))
            continue
        r, slope = root(w, lo, hi)
        guard = 64 * up(w.error / slope)
        found.append((w, r, slope))
        limit = min(limit, fraction(r + guard))
    if not found and not doubts:
        return []
    first = min((r for _, r, _ in found), key=_mid) if found else arb(2)
    for lo, w in doubts:
        if arb(lo) < first:
            raise Refused(
                f"Neuron {w.j} may touch the boundary of datum {w.i} or its force may vanish: the sign is not decided.",
                float(arb(now.state.t) + arb(lo) * arb(now.h)),
            )
    group = [f for f in found if f[1].mid() == first.mid()]
    while True:
        width = max((up(w.error / s) for w, _, s in group), key=_mid)
        last = max((r for _, r, _ in group), key=_mid)
        more = [f for f in found if f[1] < last + 3 * WIDE * (width + up(f[0].error / f[2]))]
        if len(more) == len(group):
            return group
        group = more
