"""Compiled kernels for rotations between poses."""

from __future__ import annotations

import math

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled, compiled_part


@compiled_part
def rotation_vector(E: Array, out: Array) -> None:
    """Write the rotation vector of E, (3, 3), through its quaternion, which is well-conditioned at any angle."""
    trace = E[0, 0] + E[1, 1] + E[2, 2]
    if trace > 0.0:
        w = 0.5 * math.sqrt(1.0 + trace)
        for i in range(3):
            m, n = (i + 1) % 3, (i + 2) % 3
            out[i] = 0.25 / w * (E[n, m] - E[m, n])
    else:
        i = 0
        if E[1, 1] > E[0, 0]:
            i = 1
        if E[2, 2] > E[i, i]:
            i = 2
        m, n = (i + 1) % 3, (i + 2) % 3
        out[i] = 0.5 * math.sqrt(1.0 + E[i, i] - E[m, m] - E[n, n])
        out[m], out[n] = 0.25 / out[i] * (E[m, i] + E[i, m]), 0.25 / out[i] * (E[n, i] + E[i, n])
        w = 0.25 / out[i] * (E[n, m] - E[m, n])
        if w < 0.0:
            w = -w
            for j in range(3):
                out[j] = -out[j]
    length = math.sqrt(out[0] ** 2 + out[1] ** 2 + out[2] ** 2)
    scale = 2.0 * math.atan2(length, w) / length if length > 1e-9 else 2.0
    for i in range(3):
        out[i] *= scale


@compiled
def turn_between(start: Array, end: Array, first: Array, change: Array) -> float:
    """Write the path from one pose to another by a rotation about one axis; return its angle [rad].

    Args:
        start: X_B_start, (4, 4).
        end: X_B_end, (4, 4).
        first: output, values at the start, see `PoseSample`, (24,), zero on entry.
        change: output, see `Path`, (24, 5), zero on entry.
    """
    E, r, about = np.zeros((3, 3)), np.empty(3), np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                E[i, j] += start[k, i] * end[k, j]
    rotation_vector(E, r)
    angle = math.sqrt(r[0] ** 2 + r[1] ** 2 + r[2] ** 2)
    if angle > 0.0:
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            about[k, j], about[j, k] = r[i] / angle, -r[i] / angle
    turned = np.zeros((3, 3))
    for i in range(3):
        first[i] = start[i, 3]
        step, rate = end[i, 3] - start[i, 3], 0.0
        for j in range(3):
            first[3 + 3 * i + j] = start[i, j]
            rate += start[i, j] * r[j]
            for k in range(3):
                turned[i, j] += start[i, k] * about[k, j]
        change[i, 0] = change[12 + i, 1] = change[18 + i, 2] = step
        change[15 + i, 1] = change[21 + i, 2] = rate
    for i in range(3):
        for j in range(3):
            row = 3 + 3 * i + j
            change[row, 3] = turned[i, j]
            for k in range(3):
                change[row, 4] += turned[i, k] * about[k, j]
    return angle
