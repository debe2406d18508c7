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

# A shell without job control starts what is in the background deaf to Ctrl-C, nohup to the end of the session; tests of
# these would wait for ever, or fail.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

import gc

import pytest
from hypothesis import settings

# With JAX, torch and numba loaded a collection of all generations takes a third of a second; tests make few cycles.
gc.set_threshold(20_000, 20, 50)

settings.register_profile("reluflow", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("reluflow")


@pytest.fixture(scope="session", autouse=True)
def entries_compile_once():
    """After all tests of a worker every kernel entry has one signature: no shape or dtype recompiles it."""
    yield
    entries = (
        *(("coupled", "burst"), ("rare", "handle"), ("stiff", "attempt"), ("windows", "advance")),
        *(("descent", "burst"), ("descent", "burst32"), ("fast_forward", "forward")),
    )
    for module, name in entries:
        kernels = sys.modules.get(f"reluflow.engine.{module}")
        if kernels is not None:
            signatures = getattr(getattr(kernels, name), "signatures", [])
            assert len(signatures) <= 1, f"kernels.{module}.{name} was compiled for {len(signatures)} signatures"


@pytest.fixture(scope="session", autouse=True)
def bits_are_those_of_the_signs():
    """Along every flow of the tests, at every step it keeps (each one until a run is thinned): a bit is on or off only
    on the side of <w_j, x_i> that says so, and a neuron held on a surface lies on it, to 1e-11 of |w_j|; to the step's
    error where a neuron approaches a surface that no force drives it across."""
    import numpy as np

    from reluflow.drive import exact
    from reluflow.engine.field import ON, SLID

    plain = exact.Machine._write

    def checked(self, tape):
        used = int(self.run.checkpoints_used)
        if used and self.packed.slope < 1.0:
            few = max(1, 2_000_000 // (self.m * self.big))
            y, code = self.checkpoints.y[:used][-few:], self.checkpoints.code[:used][-few:]
            q = y[:, : self.m * self.r].reshape(-1, self.m, self.r)
            top = np.max(np.abs(q), axis=2, keepdims=True)
            u = (q / np.where(top > 0.0, top, 1.0)) @ self.packed.e.T
            kind = code.reshape(u.shape) & 3
            off = np.where(kind >= SLID, np.abs(u), np.where(kind == ON, -u, u))
            assert np.max(off) <= 10.0 * self.run.rtol + 1e-11, f"a bit is wrong by {np.max(off):.3g} of |w|"
        plain(self, tape)

    exact.Machine._write = checked
    yield
    exact.Machine._write = plain
