"""Polishing: exact optimum on the active set of an approximate solution."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.qp.problem import QPProblem
from multi_qp_controller.qp.solution import Solution
from multi_qp_scene.arrays import Array

Signs = NDArray[np.int8]

#: Largest number of corrections of the active set.
MAX_CORRECTIONS = 5
#: A row violated by more than this joins the active set, relative to 1 + |value of the row|.
PRIMAL_TOLERANCE = 1e-9
#: A multiplier of the wrong sign by more than this leaves it, relative to the largest gradient.
DUAL_TOLERANCE = 1e-10

#: Diagonal regularisation for dependent active rows or a flat cost, and refinement steps that remove its effect.
_SHIFT, _REFINEMENTS = 1e-8, 12


@dataclass
class _ActiveSet:
    """Active sides: −1 lower, +1 upper, 0 none.

    Attributes:
        rows: of the inequality rows, (p,).
        bounds: of the variables, (n,).
    """

    rows: Signs
    bounds: Signs


def polished(problem: QPProblem, solution: Solution) -> Solution | None:
    """Return the optimum on the active set of a solution, or None if it is not an optimum of the problem.

    Interior-point and proximal methods stop at small residuals; for objectives as flat as that of contact forces, the
    error of x may be larger. A constraint counts as active if its multiplier is larger than its slack; the resulting
    equality-constrained problem is one linear system. Violated constraints and multipliers of the wrong sign are
    corrected a few times.
    """
    if solution.z_ineq is None or solution.z_bounds is None:
        return None
    for shift in (0.0, _SHIFT):
        exact = _corrected(problem, solution, shift)
        if exact is not None:
            return exact
    return None


def _corrected(problem: QPProblem, solution: Solution, shift: float) -> Solution | None:
    assert solution.z_ineq is not None and solution.z_bounds is not None
    active = _ActiveSet(
        _sides(solution.z_ineq, problem.C @ solution.x, problem.l, problem.u),
        _sides(solution.z_bounds, solution.x, problem.lb, problem.ub),
    )
    for _ in range(MAX_CORRECTIONS):
        try:
            x, y_eq, z_ineq, z_bounds = _on_active_set(problem, active, shift)
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(x).all():
            return None
        if not _correct(problem, active, x, z_ineq, z_bounds):
            return replace(solution, x=x, y_eq=y_eq, z_ineq=z_ineq, z_bounds=z_bounds)
    return None


def _sides(z: Array, value: Array, low: Array, high: Array) -> Signs:
    sides = np.zeros(len(z), dtype=np.int8)
    sides[(z < 0) & (-z > value - low)] = -1
    sides[(z > 0) & (z > high - value)] = 1
    sides[low == high] = 1
    return sides


def _on_active_set(problem: QPProblem, active: _ActiveSet, shift: float) -> tuple[Array, Array, Array, Array]:
    """Solve the problem with the active sides as equalities; return x, y_eq, z_ineq and z_bounds."""
    free, fixed = np.flatnonzero(active.bounds == 0), np.flatnonzero(active.bounds)
    rows = np.flatnonzero(active.rows)
    x = np.zeros(problem.n)
    x[fixed] = np.where(active.bounds[fixed] > 0, problem.ub[fixed], problem.lb[fixed])
    G = np.vstack([problem.A, problem.C[rows]])
    h = np.concatenate([problem.b, np.where(active.rows[rows] > 0, problem.u[rows], problem.l[rows])]) - G @ x
    gradient = problem.g + problem.H @ x
    nf, m = len(free), len(h)
    # symmetric scaling: unit diagonal of H, unit rows of G
    diagonal = problem.H[free, free]
    scale = np.where(diagonal > 0.0, diagonal, 1.0) ** -0.5
    G_free = G[:, free] * scale
    lengths = np.linalg.norm(G_free, axis=1)
    lengths[lengths == 0.0] = 1.0
    K = np.zeros((nf + m, nf + m))
    K[:nf, :nf] = problem.H[np.ix_(free, free)] * np.outer(scale, scale)
    K[nf:, :nf] = G_free / lengths[:, None]
    K[:nf, nf:] = K[nf:, :nf].T
    right = np.concatenate([-gradient[free] * scale, h / lengths])
    solved = _solved(K, right, nf, shift)
    x[free] = solved[:nf] * scale
    multipliers = solved[nf:] / lengths
    y_eq, z_ineq = multipliers[: problem.m], np.zeros(problem.p)
    z_ineq[rows] = multipliers[problem.m :]
    z_bounds = np.zeros(problem.n)
    z_bounds[fixed] = -(problem.H @ x + problem.g + multipliers @ G)[fixed]
    return x, y_eq, z_ineq, z_bounds


def _solved(K: Array, right: Array, nf: int, shift: float) -> Array:
    """Solve the KKT system; a shift gives one of many solutions if it is singular."""
    if not shift:
        solved = np.linalg.solve(K, right)
        return np.asarray(solved + np.linalg.solve(K, right - K @ solved))
    diagonal = np.full(len(K), -shift)
    diagonal[:nf] = shift
    inverse = np.linalg.inv(K + np.diag(diagonal))
    solved = np.zeros(len(K))
    for _ in range(_REFINEMENTS):
        solved += inverse @ (right - K @ solved)
    return solved


def _correct(problem: QPProblem, active: _ActiveSet, x: Array, z_ineq: Array, z_bounds: Array) -> bool:
    """Drop sides with multipliers of the wrong sign, add violated sides; return whether the active set changed."""
    slope = DUAL_TOLERANCE * (1.0 + float(np.abs(problem.g).max(initial=0.0)))
    changed = False
    for sides, z, value, low, high in (
        (active.rows, z_ineq, problem.C @ x, problem.l, problem.u),
        (active.bounds, z_bounds, x, problem.lb, problem.ub),
    ):
        wrong = (sides * z < -slope) & (low < high)
        allowance = PRIMAL_TOLERANCE * (1.0 + np.abs(value))
        below, above = value < low - allowance, value > high + allowance
        if wrong.any() or below.any() or above.any():
            sides[wrong] = 0
            sides[below], sides[above] = -1, 1
            changed = True
    return changed
