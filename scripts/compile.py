"""Compiles kernels before the tests, two processes at a time: `python scripts/compile.py` for all of them, or

    python scripts/compile.py burst rare windows descent      any of these

"flow" stands for burst and rare, which an ordinary flow needs.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

PARTS = ("burst", "rare", "windows", "descent")


def compile_here(part: str) -> None:
    import numpy as np

    import reluflow as rf
    from reluflow.drive import exact
    from reluflow.engine import rare

    small = rf.Problem(rf.data.two_points(), rf.init.balanced(4, 2))
    if part == "descent":
        for forward in (True, False):
            rf.solve(small, rf.Descent(step=1e-2, fast_forward=forward), t1=1.0)
        rf.solve(small, rf.Descent(step=1e-2, dtype="float32"), t1=1.0)
        return
    exact.BLAS_ABOVE = 0 if part == "windows" else 10**12
    machine = exact.Machine(small, 1e-6, 1.0)
    machine.mode = None  # this part alone: the others are compiled beside it
    machine.run.step = np.finfo(float).tiny
    if part == "windows":
        machine._windows(0)
    elif part == "burst":
        machine.burst(0)
    else:
        machine._rare(rare.RESTORE)


def compile_apart(part: str) -> int:
    return subprocess.run([sys.executable, __file__, "--here", part]).returncode


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--here"]:
        compile_here(arguments[1])
        return 0
    wanted = [p for a in arguments or PARTS for p in (("burst", "rare") if a == "flow" else (a,))]
    for part in wanted:
        if part not in PARTS:
            raise SystemExit(f"`{part}` is not one of {', '.join(PARTS)}, flow.")
    with ThreadPoolExecutor(2) as pool:
        return max(pool.map(compile_apart, wanted))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
