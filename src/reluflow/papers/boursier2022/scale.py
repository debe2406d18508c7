"""Section 3.2 of [BPF22]: how small lambda must be, with the width and the number of labels."""

import numpy as np

from reluflow import Flow, solve
from reluflow.claim import Claim, Report
from reluflow.data.core import Data
from reluflow.init import Params, balanced
from reluflow.papers.boursier2022._constants import Constants, hypotheses
from reluflow.papers.boursier2022._scale import thresholds
from reluflow.papers.boursier2022._track import Track
from reluflow.problem import Problem

needs = "problem"
forms = ("corrected", "printed")
LABELS = (2, 3, 4)
ELL = (30.0, 45.0)  # log(1/lambda) at which distances are compared
RTOL = 1e-11


def check(problem, form="corrected", draws: int = 8, seed: int = 0, epsilon=None) -> Report:
    r"""Claims: $\lambda^*$ "scales as $m^{-1/2} e^{-\Theta(n)}$", as measured. Width: four copies of every neuron at
    $\lambda/2$ have the same outputs at all times. Labels: with $n_+$ equal positive labels a neuron that misses one of
    them leaves $|\theta^\infty - \theta^*| \sim \lambda^{1-\rho}$, $\rho = \sqrt{1-1/n_+}$, so that an accuracy
    $\delta$ needs $\log(1/\lambda) = \log(1/\delta)/(1-\rho) \approx 2n_+\log(1/\delta)$; the slope is measured for
    $n_+$ = 2, 3, 4.

    Printed: lambda* "depends only on the data and the width" (E2); then the condition of the alignment phase, C5, must
    not vary over `draws` of the weights. It does, through the initial directions. The thresholds of the proof's own
    conditions C1-C15 are in the constants: sufficient only, and far smaller. Slack: of outputs 100 rtol; of a slope the
    next order, relative $\lambda^{2(1-\rho)}$ and $\lambda^{2\rho}$ at the larger lambda, taken ten times, and 100 rtol
    of a distance, over the difference of the logarithms.
    """
    const = Constants(problem, epsilon=epsilon)
    found = thresholds(const)
    if form == "printed":
        spread = _spread(problem, const, draws, seed, epsilon)
        text = f"spread of log10 lambda* for the alignment phase (C5) over {draws} draws"
        claims = [Claim(text, spread, "=", 0.0)]
    else:
        claims = [_copies(problem), *(_labels(n) for n in LABELS)]
    strictest = min(found, key=lambda k: found[k])
    shown = {f"log10 lambda* by {name}": value for name, value in found.items() if value < 0}
    return Report(
        name="boursier2022.scale",
        hypotheses=hypotheses(const),
        claims=claims,
        constants={**const.numbers(), **shown},
        form=form,
        notes=[
            f"{strictest} is the strictest of the conditions. C16 and steps of Lemma 11 leave constants open: "
            "no certified lambda* can be read off the proof."
        ],
    )


def _spread(problem, const: Constants, draws: int, seed: int, epsilon) -> float:
    values = []
    for k in range(draws):
        init = balanced(const.m, const.data.d, log_scale=-const.ell, seed=seed + k)
        other = Constants(Problem(problem.data, init, reduction=problem.reduction), epsilon=epsilon)
        if len(other.S_plus) and len(other.S_minus):
            values.append(thresholds(other)["C5"])
    return float(np.ptp(values)) if len(values) > 1 else np.nan


def _copies(problem) -> Claim:
    """Outputs of the problem and of four copies of its neurons at half the scale, over the largest label."""
    init = problem.init
    log_w, log_a = (np.tile(v, 4) - np.log(2.0) for v in init.log_scales)
    many = Params(np.tile(init.w, (4, 1)), np.tile(init.a, 4), log_scale=log_w, log_scale_a=log_a)
    wide = Problem(problem.data, many, reduction=problem.reduction, activation=problem.activation)
    method = Flow(rtol=RTOL)
    one = solve(problem, method)
    end = float(one.t[-1])
    other = solve(wide, method, t1=end)
    t = np.linspace(0.0, min(end, float(other.t[-1])), 101)
    gap = np.max(np.abs(one.outputs_at(t) - other.outputs_at(t)), axis=1) / float(np.max(np.abs(problem.data.y)))
    k = int(np.argmax(gap))
    # A time good to 100 rtol of itself moves outputs by the fastest rate times that.
    rate = float(np.max(np.abs(np.gradient(one.outputs_at(t), t, axis=0)))) / float(np.max(np.abs(problem.data.y)))
    text = "four copies of each neuron at lambda/2: largest difference of outputs over the largest label"
    return Claim(text, gap[k], "=", 0.0, slack=100 * RTOL * (2 + rate * end), at=float(t[k]))


def _labels(n: int) -> Claim:
    """The slope of log|theta - theta*| in log lambda with n equal positive labels and one stray neuron."""
    data = Data(np.eye(n + 1), np.r_[np.ones(n), -0.5])
    on = np.ones(n)
    stray = np.r_[np.ones(n - 1), -1.0]
    w = np.array([np.r_[on, 0.3], np.r_[0.3 * on, 1.0], np.r_[stray, -0.2]])
    a = np.array([1.0, -1.0, 1.0]) * np.linalg.norm(w, axis=1)
    apart = []
    for ell in ELL:
        sol = solve(Problem(data, Params(w, a, log_scale=-ell)), Flow(rtol=RTOL))
        track = Track(sol)
        apart.append(float(track.distance(track.at(track.end), track.const.theta())[0]))
    slope = -np.log(apart[1] / apart[0]) / (ELL[1] - ELL[0])
    rho = np.sqrt(1 - 1 / n)
    next_order = 10 * (np.exp(-2 * (1 - rho) * ELL[0]) + np.exp(-2 * rho * ELL[0]))
    slack = (next_order + 200 * RTOL / min(apart)) / (ELL[1] - ELL[0])
    text = f"n+ = {n}: slope of log|theta - theta*| in log lambda, 1 - sqrt(1 - 1/n+)"
    note = f"an accuracy of 0.01 needs lambda = e^-{np.log(100.0) / slope:.3g}"
    return Claim(text, slope, "=", 1 - rho, slack=slack, kind="limit", note=note)
