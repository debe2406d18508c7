"""Compiles kernels before the tests, two processes at a time: `python scripts/compile.py` for all of them, or

    python scripts/compile.py burst rare windows descent outputs outputs_rare ...      any of `PARTS`

"flow" stands for burst and rare, which an ordinary flow needs.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from reluflow.drive.compile import PARTS, command


def compile_apart(part: str) -> int:
    return subprocess.run(command(part)).returncode


def main(arguments: list[str]) -> int:
    wanted = [p for a in arguments or PARTS for p in (("burst", "rare") if a == "flow" else (a,))]
    for part in wanted:
        if part not in PARTS:
            raise SystemExit(f"`{part}` is not one of {', '.join(PARTS)}, flow.")
    with ThreadPoolExecutor(2) as pool:
        return max(pool.map(compile_apart, wanted))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
