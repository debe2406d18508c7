r"""An independent checker of certificates: `python -m reluflow.certify_check CERTIFICATE.json ...`.

It shares no code with the engine or the prover. From the file it takes the exact problem, the windows of the events,
and the numbers chosen for the limit; everything else is proved again, with other orders, other steps and more digits:

1. Between windows, polynomial curves p with |x(t) - p(t)| <= (r + t delta) e^{Lt}: the flow with its pattern kept is
   the gradient flow of a smooth function whose Hessian is at least -L, L = max_j |D_j|, and delta bounds p' - F(p).
2. In a window, every quantity that changes sign is shown to do so once, all others not to, on a ball that the flow
   cannot leave; the new pattern is the only one that Filippov's definition allows.
3. At the end, the claimed numbers contain those found; for a limit, the hypotheses of its theorem hold.

`docs/theorems.md` states the theorems. A certificate that fails in any line is refused by `Wrong`.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from itertools import product
from operator import mul
from pathlib import Path

try:
    from flint import arb, arb_mat, arb_poly, arb_series, ctx, fmpq
except ImportError as error:
    raise ImportError("Certificates need python-flint: install `reluflow[precise]`.") from error

UNIT = arb(0.5, 0.5)  # [0, 1]


class Wrong(ArithmeticError):
    """The certificate does not prove its statement."""


def demand(true, sentence: str) -> None:
    if not true:
        raise Wrong(sentence)


def check(content: dict) -> list[str]:
    """Lines that say what was verified; `Wrong` at the first that does not hold."""
    try:
        demand(content["kind"] == "reluflow certificate" and content["format"] == 1, "Not a certificate of format 1.")
        with ctx.workdps(content["digits"] + content["digits"] // 4 + 10):
            return _check(content)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise Wrong(f"The certificate is incomplete or malformed: {error!r}.") from error


def _check(content: dict) -> list[str]:
    flow = Flow(content["problem"])
    demand(("limit" in content) != ("end" in content), "A certificate has a limit or an end, and one of them alone.")
    end = content["limit"] if "limit" in content else content["end"]
    report = []
    for window in content["windows"]:
        flow.go(Fraction(window["start"]))
        start, end_ = flow.narrow(Fraction(window["end"]), window["changes"])
        flow.go(start)
        flow.window(end_, window["changes"])
        names = ", ".join(f"({j}, {i}) {change}" for j, i, change in window["changes"])
        report.append(f"{names} at t = {float(start):.12g}, found again within {float(end_ - start):.1e}")
    flow.go(Fraction(end["t"]))
    report.append(f"no other events up to t = {end['t']}")
    if "limit" in content:
        demand(not flow.logistic, "Limits are those of the square loss.")
        report.append({"kernel": kernel_limit, "orthogonal": orthogonal_limit}[end["theorem"]](flow, end))
    else:
        report.append(flow.values(end))
    if "rival" in content:
        report.append(rival(flow, content))
    return report


# Exact numbers --------------------------------------------------------------------------------------------------------


def ball(q) -> arb:
    q = Fraction(q)
    return arb(fmpq(q.numerator, q.denominator))


def dot(u, v):
    return sum(map(mul, u, v))


def solve(matrix, right):
    """Gauss elimination in fractions; None if singular."""
    n = len(matrix)
    rows = [list(r) + [b] for r, b in zip(matrix, right, strict=True)]
    for p in range(n):
        pivot = next((i for i in range(p, n) if rows[i][p]), None)
        if pivot is None:
            return None
        rows[p], rows[pivot] = rows[pivot], rows[p]
        rows[p] = [v / rows[p][p] for v in rows[p]]
        for i in range(n):
            if i != p and rows[i][p]:
                rows[i] = [a - rows[i][p] * b for a, b in zip(rows[i], rows[p])]
    return [r[n] for r in rows]


class Pattern:
    """A neuron's rows: on "1", off "0", slid "s", at rest "r". All forms are rows over g."""

    def __init__(self, x, s, letters):
        self.x, self.s, self.letters, self.n = x, s, letters, len(x)
        self.on = [i for i in range(self.n) if letters[i] == "1"]
        slid = [i for i in range(self.n) if letters[i] == "s"]
        gram = [[dot(x[i], x[k]) for k in slid] for i in slid]
        shares = [solve(gram, [dot(x[i], x[k]) for i in slid]) for k in range(self.n)]
        self.fine = None not in shares
        if self.fine:  # rows projected off the slid ones, and the multipliers that do it
            self.seen = [
                [x[k][c] - dot(shares[k], [x[i][c] for i in slid]) if k in self.on else 0 for c in range(len(x[0]))]
                for k in range(self.n)
            ]
            self.nu = {i: [-shares[k][p] if k in self.on else 0 for k in range(self.n)] for p, i in enumerate(slid)}
            self.rate = [[s * dot(self.seen[k], x[i]) for k in range(self.n)] for i in range(self.n)]

    def keeps(self, i):
        """Forms that are positive while row i stays slid or at rest."""
        unit = [int(k == i) for k in range(self.n)]
        if self.letters[i] == "r":
            return {"r": [-self.s * v for v in unit]}
        return {"0": [-self.s * v for v in self.nu[i]], "1": [-self.s * (u - v) for u, v in zip(unit, self.nu[i])]}

    def change(self, letters: dict) -> Pattern:
        return Pattern(self.x, self.s, "".join(letters.get(i, c) for i, c in enumerate(self.letters)))


def form(row, values):
    """sum row_i values_i for numbers or polynomials."""
    return sum((ball(c) * v for c, v in zip(row, values, strict=True) if c), values[0] * 0)


def size(values) -> arb:
    """Not below the Euclidean length."""
    return sum((v.abs_upper() ** 2 for v in values), arb(0)).sqrt().abs_upper()


def sigmoid(v, terms):
    """1/(1 + e^v) along a polynomial v on [0, 1]: a polynomial Z, and a bound of the error by its equation.

    S' = -v' S (1 - S) and Z' = -v' Z (1 - Z) + eta give |S - Z|' <= |v'| |1 - S - Z| |S - Z| + |eta|.
    """
    cap, ctx.cap = ctx.cap, terms
    Z = arb_poly([c.mid() for c in (1 / (1 + arb_series(v.coeffs()[:terms], terms).exp())).coeffs()])
    ctx.cap = cap
    eta = size([sum(map(abs, (Z.derivative() + v.derivative() * (Z - Z * Z)).coeffs()), arb(0))])
    start = (1 / (1 + v(0).exp()) - Z(0)).abs_upper()
    rate = v.derivative()(UNIT).abs_upper() * (1 + (1 - Z(UNIT)).abs_upper())
    return Z, ((start + eta) * rate.exp()).upper()


def root(q) -> Fraction | None:
    """Where the middle of a polynomial falls to 0 in [0, 1], by halving."""
    lo, hi = Fraction(0), Fraction(1)
    if not (q(ball(lo)).mid() > 0 and q(ball(hi)).mid() < 0):
        return None
    for _ in range(ctx.prec):
        middle = (lo + hi) / 2
        lo, hi = (middle, hi) if q(ball(middle)).mid() > 0 else (lo, middle)
    return lo


def fraction(x: arb) -> Fraction:
    """A number without radius."""
    man, exp = x.mid().man_exp()
    return Fraction(int(man)) * Fraction(2) ** int(exp)


# The flow -------------------------------------------------------------------------------------------------------------


class Flow:
    """A centre (w, a) / scale, a radius r, a time and the patterns: what is known of the flow."""

    def __init__(self, p):
        number = lambda rows: [[Fraction(v) for v in row] for row in rows]
        self.x, self.y, W, self.s = number(p["x"]), [Fraction(v) for v in p["y"]], number(p["w"]), list(p["s"])
        self.logistic = p["loss"] == "logistic"
        signs = all(s in (1, -1) for s in (*self.s, *(self.y if self.logistic else ())))
        demand(signs and (self.logistic or p["loss"] == "square"), "Only square and logistic loss are checked.")
        self.n, self.d, self.m = len(self.x), len(self.x[0]), len(W)
        demand(len(self.y) == self.n and len(self.s) == self.m and len(W[0]) == self.d, "The shapes differ.")
        self.omega = Fraction(p["weight"])
        demand(self.omega > 0, "The weight of the loss must be positive.")
        for i in range(self.n):
            parallel = [dot(self.x[i], x) ** 2 == dot(x, x) * dot(self.x[i], self.x[i]) for x in self.x[:i]]
            demand(any(self.x[i]) and not any(parallel), "A datum is zero or parallel to another.")
        u = [[dot(w, x) for x in self.x] for w in W]
        demand(all(v for row in u for v in row), "A neuron starts on a boundary.")
        self.pattern = [Pattern(self.x, s, "".join("1" if v > 0 else "0" for v in row)) for s, row in zip(self.s, u)]
        self.mu = (2 * ball(p["log_scale"])).exp()
        if p["every_scale_below"]:
            self.mu = self.mu.union(arb(0))
        self.long = [ball(dot(x, x)).sqrt() for x in self.x]
        self.t, self.r = Fraction(0), arb(0)
        self.leaving, self.slowly = set(), set()  # pairs that have just left a boundary, and those with no speed yet
        self.place([[ball(v) for v in w] for w in W], [s * ball(dot(w, w)).sqrt() for s, w in zip(self.s, W)], arb(0))
        self.h = Fraction(1)

    def place(self, w, a, r):
        """Takes balls as the new state: centres, and their radii into r."""
        self.r = (r + size([v.rad() for v in (*a, *(c for row in w for c in row))])).upper()
        self.w, self.a = [[v.mid() for v in row] for row in w], [v.mid() for v in a]

    def g(self, rho, others=()):
        """g_i within rho of the centre; `others` are pairs (j, pattern) that a neuron may have instead."""
        norm = size([*self.a, *(v for w in self.w for v in w)]) + rho
        out = []
        for i in range(self.n):
            f = sum((a * form(p.seen[i], w) for w, a, p in zip(self.w, self.a, self.pattern)), arb(0))
            f += arb(0, (self.long[i] * (norm * rho + rho**2 / 2)).upper())
            for j, p in others:
                row = [u - v for u, v in zip(p.seen[i], self.pattern[j].seen[i])]
                here = (self.a[j] + arb(0, rho)) * form(row, [v + arb(0, rho) for v in self.w[j]])
                f += here.union(arb(0))
            out.append(self.force(i, self.mu * f))
        return out

    def force(self, i, f):
        """-dL/df_i; it falls with f, at a rate between 0 and omega for both losses."""
        y = ball(self.y[i])
        return ball(self.omega) * (y / (1 + (y * f).exp()) if self.logistic else y - f)

    def u(self, j, i, rho):
        return form(self.x[i], self.w[j]) + arb(0, (self.long[i] * rho).upper())

    def pull(self, p, g):
        return [form([p.seen[i][c] for i in range(self.n)], g) for c in range(self.d)]

    def ball(self, time, others=()):
        """rho and g of a ball that the flow does not leave in this time, whichever patterns it has."""
        rho = 2 * self.r + arb(2) ** -(2 * ctx.prec)
        for _ in range(200):
            g = self.g(rho, others)
            norm = size([*self.a, *(v for w in self.w for v in w)]) + rho
            fast = max((size(self.pull(p, g)) for p in (*self.pattern, *(q for _, q in others))), key=float)
            need = (self.r + time * norm * fast).upper()
            if need <= rho:
                return rho, g
            rho = (need * ball("1.02")).upper()
        raise Wrong(f"No ball contains the flow near t = {float(self.t)}.")

    def drift(self, rho, g, others=()):
        """g' in a ball, whichever patterns the neurons have."""
        total = [arb(0)] * self.n
        for j in range(self.m):
            w, a = [v + arb(0, rho) for v in self.w[j]], self.a[j] + arb(0, rho)
            for i in range(self.n):
                parts = []
                for p in (self.pattern[j], *(q for k, q in others if k == j)):
                    D = self.pull(p, g)
                    parts.append(dot(D, w) * form(p.seen[i], w) + a * a * form(p.seen[i], D))
                for part in parts[1:]:
                    parts[0] = parts[0].union(part)
                total[i] += parts[0]
        bend = [s * (1 - s) if self.logistic else arb(1) for s in (ball(y / self.omega) * v for y, v in zip(self.y, g))]
        return [-ball(self.omega) * self.mu * b * v for b, v in zip(bend, total)]

    # Between windows

    def go(self, end: Fraction) -> None:
        """To the time `end`, every sign on the way proved."""
        demand(end >= self.t, f"Times must increase: {float(end)} follows {float(self.t)}.")
        while self.t < end:
            if self.leaving:
                self.leave(end)
            else:
                self.step(end)

    def step(self, end, patient=True, skip=()):
        h = min(end - self.t, self.h)
        order = int(ctx.prec / 3) + 6
        w, a = self.taylor(order)
        for _ in range(60):
            found = self.tube(w, a, h, skip)
            if found is not None:
                break
            h = h / 2
        else:
            raise Wrong(f"No step from t = {float(self.t)} could be proved.")
        at, r = found
        self.t += h
        self.place(at[0], at[1], r)
        if patient:
            self.h = 2 * h if h == self.h else max(h, self.h / 2)

    def taylor(self, order):
        """Coefficients of the flow from the centre, rounded."""
        w, a = [[[v] for v in row] for row in self.w], [[v] for v in self.a]
        mu, omega, axes = self.mu.mid(), ball(self.omega), range(self.d)
        moving = [j for j in range(self.m) if self.pattern[j].on]
        seen = [[[ball(v) for v in row] for row in p.seen] for p in self.pattern]
        D: list = [[[] for _ in axes] for _ in range(self.m)]
        f: list = [[] for _ in range(self.n)]
        share: list = [[] for _ in range(self.n)]
        term = lambda p, q, k: sum(map(mul, p[: k + 1], q[k::-1]), arb(0))
        for k in range(order):
            products = {j: [term(a[j], w[j][c], k) for c in axes] for j in moving}
            g = []
            for i in range(self.n):
                f[i].append(mu * sum((dot(seen[j][i], products[j]) for j in moving if i in self.pattern[j].on), arb(0)))
                if self.logistic and k:  # S' = -y f' S (1 - S), order by order
                    y, S = ball(self.y[i]), share[i]
                    inside = [term(S, [1 - S[0], *(-v for v in S[1:])], q) for q in range(k)]
                    S.append(
                        (-y / k * sum(((q + 1) * f[i][q + 1] * inside[k - 1 - q] for q in range(k)), arb(0))).mid()
                    )
                    g.append(omega * y * S[k])
                else:
                    g.append(self.force(i, f[i][0]) if k == 0 else -omega * f[i][k])
                    share[i].append((g[i] * ball(self.y[i]) / omega).mid())
            for j in moving:
                for c in axes:
                    D[j][c].append(sum((seen[j][i][c] * g[i] for i in self.pattern[j].on), arb(0)).mid())
                for c in axes:
                    w[j][c].append((term(a[j], D[j][c], k) / (k + 1)).mid())
                a[j].append((sum((term(D[j][c], w[j][c], k) for c in axes), arb(0)) / (k + 1)).mid())
        return w, a

    def curve(self, w, a, time):
        """w, a, phi and g as polynomials over [0, 1], and how far g may be from the truth along them."""
        terms = max(map(len, a))
        scaled = lambda c: arb_poly([(v * time**k).mid() for k, v in enumerate(c)])
        w, a = [[scaled(c) for c in row] for row in w], [scaled(c) for c in a]
        phi = [arb_poly([0])] * self.n
        for j, p in enumerate(self.pattern):
            aw = [a[j] * v for v in w[j]] if p.on else []
            for i in p.on:
                phi[i] = phi[i] + form(p.seen[i], aw)
        g, rough = [], []
        for y, v in zip(self.y, phi):
            f = self.mu.mid() * v
            S, error = sigmoid(ball(y) * f, terms) if self.logistic else (ball(y) - f, arb(0))
            g.append(ball(self.omega) * (ball(y) * S if self.logistic else S))
            rough.append(ball(self.omega) * error)
        return w, a, phi, g, rough

    def tube(self, w, a, h, skip):
        """The end of a step and its radius; None if the step is too long; `Wrong` if a sign is not proved."""
        time, axes = ball(h), range(self.d)
        w, a, phi, g, rough = self.curve(w, a, time)
        D = [self.pull(p, g) for p in self.pattern]
        defects = [w[j][c].derivative() - time * a[j] * D[j][c] for j in range(self.m) for c in axes]
        defects += [
            a[j].derivative() - time * sum((D[j][c] * w[j][c] for c in axes), arb_poly([0])) for j in range(self.m)
        ]
        norm = size([q(UNIT) for q in (*a, *(c for row in w for c in row))])
        unsure = [self.mu.rad() * ball(self.omega) * f(UNIT).abs_upper() + e for f, e in zip(phi, rough)]
        unknown = (time * norm * dot(unsure, self.long)).upper()
        delta = size([sum(map(abs, q.coeffs()), arb(0)) for q in defects]) + unknown
        if not delta - unknown <= self.r + norm * arb(2) ** -(ctx.prec - 8):  # a curve that bad would waste digits
            return None
        wide = (8 * (self.r + delta)).upper()
        off = self.off(norm + wide, wide, unsure)
        r = self.r
        for piece in range(8):
            part = arb((2 * piece + 1) / 16, 1 / 16)
            L = max(
                (size([q(part) for q in D[j]]) + sum((off[i] * self.long[i] for i in p.on), arb(0)).upper()
                 for j, p in enumerate(self.pattern)),
                key=float,
            )  # fmt: skip
            r = ((r + delta / 8) * (time * L / 8).exp()).upper()
        if not r <= wide:
            return None
        off = self.off(norm + r, r, unsure)
        for j, p in enumerate(self.pattern):
            for i, letter in enumerate(p.letters):
                if letter in "10" and p.on and (j, i) not in skip:
                    side = 1 if letter == "1" else -1
                    self.sign(side * form(self.x[i], w[j]), self.long[i] * r, j, i)
                elif letter in "sr":
                    for row in p.keeps(i).values():
                        self.sign(form(row, g), sum((abs(ball(c)) * e for c, e in zip(row, off)), arb(0)), j, i)
        return ([[q(1) for q in row] for row in w], [q(1) for q in a]), r

    def off(self, norm, r, unsure):
        """How far g can be from its curve within r."""
        about = ball(self.omega) * self.mu.abs_upper() * (norm * r + r * r / 2)
        return [(about * long + more).upper() for long, more in zip(self.long, unsure)]

    def sign(self, q, error, j, i):
        """q > error on [0, 1]: on parts, by its expansion about their middles, or by their ends where q is monotone."""
        error, parts = error.upper(), [(Fraction(0), Fraction(1))]
        while parts:
            lo, hi = parts.pop()
            if q(ball(lo).union(ball(hi))) > error:
                continue
            middle, half = (lo + hi) / 2, (hi - lo) / 2
            c = [*q(arb_poly([ball(middle), ball(half)])).coeffs(), arb(0), arb(0)]
            if c[0] - sum(map(abs, c[1:]), arb(0)) > error:
                continue
            one_way = abs(c[1]) > sum((k * abs(v) for k, v in enumerate(c[2:], 2)), arb(0))
            if one_way and q(ball(lo)) > error and q(ball(hi)) > error:
                continue
            where = f"of datum {i} after t = {float(self.t)}"
            demand(not one_way and half > Fraction(1, 2**60), f"Neuron {j} is not proved to keep its side {where}.")
            parts += [(middle, hi), (lo, middle)]

    # Windows

    def rows(self, j, p, rho, g, skip, drift=None):
        """Every row of a neuron but those in `skip` keeps its state in a ball."""
        for i, letter in enumerate(p.letters):
            if i in skip:
                continue
            if letter in "10":
                side = 1 if letter == "1" else -1
                if side * self.u(j, i, rho) > 0:
                    continue
                gone = (j, i) in self.leaving and drift is not None
                rate = [side * v for v in p.rate[i]]
                sure = gone and (form(rate, g) > 0 or ((j, i) in self.slowly and form(rate, drift) > 0))
                demand(sure, f"Neuron {j} may meet datum {i} near t = {float(self.t)}.")
            else:
                demand(letter == "s" or not any(p.rate[i]), f"Neuron {j} does not rest on datum {i}.")
                for row in p.keeps(i).values():
                    demand(form(row, g) > 0, f"Neuron {j} may leave datum {i} near t = {float(self.t)}.")

    def leave(self, end):
        """A short step after a window: neurons that have just left a boundary move away from it all the time."""
        for k in range(2, ctx.prec // 3):
            h = min(Fraction(1, 4**k), end - self.t)
            try:
                rho, g = self.ball(ball(h))
                drift = self.drift(rho, g)
                for j, p in enumerate(self.pattern):
                    self.rows(j, p, rho, g, (), drift)
            except Wrong:
                continue
            longest, self.h = self.h, h
            self.step(self.t + h, patient=False, skip=self.leaving)
            self.h = longest
            side = lambda j, i: 1 if self.pattern[j].letters[i] == "1" else -1
            self.leaving = {(j, i) for j, i in self.leaving if not side(j, i) * self.u(j, i, self.r) > 0}
            return
        raise Wrong(f"Neurons are not proved to leave their boundaries after t = {float(self.t)}.")

    def narrow(self, end, changes):
        """Times between now and `end` around the zeros of what changes sign, as near as r allows; not yet a proof."""
        time = ball(end - self.t)
        start = self.taylor(16)
        w, _, _, g, _ = self.curve(start[0], start[1], time)
        off = self.off(size([*self.a, *(v for row in self.w for v in row)]), self.r, [arb(0)] * self.n)
        lo, hi, room = Fraction(1), Fraction(0), Fraction(1, 2**ctx.prec)
        demand(all(j in range(self.m) and i in range(self.n) for j, i, _ in changes), "No such neuron or datum.")
        hits = {j for j, _, change in changes if change[0] in "10"}
        for j, i, change in changes:
            p = self.pattern[j]
            if change[0] in "10":
                q, error = form(self.x[i], w[j]) * (1 if change[0] == "1" else -1), self.long[i] * self.r
            elif j not in hits and change[0] == "s" and change[1] in "01":
                row = p.keeps(i)[change[1]]
                q, error = form(row, g), sum((abs(ball(c)) * e for c, e in zip(row, off)), arb(0))
            else:
                continue
            zero = root(q)
            demand(zero is not None, f"Neuron {j} has no event at datum {i} in the window at t = {float(self.t)}.")
            assert zero is not None
            lo, hi = min(lo, zero), max(hi, zero)
            room = max(room, fraction(8 * (error / q.derivative()(ball(zero))).abs_upper()))
        width = end - self.t
        return self.t + max(lo - room, Fraction(0)) * width, self.t + min(hi + room, Fraction(1)) * width

    def window(self, end, changes):
        """The changes named happen between now and `end`, each once, and nothing else."""
        where = f"in the window at t = {float(self.t)}"
        demand(end > self.t and changes, f"An empty window {where}.")
        time = ball(end - self.t)
        new: dict = {}
        first: dict = {}
        for j, i, change in changes:
            demand(j in range(self.m) and i in range(self.n), f"No neuron {j} or no datum {i} {where}.")
            p = self.pattern[j]
            demand(len(change) == 2 and change[0] == p.letters[i] != change[1], f"Neuron {j}, datum {i} is not "
                   f"{change[0]} {where}.")  # fmt: skip
            new.setdefault(j, {})[i] = change[1]
            if change[0] in "10":
                demand(j not in first, f"Neuron {j} meets two boundaries {where}.")
                first[j] = i
        others = [(j, self.pattern[j].change(letters)) for j, letters in new.items()]
        demand(all(p.fine for _, p in others), f"Slid rows depend on each other {where}.")
        rho, g = self.ball(time, others)
        drift = self.drift(rho, g, others)
        now = self.g(self.r)
        slowly = set()
        for j, p in enumerate(self.pattern):
            if j not in new:
                self.rows(j, p, rho, g, (), drift)
        for j, p in others:
            old = self.pattern[j]
            touched = {i for i, c in enumerate(old.letters) if c in "sr"}
            if j in first:
                i = first[j]
                side = 1 if old.letters[i] == "1" else -1
                V, u = side * form(old.rate[i], g), side * self.u(j, i, self.r)
                demand(V < 0 and u > 0, f"Neuron {j} does not meet datum {i} transversally {where}.")
                demand(
                    u < -V * abs(self.a[j] + arb(0, rho)) * time, f"Neuron {j} is not proved to meet datum {i} {where}."
                )
                touched |= {i}
                self.rows(j, old, rho, g, {i}, drift)
                fits = [
                    q
                    for letters in product("10sr", repeat=len(touched))
                    if (q := old.change(dict(zip(sorted(touched), letters)))).fine and self.fits(q, touched, g)
                ]
                demand(
                    [q.letters for q in fits] == [p.letters], f"Neuron {j} may do something else at datum {i} {where}."
                )
                crossed = set(new[j]) == {i} and p.letters[i] in "10"
                if p.letters[i] in "10" and all(-self.s[j] * g[k] > 0 for k in touched - {i}):
                    crossed = crossed or self.driven(old, i, -side, touched, g)
            else:
                demand(len(new[j]) == 1, f"Neuron {j} is released from several boundaries {where}.")
                (i,) = new[j]
                demand(old.letters[i] == "s" and p.letters[i] in "01", f"Neuron {j} cannot leave datum {i} {where}.")
                row, side = old.keeps(i)[p.letters[i]], 1 if p.letters[i] == "1" else -1
                psi, fall = form(row, now), form(row, drift)
                demand(psi > 0 and fall < 0 and psi < -fall * time, f"No transversal release of neuron {j} {where}.")
                demand(side * form(p.rate[i], drift) > 0, f"Neuron {j} does not leave datum {i} {where}.")
                self.rows(j, old, rho, g, {i}, drift)
                crossed = False
                slowly.add((j, i))
            self.rows(j, p, rho, g, set(new[j]), drift)
            attracting = all(-self.s[j] * g[i] > 0 for i in touched)
            demand(crossed or attracting, f"Uniqueness is not proved for neuron {j} {where}.")
        self.after(end, time, rho, g, others)
        self.leaving = {(j, i) for j, i in self.leaving if j not in new or self.pattern[j].letters[i] in "10"}
        self.leaving |= {(j, i) for j, letters in new.items() for i, c in letters.items() if c in "10"}
        self.slowly = (self.slowly | slowly) & self.leaving

    def fits(self, p, touched, g):
        """Whether touched rows may have these states, strictly."""
        for i in touched:
            letter, rate = p.letters[i], p.rate[i]
            if letter in "10":
                good = form(rate, g) > 0 if letter == "1" else form(rate, g) < 0
            else:
                idle = not any(rate) if letter == "r" else any(p.nu[i])
                good = idle and all(form(row, g) > 0 for row in p.keeps(i).values())
            if not good:
                return False
        return True

    def driven(self, p, i, side, touched, g) -> bool:
        """Whether row i is crossed to `side` whatever the bits of the touched rows are: its rate is linear in them."""
        for bits in product((0, 1), repeat=len(touched)):
            on = {k for k in p.on if k not in touched} | {k for k, bit in zip(touched, bits) if bit}
            rate = [side * p.s * dot(self.x[k], self.x[i]) if k in on else 0 for k in range(self.n)]
            if not form(rate, g) > 0:
                return False
        return True

    def after(self, end, time, rho, g, others):
        """Moves to the end of the window: by the middle of all fields possible in the ball, the rest into r."""
        pattern = dict(others)
        w, a, apart = [], [], []
        for j in range(self.m):
            here, a_ = [v + arb(0, rho) for v in self.w[j]], self.a[j] + arb(0, rho)
            fields = []
            for p in (self.pattern[j], *([pattern[j]] if j in pattern else [])):
                D = self.pull(p, g)
                fields.append([a_ * v for v in D] + [dot(D, here)])
            field = fields[0] if len(fields) == 1 else [u.union(v) for u, v in zip(*fields)]
            apart += [v.rad() for v in field]
            w.append([v + time * f.mid() for v, f in zip(self.w[j], field)])
            a.append(self.a[j] + time * field[-1].mid())
        self.pattern = [pattern.get(j, p) for j, p in enumerate(self.pattern)]
        for j, p in others:  # the flow lies on the boundaries it keeps to, so that this brings the centre nearer
            for _ in range(30):
                kept = [i for i, c in enumerate(p.letters) if c in "sr"]
                for i in kept:
                    along = form(self.x[i], w[j]) / self.long[i] ** 2
                    w[j] = [v - along * ball(c) for v, c in zip(w[j], self.x[i])]
                if len(kept) < 2:
                    break
        self.t = end
        self.place(w, a, self.r + time * size(apart))

    # Claims at the end

    def values(self, end) -> str:
        norm = size([*self.a, *(v for w in self.w for v in w)])
        f = []
        for y, g in zip(self.y, self.g(self.r)):  # from the force back to the output
            share = g / ball(self.omega)
            f.append(ball(y) * (1 / (ball(y) * share) - 1).log() if self.logistic else ball(y) - share)
        each = [
            (1 + (-ball(y) * v).exp()).log() if self.logistic else (v - ball(y)) ** 2 / 2 for v, y in zip(f, self.y)
        ]
        loss = ball(self.omega) * sum(each, arb(0))
        total = sum((v**2 for v in (*self.a, *(c for w in self.w for c in w))), arb(0)).sqrt() + arb(0, self.r)
        inside(end["norm2"], self.mu * total**2, "|theta|^2")
        inside(end["loss"], loss, "the loss")
        demand(len(end["outputs"]) == self.n and norm.is_finite(), "An output is missing.")
        for claim, value in zip(end["outputs"], f):
            inside(claim, value, "an output")
        return f"outputs, loss and norm at t = {end['t']}"


def inside(claim, value, what):
    """A claimed interval contains a value."""
    lo, hi = (ball(v) for v in claim)
    demand(value >= lo and value <= hi, f"The interval claimed for {what} is not confirmed.")


# Limits ---------------------------------------------------------------------------------------------------------------


def directions(flow):
    """a_j and w_j/|a_j| as balls, and the live neurons."""
    a = [v + arb(0, flow.r) for v in flow.a]
    q = [[(v + arb(0, flow.r)) / abs(b) for v in w] for w, b in zip(flow.w, a)]
    return a, q, [j for j, p in enumerate(flow.pattern) if p.on]


def above(A, level) -> bool:
    """The symmetric part of a ball matrix exceeds `level`: its middle, less the size of its radii, has positive leading
    minors."""
    k = A.nrows()
    S = [[(A[i, j] + A[j, i]) / 2 for j in range(k)] for i in range(k)]
    lost = level + size([v.rad() for row in S for v in row])
    M = [[S[i][j].mid() - (lost if i == j else 0) for j in range(k)] for i in range(k)]
    return all(arb_mat([row[:p] for row in M[:p]]).det() > 0 for p in range(1, k + 1))


def kernel_limit(flow, end) -> str:
    a, q, live = directions(flow)
    n, eta, kappa = flow.n, ball(end["eta"]), ball(end["kappa"])
    demand(kappa > 0 and eta >= 0, "eta and kappa must be positive.")
    Q: list[list[Fraction]] = []  # an orthogonal basis of what the outputs can reach, from neurons and axes in order
    for p in (flow.pattern[j] for j in live):
        for c in range(flow.d):
            v = [p.seen[i][c] for i in range(n)]
            for b in Q:
                v = [z - dot(b, v) / dot(b, b) * z_ for z, z_ in zip(v, b)]
            Q += [v] if any(v) else []
    rest = list(flow.y)
    for b in Q:
        rest = [z - dot(b, rest) / dot(b, b) * z_ for z, z_ in zip(rest, b)]
    fast = [g - ball(flow.omega * z) for g, z in zip(flow.g(flow.r), rest)]  # the part of g that decays
    K = [[arb(0)] * n for _ in range(n)]
    for j in live:
        p, mass = flow.pattern[j], flow.mu * a[j] ** 2 * arb(0, (2 * eta).upper()).exp()
        u = {i: form(p.seen[i], q[j]) + arb(0, (eta * flow.long[i]).upper()) for i in p.on}
        for i in p.on:
            for k in p.on:
                K[i][k] += mass * (ball(dot(p.seen[i], p.seen[k])) + u[i] * u[k])
    unit = arb_mat([[ball(v) / ball(dot(b, b)).sqrt() for v in b] for b in Q])
    demand(above(unit * arb_mat(K) * unit.transpose(), kappa), "The kernel is not bounded below by kappa.")
    norm2 = arb(0)
    for j, p in enumerate(flow.pattern):
        turn = size([ball(v) for i in p.on for v in p.seen[i]]) * size(fast) / ball(flow.omega) / kappa
        demand(turn <= eta, f"Neuron {j} may turn by more than eta.")
        norm2 += 2 * flow.mu * a[j] ** 2 * arb(0, (2 * turn).upper()).exp()
        for i, letter in enumerate(p.letters):
            if letter in "10" and p.on:
                u = form(flow.x[i], q[j]) * (1 if letter == "1" else -1)
                demand(u > turn * flow.long[i], f"Neuron {j} may still meet datum {i}.")
    forms = [row for p in flow.pattern for i, c in enumerate(p.letters) if c in "sr" for row in p.keeps(i).values()]
    lasting(flow, end, [f for f in forms if not constant(flow, f, rest, Q, fast)], arb_mat(K), Q, fast)
    outputs = [y - z for y, z in zip(flow.y, rest)]
    demand([Fraction(v) for v in end["outputs"]] == outputs, "The limits of the outputs are others.")
    demand(Fraction(end["loss"]) == flow.omega * dot(rest, rest) / 2, "The limit of the loss is another.")
    demand(Fraction(end["rate"]) <= flow.omega * Fraction(end["kappa"]), "The rate claimed is too fast.")
    demand(end["alive"] == live, "Other neurons are alive.")
    inside(end["norm2"], norm2, "|theta|^2 at the limit")
    return "convergence, and |theta|^2 at the limit"


def constant(flow, row, rest, Q, fast) -> bool:
    """Whether a form has a positive constant part that outweighs the rest; `Wrong` if it is negative."""
    value = flow.omega * dot(row, rest)
    demand(value >= 0, "A neuron leaves a boundary in the end.")
    along = size([ball(dot(row, b)) / ball(dot(b, b)).sqrt() for b in Q])
    demand(value == 0 or ball(value) > along * size(fast), "A neuron may leave a boundary in the end.")
    return value > 0


def lasting(flow, end, forms, K, Q, fast) -> None:
    """Forms that tend to 0 stay positive: cones of slowest directions, one for each block of data that neurons link."""
    if not forms:
        return
    blocks: list[set[int]] = []
    for p in flow.pattern:
        linked = [b for b in blocks if b & set(p.on)]
        for b in linked[1:]:
            linked[0] |= b
            blocks.remove(b)
        if linked:
            linked[0] |= set(p.on)
        elif p.on:
            blocks.append(set(p.on))
    demand(len(end["blocks"]) == len(blocks), "The number of blocks is another.")
    cones = [Cone(K, [v for v in Q if any(v[i] for i in b)], fast, given) for b, given in zip(blocks, end["blocks"])]
    for row in forms:
        parts = [(c, c.least(row)) for c in cones if any(dot(row, v) for v in c.Q)]
        rest = [c for c, least in parts if least is None or not least > 0]
        weight = sum((c.along(row) * c.size for c in rest), arb(0))
        leads = [
            c for c, least in parts if c not in rest and least * c.p > weight and all(o.kappa > c.slowest for o in rest)
        ]
        demand(leads, "A neuron may leave a boundary later.")


class Cone:
    """One block: its forces g~ lie in the invariant cone |z| <= gamma p, if one is given."""

    def __init__(self, K, Q, fast, given):
        k, self.Q, self.kappa, self.C = len(Q), Q, ball(given["kappa"]), None
        basis, scale = arb_mat([[ball(v) for v in b] for b in Q]), [ball(dot(b, b)) for b in Q]
        A = basis * K * basis.transpose()
        even = arb_mat([[A[i, j] / (scale[i] * scale[j]).sqrt() for j in range(k)] for i in range(k)])
        demand(self.kappa > 0 and above(even, self.kappa), "The kernel of a block is not bounded below.")
        c = [form(b, fast) / s for b, s in zip(Q, scale)]
        self.size = size([v * s.sqrt() for v, s in zip(c, scale)])
        if given["C"] is None:
            return
        self.C, self.gamma, level = (
            arb_mat([[ball(v) for v in r] for r in given["C"]]),
            ball(given["gamma"]),
            ball(given["level"]),
        )
        demand(self.C.nrows() == self.C.ncols() == k, "The directions given are not a square matrix of the right size.")
        B = self.C.solve(arb_mat([[A[i, j] / scale[i] for j in range(k)] for i in range(k)]) * self.C)
        at = self.C.solve(arb_mat([[v] for v in c]))
        self.p = at[0, 0]
        inner = self.p > 0 and self.gamma * self.p > size([at[i, 0] for i in range(1, k)])
        demand(self.gamma > 0 and inner, "The force is not inside the cone.")
        b, c = size([B[0, i] for i in range(1, k)]), size([B[i, 0] for i in range(1, k)])
        self.slowest = B[0, 0] + b * self.gamma
        if k > 1:
            demand(
                above(arb_mat([[B[i, j] for j in range(1, k)] for i in range(1, k)]), level), "The level is too high."
            )
            demand((level - B[0, 0]) * self.gamma > c + b * self.gamma**2, "The cone is not invariant.")

    def along(self, row):
        return size([ball(dot(row, b)) / ball(dot(b, b)).sqrt() for b in self.Q])

    def least(self, row):
        """What multiplies p in a form, at least."""
        if self.C is None:
            return None
        r = arb_mat([[ball(dot(row, b)) for b in self.Q]]) * self.C
        return r[0, 0] - self.gamma * size([r[0, i] for i in range(1, len(self.Q))])


def orthogonal_limit(flow, end) -> str:
    a, q, live = directions(flow)
    g = flow.g(flow.r)
    rows = range(flow.n)
    demand(not any(dot(flow.x[i], flow.x[k]) for i in rows for k in range(i)), "The data are not orthogonal.")
    excess, seen = arb(0), set()
    for j, p in enumerate(flow.pattern):
        demand(len(p.on) <= 1 and "s" not in p.letters, f"Neuron {j} sees several data or slides.")
        for i, letter in enumerate(p.letters):
            demand(letter != "r" or flow.s[j] * flow.y[i] < 0, f"Neuron {j} may leave the boundary of datum {i}.")
            demand(letter != "0" or form(flow.x[i], q[j]) < 0, f"The side of neuron {j} at datum {i} is not known.")
        if not p.on:
            excess += 2 * a[j] ** 2
            continue
        (i,) = p.on
        cosine = form(flow.x[i], q[j]) / flow.long[i]
        demand(flow.s[j] * flow.y[i] > 0 and cosine > 0 and ball(flow.y[i]) * g[i] > 0, f"Datum {i} may be overshot.")
        less = (abs(a[j]) * (1 - cosine) / 2).abs_upper()
        excess += a[j] ** 2 * (1 - cosine) * (1 + cosine) + arb(0).union(4 * less**2)
        seen.add(i)
    base = sum((2 * abs(ball(flow.y[i])) / flow.long[i] for i in seen), arb(0))
    inside(end["excess"], excess, "the excess")
    inside(end["norm2"], base + flow.mu * excess, "|theta|^2 at the limit")
    demand([Fraction(v) for v in end["outputs"]] == [y if i in seen else 0 for i, y in enumerate(flow.y)], "Outputs.")
    left = sum((flow.y[i] ** 2 for i in rows if i not in seen), Fraction(0))
    demand(Fraction(end["loss"]) == flow.omega * left / 2, "The limit of the loss is another.")
    demand(end["alive"] == live, "Other neurons are alive.")
    return "convergence on orthogonal data, and |theta|^2 at the limit"


def rival(flow, content) -> str:
    """Another network fits exactly with less."""
    V = [[Fraction(c) for c in v] for v in content["rival"]["v"]]
    demand(all(s in (1, -1) for s in content["rival"]["s"]), "Signs are 1 or -1.")
    for x, y in zip(flow.x, flow.y):
        f = sum((s * max(dot(v, x), Fraction(0)) for s, v in zip(content["rival"]["s"], V, strict=True)), Fraction(0))
        demand(f == y, "The other network does not fit.")
    demand(Fraction(content["limit"]["loss"]) == 0, "The flow itself does not fit.")
    lo, hi = (ball(v) for v in content["limit"]["norm2"])
    gap = lo.union(hi) - sum((2 * ball(dot(v, v)).sqrt() for v in V), arb(0))
    demand(gap > 0, "The other network is not smaller.")
    inside(content["rival"]["gap"], gap, "the gap")
    return "a network that fits with a smaller norm"


def main(paths: list[str]) -> int:
    for path in paths:
        try:
            for line in check(json.loads(Path(path).read_text(encoding="utf-8"))):
                print(f"  {line}")
            print(f"{path}: proved")
        except Wrong as error:
            print(f"{path}: refused. {error}")
            return 1
        except ValueError:  # no JSON, or no text
            print(f"{path}: not a certificate, which is a JSON file that `certificate.save(path)` writes.")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
