"""Interface to the QP and LP solver (DAQP), with plain results."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from math import isfinite

import daqp
import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array

INFINITY = 1e30
"""Value that stands for no bound."""
EQUALITY = 5
"""The solver's flag of a row that must hold with equality."""
_TOLERANCE = 1e-9
_FLAGS = {1: "solved", 2: "solved", -1: "infeasible", -3: "unbounded"}


class SolveStatus(enum.Enum):
    """Outcome of a solve."""

    SOLVED = "solved"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    FAILED = "failed"


@dataclass(frozen=True)
class ProgramSolution:
    """Solution of a QP or LP.

    Attributes:
        status: outcome.
        x: minimiser, (n,); meaningless unless solved.
        value: of the cost at x.
        multipliers: of the bounds on x, then of the rows, (n + m,); negative where a lower limit is active.
    """

    status: SolveStatus
    x: Array
    value: float
    multipliers: Array

    @property
    def solved(self) -> bool:
        """Whether x is the minimiser."""
        return self.status is SolveStatus.SOLVED


def minimise(H: Array | None, f: Array, A: Array, upper: Array) -> ProgramSolution:
    """Minimise ½ xᵀ H x + fᵀ x subject to A x ≤ upper.

    Args:
        H: positive semidefinite, (n, n); None for a linear program.
        f: (n,).
        A: (m, n).
        upper: (m,), may hold +inf.
    """
    rows = np.ascontiguousarray(A) if len(A) else np.zeros((0, len(f)))
    lower, sense = np.full(len(rows), -INFINITY), np.zeros(len(rows), dtype=np.int32)
    return solved(H, f, rows, lower, np.clip(upper, -INFINITY, INFINITY), sense)


def solved(
    H: Array | None, f: Array, A: Array, lower: Array, upper: Array, sense: NDArray[np.int32]
) -> ProgramSolution:
    """Solve a problem already in the solver's form.

    Args:
        H: see `minimise`.
        f: (n,).
        A: (m, n), contiguous.
        lower: of x and of A x, (n + m,), or of A x, (m,); at least −`INFINITY`.
        upper: likewise.
        sense: `EQUALITY` where both are equal, else 0.
    """
    x, value, flag, info = daqp.solve(H, f, A, upper, lower, sense, primal_tol=_TOLERANCE)
    status = SolveStatus(_FLAGS.get(flag, "failed"))
    if status is SolveStatus.SOLVED and not isfinite(float(x @ x)):
        status = SolveStatus.FAILED
    return ProgramSolution(status, x, float(value), info["lam"])
