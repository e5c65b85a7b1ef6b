"""Verification of solutions by the residuals of the Karush-Kuhn-Tucker conditions."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf

from multi_qp_controller.qp.problem import QPProblem
from multi_qp_controller.qp.solution import Solution
from multi_qp_scene.arrays import Array

#: Share of the largest term of the gradient, times the tolerance, that is allowed as a residual of each entry.
_SHARED = 1e-3
#: Largest plausible term of the gradient.
_LARGEST = 1e30
#: Rounding of a sum, relative to the sum of the magnitudes of its terms.
_ROUNDING = 1e-13
#: Relative distance from a side, as in `flaw`, below which it counts as active when multipliers are estimated.
_ACTIVE = 1e-6


def flaw(problem: QPProblem, solution: Solution, tolerance: float) -> str:
    """Return a message if a solution is not an optimum of a convex problem, else an empty string.

    With ε the tolerance and |a| the norm of a row a:
    - primal: a'x violates no side s by more than ε (min(1, |a|) + |s|), besides rounding: 1e-13 |a|'|x|, or 1e-13 where
      a = 0;
    - dual: each entry of H x + g + A'y + C'z + z_bounds is at most ε times its largest term and 1e-3 ε times the
      largest term of all entries, with variables scaled by the diagonal of H; no multiplier belongs to an infinite
      side;
    - complementarity and duality gap: Σ |multiplier| (distance from its side), and Σ |x_j (entry j of the gradient)|,
      are each at most ε (½ x'Hx + |g|'|x| + Σ |multiplier| (min(1, |a|) + |s|)). Their sum is no less than the
      difference of the objectives of the problem and of its dual.

    Args:
        problem: the problem, finite, without crossing sides.
        solution: x, and all multipliers if the dual conditions are to be checked.
        tolerance: ε.
    """
    x = solution.x
    if not np.isfinite(x).all():
        return "the solution is not finite"
    values = problem.A @ x, problem.C @ x, x
    sides = (problem.b, problem.b), (problem.l, problem.u), (problem.lb, problem.ub)
    rows = problem.A, problem.C, None
    for matrix, value, (low, high) in zip(rows, values, sides, strict=True):
        violation = _violation(matrix, value, low, high, x, tolerance)
        if violation > 0.0:
            return f"the solution violates a row by {violation:.3g}"
    if solution.y_eq is None or solution.z_ineq is None or solution.z_bounds is None:
        return ""
    multipliers = solution.y_eq, solution.z_ineq, solution.z_bounds
    if not all(np.isfinite(z).all() for z in multipliers):
        return "a multiplier is not finite"
    return _dual_flaw(problem, x, multipliers, values, tolerance)


def _violation(matrix: Array | None, value: Array, low: Array, high: Array, x: Array, tolerance: float) -> float:
    """Return the largest violation beyond the tolerance, else 0."""
    violation = np.maximum(low - value, value - high)
    side = np.where(value < low, low, high)
    bad = np.flatnonzero(violation > tolerance * np.abs(side))  # norms are computed for these few rows only
    if not len(bad):
        return 0.0
    norm, rounding = np.ones(len(bad)), np.zeros(len(bad))
    if matrix is not None:
        picked = matrix[bad]
        norm = np.minimum(1.0, np.sqrt(np.einsum("ij,ij->i", picked, picked)))
        rounding = _ROUNDING * np.where(norm > 0.0, np.abs(picked) @ np.abs(x), 1.0)  # 0'x ≤ -1e-17 is rounding too
    bad = bad[violation[bad] > tolerance * (norm + np.abs(side[bad])) + rounding]
    return float(violation[bad].max(initial=0.0))


def _dual_flaw(
    problem: QPProblem, x: Array, multipliers: tuple[Array, Array, Array], values: tuple[Array, Array, Array],
    tolerance: float,
) -> str:  # fmt: skip
    y, z, z_bounds = multipliers
    Hx = problem.H @ x
    terms = [Hx, problem.g, y @ problem.A, z @ problem.C, z_bounds]
    gradient = sum(terms[1:], terms[0])
    sizes = np.maximum.reduce([np.abs(term) for term in terms])
    largest = float(sizes.max(initial=0.0))
    if not largest < _LARGEST:
        return f"the cost has terms of {largest:.3g}, which dominate all others numerically"
    diagonal = np.abs(problem.H.diagonal())
    unit = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))  # of the gradient, where variables are scaled by H
    shared = np.where(diagonal > 0.0, np.minimum(largest, unit * (sizes / unit).max(initial=0.0)), largest)
    allowance = tolerance * (sizes + _SHARED * shared) + 1e-14 + 1e-12 * diagonal
    bad = np.abs(gradient) > allowance
    if bad.any():
        k = np.flatnonzero(bad)
        summed = np.abs(problem.H[k]) @ np.abs(x) + np.abs(problem.A[:, k].T) @ np.abs(y)
        summed += np.abs(problem.C[:, k].T) @ np.abs(z)
        if (np.abs(gradient[k]) > allowance[k] + _ROUNDING * summed).any():
            return f"the solution is not an optimum: its gradient is {float(np.abs(gradient[k]).max()):.3g}"
    if (np.abs(x @ problem.H - Hx) > allowance + 1e-9 * np.abs(Hx)).any():
        if not np.allclose(problem.H, problem.H.T, rtol=1e-9, atol=1e-12 * float(np.abs(problem.H).max(initial=0.0))):
            return "the Hessian is not symmetric"
    scale = abs(0.5 * float(x @ Hx)) + float(np.abs(problem.g) @ np.abs(x)) + float(np.abs(y) @ np.abs(problem.b))
    product, sign = 0.0, 0.0
    for matrix, value, low, high, multiplier in (
        (problem.C, values[1], problem.l, problem.u, z),
        (None, x, problem.lb, problem.ub, z_bounds),
    ):
        active = np.flatnonzero(multiplier)
        if not len(active):
            continue
        side, size = np.where(multiplier > 0, high, low)[active], np.abs(multiplier[active])
        norm = np.ones(len(active)) if matrix is None else np.sqrt((matrix[active] ** 2).sum(axis=1))
        missing = np.isinf(side)
        sign = max(sign, float((size * norm)[missing].max(initial=0.0)))
        finite = ~missing
        distance = np.abs(value[active] - np.where(missing, 0.0, side))[finite]
        product += float(size[finite] @ distance)
        scale += float(size[finite] @ (np.minimum(1.0, norm[finite]) + np.abs(side[finite])))
    if sign > tolerance * _SHARED * largest + 1e-14:
        return f"a multiplier of an infinite side is {sign:.3g}"
    if product > tolerance * scale + 1e-14:
        return f"nonzero multipliers of rows that are not active: complementarity {product:.3g}"
    gap = float(np.abs(gradient) @ np.abs(x))
    if gap > tolerance * scale + 1e-14:
        return f"the duality gap is {gap:.3g}"
    return ""


def is_convex(H: Array) -> bool:
    """Return whether a symmetric matrix has no negative eigenvalue, up to rounding relative to its diagonal."""
    if dpotrf(H)[1] == 0:
        return True
    diagonal = H.diagonal()
    if (diagonal < 0.0).any():
        return False
    scale = np.where(diagonal > 0.0, diagonal, 1.0) ** -0.5
    scaled = H * np.outer(scale, scale)
    scaled[np.diag_indices(len(H))] += 1e-9
    return bool(dpotrf(scaled)[1] == 0)


def with_multipliers(problem: QPProblem, solution: Solution) -> Solution:
    """Return a solution with estimated multipliers, for backends without multipliers.

    Rows near their sides count as active; their multipliers are the non-negative least-squares solution of the
    stationarity condition, with variables scaled by the diagonal of H.
    """
    from scipy.optimize import nnls  # slow to import

    x = solution.x
    diagonal = problem.H.diagonal()
    scale = np.where(diagonal > 0.0, diagonal, 1.0) ** -0.5
    rows = np.concatenate([problem.C, np.eye(problem.n)])
    low, high = np.concatenate([problem.l, problem.lb]), np.concatenate([problem.u, problem.ub])
    value = np.concatenate([problem.C @ x, x])
    norm = np.minimum(1.0, np.sqrt((rows * rows).sum(axis=1)))
    lower = np.flatnonzero(np.isfinite(low) & (value - low <= _ACTIVE * (norm + np.abs(low))))
    upper = np.flatnonzero(np.isfinite(high) & (high - value <= _ACTIVE * (norm + np.abs(high))))
    pushing = np.concatenate([-rows[lower], rows[upper], problem.A, -problem.A]) * scale
    lengths = np.sqrt((pushing * pushing).sum(axis=1))
    lengths[lengths == 0.0] = 1.0
    found = np.zeros(0)
    if len(pushing):  # scipy 1.17 frees memory twice without columns
        found = nnls((pushing / lengths[:, None]).T, -(problem.H @ x + problem.g) * scale)[0] / lengths
    parts = np.split(found, np.cumsum([len(lower), len(upper), problem.m]))
    z = np.zeros(len(rows))
    z[lower] -= parts[0]
    z[upper] += parts[1]
    solution.y_eq, solution.z_ineq, solution.z_bounds = parts[2] - parts[3], z[: problem.p], z[problem.p :]
    return solution
