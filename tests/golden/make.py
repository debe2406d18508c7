"""Makes the golden runs of the current format: `python tests/golden/make.py`. Never remake those of an older format."""

import json
import shutil
from pathlib import Path

import numpy as np

import reluflow as rf
from reluflow.store import FORMAT

HERE = Path(__file__).parent
BASE = {"init": {"kind": "balanced", "width": 4, "log_scale": -2.0}, "data": {"kind": "five_points"}}
RUNS = {
    "flow": {"method": {"kind": "flow", "rtol": 1e-8}, "solve": {"t1": 12.0, "save": {"frames": 12}}},
    "descent": {"method": {"kind": "descent", "step": 0.02}, "solve": {"t1": 12.0, "save": {"frames": 12}}},
}

for kind, tables in RUNS.items():
    name = f"{kind}_format{FORMAT}"
    sol = rf.Experiment(**BASE, **tables).run()
    shutil.rmtree(HERE / name, ignore_errors=True)
    sol.save(HERE / name)
    t = np.linspace(0.0, 12.0, 7)
    expected = {
        "key": sol.experiment.key,
        "log_loss": sol.log_loss.tolist(),
        "t": t.tolist(),
        "outputs_at": sol.outputs_at(t).tolist(),
        "events": sol.events.counts(),
        "outcome": sol.outcome.name,
    }
    (HERE / f"{name}.json").write_text(json.dumps(expected, indent=1) + "\n")
