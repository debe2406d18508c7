"""Many runs at once, compiled by JAX for a processor or a GPU: `rf.solve_many`, and the MNIST protocols of Kou et al.

Needs numpy, scipy, numba and jax alone.
"""

from reluflow.many._many import Many, solve_many
from reluflow.many._mnist import mnist_protocol, p1_problem, p2_problem

__all__ = ["Many", "mnist_protocol", "p1_problem", "p2_problem", "solve_many"]
