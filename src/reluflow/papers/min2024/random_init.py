"""[MMV24], remark after Theorem 1: m random neurons leave S+ empty with probability at most 2^-m."""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim, Report
from reluflow.papers._chance import counted
from reluflow.papers.min2024._constants import geometry

needs = "data"
LOG_SCALE = -2000.0
LEVEL = 0.9999


def check(data, samples: int = 20000, neurons: int = 200, seed: int = 0) -> Report:
    r"""Claims, each class: a neuron with a symmetric random direction starts active on some datum of its class with
    probability at least 1/2 (in the plane exactly $\frac12 + \varphi/2\pi$, $\varphi$ the angle that the class spans);
    m such neurons all fail with probability at most $2^{-m}$; and of neurons followed by the flow, at least half end in
    their cone.

    Frequencies over `samples` Gaussian directions, slack their 99.99% confidence intervals; the flow follows `neurons`
    neurons of one network at e^-2000, where they do not feel each other, so they are independent samples.
    """
    geo = geometry(data)
    rng = np.random.default_rng([seed, 3])
    w = rng.normal(size=(samples, data.d))
    claims = []
    for sign, name in ((1.0, "+"), (-1.0, "-")):
        rows = data.x[np.sign(data.y) == sign]
        if len(rows) == 0:
            continue
        hit = np.any(w @ rows.T > 0, axis=1)
        text = f"a V{name} neuron starts active on I{name}"
        claims.append(counted(text, int(np.sum(hit)), samples, ">=", 0.5, LEVEL))
        if data.d == 2:
            u = rows / np.linalg.norm(rows, axis=1)[:, None]
            span = float(np.arccos(np.clip(np.min(u @ u.T), -1, 1)))
            exact = 0.5 + span / (2 * np.pi)
            text = "the same, exactly in the plane"
            claims.append(counted(text, int(np.sum(hit)), samples, "=", exact, LEVEL))
        for m in (2, 4):
            none = ~hit[: samples // m * m].reshape(-1, m).any(axis=1)
            text = f"no one of {m} V{name} neurons starts active on I{name}"
            claims.append(counted(text, int(np.sum(none)), len(none), "<=", 2.0**-m, LEVEL))
    claims += _followed(data, neurons, seed)
    return Report("min2024.random_init", claims, [Claim("mu > 0", geo.mu, ">", 0.0)], geo.shown())


def _followed(data, neurons: int, seed: int) -> list[Claim]:
    """Where neurons end when followed until all have arrived, or as long as slow ones may need."""
    from reluflow.papers.min2024._run import Run

    init = rf.init.balanced(neurons, data.d, log_scale=LOG_SCALE, seed=seed)
    problem = rf.Problem(rf.Data(data.x, np.sign(data.y)), init, loss="exponential", reduction="sum")
    run = Run(rf.solve(problem, rf.Flow(rtol=1e-6), t1=50.0 / float(np.min(np.linalg.norm(data.x, axis=1)))))
    claims = []
    for sign, name in ((1.0, "+"), (-1.0, "-")):
        who = np.flatnonzero(run.sign == sign)
        if len(who) and np.any(np.sign(data.y) == sign):
            own = sum(run.ends[j] == "own" for j in who)
            claims.append(counted(f"V{name} neurons that end in S{name}", own, len(who), ">=", 0.5, LEVEL))
    return claims
