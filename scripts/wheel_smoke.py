"""What every installation must do: solve, save, load, verify, check, draw, sweep. Run it outside a checkout."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import reluflow as rf


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        problem = rf.Problem(rf.data.two_points(), rf.init.balanced(width=20, dim=2, log_scale=-1000.0))
        sol = rf.solve(problem)
        assert sol.outcome is rf.Outcome.STATIONARY and sol.loss[-1] < 1e-12
        path = sol.save(home / "run")
        np.testing.assert_array_equal(rf.load(path).outputs, sol.outputs)
        assert rf.check("boursier2022.theorem1", sol).ok
        sol.plot().savefig(home / "run.png")
        descent = rf.solve(problem, rf.Descent(1e-2), t1=10.0)
        assert descent.outcome is rf.Outcome.REACHED
        experiment = rf.Experiment(data={"kind": "two_points"}, init={"kind": "balanced", "width": 4})
        assert not rf.sweep(experiment, {"init.seed": [0, 1, 2]}, workers=2)["failed"].any()
        told = subprocess.run(
            [sys.executable, "-m", "reluflow", "run", "--verify", str(path)], capture_output=True, text=True, check=True
        )
        assert "The same bits." in told.stdout, told.stdout
    print(f"reluflow {rf.__version__} on Python {sys.version.split()[0]}, numpy {np.__version__}: all is well")


if __name__ == "__main__":
    main()
