r"""Three classes learnt one after another: a network with three outputs passes a saddle for each of them.

Seven orthonormal inputs in classes of n_c = 4, 2 and 1, one-hot labels, mean square loss, 12 balanced neurons at scale
s. While outputs are 0 a neuron active on all of class c has a part alpha_j = (<v_c, w_j> + <e_c, a_j>)/2 along the
singular pair (v_c, e_c), v_c = 1_c/sqrt(n_c), of the matrix that drives it, which grows as e^{sigma_c t}, sigma_c =
sqrt(n_c)/n. The output of the class is a logistic curve, and is 1/2 at

    T_c = (n / (2 sqrt(n_c))) log(sqrt(n_c) / sum_j alpha_j(0)^2) = (n / sqrt(n_c)) log(1/s) + O(1)

so that against t / log(1/s) the loss falls by stairs 1/2, 3/14, 1/14, 0 at n/sqrt(n_c) = 7/2, 7/sqrt(2), 7. The network
ends at the least norm of all that fit, |theta|^2 = 2 sum_c sqrt(n_c).
"""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim
from reluflow.papers._figures import solve
from reluflow.plot import look
from reluflow.plot.palette import class_colours

CLASSES = (0, 0, 0, 0, 1, 1, 2)
STATED = {"handbook": ("half-time", "loss of plateau", "|theta|^2")}
SETTINGS = {
    "quick": dict(log_scales=[-30.0, -300.0], seed=0, rtol=1e-9, points=400, early=60.0),
    "full": dict(log_scales=[-30.0, -300.0, -3000.0], seed=0, rtol=1e-10, points=1200, early=60.0),
}


def compute(*, log_scales, seed, rtol, points, early):
    import xarray as xr

    n, sizes = len(CLASSES), np.bincount(CLASSES)
    plain = rf.Data(np.eye(n), np.array(CLASSES)).one_hot()
    turned, _ = np.linalg.qr(np.random.default_rng([seed, 3]).normal(size=(n, n)))
    rotated = rf.Data(turned, plain.y)
    start = rf.init.balanced(12, n, outputs=3, seed=seed)
    share = np.linspace(0.0, 1.15 * n, points)
    rows: dict[str, list] = {name: [] for name in ("loss", "size", "half", "predicted", "rotated", "theta", "end")}
    for log_scale in log_scales:
        ell = -float(log_scale)
        runs = []
        for data, w in ((plain, start.w), (rotated, start.w @ turned)):
            problem = rf.Problem(data, rf.Params(w, start.a, log_scale=log_scale))
            runs.append(solve(problem, rf.Flow(rtol), t1=1.15 * n * ell))
        sol, turned_sol = runs
        seen = sol.moments(share * ell)
        goal = predicted(sol, sizes, early)
        rows["predicted"].append(goal)
        rows["half"].append([half_time(sol, c, goal[c]) for c in range(3)])
        rows["rotated"].append([half_time(turned_sol, c, goal[c]) for c in range(3)])
        rows["loss"].append(np.exp(seen.log_loss))
        rows["size"].append(np.exp(seen.log_scale) * np.linalg.norm(seen.a, axis=-1))
        end = sol.end
        with np.errstate(under="ignore"):
            size = np.sum(end.w[0] ** 2, axis=1) + np.sum(end.a[0] ** 2, axis=1)
            rows["theta"].append(float(np.sum(np.exp(2.0 * end.log_scale[0]) * size)))
        rows["end"].append(np.argmax(end.a[0], axis=1))
    dims: dict = {"loss": ("scale", "share"), "size": ("scale", "share", "neuron"), "end": ("scale", "neuron")}
    dims |= {"theta": ("scale",)}
    found: dict = {name: (dims.get(name, ("scale", "class")), np.array(v)) for name, v in rows.items()}
    found |= {"n_c": ("class", sizes), "rtol": rtol}
    return xr.Dataset(found, coords={"scale": log_scales, "share": share, "class": [0, 1, 2]})


def predicted(sol, sizes: np.ndarray, early: float) -> np.ndarray:
    """T_c by the formula, alpha_j read at a time `early` when activation patterns have settled and outputs are 0."""
    state, bits, y = sol.at(early), sol.bits_at(early), sol.problem.targets
    n = len(y)
    found = []
    for c, size in enumerate(sizes):
        mine = y[:, c] > 0
        v = sol.problem.data.x[mine].sum(axis=0) / np.sqrt(size)
        on = np.all(bits[:, mine] == 1.0, axis=1)
        alpha = 0.5 * (state.w @ v + state.a[:, c])
        kept = on & (alpha > 0)
        logs = 2.0 * (state.log_scales[0][kept] + np.log(alpha[kept])) - 2.0 * np.sqrt(size) / n * early
        found.append(0.5 * n / np.sqrt(size) * (0.5 * np.log(size) - np.logaddexp.reduce(logs)))
    return np.array(found)


def half_time(sol, c: int, near: float) -> float:
    """When output c is 1/2 on its class, to 6e-12 of `near`, by bisection; NaN if that is not within 10% of `near`."""
    mine = sol.problem.targets[:, c] > 0
    lo, hi = 0.9 * near, min(1.1 * near, sol.t_end if np.isfinite(sol.t_end) else 1.1 * near)
    for _ in range(7):
        t = np.linspace(lo, hi, 33)
        above = np.mean(sol.outputs_at(t)[:, mine, c], axis=1) > 0.5
        k = int(np.argmax(above))
        if k == 0:
            return float("nan")
        lo, hi = t[k - 1], t[k]
    return float(0.5 * (lo + hi))


def facts(ds) -> list[Claim]:
    """Times of a flow are right to 100 rtol. The formula holds as s -> 0: at e^-30 the outputs of other classes, of the
    order of s^(2 - 2 sqrt(2)/2) and less, still show in the times, by less than 1e-4 of them."""
    small = ds.scale.values <= -300.0
    slack = 100 * float(ds.rtol)
    off = np.abs(ds.half.values / ds.predicted.values - 1.0)
    turned = np.abs(ds.rotated.values / ds.half.values - 1.0)
    root = np.sqrt(ds.n_c.values)
    n = int(ds.n_c.sum())
    ell = -ds.scale.values
    rate = (ds.half.values[-1] - ds.half.values[0]) / (ell[-1] - ell[0])
    stairs = [_stair(ds, k) for k in range(3)]
    levels = [1 / 2, 3 / 14, 1 / 14]
    least = 2.0 * float(np.sum(root))
    return [
        Claim("half-times against the formula, e^-300 and below", float(np.max(off[small])), "<=", 0.0, slack=slack),
        Claim("half-times against the formula, all scales", float(np.max(off)), "<=", 0.0, slack=1e-4),
        Claim("half-times with rotated inputs, e^-300 and below", float(np.max(turned[small])), "<=", 0.0, slack=slack),
        *(
            Claim(f"half-time of class {c} per unit of log(1/s)", float(rate[c]), "=", float(n / root[c]), slack=1e-4)
            for c in range(3)
        ),
        *(
            Claim(f"loss of plateau {k}, smallest scale", stairs[k], "=", levels[k], slack=slack)
            for k in range(3)
        ),
        Claim("|theta|^2 at the end against the least norm that fits", float(ds.theta.values[-1]), "=", least,
              slack=1e-6 * least),
    ]  # fmt: skip


def _stair(ds, k: int) -> float:
    """The loss midway between two exits, at the smallest scale."""
    exits = np.concatenate([[0.0], ds.half.values[-1] / -ds.scale.values[-1]])
    return float(np.interp(0.5 * (exits[k] + exits[k + 1]), ds.share.values, ds.loss.values[-1]))


def draw(ds):
    fig = look.figure(look.PAGE, 4.0)
    top, bottom = fig.subplots(2, 1, sharex=True)
    root = np.sqrt(ds.n_c.values)
    exits = float(ds.n_c.sum()) / root
    shades = look.sequence(ds.sizes["scale"] + 1)[1:]
    for ax in (top, bottom):
        for x in exits:
            ax.axvline(x, color=look.THEORY, lw=1.4, zorder=1)
    for k, (scale, colour) in enumerate(zip(ds.scale.values, shades)):
        top.plot(ds.share, ds.loss[k], color=colour, lw=1.6, zorder=3, label=f"$s = e^{{{scale:.0f}}}$")
    top.legend(loc="lower left")
    top.set(
        ylabel="loss", ylim=(-0.02, 0.54), yticks=[0, 1 / 14, 3 / 14, 1 / 2], yticklabels=["0", "1/14", "3/14", "1/2"]
    )
    for x, text in zip(exits, ("7/2", "7/√2", "7")):
        look.beside(top, x, 0.52, text, look.THEORY, dx=4)
    colours = class_colours(ds.end.values[-1])
    for j, colour in enumerate(colours):
        bottom.plot(ds.share, ds.size[-1, :, j], color=colour, lw=1.3, zorder=3)
        bottom.plot(ds.share, ds.size[0, :, j], color=colour, lw=0.7, alpha=0.35, zorder=2)
    for c, (x, size) in enumerate(zip(exits, ds.n_c.values)):
        height = float(np.max(ds.size.values[-1][:, ds.end.values[-1] == c], initial=0.0))
        name = f"class {c}: {size} input" + ("s" if size > 1 else "")
        look.beside(bottom, x, height, name, class_colours([c])[0], dx=6, dy=7)
    top_of_b = 1.18 * float(ds.size.values.max())
    bottom.set(xlabel="t / log(1/s)", ylabel="$|a_j|$", xlim=(0, float(ds.share[-1])), ylim=(0, top_of_b))
    look.letter(top, "a", "the loss falls by one stair a class")
    powers = [f"$e^{{{v:.0f}}}$" for v in (ds.scale.values[-1], ds.scale.values[0])]
    look.letter(bottom, "b", f"neurons, coloured by their class (s = {powers[0]}; pale: {powers[1]})")
    return fig


def caption(ds) -> str:
    off = np.abs(ds.half.values / ds.predicted.values - 1.0).max(axis=1)
    parts = ", ".join(f"{v:.0e} at e^{s:.0f}" for v, s in zip(off, ds.scale.values))
    times = ", ".join(f"{v:.6f}" for v in ds.half.values[-1])
    return f"""A network with three outputs on seven orthonormal inputs in classes of 4, 2 and 1 (one-hot labels, square
    loss, exact flow at rtol {float(ds.rtol):g}). (a) The loss against t/log(1/s): stairs that sharpen to 1/2, 3/14,
    1/14, 0, the larger classes first, at n/sqrt(n_c) (gold). (b) The neurons that fit each class. The times at which an
    output is 1/2 on its class, {times} at e^{float(ds.scale[-1]):.0f}, are those of the formula
    (n/2 sqrt(n_c)) log(sqrt(n_c)/sum alpha^2) with alpha read while outputs are 0; relative differences: {parts}.
    To cite: classes are learnt one after another, in the order of the square roots of their sizes."""
