"""Polishing: from the answer of an iterative backend to the exact optimum on the same active set."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.qp.problem import Problem
from multi_qp_controller.qp.solution import Solution

Array = NDArray[np.float64]
Signs = NDArray[np.int8]

#: Corrections of the active set before the answer is left as it is.
MAX_CORRECTIONS = 5
#: A row violated by more than this joins the active set, relative to 1 + |value of the row|.
PRIMAL_TOLERANCE = 1e-9
#: A multiplier of the wrong sign by more than this leaves it, relative to the largest gradient.
DUAL_TOLERANCE = 1e-10


@dataclass
class _ActiveSet:
    """Sides that hold with equality: −1 the lower, +1 the upper, 0 neither.

    Attributes:
        rows: of the inequality rows, (p,).
        bounds: of the variables, (n,).
    """

    rows: Signs
    bounds: Signs


def polished(problem: Problem, answer: Solution) -> Solution | None:
    """Return the optimum on the active set of an answer, None where that does not come out as an optimum.

    Interior-point and proximal methods stop when residuals are small; where an objective is as flat as that of contact
    forces, x may still be off by more than these. A constraint counts as active when its multiplier is larger than its
    slack; the equality-constrained problem that is left is one linear system. Constraints that turn out violated or
    pushed the wrong way are corrected a few times.
    """
    if answer.z_ineq is None or answer.z_bounds is None:
        return None
    active = _ActiveSet(
        _sides(answer.z_ineq, problem.C @ answer.x, problem.l, problem.u),
        _sides(answer.z_bounds, answer.x, problem.lb, problem.ub),
    )
    for _ in range(MAX_CORRECTIONS):
        try:
            x, y_eq, z_ineq, z_bounds = _on_active_set(problem, active)
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(x).all():
            return None
        if not _correct(problem, active, x, z_ineq, z_bounds):
            return replace(answer, x=x, y_eq=y_eq, z_ineq=z_ineq, z_bounds=z_bounds)
    return None


def _sides(z: Array, value: Array, low: Array, high: Array) -> Signs:
    sides = np.zeros(len(z), dtype=np.int8)
    sides[(z < 0) & (-z > value - low)] = -1
    sides[(z > 0) & (z > high - value)] = 1
    sides[low == high] = 1
    return sides


def _on_active_set(problem: Problem, active: _ActiveSet) -> tuple[Array, Array, Array, Array]:
    """Solve the problem with the active sides as equalities: x and the multipliers of rows and bounds."""
    free, fixed = np.flatnonzero(active.bounds == 0), np.flatnonzero(active.bounds)
    rows = np.flatnonzero(active.rows)
    x = np.zeros(problem.n)
    x[fixed] = np.where(active.bounds[fixed] > 0, problem.ub[fixed], problem.lb[fixed])
    G = np.vstack([problem.A, problem.C[rows]])
    h = np.concatenate([problem.b, np.where(active.rows[rows] > 0, problem.u[rows], problem.l[rows])]) - G @ x
    gradient = problem.g + problem.H @ x
    nf, m = len(free), len(h)
    # symmetric scaling: unit diagonal of H, unit rows of G
    scale = 1.0 / np.sqrt(problem.H[free, free])
    G_free = G[:, free] * scale
    lengths = np.linalg.norm(G_free, axis=1)
    lengths[lengths == 0.0] = 1.0
    K = np.zeros((nf + m, nf + m))
    K[:nf, :nf] = problem.H[np.ix_(free, free)] * np.outer(scale, scale)
    K[nf:, :nf] = G_free / lengths[:, None]
    K[:nf, nf:] = K[nf:, :nf].T
    right = np.concatenate([-gradient[free] * scale, h / lengths])
    solved = np.linalg.solve(K, right)
    solved += np.linalg.solve(K, right - K @ solved)
    x[free] = solved[:nf] * scale
    multipliers = solved[nf:] / lengths
    y_eq, z_ineq = multipliers[: problem.m], np.zeros(problem.p)
    z_ineq[rows] = multipliers[problem.m :]
    z_bounds = np.zeros(problem.n)
    z_bounds[fixed] = -(problem.H @ x + problem.g + multipliers @ G)[fixed]
    return x, y_eq, z_ineq, z_bounds


def _correct(problem: Problem, active: _ActiveSet, x: Array, z_ineq: Array, z_bounds: Array) -> bool:
    """Drop sides that pull, add sides that are violated; return whether anything changed."""
    slope = DUAL_TOLERANCE * (1.0 + float(np.abs(problem.g).max(initial=0.0)))
    changed = False
    for sides, z, value, low, high in (
        (active.rows, z_ineq, problem.C @ x, problem.l, problem.u),
        (active.bounds, z_bounds, x, problem.lb, problem.ub),
    ):
        wrong = (sides * z < -slope) & (low < high)
        room = PRIMAL_TOLERANCE * (1.0 + np.abs(value))
        below, above = value < low - room, value > high + room
        if wrong.any() or below.any() or above.any():
            sides[wrong] = 0
            sides[below], sides[above] = -1, 1
            changed = True
    return changed
