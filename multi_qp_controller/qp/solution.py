"""What a solver answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

Status = Literal["solved", "infeasible", "iteration_limit", "time_limit", "not_finite", "numerical"]
"""How a solve ended.

- solved: the answer was checked: finite, and it violates no row by more than the solver's tolerance.
- infeasible: no x satisfies the constraints, or two bounds cross (`explain_infeasibility` says which).
- iteration_limit, time_limit: the backend was stopped before it had an answer.
- not_finite: the problem holds a NaN, or an infinity where none is allowed; no backend was asked.
- numerical: the backend gave up, or its answer did not pass the check.
"""


@dataclass(slots=True)  # frozen it would take twice as long to make, at every tick
class Solution:
    """The answer to one problem.

    The multipliers belong to the Lagrangian 1/2 x'Hx + g'x + y_eq'(Ax - b) + z_ineq'Cx + z_bounds'x, so that
    H x + g + A'y_eq + C'z_ineq + z_bounds = 0 at the optimum; a multiplier is positive where an upper side is
    active, negative where a lower side is, zero where none is.

    Attributes:
        x: the optimum, (n,); NaN everywhere unless found.
        found: whether x may be used. Only status "solved" is found.
        status: how the solve ended.
        iterations: what the backend counts (active-set changes, interior-point or outer iterations).
        solve_time: from the call to the answer, checks included [s].
        y_eq: multipliers of A x = b, (m,), or None.
        z_ineq: multipliers of l <= C x <= u, (p,), or None.
        z_bounds: multipliers of lb <= x <= ub, (n,), or None.
        message: what the backend said about a failure; empty when solved.
    """

    x: Array
    found: bool
    status: Status
    iterations: int = 0
    solve_time: float = 0.0
    y_eq: Array | None = None
    z_ineq: Array | None = None
    z_bounds: Array | None = None
    message: str = ""

    @classmethod
    def failed(cls, n: int, *, status: Status, iterations: int = 0, message: str = "") -> Solution:
        """Return the answer of a solve that found nothing; its x is NaN, lest somebody use it by mistake."""
        return cls(x=np.full(n, np.nan), found=False, status=status, iterations=iterations, message=message)
