"""`python -m reluflow.sweep.cluster N`: a Dask scheduler and N workers of one thread each, on this machine only.

A separate process, so that `rf.sweep` works in a script without `if __name__ == "__main__"` and in a notebook. It
prints its addresses as one line of JSON and ends when its standard input closes: when the driver ends, by whatever
signal, the scheduler and the workers end too.
"""

import json
import logging
import sys

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,  # the driver splits a task whose worker died, and tries again
    "distributed.worker.profile.enabled": False,  # its profiler would sample every run a hundred times a second
    "distributed.nanny.pre-spawn-environ": dict.fromkeys(THREADS, "1"),
}


def main(workers: int) -> None:
    import dask
    import distributed

    with dask.config.set(SETTINGS):
        cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
        page = f"http://127.0.0.1:{cluster.scheduler.http_server.port}/status"
        said = {"address": cluster.scheduler_address, "dashboard": page}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()
        sys.stdin.read()
        cluster.close(timeout=10)


if __name__ == "__main__":
    main(int(sys.argv[1]))
