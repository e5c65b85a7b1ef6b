"""Explanation of infeasible QPs: least violations and an infeasible subset of rows, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.qp.feasibility import LeastViolation, least_violation
from multi_qp_controller.qp.labels import Kind
from multi_qp_controller.qp.problem import QPProblem

SMALLEST_VIOLATION = 1e-6
"""Violations below this, in units of the normalised row, count as round-off."""
SMALLEST_MULTIPLIER = 1e-6
"""Multipliers lie in [-1, 1] for normalised rows; smaller ones than this count as zero."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A row that cannot be satisfied together with the others.

    Attributes:
        row: name of the row or bound.
        unit: SI unit of the slack.
        slack: violation of the row at the least sum of all violations, >= 0.
    """

    row: str
    unit: str
    slack: float


@dataclass(frozen=True, slots=True)
class Conflict:
    """A row of the infeasible subset.

    Attributes:
        row: name of the row or bound.
        multiplier: Farkas multiplier of the row scaled to norm 1, in [-1, 1]; positive for an upper side (or an
            equality from above), negative for a lower side.
    """

    row: str
    multiplier: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of an infeasible problem.

    Attributes:
        message: one sentence.
        violated: rows that are violated at the least sum of violations, largest first.
        conflict: rows of the infeasible subset, largest multiplier first; their sum, weighted by the multipliers,
            reads 0 < 0.
    """

    message: str
    violated: tuple[Violation, ...] = ()
    conflict: tuple[Conflict, ...] = ()

    def __str__(self) -> str:
        """Return the message and both lists, one row per line."""
        lines = [self.message]
        if self.violated:
            lines.append("must be violated by at least:")
            lines += [f"  {entry.slack:10.4g} {entry.unit:8} {entry.row}" for entry in self.violated]
        if self.conflict:
            lines.append("infeasible subset of rows (multiplier):")
            lines += [f"  {entry.multiplier:+10.4f}          {entry.row}" for entry in self.conflict]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, strings and numbers, ready for JSON."""
        return {
            "violated": [{"row": v.row, "unit": v.unit, "slack": v.slack} for v in self.violated],
            "conflict": [{"row": c.row, "multiplier": c.multiplier} for c in self.conflict],
            "message": self.message,
        }


def explain_infeasibility(problem: QPProblem, *, limit: int = 10, time_limit: float = 2.0) -> Explanation:
    """Return the least violations and an infeasible subset of the rows and bounds of a problem.

    Solves the elastic linear program "least sum of violations of all rows and bounds" with HiGHS, every row
    scaled to norm 1. Its slacks are the least violations; its multipliers are a Farkas certificate of infeasibility.

    Args:
        problem: the problem; its cost is ignored.
        limit: largest length of the lists.
        time_limit: of the linear program [s].
    """
    bad = problem.non_finite_arrays()
    if bad:
        return Explanation(message=f"the problem is not finite: {'; '.join(_describe(problem, bad))}")
    try:
        least = least_violation(problem, time_limit=time_limit)
    except RuntimeError as error:
        return Explanation(message=f"no explanation: {error}")
    violated = _violated(problem, least, limit=limit)
    if not violated:
        return Explanation(message="the constraints have a solution: no row has to be violated")
    count = int((np.abs(least.multiplier) > SMALLEST_MULTIPLIER).sum())
    total = float(least.violation.sum())
    message = f"infeasible subset of {count} rows, least sum of scaled violations {total:.3g}"
    return Explanation(message=message, violated=violated, conflict=_conflict(problem, least, limit=limit))


def _violated(problem: QPProblem, least: LeastViolation, *, limit: int) -> tuple[Violation, ...]:
    rows, violation = least.rows, least.violation
    order = [i for i in np.argsort(-violation, kind="stable") if violation[i] > SMALLEST_VIOLATION]
    return tuple(
        Violation(
            row=problem.labels.name(rows[i].kind, rows[i].position),
            unit=problem.labels.unit(rows[i].kind, rows[i].position),
            slack=float(violation[i] * rows[i].norm),
        )
        for i in order[:limit]
    )


def _conflict(problem: QPProblem, least: LeastViolation, *, limit: int) -> tuple[Conflict, ...]:
    rows, multiplier = least.rows, least.multiplier
    order = [i for i in np.argsort(-np.abs(multiplier), kind="stable") if abs(multiplier[i]) > SMALLEST_MULTIPLIER]
    return tuple(
        Conflict(
            row=problem.labels.name(rows[i].kind, rows[i].position),
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


def _describe(problem: QPProblem, bad: dict[str, NDArray[np.int64]]) -> list[str]:
    """Return messages on entries that are not finite, such as "g: 3 entries, first at acceleration R_KNEE_P"."""
    texts = []
    for name, entries in bad.items():
        pairs = zip(_AXES[name], entries[0], strict=True)
        place = " x ".join(problem.labels.name(kind, int(index)) for kind, index in pairs)
        texts.append(f"{name}: {len(entries)} {'entry' if len(entries) == 1 else 'entries'}, first at {place}")
    return texts
