"""Compiled assembly of the QP (13)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from com_trajectory.solver import EQUALITY, INFINITY
from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled

Integers = NDArray[np.int32]

SMOOTH = 1e-9  # weight of |β|², and of c where a cost does not determine it: a unique optimum, moved by ≪ 1e-6 m
HEAVY = 1e6  # weight of |e|² and of the unbalanced wrench relative to the cost
INSIDE = 1e-8  # [m]


@compiled
def fill_loads(
    Q: Array,
    q: Array,
    G: Array,
    origin: Array,
    displaced: int,
    least: float,
    H: Array,
    f: Array,
    rows: Array,
    lower: Array,
    upper: Array,
    sense: Integers,
) -> None:
    """Write the QP in c, the relaxation, and β, with its six equations and without the reach.

    Args:
        Q: of the cost, (3, 3).
        q: of the cost, (3,).
        G: rays of the wrench cone, (6, rays).
        origin: reference point of their moments, (3,) [m].
        displaced: 0: no relaxation; 2: the region is displaced by e; 6: part of the wrench is unbalanced.
        least: lower bound of β.
        H: output, (n, n), n = 3 + displaced + rays.
        f: output, (n,).
        rows: output, (6 + faces, n), the first six rows.
        lower: output, bounds of the variables and of the six equations, (n + 6 + faces,).
        upper: output, likewise.
        sense: output, all of it.
    """
    n = len(f)
    first = 3 + displaced
    for i in range(n):
        for j in range(n):
            H[i, j] = 0.0
        f[i] = 0.0
        H[i, i] = HEAVY if i < first else SMOOTH
        lower[i] = -INFINITY if i < first else least
        upper[i] = INFINITY
    for i in range(3):
        f[i] = q[i]
        for j in range(3):
            H[i, j] = Q[i, j]
        H[i, i] += SMOOTH
    for i in range(6):
        for j in range(n):
            rows[i, j] = G[i, j - first] if j >= first else 0.0
        lower[n + i] = 0.0
    rows[3, 1], rows[4, 0] = -1.0, 1.0  # −c × e_z
    if displaced == 2:
        rows[3, 4], rows[4, 3] = -1.0, 1.0
    elif displaced == 6:
        for i in range(6):
            rows[i, 3 + i] = 1.0
    lower[n + 2], lower[n + 3], lower[n + 4] = 1.0, -origin[1], origin[0]
    for i in range(6):
        upper[n + i] = lower[n + i]
    for i in range(len(sense)):
        sense[i] = EQUALITY if n <= i < n + 6 else 0


@compiled
def append_violated(
    A: Array, b: Array, point: Array, chosen: Array, n: int, count: int, rows: Array, lower: Array, upper: Array
) -> int:
    """Append the violated faces of the reach that are not among the rows yet.

    Args:
        A: unit normals of the reach, (faces, 3).
        b: offsets, (faces,) [m].
        point: the first three entries are the centre of mass [m].
        chosen: 1 for faces that are rows, else 0, (faces,).
        n: number of variables.
        count: number of rows so far.
        rows: see `fill_loads`.
        lower: see `fill_loads`.
        upper: see `fill_loads`.

    Returns:
        Number of rows.
    """
    for i in range(len(b)):
        height = A[i, 0] * point[0] + A[i, 1] * point[1] + A[i, 2] * point[2] - b[i]
        if height > INSIDE and chosen[i] == 0.0:
            chosen[i] = 1.0
            for j in range(n):
                rows[count, j] = A[i, j] if j < 3 else 0.0
            lower[n + count], upper[n + count] = -INFINITY, b[i]
            count += 1
    return count


@compiled
def height_range(A: Array, b: Array, place: Array) -> tuple[float, float]:
    """Return the lowest and highest point inside all faces on a vertical line; an empty range has lowest > highest.

    Args:
        A: normals, (faces, 3).
        b: offsets, (faces,) [m].
        place: the first two entries are used [m].
    """
    lowest, highest = -np.inf, np.inf
    for i in range(len(b)):
        left = b[i] - A[i, 0] * place[0] - A[i, 1] * place[1]
        if A[i, 2] > 1e-9:
            highest = min(highest, left / A[i, 2])
        elif A[i, 2] < -1e-9:
            lowest = max(lowest, left / A[i, 2])
    return lowest, highest
