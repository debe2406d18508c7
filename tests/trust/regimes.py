"""One small run in each regime of the engine; as a script, the digests of all of them as JSON."""

import hashlib
import json

import numpy as np

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
    """SHA-256 of everything a run knows but what it cost: frames, checkpoints, events, statistics, moments between."""
    stats = {k: v for k, v in vars(sol.stats).items() if k != "seconds"}
    parts = [
        *sol.recording.frames,
        *sol.recording.checkpoints,
        sol.recording.resume,
        sol.log_loss,
        sol.outputs,
        sol.log_t,
        sol.w,
        sol.a,
        sol.log_scale,
    ]
    events = [getattr(sol.events, name) for name in ("t", "log_t", "neuron", "datum", "code", "unique")]
    if dense:
        at = np.linspace(0.0, 1.0, 7) * float(sol.recording.checkpoints.clock[-1])
        parts += sol.replay.look(sol.replay.at(at), bits=True)
    text = json.dumps([repr(stats), sol.outcome.name])
    found = hashlib.sha256(text.encode())
    for part in (*parts, *events):
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()


def solved(name: str):
    problem, method, more, _ = runs()[name]
    return rf.solve(problem, method, **more)


if __name__ == "__main__":
    print(json.dumps({name: digest(solved(name)) for name in runs()}))
