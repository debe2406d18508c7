"""Open question of Kou et al., Section 7: do ReLU units switch for ever?"""

from __future__ import annotations

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._path import SWITCHES, path

needs = "solution"


def check(sol, steps: int = 0) -> Report:
    r"""[+] ReLU: with $\kappa > 0$ other-class pairs that their neighbours push upwards stay at the kink. Descent steps
    over it and back at a constant rate; the flow slides on it (Filippov). With $\kappa = 0$ nothing switches after T
    (F.2).

    Descent: switches in the second half of the iterations, from the run's counter (exact also when the list of events
    stops early, as long as it reaches the middle). Flow: pairs sliding at the end. Both are evidence on a finite run,
    hence limits; that a rate which falls by less than half is constant is ours. `constants` also has the share of pairs
    with |z| < 1e-3 and the largest other-class preactivation.
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
    return Report("kou2023.switching", claims, [Claim("gamma", at.gamma, "=", 0.0)], constants)
