"""eiquadprog, the dual active-set method in C++ that tsid uses, reached through tsid's bindings."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtri

from multi_qp_controller.qp.problem import Problem
from multi_qp_controller.qp.solution import Solution, Status
from multi_qp_controller.qp.solvers.base import Solver
from multi_qp_controller.tsid_compat import tsid

Array = NDArray[np.float64]

# What tsid adds to the diagonal of every Hessian; the cost is made smaller by as much.
_TSID_REGULARISATION = 1e-8
# Stands for infinity: eiquadprog adds violations up, and must not meet inf - inf.
_FAR = 1e10

_STATUS: dict[int, Status] = {0: "solved", 1: "infeasible", 3: "iteration_limit"}


class Eiquadprog(Solver):
    """Works in y = inv(T) x with T'HT = I, where its Hessian is the identity. No warm start, no multipliers.

    Why y: eiquadprog takes all rows as satisfied when their violations add up to less than a multiple of
    trace(H) trace(T). For a Hessian whose eigenvalues go from 1e-9 to 1e4 that asks next to nothing.
    """

    name: ClassVar[str] = "eiquadprog"

    def _solve(self, problem: Problem, warm_start: Solution | None) -> Solution:
        T = inverse_factor(problem.H)
        rows, low, high = _two_sided(problem, T)
        solver = tsid.SolverHQuadProgFast("qp")
        solver.resize(problem.n, problem.m, len(low))
        output = solver.solve(_hierarchy(problem, T, rows, low, high))
        status = _STATUS.get(int(output.status), "numerical")
        if status != "solved":
            return Solution.failed(problem.n, status=status, message=f"eiquadprog status {int(output.status)}")
        return Solution(x=T @ output.x, found=True, status=status)


def inverse_factor(H: Array) -> Array:
    """Return T, upper triangular, with T'HT = I.

    Raises:
        LinAlgError: if H is not positive definite.
    """
    R, failed = dpotrf(H, clean=1)
    if not failed:
        T, failed = dtrtri(R)
    if failed:
        raise np.linalg.LinAlgError("the Hessian is not positive definite")
    return np.asarray(T)


def _two_sided(problem: Problem, T: Array) -> tuple[Array, Array, Array]:
    """Return rows and bounds that have a finite side, in terms of y."""
    low = np.concatenate([problem.l, problem.lb])
    high = np.concatenate([problem.u, problem.ub])
    limited = np.isfinite(low) | np.isfinite(high)
    rows = np.concatenate([problem.C @ T, T])
    return rows[limited], low[limited].clip(-_FAR, _FAR), high[limited].clip(-_FAR, _FAR)


def _hierarchy(problem: Problem, T: Array, rows: Array, low: Array, high: Array) -> Any:
    """Return tsid's form: hard rows at level 0, the cost |short y - target|^2 at level 1."""
    short = np.sqrt(1.0 - _TSID_REGULARISATION)
    hard, soft = tsid.ConstraintLevel(), tsid.ConstraintLevel()
    if problem.m:
        hard.append(1.0, tsid.ConstraintEquality("equalities", problem.A @ T, problem.b))
    if len(low):
        hard.append(1.0, tsid.ConstraintInequality("inequalities", rows, low, high))
    soft.append(1.0, tsid.ConstraintEquality("cost", short * np.eye(problem.n), -(T.T @ problem.g) / short))
    data = tsid.HQPData()
    data.append(hard)
    data.append(soft)
    return data
