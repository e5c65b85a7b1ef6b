"""Solution and status of a QP solve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from multi_qp_scene.arrays import Array

SolverStatus = Literal[
    "solved", "infeasible", "unbounded", "not_convex", "iteration_limit", "time_limit", "not_finite", "numerical"
]
"""Status of a solve.

- solved: the solution satisfies the optimality conditions to the solver's tolerance (`verification.flaw`).
- infeasible: no x satisfies the constraints, verified by a Farkas certificate.
- unbounded: the cost is unbounded below along a direction that is verified to be feasible.
- not_convex: the Hessian has a negative eigenvalue.
- iteration_limit, time_limit: the backend was stopped before it had a solution.
- not_finite: the problem contains NaN, or an infinity where none is allowed; no backend was called.
- numerical: the backend failed, or its result did not pass verification.
"""


@dataclass(slots=True)  # not frozen, which would double the construction time at every tick
class Solution:
    """Solution of one problem.

    The multipliers belong to the Lagrangian 1/2 x'Hx + g'x + y_eq'(Ax - b) + z_ineq'Cx + z_bounds'x, so that
    H x + g + A'y_eq + C'z_ineq + z_bounds = 0 at the optimum; a multiplier is positive for an active
    upper side, negative for an active lower side, zero otherwise.

    Attributes:
        x: the optimum, (n,); NaN unless found.
        found: whether x is valid, which requires status "solved".
        status: status of the solve.
        iterations: as counted by the backend (active-set changes, interior-point or outer iterations).
        solve_time: duration of the call, verification included [s].
        y_eq: multipliers of A x = b, (m,), or None.
        z_ineq: multipliers of l <= C x <= u, (p,), or None.
        z_bounds: multipliers of lb <= x <= ub, (n,), or None.
        message: error message; empty when solved.
    """

    x: Array
    found: bool
    status: SolverStatus
    iterations: int = 0
    solve_time: float = 0.0
    y_eq: Array | None = None
    z_ineq: Array | None = None
    z_bounds: Array | None = None
    message: str = ""

    @classmethod
    def failed(cls, n: int, *, status: SolverStatus, iterations: int = 0, message: str = "") -> Solution:
        """Return the result of a failed solve; its x is NaN, so that it cannot be used by mistake."""
        return cls(x=np.full(n, np.nan), found=False, status=status, iterations=iterations, message=message)
