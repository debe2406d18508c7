"""`python zygote.py`: imports everything once, then forks a process for each command it is sent.

A line of input is JSON: a list of {"argv", "cwd", "out", "limit", "clock", "signal"}; each is `reluflow ARGV` in a
process of its own, its output in the file `out`. It answers with the list of process ids, and when all have ended with
the list of their statuses (negative: the signal that ended it). `limit` bounds resources by name, `clock` makes clocks
jump, `signal` is [number, at]: the process gets it at so many function calls (0: it only counts them, in `out`.calls).
"""

import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for `support`

from support.counted import counted_calls


def jumping(seed: int) -> None:
    """Wall clocks jump by years, either way; clocks that never go back leap ahead, or stand still for a while."""
    import random
    import time

    rng, plain = random.Random(seed), {name: getattr(time, name) for name in ("time", "perf_counter", "monotonic")}
    state = dict.fromkeys(plain, 0.0)

    def clock(name):
        def read():
            if name == "time":
                return plain[name]() + rng.uniform(-1e9, 1e9)
            if rng.random() < 0.05 and state[name] < 60.0:  # a burst is sized by all the time there was
                state[name] += rng.choice([0.3, 5.0, 60.0])
            return plain[name]() + state[name]

        return read

    for name in plain:
        setattr(time, name, clock(name))
    time.time_ns = lambda: int(1e9 * time.time())


def child(command: dict) -> None:
    import resource

    import reluflow.cli

    signal.signal(signal.SIGINT, signal.default_int_handler)
    out = os.open(command["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream in (1, 2):
        os.dup2(out, stream)
    os.chdir(command["cwd"])
    for name, value in command.get("limit", {}).items():
        resource.setrlimit(getattr(resource, name), (value, value))
    if command.get("clock") is not None:
        jumping(command["clock"])
    code = 0
    number, at = command.get("signal", (signal.SIGINT, 0))
    try:
        with counted_calls(at, number) as calls:
            reluflow.cli.main(command["argv"])
    except SystemExit as left:
        code = int(left.code or 0)
    except KeyboardInterrupt:  # outside the command, where the interpreter itself would end
        code = 130
    finally:
        if "signal" in command and at == 0:
            Path(command["out"] + ".calls").write_text(str(calls[0]))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot
    import pandas  # noqa: F401
    import uvicorn  # noqa: F401
    import xarray  # noqa: F401
    import zarr  # noqa: F401

    import reluflow as rf

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    small = rf.Problem(rf.data.two_points(), rf.init.balanced(2, 2))
    for method in (rf.Flow(), rf.Descent(step=0.1), rf.Descent(step=0.1, fast_forward=False)):
        rf.solve(small, method, t1=1.0)
    print("ready", flush=True)
    for line in sys.stdin:
        pids = []
        for command in json.loads(line):
            pid = os.fork()
            if pid == 0:
                os.close(0)
                os.open(os.devnull, os.O_RDONLY)
                child(command)
            pids.append(pid)
        print(json.dumps(pids), flush=True)
        print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]), flush=True)


if __name__ == "__main__":
    main()
