"""Many population runs over a grid, as one labelled dataset."""

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from reluflow._checks import by_name
from reluflow.methods import Flow
from reluflow.outcome import SolveError
from reluflow.population.problem import Problem
from reluflow.population.solution import Solution
from reluflow.population.solve import solve

KEEP: dict[str, Callable[[Solution], float]] = {
    "loss": lambda sol: sol.loss[-1],
    "t": lambda sol: sol.t[-1],
    "steps": lambda sol: sol.stats.steps,
    "energy_error": lambda sol: sol.stats.energy_error,
}


@by_name
def sweep(
    build: Callable[..., Problem],
    over: Mapping[str, Sequence],
    *,
    keep: Mapping[str, Callable[[Solution], float]] | Sequence[str] = ("loss",),
    method=None,
    t1: float | Callable[..., float] | None = None,
    progress: Callable[[float], None] | None = None,
):
    """Solves `build(**point)` at every point of the grid `over` and keeps numbers of each run.

    `keep` names quantities ("loss", "t", "steps", "energy_error", at the end) or maps names to functions of the run;
    `t1` may be a function of the point. Returns an `xarray.Dataset` with the names of `over` as dimensions; a run that
    fails leaves nan.
    """
    import xarray as xr

    if not isinstance(keep, Mapping):
        unknown = [name for name in keep if name not in KEEP]
        if unknown:
            raise ValueError(f"`keep` must be of {', '.join(KEEP)}, got {unknown[0]!r}: or give a function of the run.")
        keep = {name: KEEP[name] for name in keep}
    shape = tuple(len(values) for values in over.values())
    found = {name: np.full(shape, np.nan) for name in keep}
    places = list(itertools.product(*(range(k) for k in shape)))
    for count, place in enumerate(places):
        point = {name: values[k] for (name, values), k in zip(over.items(), place)}
        end = t1(**point) if callable(t1) else t1
        try:
            sol = solve(build(**point), method or Flow(), end)
        except SolveError:
            continue
        for name, measure in keep.items():
            found[name][place] = measure(sol)
        if progress is not None:
            progress((count + 1) / len(places))
    coords = {name: np.asarray(values) for name, values in over.items()}
    return xr.Dataset({name: (tuple(over), values) for name, values in found.items()}, coords=coords)
