r"""Description of a data set, and which assumptions of the papers it satisfies.

    u_i = sign(y_i) x_i / |x_i|       mu = min_{i != k} <u_i, u_k>                    [Min et al., Assumption 1]
    p = max_{i != k} |<x_i, x_k>|     kappa = n p / min |x_i|^2,  R = max |x_i| / min |x_i|     [Kou et al.]
    D+ = (1/n) sum_{y_i > 0} y_i x_i, D- likewise                                     [Boursier et al., Assumption 2]

Angles are taken between all pairs, a block at a time: about 7 s for MNIST 0/1 (n = 12,665, d = 784) on two idle cores.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

import numpy as np

from reluflow.data import _gram
from reluflow.data.core import Data, classes_text

EPS = float(np.finfo(float).eps)
EXAMPLES = 10
NOT_MET = "not met"
RELATIONS = {"<=": lambda gap: gap <= 0, "<": lambda gap: gap < 0, ">": lambda gap: gap > 0, ">=": lambda gap: gap >= 0}


@dataclass(frozen=True)
class Assumption:
    """`measured` against `bound`; `slack` bounds the rounding error of `measured`.

    A strict relation must hold by more than the slack; a non-strict one may fail by at most the slack. A `bound` of
    None is a constant that the paper does not specify: there is no verdict, and `note` explains the number.
    """

    paper: str
    name: str
    text: str
    measured: float | None
    relation: str
    bound: float | None
    slack: float = 0.0
    note: str = ""

    @property
    def verdict(self) -> str:
        """holds, holds within slack, not met (results that assume it do not apply), or unmeasured."""
        if self.measured is None or self.bound is None:
            return "unmeasured"
        gap = self.measured - self.bound
        if self.relation in ("<", ">"):
            return "holds" if RELATIONS[self.relation](gap) and abs(gap) > self.slack else NOT_MET
        if RELATIONS[self.relation](gap):
            return "holds"
        return "holds within slack" if abs(gap) <= self.slack else NOT_MET

    @property
    def margin(self) -> float | None:
        """How far `measured` is on the right side of `bound`; negative on the wrong side."""
        if self.measured is None or self.bound is None:
            return None
        gap = self.measured - self.bound
        return gap if self.relation.startswith(">") else 0.0 - gap


@dataclass(frozen=True)
class Pairs:
    """The number of pairs of rows of a kind, and the first few of them."""

    count: int = 0
    first: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        return _few([f"{i} and {k}" for i, k in self.first], self.count)


@dataclass(frozen=True)
class Description:
    """The numbers behind `print(data.describe())`. Cosines with a zero row, or signed by a zero label, count as 0.

    `mu` and `max_cos` come with the pair of rows (from 0) that attains them; they are None for a single row.
    `negative_pairs` is the share of pairs whose label-signed cosine is negative. `duplicates` are equal rows,
    `parallel` positive multiples (duplicates among them), `opposite` negative multiples. With several outputs nothing
    is said of signs of labels: counts are 0, `mu` and `negative_pairs` None, pulls NaN, no assumptions. `defect` is
    max |XX' - I|, `pull_plus` and `pull_minus` are |D+| and |D-|.
    """

    name: str
    n: int
    d: int
    rank: int
    positive: int
    negative: int
    zero_labels: int
    labels: tuple[float, float]
    norm_min: float
    norm_max: float
    mu: float | None
    mu_pair: tuple[int, int] | None
    negative_pairs: float | None
    max_cos: float | None
    max_cos_pair: tuple[int, int] | None
    p: float
    kappa: float
    defect: float
    pull_plus: float
    pull_minus: float
    zero_rows: tuple[int, ...]
    duplicates: Pairs
    parallel: Pairs
    opposite: Pairs
    assumptions: tuple[Assumption, ...] = field(repr=False, default=())
    outputs: int = 1
    classes: str = ""

    @property
    def ratio(self) -> float:
        """R, the largest norm over the smallest."""
        return self.norm_max / self.norm_min if self.norm_min > 0 else np.inf

    def to_dict(self) -> dict:
        """Plain numbers, strings and lists, for JSON; non-finite values become None."""
        out = asdict(self)
        out["assumptions"] = [asdict(a) | {"verdict": a.verdict, "margin": a.margin} for a in self.assumptions]
        return _plain(out | {"ratio": self.ratio})

    def _signs(self) -> str:
        if self.outputs > 1:
            return f"{self.outputs} numbers a row; "
        zero = f", {self.zero_labels} zero" if self.zero_labels else ""
        return f"{self.positive} positive, {self.negative} negative{zero}; "

    def __str__(self) -> str:
        share = "" if not self.negative_pairs else f"; {self.negative_pairs:.2%} of pairs below 0"
        low, high = self.labels
        one = self.outputs == 1
        rows = [
            ("rows", f"n = {self.n}, d = {self.d}, rank {self.rank}"),
            ("labels", f"{self._signs()}{low:g} to {high:g}"),
            *([("classes", self.classes)] if self.classes else []),
            ("norms", f"{self.norm_min:.6g} to {self.norm_max:.6g}, R = {self.ratio:.6g}"),
            *([("mu", f"{_show(self.mu)}{_rows(self.mu_pair)}{share}")] if one else []),
            ("max |cos|", f"{_show(self.max_cos)}{_rows(self.max_cos_pair)}"),
            ("max |XX'-I|", _show(self.defect)),
            ("kappa", f"{_show(self.kappa)} (p = {_show(self.p)})"),
            *([("|D+|, |D-|", f"{_show(self.pull_plus)}, {_show(self.pull_minus)}")] if one else []),
            ("zero rows", _few([str(i) for i in self.zero_rows], len(self.zero_rows))),
            ("duplicates", str(self.duplicates)),
            ("parallel", str(self.parallel)),
            ("opposite", str(self.opposite)),
        ]
        lines = [self.name or "data"] + [f"  {key:<12} {value}" for key, value in rows]
        if not one:
            return "\n".join([*lines, "assumptions  none: the papers are about labels with one number a row"])
        lines.append("assumptions")
        width = max(len(f"{a.paper} {a.name}") for a in self.assumptions)
        for a in self.assumptions:
            needs = "" if a.bound is None else f" (needs {a.relation} {a.bound:g}; margin {_show(a.margin)})"
            note = f"; {a.note}" if a.note else ""
            found = f"{a.text}: {_show(a.measured)}{needs}{note}"
            lines.append(f"  {f'{a.paper} {a.name}':<{width}}  {a.verdict:<18}  {found}")
        return "\n".join(lines)


def _rows(pair: tuple[int, int] | None) -> str:
    return "" if pair is None else f" (rows {pair[0]} and {pair[1]})"


def _few(items: list[str], count: int) -> str:
    return "none" if not count else f"{count} ({', '.join(items[:3])}{', ...' if count > 3 else ''})"


def _show(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def _plain(value):
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


@np.errstate(over="ignore", under="ignore")  # norms beyond 1e154 become inf, as intended
def describe(data: Data) -> Description:
    """Computes a `Description`; cost n^2 d / 2 multiplications and memory n."""
    x, y, n, k = data.x, data.y, data.n, data.outputs
    signs = np.sign(y) if k == 1 else np.ones(n)
    size = _gram.norms(x)
    low, high = float(size.min()), float(size.max())
    seen = _gram.extremes(x, signs)
    parallel, opposite = _gram.collinear(x, seen.close)
    singular, rank = _singular(x)
    bare = Description(
        name=data.name,
        n=n,
        d=data.d,
        rank=rank,
        positive=int(np.sum(y > 0)) if k == 1 else 0,
        negative=int(np.sum(y < 0)) if k == 1 else 0,
        zero_labels=int(np.sum(y == 0)) if k == 1 else 0,
        labels=(float(y.min()), float(y.max())),
        norm_min=low,
        norm_max=high,
        mu=seen.least if k == 1 else None,
        mu_pair=seen.least_pair if k == 1 else None,
        negative_pairs=None if n < 2 or k > 1 else seen.negative / (n * (n - 1) / 2),
        max_cos=seen.most,
        max_cos_pair=seen.most_pair,
        p=seen.product,
        kappa=_over(_over(n * seen.product, low), low),
        defect=max(seen.product, float(np.max(np.abs(size**2 - 1.0)))),
        pull_plus=float(np.linalg.norm(np.maximum(y, 0) @ x) / n) if k == 1 else np.nan,
        pull_minus=float(np.linalg.norm(np.minimum(y, 0) @ x) / n) if k == 1 else np.nan,
        zero_rows=tuple(int(i) for i in np.flatnonzero(size == 0)),
        duplicates=_pairs(parallel[np.all(x[parallel[:, 0]] == x[parallel[:, 1]], axis=1)]),
        parallel=_pairs(parallel),
        opposite=_pairs(opposite),
        outputs=k,
        classes=classes_text(data) if data.classes is not None and k == 1 else "",
    )
    if k > 1:
        return bare
    return replace(bare, assumptions=_assumptions(bare, y, singular))


def _over(top: float, bottom: float) -> float:
    return top / bottom if bottom > 0 else (0.0 if top == 0 else np.inf)


def _singular(x: np.ndarray) -> tuple[np.ndarray, int]:
    """Singular values of `x`, largest first, and how many exceed the rounding of the largest."""
    scale = np.max(np.abs(x)) or 1.0
    tall = x if x.shape[0] >= x.shape[1] else x.T
    values = np.linalg.svd(np.linalg.qr(tall / scale, mode="r"), compute_uv=False)
    return values * scale, int(np.sum(values > values[0] * max(x.shape) * EPS)) if values[0] > 0 else 0


def _pairs(found: np.ndarray) -> Pairs:
    return Pairs(len(found), tuple((int(i), int(k)) for i, k in found[:EXAMPLES]))


def _assumptions(about: Description, y: np.ndarray, singular: np.ndarray) -> tuple[Assumption, ...]:
    n, d = about.n, about.d
    rounding = (n + d) * EPS  # of an inner product of d terms, and of a computed orthonormal basis of n rows
    larger = max(about.pull_plus, about.pull_minus)
    pair = f"worst pair{_rows(about.mu_pair)}" if about.mu_pair else "needs two rows"
    spread = about.kappa * about.ratio**2 if about.kappa > 0 else 0.0
    dominance = about.kappa * (n - 1) / n
    orthogonal = spread <= n * rounding
    signs = float(np.max(np.abs(np.abs(y) - 1.0)))
    return (
        Assumption("boursier2022", "A1", "orthonormal rows, max |XX'-I|", about.defect, "<=", 0.0, rounding),
        Assumption(
            "boursier2022", "A1, any norms", "orthogonal rows, max |cos|", about.max_cos or 0.0, "<=", 0.0, rounding
        ),
        Assumption("boursier2022", "A2, labels", "no zero label, min |y|", float(np.min(np.abs(y))), ">", 0.0),
        Assumption(
            "boursier2022",
            "A2, pulls",
            "|D+| and |D-| differ, gap over the larger",
            _over(abs(about.pull_plus - about.pull_minus), larger),
            ">",
            0.0,
            rounding,
        ),
        Assumption("min2024", "labels", "labels +-1, max ||y|-1|", signs, "<=", 0.0),
        Assumption("min2024", "Assumption 1", "orthogonally separable, mu", about.mu, ">", 0.0, rounding, pair),
        Assumption("kou2023", "labels", "labels +-1, max ||y|-1|", signs, "<=", 0.0),
        Assumption(
            "kou2023",
            "data",
            "nearly orthogonal, kappa R^2",
            spread,
            "<=",
            0.0 if orthogonal else None,
            n * rounding,
            "orthogonal rows pass for every constant"
            if orthogonal
            else "must be small enough (leaky slope g: divided by g^4); the paper gives no value",
        ),
        Assumption("kou2023", "independent rows", "n - rank", float(n - about.rank), "<=", 0.0),
        Assumption(
            "kou2023", "Gershgorin", "diagonally dominant Gram matrix, (n-1) p / min |x|^2", dominance, "<", 1.0
        ),
        _gaussian(singular, n, d),
        Assumption("lee2023", "labels", "labels of one neuron are not negative, min y", float(y.min()), ">=", 0.0),
    )


def _gaussian(singular: np.ndarray, n: int, d: int) -> Assumption:
    """Lee et al. take x ~ N(0, I): every singular value s then has |s - sqrt(n)| < sqrt(d) + 4, in 99.93% of draws."""
    edge = float((np.sqrt(n) + np.sqrt(d) + 4.0) ** 2 / n - 1.0)
    enough = n >= d and edge < 1.0  # with fewer rows even a singular second moment would pass
    moment = float(np.max(np.abs(singular**2 / n - 1.0))) if enough else None
    note = "0.07% of Gaussian draws exceed the bound" if enough else "too few rows to decide"
    bound = edge if enough else None
    return Assumption("lee2023", "Gaussian inputs", "second moment, |X'X/n - I|", moment, "<=", bound, 0.0, note)
