"""Theorem 1 of [MMV24] at its own scale: one run from alignment, at eps = e^-9180, to t = 1e100.

The theorem asks for eps <= min(eps_A, eps_B) of (28), here e^-9179: no float holds such weights, and no run in plain
coordinates starts there. The flow keeps unit directions and log norms, so that it does. Sum exponential loss,
balanced start, the constants of `min2024._constants`.
"""

from itertools import combinations

import numpy as np

import reluflow as rf
from reluflow import observe
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.papers.kou2023._measure import to_limit
from reluflow.papers.min2024._standard import own_scale
from reluflow.plot import look

SETTINGS = {
    "quick": dict(n=7, d=6, mu=0.39, data_seed=1, width=20, seed=0, decades=100, rtol=1e-10),
    "full": dict(n=12, d=10, mu=0.55, data_seed=2, width=100, seed=2, decades=100, rtol=1e-12),
}
SIDES = {"+": 1.0, "-": -1.0}
BEND = 5.0  # log10 t above which the axis of time runs SLOWER times as fast
SLOWER = 24.0


def compute(*, n, d, mu, data_seed, width, seed, decades, rtol):
    import xarray as xr

    from reluflow.papers.min2024 import _late
    from reluflow.papers.min2024._run import as_run

    points = rf.data.orthogonally_separable(n, d, mu, seed=data_seed)
    init = rf.init.balanced(width, d, log_scale=own_scale(points, width, seed), seed=seed)
    problem = rf.Problem(points, init, loss="exponential", reduction="sum")
    sol = solve(problem, rf.Flow(rtol=rtol), log_t1=float(decades * np.log(10.0)))
    run = as_run(sol)
    c, t2 = run.c, [run.t2[s] for s in SIDES.values()]
    log_t = np.log(
        np.unique(
            np.r_[
                np.geomspace(1e-2, 1e5, 280),
                np.linspace(0.95 * min(t2), 1.1 * max(t2), 240),
                c.t1,
                c.T,
                t2,
                np.geomspace(1e5, float(10.0**decades), 2 * int(decades) - 9)[1:],
            ]
        )
    )
    log_t[-1] = sol.log_t[-1]
    seen = observe._view.view(sol, None, log_t)
    sums = {s: points.x[points.y == s].sum(axis=0) for s in SIDES.values()}
    axes = np.stack([sums[s] / np.linalg.norm(sums[s]) for s in run.sign])
    margins = [margin(points.x[points.y == s]) for s in SIDES.values()]
    z = points.y * sol.outputs_at(log_t=log_t)
    found = {
        "cosine": (("moment", "neuron"), np.einsum("fmd,md->fm", seen.unit, axes)),
        "log_norm": (("moment", "neuron"), seen.log_norm),
        "stable_rank": ("moment", observe.stable_rank(sol, log_t=log_t).values),
        "log_loss": ("moment", np.logaddexp.reduce(-z, axis=1)),
        "side_log_loss": (
            ("side", "moment"),
            np.stack([np.logaddexp.reduce(-z[:, points.y == s], axis=1) for s in SIDES.values()]),
        ),
        "log_square": (
            ("side", "moment"),
            np.stack([np.logaddexp.reduce(2 * seen.log_norm[:, run.group(s)], axis=1) for s in SIDES.values()]),
        ),
        "arrival": ("neuron", run.arrival),
        "sign": ("neuron", run.sign),
        "alive": ("neuron", np.array([end == "own" for end in run.ends]).astype(int)),
        "started": ("neuron", np.any((sol.initial_bits >= 1) & (run.sign[:, None] == points.y), axis=1).astype(int)),
        "t2": ("side", t2),
        "t2_bound": ("side", [_late.t2_bound(run, s, c.t1) for s in SIDES.values()]),
        "pull": ("side", [float(np.linalg.norm(sums[s])) for s in SIDES.values()]),
        "margin": ("side", [g for g, _ in margins]),
        "cosine_limit": float(margins[0][1] @ margins[1][1]),
        "crossings": sol.stats.events,
        "steps": sol.stats.steps,
        "h": c.h,
        **{name: getattr(c, name) for name in ("log_eps", "log_eps_a", "log_eps_b", "T", "t1", "t1_sharp", "alpha")},
        **{name: getattr(c, name) for name in ("log_w_max", "log_w_min")},
        **{name: getattr(c.geo, name) for name in ("mu", "x_max", "x_min", "n")},
        "rtol": rtol,
    }
    return xr.Dataset(found, coords={"log_t": ("moment", log_t), "side": list(SIDES)})


def margin(x) -> tuple[float, np.ndarray]:
    """max over unit e of min_i <e, x_i>, and that e, by trying every set of data at the margin; e in their cone."""
    for k in range(1, len(x) + 1):
        for chosen in map(list, combinations(range(len(x)), k)):
            gram = x[chosen] @ x[chosen].T
            if np.linalg.cond(gram) > 1e12:
                continue
            b = np.linalg.solve(gram, np.ones(k))
            w = b @ x[chosen]
            if np.all(b >= 0) and np.all(x @ w >= 1 - 1e-10):
                return 1.0 / float(np.linalg.norm(w)), w / np.linalg.norm(w)
    raise ValueError("The class must lie in an open half-space, got data that do not: mu > 0 implies that it does.")


def rank_limit(ds) -> float:
    """2 (a + b)/(a + b + sqrt((a - b)^2 + 4 a b c^2)), a = 1/gamma_+, b = 1/gamma_-: from the data alone [+].

    Each group tends to the max-margin direction of its class and both margins are log t to leading order, so that the
    squared norms are as 1/gamma.
    """
    a, b = 1.0 / ds.margin.values
    c = float(ds.cosine_limit)
    return float(2 * (a + b) / (a + b + np.sqrt((a - b) ** 2 + 4 * a * b * c**2)))


def log_rate_bound(ds) -> np.ndarray:
    """log of L(t2)/(1 + L(t2) alpha (t - t2)) at all moments; NaN before t2."""
    t2, log_t = float(ds.t2.max()), ds.log_t.values
    start = int(np.argmin(np.abs(log_t - np.log(t2))))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_rest = log_t + np.log1p(-np.exp(np.log(t2) - log_t))
        found = -np.logaddexp(-float(ds.log_loss[start]), np.log(float(ds.alpha)) + log_rest)
    return np.where(np.arange(len(log_t)) >= start, found, np.nan)


def log_tail(ds) -> np.ndarray:
    """log of sum over classes of 1/(2 gamma t log t): what L tends to [+]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_log = np.log(ds.log_t.values)
    return np.log(np.sum(0.5 / ds.margin.values)) - ds.log_t.values - log_log


def facts(ds) -> list[Claim]:
    r"""Theorem 1 as corrected, and three sharper statements [+].

    Escape: |w_j| = eps A_j e^{|x_+-| t} with A_j between (1/2) Wmin e^{-(n Xmax + |x_+-|) t_a} and
    Wmax e^{n Xmax t_a}, t_a the observed alignment (before it any active set may pull), and the squared norms of a
    group at t2 between 1/(4 Xmax) and 1/(sqrt(mu) Xmin): so |t2 |x| - log(1/eps)| is at most the slack below.

    Tail: per class the subnet is linear and M' = 2 gamma M L, M = gamma times its squared norm, hence
    L t = e^-M Ei(M)/(2 gamma). The direction is off by O(M^-1/2) (see `to_end`), which counts squared: slack 1/M.
    """
    from scipy.special import expi

    log_t = ds.log_t.values
    h, log_eps, T, t1 = (float(ds[k]) for k in ("h", "log_eps", "T", "t1"))
    last, t2 = float(ds.arrival.max()), ds.t2
    early = log_t <= np.log(T) + 1e-12
    late = log_t > np.log(float(t2.max())) + 1e-9
    lemma3 = log_eps + 2 * float(ds.log_w_max) - 0.5 * np.log(h)
    lost = int(np.sum((ds.started == 1) & (ds.alive == 0)))
    claims = [
        Claim("eps against (28): log eps", log_eps, "<=", min(float(ds.log_eps_a), float(ds.log_eps_b)), log=True),
        Claim("last neuron in S+, S- or dead, against t1", last, "<=", t1),
        Claim("the same, against the sharper t1' = m atanh(sqrt(1-m)) t1", last, "<=", float(ds.t1_sharp)),
        Claim("neurons active on their own class at the start that are lost", lost, "=", 0),
        Claim(
            "largest |w_j|^2 up to T against eps Wmax^2/sqrt(h) (Lemma 3)",
            2 * float(ds.log_norm.values[early].max()),
            "<=",
            lemma3,
            log=True,
        ),
        Claim("the earlier t2 against T", float(t2.min()), ">=", T),
        *(Claim(f"t2{s} against (39)", float(t2.sel(side=s)), "<=", float(ds.t2_bound.sel(side=s))) for s in SIDES),
    ]
    for s in SIDES:
        x = float(ds.pull.sel(side=s))
        spread = (float(ds.n) * float(ds.x_max) + x) * last + np.log(2.0) + 0.5 * np.log(4 * h)
        spread += max(abs(float(ds.log_w_max)), abs(float(ds.log_w_min)))
        spread += 0.5 * abs(np.log(np.sqrt(float(ds.mu)) * float(ds.x_min))) + 0.5 * abs(np.log(float(ds.x_max)))
        text = f"escape: t2{s} against log(1/eps)/|x{s}|"
        claims.append(Claim(text, float(t2.sel(side=s)), "=", -log_eps / x, slack=spread / x))
    gap = (ds.log_loss.values - log_rate_bound(ds))[late]
    claims.append(Claim("log of L over L(t2)/(1 + L(t2) alpha (t-t2)), largest", float(gap.max()), "<=", 0.0))
    for s in SIDES:
        one = ds.sel(side=s).isel(moment=-1)
        m = float(one.margin * np.exp(one.log_square))
        ratio = float(np.exp(one.side_log_loss + one.log_t) * 2 * one.margin * np.exp(m) / expi(m))
        text = f"tail: L{s} t over e^-M Ei(M)/(2 gamma{s}) at the end"
        claims.append(Claim(text, ratio, "=", 1.0, slack=1 / m, kind="limit"))
    rank = ds.stable_rank.values
    claims.append(Claim("stable rank after t2, largest", float(rank[late].max()), "<=", 2.0))
    found, slack = to_end(log_t, rank)
    text = "stable rank as t -> infinity, from the data alone"
    claims.append(Claim(text, found, "=", rank_limit(ds), slack=slack, kind="limit", note=f"{rank[-1]:.6g} at the end"))
    return claims


def to_end(log_t, values) -> tuple[float, float]:
    """Values at the end and at a half and a quarter of its log t, as a parabola in (log t)^-1/2 at 0, and how far that
    is from the line through the last two: the order left out is smaller where this is worth doing.

    Why this power: what of w_j is orthogonal to the data at the margin stops moving, while |w_j| grows as sqrt(log t).
    """
    at = [int(np.argmin(np.abs(log_t - log_t[-1] / k))) for k in (4, 2, 1)]
    best, slack = to_limit(log_t[at] ** -0.5, values[at])
    return float(best), float(slack)


# Drawing --------------------------------------------------------------------------------------------------------------


def _bent(x):
    """log10 t as drawn: as it is up to BEND, then SLOWER."""
    x = np.asarray(x, float)
    return np.where(x <= BEND, x, BEND + (x - BEND) / SLOWER)


def draw(ds):
    fig = look.figure(look.PAGE, 5.6)
    rows = fig.subplots(4, 1, sharex=True, height_ratios=[1, 1, 1.5, 1])
    ten = np.log(10.0)
    x = ds.log_t.values / ten
    end = float(np.round(x[-1]))
    at = lambda t: float(_bent(np.log10(t)))
    aligned, first, last = float(ds.arrival.max()), float(ds.t2.min()), float(ds.t2.max())
    low = at(np.exp(ds.log_t.values[0]))
    edges = [low, at(aligned), at(first), at(last), float(_bent(end))]
    for ax in rows:
        ax.axvspan(edges[0], edges[1], color="#f3ead2", lw=0, zorder=0)
        ax.axvspan(edges[2], edges[3], color="#f3ead2", lw=0, zorder=0)
        ax.axvline(float(_bent(BEND)), color=look.FAINT, lw=0.6, ls=(0, (1, 3)), zorder=0)
        for t in (float(ds.t1), float(ds.t2_bound.max())):
            ax.axvline(at(t), color=look.THEORY, lw=1.0, ls="--", zorder=1)
    named = (
        (0.5 * (edges[0] + edges[1]), "alignment"),
        (0.5 * (edges[1] + edges[2]), "aligned, tiny, growing"),
        (0.5 * (edges[2] + edges[3]), "saddle"),
        (0.5 * (edges[3] + edges[4]) + 0.25, "fitted: the tail"),
    )
    stated = ((at(float(ds.t1)), "$t_1 = T$"), (at(float(ds.t2_bound.max())), "(39): $t_2$ at most"))
    for texts, above, size, colour in ((named, 11, 7.5, look.FAINT), (stated, 1, 7, look.THEORY)):
        for where, text in texts:
            rows[0].annotate(
                text,
                (where, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, above),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=size,
                color=colour,
            )
    bent = _bent(x)
    for j in range(ds.sizes["neuron"]):
        alive = bool(ds.alive[j])
        colour = look.sign_colours(ds.sign.values)[j] if alive else look.FAINT
        style = dict(color=colour, lw=0.8, alpha=0.85 if alive else 0.6, zorder=3 if alive else 2)
        rows[0].plot(bent, ds.cosine[:, j], **style)
        rows[1].plot(bent, ds.log_norm[:, j] / ten, **style)
    rows[0].set(ylim=(-1.05, 1.08), yticks=[-1, 0, 1], ylabel="cosine to\nits class")
    look.corner(rows[0], "V+", "lower right", look.PLUS)
    rows[0].text(0.94, 0.04, "V−", transform=rows[0].transAxes, color=look.MINUS, fontsize=7, ha="right", va="bottom")
    if not np.all(ds.alive):
        rows[0].text(
            0.9, 0.04, "dead", transform=rows[0].transAxes, color=look.FAINT, fontsize=7, ha="right", va="bottom"
        )
    bound = 0.5 * (float(ds.log_eps) + 2 * float(ds.log_w_max) - 0.5 * np.log(float(ds.h))) / ten
    rows[1].plot([low, at(float(ds["T"]))], [bound, bound], color=look.THEORY)
    look.beside(rows[1], low, bound, "Lemma 3, up to T", look.THEORY, dx=4, dy=6)
    rows[1].set(ylabel="$\\log_{10}|w_j|$")
    level = lambda logs: (logs + ds.log_t.values) / ten
    limit, tail = level(log_rate_bound(ds)), x >= 6
    rows[2].plot(bent, limit, color=look.THEORY)
    rows[2].plot(bent, level(ds.log_loss.values), color=look.INK)
    rows[2].plot(bent[tail], level(log_tail(ds))[tail], "--", color=look.PURPLE, lw=1.6, zorder=4)
    k = int(np.argmin(np.abs(x - 0.6 * end)))
    look.beside(
        rows[2], bent[k], limit[k], "theorem: $L(t_2)/(1+L(t_2)\\alpha(t-t_2))$", look.THEORY, dx=0, dy=7, ha="center"
    )
    look.beside(
        rows[2],
        bent[k],
        level(log_tail(ds))[k],
        "limit: $(1/\\gamma_+ + 1/\\gamma_-)/(2t \\log t)$",
        look.PURPLE,
        dx=8,
        dy=9,
        ha="center",
    )
    rows[2].set(ylabel="$\\log_{10}$ (t × loss)", ylim=(-3.2, 5.4))
    small = rows[2].inset_axes([0.175, 0.13, 0.215, 0.28])
    t = np.exp(np.minimum(ds.log_t.values, 40.0))
    near = (t > 0.96 * first) & (t < 1.05 * last)
    small.plot(t[near], np.exp(ds.log_loss.values[near]), color=look.INK, lw=1.1)
    small.set(ylim=(0, 1.1 * float(ds.n)), xlim=(0.96 * first, 1.05 * last))
    small.tick_params(labelsize=6, pad=1.5, length=2)
    small.set_title("the loss itself, about $t_2^\\pm$", fontsize=6.5, pad=2, loc="right")
    small.locator_params(nbins=4)
    rows[3].plot(bent, ds.stable_rank, color=look.INK)
    rows[3].plot([edges[3], edges[4]], [2, 2], color=look.THEORY)
    look.beside(rows[3], edges[4], 2, "theorem: limsup at most 2", look.THEORY, dx=-4, dy=6, ha="right")
    rows[3].plot([edges[4]], [rank_limit(ds)], "<", color=look.PURPLE, ms=5, clip_on=False)
    look.beside(rows[3], edges[4], rank_limit(ds), f"limit {rank_limit(ds):.4f}", look.PURPLE, dx=-8, dy=6, ha="right")
    rows[3].set(ylim=(0.8, max(2.6, 1.06 * float(ds.stable_rank.max()))), ylabel="stable rank")
    ticks = [-2, -1, 0, 1, 2, 3, 4, 5, *np.arange(20, end + 1, 20)]
    rows[3].set_xticks([float(_bent(v)) for v in ticks], [f"$10^{{{int(v)}}}$" for v in ticks])
    rows[3].set(xlim=(low, float(_bent(end))), xlabel="time t (the axis runs slower from the dotted line on)")
    for name, ax in zip("abcd", rows, strict=True):
        ax.text(-0.085, 1.0, name, transform=ax.transAxes, fontsize=8.5, fontweight="bold", va="top", ha="right")
    return fig


def caption(ds) -> str:
    one = ds.isel(moment=-1)
    return f"""One gradient flow of {int(ds.h)} neurons on {int(ds.n)} data (mu = {float(ds.mu):.2f}, sum exponential
    loss) from the scale that Theorem 1 of Min et al. asks for, eps = e^{float(ds.log_eps):.0f}, to t =
    1e{float(ds.log_t[-1]) / np.log(10):.0f}: every hypothesis holds, nothing is extrapolated. Events are located and
    the early phase is in closed form (rtol {float(ds.rtol):g}; {int(ds.crossings)} crossings, {int(ds.steps)} steps in
    all). (a) All neurons are in their cone or dead at t = {float(ds.arrival.max()):.3f}, against the theorem's t1 =
    {float(ds.t1):.0f} (sharper t1' = {float(ds.t1_sharp):.0f}); (b) they then grow for thousands of units of time, out
    of e^{float(ds.log_eps):.0f}; (c) the loss falls twice (inset), at t2 = {float(ds.t2.min()):.1f} and
    {float(ds.t2.max()):.1f}, which is log(1/eps)/|x+-| to {_worst_escape(ds):.1g}, where the theorem has [T, (39)] =
    [{float(ds["T"]):.0f}, {float(ds.t2_bound.max()):.2g}], and then like 1/(2 gamma t log t) summed over the classes,
    below the theorem's 1/(alpha t) by {float(np.exp(-np.log(ds.alpha) - one.log_t - one.log_loss)):.2g} at the end;
    (d) the stable rank ends at {float(one.stable_rank):.4f}, bound 2, limit {rank_limit(ds):.4f} by the two max-margin
    directions alone. To cite: the theorem's picture is right in every part at the scale it is stated for, its alignment
    time is loose by {float(ds.t1 / ds.arrival.max()):.0f}, and its 1/t is in truth 1/(t log t)."""


def _worst_escape(ds) -> float:
    return float(np.max(np.abs(ds.t2 * ds.pull / -ds.log_eps - 1.0)))
