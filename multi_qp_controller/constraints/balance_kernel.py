"""Compiled kernel for the rows of the balance constraint."""

from __future__ import annotations

import math

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled


@compiled
def edge_rows(
    normals: Array,
    offsets: Array,
    ground: float,
    limits: Array,
    columns: Indices,
    number: int,
    near: Indices,
    centroid: Array,
    Ag: Array,
    row: int,
    D: Array,
    d: Array,
) -> int:
    """Write a row for each edge within the influence distance of the capture point; return the next row index.

    Args:
        normals: inward normals of the edges, (k, 2).
        offsets: distance of each edge from the origin along its normal, (k,) [m].
        ground: mean height of the polygon [m].
        limits: δ_i, δ_s, ξ, gravity, smallest height, largest recovery speed.
        columns: entries of v of the group.
        number: index of the group's first edge among those of all groups.
        near: to fill: indices of the edges that have a row.
        centroid: centroid of the group, see `Kinematics.centroid`, (10,).
        Ag: centroidal momentum matrix, (6, nv).
        row: first row of D to write.
        D: to fill, (rows, nv).
        d: to fill, (rows,).
    """
    rate = math.sqrt(limits[3] / max(limits[4], centroid[2] - ground))
    x, y = centroid[0] + centroid[3] / rate, centroid[1] + centroid[4] / rate
    for k in range(len(offsets)):
        u, v = normals[k, 0], normals[k, 1]
        inside = u * x + v * y - offsets[k]
        if not inside < limits[0]:
            continue
        for c in range(D.shape[1]):
            D[row, c] = 0.0
        for c in columns:
            D[row, c] = (u * Ag[0, c] + v * Ag[1, c]) / centroid[9]
        allowed = min(-limits[2] * (inside - limits[1]) / (limits[0] - limits[1]), limits[5])
        speed, drift = u * centroid[3] + v * centroid[4], u * centroid[6] + v * centroid[7]
        d[row] = rate * (allowed - speed) - drift
        near[row] = number + k
        row += 1
    return row
