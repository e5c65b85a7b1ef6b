"""Compiled search of the curve of one window that obeys (1) and (4) at every instant: a QP in its attractor.

The QP is solved by a dual active-set method (`dual_kernel`). Facets of the cones are generated on the way: where the
solution for the facets known so far leaves a cone, a facet that separates it is added, and the method goes on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from com_trajectory.bezier_kernel import cut_out
from com_trajectory.cone_kernel import INSIDE as IN_CONE
from com_trajectory.cone_kernel import into_cone, start_at_artificial_basis
from com_trajectory.dual_kernel import activate
from com_trajectory.simplex_kernel import NOT_CONVERGED, maximise
from com_trajectory.wrench_cone import GRAVITY
from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled, compiled_part
from multi_qp_scene.kernel_data import IndexMatrix, IndexVector, Matrix, Stack, Vector, unpack

FOUND, INFEASIBLE, FULL, NOT_SOLVED = 0, 1, 2, 3

_INSIDE = 1e-9  # violations below count as none
_TIGHTENING = 1e-7  # margin of the rows of the QP, so that its solution satisfies them in spite of rounding
_MOST_STEPS = 400


class ConstraintData(NamedTuple):
    """Constraints of all phases; the facets found so far do not depend on a curve.

    Attributes:
        M: rays of the phases' cones, each followed by the artificial columns I and −I, as rows, (columns, 6).
        costs: 0 for rays, −1 for artificial columns, (columns,).
        columns: first column of each phase, and the end, (phases + 1,).
        origins: reference points of the moments, (phases, 3) [m].
        basis: rays that form the basis of the last wrench in each cone, (phases, 6).
        inverse: of the basis, (phases, 6, 6).
        warm: pivots since the basis was factorised; −1 without a basis, (phases,).
        facets: facets y of each cone, y · w ≤ 0 inside, (phases, most, 6).
        found: number of them, (phases,).
        reach: normals of the reach of all phases, (faces, 3).
        offsets: their offsets, (faces,) [m].
        faces: first face of each phase, and the end, (phases + 1,).
    """

    M: Matrix
    costs: Vector
    columns: IndexVector
    origins: Matrix
    basis: IndexMatrix
    inverse: Stack
    warm: IndexVector
    facets: Stack
    found: IndexVector
    reach: Matrix
    offsets: Vector
    faces: IndexVector


class CurveData(NamedTuple):
    """Curve of a window and buffers for its parts, at its largest number of parts and degree n.

    Attributes:
        start: position, velocity and acceleration at the beginning, (3, 3).
        goal: final position, at rest, (3,) [m].
        attractor: nominal attractor; the kernel adds the displacement that it finds, (3,) [m].
        near: lower and upper limit of all control points, (2, 3) [m].
        base: control points with the nominal attractor, and the share of its displacement, (n + 1, 4).
        points: the same for each part, (parts, n + 1, 4).
        wrench: control points of the wrench with the nominal attractor, (parts, 2 n − 1, 6).
        turn: their derivative with respect to the attractor, by rows, (parts, 2 n − 1, 18).
        rows: active rows of the QP, of length 1, (4, 3); the last one is the row to be added.
        plane: orthonormal basis of the active rows, (3, 3).
        factor: active rows in that basis, lower triangular, (4, 3).
        multipliers: of the active rows, (4,).
        shares: of the active rows in the row to be added, (3,).
        x: displacement of the attractor, (3,) [m].
        values: buffer for the basis of a cone, (6,).
        at: buffer for a wrench, (6,).
        work: see `simplex_kernel.workspace`.
    """

    start: Matrix
    goal: Vector
    attractor: Vector
    near: Matrix
    base: Matrix
    points: Stack
    wrench: Stack
    turn: Stack
    rows: Matrix
    plane: Matrix
    factor: Matrix
    multipliers: Vector
    shares: Vector
    x: Vector
    values: Vector
    at: Vector
    work: Matrix


@compiled
def find_attractor(
    constraints: Any, window: Any, first: int, bounds: Array, parts: int, duration: float, pull: int, weights: Array
) -> int:
    """Find the attractor nearest to the nominal one whose curve obeys (1) and (4).

    Args:
        constraints: table of `ConstraintData`.
        window: table of `CurveData`; its `attractor` is the result.
        first: number of the window's first phase.
        bounds: fractions of the duration at which the phases begin, and 1, (phases + 1,).
        parts: of the curve in each phase.
        duration: of the window [s].
        pull: repetitions of the attractor.
        weights: see `bezier.product_weights`, (n + 1, n − 1), n = 5 + pull.

    Returns:
        `FOUND`, `INFEASIBLE`, `FULL` if there is no room for further facets, or `NOT_SOLVED`.
    """
    limits, curve = unpack(constraints, ConstraintData), unpack(window, CurveData)
    n = 5 + pull
    write_base(curve, n, duration)
    count = parts * (len(bounds) - 1)
    for p in range(count):
        phase = p // parts
        step = (min(1.0, bounds[phase + 1]) - bounds[phase]) / parts
        low = bounds[phase] + (p % parts) * step
        cut_out(curve.base[: n + 1], low, min(1.0, low + step), curve.points[p, : n + 1])
        rate = n * (n - 1) / (GRAVITY * (step * duration) ** 2)
        write_affine_wrench(curve, p, n, rate, limits.origins[first + phase], weights)
    for i in range(3):
        curve.x[i] = 0.0
    active = 0
    for _ in range(_MOST_STEPS):
        violation = most_violated(limits, curve, first, count, parts, n)
        if violation <= _INSIDE:
            added = add_facets(limits, curve, first, count, parts, n)
            if added < 0:
                return FULL
            if added == 0:
                for i in range(3):
                    curve.attractor[i] += curve.x[i]
                return FOUND
            continue
        active = activate(curve, active, violation + _TIGHTENING)
        if active < 0:
            return INFEASIBLE
    return NOT_SOLVED


@compiled_part
def write_base(curve: Any, n: int, duration: float) -> None:
    """Write the control points of the curve with the nominal attractor, and the shares of its displacement."""
    for j in range(3):
        place, speed, force = curve.start[0, j], curve.start[1, j], curve.start[2, j]
        curve.base[0, j] = place
        curve.base[1, j] = place + speed * duration / n
        curve.base[2, j] = force * duration**2 / (n * (n - 1)) + 2.0 * curve.base[1, j] - place
        for i in range(3, n - 2):
            curve.base[i, j] = curve.attractor[j]
        for i in range(n - 2, n + 1):
            curve.base[i, j] = curve.goal[j]
    for i in range(n + 1):
        curve.base[i, 3] = 1.0 if 3 <= i < n - 2 else 0.0


@compiled_part
def write_affine_wrench(curve: Any, p: int, n: int, rate: float, origin: Array, weights: Array) -> None:
    """Write the wrench along one part as an affine function of the attractor; x × x = 0.

    Source: [Tonneau2018] (1); [Fernbach2018].
    """
    points, wrench, turn = curve.points[p], curve.wrench[p], curve.turn[p]
    for k in range(2 * n - 1):
        for i in range(6):
            wrench[k, i] = 0.0
        wrench[k, 2] = 1.0
        for i in range(18):
            turn[k, i] = 0.0
    for j in range(n - 1):
        u = (points[j + 2, 0] - 2.0 * points[j + 1, 0] + points[j, 0]) * rate
        v = (points[j + 2, 1] - 2.0 * points[j + 1, 1] + points[j, 1]) * rate
        w = (points[j + 2, 2] - 2.0 * points[j + 1, 2] + points[j, 2]) * rate
        s = (points[j + 2, 3] - 2.0 * points[j + 1, 3] + points[j, 3]) * rate
        for i in range(n + 1):
            z, k = weights[i, j], i + j
            a, b, c = points[i, 0] - origin[0], points[i, 1] - origin[1], points[i, 2] - origin[2]
            share = points[i, 3]
            wrench[k, 0] += z * u
            wrench[k, 1] += z * v
            wrench[k, 2] += z * w
            wrench[k, 3] += z * (b * (1.0 + w) - c * v)
            wrench[k, 4] += z * (c * u - a * (1.0 + w))
            wrench[k, 5] += z * (a * v - b * u)
            for axis in range(3):
                turn[k, 4 * axis] += z * s
            # the moment of s x at (a, b, c), and of (u, v, 1 + w) at share · x
            turn[k, 10] += z * (share * (1.0 + w) - s * c)
            turn[k, 11] += z * (s * b - share * v)
            turn[k, 12] += z * (s * c - share * (1.0 + w))
            turn[k, 14] += z * (share * u - s * a)
            turn[k, 15] += z * (share * v - s * b)
            turn[k, 16] += z * (s * a - share * u)


@compiled_part
def write_wrench_at(curve: Any, p: int, k: int) -> None:
    """Write a control point of the wrench at the displacement x into the buffer."""
    x, y, z = curve.x
    for i in range(6):
        turn = curve.turn[p, k]
        curve.at[i] = curve.wrench[p, k, i] + turn[3 * i] * x + turn[3 * i + 1] * y + turn[3 * i + 2] * z


@compiled_part
def most_violated(limits: Any, curve: Any, first: int, count: int, parts: int, n: int) -> float:
    """Return the largest violation at x of the reach, the box and the known facets; its row is written."""
    worst, kind, part, point, index = _INSIDE, -1, 0, 0, 0
    for p in range(count):
        phase = first + p // parts
        for k in range(2 * n - 1):
            write_wrench_at(curve, p, k)
            for f in range(limits.found[phase]):
                facet, height = limits.facets[phase, f], 0.0
                for i in range(6):
                    height += facet[i] * curve.at[i]
                if height > worst:
                    worst, kind, part, point, index = height, 0, p, k, f
        for k in range(n + 1):
            share = curve.points[p, k, 3]
            a = curve.points[p, k, 0] + share * curve.x[0]
            b = curve.points[p, k, 1] + share * curve.x[1]
            c = curve.points[p, k, 2] + share * curve.x[2]
            for f in range(limits.faces[phase], limits.faces[phase + 1]):
                height = limits.reach[f, 0] * a + limits.reach[f, 1] * b + limits.reach[f, 2] * c - limits.offsets[f]
                if height > worst:
                    worst, kind, part, point, index = height, 1, p, k, f
            for i in range(3):
                place = curve.points[p, k, i] + share * curve.x[i]
                if place - curve.near[1, i] > worst:
                    worst, kind, part, point, index = place - curve.near[1, i], 2, p, k, i
                if curve.near[0, i] - place > worst:
                    worst, kind, part, point, index = curve.near[0, i] - place, 3, p, k, i
    if kind < 0:
        return 0.0
    row, share = curve.rows[3], curve.points[part, point, 3]
    for j in range(3):
        row[j] = 0.0
        if kind == 0:
            for i in range(6):
                row[j] += limits.facets[first + part // parts, index, i] * curve.turn[part, point, 3 * i + j]
        elif kind == 1:
            row[j] = share * limits.reach[index, j]
        elif j == index:
            row[j] = share if kind == 2 else -share
    return worst


@compiled_part
def add_facets(limits: Any, curve: Any, first: int, count: int, parts: int, n: int) -> int:
    """Add a facet for each control point of the wrench outside of its cone that no new facet separates.

    Returns:
        Number of new facets; −1 if there is no room.
    """
    added = 0
    for p in range(count):
        phase = first + p // parts
        for k in range(2 * n - 1):
            write_wrench_at(curve, p, k)
            known = False
            for f in range(limits.found[phase]):
                height = 0.0
                for i in range(6):
                    height += limits.facets[phase, f, i] * curve.at[i]
                known = known or height > _INSIDE
            if known or distance(limits, curve, phase) <= _INSIDE:
                continue
            if limits.found[phase] == limits.facets.shape[1]:
                return -1
            for i in range(6):
                limits.facets[phase, limits.found[phase], i] = curve.work[0, i]
            limits.found[phase] += 1
            added += 1
    return added


@compiled_part
def distance(limits: Any, curve: Any, phase: int) -> float:
    """Return how far the wrench in the buffer is outside of a phase's cone; the facet is written to the work array.

    The facet is scaled to a largest entry of 1.
    """
    begin, end = limits.columns[phase], limits.columns[phase + 1]
    M, costs, basis, inverse = limits.M[begin:end], limits.costs[begin:end], limits.basis[phase], limits.inverse[phase]
    rays = end - begin - 12
    if limits.warm[phase] >= 0:
        status, since = into_cone(M, rays, curve.at, basis, inverse, curve.values, curve.work, limits.warm[phase])
        limits.warm[phase] = since if status != NOT_CONVERGED else -1
        if status == IN_CONE:
            return 0.0
        if status != NOT_CONVERGED:
            height = scaled_height(curve)
            if height > _INSIDE:
                return height
    start_at_artificial_basis(curve.at, basis, inverse, curve.values, rays)
    maximise(M, curve.at, basis, inverse, curve.values, costs, end - begin, curve.work)
    outside, limits.warm[phase] = 0.0, 0
    for i in range(6):
        curve.work[0, i] = 0.0
    for k in range(6):
        if basis[k] >= rays:
            limits.warm[phase] = -1
            outside += max(curve.values[k], 0.0)
            for i in range(6):
                curve.work[0, i] += inverse[k, i]
    return scaled_height(curve) if outside > _INSIDE else 0.0


@compiled_part
def scaled_height(curve: Any) -> float:
    """Return the height of the wrench in the buffer above the facet in the work array, which is scaled."""
    largest, height = 0.0, 0.0
    for i in range(6):
        largest = max(largest, abs(curve.work[0, i]))
    for i in range(6):
        curve.work[0, i] /= largest
        height += curve.work[0, i] * curve.at[i]
    return height
