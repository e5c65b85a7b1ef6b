"""How far parts of a curve leave what a phase allows; compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.jit import compiled

Array = NDArray[np.float64]


@compiled
def judge(points: Array, whole: Array, A: Array, b: Array, beyond: float, worst: Array) -> None:
    """Write the largest A p − b over the control points p of each part, or `beyond` if that is larger.

    Args:
        points: control points of the parts, (parts, n + 1, 3) [m].
        whole: control points of the whole curve, whose hull holds all of them, (n + 1, 3) [m].
        A: unit normals, (m, 3).
        b: offsets, (m,) [m].
        beyond: what is less is not told apart [m].
        worst: (parts,) [m], to be filled.
    """
    for k in range(len(points)):
        worst[k] = beyond
    for i in range(len(b)):
        x, y, z, offset = A[i, 0], A[i, 1], A[i, 2], b[i]
        highest = beyond
        for j in range(len(whole)):
            highest = max(highest, x * whole[j, 0] + y * whole[j, 1] + z * whole[j, 2] - offset)
        if highest <= beyond:  # no part can come near this face
            continue
        for k in range(len(points)):
            for j in range(points.shape[1]):
                height = x * points[k, j, 0] + y * points[k, j, 1] + z * points[k, j, 2] - offset
                worst[k] = max(worst[k], height)
