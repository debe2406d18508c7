r"""One neuron in fractions: its activation pattern and the linear forms of g that decide its events.

A row is on, off, slid (u = 0, the bit between 0 and 1 keeps it there) or at rest (u = 0, bit 0, no force across it).
With P the projection off the slid rows S,

    D = sum_on g_k P x_k,    u_i' = |a| V_i,  V_i = s sum_on <P x_k, x_i> g_k,    nu_S = -G_SS^{-1} X_S sum_on g_k x_k.

A slid row stays while -s nu_i > 0 and -s (g_i - nu_i) > 0, a resting one while -s g_i > 0.
"""

from functools import lru_cache

from reluflow.certify._flint import fmpq, fmpq_mat
from reluflow.certify.exact import dot


class Cell:
    """The pattern of one neuron: a sign and a string of one letter a row, "1" on, "0" off, "s" slid, "r" at rest."""

    def __init__(self, x, s: int, states: str):
        self.x, self.s, self.states = x, s, states
        self.on = tuple(i for i, c in enumerate(states) if c == "1")
        self.off = tuple(i for i, c in enumerate(states) if c == "0")
        self.slid = tuple(i for i, c in enumerate(states) if c == "s")
        self.rest = tuple(i for i, c in enumerate(states) if c == "r")
        S = [x[i] for i in self.slid]
        gram = fmpq_mat([[dot(u, v) for v in S] for u in S])
        self.independent = not S or gram.det() != 0
        self.xi, self.coefficients = {}, {}
        if not self.independent:
            return
        for k in range(len(x)):
            lam = [r[0] for r in gram.solve(fmpq_mat([[dot(u, x[k])] for u in S])).tolist()] if S else []
            self.coefficients[k] = lam
            self.xi[k] = tuple(x[k][c] - sum((l * u[c] for l, u in zip(lam, S)), fmpq(0)) for c in range(len(x[k])))

    def row(self, values: dict) -> tuple:
        return tuple(values.get(k, fmpq(0)) for k in range(len(self.x)))

    def rate(self, i: int) -> tuple:
        """V_i as a row over g: the sign of u_i'."""
        return self.row({k: self.s * dot(self.xi[k], self.x[i]) for k in self.on})

    def multiplier(self, i: int) -> tuple:
        """nu_i as a row over g."""
        p = self.slid.index(i)
        return self.row({k: -self.coefficients[k][p] for k in self.on})

    def stays(self, i: int) -> dict[str, tuple]:
        """The rows that are positive while the bit of a slid or resting row is what it is, by the event that ends
        it."""
        if self.states[i] == "r":
            return {"wakes": self.row({i: fmpq(-self.s)})}
        nu = self.multiplier(i)
        off = tuple(-self.s * v for v in nu)
        on = tuple(-self.s * (fmpq(int(k == i)) - v) for k, v in enumerate(nu))
        return {"release_off": off, "release_on": on}

    def rests(self, i: int) -> bool:
        """Whether no row that is on pushes across row i."""
        return not any(self.rate(i))


@lru_cache(maxsize=20_000)
def cell(x, s: int, states: str) -> Cell:
    return Cell(x, s, states)
