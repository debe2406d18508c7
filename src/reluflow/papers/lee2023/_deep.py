r"""The runs of Figure 4: depth 5, hidden width 50, no biases, full-batch descent towards a network of the same shape.

The paper gives k = 0.04, step 8e-4, 100000 iterations (SN) and k = 0.44, step 1e-4, 30000 iterations (LN); not the
target's scale, nor whether k is a variance. Runs at full size take hours on a processor: what a GPU recorded under
`benchmarks/lee2023_full/` is read instead, where it is of the same case.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reluflow import deep
from reluflow.data.core import Data
from reluflow.outcome import SolveError

FRAMES = 500
RECORDED = "benchmarks/lee2023_full/fig4.npz"
FIELDS = ("iteration", "loss", "norms")


@dataclass(frozen=True)
class Case:
    """One training: from N(0, std^2) towards a network with N(0, target^2)."""

    name: str
    std: float
    step: float
    last: int
    target: float
    n: int
    d: int
    hidden: int
    depth: int
    seed: int
    dtype: str
    every: int

    @property
    def key(self) -> str:
        """What tells it from other cases, in words."""
        sizes = f"n{self.n}-d{self.d}-{self.hidden}x{self.depth}-seed{self.seed}-{self.dtype}"
        return f"{self.name}-std{self.std:.6g}-step{self.step:g}-last{self.last}-target{self.target:g}-{sizes}"


def cases(
    *, n, d, hidden, depth, targets, small, large, faster, small_last, middle_last, large_last, fine_last, seed, dtype,
    scan,
) -> list[Case]:  # fmt: skip
    """For every target: SN and LN by both readings of k, LN at a tenth of its step (the first target alone); for every
    target of `scan` the first 60 steps of LN.

    Names: "SN", "LN", "LN fine", "SN variance" (std sqrt(k): as large as a target of 0.2, a middle norm), "LN
    variance", "LN first steps". `faster` multiplies SN's step and divides its iterations.
    """
    made = []
    for k, target in enumerate(targets):
        for name, std, step, last in (
            ("SN", small[0], faster * small[1], small_last // faster),
            ("SN variance", float(np.sqrt(small[0])), small[1], middle_last),
            ("LN", large[0], large[1], large_last),
            ("LN fine", large[0], large[1] / 10, fine_last),
            ("LN variance", float(np.sqrt(large[0])), large[1], 60),
        ):
            if name == "LN fine" and k > 0:
                continue
            every = max(1, last // FRAMES)
            made.append(Case(name, std, step, last, target, n, d, hidden, depth, seed, dtype, every))
    std, step = large
    early = lambda target: Case("LN first steps", std, step, 60, target, n, d, hidden, depth, seed, dtype, 1)
    return made + [early(target) for target in scan]


def train(case: Case, device: str | None, progress=None) -> dict[str, np.ndarray]:
    """Iterations, losses and norms of the layers at the frames, up to where numbers overflow."""
    widths = (case.d, *[case.hidden] * (case.depth - 1), 1)
    x = np.random.default_rng([case.seed, 1]).normal(size=(case.n, case.d))
    teacher, student = (deep.init(widths, s, case.seed + k) for s, k in ((case.target, 1), (case.std, 0)))
    try:
        run = deep.train(
            student,
            Data(x, teacher(x)),
            step=case.step,
            iterations=case.last,
            every=case.every,
            dtype=case.dtype,
            device=device,
            progress=progress,
        )
    except SolveError as error:
        run = error.solution
    return dict(iteration=run.iteration, loss=run.loss, norms=run.norms)


def record(made: dict[str, dict[str, np.ndarray]], path) -> None:
    """Writes runs by their keys."""
    arrays: dict[str, Any] = {f"{key}/{name}": run[name] for key, run in made.items() for name in FIELDS}
    np.savez_compressed(path, **arrays)


def recorded(path: Path | None = None) -> dict[str, dict[str, np.ndarray]]:
    """Runs that were recorded, by their keys; none where the file is not there."""
    path = path or Path(__file__).resolve().parents[4] / RECORDED
    if not path.is_file():
        return {}
    with np.load(path) as stored:
        keys = {name.rpartition("/")[0] for name in stored.files}
        return {key: {name: stored[f"{key}/{name}"] for name in FIELDS} for key in sorted(keys)}
