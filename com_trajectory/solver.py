"""One door to the QP and LP solver, with its answers as plain data."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from math import isfinite

import daqp
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

INFINITY = 1e30
"""No bound."""
EQUALITY = 5
"""The solver's word for a row that must hold with equality."""
_TOLERANCE = 1e-9
_FLAGS = {1: "solved", 2: "solved", -1: "infeasible", -3: "unbounded"}


class Verdict(enum.Enum):
    """What came of a problem."""

    SOLVED = "solved"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    FAILED = "failed"


@dataclass(frozen=True)
class Answer:
    """Solution of a QP or LP.

    Attributes:
        verdict: what came of it.
        x: minimiser, (n,); meaningless unless solved.
        value: of the cost at x.
        multipliers: of the bounds on x, then of the rows, (n + m,); negative where a lower limit is active.
    """

    verdict: Verdict
    x: Array
    value: float
    multipliers: Array

    @property
    def solved(self) -> bool:
        """Whether x is the minimiser."""
        return self.verdict is Verdict.SOLVED


def minimise(
    H: Array | None,
    f: Array,
    A: Array,
    lower: Array,
    upper: Array,
    *,
    x_lower: Array | None = None,
    equalities: int = 0,
) -> Answer:
    """Minimise ½ xᵀ H x + fᵀ x subject to lower ≤ A x ≤ upper and x ≥ x_lower.

    Args:
        H: positive semidefinite, (n, n); None for a linear program.
        f: (n,).
        A: (m, n).
        lower: (m,), may hold −inf.
        upper: (m,), may hold +inf.
        x_lower: (n,), may hold −inf; no bounds on x if None.
        equalities: how many of the first rows have lower = upper.
    """
    n = len(f)
    bounds = 0 if x_lower is None else n
    low, high = np.empty(bounds + len(A)), np.full(bounds + len(A), INFINITY)
    low[bounds:], high[bounds:] = lower, upper
    if x_lower is not None:
        low[:bounds] = x_lower
    np.clip(low, -INFINITY, INFINITY, out=low)
    np.clip(high, -INFINITY, INFINITY, out=high)
    sense = np.zeros(len(low), dtype=np.int32)
    sense[bounds : bounds + equalities] = EQUALITY
    rows = np.ascontiguousarray(A) if len(A) else np.zeros((0, n))
    return solved(H, f, rows, low, high, sense)


def solved(H: Array | None, f: Array, A: Array, lower: Array, upper: Array, sense: NDArray[np.int32]) -> Answer:
    """Solve what is already as the solver wants it.

    Args:
        H: see `minimise`.
        f: (n,).
        A: (m, n), contiguous.
        lower: of x and of A x, (n + m,), or of A x, (m,); at least −`INFINITY`.
        upper: likewise.
        sense: `EQUALITY` where both are equal, else 0.
    """
    x, value, flag, info = daqp.solve(H, f, A, upper, lower, sense, primal_tol=_TOLERANCE)
    verdict = Verdict(_FLAGS.get(flag, "failed"))
    if verdict is Verdict.SOLVED and not isfinite(float(x @ x)):
        verdict = Verdict.FAILED
    return Answer(verdict, x, float(value), info["lam"])
