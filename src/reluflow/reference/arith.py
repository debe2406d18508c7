"""Numbers of any precision: flint's `arb` for the state, Python integers (value times 2^bits) inside a Taylor series.

An `arb` has an exponent of unlimited size, so that weights of e^-100000 are ordinary. Only midpoints are kept: the
balls are not used as enclosures, the number of correct digits is established by running twice.
"""

from operator import mul

try:
    from flint import arb, arb_mat, ctx  # noqa: F401
except ImportError as error:
    raise ImportError("The reference needs python-flint: install `reluflow[precise]`.") from error

LOG2_10 = 3.3219280948873626


def number(value) -> arb:
    """A float, an int, a decimal string or an `arb` as a number without radius."""
    if isinstance(value, arb | str | int):
        return arb(value).mid()
    return arb(float(value)).mid()


def mid(values):
    """The same nested lists without the radii."""
    return [mid(v) for v in values] if isinstance(values, list | tuple) else values.mid()


def dot(u, v) -> arb:
    return sum(map(mul, u, v), arb(0)).mid()


def norm(v) -> arb:
    return dot(v, v).sqrt().mid()


def combine(columns, coefficients):
    """sum_k coefficients_k columns_k."""
    return [dot(row, coefficients) for row in zip(*columns, strict=True)]


def tiny() -> arb:
    """Whether a value is 0 up to rounding, relative to the terms it was computed from."""
    return arb(10) ** (-2 * ctx.dps // 3)


def basis(vectors):
    """Orthonormal vectors with the same span (Gram-Schmidt; dependent vectors are left out)."""
    out: list[list] = []
    for v in vectors:
        rest = project(project(v, out), out)
        length = norm(rest)
        if length > tiny() * norm(v):
            out.append([(c / length).mid() for c in rest])
    return out


def project(v, orthonormal):
    """v minus its components along the orthonormal vectors."""
    for b in orthonormal:
        along = dot(v, b)
        v = [(c - along * e).mid() for c, e in zip(v, b, strict=True)]
    return list(v)


def fix(x: arb, bits: int) -> int:
    """x * 2^bits as an integer."""
    man, exp = x.mid().man_exp()
    shift = int(exp) + bits
    return int(man) << shift if shift >= 0 else int(man) >> -shift


def unfix(n: int, bits: int) -> arb:
    return (arb((n, -bits)) + 0).mid()


def horner(p: list[int], x: int, bits: int) -> int:
    """The polynomial p at x, all in fixed point."""
    total = 0
    for c in reversed(p):
        total = (total * x >> bits) + c
    return total
