"""Compiled step of the dual active-set method for the point of least norm in a polyhedron of three dimensions.

Source: [Goldfarb1983].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multi_qp_scene.jit import compiled_part

_PARALLEL = 1e-10  # squared sine of the angle to the active rows below which a row depends on them
_STILL = 1e-12  # rows below do not depend on x


@compiled_part
def activate(curve: Any, active: int, violation: float) -> int:
    """Move x until the row to be added holds, keeping the active rows; one step of the dual method.

    Args:
        curve: see `dynamic_kernel.CurveData`; the row to be added, of any length, is the last of its rows.
        active: number of active rows.
        violation: of the row at x.

    Returns:
        Number of active rows; −1 if no x satisfies all of them.
    """
    row, u = curve.rows[3], curve.multipliers
    size = np.sqrt(row[0] ** 2 + row[1] ** 2 + row[2] ** 2)
    if size < _STILL:
        return -1
    for j in range(3):
        row[j] /= size
    violation /= size
    u[3] = 0.0
    for _ in range(8):
        orthogonalise(curve, active)
        length = 0.0  # of the part of the row across the active ones, which is written to its factor
        for j in range(3):
            length += curve.factor[3, j] ** 2
        blocking, step = -1, np.inf
        for k in range(active):
            if curve.shares[k] > _STILL and u[k] / curve.shares[k] < step:
                blocking, step = k, u[k] / curve.shares[k]
        dependent = length < _PARALLEL
        if dependent and blocking < 0:
            return -1
        complete = not dependent and violation / length <= step
        if complete:
            step = violation / length
        for k in range(active):
            u[k] -= step * curve.shares[k]
        u[3] += step
        if not dependent:
            for j in range(3):
                curve.x[j] -= step * curve.factor[3, j]
            violation -= step * length
        if complete:
            for j in range(3):
                curve.rows[active, j] = row[j]
            u[active] = u[3]
            return active + 1
        active -= 1
        for k in range(blocking, active):
            u[k] = u[k + 1]
            for j in range(3):
                curve.rows[k, j] = curve.rows[k + 1, j]
    return -1


@compiled_part
def orthogonalise(curve: Any, active: int) -> None:
    """Write the part of the row to be added across the active rows, and the shares of these in the rest."""
    rows, plane, factor = curve.rows, curve.plane, curve.factor
    for k in range(active + 1):
        source = k if k < active else 3
        for j in range(3):
            factor[3, j] = rows[source, j]
        for m in range(min(k, active)):
            share = 0.0
            for j in range(3):
                share += plane[m, j] * factor[3, j]
            for j in range(3):
                factor[3, j] -= share * plane[m, j]
            if k < active:
                factor[k, m] = share
            else:
                curve.shares[m] = share
        if k < active:
            length = np.sqrt(factor[3, 0] ** 2 + factor[3, 1] ** 2 + factor[3, 2] ** 2)
            factor[k, k] = length
            for j in range(3):
                plane[k, j] = factor[3, j] / length
    for k in range(active - 1, -1, -1):  # row = Σ shares · active rows: solve with the transposed factor
        for m in range(k + 1, active):
            curve.shares[k] -= factor[m, k] * curve.shares[m]
        curve.shares[k] /= factor[k, k]
