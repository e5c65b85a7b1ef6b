"""What can be done about a problem that a backend failed on. None of it runs before a failure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from multi_qp_controller.qp.problem import Problem

Array = NDArray[np.float64]

RANK_TOLERANCE = 1e-10
"""A row counts as dependent when less than this fraction of it lies outside the span of the others."""

REGULARISATION = 1e-12
"""Added to the Hessian's diagonal, relative to its largest entry, when a backend failed on it."""


def independent_equalities(A: Array, b: Array, *, tolerance: float) -> tuple[NDArray[np.int64], bool]:
    """Return a largest set of linearly independent rows of A, and whether the other rows agree with it.

    QR with column pivoting of the transposed, normalised rows [Golub2013]_. A dependent row a = sum c_i a_i
    agrees when |b - sum c_i b_i| <= tolerance (1 + sum |c_i b_i|), in units of the normalised row.

    Args:
        A: equality rows, (m, n).
        b: right-hand side, (m,).
        tolerance: disagreement that passes as round-off.
    """
    if not len(b):
        return np.arange(0), True
    scale = np.linalg.norm(A, axis=1)
    scale[scale == 0] = 1.0
    rows, rhs = A / scale[:, None], b / scale
    R, order = qr(rows.T, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > RANK_TOLERANCE).sum())
    kept, rest = order[:rank], order[rank:]
    coefficients = solve_triangular(R[:rank, :rank], R[:rank, rank:]) if rank else np.zeros((0, len(rest)))
    predicted = coefficients.T @ rhs[kept]
    allowed = tolerance * (1 + np.abs(coefficients).T @ np.abs(rhs[kept]))
    return np.sort(kept).astype(np.int64), bool((np.abs(rhs[rest] - predicted) <= allowed).all())


def regularised(problem: Problem) -> Problem:
    """Return the problem with REGULARISATION times the largest diagonal entry added to the diagonal of H."""
    extra = REGULARISATION * max(float(np.abs(np.diag(problem.H)).max(initial=0.0)), 1.0)
    return replace(problem, H=problem.H + extra * np.eye(problem.n))


def mend_bounds(problem: Problem, *, tolerance: float) -> Problem | None:
    """Return the problem with sides that cross by round-off made equal; None if they cross by more."""
    rows = _mend(problem.l, problem.u, tolerance)
    bounds = _mend(problem.lb, problem.ub, tolerance)
    if rows is None or bounds is None:
        return None
    return replace(problem, l=rows[0], u=rows[1], lb=bounds[0], ub=bounds[1])


def _mend(low: Array, high: Array, tolerance: float) -> tuple[Array, Array] | None:
    crossed = low > high
    if not crossed.any():
        return low, high
    middle = 0.5 * (low[crossed] + high[crossed])
    if not (low[crossed] - high[crossed] <= tolerance * (1 + np.abs(middle))).all():
        return None
    low, high = low.copy(), high.copy()
    low[crossed] = high[crossed] = middle
    return low, high
