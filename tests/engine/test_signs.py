"""Output weights that pass through zero."""

import numpy as np

import reluflow as rf


def alone(seed: int) -> rf.Problem:
    """One neuron, active on the one datum, its output weight on the wrong side: a = (P e^x + M e^-x) / 2."""
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(1, 2)), rng.normal(size=(1, 2))
    w *= np.sign(w[0] @ x[0])
    a = -0.5 * abs(rng.normal()) * np.linalg.norm(w)
    return rf.Problem(rf.Data(x / np.linalg.norm(x), [1.0]), rf.Params(w, [a], log_scale=-40.0))


def signs(problem: rf.Problem) -> int:
    return len(rf.solve(problem, t1=20.0, limits=rf.Limits(events=50), throw=False).events["sign"])


def test_a_neuron_alone_changes_its_sign_once():
    problems = [alone(seed) for seed in range(300)]
    turning = [p for p in problems if p.init.a[0] + p.init.w[0] @ p.data.x[0] > 0.0]  # P > 0, and a starts below 0
    assert [signs(p) for p in turning] == [1] * len(turning)
