"""What Lemmas 3, 4, 10 and 11 have in common: claims at the end of a fitting phase."""

import numpy as np

from reluflow.claim import Claim
from reluflow.papers.boursier2022._constants import Class
from reluflow.papers.boursier2022._track import State, Track, log, small

RTOL_LEAST = 1e-13  # what rf.Flow takes


def end_in_time(track: Track, t: float, slope: float, cls: Class, p: float, text: str) -> Claim:
    """t <= slope ell / |D|, where lambda^p ends the phase; unfinished where the run ends before both."""
    bound = slope * track.const.ell / cls.size
    missing = track.ends_before(bound, "its bound") if np.isinf(t) else ""
    note = below_accuracy(track, p) if np.isnan(t) and bound > 0 else ""
    # lambda >= 1 has no such phase
    return Claim(text, t if bound > 0 else np.nan, "<=", bound, missing=missing, note=note)


def aligned(track: Track, state: State, S: np.ndarray, cls: Class, p: float, text: str, relation="<=") -> Claim:
    """Misalignment below lambda^p; slack: it is good to (100 rtol)^2."""
    measured = log(track.apart(state, S, cls)[0])
    return small(text, measured, track.const.power(p), track.tol**2 * cls.size, relation=relation)


def level(track: Track, state: State, S: np.ndarray, cls: Class, p: float, fired: str, text: str) -> Claim:
    """u = u_inf - lambda^p, the second stopping condition; slack: outputs, hence u, are good to 100 rtol."""
    gap = cls.u - track.u(state, S)[0]
    bound = track.const.power(p)
    slack = float(log(1.0 + track.tol * max(1.0, cls.u) / np.exp(bound)))
    note = f"condition that fired: {fired}"
    return Claim(text, log(gap) if gap > 0 else -np.inf, "=", bound, slack=slack, log=True, at=state.t[0], note=note)


def not_vacuous(track: Track, cls: Class, p: float, text: str) -> Claim:
    """lambda^p < u_inf: otherwise the level is reached before anything grows."""
    return small(text, track.const.power(p), np.log(cls.u), relation="<")


def below_accuracy(track: Track, p: float) -> str:
    """What to say where lambda^p cannot be told from 0, and the tolerance that could."""
    enough = np.exp(track.const.power(p)) / 100
    way = f"rf.Flow(rtol={enough:.1g}) would tell it" if enough > RTOL_LEAST else "no rtol of double precision tells it"
    return f"lambda^{p:.3g}, which ends the phase, is below the accuracy of the run: {way}"


def nowhere(track: Track, t: float, until: float, p: float, *texts: str) -> list[Claim]:
    """Claims about a stopping time t that was not found: unfinished where the run ends before `until`."""
    missing = track.ends_before(until, "the latest time it may be") if np.isinf(t) else ""
    note = below_accuracy(track, p) if np.isnan(t) else ""
    return [Claim(text, np.nan, "<=", 0.0, missing=missing, note=note) for text in texts]
