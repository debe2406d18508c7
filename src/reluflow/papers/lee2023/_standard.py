"""The runs on which the results of Lee et al. are judged."""

import math
from collections.abc import Callable
from functools import cache, partial

from reluflow.methods import Descent, Flow
from reluflow.single import Problem, Run, Sphere, solve

FLOWS = {"small": 0.1, "middle": 1.0, "large": 2.0}
STEPS = {0: 0.05, 1: 0.02, 2: 0.01}

# What `rf.falsify` searches for each check: depth, length, angle; for descent the step too.
SPACE = {"kind": "single", "m": [0, 1, 2]}
_DESCENT = {"step": "free"}
SPACES: dict[str, dict] = {
    "lee2023.theorem3_3": {"m": [0]},
    "lee2023.theorem4_2": _DESCENT,
    "lee2023.corollary4_3": _DESCENT,
    "lee2023.theorem_a1": {"m": [0], **_DESCENT},
    "lee2023.theorem_a3": {"m": [1], **_DESCENT},
}


@cache
def flow(m: int, start: float, target: float = 1.0, phi: float = math.pi / 2) -> Run:
    """Forty units of time; more for what starts small and deep."""
    unit = 40.0 if m < 2 or start > 0.5 else 40.0 + 3.0 * start ** (1 - m)
    problem = Problem(m=m, norm=start * target, phi=phi, target=target)
    return solve(problem, Flow(rtol=1e-10), t1=unit / target ** (2 * m))


@cache
def descent(m: int, start: float) -> Run:
    return solve(
        Problem(m=m, norm=start),
        Descent(step=STEPS[m]),
        t1=60.0 if start > 0.5 else 60.0 + 60.0 * start ** -max(m - 1, 0),
    )


@cache
def tiny() -> Run:
    """Three layers from e^-1000, until the angle is there."""
    return solve(Problem(m=2, log_norm=-1000.0), Flow(rtol=1e-10))


@cache
def sphere() -> Run:
    return solve(Problem(m=1, norm=0.5, law=Sphere(100)), Flow(rtol=1e-10), t1=4000.0)


SUBJECTS: dict[str, Callable[[], object]] = {
    **{f"flow, m = {m}, {name}": partial(flow, m, start) for m in range(4) for name, start in FLOWS.items()},
    "flow, m = 2, target 2": partial(flow, 2, 0.7, 2.0, 1.0),
    "flow, m = 1, on the sphere": sphere,
    "flow, m = 2, from e^-1000": tiny,
    **{f"descent, m = {m}, {name}": partial(descent, m, start) for m in range(3) for name, start in FLOWS.items()},
}

_FLOWS = tuple(k for k in SUBJECTS if k.startswith("flow"))
_FINITE = tuple(k for k in _FLOWS if "e^-1000" not in k)
_DESCENTS = tuple(k for k in SUBJECTS if k.startswith("descent"))
_ONE = tuple(k for k in _FLOWS if "m = 0" in k)

ON: dict[str, tuple[str, ...]] = {
    "lee2023.proposition3_1": _FLOWS,
    "lee2023.theorem3_2": _FLOWS,
    "lee2023.theorem3_3": _ONE,
    "lee2023.theorem3_4": _FLOWS,
    "lee2023.theorem3_8": _FLOWS,
    "lee2023.always_valid": _FLOWS,
    "lee2023.criterion11": _FLOWS,
    "lee2023.rates": _FINITE,
    "lee2023.restarts": tuple(k for k in _FINITE if "m = 3" not in k),
    "lee2023.orbit": _FLOWS,
    "lee2023.theorem4_2": _DESCENTS,
    "lee2023.corollary4_3": _DESCENTS,
    "lee2023.theorem_a1": tuple(k for k in _DESCENTS if "m = 0" in k),
    "lee2023.theorem_a3": tuple(k for k in _DESCENTS if "m = 1" in k),
}
