"""Population flow, the figures behind its claims: python -m benchmarks.population

Prints the worst of 50 random problems against 30 digits, the cost against the scale, one student against `rf.single`,
and what m = 100 students of M = 10 teachers in d = 100 dimensions take.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

import reluflow as rf

FOLDER = Path(__file__).parents[1] / "tests" / "references"
sys.path.insert(0, str(FOLDER))


def thirty_digits(rtol=1e-10):
    from make_population import draw

    stored = json.loads((FOLDER / "population.json").read_text())
    worst, energy, count = 0.0, 0.0, 0
    for case in stored["problems"]:
        v, b, w, a, slope, train = draw(case["seed"])
        problem = rf.population.Problem(rf.Params(v, b), rf.Params(w, a), slope=slope, train=train)
        sol = rf.population.solve(problem, rf.Flow(rtol), t1=stored["t1"])
        got_w, got_a = sol.final.arrays()
        size = max(1.0, np.max(np.abs(got_w)), np.max(np.abs(got_a)))
        apart = max(
            np.max(np.abs(got_w.ravel() - np.array(case["w"], float))),
            np.max(np.abs(got_a - np.array(case["a"], float))),
        )
        worst, energy, count = max(worst, apart / size / rtol), max(energy, sol.stats.energy_error / rtol), count + 1
    print(f"{count} problems against 30 digits: worst {worst:.2f} rtol, energy {energy:.2f} rtol (rtol {rtol:g})")


def scales():
    teacher = rf.Params([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [1.0, 0.6])
    for log_scale in (-10.0, -100.0, -1000.0, -10_000.0, -100_000.0):
        problem = rf.population.Problem(teacher, rf.init.balanced(width=10, dim=3, log_scale=log_scale, seed=0))
        began = time.process_time()
        sol = rf.population.solve(problem, rf.Flow(1e-8), t1=-3.31 * log_scale + 300.0)
        took = time.process_time() - began
        print(f"e^{log_scale:g}: {sol.stats.steps} steps, {took:.2f} s of processor time, loss {sol.loss[-1]:.3g}")


def single():
    worst = 0.0
    for log_norm, phi in ((-3.0, 1.5), (-10.0, 0.3), (-1000.0, 1.5), (0.5, 3.0)):
        theta, end = np.pi - phi, 2.2 * abs(log_norm) + 20.0
        one = rf.single.solve(rf.single.Problem(m=1, phi=phi, log_norm=log_norm), rf.Flow(1e-12), t1=end).at(end)
        student = rf.Params([[np.cos(theta), np.sin(theta)]], [1.0], log_scale=log_norm)
        problem = rf.population.Problem(rf.Params([[1.0, 0.0]], [1.0]), student)
        params = rf.population.solve(problem, rf.Flow(1e-12), t1=end).final
        length = params.log_scales[0][0] + np.log(np.linalg.norm(params.w[0]))
        angle = np.arctan2(params.w[0, 1], params.w[0, 0])
        apart = (length - float(np.ravel(one.log_norm)[0]), angle - np.pi + float(np.ravel(one.phi)[0]))
        worst = max(worst, *np.abs(apart))
    print(f"one student, one teacher against rf.single: {worst:.1e}")


def large():
    rng = np.random.default_rng(0)
    teacher = rf.Params(rng.normal(size=(10, 100)) / 10, np.where(np.arange(10) < 7, 1.0, -1.0))
    problem = rf.population.Problem(teacher, rf.init.balanced(100, 100, log_scale=-5.3, seed=1))
    began = time.process_time()
    sol = rf.population.solve(problem, rf.Flow(1e-6), t1=100.0)
    took = time.process_time() - began
    print(
        f"m = 100, M = 10, d = 100 to t = 100: {took:.1f} s of processor time, {sol.stats.fields} fields, "
        f"loss {sol.loss[0]:.3g} to {sol.loss[-1]:.3g}, energy error {sol.stats.energy_error:.1e}"
    )


if __name__ == "__main__":
    single()
    thirty_digits()
    scales()
    large()
