r"""Single neurons of any depth: f(x) = v_1 s(v_2 s(... s(v_m s(<w, x>)))), trained towards a target of the same form.

    problem = rf.single.Problem(m=2, norm=0.1, phi=1.5)
    run = rf.single.solve(problem, rf.Flow(rtol=1e-10), t1=30.0)
    run.norm, run.phi, run.at(12.5).phi

Magnitude v = |w| and angle phi = pi - angle(w, w*) obey two equations when x is spherically symmetric [Lee, Sim, Ye
2023]; `orbit` solves them by quadrature, `solve` follows them and descent, on the population or on a sample.
"""

from reluflow.single.law import Gaussian, Radial, Sphere
from reluflow.single.orbit import orbit
from reluflow.single.problem import Problem
from reluflow.single.run import Run
from reluflow.single.sample import Sample, draw
from reluflow.single.solve import solve

__all__ = ["Gaussian", "Problem", "Radial", "Run", "Sample", "Sphere", "draw", "orbit", "solve"]
