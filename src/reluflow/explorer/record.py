"""Makes `page/mnist.rfx`, the recorded run: `RELUFLOW_DATA=... python -m reluflow.explorer.record`.

Figure 5 of Min et al. in small: 200 images of each of 0 and 1, 50 neurons from N(0, 1e-12), gradient descent with step
2e-3 on the mean exponential loss. Kept are 96 moments and the activation of 16 images; no image itself is.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

SIZE, WIDTH, STEP, ITERATIONS = 400, 50, 2e-3, 6000
FRAMES, SHOWN = 96, 16
OUT = Path(__file__).parent / "page" / "mnist.rfx"


def record() -> bytes:
    """The run in the wire format."""
    import reluflow as rf
    from reluflow.explorer import wire
    from reluflow.explorer.frames import States, activity, picture
    from reluflow.explorer.judge import phases

    data = rf.data.mnist(pair=(0, 1), size=SIZE, centre=True, seed=0)
    init = rf.init.gaussian(WIDTH, data.d, log_scale=float(np.log(1e-6)), seed=0)
    problem = rf.Problem(data, init, loss="exponential", reduction="mean")
    sol = rf.solve(problem, rf.Descent(step=STEP), t1=STEP * ITERATIONS, save=rf.Save(frames=800, memory="512 MiB"))
    clock, y, code = sol._frames
    event = np.concatenate([[0.0], np.cumsum(activity(States(sol, clock, y, code)))])
    keep = np.unique(np.searchsorted(event, np.linspace(0.0, event[-1], FRAMES)).clip(0, len(clock) - 1))
    header, arrays = picture(sol, states=States(sol, clock[keep], y[keep], code[keep]))
    few = np.concatenate([np.flatnonzero(data.y == s)[: SHOWN // 2] for s in (1.0, -1.0)])
    for name, axis in (("outputs", 1), ("y", 0), ("xy", 0), ("bits", 2)):
        arrays[name] = np.ascontiguousarray(np.take(arrays[name], few, axis=axis))
    arrays["x"] = arrays["xy"]
    header |= {
        "n": SHOWN,
        "d": data.d,
        "key": "mnist",
        "phases": phases(sol),
        "seconds": 0.0,
        "about": f"{SIZE} images, {SHOWN} of them shown",
    }
    return wire.encode(header, arrays)


if __name__ == "__main__":
    OUT.write_bytes(record())
