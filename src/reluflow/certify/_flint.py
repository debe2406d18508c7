"""python-flint, or one sentence saying how to get it."""

try:
    from flint import arb, arb_mat, arb_poly, arb_series, ctx, fmpq, fmpq_mat
except ImportError as error:
    raise ImportError("Certificates need python-flint: install `reluflow[precise]`.") from error

__all__ = ["arb", "arb_mat", "arb_poly", "arb_series", "ctx", "fmpq", "fmpq_mat"]
