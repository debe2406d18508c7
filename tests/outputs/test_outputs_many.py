"""Many runs at once with several outputs."""

import numpy as np
import pytest
from tests.support.outputs import problem

import reluflow as rf


@pytest.mark.parametrize("loss", ["square", "softmax"])
@pytest.mark.parametrize("batch", [None, 4])
def test_solve_many_is_descent(loss, batch):
    pytest.importorskip("jax")
    problems = [problem(loss, seed=1), problem(loss, seed=2)]
    many = rf.solve_many(problems, rf.Descent(0.02, batch=batch), t1=2.0)
    assert many.outputs.shape == (2, 101, 9, 3) and many.a.shape == (2, 101, 6, 3)
    for k, p in enumerate(problems):
        sol = rf.solve(p, rf.Descent(0.02, batch=batch), t1=2.0)
        np.testing.assert_allclose(many[k].outputs_at(2.0), sol.outputs_at(2.0), atol=1e-12)
        np.testing.assert_allclose(many.log_loss[k, -1], sol.log_loss[-1], atol=1e-12)
