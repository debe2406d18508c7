r"""One neuron's way through activation patterns, as Figures 4 and 14 to 17 of [MMV24] draw them, from a run.

    (k+, k-) = numbers of positive and negative data a neuron is active on;  V+ : k+ never falls, k- never rises
    maximal path: (0, n-), ..., (0, 1), (1, 1), (1, 0), (2, 0), ..., (n+, 0);   an edge from (k+, k-) costs 1/(k+ + k-)

Data in the plane, balanced flow, sum of exponential losses. The neuron is the one with v > 0 that switches most.
"""

from itertools import pairwise

import numpy as np

import reluflow as rf
from reluflow import observe
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.papers.min2024._constants import constants
from reluflow.plot import look

SAME = dict(n=14, mu=0.25, width=80, log_scale=-40.0, seed=2)
SETTINGS = {"quick": SAME, "full": SAME}
WALK = (
    "switches of all V+",
    "V+ neurons that end",
    "the neuron shown ends",
    "and negative data",
    "its longest stay",
    "its arrival",
)
STATED = {"paper": WALK}
STATED_TWINS = {"paper": ("edges whose twin", "twins used twice", "an edge's cost", "data an edge")}


def compute(*, n, mu, width, log_scale, seed):
    import xarray as xr

    data = rf.data.orthogonally_separable(n, 2, mu, norm_min=0.7, norm_max=1.3, seed=seed)
    order = np.argsort(-data.y, kind="stable")
    data = rf.Data(data.x[order], data.y[order])
    init = rf.init.balanced(width, 2, log_scale=log_scale, seed=seed)
    problem = rf.Problem(data, init, loss="exponential", reduction="sum")
    sol = solve(problem, rf.Flow(rtol=1e-8), t1=30.0)
    visits = observe.patterns(sol)
    positive = np.flatnonzero(np.sign(init.a) > 0)
    living = [j for j in positive if visits[j][-1].on]
    chosen = max(living, key=lambda j: len(visits[j]))
    walk = visits[chosen]
    on = np.zeros((len(walk), n), int)
    for k, visit in enumerate(walk):
        on[k, list(visit.on)] = 1
    plus = data.y > 0
    path = np.stack([on[:, plus].sum(axis=1), on[:, ~plus].sum(axis=1)], axis=1)
    const = constants(problem)
    m, x_min = min(const.zeta2, const.geo.mu**2), const.geo.x_min
    found = {
        "on": (("visit", "datum"), on),
        "start": ("visit", [v.start for v in walk]),
        "path": (("visit", "side"), path),
        "y": ("datum", data.y),
        "others": (("neuron", "side"), _ends(visits, positive, plus)),
        "wrong": _wrong(visits, positive, plus),
        "t1": float(const.t1),
        "unit": 4.0 / (m * np.sqrt(const.geo.mu) * x_min),
    }
    return xr.Dataset(found, coords={"side": ["k+", "k-"]}, attrs={"mu": float(const.geo.mu), "neuron": int(chosen)})


def _ends(visits, who, plus) -> np.ndarray:
    """Where each neuron of V+ ends: (k+, k-)."""
    last = [list(visits[j][-1].on) for j in who]
    return np.array([[int(np.sum(plus[on])), int(np.sum(~plus[on]))] for on in last])


def _wrong(visits, who, plus) -> int:
    """Switches of V+ neurons that lose a positive or gain a negative datum."""
    count = 0
    for j in who:
        for a, b in pairwise(visits[j]):
            gained, lost = set(b.on) - set(a.on), set(a.on) - set(b.on)
            count += sum(not plus[i] for i in gained) + sum(bool(plus[i]) for i in lost)
    return count


def maximal(n_plus: int, n_minus: int) -> list[tuple[int, int]]:
    """The vertices of the maximal path."""
    return [(0, k) for k in range(n_minus, 0, -1)] + [(1, 1)] * (n_minus > 0) + [(k, 0) for k in range(1, n_plus + 1)]


def twin(a: tuple[int, int], b: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    """The edge of the maximal path that stands for the edge a -> b of any path, at least as dear.

    Losing the k-th negative datum: (0, k) -> (0, k-1), and (1, 1) -> (1, 0) for the last. Gaining the k-th positive:
    (k, 0) -> (k+1, 0), and (0, 1) -> (1, 1) for the first.
    """
    if b[1] < a[1]:
        return ((0, a[1]), (0, a[1] - 1)) if a[1] > 1 else ((1, 1), (1, 0))
    return ((a[0], 0), (a[0] + 1, 0)) if a[0] > 0 else ((0, 1), (1, 1))


def edges(ds) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The edges of the run's path, each of one step."""
    path = [(int(a), int(b)) for a, b in ds.path.values]
    return list(pairwise(path))


def facts(ds):
    """Monotone paths, dwell times within the paper's bound for each vertex, and arrival before t1."""
    path, start = ds.path.values, ds.start.values
    n_plus, n_minus = int(np.sum(ds.y > 0)), int(np.sum(ds.y < 0))
    stay = np.diff(start) * path[:-1].sum(axis=1) / float(ds.unit)
    cost = float(np.sum(1.0 / path[:-1].sum(axis=1)))
    most = sum(1.0 / sum(v) for v in maximal(n_plus, n_minus)[:-1])
    ends = ds.others.values
    arrived = (ends == [n_plus, 0]).all(axis=1) | (ends == 0).all(axis=1)
    return [
        Claim("switches of all V+ neurons that lose a positive or gain a negative datum", int(ds.wrong), "=", 0),
        Claim("V+ neurons that end neither in S+ nor dead", int(np.sum(~arrived)), "=", 0),
        Claim("the neuron shown ends in S+: positive data it is active on", int(path[-1, 0]), "=", n_plus),
        Claim("and negative data", int(path[-1, 1]), "=", 0),
        Claim("its longest stay over 4/(m sqrt(mu) X_min n_a), the bound", float(stay.max()), "<=", 1.0),
        Claim("its arrival over t1", float(start[-1] / ds.t1), "<=", 1.0),
        Claim("cost of its path, against the maximal path", cost, "<=", most),
    ]


# Drawing --------------------------------------------------------------------------------------------------------------


def lattice(ax, ds, faint: bool = False) -> None:
    """All vertices, and the run's path from its start to S+."""
    n_plus, n_minus = int(np.sum(ds.y > 0)), int(np.sum(ds.y < 0))
    a, b = np.meshgrid(np.arange(n_plus + 1), np.arange(n_minus + 1))
    ax.scatter(a, b, s=7, color=look.FAINT, lw=0, alpha=0.7, zorder=1)
    path = ds.path.values
    ax.plot(path[:, 0], path[:, 1], "-", color=look.PLUS, lw=2.2 if not faint else 1.6, zorder=3)
    ax.scatter(path[:, 0], path[:, 1], s=20, color=look.PLUS, lw=0, zorder=4)
    look.beside(ax, path[0, 0], path[0, 1], "start", look.PLUS, dx=5, dy=8)
    look.beside(ax, n_plus, 0, "S+", look.PLUS, dx=6, dy=8)
    ax.set(
        xlabel="k₊, active positive data",
        ylabel="k₋, active negative data",
        xlim=(-0.6, n_plus + 0.8),
        ylim=(-0.6, n_minus + 0.8),
        aspect="equal",
    )
    ax.set_xticks(range(0, n_plus + 1, 2))
    ax.set_yticks(range(0, n_minus + 1, 2))


def dearest(ax, ds) -> None:
    """The maximal path."""
    n_plus, n_minus = int(np.sum(ds.y > 0)), int(np.sum(ds.y < 0))
    v = np.array(maximal(n_plus, n_minus))
    ax.plot(v[:, 0], v[:, 1], "-o", color=look.THEORY, lw=1.6, ms=3.5, zorder=2)
    ax.text(
        -0.33, 0.5 * n_minus, "maximal path", color=look.THEORY, fontsize=7.5, rotation=90, ha="center", va="center"
    )


def picture(ds, maximal_too: bool):
    """Figures 14 and 15: the run's path on the lattice, alone or beside the maximal path."""
    fig = look.figure(look.COLUMN, 3.3)
    ax = fig.subplots()
    if maximal_too:
        dearest(ax, ds)
    lattice(ax, ds)
    return fig


def ours(ds) -> str:
    """The end of captions: what the run is."""
    return f"""Data and run are ours (n = {ds.sizes["datum"]}, mu = {ds.attrs["mu"]:.2f}, balanced flow from e^-40); the
    paper's figure is a drawing."""


def twins(ds, down: bool):
    """The run's path beside the maximal one, with lines from each edge that goes down (or right) to its twin."""
    fig = look.figure(look.COLUMN, 3.3)
    ax = fig.subplots()
    dearest(ax, ds)
    lattice(ax, ds, faint=True)
    for a, b in edges(ds):
        if (b[1] < a[1]) == down:
            (p, q) = twin(a, b)
            one, two = 0.5 * (np.array(a) + b), 0.5 * (np.array(p) + q)
            ax.annotate(
                "", two, one, arrowprops=dict(arrowstyle="->", color=look.MINUS, lw=0.9, shrinkA=1, shrinkB=1), zorder=5
            )
    return fig


def twin_facts(ds, down: bool):
    """Each edge of the run has a twin of its own on the maximal path, at least as dear."""
    mine = [e for e in edges(ds) if (e[1][1] < e[0][1]) == down]
    theirs = [twin(*e) for e in mine]
    vertices = maximal(int(np.sum(ds.y > 0)), int(np.sum(ds.y < 0)))
    known = set(pairwise(vertices))
    single = [abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in mine]
    ratio = [sum(p) / sum(a) for (a, _), (p, _) in zip(mine, theirs, strict=True)]
    return [
        Claim("edges of this kind on the run's path", len(mine), ">=", 1),
        Claim("data an edge gains or loses, most", max(single), "=", 1),
        Claim("edges whose twin is not on the maximal path", sum(e not in known for e in theirs), "=", 0),
        Claim("twins used twice", len(theirs) - len(set(theirs)), "=", 0),
        Claim("an edge's cost over its twin's, largest", max(ratio), "<=", 1.0),
    ]
