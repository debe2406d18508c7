"""A single neuron learning another one [Lee, Sim, Ye 2023], in the form in which the page draws networks.

The plane is that of w and w*, with w* along the first axis: the neuron is one row with direction (cos theta, sin
theta), theta = pi - phi, and log norm log |w|; its output weight is the product of the outer layers.
"""

import math
from typing import Any

import numpy as np

import reluflow as rf
from reluflow.explorer.request import Refused

FRAMES = 300
LAYERS = (1, 2, 3)


def problem(table: Any):
    """The `rf.single.Problem` of a request's table `single`: layers, log_norm (with |w*| = 1) and phi."""
    if not isinstance(table, dict) or set(table) - {"layers", "log_norm", "phi"}:
        raise Refused("`single` must be a table of `layers`, `log_norm` and `phi`.")
    layers, log_norm, phi = (table.get(k, math.nan) for k in ("layers", "log_norm", "phi"))
    if layers not in LAYERS or isinstance(layers, bool):
        raise Refused("`single.layers` must be 1, 2 or 3.")
    for name, value, low, high in (("log_norm", log_norm, -100.0, 3.0), ("phi", phi, 0.01, 3.14)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise Refused(f"`single.{name}` must lie in [{low:g}, {high:g}], got {value}.")
    return rf.single.Problem(m=layers - 1, log_norm=float(log_norm), phi=float(phi))


def picture(table: Any, *, draft: bool = False, frames: int = FRAMES) -> tuple[dict, dict[str, np.ndarray]]:
    """Header and arrays of the flow of a single neuron until it converges."""
    of = problem(table)
    run = rf.single.solve(of, rf.Flow(rtol=1e-6 if draft else 1e-10))
    log_t = even(run, frames)
    at = run.at(log_t=log_t[1:])
    column = lambda name: np.concatenate([getattr(run, name)[:1], getattr(at, name)])
    theta, log_w, log_loss, phi = (column(name) for name in ("theta", "log_norm", "log_loss", "phi"))
    log_a = np.sum(np.concatenate([run.log_outer[:1], at.log_outer]), axis=1)
    direction = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    with np.errstate(over="ignore"):
        t, size = np.exp(log_t), np.exp(log_w + log_a)
    event = np.concatenate([[0.0], np.cumsum(activity(theta, log_w, log_loss))])
    count = len(log_t)
    header = {
        "kind": "single",
        "m": 1,
        "n": 1,
        "d": 2,
        "layers": of.m + 1,
        "frames": count,
        "draft": draft,
        "loss": "square",
        "slope": 0.0,
        "bias": False,
        "tailed": False,
        "descent": False,
        "step": None,
        "outcome": run.outcome.value,
        "success": run.outcome.success,
        "steps": run.steps,
        "events": 0,
        "slides": 0,
        "seconds": 0.0,
        "non_unique": 0,
        "balanced": of.m == 1,
        "aims": [{"sign": 1.0, "direction": [1.0, 0.0], "full": [1.0, 0.0], "rate": 0.0, "neurons": 1}],
        "plane": [[1.0, 0.0], [0.0, 1.0]],
        "key": f"single {of.m} {of.log_v0!r} {of.phi0!r}",
        "phases": [],
    }
    big = lambda a: np.nan_to_num(np.asarray(a, float), nan=0.0, posinf=1.7e308, neginf=-1.7e308)
    arrays = {
        "t": big(t),
        "log_t": big(log_t),
        "event": np.minimum(event, 1.0),
        "log_loss": big(log_loss),
        "norm2": big(np.exp(2 * log_w) + of.m * np.exp(2 * log_a / max(of.m, 1))),
        "outputs": (size * np.maximum(direction[:, 0], 0.0))[:, None],
        "x": np.array([[1.0, 0.0]]),
        "y": np.array([1.0]),
        "xy": np.array([[1.0, 0.0]]),
        "dir": direction[:, None, :].astype(np.float32),
        "log_w": log_w[:, None],
        "log_a": log_a[:, None],
        "sign": np.ones((count, 1), np.int8),
        "bits": np.ones((count, 1, 1), np.uint8),  # no data, so no boundary
        "cosine": direction[:, :1].astype(np.float32),
        "phi": phi,
        "theta": theta,
    }
    return header, arrays


def activity(theta: np.ndarray, log_w: np.ndarray, log_loss: np.ndarray) -> np.ndarray:
    """How much happens between frames, summing to 1: turning, growth, fall of the log loss (to e^-40 of its start)."""
    logs = np.maximum(log_loss, log_loss[0] - 40.0)
    parts = ((0.5, np.abs(np.diff(theta))), (0.3, np.abs(np.diff(log_w))), (0.2, np.abs(np.diff(logs))))
    total = np.full(len(theta) - 1, 0.02 / (len(theta) - 1))
    for share, part in parts:
        whole = float(np.sum(part))
        total += share * part / whole if whole > 1e-9 else 0.0
    return total / np.sum(total)


def even(run, count: int) -> np.ndarray:
    """log t of about `count` frames, evenly spread over what happens; the first is t = 0."""
    log_t = run.log_t
    place = np.concatenate([[0.0], np.cumsum(activity(run.theta, run.log_norm, run.log_loss))])
    wanted = np.interp(np.linspace(0.0, 1.0, count)[1:], place[1:], log_t[1:])
    return np.concatenate([[-math.inf], np.unique(wanted)])
