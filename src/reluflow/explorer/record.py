"""Makes `page/mnist.rfx`, the recorded run: `RELUFLOW_DATA=... python -m reluflow.explorer.record`.

Figure 5 of Min et al. in small: 200 images of each of 0 and 1, 50 neurons from N(0, 1e-12), gradient descent with step
2e-3 on the mean exponential loss. Kept are 96 moments, the activation of 16 images, and the weights as small images at
24 moments; the images of MNIST themselves are not part of the file.
"""

from pathlib import Path

import numpy as np

import reluflow as rf
from reluflow.explorer import encoding
from reluflow.explorer.digits import SHOWN, SIZE, chosen
from reluflow.explorer.frames import States, activity, picture

WIDTH, STEP, ITERATIONS = 50, 2e-3, 6000
FRAMES, IMAGES, SIDE = 96, 24, 14
OUT = Path(__file__).parent / "page" / "mnist.rfx"


def record() -> bytes:
    """The run, encoded and compressed."""
    from reluflow.explorer.worker import phases

    data = rf.data.mnist(pair=(0, 1), size=SIZE, centre=True, seed=0)
    init = rf.init.gaussian(WIDTH, data.d, log_scale=float(np.log(1e-6)), seed=0)
    problem = rf.Problem(data, init, loss="exponential", reduction="mean")
    sol = rf.solve(problem, rf.Descent(step=STEP), t1=STEP * ITERATIONS, save=rf.Save(frames=800, memory="512 MiB"))
    seen = sol.frames
    event = np.concatenate([[0.0], np.cumsum(activity(States(seen)))])
    keep = np.unique(np.searchsorted(event, np.linspace(0.0, event[-1], FRAMES)).clip(0, len(seen) - 1))
    states = States(seen[keep])
    header, arrays = picture(sol, states=states)
    few = chosen(data.y)
    for name, axis in (("outputs", 1), ("y", 0), ("xy", 0), ("bits", 2), ("margin", 1)):
        arrays[name] = np.ascontiguousarray(np.take(arrays[name], few, axis=axis))
    arrays["x"] = arrays["xy"]
    frames = np.unique(np.linspace(0, len(keep) - 1, IMAGES).astype(int))
    arrays |= {"weights": images(states.unit[frames]), "weight_frames": frames.astype(np.int32)}
    header |= {
        "n": SHOWN,
        "d": data.d,
        "key": "mnist",
        "phases": phases(sol),
        "seconds": 0.0,
        "weight_side": SIDE,
        "about": f"{SIZE} images, {SHOWN} of them shown",
    }
    return encoding.compact(header, arrays)


def images(unit: np.ndarray) -> np.ndarray:
    """Directions (frames, width, 784) as images of SIDE x SIDE signed bytes, each with its largest weight at 127."""
    pooled = unit.reshape(*unit.shape[:2], SIDE, 28 // SIDE, SIDE, 28 // SIDE).mean(axis=(3, 5))
    flat = pooled.reshape(*unit.shape[:2], SIDE * SIDE)
    return np.rint(127 * flat / np.max(np.abs(flat), axis=-1, keepdims=True)).astype(np.int8)


if __name__ == "__main__":
    OUT.write_bytes(record())
