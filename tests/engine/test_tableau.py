"""The step's coefficients."""

import numpy as np
import pytest
from scipy.integrate import DOP853

from reluflow.engine import tableau


def test_every_number_is_that_of_scipy():
    np.testing.assert_array_equal(tableau.A[:12, :12], DOP853.A)
    np.testing.assert_array_equal(tableau.A[12, :12], DOP853.B)
    np.testing.assert_array_equal(tableau.A[13:], DOP853.A_EXTRA)
    np.testing.assert_array_equal(tableau.C, np.concatenate([DOP853.C, [1.0], DOP853.C_EXTRA]))
    np.testing.assert_array_equal(tableau.E3, DOP853.E3)
    np.testing.assert_array_equal(tableau.E5, DOP853.E5)
    np.testing.assert_array_equal(tableau.DENSE, DOP853.D)


@pytest.mark.parametrize("power", range(8))
def test_quadrature_is_exact_to_order_eight(power):
    assert tableau.A[12, :12] @ tableau.C[:12] ** power == pytest.approx(1 / (power + 1), abs=1e-14)
