"""Appendix B.2 of [BPF22]: alpha and beta, by which neurons that miss one label of a class grow more slowly."""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import Class, Labels, data_hypotheses

needs = "data"
forms = ("corrected", "printed")
LOG_SCALE = -2000.0  # where outputs are 0 and neurons do not feel each other
RTOL = 1e-9


def check(data, form="corrected") -> Report:
    r"""Claim: a neuron that misses datum k of its class grows at a rate of at most $(1-\alpha)|D_+|$ (or
    $(1-\beta)|D_-|$), for every k, where $\alpha = \min_+ y_k^2|x_k|^2/(2n^2|D_+|^2)$.

    Measured: $(\log|w_j|)'$ after alignment, in the flow at e^-2000, of neurons that start active on all of a class but
    one datum. The bound is $\sqrt{1-z} \le 1 - z/2$ with $z = y_k^2|x_k|^2/(n|D_+|)^2$; the print lacks the $n^2$ (E1):
    two equal labels give 1 instead of 1/4, the truth being $1 - 1/\sqrt2$. Slack: 100 rtol. A class of one datum has no
    such neuron.
    """
    const = Labels(data, form=form)
    claims = []
    for name, cls, loss, sign in (
        ("alpha", const.plus, const.alpha, const.flip),
        ("beta", const.minus, const.beta, -const.flip),
    ):
        text = f"growth rate of a neuron that misses one datum, over |D|: 1 - {name}"
        if np.sum(cls.members) < 2:
            claims.append(Claim(text, 0.0, "<=", 1 - loss, note="a class of one datum: such a neuron does not grow"))
            continue
        rates, rows = _rates(const, cls, sign)
        k = int(np.argmax(rates))
        claims.append(Claim(text, rates[k] / cls.size, "<=", 1 - loss, slack=100 * RTOL, at=f"datum {rows[k]}"))
    return Report("boursier2022.alpha", claims, data_hypotheses(const), const.numbers(), form)


def _rates(const: Labels, cls: Class, sign: float) -> tuple[np.ndarray, np.ndarray]:
    """(log|w_j|)' of one neuron for each datum of a class, off on that datum and on for the others, once aligned."""
    rows = np.flatnonzero(cls.members)
    unit = const.data.x[rows] / np.sqrt(const.nu2[rows])[:, None]
    w = np.sum(unit, axis=0) - 2.0 * unit
    init = rf.Params(w, sign * np.linalg.norm(w, axis=1), log_scale=LOG_SCALE)
    reduction = "mean" if const.weight == 1.0 / const.n else "sum"
    # By then an angle is e^-30 of what it was, and the outputs are still e^-3800.
    t = 30.0 / (cls.size * np.sqrt(cls.share))
    sol = rf.solve(rf.Problem(const.data, init, reduction=reduction), rf.Flow(rtol=RTOL), t1=min(t, 1000.0 / cls.size))
    return rf.observe.log_norm_rate(sol).values[-1], rows
