"""Figure 4 of Lee et al. at full size: nine trainings on a GPU, recorded for `reluflow reproduce lee2023/fig4 --full`.

    PYTHONPATH=src python benchmarks/lee2023_full/record.py --out benchmarks/lee2023_full --device gpu

Each run is written as it ends; those that the file has are not made again.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from reluflow.papers.lee2023 import _deep, fig4

ORDER = (
    "SN",
    "LN",
    "LN variance",
    "LN fine",
    "SN variance",
    "LN first steps",
)  # what a time limit should not cut off comes first


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="folder of fig4.npz")
    parser.add_argument("--device", default="gpu", help='"gpu", "gpu:1" or "cpu", as JAX names them')
    given = parser.parse_args()
    sizes = {k: v for k, v in fig4.SETTINGS["full"].items() if k not in ("device", "recordings")}
    path = given.out / Path(_deep.RECORDED).name
    made, began = _deep.recorded(path), time.perf_counter()
    for case in sorted(_deep.cases(**sizes), key=lambda c: (c.target != sizes["targets"][0], ORDER.index(c.name))):
        if case.key in made:
            continue
        start = time.perf_counter()
        made[case.key] = run = _deep.train(case, given.device)
        spent, norm = time.perf_counter() - start, np.sqrt(np.sum(run["norms"] ** 2, axis=1))
        _deep.record(made, path)
        print(
            f"{case.key}: {spent:.1f} s, {1e3 * spent / case.last:.3f} ms an iteration, norm {norm[0]:.6g} -> "
            f"{norm[-1]:.6g} (least {norm.min():.6g}), loss {run['loss'][0]:.6g} -> {run['loss'][-1]:.6g}",
            flush=True,
        )
    print(f"{len(made)} runs, {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
