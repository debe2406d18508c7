"""What Lemmas 7 and 8 have in common: one class, one moment, one exponent."""

import numpy as np

from reluflow import observe
from reluflow.claim import Claim
from reluflow.papers.boursier2022._constants import Class
from reluflow.papers.boursier2022._track import Track, log, small, worst

PLACES = ("S_{+,1}", "S_{-,1}")


def claims(track: Track, S: np.ndarray, cls: Class, t: float, p: float, form: str) -> list[Claim]:
    """(i)-(iii) at t with |w_j| <= 2 c lambda^{1-p}, and the two devices of the proof on [0, t]."""
    const = track.const
    who, other = ("S_{+,1}", const.minus) if cls is const.plus else ("S_{-,1}", const.plus)
    past = track.during(0.0, t)
    if not len(past.t) or past.t[-1] < t:
        past = past[np.zeros(len(past.t), bool)]
    missing = track.ends_before(t, "the end of the phase")
    rho, when = worst(track.largest(past, np.arange(const.m)), past.t)
    apart = float(track.apart(past[-1:], S, cls)[0]) if len(past.t) else np.nan
    found = [
        small(
            "(i) largest |w_j| up to then, 2 c lambda^{1-p}",
            rho,
            np.log(2 * const.c) + const.power(1 - p),
            at=when,
            missing=missing,
        ),
        small(
            f"(ii) misalignment of {who}, 2 lambda^eps |D|",
            log(apart),
            np.log(2 * cls.size) + const.power(const.epsilon),
            track.tol**2 * cls.size,
            missing=missing,
        ),
        _inactive(track, S, other, t, who, form) if len(past.t) else Claim("(iii)", np.nan, "<=", 0.0, missing=missing),
    ]
    return found + _devices(track, past, S, cls, p, missing)


def _inactive(track: Track, S: np.ndarray, other: Class, t: float, who: str, form: str) -> Claim:
    """(iii): off on the other class (corrected), or exactly 0 there (printed, E3)."""
    const, state = track.const, track.at(t)
    if form == "printed":
        unit = np.einsum(
            "jd,kd->jk", state.W[0, S], const.data.x[other.members] / np.sqrt(const.nu2[other.members])[:, None]
        )
        most = float(np.max(np.abs(unit), initial=0.0))
        return Claim(
            f"(iii) {who} at exactly 0 on the other class, max |<W_j, x_k>|/|x_k|", most, "<=", 0.0, slack=track.tol
        )
    seen = track.witness(t)
    on = seen.bits[0][np.ix_(S, np.flatnonzero(other.members))] > 0
    events = track.sol.events
    late = np.isin(events.neuron, S) & np.isin(events.datum, np.flatnonzero(other.members))
    last = float(np.max(events.t[late], initial=0.0))
    note = f"last crossing at t = {last:.6g}, wanted by {t:.6g}"
    return Claim(f"(iii) {who} still on for the other class, pairs", int(np.sum(on)), "<=", 0, note=note)


def _devices(track: Track, past, S: np.ndarray, cls: Class, p: float, missing: str) -> list[Claim]:
    const = track.const
    log_small = np.log(4 * const.m) + 2 * np.log(const.c) + const.power(2 * (1 - p))
    if not len(past.t):
        return [Claim("outputs up to then", np.nan, "<=", log_small, log=True, missing=missing)]
    a2 = cls.size**2 - cls.size * float(np.max(const.nu2)) * np.exp(log_small)
    a = np.sqrt(a2) if a2 > 0 else np.nan
    along = cls.size - track.apart(past, S, cls)
    gap, when = worst(-(along - a * np.tanh(a * past.t)) / cls.size, past.t)
    h, at = worst(np.max(observe.log_outputs(track.witness(past.t)).values - 0.5 * np.log(const.nu2), axis=1), past.t)
    return [
        small("outputs |h(x_k)|/|x_k| up to then, 4 m c^2 lambda^{2(1-p)}", h, log_small, at=at),
        Claim("cosine minus (a/|D|) tanh(a t), smallest", -gap, ">=", 0.0, slack=track.tol, at=when),
    ]
