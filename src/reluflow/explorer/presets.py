"""What one can start from: each preset is an experiment, a sentence on what to see in it, and its story."""

FLOW = {"kind": "flow", "rtol": 1e-8}


def _preset(name, title, text, data, *, mode, log_scale, story, loss="square", slider=None, **more) -> dict:
    init = {"kind": "balanced", "width": 60, "log_scale": log_scale, "seed": 0, **more.pop("init", {})}
    return {
        "name": name,
        "title": title,
        "text": text,
        "mode": mode,  # "line": regression on a line with bias; "plane": classes in the plane; "space": more dimensions
        "slider": slider,
        "story": story,
        "experiment": {
            "data": data,
            "init": init,
            "problem": {"loss": loss, "reduction": "mean", "train": "both", **more.pop("problem", {})},
            "method": more.pop("method", FLOW),
            "solve": more.pop("solve", {}),
        },
    }


# Ten points on the circle: five, three and two of a class, 22 degrees apart.
THREE = (
    [(-0.69, 0.72), (-0.37, 0.93), (0.0, 1.0), (0.37, 0.93), (0.69, 0.72)],
    [(-0.62, -0.78), (-0.87, -0.5), (-0.99, -0.14)],
    [(0.76, -0.65), (0.94, -0.33)],
)
PRESETS = [
    _preset(
        "two_points",
        "Two points",
        "Orthogonal inputs (Boursier et al.). Neurons align, one group fits its point, the network stays at a saddle, "
        "then the other group grows.",
        {"kind": "two_points"},
        mode="line",
        log_scale=-14.0,
        story="saddles",
    ),
    _preset(
        "five_points",
        "Five points",
        "Inputs that are not orthogonal. Neurons slide along activation boundaries, and the loss falls saddle after "
        "saddle.",
        {"kind": "five_points"},
        mode="line",
        log_scale=-15.86,
        story="sliding",
    ),
    _preset(
        "toy_plane",
        "Two classes",
        "Two classes in the plane (Min et al.). Neurons enter the cones S₊ and S₋ or die, long before the loss moves.",
        {"kind": "toy_plane"},
        mode="plane",
        log_scale=-40.0,
        loss="exponential",
        story="alignment",
    ),
    _preset(
        "three_classes",
        "Three classes",
        "Three outputs and the softmax loss: five, three and two points of a class in the plane. Classes are learnt "
        "one after another, the largest first.",
        {
            "kind": "arrays",
            "x": [list(point) for points in THREE for point in points],
            "y": [c for c, points in enumerate(THREE) for _ in points],
        },
        mode="plane",
        log_scale=-40.0,
        loss="softmax",
        story="classes",
        init={"width": 30},
    ),
    _preset(
        "two_angles",
        "Two angles",
        "Two points of one class, almost at right angles (Min et al.). The smaller μ = sin δ, the longer neurons take "
        "to be active on both.",
        {"kind": "two_angles", "delta": 0.1},
        mode="plane",
        log_scale=-14.0,
        loss="exponential",
        slider="delta",
        story="alignment",
    ),
    _preset(
        "orthogonal",
        "Orthogonal",
        "Four orthogonal inputs of different lengths, drawn in the plane of the two class sums.",
        {"kind": "orthogonal", "norms": [1.0, 1.6, 0.8, 1.2], "labels": [1.0, 1.5, -1.0, -0.6], "seed": 2},
        mode="space",
        log_scale=-20.0,
        story="saddles",
    ),
    _preset(
        "nearly_orthogonal",
        "Leaky descent",
        "Eight nearly orthogonal points, leaky ReLU, gradient descent on the first layer (Kou et al.). The stable rank "
        "of the weights falls while the loss goes to zero.",
        {
            "kind": "nearly_orthogonal",
            "n": 8,
            "kappa": 0.1,
            "labels": [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0],
            "seed": 0,
        },
        mode="space",
        log_scale=-3.0,
        loss="logistic",
        story="rank",
        init={"kind": "fixed_output", "width": 20},
        problem={"train": "first", "activation": {"kind": "leaky_relu", "slope": 0.2}},
        method={"kind": "descent", "step": 8.0},
        solve={"t1": 80000.0},
    ),
    {
        "name": "single",
        "title": "Single neuron",
        "text": "One neuron learns another from Gaussian data (Lee et al.): magnitude and angle obey two equations.",
        "mode": "single",
        "slider": None,
        "story": "single",
        "experiment": {"single": {"layers": 1, "log_norm": -3.0, "phi": 1.0}},
    },
    _preset(
        "random",
        "Random",
        "Points and labels at random: no theorem's assumptions hold, and the flow is computed all the same.",
        {"kind": "random_points", "n": 8, "d": 2, "labels": "signs", "seed": 0},
        mode="plane",
        log_scale=-14.0,
        loss="logistic",
        slider="seed",
        story="own",
    ),
]
RECORDED = [
    {
        "name": "mnist",
        "title": "MNIST 0 / 1",
        "text": "A recorded run: 50 neurons on images of 0 and 1 by gradient descent, in the plane of the class means.",
        "mode": "space",
        "recorded": True,
        "story": "mnist",
    }
]
