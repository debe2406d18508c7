r"""Stable rank of [KCG23]'s ReLU networks to t = 1e100: where it goes on orthogonal and on nearly orthogonal data.

First layer trained, +-1/m fixed, mean logistic loss, m neurons a class, one start W(0) for all; G = I + (kappa/n) S,
S symmetric with +-1 off the diagonal. Time s is the paper's eta k, by the flow.

kappa = 0    W_j/log s -> A_j, A_{r,i} = 1[<w(0), x_i> >= 0] m/|S_i(0)| on its own class: the limit of the stable rank
             is read off W(0), and approached as 1/log s (Lemma F.3, corrected).
kappa > 0    own-class pairs that start off are pushed on by their neighbours, z_{r,i} = z_{r,i}(0) + (kappa/n) sum_k
             S_{ik} rho_{r,k}(s): once log s ~ 1/kappa. To first order in kappa rho is that of kappa = 0.
"""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.papers.kou2023._measure import excess_rank
from reluflow.papers.kou2023._path import coefficients, path
from reluflow.papers.kou2023._setting import setting
from reluflow.papers.kou2023.lemma_f3 import limit_rank, limits
from reluflow.plot import look

SETTINGS = {
    "quick": dict(kappas=[0.0, 0.001, 0.003, 0.01, 0.03], n=10, m=20, beta=0.05, decades=100, rtol=1e-10),
    "full": dict(kappas=[0.0, 0.0005, 0.001, 0.003, 0.01, 0.03, 0.1], n=20, m=60, beta=0.05, decades=100, rtol=1e-10),
}
CLASSES = {"+": 1, "-": -1}


def compute(*, kappas, n, m, beta, decades, rtol):
    import xarray as xr

    from reluflow.papers.kou2023._standard import started

    labels = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)

    def problem(kappa, seed):
        data = rf.data.nearly_orthogonal(n, kappa, labels=labels, seed=0)
        start = rf.init.fixed_output(2 * m, n, log_scale=float(np.log(beta)), seed=seed)
        return rf.Problem(data, start, loss="logistic", activation=rf.ReLU(at_zero=1.0), train="first")

    seed = next(k for k in range(100_000) if started(problem(0.0, k)))  # the event of Lemma A.2
    ten = float(np.log(10.0))
    log_s = ten * np.r_[np.linspace(0.0, 10.0, 81), np.linspace(10.0, decades, 181)[1:]]
    rows: dict[str, list] = {
        key: [] for key in ("stable_rank", "turned", "predicted", "lost", "switch", "sliding", "own_on")
    }
    zero, zero_pairs, f3, slope, slack = None, None, [], [], []
    for kappa in kappas:
        of = problem(kappa, seed)
        at = setting(of)
        shift = 2.0 * float(np.log(at.scale))  # log s - log t
        sol = solve(of, rf.Flow(rtol=rtol), log_t1=float(decades * ten - shift))
        run = path(sol, 0)
        w = _weights(sol, at, log_s - shift)
        rows["stable_rank"].append([1.0 + excess_rank(w[:, at.sign == j]) for j in CLASSES.values()])
        if zero is None:
            if kappa != 0:
                raise ValueError(f"`kappas` must start with 0, which predicts the rest, got {kappa}.")
            # On a grid of its own: between the run's frames rho is no straight line in log s.
            fine = np.r_[np.linspace(-3.0, 25.0, 1121), np.linspace(25.0, decades * ten, 401)[1:]]
            zero = (fine, coefficients(at, _weights(sol, at, fine - shift)))
            goal = limits(at)
            for j in CLASSES.values():
                f3.append(1.0 + float(excess_rank(goal[j])))
                found, allowed, _ = limit_rank(run, run.of_class(j))
                slope.append(found)
                slack.append(allowed)
        own = at.own[sol.events.neuron, np.maximum(sol.events.datum, 0)]
        began = at.started[sol.events.neuron, np.maximum(sol.events.datum, 0)]
        on = np.isin(sol.events.kind, ("on", "release_on")) & own & ~began
        times = np.full(at.own.shape, np.nan)
        for when, r, i in zip(sol.events.log_t[on], sol.events.neuron[on], sol.events.datum[on], strict=True):
            times[r, i] = np.fmin(times[r, i], when + shift)
        pairs = zero_pairs if zero_pairs is not None else at.own & ~at.started
        zero_pairs = pairs
        rows["turned"].append(times[pairs])
        rows["predicted"].append(turn_on(at, *zero)[pairs])
        rows["lost"].append(int(np.sum(np.isin(sol.events.kind, ("off", "slide", "release_off")) & began)))
        rows["switch"].append(run.log_pattern)
        rows["sliding"].append(int(sol.sliding_at(log_t=float(sol.log_t[-1])).sum()))
        rows["own_on"].append(float(np.mean(run.bits[at.own] > 0)))
    columns: dict = {
        "stable_rank": (("kappa", "side", "moment"), np.array(rows.pop("stable_rank"))),
        **{key: (("kappa", "pair"), np.array(rows.pop(key))) for key in ("turned", "predicted")},
        **{key: ("kappa", np.array(value)) for key, value in rows.items()},
        "f3": ("side", f3),
        "slope_rank": ("side", slope),
        "slope_slack": ("side", slack),
        "beta": setting(problem(0.0, seed)).beta,
        "unit": setting(problem(0.0, seed)).unit,
        "m": m,
        "n": n,
        "rtol": rtol,
    }
    coords = {"kappa": list(kappas), "side": list(CLASSES), "log_s": ("moment", log_s)}
    return xr.Dataset(columns, coords=coords)


def _weights(sol, at, log_t) -> np.ndarray:
    """W in the paper's units at these times, those after the end taken as the end."""
    states = sol.at(log_t=np.minimum(log_t, sol.log_t[-1]))
    return np.array([at.scale * p.w * np.exp(p.log_scales[0])[:, None] for p in states])


def turn_on(at, log_s, rho) -> np.ndarray:
    """log s when each pair that starts off is on, with the rho of kappa = 0; NaN where it is not in time, (2m, n)."""
    off = (at.gram - np.diag(at.norm2)) / at.norm2
    z = at.z0 + np.einsum("frk,ki->fri", rho, off)
    times = np.full(at.z0.shape, np.nan)
    for r, i in zip(*np.nonzero(at.z0 < 0), strict=True):
        k = int(np.argmax(z[:, r, i] > 0))
        if k > 0 and np.isfinite(log_s[k - 1]):
            share = -z[k - 1, r, i] / (z[k, r, i] - z[k - 1, r, i])
            times[r, i] = log_s[k - 1] + share * (log_s[k] - log_s[k - 1])
    return times


def _first(values) -> float:
    return float(np.nanmin(values)) if np.any(np.isfinite(values)) else np.nan


def approach(ds, side: str, part: float = 1.0) -> float:
    """(SR - limit) log s at kappa = 0, at `part` of the last log s."""
    k = int(np.argmin(np.abs(ds.log_s.values - part * float(ds.log_s[-1]))))
    return float((ds.stable_rank.isel(kappa=0).sel(side=side)[k] - ds.f3.sel(side=side)) * ds.log_s[k])


def facts(ds) -> list[Claim]:
    r"""kappa = 0: pairs of the other class that start on fall at rate |l'| per unit of tau = s R^2/(nm), from at most
    beta, 1/|l'| = 1 + e^M and M <= 2 beta till then: all are off by beta (1 + e^{2 beta}). SR is a series in 1/log s,
    so (SR - limit) log s is constant to its next term, which doubling log s halves: its change is half of that from a
    quarter to a half of log s, 3/4 with room for the term after it (an approach like (log s)^-1/2 changes by as much).
    kappa > 0: own-class pairs once on stay on (Lemma 5.8); the first to be turned on comes when first order in kappa
    says, to a share kappa of log s."""
    zero, more = ds.isel(kappa=0), ds.isel(kappa=slice(1, None))
    tau = float(np.exp(zero.switch) * ds.unit)
    beta = float(ds.beta)
    claims = []
    for side in CLASSES:
        text = f"kappa = 0: stable rank of dW{side}/d log s at the end against that of A{side}, from W(0)"
        one = ds.sel(side=side)
        claims.append(Claim(text, one.slope_rank, "=", one.f3, slack=float(one.slope_slack), kind="limit"))
        last, half, quarter = (approach(ds, side, p) for p in (1.0, 0.5, 0.25))
        text = f"kappa = 0: (SR(W{side}) - limit) log s at the end over that at the square root of the time"
        claims.append(Claim(text, last / half, "=", 1.0, slack=0.75 * abs(half / quarter - 1.0), kind="limit"))
    claims += [
        Claim("kappa = 0: last change of a bit, tau", tau, "<=", beta * (1 + np.exp(2 * beta))),
        Claim("kappa = 0: pairs sliding at the end", int(zero.sliding), "=", 0),
        Claim("own-class pairs that started on and went off, all kappa", int(ds.lost.sum()), "=", 0),
        Claim("kappa > 0: pairs sliding at the end, fewest", int(more.sliding.min()), ">=", 1),
        Claim(
            "kappa > 0: stable rank at the end over the limit for kappa = 0, largest of both classes",
            float((more.stable_rank.isel(moment=-1) / ds.f3).max()),
            "<",
            1.0,
        ),
    ]
    small = more.sel(kappa=more.kappa <= 0.0101)
    for kappa in small.kappa.values:
        one = small.sel(kappa=kappa)
        text = f"kappa = {kappa:g}: first own-class pair turned on, log s, against first order in kappa"
        goal = _first(one.predicted)
        claims.append(Claim(text, _first(one.turned), "=", goal, slack=float(kappa) * goal))
    return claims


def draw(ds):
    fig = look.figure(look.PAGE, 2.9)
    left, middle, right = fig.subplots(1, 3, width_ratios=[1.5, 1, 1])
    ten = np.log(10.0)
    x, end = ds.log_s.values / ten, float(ds.log_s[-1]) / ten
    colours = [look.THEORY, *look.sequence(ds.sizes["kappa"])[1:]]
    for k, colour in enumerate(colours):
        rank = ds.stable_rank.isel(kappa=k).sel(side="+").values
        left.plot(x, rank, color=colour, zorder=3 if k == 0 else 2)
        first = _first(ds.turned[k]) / ten
        if np.isfinite(first):
            left.plot([first], [np.interp(first, x, rank)], "o", color=colour, ms=4, zorder=4)
        text = "κ = 0" if k == 0 else f"{float(ds.kappa[k]):g}"
        look.beside(left, end, rank[-1], text, colour, dx=4, fontsize=7)
    left.plot([end], [float(ds.f3.sel(side="+"))], "<", color=look.PURPLE, ms=4.5, zorder=5, clip_on=False)
    level = float(ds.f3.sel(side="+"))
    look.beside(left, 0.97 * end, level, f"κ = 0: limit from W(0), {level:.4f}", look.PURPLE, dy=8, dx=0, ha="right")
    shown = ds.stable_rank.sel(side="+").values[:, x >= 3]
    low, high = float(shown.min()), float(shown.max())
    left.set(xlim=(0, end), ylim=(low - 0.08 * (high - low), high + 0.12 * (high - low)))
    left.set(xlabel="$\\log_{10}$ t", ylabel="stable rank of $W_+$")
    words = dict(fontsize=6.5, color=look.FAINT, va="top", ha="center", transform=left.transAxes)
    left.text(0.5, 0.88, "dots: the first own datum\nof a neuron is turned on", **words)
    look.letter(left, "a", "stable rank, one start, five κ")

    for side, colour in (("+", look.PLUS), ("-", look.MINUS)):
        gap = np.abs(ds.stable_rank.isel(kappa=0).sel(side=side) - ds.f3.sel(side=side)).values
        here = x >= 2
        middle.plot(ds.log_s.values[here], gap[here], color=colour)
        look.beside(middle, float(ds.log_s[-1]), gap[-1], f"$W_{side}$", colour, dx=3, dy=5 if side == "+" else -5)
    here = x >= 8
    gap = np.abs(ds.stable_rank.isel(kappa=0) - ds.f3).max("side").values
    middle.plot(
        ds.log_s.values[here], 2.0 * gap[-1] * float(ds.log_s[-1]) / ds.log_s.values[here], "--", color=look.THEORY
    )
    i = int(np.argmax(x >= 12))
    look.beside(
        middle, float(ds.log_s[i]), 2.0 * gap[-1] * end * ten / float(ds.log_s[i]), "1/log t", look.THEORY, dx=4, dy=6
    )
    middle.set(xscale="log", yscale="log", xlabel="log t", ylabel="|stable rank − limit|")
    look.letter(middle, "b", "κ = 0: like 1/log t")

    top = float(ds.log_s[-1])
    right.plot([3, top], [3, top], color=look.THEORY, lw=1.0)
    for k, colour in enumerate(colours[1:], start=1):
        right.plot(ds.predicted[k], ds.turned[k], ".", color=colour, ms=4, mew=0, alpha=0.8)
    right.set(xscale="log", yscale="log", xlim=(3, top), ylim=(3, top))
    right.set(xlabel="predicted log t, first order in κ", ylabel="log t in the run")
    look.letter(right, "c", "κ > 0: own data turn on")
    return fig


def caption(ds) -> str:
    ends = ds.stable_rank.isel(moment=-1)
    limit = ds.f3.values
    smallest, own = float(ds.kappa[1]), 100 * ds.own_on.values[1:]
    return f"""Stable rank of the first layer, {int(ds.m)} ReLU neurons a class, {int(ds.n)} data, one start for all
    kappa (Kou et al.'s setting, mean logistic loss), by the flow to t = 1e{float(ds.log_s[-1]) / np.log(10):.0f} (rtol
    {float(ds.rtol):g}; boundaries are slid along, not stepped over). kappa = 0: the limits {limit[0]:.4f} and
    {limit[1]:.4f} are computed from W(0) alone, not 2 as announced for n = infinity, and approached as 1/log t (b;
    where W+ crosses its limit the curve dips): at the end {float(ends[0, 0]):.4f} and {float(ends[0, 1]):.4f}. kappa >
    0: the same start goes elsewhere. Own-class data that a neuron does not see at first are turned on by their
    neighbours one after another (kinks in a; dots: the first; c: all of them), a pair at distance |z| from its boundary
    when log t ~ |z|/kappa: the first when first order in kappa says from W(0), later ones near it (c). At the end
    {own[0]:.0f} to {own.max():.0f} % of own-class pairs are on, other-class pairs slide for good ({int(ds.sliding[1])}
    at kappa = {smallest:g}), and the rank is below the limit of orthogonal data, down to {float(ends[1:].min()):.3f}.
    To cite: the stable rank of Lemma F.3 belongs to exactly orthogonal data; at any kappa > 0 the network leaves it, by
    steps at log t ~ 1/kappa that no descent lives to see when kappa is small."""
