"""What one can start from: each preset is an experiment with a sentence on what to see in it."""

from __future__ import annotations


def _preset(name, title, text, data, *, mode, log_scale, loss="square", width=60, seed=0, slider=None, **more) -> dict:
    return {
        "name": name,
        "title": title,
        "text": text,
        "mode": mode,  # "line": regression on a line with bias; "plane": classes in the plane; "space": more dimensions
        "slider": slider,
        "experiment": {
            "data": data,
            "init": {"kind": "balanced", "width": width, "log_scale": log_scale, "seed": seed},
            "problem": {"loss": loss, "reduction": "mean", "train": "both", **more},
            "method": {"kind": "flow", "rtol": 1e-8},
            "solve": {},
        },
    }


PRESETS = [
    _preset(
        "two_points",
        "Two points",
        "Orthogonal inputs. Neurons align, one group fits its point, the network waits at a saddle, the other follows.",
        {"kind": "two_points"},
        mode="line",
        log_scale=-14.0,
    ),
    _preset(
        "five_points",
        "Five points",
        "Not orthogonal. Neurons slide along activation boundaries, and the loss falls saddle after saddle.",
        {"kind": "five_points"},
        mode="line",
        log_scale=-15.86,
    ),
    _preset(
        "toy_plane",
        "Toy of Min et al.",
        "Two classes in the plane. Neurons enter the cones S+ and S− or die, long before the loss moves.",
        {"kind": "toy_plane"},
        mode="plane",
        log_scale=-40.0,
        loss="exponential",
    ),
    _preset(
        "two_angles",
        "Two angles",
        "Two points of one class, almost at right angles. The smaller μ = sin δ, the longer neurons take to see both.",
        {"kind": "two_angles", "delta": 0.1},
        mode="plane",
        log_scale=-14.0,
        loss="exponential",
        slider="delta",
    ),
    _preset(
        "orthogonal",
        "Orthogonal",
        "Four orthogonal inputs of different lengths, drawn in the plane of the two class sums.",
        {"kind": "orthogonal", "norms": [1.0, 1.6, 0.8, 1.2], "labels": [1.0, 1.5, -1.0, -0.6], "seed": 2},
        mode="space",
        log_scale=-20.0,
    ),
    _preset(
        "random",
        "Random",
        "Points and labels at random: no theorem's assumptions hold, and the flow is computed all the same.",
        {"kind": "random_points", "n": 8, "d": 2, "labels": "signs", "seed": 0},
        mode="plane",
        log_scale=-14.0,
        loss="logistic",
        slider="seed",
    ),
]
RECORDED = [
    {
        "name": "mnist",
        "title": "MNIST 0 / 1",
        "text": "A recorded run: 50 neurons on images of 0 and 1 by gradient descent, in the plane of the class means.",
        "mode": "space",
        "recorded": True,
    }
]
