"""Open question of Kou et al., Section 7: do ReLU units switch for ever?"""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._constants import in_tail
from reluflow.papers.kou2023._path import SWITCHES, Path, path

needs = "solution"


def check(sol, steps: int = 0) -> Report:
    r"""[+] ReLU: with $\kappa > 0$ other-class pairs that their neighbours push upwards stay at the kink. Descent steps
    over it and back at a constant rate; the flow slides on it (Filippov). With $\kappa = 0$ nothing switches after T
    (F.2).

    Descent: switches in the second half of the iterations, from the run's counter (exact also when the list of events
    stops early, as long as it reaches the middle). Flow: pairs sliding at the end. Both are evidence on a finite run,
    hence limits; that a rate which falls by less than half is constant is ours. `constants` also has the share of pairs
    with |z| < 1e-3 and the largest other-class preactivation. Hypotheses with $\kappa > 0$: some pair is pushed
    upwards, and a descent has switched a hundred times in its first half (ours).
    """
    run = path(sol, steps)
    at = run.at
    bits = sol.events[np.isin(sol.events.kind, SWITCHES)]
    z = run.z[-1]
    constants = {
        **at.report(),
        "switches listed": len(bits),
        "share of pairs with |z| < 1e-3": float(np.mean(np.abs(z) < 1e-3)),
        "largest other-class z": float(z[~at.own].max()),
        "own-class pairs on": float(np.mean(z[at.own] >= 0)),
    }
    relation, bound = (">=", 1.0) if at.kappa > 0 else ("=", 0.0)
    if at.eta > 0:
        half = 0.5 * sol.stats.steps * sol.method.step
        first = int(np.sum(bits.t <= half))
        seen = not sol.stats.unrecorded or (len(bits) and bits.t[-1] > half)
        total = sol.stats.events - (len(sol.events) - len(bits))
        late = total - first if seen else np.nan
        constants["switches in all"] = float(total)
        claims = [Claim("switches in the second half of the run", late, relation, bound, kind="limit")]
        if at.kappa == 0:
            seen_late = run.log_s >= np.log(half) + 2.0 * np.log(at.scale)
            on = run.z[seen_late] >= 0
            changed = int(np.sum(on[1:] != on[:-1])) if len(on) > 1 else 0
            settled = int(np.sum((run.z[-1] >= 0) & ~at.own))
            claims.append(Claim("signs of <w, x_i> that change there", changed, "=", 0, kind="limit"))
            claims.append(Claim("other-class pairs that are on at the end", settled, "=", 0, kind="limit"))
        if at.kappa > 0:
            rate = late / first if first else np.nan
            text = "switches of the second half over those of the first"
            claims.append(Claim(text, rate, ">=", 0.5, kind="limit", note="a constant rate gives 1"))
    else:
        sliding = sol.sliding_at(log_t=float(sol.log_t[-1]))
        constants["sliding pairs"] = float(sliding.sum())
        claims = [
            Claim("pairs sliding at the end", np.sum(sliding), relation, bound, kind="limit"),
            Claim("own-class pairs among them", np.sum(sliding & at.own), "=", 0.0, kind="limit"),
        ]
    hypotheses = [Claim("gamma", at.gamma, "=", 0.0)]
    if at.kappa > 0:
        hypotheses.append(
            Claim("other-class pairs that their neighbours push upwards at the end", _pushed(run), ">=", 1)
        )
        if at.eta > 0:
            hypotheses.append(Claim("switches in the first half: enough for a rate", first, ">=", 100))
    return Report("kou2023.switching", in_tail(run, claims), hypotheses, constants)


def _pushed(run: Path) -> int:
    """Pairs (r, i) of the other class whose other data, by their forces at the end, raise <w_r, x_i>."""
    at = run.at
    force = at.y / (1.0 + np.exp(np.clip(run.margin[-1], -700.0, 700.0)))
    others = at.gram - np.diag(np.diag(at.gram))
    rise = at.sign[:, None] * ((run.bits * force) @ others)
    return int(np.sum((rise > 0) & ~at.own))
