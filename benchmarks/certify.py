"""What a certificate costs: steps, digits and processor seconds against width, data and time; the largest proved.

python -m benchmarks.certify            # the table (about ten minutes of one core)
python -m benchmarks.certify --draws    # how many of the handbook's 168 small draws are certified to t = 12
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np

import reluflow as rf


def draws(n: int, d: int, m: int, log_scale: float = -3.0, seed: int = 1):
    """Problems with quarters as data and eighths as weights, in general position."""
    rng = np.random.default_rng(seed)
    while True:
        x, y = rng.integers(-8, 9, (n, d)) / 4, rng.integers(-6, 7, n) / 4
        if np.any(y == 0) or np.any(~x.any(axis=1)):
            continue
        w, s = rng.integers(-16, 17, (m, d)) / 8, rng.choice([-1, 1], m)
        if np.all(w.any(axis=1)):
            yield rf.Problem(rf.Data(x, y), rf.Params(w, s * np.linalg.norm(w, axis=1), log_scale=log_scale))


def general(problems):
    """Those that the theorems speak of."""
    from reluflow.certify.exact import Exact

    for problem in problems:
        try:
            Exact.of(problem)
        except rf.Refused:
            continue
        yield problem


def row(n: int, d: int, m: int, t1: float | None, count: int = 3, log_scale: float = -3.0) -> None:
    """One line: of `count` draws, how many are proved and confirmed, and what that took."""
    proved, confirmed, seconds, check, events, digits, why = 0, 0, [], [], [], [], []
    for _, problem in zip(range(count), general(draws(n, d, m, log_scale))):
        begun = time.process_time()
        try:
            found = rf.certify(problem, t1, latest=300.0)
        except rf.Refused as refusal:
            why.append(str(refusal))
            continue
        seconds.append(time.process_time() - begun)
        proved += 1
        events.append(len(found.events))
        digits.append(found.content["digits"])
        begun = time.process_time()
        found.check()
        check.append(time.process_time() - begun)
        confirmed += 1
    span = lambda v, f="{:.1f}": "-" if not v else f"{f.format(min(v))} to {f.format(max(v))}"
    until = "limit" if t1 is None else f"{t1:g}"
    print(
        f"| {n} | {d} | {m} | {until} | {proved} of {count} | {confirmed} | {span(events, '{:d}')} | "
        f"{span(digits, '{:d}')} | {span(seconds)} | {span(check)} |",
        flush=True,
    )
    for sentence in why:
        print(f"  refused: {sentence}", flush=True)


def table() -> None:
    print("| n | d | m | t | proved | confirmed | events | digits | prove, s | check, s |\n" + "| --- " * 10 + "|")
    for m in (4, 6, 8, 10):
        row(5, 3, m, 20.0)
    for n in (2, 4, 6):
        row(n, 3, 6, 20.0)
    for t1 in (5.0, 20.0, 80.0):
        row(3, 2, 5, t1)
    row(3, 2, 5, None)
    row(6, 4, 12, 10.0, count=2)
    row(8, 4, 16, 5.0, count=2)
    row(10, 4, 20, 2.0, count=2)


def count_draws(number: int = 168) -> None:
    found: Counter = Counter()
    for _, problem in zip(range(number), general(draws(3, 2, 3))):
        try:
            rf.certify(problem, 12).check()
            found["certified and confirmed"] += 1
        except rf.Refused as refusal:
            found[refusal.reason] += 1
    for reason, k in found.most_common():
        print(f"{k:4d}  {reason}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", action="store_true")
    count_draws() if parser.parse_args().draws else table()
