r"""The five points of [BPF22], Figure 4: as the scale goes to 0 the flow ends at a network that is not of minimum norm.

For dual variables nu of the minimum-norm programme, eta(w) = sum_k nu_k relu(<w, x_k>) has |eta| <= 1 on unit vectors,
and any network that fits has

    |theta|^2 - min = 2 sum_j |a_j| |w_j| (1 - s_j eta(w_j / |w_j|)) + sum_j (|a_j| - |w_j|)^2,

every term at least 0: a minimum needs all its neurons where s_j eta = 1. The limit of the flow has one that is not.
"""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.plot import look

SETTINGS = {
    "quick": dict(y3=-0.3, width=60, seeds=3, log_scales=[-11.257, -46.0, -1000.0, -1e4, -1e5], rtol=1e-9),
    "full": dict(y3=-0.3, width=60, seeds=20, log_scales=[-11.257, -46.0, -1000.0, -1e4, -1e5], rtol=1e-10),
}
SPAN = (-2.2, 5.2)


def compute(*, y3, width, seeds, log_scales, rtol):
    import xarray as xr

    data = rf.data.five_points(y3=y3)
    least = rf.bias.min_norm(data)
    norm, loss = (np.full((seeds, len(log_scales)), np.nan) for _ in range(2))
    for seed, k in np.ndindex(norm.shape):
        init = rf.init.balanced(width, data.d, log_scale=log_scales[k], seed=seed)
        sol = solve(rf.Problem(data, init), rf.Flow(rtol=rtol))
        norm[seed, k], loss[seed, k] = 2 * np.sum(np.exp(2 * sol.log_norm[-1])), sol.loss[-1]
        if seed == 0:
            shown = sol  # the last of them, at the smallest scale
    keep = shown.log_norm[-1] > np.log(1e-6)
    sign, unit = np.sign(shown.final.a[keep]), shown.final.w[keep]
    unit /= np.hypot(*unit.T)[:, None]
    size = np.exp(2 * shown.log_norm[-1, keep])  # |a_j| |w_j|
    x, angle = np.linspace(*SPAN, 741), np.linspace(-180.0, 180.0, 1441)
    rows, turns = np.stack([x, np.ones_like(x)], axis=1), np.exp(1j * np.radians(angle))
    other = least.params
    arrays = {
        "norm": (("seed", "log_scale"), norm),
        "loss": (("seed", "log_scale"), loss),
        "least": least.value,
        "lower": least.lower,
        "nu": ("datum", least.nu),
        "function": (("way", "x"), [least(rows), np.maximum(rows @ unit.T, 0.0) @ (sign * size)]),
        "certificate": ("angle", _eta(least.nu, data.x, np.stack([turns.real, turns.imag], axis=1))),
        "eta": ("neuron", _eta(least.nu, data.x, unit)),
        "toward": ("neuron", np.degrees(np.arctan2(unit[:, 1], unit[:, 0]))),
        "kink": ("neuron", -unit[:, 1] / unit[:, 0]),
        "size": ("neuron", size),
        "sign": ("neuron", sign),
        "least_toward": ("few", np.degrees(np.arctan2(other.w[:, 1], other.w[:, 0]))),
        "least_kink": ("few", least.kinks),
        "least_sign": ("few", np.sign(other.a)),
        "norm_path": ("time", 2 * np.sum(np.exp(2 * shown.log_norm), axis=1)),
        "point_x": ("datum", data.x[:, 0]),
        "point_y": ("datum", data.y),
    }
    ell = -float(log_scales[-1])
    coords = dict(way=["least", "limit"], x=x, angle=angle, seed=np.arange(seeds), log_scale=log_scales)
    attrs = {"y3": float(y3), "rtol": float(rtol)}
    return xr.Dataset(arrays, coords=coords | {"time": shown.t / ell}, attrs=attrs)


def _eta(nu, x, w) -> np.ndarray:
    """sum_k nu_k relu(<w, x_k>)."""
    return np.maximum(w @ x.T, 0.0) @ nu


def facts(ds) -> list[Claim]:
    """Handbook E15, section 6 and numerics 5 for y_3 = -0.3; the identity above for any.

    A run is right to 100 rtol, and so is |theta|^2, relative to itself; a loss below (100 rtol)^2 is noise. The
    identity is of networks that fit and of exact nu: its slack is 2 sum |nu_k| |f_k - y_k| and the certificate's gap.
    """
    tol = 100 * ds.attrs["rtol"]
    norm, last = ds.norm.values, float(ds.norm[0, -1])
    tiny = norm[:, ds.log_scale.values <= -46.0]
    loose = (1 - (ds.sign * ds.eta).values) * ds.size.values
    miss = float(np.abs(ds.nu).sum()) * np.sqrt(2 * ds.sizes["datum"] * float(ds.loss[0, -1]))
    least = float(ds.least)
    gap = least - float(ds.lower)
    found = [
        Claim("every run fits, largest loss", float(ds.loss.max()), "<=", tol**2),
        Claim(
            "|theta|^2 at the end, least over starts and scales: above a certified bound",
            norm.min(),
            ">",
            float(ds.least),
        ),
        Claim("the minimum is certified: value minus dual bound, relative", gap / least, "<=", 1e-6),
        Claim(
            "the same limit for all starts and tiny scales, spread of |theta|^2",
            float(np.ptp(tiny)),
            "=",
            0.0,
            slack=2 * tol * last,
        ),
        Claim(
            "excess = 2 sum |a_j| |w_j| (1 - s_j eta)",
            2 * float(loose.sum()),
            "=",
            last - least,
            slack=2 * miss + 2 * gap + tol * last,
        ),
        Claim(
            "a neuron where the certificate is not tight: least s_j eta",
            float((ds.sign * ds.eta).min()),
            "<",
            1 - 2 * miss - gap / least,
        ),
    ]
    if ds.attrs["y3"] == -0.3:
        kinks = np.array(sorted({round(float(k), 3) for k in ds.kink.values}))
        wanted = np.array([-0.417, 0.25, 3.75])
        off = float(np.max(np.abs(kinks - wanted))) if len(kinks) == 3 else np.inf
        found += [
            Claim("minimum of |theta|^2 over networks that fit", float(ds.least), "=", 16.40795, slack=5e-6),
            Claim("limit of |theta|^2", last, "=", 17.2950496085, slack=tol * last),
            Claim("kinks of the limit against -0.417, 0.25, 3.75, to three digits", off, "<=", 0.001),
        ]
    return found


def draw(ds):
    fig = look.figure(look.PAGE, 2.7)
    one, two, three = fig.subfigures(1, 3, width_ratios=[1.1, 1.15, 1])
    _functions(one.subplots(), ds)
    _certificate(two.subplots(), ds)
    top, low = three.subplots(2, 1)
    end = 1.12 * float(ds.time[-1])
    top.plot([*ds.time.values, end], [*ds.norm_path.values, float(ds.norm_path[-1])], color=look.INK)
    top.axhline(float(ds.least), color=look.THEORY, lw=1.2)
    top.set(xlabel="t / log(1/scale)", ylabel="|θ|²", ylim=(0, 21), xlim=(0, end))
    look.beside(top, 0.2, float(ds.least), "least", look.THEORY, dx=3, dy=-6, ha="left")
    look.letter(top, "c", "along the flow")
    for row in (ds.norm - ds.least).values:
        low.plot(-ds.log_scale.values, row, "o-", color=look.INK, ms=3, lw=0.8)
    low.axhline(0, color=look.THEORY, lw=1.2)
    low.set(xscale="log", xlabel="log(1/scale)", ylabel="excess", ylim=(-0.1, 1.15), xlim=(7, 1.6e5))
    low.minorticks_off()
    look.letter(low, "d", "at the end")
    return fig


def _functions(ax, ds) -> None:
    ax.plot(ds.x, ds.function.sel(way="least"), color=look.THEORY, lw=3, alpha=0.6)
    ax.plot(ds.x, ds.function.sel(way="limit"), color=look.INK, lw=1.1)
    ax.plot(ds.point_x, ds.point_y, "o", color=look.DATA, mec="white", mew=0.6, ms=5, zorder=5)
    for kink, sign in sorted({(round(float(k), 3), float(s)) for k, s in zip(ds.kink, ds.sign, strict=True)}):
        colour = look.PLUS if sign > 0 else look.MINUS
        ax.axvline(kink, color=colour, lw=0.6, ls=":")
        ax.text(kink, -2.3, f" {kink:.3g} ", color=colour, fontsize=6.5, ha="right" if kink < 0 else "left")
    ax.set(xlabel="x", ylabel="f(x)", xlim=SPAN, ylim=(-2.4, 1.7))
    look.beside(
        ax, SPAN[1], float(ds.function.sel(way="least")[-1]), "least norm", look.THEORY, dx=0, dy=-7, ha="right"
    )
    look.beside(
        ax, SPAN[1], float(ds.function.sel(way="limit")[-1]), "limit of the flow", look.INK, dx=0, dy=17, ha="right"
    )
    look.letter(ax, "a", "both fit")


def _certificate(ax, ds) -> None:
    ax.plot(ds.angle, ds.certificate, color=look.THEORY, lw=1.2)
    for level in (-1, 1):
        ax.axhline(level, color=look.FAINT, lw=0.7, ls=":")
    colours = [look.PLUS if s > 0 else look.MINUS for s in ds.sign.values]
    ax.scatter(ds.toward, ds.eta, c=colours, s=26, edgecolors="white", linewidths=0.6, zorder=4)
    worst = int(np.argmin((ds.sign * ds.eta).values))
    text = f"kink {float(ds.kink[worst]):.3g}\nη = {abs(float(ds.eta[worst])):.2f}"
    look.beside(ax, float(ds.toward[worst]), float(ds.eta[worst]), text, colours[worst], dx=6, dy=-14, ha="right")
    ax.set(xlabel="direction of w (degrees)", ylabel="η(w)", xlim=(-180, 180), ylim=(-1.25, 1.25))
    ax.set_xticks([-180, -90, 0, 90, 180])
    look.letter(ax, "b", "certificate at its neurons")


def caption(ds) -> str:
    last, least = float(ds.norm[0, -1]), float(ds.least)
    tight = (ds.sign * ds.eta).values
    worst = int(np.argmin(tight))
    same = np.abs(ds.kink - ds.kink[worst]) < 1e-3
    cost = 2 * float(((1 - ds.sign * ds.eta) * ds.size).where(same).sum())
    return f"""The five points of Figure 4 of Boursier et al. (y_3 = {ds.attrs["y3"]:g}) are not orthogonal, and the
    limit of vanishing scale is not of minimum norm. a: the network of least norm that fits (amber, |theta|^2 =
    {least:.5f}, from a cone programme over all activation patterns, with its certificate) and the limit of the flow
    (ink, {last:.5f}, {100 * (last / least - 1):.1f} % more), which has one kink more, right of all data. b: why. With
    nu the programme's dual variables, eta(w) = sum_k nu_k relu(w.x_k) stays within [-1, 1] on unit vectors, and a
    network of least norm has neurons only where it touches with their sign. The limit has neurons, those of kink
    {float(ds.kink[worst]):.3g}, that are active on every point, where it is {abs(tight[worst]):.2f}; they alone cost
    {cost:.3f}, the whole excess. c: |theta|^2 along the flow from e^-{-float(ds.log_scale[-1]):g}; it passes the least
    norm in its last fall. d: the excess at the end of {ds.norm.size} runs, {ds.sizes["seed"]} starts at each of
    {ds.sizes["log_scale"]} scales: the same for all tiny ones, and not vanishing with them."""
