"""Numbers of each figure at a size for tests, computed once; one thread, as in the tests of reluflow."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # before numpy is imported
    os.environ.setdefault(_name, "1")

import pytest

import reluflow as rf

SMALL = {
    "boursier2025sword/dynamics": dict(width=60),
    "boursier2025sword/threshold": dict(widths=[20, 50, 100], seeds=5, scales=[-1000.0, -5.0], to=0.1),
    "boursier2025threshold/samples": dict(samples=[4, 12, 48], seeds=1),
    "chistikov2023/rank_and_norm": dict(seeds=1, scales=4, points=3, sets=4, dims=[3], to=0.5),
    "frei2023/rank": dict(scales=[-20.0, -2.0, 0.0], dim=600, out_scales=[-20.0, -2.0], log_t1=2000.0),
    "kunin2024/upstream": dict(seeds=1, ratios=[-6, -2, 0, 2, 6]),
    "lyu2021/margin": dict(width=10),
    "maennel2018/basins": dict(widths=[50, 200], samples=500),
}
_made: dict = {}


@pytest.fixture(scope="session")
def numbers():
    def get(name):
        if name not in _made:
            paper, figure = name.split("/")
            _made[name] = rf.papers[paper].figures[figure].compute("quick", **SMALL[name])
        return _made[name].copy(deep=True)

    return get
