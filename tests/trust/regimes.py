"""One small run in each regime of the engine; as a script, the digests of all of them as JSON."""

import hashlib
import json

from tests.gates import bits

import reluflow as rf


def runs() -> dict:
    """name: (problem, method, arguments of `solve`, the regime it must be in)."""
    five, few, many = rf.data.five_points(), rf.data.random_points(6, 4, seed=0), rf.data.random_points(30, 5, seed=0)
    signs = rf.data.random_points(6, 4, seed=0, labels="signs")
    small = lambda width, log_scale, d=2: rf.init.balanced(width, d, log_scale=log_scale, seed=1)
    return {
        "jumps": (rf.Problem(five, small(12, -40.0)), rf.Flow(1e-7), dict(t1=400.0), "jumps"),
        "coupled": (rf.Problem(few, small(10, -1.0, 4)), rf.Flow(1e-8), dict(t1=20.0), "coupled"),
        "until rest": (rf.Problem(few, small(10, -1.0, 4)), rf.Flow(1e-8), {}, "coupled"),
        "first layer": (rf.Problem(few, small(10, -1.0, 4), train="first"), rf.Flow(1e-8), dict(t1=20.0), "coupled"),
        "late": (
            rf.Problem(signs, small(10, -5.0, 4), loss="exponential"), rf.Flow(1e-7), dict(log_t1=50.0), "coupled",
        ),
        "windows": (
            rf.Problem(rf.data.teacher(30, 40, 3, seed=0), small(120, -3.0, 40)), rf.Flow(1e-3), dict(t1=6.0),
            "windows",
        ),
        "stepped": (rf.Problem(many, small(10, -1.0, 5)), rf.SteppedFlow(1e-2), dict(t1=2.0), "stepped"),
        "leaps": (rf.Problem(five, small(8, -6.0)), rf.Descent(0.01), dict(t1=100.0), "leapt"),
        "leaps until rest": (rf.Problem(rf.data.two_points(), small(8, -4.0)), rf.Descent(0.01), {}, "leapt"),
        "steps": (rf.Problem(five, small(8, -6.0)), rf.Descent(0.01, fast_forward=False), dict(t1=50.0), "descent"),
        "batches": (rf.Problem(many, small(10, -1.0, 5)), rf.Descent(0.01, batch=7, seed=3), dict(t1=10.0), "descent"),
        "float32": (rf.Problem(many, small(10, -1.0, 5)), rf.Descent(0.01, dtype="float32"), dict(t1=5.0), "descent"),
    }  # fmt: skip


def digest(sol, dense: bool = True) -> str:
    """SHA-256 of everything a run says but what it cost: frames, events, statistics, and moments between its frames."""
    stats = {k: v for k, v in vars(sol.stats).items() if k != "seconds"}
    parts = bits.seen(sol, late=sol.log_t[-1] > 40.0)
    if not dense:
        del parts["moments"]
    text = json.dumps([repr(stats), sol.outcome.name, {name: bits.digest(arrays) for name, arrays in parts.items()}])
    return hashlib.sha256(text.encode()).hexdigest()


def solved(name: str):
    problem, method, more, _ = runs()[name]
    return rf.solve(problem, method, **more)


if __name__ == "__main__":
    print(json.dumps({name: digest(solved(name)) for name in runs()}))
