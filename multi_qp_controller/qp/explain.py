"""Why a problem has no solution: which rows fight, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from multi_qp_controller.qp.labels import Kind
from multi_qp_controller.qp.problem import Problem

Array = NDArray[np.float64]

SMALLEST_VIOLATION = 1e-6
"""Violations below this, in units of the normalised row, count as round-off."""
SMALLEST_MULTIPLIER = 1e-6
"""Multipliers lie in [-1, 1] for normalised rows; smaller ones than this count as zero."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A row that cannot be kept together with the others.

    Attributes:
        row: name of the row or bound.
        unit: SI unit of the slack.
        slack: by how much the row is violated where the sum of all violations is least, >= 0.
    """

    row: str
    unit: str
    slack: float


@dataclass(frozen=True, slots=True)
class Conflict:
    """A member of the set of rows that contradict each other.

    Attributes:
        row: name of the row or bound.
        multiplier: its part in the contradiction, for the row scaled to norm 1, in [-1, 1]; positive when an upper
            side (or an equality from above) takes part, negative for a lower side.
    """

    row: str
    multiplier: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a problem has no solution.

    Attributes:
        message: one sentence.
        violated: the rows to give up for the least sum of violations, worst first.
        conflict: the rows that contradict each other, strongest first: multiplied and added up they say 0 < 0.
    """

    message: str
    violated: tuple[Violation, ...] = ()
    conflict: tuple[Conflict, ...] = ()

    def __str__(self) -> str:
        """Return the message and both lists, one row a line."""
        lines = [self.message]
        if self.violated:
            lines.append("must be violated by at least:")
            lines += [f"  {entry.slack:10.4g} {entry.unit:8} {entry.row}" for entry in self.violated]
        if self.conflict:
            lines.append("rows that contradict each other (multiplier):")
            lines += [f"  {entry.multiplier:+10.4f}          {entry.row}" for entry in self.conflict]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, strings and numbers, ready for JSON."""
        return {
            "violated": [{"row": v.row, "unit": v.unit, "slack": v.slack} for v in self.violated],
            "conflict": [{"row": c.row, "multiplier": c.multiplier} for c in self.conflict],
            "message": self.message,
        }


class _Row(NamedTuple):
    kind: Kind
    index: int
    norm: float
    side: int  # +1 upper, -1 lower, 0 equality


def explain_infeasibility(problem: Problem, *, limit: int = 10, time_limit: float = 2.0) -> Explanation:
    """Find the rows and bounds of a problem that contradict each other.

    Solves the elastic linear program "least sum of violations of all rows and bounds" with HiGHS, every row scaled to
    norm 1. Its slacks are the least violations; its multipliers are a Farkas certificate of the contradiction.

    Args:
        problem: the problem; its cost plays no part.
        limit: longest list to report.
        time_limit: for the linear program [s].
    """
    bad = problem.non_finite_arrays()
    if bad:
        return Explanation(message=f"the problem is not finite: {'; '.join(_describe(problem, bad))}")
    rows, matrix, rhs, equal = _rows(problem)
    try:
        result = _least_violation(matrix, rhs, equal, time_limit=time_limit)
    except (ValueError, RuntimeError) as error:
        return Explanation(message=f"no explanation: the linear program was refused ({error})")
    if result.status != 0 or result.x is None:
        return Explanation(message=f"no explanation: the linear program was not solved ({result.message})")
    violation, multiplier = _slacks(problem.n, result, equal)
    violated = _violated(problem, rows, violation, limit=limit)
    if not violated:
        return Explanation(message="the constraints have a solution: no row has to be violated")
    conflict = _conflict(problem, rows, multiplier, limit=limit)
    count = int((np.abs(multiplier) > SMALLEST_MULTIPLIER).sum())
    message = f"infeasible: {count} rows contradict each other, least sum of scaled violations {result.fun:.3g}"
    return Explanation(message=message, violated=violated, conflict=conflict)


def _rows(problem: Problem) -> tuple[list[_Row], sparse.csr_matrix, Array, NDArray[np.bool_]]:
    """Collect every finite side as a row of norm 1: equalities first, then "row <= rhs"."""
    parts: list[tuple[Kind, int, Array, Array]] = [
        ("equality", 0, problem.A, problem.b),
        ("inequality", 1, problem.C, problem.u),
        ("inequality", -1, problem.C, problem.l),
        ("bound", 1, np.eye(problem.n), problem.ub),
        ("bound", -1, np.eye(problem.n), problem.lb),
    ]
    rows: list[_Row] = []
    blocks, sides = [], []
    for kind, side, matrix, limit in parts:
        finite = np.flatnonzero(np.isfinite(limit))
        norms = np.linalg.norm(matrix[finite], axis=1)
        norms[norms == 0] = 1.0
        sign = -1.0 if side < 0 else 1.0
        blocks.append(sparse.csr_matrix(sign * matrix[finite] / norms[:, None]))
        sides.append(sign * limit[finite] / norms)
        rows += [_Row(kind, int(i), float(norm), side) for i, norm in zip(finite, norms, strict=True)]
    return rows, sparse.vstack(blocks, format="csr"), np.concatenate(sides), np.array([r.side == 0 for r in rows])


def _least_violation(matrix: sparse.csr_matrix, rhs: Array, equal: NDArray[np.bool_], *, time_limit: float) -> Any:
    """Minimise sum(s+ + s-) with row x + s- - s+ = rhs for equalities, row x - s+ <= rhs for the others."""
    m, k = int(equal.sum()), len(rhs) - int(equal.sum())
    n = matrix.shape[1]
    A_eq = sparse.hstack([matrix[:m], sparse.eye(m), -sparse.eye(m), sparse.csr_matrix((m, k))], format="csr")
    A_ub = sparse.hstack([matrix[m:], sparse.csr_matrix((k, 2 * m)), -sparse.eye(k)], format="csr")
    return linprog(
        np.concatenate([np.zeros(n), np.ones(2 * m + k)]),
        A_ub=A_ub if k else None,
        b_ub=rhs[m:] if k else None,
        A_eq=A_eq if m else None,
        b_eq=rhs[:m] if m else None,
        bounds=np.column_stack([np.r_[np.full(n, -np.inf), np.zeros(2 * m + k)], np.full(n + 2 * m + k, np.inf)]),
        method="highs",
        options={"time_limit": time_limit},
    )


def _slacks(n: int, result: Any, equal: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return violation and multiplier of every row, as seen for "row <= rhs"."""
    m = int(equal.sum())
    slack = result.x[n:]
    violation = np.concatenate([slack[:m] + slack[m : 2 * m], slack[2 * m :]])
    multiplier = -np.concatenate([result.eqlin.marginals if m else [], result.ineqlin.marginals])
    return violation, multiplier


def _violated(problem: Problem, rows: list[_Row], violation: Array, *, limit: int) -> tuple[Violation, ...]:
    order = [i for i in np.argsort(-violation, kind="stable") if violation[i] > SMALLEST_VIOLATION]
    return tuple(
        Violation(
            row=problem.labels.name(rows[i].kind, rows[i].index),
            unit=problem.labels.unit(rows[i].kind, rows[i].index),
            slack=float(violation[i] * rows[i].norm),
        )
        for i in order[:limit]
    )


def _conflict(problem: Problem, rows: list[_Row], multiplier: Array, *, limit: int) -> tuple[Conflict, ...]:
    order = [i for i in np.argsort(-np.abs(multiplier), kind="stable") if abs(multiplier[i]) > SMALLEST_MULTIPLIER]
    return tuple(
        Conflict(
            row=problem.labels.name(rows[i].kind, rows[i].index),
            multiplier=float(multiplier[i] * (rows[i].side or 1)),
        )
        for i in order[:limit]
    )


_AXES: dict[str, tuple[Kind, ...]] = {
    "H": ("variable", "variable"),
    "g": ("variable",),
    "A": ("equality", "variable"),
    "b": ("equality",),
    "C": ("inequality", "variable"),
    "l": ("inequality",),
    "u": ("inequality",),
    "lb": ("bound",),
    "ub": ("bound",),
}


def _describe(problem: Problem, bad: dict[str, NDArray[np.int64]]) -> list[str]:
    """Say where the entries that are not finite are, such as "g: 3 entries, first at acceleration R_KNEE_P"."""
    texts = []
    for name, entries in bad.items():
        pairs = zip(_AXES[name], entries[0], strict=True)
        place = " x ".join(problem.labels.name(kind, int(index)) for kind, index in pairs)
        texts.append(f"{name}: {len(entries)} {'entry' if len(entries) == 1 else 'entries'}, first at {place}")
    return texts
