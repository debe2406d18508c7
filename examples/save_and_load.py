"""An experiment in Python, saved as a run, loaded, changed in one place."""

from pathlib import Path
from tempfile import TemporaryDirectory

import reluflow as rf

experiment = rf.Experiment(
    data={"kind": "five_points"},
    init={"kind": "balanced", "width": 30, "log_scale": -6.0, "seed": 1},
    solve={"t1": 200.0},
)
print(experiment.to_toml())

with TemporaryDirectory() as folder:
    run = experiment.run().save(Path(folder) / "run")
    loaded = rf.load(run)

print(loaded)
assert loaded.experiment == experiment

smaller = experiment.changed({"init.log_scale": -9.0})
print(smaller.key, smaller.run())
