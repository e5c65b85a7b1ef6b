"""Compiled kernel of the dual problem of the contact forces, see `contact_forces`."""

from __future__ import annotations

import math

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled, compiled_part

#: Share of the predicted decrease that a step must reach; smallest share of a Newton step.
_DECREASE, _LEAST_SHARE = 1e-4, 1e-8


@compiled_part
def _project(pull: Array, friction: float, force: Array, D: Array) -> None:
    """Write the nearest force with |(fx, fy)| ≤ μ fz, (3,), and a generalised derivative of it, (3, 3).

    With infinite μ the force may have any direction, as that of a grasp.
    """
    tangential = math.sqrt(pull[0] ** 2 + pull[1] ** 2)
    D[:] = 0.0
    if friction == np.inf or tangential <= friction * pull[2]:
        for i in range(3):
            force[i] = pull[i]
            D[i, i] = 1.0
    elif friction * tangential <= -pull[2]:
        force[:] = 0.0
    else:
        height = (friction * tangential + pull[2]) / (1.0 + friction**2)
        x, y = pull[0] / tangential, pull[1] / tangential
        force[0], force[1], force[2] = friction * height * x, friction * height * y, height
        ray = np.array([friction * x, friction * y, 1.0])
        for i in range(3):
            for j in range(3):
                D[i, j] = ray[i] * ray[j] / (1.0 + friction**2)
        bend = friction * height / tangential
        D[0, 0] += bend * y * y
        D[1, 1] += bend * x * x
        D[0, 1] -= bend * x * y
        D[1, 0] -= bend * x * y


@compiled_part
def _evaluate(
    blocks: Array,
    offset: Array,
    weights: Array,
    effort: float,
    friction: Array,
    nominal: Array,
    multipliers: Array,
    forces: Array,
    F: Array,
    H: Array,
) -> float:
    """Write the forces, the gradient F and the Hessian of the negative dual function; return its value."""
    pull, D, AD = np.empty(3), np.empty((3, 3)), np.empty((12, 3))
    value = 0.0
    H[:] = 0.0
    for i in range(12):
        F[i] = multipliers[i] / weights[i] - offset[i]
        H[i, i] = 1.0 / weights[i]
        value += multipliers[i] * (0.5 * multipliers[i] / weights[i] - offset[i])
    for k in range(len(nominal)):
        A, f = blocks[k], forces[k]
        for d in range(3):
            along = 0.0
            for i in range(12):
                along += A[i, d] * multipliers[i]
            pull[d] = nominal[k, d] - along / effort
        _project(pull, friction[k], f, D)
        for d in range(3):
            value -= effort * (0.5 * (f[d] - nominal[k, d]) ** 2 + (nominal[k, d] - pull[d]) * f[d])
        if f[2] == 0.0 and D[2, 2] == 0.0:
            continue
        for i in range(12):
            for d in range(3):
                F[i] -= A[i, d] * f[d]
                AD[i, d] = (A[i, 0] * D[0, d] + A[i, 1] * D[1, d] + A[i, 2] * D[2, d]) / effort
        for i in range(12):
            for j in range(i + 1):
                H[i, j] += AD[i, 0] * A[j, 0] + AD[i, 1] * A[j, 1] + AD[i, 2] * A[j, 2]
    return value


@compiled_part
def _solve(H: Array, F: Array, step: Array) -> None:
    """Write the solution of H step = −F by a Cholesky factorisation of the lower triangle of H, in place."""
    for i in range(12):
        for j in range(i + 1):
            rest = H[i, j]
            for k in range(j):
                rest -= H[i, k] * H[j, k]
            H[i, j] = math.sqrt(rest) if i == j else rest / H[j, j]
    for i in range(12):
        rest = -F[i]
        for k in range(i):
            rest -= H[i, k] * step[k]
        step[i] = rest / H[i, i]
    for i in range(11, -1, -1):
        rest = step[i]
        for k in range(i + 1, 12):
            rest -= H[k, i] * step[k]
        step[i] = rest / H[i, i]


@compiled
def solve_dual(
    blocks: Array,
    offset: Array,
    weights: Array,
    effort: float,
    friction: Array,
    nominal: Array,
    multipliers: Array,
    forces: Array,
    steps: int,
    tolerance: float,
) -> float:
    """Find the optimal multipliers and forces; return the norm of F.

    Args:
        blocks: A by force, (k, 12, 3).
        offset: c − ȳ, (12,).
        weights: diagonal of W, (12,).
        effort: w.
        friction: Coulomb coefficient μ of each force; infinite for any direction, (k,).
        nominal: f₀, (k, 3) [N].
        multipliers: first λ; to overwrite, (12,).
        forces: to fill, (k, 3) [N].
        steps: largest number of Newton steps.
        tolerance: norm of F at which they end.
    """
    F, H, step = np.empty(12), np.empty((12, 12)), np.empty(12)
    value = _evaluate(blocks, offset, weights, effort, friction, nominal, multipliers, forces, F, H)
    for _ in range(steps):
        if math.sqrt(np.sum(F * F)) <= tolerance:
            break
        _solve(H, F, step)
        slope, share, before, last = np.sum(F * step), 1.0, value, multipliers.copy()
        while True:
            for i in range(12):
                multipliers[i] = last[i] + share * step[i]
            value = _evaluate(blocks, offset, weights, effort, friction, nominal, multipliers, forces, F, H)
            if value <= before + _DECREASE * share * slope + 1e-12 * abs(before) or share < _LEAST_SHARE:
                break
            share *= 0.5
    return math.sqrt(np.sum(F * F))
