"""How far a problem is from having a solution, and which rows stand in the way: a linear program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multi_qp_controller.qp.labels import Kind
from multi_qp_controller.qp.problem import Problem

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


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
    """Where the sum of all violations is least, every row scaled to norm 1.

    Attributes:
        rows: all finite sides, k of them.
        violation: of each scaled row, >= 0, (k,).
        multiplier: of each scaled row written as "row <= side", (k,); in [0, 1], for equalities in [-1, 1].
            Multiplied with these and added up, the rows say 0 <= -(sum of violations).
    """

    rows: list[Row]
    violation: Array
    multiplier: Array


def least_violation(problem: Problem, *, time_limit: float) -> LeastViolation:
    """Solve the linear program "least sum of violations of all rows and bounds" with HiGHS [Huangfu2018]_.

    Args:
        problem: the problem, finite; its cost plays no part. Bounds may cross.
        time_limit: for HiGHS [s].

    Raises:
        RuntimeError: if HiGHS does not come to an end.
    """
    rows, matrix, rhs = _collect(problem)
    equal = np.array([row.side == 0 for row in rows], dtype=bool)
    if not rows:
        return LeastViolation(rows=[], violation=np.zeros(0), multiplier=np.zeros(0))
    try:
        result = _elastic(matrix, rhs, int(equal.sum()), time_limit=time_limit)
    except ValueError as error:
        raise RuntimeError(f"the linear program was refused ({error})") from error
    if result.status != 0 or result.x is None:
        raise RuntimeError(f"the linear program was not solved ({result.message})")
    violation, multiplier = _slacks(problem.n, result, int(equal.sum()))
    return LeastViolation(rows=rows, violation=violation, multiplier=multiplier)


def _collect(problem: Problem) -> tuple[list[Row], sparse.csr_matrix, Array]:
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
    from scipy.optimize import linprog  # takes long to import, and only those who ask why need it

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
