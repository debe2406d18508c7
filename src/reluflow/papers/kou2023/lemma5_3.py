"""Lemmas 5.3, H.1, H.2 of Kou et al.: steps of size e^-x add up to a logarithm."""

import numpy as np

from reluflow.claim import Claim, Report

needs = "nothing"
forms = ("corrected", "printed")


def check(form: str = "corrected", seed: int = 0, samples: int = 500, steps: int = 200, growth: float = 1.0) -> Report:
    r"""$C_1 e^{-x_t} \le x_{t+1} - x_t \le C_2 e^{-x_t}$ gives
    $\log(e^{x_0} + C_1 t) \le x_t \le \log(e^{x_0} + C_2 e^{C_2} t)$; the upper half for $x_t \ge 0$.

    `samples` random sequences with 0 <= x_0 <= 5, C_1 < C_2 drawn in e^[-4, 1] and steps anywhere between the two.
    Printed: e^{-x_0} inside both logarithms. Lower half once more with x_0 down to -5, where only H.2 speaks. `growth`
    other than 1 draws steps outside the bounds, which must be noticed. Slack: t sums of rounded terms, t eps max x.
    """
    rng = np.random.default_rng([seed, 3])
    low, high = np.sort(np.exp(rng.uniform(-4.0, 1.0, size=(2, samples))), axis=0)
    start = rng.uniform(0.0, 5.0, size=samples)
    claims = []
    for name, x0 in (("x_0 >= 0", start), ("x_0 < 0", -start)):
        x = np.empty((steps + 1, samples))
        x[0] = x0
        for t in range(steps):
            x[t + 1] = x[t] + growth * rng.uniform(low, high) * np.exp(-x[t])
        time = np.arange(steps + 1.0)[:, None]
        inside = np.exp(-x0 if form == "printed" else x0)
        slack = (steps + 1) * np.finfo(float).eps * float(np.max(np.abs(x)))
        sides = [("lower bound", x - np.log(inside + low * time))]
        if name == "x_0 >= 0":
            sides.append(("upper bound", np.log(inside + high * np.exp(high) * time) - x))
        for side, room in sides:
            room = room[1:]
            worst = np.unravel_index(np.argmin(room), room.shape)
            text = f"{side}, {name}: violated checks of {room.size} (t = 1..{steps})"
            broken = int(np.sum(room < -slack))
            place = f"t = {worst[0] + 1}, sequence {worst[1]}"
            claims.append(Claim(text, broken, "=", 0.0))
            claims.append(Claim(f"{side}, {name}: room at worst", room[worst], ">=", 0.0, slack=slack, at=place))
    return Report("kou2023.lemma5_3", claims, form=form)
