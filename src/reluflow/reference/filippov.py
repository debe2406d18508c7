r"""The motion of a neuron from a point on one or several surfaces, directly from Filippov's definition.

Near the point every realised pattern of sides tau has its own field D_tau. The neuron may move into a face of the local
arrangement, some surfaces left to a side sigma_r = +-1 and some kept (sigma_r = 0), if some member D of the convex hull
of the fields adjacent to that face points into it:

    <D, e_r> = 0 where sigma_r = 0,        sign(a) sigma_r <D, e_r> >= 0 elsewhere.

All adjacent fields differ by vectors in the span of the kept normals, so that member is D = P_S (any of them), and only
its membership has to be tested. One motion found: unique. Several: the regular solution keeps the bits off.
"""

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy.spatial import ConvexHull

from reluflow.reference.arith import arb, arb_mat, basis, combine, dot, norm, project, tiny


@dataclass
class Motion:
    sides: tuple
    D: list
    margins: list  # of each surface: normalised distance of the decision on its side from changing


@dataclass
class Choice:
    sides: dict  # surface -> -1, 0, 1
    resting: set
    unique: bool
    margins: dict


def covectors(normals):
    """The sign vectors (<z, e_1>, ..., <z, e_k>) of all z: the faces of the arrangement.

    Independent normals realise all 3^k. Otherwise every face is a composition of one-dimensional ones, along vectors of
    the span orthogonal to all normals of a hyperplane [oriented matroids: covectors are compositions of cocircuits].
    """
    k, span = len(normals), basis(normals)
    if len(span) == k:
        return list(product((1, -1, 0), repeat=k))
    rays = {tuple(s * v for v in ray) for ray, _ in cocircuits(normals) for s in (1, -1)}
    faces, new = {(0,) * k}, {(0,) * k}
    while new:
        new = {tuple(u or v for u, v in zip(f, ray, strict=True)) for f in new for ray in rays} - faces
        faces |= new
    return sorted(faces, reverse=True)


def cocircuits(normals):
    """Pairs (signs, z): the directions z in the span orthogonal to as many normals as possible, one of each +-pair."""
    span = basis(normals)
    out = {}
    for subset in combinations(normals, len(span) - 1):
        wall = basis(subset)
        if len(wall) < len(span) - 1:
            continue
        rest = max((project(e, wall) for e in normals), key=lambda z: float(norm(z)))
        signs = []
        for e in normals:
            v = dot(rest, e)
            small = abs(v) <= tiny() * norm(rest) * norm(e)
            signs.append(0 if small else 1 if v > 0 else -1)
        if tuple(-s for s in signs) not in out:
            out[tuple(signs)] = rest
    return list(out.items())


def resolve(net, sign, g, sides, touched, resting, tol) -> Choice:
    """The sides of the `touched` surfaces just after now; `sides` holds those of all others."""
    touched = list(touched)
    away = [arb(0)] * net.d
    size = arb(0)
    for r, s in enumerate(net.surfaces):
        both = [net.push(s, side, g) for side in (-1, 1)]
        size += max(abs(p) for p in both) * norm(s.normal)
        if r not in touched:
            away = combine([away, s.normal], [arb(1), both[(sides[r] + 1) // 2]])
    local = [net.surfaces[r] for r in touched]
    pushes = [{side: net.push(s, side, g) for side in (-1, 1)} for s in local]
    motions = []
    for face in covectors([s.normal for s in local]):
        motion = _motion(sign, away, local, pushes, face, size, tol)
        if motion:
            motions.append(motion)
    if not motions:
        raise ArithmeticError("No Filippov motion was found at a surface: the precision is too low; raise `digits`.")
    at_rest = [k for k, r in enumerate(touched) if r in resting]
    stay = [m for m in motions if all(m.sides[k] == -1 for k in at_rest)]
    motions = stay or motions
    best = min(motions, key=lambda m: (-m.sides.count(-1), m.sides.count(0)))
    unique = all(norm(combine([m.D, best.D], [arb(1), arb(-1)])) <= 100 * tol * size for m in motions)
    if unique:
        best = min(motions, key=lambda m: (m.sides.count(0), -m.sides.count(-1)))
    rest = {r for k, r in enumerate(touched) if best.sides[k] == -1 and _rests(net, local[k], sides, touched, best)}
    margins = {r: m for r, m in zip(touched, best.margins, strict=True) if r not in rest}
    return Choice(dict(zip(touched, best.sides, strict=True)), rest, unique, margins)


def _motion(sign, away, local, pushes, face, size, tol):
    """The motion into one face, or None. Conditions hold weakly, within `tol` of the size of the forces."""
    base = away
    for s, push, side in zip(local, pushes, face, strict=True):
        base = combine([base, s.normal], [arb(1), push[side or -1]])
    kept = [k for k, side in enumerate(face) if side == 0]
    D = project(base, basis([local[k].normal for k in kept]))
    inside = 1.0
    if kept:
        inside = _membership(base, [local[k].normal for k in kept], [pushes[k] for k in kept], size, tol)
        if inside is None:
            return None
    margins = []
    for s, side in zip(local, face, strict=True):
        v = sign * side * dot(D, s.normal) / (size * norm(s.normal) + arb(10) ** -10000)
        if v < -tol:
            return None
        margins.append(max(float(v), 0.0) if side else inside)
    return Motion(face, D, margins)


def _membership(base, normals, pushes, size, tol):
    """How far inside the hull of the adjacent fields the kept one lies (0 to 1/2), or None if outside."""
    jumps = [push[1] - push[-1] for push in pushes]
    if len(basis(normals)) < len(normals):
        return _in_hull(base, normals, jumps, size, tol)
    gram = arb_mat([[dot(u, v) for v in normals] for u in normals])
    nu = gram.solve(arb_mat([[-dot(base, u)] for u in normals])).mid().tolist()
    inside = 0.5
    for (value,), K, e in zip(nu, jumps, normals, strict=True):
        slack = tol * size / norm(e)
        if not (min(K, arb(0)) - slack <= value <= max(K, arb(0)) + slack):
            return None
        theta = float(value / K) if abs(K) > slack else 0.0
        inside = min(inside, theta, 1 - theta)
    return max(inside, 0.0)


def _in_hull(base, normals, jumps, size, tol):
    """How deep 0 lies in the hull of the fields of all realised patterns (normalised); None when outside.

    Floats identify the fields of a facet; its plane is then computed to full precision.
    """
    axes = basis(normals)
    fields = []
    for face in covectors(normals):
        if 0 not in face:
            on = [K if side > 0 else arb(0) for K, side in zip(jumps, face, strict=True)]
            D = combine([base, *normals], [arb(1), *on])
            fields.append([dot(D, axis) for axis in axes])
    if len(axes) == 1:
        values = sorted((v for (v,) in fields), key=float)
        inside = min(values[-1], -values[0])
    else:
        cloud = np.array([[float(v / size) for v in field] for field in fields])
        facets = ConvexHull(cloud).simplices
        inside = min((_depth([fields[k] for k in facet], fields) for facet in facets), key=float)
    inside = float(inside / size)
    return min(inside, 0.5) if inside >= -float(tol) else None


def _depth(facet, fields):
    """How far 0 lies from the plane through a facet, on the side of the other points."""
    origin, *others = facet
    edges = basis([combine([p, origin], [arb(1), arb(-1)]) for p in others])
    heights = (project(combine([p, origin], [arb(1), arb(-1)]), edges) for p in fields)
    inner = max(heights, key=lambda z: float(norm(z)))
    return -dot(origin, inner) / norm(inner)


def _rests(net, surface, sides, touched, motion):
    """Whether no force at all acts across a surface left to side -1: all rows still seen are orthogonal to it."""
    now = dict(enumerate(sides)) | dict(zip(touched, motion.sides, strict=True))
    walls = basis([net.surfaces[r].normal for r, side in now.items() if side == 0])
    for r, s in enumerate(net.surfaces):
        blind = all(net.bit(now[r], alpha) == 0 for _, alpha in s.rows)
        if now[r] != 0 and not blind:
            across = dot(project(s.normal, walls), surface.normal)
            if abs(across) > tiny() * norm(s.normal) * norm(surface.normal):
                return False
    return True
