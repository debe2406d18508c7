"""Settings every test shares: one thread for each worker, no display, repeatable random examples."""

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for `support`

# Before numpy is imported: pytest-xdist already uses the cores.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("MPLBACKEND", "Agg")
if os.environ.get("RELUFLOW_DATA"):
    os.environ["RELUFLOW_DATA"] = os.path.abspath(os.environ["RELUFLOW_DATA"])  # tests may change folder

# A shell without job control starts what is in the background deaf to Ctrl-C; tests of it would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest
from hypothesis import settings

settings.register_profile("reluflow", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("reluflow")


@pytest.fixture(scope="session", autouse=True)
def entries_compile_once():
    """After all tests of a worker every kernel entry has one signature: no shape or dtype recompiles it."""
    yield
    entries = (
        *(("coupled", "burst"), ("rare", "handle"), ("windows", "advance")),
        *(("descent", "burst"), ("descent", "burst32"), ("fast_forward", "forward")),
    )
    for module, name in entries:
        kernels = sys.modules.get(f"reluflow.engine.{module}")
        if kernels is not None:
            signatures = getattr(getattr(kernels, name), "signatures", [])
            assert len(signatures) <= 1, f"kernels.{module}.{name} was compiled for {len(signatures)} signatures"
