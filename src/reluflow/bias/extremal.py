r"""Extremal directions: where neurons converge in direction while outputs are still 0.

    G(w) = sum_i g_i s(<w, x_i>) on the unit sphere,   w' = s_j (D - <D, w> w),   D in the generalised gradient of G

A neuron of sign s ascends s G. Its stationary directions are w = +- s D/|D|: inside a cell D is constant; on a face,
where w lies on the surfaces of the data T, D is the cell's pull projected on them, with bits of T between the slope and
1 [numerics, section 2]. It is attracting where w = s D/|D| and every held surface holds (s g_i < 0); on a ray, which
has no tangent directions, also w = -s D/|D|: a neuron held there shrinks. In small rank all faces are enumerated;
otherwise random neurons follow the frozen flow and only attracting ones are seen."""

from dataclasses import dataclass, replace

import numpy as np

from reluflow import _text
from reluflow._checks import as_finite, one_of, whole
from reluflow._early import early_phase
from reluflow.bias._faces import Direction, all_faces, count_faces
from reluflow.bias._input import as_data
from reluflow.data.core import Data
from reluflow.init import Params, balanced
from reluflow.losses import LOSSES
from reluflow.problem import Problem, ReLU

MOST_FACES = 20_000
SAME = 1e-7  # distance of unit vectors that are one direction


@dataclass(frozen=True, eq=False)
class Extremal:
    """The directions, fastest first. `way` is "faces" (all of them) or "frozen flow" (the attracting ones met by
    `samples` random starts per sign). `dead` is the share of starts, for + and -, whose neuron dies or has zero
    pull; `unsettled` lists given neurons that converged to no listed direction; `note` explains why no neuron is
    listed."""

    data: Data
    directions: tuple[Direction, ...]
    way: str
    samples: int
    dead: tuple[float, float]
    dead_neurons: tuple[int, ...] = ()
    unsettled: tuple[int, ...] = ()
    note: str = ""

    @property
    def attracting(self) -> tuple[Direction, ...]:
        return tuple(d for d in self.directions if d.kind == "attracting")

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        rows = [
            {
                **{k: getattr(d, k) for k in ("sign", "rate", "kind", "basin", "basin_error")},
                "direction": d.direction.tolist(),
                "on": list(d.on),
                "held": list(d.held),
                "neurons": list(d.neurons),
            }
            for d in self.directions
        ]
        return {"way": self.way, "samples": self.samples, "dead": list(self.dead), "directions": rows}

    def __str__(self) -> str:
        lines = [
            f"{len(self.directions)} extremal directions ({self.way}); "
            f"dead: {self.dead[0]:.3g} of +, {self.dead[1]:.3g} of -",
            f"{'sign':>6}{'rate':>12}  {'kind':<12}{'basin':>8}{'neurons':>9}  active on (held)",
        ]
        for d in self.directions[:12]:
            held = f" ({_text.listed(d.held)})" if d.held else ""
            basin = f"{d.basin:.3f}" if d.kind == "attracting" else ""
            lines.append(
                f"{'+' if d.sign > 0 else '-':>6}{d.rate:>12.6g}  {d.kind:<12}{basin:>8}{len(d.neurons):>9}  "
                f"{_text.listed(d.on)}{held}"
            )
        if len(self.directions) > 12:
            lines.append(f"  and {len(self.directions) - 12} more")
        return "\n".join(lines)

    __repr__ = __str__


def extremal(
    data, init: Params | None = None, *, how: str = "auto", drive=None, samples: int = 1000, seed: int = 0
) -> Extremal:
    """The extremal directions of `data` (square loss, ReLU), or of a Problem or a Solution with its own.

    With `init`, a Problem or a Solution the neurons that go to each direction are listed. `drive` replaces g = -dL/df
    at f = 0, for instance by a plateau's. `how` is "faces", "flow" or "auto": faces where they are few enough.
    """
    one_of("how", how, ("auto", "faces", "flow"))
    problem = _problem(data, init, drive, seed)
    g = problem.weight * problem.data.y * _force(problem.loss)
    faces = count_faces(problem.data.x)
    if how == "faces" and faces > MOST_FACES:
        raise ValueError(
            f'`how="faces"` must not enumerate more than {MOST_FACES} faces, got up to {faces}: use `how="flow"`.'
        )
    basins, dead = _basins(problem, samples, seed)
    if how == "faces" or (how == "auto" and faces <= MOST_FACES):
        way, found = "faces", all_faces(problem.data.x, g, problem.activation.slope)
        found = _with_basins(found, basins)
    else:
        way, found = "frozen flow", basins
    result = Extremal(problem.data, tuple(sorted(found, key=lambda d: -d.rate)), way, samples, dead)
    if init is None and isinstance(data, Data):
        return result
    odd = _unbalanced(problem.init)
    if odd is not None:
        why = f"Early directions are computed only for balanced neurons, |a_j| = |w_j|, and neuron {odd} is not."
        return replace(result, note=why)
    return _who(result, problem)


def _unbalanced(init: Params) -> int | None:
    """The first neuron with |a_j| != |w_j|."""
    log_w, log_a = init.log_scales
    with np.errstate(divide="ignore"):
        gap = log_w + np.log(np.linalg.norm(init.w, axis=1)) - log_a - np.log(np.abs(init.a))
    odd = np.flatnonzero(~(np.abs(gap) < 1e-13 * np.maximum(1.0, np.abs(log_w))))
    return int(odd[0]) if len(odd) else None


def _problem(data, init, drive, seed) -> Problem:
    problem = getattr(data, "problem", data)
    plain = as_data(data, "rf.bias.extremal")
    if drive is not None:
        g = as_finite("drive", drive, ndim=1, hint="one number per point")
        if g.shape != (plain.n,):
            raise ValueError(f"`drive` must have one number per point ({plain.n}), got {g.shape}.")
        # A square loss with these labels has this drive at f = 0.
        plain, loss, reduction = Data(plain.x, g, name=plain.name), "square", "sum"
    else:
        loss, reduction = getattr(problem, "loss", "square"), getattr(problem, "reduction", "mean")
    if init is None:
        init = getattr(problem, "init", None) or balanced(2, plain.d, seed=seed)
    return Problem(plain, init, loss, reduction, getattr(problem, "activation", ReLU()))


def _force(loss: str) -> float:
    """|dl/df| at f = 0 for the label 1; for the square loss labels multiply it."""
    return float(LOSSES[loss].force(1.0, 0.0))


def _basins(problem: Problem, samples: int, seed: int) -> tuple[list[Direction], tuple[float, float]]:
    """Attracting directions reached by random starts of either sign, with the share that goes to each."""
    samples = whole("samples", samples, least=1, hint="random starts per sign")
    plane = problem.data.d == 2  # evenly spaced angles: shares are accurate to two spacings per arc
    if plane:
        angle = 2.0 * np.pi * (np.arange(samples) + 0.5) / samples
        g = np.column_stack([np.cos(angle), np.sin(angle)])
    else:
        g = np.random.default_rng([seed, 3]).normal(size=(samples, problem.data.d))
    w = np.vstack([g, g])
    a = np.repeat([1.0, -1.0], samples) * np.linalg.norm(w, axis=1)
    early = early_phase(replace(problem, init=Params(w, a)))
    groups: list[list[int]] = []
    for j in np.flatnonzero(~early.dead):
        for group in groups:
            k = group[0]
            if early.sign[j] == early.sign[k] and np.max(np.abs(early.direction[j] - early.direction[k])) < SAME:
                group.append(int(j))
                break
        else:
            groups.append([int(j)])
    found = []
    for group in groups:
        k, share = group[0], len(group) / samples
        held = tuple(np.flatnonzero(early.sliding[k]).tolist())
        on = tuple(np.flatnonzero((early.bits[k] == 1.0) & ~early.sliding[k]).tolist())
        error = 2.0 / samples if plane else float(np.sqrt(share * (1.0 - share) / samples))
        sign, rate = int(early.sign[k]), float(early.rate[k])
        found.append(Direction(sign, early.direction[k], rate, "attracting", on, held, share, error))
    dead = early.dead.reshape(2, samples).mean(axis=1)
    return found, (float(dead[0]), float(dead[1]))


def _with_basins(found: list[Direction], basins: list[Direction]) -> list[Direction]:
    """Enumerated directions with measured basins, and any direction found by the flow alone."""
    out, used = list(found), set()
    for b in basins:
        for k, d in enumerate(out):
            if d.sign == b.sign and np.linalg.norm(d.direction - b.direction) < SAME and k not in used:
                out[k] = replace(d, basin=b.basin, basin_error=b.basin_error)
                used.add(k)
                break
        else:
            out.append(b)
    return out


def _who(result: Extremal, problem: Problem) -> Extremal:
    """The problem's own neurons, assigned to directions by the frozen flow."""
    early = early_phase(problem)
    members: list[list[int]] = [[] for _ in result.directions]
    lost = []
    for j in np.flatnonzero(~early.dead):
        for k, d in enumerate(result.directions):
            if d.sign == early.sign[j] and np.linalg.norm(d.direction - early.direction[j]) < SAME:
                members[k].append(int(j))
                break
        else:
            lost.append(int(j))
    rows = tuple(replace(d, neurons=tuple(m)) for d, m in zip(result.directions, members))
    return replace(
        result, directions=rows, dead_neurons=tuple(np.flatnonzero(early.dead).tolist()), unsettled=tuple(lost)
    )
