"""Appendix A.2 of [MMV24]: how the alignment time depends on mu; two points at an angle, exactly."""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim, Report
from reluflow.papers.min2024._constants import constants

needs = "nothing"
forms = ("corrected", "printed")
DELTAS = (0.3, 0.1, 0.03, 0.01, 0.001)


def check(form="corrected", rtol: float = 1e-10) -> Report:
    r"""x1 = (1, 0), x2 = (sin d, cos d), both +1, mu = sin d. Claims: a V+ neuron at angle $\varphi_0$ from x1 on the
    side away from x2 enters S+ at $\log(\tan(\varphi_0/2)/\tan(d/2))$ exactly, as the flow at e^-2000 does; so the
    time grows like $\log(1/\mu)$, by 1 for each unit of it, where the theorem's $t_1$ grows like $\mu^{-5/2}$, because
    $\xi = \mu^2$ hides in it (E4).

    Printed: $t_1 = O(\log n/\sqrt\mu)$, i.e. exponent -1/2 of mu in (28), fitted over mu from .3 to .001 with slack
    0.02 (sin d against d). Slack of times: 100 rtol of the longest, 20; of the growth: what log tan(d/2) and log sin d
    differ by between the largest and the smallest angle, over the span.
    """
    phi = 1.2
    worst, t1, turns, mus = 0.0, [], [], []
    for delta in DELTAS:
        data = rf.data.two_angles(delta)
        init = rf.Params(np.array([[np.cos(phi), -np.sin(phi)]]), np.ones(1), log_scale=-2000.0)
        problem = rf.Problem(data, init, loss="exponential", reduction="sum")
        sol = rf.solve(problem, rf.Flow(rtol=rtol), t1=20.0)
        (turn,) = sol.events["on"].t
        exact = np.log(np.tan(phi / 2) / np.tan(delta / 2))
        worst = max(worst, abs(turn - exact))
        c = constants(problem)
        t1.append(c.t1)
        turns.append(float(turn))
        mus.append(c.geo.mu)
    slope = lambda values: float(np.polyfit(np.log(mus), np.log(values), 1)[0])
    if form == "printed":
        claim = Claim("exponent of mu in t1 of (28)", slope(t1), ">=", -0.5, slack=0.02)
        return Report("min2024.separability", [claim], form=form)
    span = float(np.log(mus[0] / mus[-1]))
    growth = (turns[-1] - turns[0]) / span
    bent = abs(float(np.log(np.tan(DELTAS[0] / 2) / mus[0]) - np.log(np.tan(DELTAS[-1] / 2) / mus[-1]))) / span
    claims = [
        Claim(
            f"time into S+ against log(tan(phi/2)/tan(d/2)), largest gap over {len(DELTAS)} angles",
            worst,
            "<=",
            0.0,
            slack=2000 * rtol,
        ),
        Claim("growth of the time into S+ with log(1/mu), in the flow", growth, "=", 1.0, slack=bent + 4000 * rtol),
    ]
    return Report("min2024.separability", claims)
