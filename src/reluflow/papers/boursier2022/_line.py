r"""Networks of one input and a bias, as Figures 2 to 5 of [BPF22] show them: trained as the authors did, and by flow.

The authors' code descends on the mean square (1/n) sum (h - y)^2 = 2 L with step 1e-3, which is step 2e-3 on L, and
plots 2 L. Weights start at scale/sqrt(m) times standard normals, balanced. Iteration k is at t = 2e-3 k.
"""

import numpy as np

import reluflow as rf
from reluflow.papers._figures import solve
from reluflow.plot import look

STEP = 2e-3  # on L; 1e-3 on 2 L
WAYS = ("descent", "flow")


def run(data, *, width: int, scale: float, seed: int, panels, last: int, frames: int = 600, rtol: float = 1e-8):
    """Descent and flow of one start: 2 L over iterations, and the function with all neurons at the panels."""
    import xarray as xr

    init = rf.init.balanced(width=width, dim=2, log_scale=float(np.log(scale / np.sqrt(width))), seed=seed)
    problem = rf.Problem(data, init, loss="square")
    panels = [int(k) for k in panels]
    count = np.unique(np.r_[np.linspace(0, last, frames).astype(int), panels])
    # A film's frames: equal steps of the loss and of the logarithm of time, so that it waits at no saddle.
    grid = np.linspace(data.x[:, 0].min() - 1.0, data.x[:, 0].max() + 1.0, 241)
    sols = {
        "descent": solve(problem, rf.Descent(step=STEP), t1=last * STEP),
        "flow": solve(problem, rf.Flow(rtol=rtol), t1=last * STEP),
    }
    loss = np.stack([2.0 * sols[m].loss_at(count * STEP) for m in WAYS])
    film = moments(count, loss[0])
    at = {"panel": np.array(panels), "moment": film}
    found: dict = {"loss": (("way", "iteration"), loss)}
    for name, when in at.items():
        parts = [_states(sols[m].at(when * STEP), grid) for m in WAYS]
        for k, (key, dims) in enumerate((("function", "grid"), ("kink", "neuron"), ("height", "neuron"))):
            label = key if name == "panel" else f"film_{key}"
            found[label] = (("way", name, dims), np.stack([p[k] for p in parts]))
    found |= {"x": ("datum", data.x[:, 0]), "y": ("datum", data.y)}
    final = [sols[m].final for m in WAYS]
    flips = [np.sign(p.a) != np.sign(init.a) for p in final]
    found["flipped"] = (("way", "neuron"), np.stack(flips).astype(int))
    found["squared_norm"] = (("way",), [_squared_norm(p) for p in final])
    ds = xr.Dataset(found, coords={"way": list(WAYS), "iteration": count, "grid": grid, **at})
    return ds, sols


def moments(count: np.ndarray, loss: np.ndarray, most: int = 48) -> np.ndarray:
    """Iterations for a film: spread evenly over what happens, the fall of the loss and the passing of log(1 + k)."""
    pace = np.abs(np.diff(loss)) / (loss[0] + 1e-300) + 0.8 * np.diff(np.log1p(count / 500.0)) / np.log1p(
        count[-1] / 500.0
    )
    path = np.r_[0.0, np.cumsum(pace)]
    return np.unique(np.rint(np.interp(np.linspace(0.0, path[-1], most), path, count)).astype(int))


def _states(states, grid):
    """(functions on the grid, kinks -w2/w1, heights s |w|) of a list of weights."""
    rows = np.column_stack([grid, np.ones_like(grid)])
    f, kink, height = [], [], []
    for p in states:
        log_w, log_a = p.log_scales
        f.append(np.maximum(rows @ p.w.T, 0.0) @ (p.a * np.exp(log_w + log_a)))
        with np.errstate(divide="ignore"):
            kink.append(-p.w[:, 1] / p.w[:, 0])
        height.append(np.sign(p.a) * np.exp(log_w) * np.linalg.norm(p.w, axis=1))
    return np.stack(f), np.stack(kink), np.stack(height)


def _squared_norm(p) -> float:
    log_w, log_a = p.log_scales
    return float(np.sum(np.exp(2 * log_w) * np.sum(p.w**2, axis=1)) + np.sum(np.exp(2 * log_a) * p.a**2))


# Drawing --------------------------------------------------------------------------------------------------------------


def span(ds) -> tuple[float, float]:
    """Common limits of the vertical axis: data and final functions, with room."""
    top = max(float(np.abs(ds.y).max()), float(np.abs(ds.height).max()))
    return -1.15 * top, 1.15 * top


def state(ax, ds, f, kink, height, limits, size: float = 13.0):
    """One moment: data, the function, one mark per neuron at its kink and signed norm. Returns the moving parts."""
    ax.axhline(0, color=look.FAINT, lw=0.5)
    (line,) = ax.plot(ds.grid, f, color=look.INK, lw=1.5, zorder=2)
    marks = ax.scatter(
        kink, height, c=look.sign_colours(height), s=size, alpha=0.7, lw=0, marker="o", zorder=3, clip_on=True
    )
    ax.scatter(ds.x, ds.y, s=42, c=look.DATA, marker="X", edgecolors="white", lw=0.7, zorder=4)
    ax.set_xlim(float(ds.grid[0]), float(ds.grid[-1]))
    ax.set_ylim(*limits)
    return line, marks


def animate(ds, way: str, limits=None, log: bool = False):
    """Function and neurons beside the loss, over the moments of the film."""
    from matplotlib.animation import FuncAnimation

    fig = look.figure(6.4, 2.7)
    left, right = fig.subplots(1, 2, width_ratios=[1.5, 1])
    one = ds.sel(way=way)
    line, marks = state(left, ds, one.film_function[0], one.film_kink[0], one.film_height[0], limits or span(ds), 16.0)
    left.set(xlabel="x", ylabel="h(x); s|w| of neurons")
    right.plot(ds.iteration, one.loss, color=look.FAINT, lw=1.0)
    (dot,) = right.plot([0], [float(one.loss[0])], "o", color=look.INK, ms=5)
    right.set(ylabel="2 L", yscale="log" if log else "linear")
    look.iterations(right.xaxis)
    text = left.set_title("iteration 0")

    def show(k):
        count = int(ds.moment[k])
        line.set_ydata(one.film_function[k])
        marks.set_offsets(np.column_stack([one.film_kink[k], one.film_height[k]]))
        marks.set_color(look.sign_colours(one.film_height[k].values))
        dot.set_data([count], [np.interp(count, ds.iteration, one.loss)])
        text.set_text(f"iteration {count:,}")
        return line, marks, dot, text

    look.freeze(fig)
    order = [*range(ds.sizes["moment"]), *[ds.sizes["moment"] - 1] * 10]
    return FuncAnimation(fig, show, frames=order, blit=False)
