"""Saddles without Assumption 3 of [BPF22]: narrow networks fit labels in groups, in an order found by sorting.

Handbook 4.6, orthonormal inputs: with P_j the labels of neuron j's sign that it starts active on and R the labels not
yet fitted, neuron j grows at rate |D_{P_j n R}|; the first to arrive fits the group P_j n R, and so on. Assumption 3
makes the two classes the only groups; it holds for wide networks alone.
"""

from math import comb

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.plot import look

LABELS = [1.3, 0.8, -0.6, -0.9, 1.1]
SETTINGS = {
    "quick": dict(
        labels=LABELS, width=10, seeds=6, decades=60, log_scale=-1e4, widths=[2, 4, 8, 16, 32, 64, 128], draws=1000
    ),
    "full": dict(
        labels=LABELS,
        width=10,
        seeds=60,
        decades=60,
        log_scale=-1e4,
        widths=[2, 4, 8, 16, 32, 64, 128, 256],
        draws=4000,
    ),
}
RTOL = 1e-9
SHOWN = 6


def compute(*, labels, width, seeds, decades, log_scale, widths, draws):
    import xarray as xr

    data = rf.data.orthonormal(len(labels), labels=labels)
    scales = [-decades * float(np.log(10.0)), float(log_scale)]
    runs = [_draw(data, width, seed, scales) for seed in range(seeds)]
    ds = xr.concat(runs, dim="draw")
    ds = ds.assign_coords(draw=np.arange(seeds), log_scale=scales)
    shares = [_shares(data, m, draws) for m in widths]
    for name in shares[0]:
        ds[name] = ("width", [s[name] for s in shares])
    return ds.assign_coords(width=list(widths), label=list(labels), draws=draws)


def _draw(data, width, seed, scales):
    """One start at two scales: what 4.6 predicts, and what the flow does."""
    import xarray as xr

    start = rf.init.balanced(width, data.d, seed=seed)
    clock, rate = course(data.y, starts(data, start))
    fitted = np.isfinite(clock)
    times = np.unique(clock[fitted])
    norm = 2 * sum(float(np.linalg.norm(data.y[clock == T])) for T in times)
    edges = np.concatenate([[0.0], times, [1.25 * times[-1]]])
    middle = 0.5 * (edges[1:] + edges[:-1])  # a moment at each saddle, and one at the end
    level = [float(np.sum(data.y[clock > T] ** 2)) / (2 * data.n) for T in edges[:-1]]
    grid = np.linspace(0.0, 1.0, 801)
    kept: dict[str, list] = {name: [] for name in ("time", "loss", "half", "off", "end", "norm")}
    for log_scale in scales:
        ell = -log_scale
        problem = rf.Problem(data, rf.init.balanced(width, data.d, log_scale=log_scale, seed=seed))
        sol = solve(problem, rf.Flow(rtol=RTOL), t1=1.25 * times[-1] * ell)
        kept["time"].append(grid * 1.25 * times[-1])
        kept["loss"].append(sol.loss_at(np.minimum(grid * 1.25 * times[-1] * ell, sol.t[-1])))  # it may rest earlier
        kept["half"].append(_halves(sol, data.y) / ell)
        kept["off"].append(float(np.max(np.abs(sol.loss_at(np.minimum(middle * ell, sol.t[-1])) - level))))
        kept["end"].append(float(sol.loss[-1]))
        kept["norm"].append(float(np.sum(np.exp(2 * sol.log_norm[-1])) * 2))
    arrays: dict = {name: (("log_scale", "point"), kept[name]) for name in ("time", "loss")}
    arrays |= {"half": (("log_scale", "datum"), kept["half"])}
    arrays |= {name: (("log_scale",), kept[name]) for name in ("off", "end", "norm")}
    arrays |= {"clock": ("datum", clock), "rate": ("datum", rate), "norm_predicted": ((), norm)}
    arrays |= {"end_predicted": ((), level[-1]), "groups": ((), len(times))}
    return xr.Dataset(arrays)


def starts(data, params) -> np.ndarray:
    """P_j: labels of the neuron's sign on which it starts active, (m, n)."""
    return (params.w @ data.x.T > 0) & (np.sign(params.a)[:, None] * data.y > 0)


def course(y: np.ndarray, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """When each label is fitted, in units of ell = log(1/scale) (inf: never), and at what rate: handbook 4.6."""
    exponent, left = -np.ones(len(P)), np.ones(len(y), bool)
    clock, rate, now = np.full(len(y), np.inf), np.full(len(y), np.nan), 0.0
    while True:
        speed = np.sqrt(np.sum((P & left) * y**2, axis=1)) / len(y)
        if not np.any(speed > 0):
            return clock, rate
        wait = np.full(len(P), np.inf)
        wait[speed > 0] = -exponent[speed > 0] / speed[speed > 0]
        first = int(np.argmin(wait))
        now += wait[first]
        exponent = np.minimum(exponent + speed * wait[first], 0.0)
        group = P[first] & left
        clock[group], rate[group] = now, speed[first]
        left &= ~group


def _halves(sol, y) -> np.ndarray:
    """When each output passes half its label; inf where it never does."""
    found = np.full(len(y), np.inf)
    for k in range(len(y)):
        past = np.flatnonzero(sol.outputs[:, k] / y[k] > 0.5)
        if not len(past) or not past[0]:
            continue
        low, high = sol.t[past[0] - 1], sol.t[past[0]]
        for _ in range(50):
            t = 0.5 * (low + high)
            low, high = (low, t) if sol.outputs_at([t])[0, k] / y[k] > 0.5 else (t, high)
        found[k] = high
    return found


def _shares(data, m: int, draws: int) -> dict[str, float]:
    """Over many starts of width m: how often Assumption 3 holds, every label is covered, and how many saddles there
    are; and the first two by formula."""
    wide = covered = saddles = 0
    plus = data.y > 0
    for seed in range(draws):
        P = starts(data, rf.init.balanced(m, data.d, seed=seed))
        wide += bool(np.any(np.all(P[:, plus], axis=1)) and np.any(np.all(P[:, ~plus], axis=1)))
        covered += bool(np.all(np.any(P, axis=0)))
        clock, _ = course(data.y, P)
        saddles += len(np.unique(clock[np.isfinite(clock)]))
    n_plus, n_minus = int(plus.sum()), int((~plus).sum())
    p, q = 2.0 ** (-n_plus - 1), 2.0 ** (-n_minus - 1)
    both = 1 - (1 - p) ** m - (1 - q) ** m + (1 - p - q) ** m
    # Given k neurons of sign +, each is active on a positive label with chance 1/2.
    chance = [comb(m, k) * (1 - 0.5**k) ** n_plus * (1 - 0.5 ** (m - k)) ** n_minus for k in range(m + 1)]
    return {
        "assumption3": wide / draws,
        "assumption3_formula": both,
        "covered": covered / draws,
        "covered_formula": float(sum(c * 0.5**m for c in chance)),
        "saddles": saddles / draws,
    }


def facts(ds) -> list[Claim]:
    """Times to leading order: at 1e-60 to the handbook's 1.2 %. What is left is O(1), hence O(1/ell) in units of ell:
    the same at both scales up to 100 rtol and what vanishing neurons still carry at 1e-60, seen in |theta|^2.

    At the smaller scale nothing but the integrator is left: losses at the saddles, the last loss and |theta|^2 to
    100 rtol of theirs. At 1e-60 |theta|^2 to four digits. Shares of draws to four standard errors.
    """
    clock = ds.clock.values[:, None, :]
    with np.errstate(invalid="ignore"):
        late = np.where(np.isfinite(clock), ds.half.values / clock - 1.0, np.where(np.isinf(ds.half.values), 0, np.inf))
    late = np.max(np.abs(late), axis=(0, 2))
    gap = np.max(np.abs(ds.norm.values / ds.norm_predicted.values[:, None] - 1.0), axis=0)
    left = np.max(np.abs(ds.end.values - ds.end_predicted.values[:, None]), axis=0)
    ell = -ds.log_scale.values
    start = float(ds.loss[0, 0, 0])
    found = [
        Claim("scale 1e-60: each label's time over that of 4.6, largest deviation", late[0], "<=", 0.012),
        Claim(
            "it falls like 1/ell: deviations times ell at the smaller scale, over those at 1e-60",
            late[1] / late[0] * ell[1] / ell[0],
            "=",
            1.0,
            slack=100 * RTOL * ell[1] + 10 * gap[0],
        ),
        Claim("scale 1e-60: |theta|^2 over 2 n sum |D_G|, largest deviation", gap[0], "<=", 5e-5),
        Claim("smaller scale: |theta|^2 over 2 n sum |D_G|", gap[1], "=", 0.0, slack=100 * RTOL),
        Claim(
            "smaller scale: loss at the predicted saddles",
            float(ds.off[:, 1].max()),
            "=",
            0.0,
            slack=100 * RTOL * start,
        ),
        Claim("loss at the end against labels without a neuron", left[1], "=", 0.0, slack=100 * RTOL * start),
        Claim("draws with a label that is never fitted", int(np.sum(ds.end_predicted > 0)), ">=", 1),
        Claim("draws with more than the two groups of Theorem 1", int(np.sum(ds.groups > 2)), ">=", 1),
    ]
    for name, text in (("assumption3", "Assumption 3 holds"), ("covered", "every label has a neuron")):
        p = ds[name + "_formula"].values
        error = np.sqrt(p * (1 - p) / float(ds.draws))
        worst = float(np.max(np.abs(ds[name].values - p) / error))
        found.append(Claim(f"share of draws in which {text}: standard errors from its formula", worst, "<=", 4))
    return found


def draw(ds):
    fig = look.figure(look.PAGE, 3.3)
    left, right = fig.subfigures(1, 2, width_ratios=[2.6, 1])
    shown = min(SHOWN, ds.sizes["draw"])
    axes = left.subplots(2, -(-shown // 2), sharex=True, sharey=True, squeeze=False)
    for k, ax in enumerate(axes.ravel()[:shown]):
        _staircase(ax, ds.isel(draw=k), ds.label.values)
        look.letter(ax, "abcdef"[k], f"draw {int(ds.draw[k])}")
    for ax in axes[-1]:
        ax.set_xlabel("t / log(1/scale)")
    for ax in axes[:, 0]:
        ax.set_ylabel("loss")
    look.corner(axes[0, 0], "predicted", "upper right", look.THEORY)
    axes[0, 0].text(0.97, 0.84, "flow", transform=axes[0, 0].transAxes, fontsize=7, ha="right", va="top")
    top, low = right.subplots(2, 1, sharex=True)
    width = ds.width.values
    for name, colour, text, dx, dy in (
        ("assumption3", look.PLUS, "Assumption 3", 5, -4),
        ("covered", look.MINUS, "all\nfitted", -25, 9),
    ):
        top.plot(width, ds[name + "_formula"], color=colour, lw=1)
        top.plot(width, ds[name], "o", color=colour, ms=3)
        i = int(np.argmax(ds[name + "_formula"].values > 0.5))
        look.beside(top, width[i], float(ds[name + "_formula"][i]), text, colour, dx=dx, dy=dy)
    top.set(xscale="log", xlim=(1.7, 1.25 * width[-1]), ylim=(-0.04, 1.06), ylabel="share of draws")
    look.letter(top, "g")
    low.plot(width, ds.saddles, "o-", color=look.INK, ms=3)
    low.axhline(2, color=look.FAINT, lw=0.7, ls=":")
    low.set(xlabel="width", ylabel="mean number\nof saddles", xticks=[2, 8, 32, 128], ylim=(0.9, 3.2))
    low.set_xticklabels(["2", "8", "32", "128"])
    low.minorticks_off()
    look.letter(low, "h")
    return fig


def _staircase(ax, one, y) -> None:
    """The loss of one draw at the first scale over the predicted steps, with the labels fitted at each."""
    clock = one.clock.values
    times, last = np.unique(clock[np.isfinite(clock)]), 10.9
    levels = [float(np.sum(y[clock > T] ** 2)) / (2 * len(y)) for T in (0.0, *times)]
    ax.stairs(levels, [0, *times, last], baseline=None, color=look.THEORY, lw=3.2, alpha=0.45)
    time, loss = one.time.values[0], one.loss.values[0]
    ax.plot([*time, last], [*loss, loss[-1]], color=look.INK, lw=1.0)
    for T, high, low in zip(times, levels, levels[1:], strict=False):
        names = ", ".join(f"{v:g}" for v in y[clock == T])
        look.beside(ax, T, high - min(0.5 * (high - low), 0.1), names, look.INK, dx=4, fontsize=6)
    if levels[-1] > 0:
        never = ", ".join(f"{v:g}" for v in y[np.isinf(clock)])
        look.beside(ax, last, levels[-1], f"{never}: never", look.PLUS, dx=0, dy=-3, ha="right", va="top", fontsize=6.5)
    ax.set(xlim=(0, last), ylim=(-0.02, 0.52), xticks=[0, 3, 6, 9])


def caption(ds) -> str:
    many, never = int(np.sum(ds.groups > 2)), int(np.sum(ds.end_predicted > 0))
    labels = ", ".join(f"{v:g}" for v in ds.label.values)
    return f"""Five orthonormal points with labels {labels}, {len(ds.draw)} starts of width 10 at scale 1e-60 (the first
    {min(SHOWN, len(ds.draw))} shown). Theorem 1 of Boursier et al. needs Assumption 3: for each class a neuron that
    starts active on all of it, which takes a width exponential in the size of the class. Without it the flow still has
    a limit: labels are fitted in groups (named beside each fall), one saddle a group, in an order and at times (amber)
    found by sorting growth rates alone. Each label's time is within {100 * _late(ds.isel(log_scale=0)):.1f} % of that
    at this scale, and the difference is O(1), not O(log 1/scale). {many} of {len(ds.draw)} starts have more than two
    groups, hence a norm above the least for what they fit; {never} leave a label unfitted for ever, because no neuron
    of its sign starts active on it: the loss then ends at exactly what those labels weigh, against the paper's remark
    that it should still vanish. Right: how often Assumption 3 holds and how often every label is fitted (dots:
    {int(ds.draws)} starts of each width; lines: formulas), and the mean number of saddles."""


def _late(ds):
    fitted = np.isfinite(ds.clock.values)
    return float(np.max(np.abs(ds.half.values[fitted] / ds.clock.values[fitted] - 1.0)))
