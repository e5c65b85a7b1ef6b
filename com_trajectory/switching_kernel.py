"""Compiled kernels for contact changes: constraint violations of a curve's parts, and the best assignment of phases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled, compiled_part

Indices = NDArray[np.int64]


@compiled_part
def largest_violations(points: Array, whole: Array, A: Array, b: Array, beyond: float, worst: Array) -> None:
    """Write the largest A p − b over the control points p of each part, or `beyond` if that is larger.

    Args:
        points: control points of the parts, (parts, n + 1, 3) [m].
        whole: control points of the whole curve, whose hull contains all of them, (n + 1, 3) [m].
        A: unit normals, (m, 3).
        b: offsets, (m,) [m].
        beyond: lower bound of the result [m].
        worst: output, (parts,) or longer [m].
    """
    for k in range(len(points)):
        worst[k] = beyond
    for i in range(len(b)):
        x, y, z, offset = A[i, 0], A[i, 1], A[i, 2], b[i]
        highest = beyond
        for j in range(len(whole)):
            highest = max(highest, x * whole[j, 0] + y * whole[j, 1] + z * whole[j, 2] - offset)
        if highest <= beyond:  # no part comes near this face
            continue
        for k in range(len(points)):
            for j in range(points.shape[1]):
                height = x * points[k, j, 0] + y * points[k, j, 1] + z * points[k, j, 2] - offset
                worst[k] = max(worst[k], height)


@compiled
def cheapest_switching(
    points: Array,
    whole: Array,
    A: Array,
    b: Array,
    ends: Indices,
    contacts: Indices,
    lengths: Indices,
    weights: Array,
    buffer: Array,
    choices: Indices,
    cuts: Indices,
    found: Array,
) -> None:
    """Write the parts of a curve at which the phases change, so that the summed cost of the parts is least.

    Args:
        points: control points of the parts, (parts, n + 1, 3) [m].
        whole: of the whole curve, (n + 1, 3) [m].
        A: unit normals of the reach and the region of each phase in turn, (m, 3).
        b: offsets, (m,) [m].
        ends: end of these rows, of reach and region of each phase, (2 phases,); −1 for an empty region.
        contacts: number of contacts of each phase, (phases,).
        lengths: minimum number of parts of each phase, (phases,).
        weights: of the violation of the reach, of the margin, of a contact; largest margin that counts in the region,
            in the reach [m]; tolerance of the violation of the reach [m], (6,).
        buffer: work array, (2 phases + 3, parts + 1).
        choices: work array, (phases, parts + 1).
        cuts: output, (phases − 1,).
        found: output: largest violation of a reach and of a region, smallest margin in a region [m], the cost; (4,).
    """
    parts, phases = len(points), len(contacts)
    best, starts, sums = buffer[2 * phases], buffer[2 * phases + 1], buffer[2 * phases + 2]
    start = 0
    for row in range(phases):
        reach, region = buffer[2 * row], buffer[2 * row + 1]
        largest_violations(points, whole, A[start : ends[2 * row]], b[start : ends[2 * row]], -weights[4], reach)
        start = ends[2 * row]
        if ends[2 * row + 1] < 0:  # an empty region has no preference
            for k in range(parts):
                region[k] = 1.0
        else:
            largest_violations(
                points, whole, A[start : ends[2 * row + 1]], b[start : ends[2 * row + 1]], -weights[3], region
            )
            start = ends[2 * row + 1]
        sums[0] = 0.0
        for k in range(parts):
            spare = weights[3] + weights[4] - max(-region[k], 0.0) + min(reach[k], 0.0)
            reach[k] = reach[k] if reach[k] > weights[5] else 0.0
            cost = weights[0] * reach[k] + max(region[k], 0.0) + (weights[1] * spare + weights[2] * contacts[row])
            sums[k + 1] = sums[k] + cost
        if row == 0:
            for k in range(parts + 1):  # best[k]: least cost of the first k parts with the phases so far
                best[k] = sums[k] if k >= lengths[0] else np.inf
            continue
        lowest, where = np.inf, 0
        for k in range(parts + 1):  # last minimiser so far
            value = best[k] - sums[k]
            if value <= lowest:
                lowest, where = value, k
            starts[k] = lowest
            choices[row, k] = where
        least = lengths[row]
        for k in range(parts + 1):
            best[k] = starts[k - least] + sums[k] if k >= least else np.inf
    found[0], found[1], found[2], found[3] = 0.0, 0.0, np.inf, best[parts]
    end = parts
    for row in range(phases - 1, -1, -1):
        first = 0
        if row > 0:
            first = choices[row, end - lengths[row]]
            cuts[row - 1] = first
        for k in range(first, end):
            found[0] = max(found[0], buffer[2 * row, k])
            found[1] = max(found[1], buffer[2 * row + 1, k])
            found[2] = min(found[2], max(-buffer[2 * row + 1, k], 0.0))
        end = first
