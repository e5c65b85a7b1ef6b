"""Reference solver in extended precision, and residuals of the optimality conditions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.qp import QPProblem
from multi_qp_scene.arrays import Array

Long = NDArray[np.longdouble]


def solve_long(matrix: Long, rhs: Long) -> Long:
    """Solve a square system by Gaussian elimination with partial pivoting, in extended precision."""
    M = np.column_stack([matrix, rhs]).astype(np.longdouble)
    size = len(M)
    scale = np.abs(M[:, :size]).max(axis=1)
    M /= scale[:, None]
    for k in range(size):
        pivot = k + int(np.argmax(np.abs(M[k:, k])))
        if pivot != k:
            M[[k, pivot]] = M[[pivot, k]]
        M[k + 1 :, k:] -= np.outer(M[k + 1 :, k] / M[k, k], M[k, k:])
    x = np.zeros(size, dtype=np.longdouble)
    for k in range(size - 1, -1, -1):
        x[k] = (M[k, size] - M[k, k + 1 : size] @ x[k + 1 :]) / M[k, k]
    return x


def reference_solution(problem: QPProblem, z_ineq: Array, z_bounds: Array, *, rounds: int = 60) -> Array:
    """Return the optimum to about 1e-12, from a first guess of the active set given by multipliers.

    An active-set method in its simplest form: solve the KKT system of the guess, then let the worst row in
    or out.

    Raises:
        RuntimeError: if no active set passes within `rounds`.
    """
    n, m = problem.n, problem.m
    rows = np.vstack([problem.C, np.eye(n)])
    low, high = np.concatenate([problem.l, problem.lb]), np.concatenate([problem.u, problem.ub])
    side = np.sign(np.concatenate([z_ineq, z_bounds])).astype(int)
    for _ in range(rounds):
        active = np.flatnonzero(side)
        G = np.vstack([problem.A, rows[active]])
        rhs = np.concatenate([-problem.g, problem.b, np.where(side[active] > 0, high[active], low[active])])
        KKT = np.block([[problem.H, G.T], [G, np.zeros((len(G), len(G)))]])
        answer = solve_long(KKT.astype(np.longdouble), rhs.astype(np.longdouble))
        x, z = answer[:n], answer[n + m :]
        y = rows.astype(np.longdouble) @ x
        violation = np.maximum(low - y, y - high) / (1 + np.abs(y))
        violation[active] = 0
        wrong = -z * side[active] / np.abs(answer[n:]).max(initial=1e-12)
        if violation.max(initial=0) < 1e-13 and wrong.max(initial=0) < 1e-15:
            return np.asarray(x, dtype=float)
        if wrong.max(initial=0) >= 1e-15:
            side[active[int(np.argmax(wrong))]] = 0
        else:
            worst = int(np.argmax(violation))
            side[worst] = 1 if y[worst] > high[worst] else -1
    raise RuntimeError("no active set passed")


def primal_residual(problem: QPProblem, x: Array) -> float:
    """Return the largest violation of any row or bound at a finite x, each in its own unit."""
    y = problem.C @ x
    gaps = np.abs(problem.A @ x - problem.b), problem.l - y, y - problem.u, problem.lb - x, x - problem.ub
    return max(0.0, *(float(gap.max(initial=0.0)) for gap in gaps))


def dual_residual(problem: QPProblem, x: Array, y_eq: Array, z_ineq: Array, z_bounds: Array) -> float:
    """Return the largest entry of |H x + g + A'y_eq + C'z_ineq + z_bounds|."""
    gradient = problem.H @ x + problem.g + problem.A.T @ y_eq + problem.C.T @ z_ineq + z_bounds
    return float(np.abs(gradient).max(initial=0.0))


def complementarity(problem: QPProblem, x: Array, z_ineq: Array, z_bounds: Array) -> float:
    """Return the largest min(|multiplier|, |distance to its side|); 0 at an optimum."""
    value, z = np.concatenate([problem.C @ x, x]), np.concatenate([z_ineq, z_bounds])
    low, high = np.concatenate([problem.l, problem.lb]), np.concatenate([problem.u, problem.ub])
    distance = np.where(z > 0, high - value, value - low)
    return float(np.minimum(np.abs(z), np.abs(distance)).max(initial=0.0))
