"""Feasibility and boundedness of QPs by linear programs, with certificates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multi_qp_controller.qp.labels import Kind
from multi_qp_controller.qp.problem import QPProblem
from multi_qp_scene.arrays import Array

BoolArray = NDArray[np.bool_]

#: Least remaining time for which a linear program is started [s].
_SHORTEST = 0.05
#: Entries of H d below this, relative to the largest of H, count as zero.
_FLAT = 1e-10


class Row(NamedTuple):
    """One finite side of a problem.

    Attributes:
        kind: equality, inequality or bound.
        position: index of the row, or of the variable.
        norm: Euclidean norm of the row, 1 for a bound.
        side: +1 for an upper side, -1 for a lower one, 0 for an equality.
    """

    kind: Kind
    position: int
    norm: float
    side: int


@dataclass(frozen=True, slots=True)
class LeastViolation:
    """Solution of the linear program of least total violation, with every row scaled to norm 1.

    Attributes:
        rows: all k finite sides.
        violation: of each scaled row, >= 0, (k,).
        multiplier: of each scaled row written as "row <= side", (k,); in [0, 1], for equalities in [-1, 1].
            The sum of the rows weighted by these reads 0 <= -(sum of violations).
    """

    rows: list[Row]
    violation: Array
    multiplier: Array


def least_violation(problem: QPProblem, *, time_limit: float) -> LeastViolation:
    """Solve the linear program "least sum of violations of all rows and bounds" with HiGHS [Huangfu2018]_.

    Args:
        problem: the problem, finite; its cost is ignored. Bounds may cross.
        time_limit: of HiGHS [s].

    Raises:
        RuntimeError: if HiGHS returns no solution.
    """
    rows, matrix, rhs = _collect(problem)
    equal = np.array([row.side == 0 for row in rows], dtype=bool)
    if not rows:
        return LeastViolation(rows=[], violation=np.zeros(0), multiplier=np.zeros(0))
    try:
        result = _elastic(matrix, rhs, int(equal.sum()), time_limit=time_limit)
    except ValueError as error:
        raise RuntimeError(f"the linear program was rejected ({error})") from error
    if result.status != 0 or result.x is None:
        raise RuntimeError(f"the linear program was not solved ({result.message})")
    violation, multiplier = _slacks(problem.n, result, int(equal.sum()))
    return LeastViolation(rows=rows, violation=violation, multiplier=multiplier)


def is_feasible(problem: QPProblem, *, tolerance: float, time_limit: float) -> bool | None:
    """Return whether a problem is feasible; None if that was not decided in time.

    False is certified by multipliers: for no x with |x_j| <= 1e6 (1 + largest side) do the rows, scaled to norm 1, hold
    within tolerance (1 + |side|) each [Farkas1902]_.
    """
    if time_limit < _SHORTEST:
        return None
    try:
        least = least_violation(problem, time_limit=time_limit)
    except RuntimeError:
        return None
    rows, matrix, rhs = _collect(problem)
    allowance = tolerance * (1.0 + np.abs(rhs))
    if (least.violation <= allowance).all():
        return True
    y = least.multiplier.copy()
    sided = np.array([row.side != 0 for row in rows], dtype=bool)
    y[sided] = y[sided].clip(0.0)
    farthest = 1e6 * (1.0 + float(np.abs(rhs).max(initial=0.0)))
    short = -float(y @ rhs) - farthest * float(np.abs(matrix.T @ y).sum())
    return False if short > float(np.abs(y) @ allowance) else None


def is_unbounded(problem: QPProblem, *, time_limit: float) -> bool:
    """Return whether the cost of a feasible problem is unbounded below.

    Then a direction d exists with H d = 0, A d = 0, C d >= 0 for lower sides and <= 0 for upper ones, likewise for
    bounds, and g'd < 0. A linear program computes it; then it is verified.
    """
    from scipy.optimize import linprog

    if time_limit < _SHORTEST:
        return False
    rows = np.concatenate([problem.C, np.eye(problem.n)])
    low, high = np.concatenate([problem.l, problem.lb]), np.concatenate([problem.u, problem.ub])
    limiting = np.concatenate([-rows[np.isfinite(low)], rows[np.isfinite(high)], problem.H, -problem.H])
    allowance = np.zeros(len(limiting))
    allowance[len(limiting) - 2 * problem.n :] = _FLAT * float(np.abs(problem.H).max(initial=0.0))
    try:
        result = linprog(
            problem.g,
            A_ub=limiting,
            b_ub=allowance,
            A_eq=problem.A if problem.m else None,
            b_eq=np.zeros(problem.m) if problem.m else None,
            bounds=(-1.0, 1.0),
            method="highs",
            # presolve rejects the feasible d = 0 if entries are as small as rounding
            options={"time_limit": time_limit, "primal_feasibility_tolerance": 1e-10, "presolve": False},
        )
    except ValueError:
        return False
    if result.status != 0 or result.x is None:
        return False
    d = result.x
    length = float(np.abs(d).max(initial=0.0))
    drift = np.append(limiting @ d - allowance, np.abs(problem.A @ d)).max(initial=0.0)
    return bool(-problem.g @ d > 1e-6 * (np.abs(problem.g) @ np.abs(d)) and drift <= 1e-9 * length and length > 0.1)


def _collect(problem: QPProblem) -> tuple[list[Row], sparse.csr_matrix, Array]:
    """Collect every finite side as a row of norm 1: equalities first, then "row <= rhs"."""
    parts: list[tuple[Kind, int, Array, Array]] = [
        ("equality", 0, problem.A, problem.b),
        ("inequality", 1, problem.C, problem.u),
        ("inequality", -1, problem.C, problem.l),
        ("bound", 1, np.eye(problem.n), problem.ub),
        ("bound", -1, np.eye(problem.n), problem.lb),
    ]
    rows: list[Row] = []
    blocks, sides = [], []
    for kind, side, matrix, limit in parts:
        finite = np.flatnonzero(np.isfinite(limit))
        norms = np.linalg.norm(matrix[finite], axis=1)
        norms[norms == 0] = 1.0
        sign = -1.0 if side < 0 else 1.0
        blocks.append(sparse.csr_matrix(sign * matrix[finite] / norms[:, None]))
        sides.append(sign * limit[finite] / norms)
        rows += [Row(kind, int(i), float(norm), side) for i, norm in zip(finite, norms, strict=True)]
    return rows, sparse.vstack(blocks, format="csr"), np.concatenate(sides)


def _elastic(matrix: sparse.csr_matrix, rhs: Array, m: int, *, time_limit: float) -> Any:
    """Minimise sum(s) with row x + s- - s+ = rhs for the first m rows, row x - s <= rhs for the others."""
    from scipy.optimize import linprog  # slow to import, and rarely needed

    n, k = matrix.shape[1], len(rhs) - m
    A_eq = sparse.hstack([matrix[:m], sparse.eye(m), -sparse.eye(m), sparse.csr_matrix((m, k))], format="csr")
    A_ub = sparse.hstack([matrix[m:], sparse.csr_matrix((k, 2 * m)), -sparse.eye(k)], format="csr")
    lower = np.concatenate([np.full(n, -np.inf), np.zeros(2 * m + k)])
    return linprog(
        np.concatenate([np.zeros(n), np.ones(2 * m + k)]),
        A_ub=A_ub if k else None,
        b_ub=rhs[m:] if k else None,
        A_eq=A_eq if m else None,
        b_eq=rhs[:m] if m else None,
        bounds=np.column_stack([lower, np.full(len(lower), np.inf)]),
        method="highs",
        options={"time_limit": time_limit},
    )


def _slacks(n: int, result: Any, m: int) -> tuple[Array, Array]:
    """Return violation and multiplier of every row; scipy's marginals are minus the multipliers."""
    slack = result.x[n:]
    violation = np.concatenate([slack[:m] + slack[m : 2 * m], slack[2 * m :]])
    marginals = [part.marginals for part, used in ((result.eqlin, m), (result.ineqlin, len(violation) - m)) if used]
    return violation, -np.concatenate(marginals)
