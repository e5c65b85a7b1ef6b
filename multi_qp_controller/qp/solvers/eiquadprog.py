"""eiquadprog: dual active-set method in C++, through the bindings of tsid."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dpotrf, dtrtri, dtrtrs

from multi_qp_controller.qp.problem import QPProblem
from multi_qp_controller.qp.solution import Solution, SolverStatus
from multi_qp_controller.qp.solvers.base import Solver
from multi_qp_controller.qp.solvers.repair import RANK_TOLERANCE
from multi_qp_controller.tsid_compat import tsid
from multi_qp_scene.arrays import Array

# tsid adds this to the diagonal of every Hessian; it is subtracted from the cost.
_TSID_REGULARISATION = 1e-8
# Replaces infinity: eiquadprog sums violations, where inf - inf would be NaN.
_FAR = 1e10

_STATUS: dict[int, SolverStatus] = {0: "solved", 1: "infeasible", 3: "iteration_limit"}


class Eiquadprog(Solver):
    """Solves in y = inv(T) x with T'HT = I, where the Hessian is the identity. No warm start, no multipliers.

    The change of variables is needed as eiquadprog accepts all rows if the sum of their violations is less than a
    multiple of trace(H) trace(T), which is too coarse for a Hessian with eigenvalues from 1e-9 to 1e4.

    Its input is preprocessed to avoid out-of-bounds writes, endless loops and ignored rows
    (`EiquadprogFast::solve_quadprog`, 1.2.9):
    - equalities are orthonormal, hence independent and at most as many as unknowns: it would ignore dependent ones, and
      write column n + 1 of an n by n matrix;
    - inequality rows have norm 1: a new row whose independent part is below rounding of the longest row so far is
      rejected, and then tried again endlessly; with equal norms its own test for dependence comes first;
    - a row of zeros, which is never violated, ends the list: an index may otherwise be one past the end.
    """

    name: ClassVar[str] = "eiquadprog"
    refuses_concave: ClassVar[bool] = True

    def _solve(self, problem: QPProblem, warm_start: Solution | None) -> Solution:
        T = inverse_factor(problem.H)
        A, b = _orthonormal(problem.A @ T, problem.b)
        rows, low, high = _two_sided(problem, T)
        target = -(T.T @ problem.g)
        if not all(np.isfinite(array).all() for array in (A, b, rows, low, high, target)):
            return Solution.failed(problem.n, status="numerical", message="the Hessian is nearly singular")
        solver = tsid.SolverHQuadProgFast("qp")
        solver.resize(problem.n, len(b), len(low))
        output = solver.solve(_hierarchy(A, b, rows, low, high, target))
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


def _orthonormal(A: Array, b: Array) -> tuple[Array, Array]:
    """Return equalities with orthonormal rows, equivalent to the independent rows of A y = b."""
    norm = np.linalg.norm(A, axis=1)
    norm[norm == 0.0] = 1.0
    if not len(b) or not np.isfinite(norm).all():
        return A, b
    Q, R, order = qr((A / norm[:, None]).T, mode="economic", pivoting=True)
    rank = int((np.abs(R.diagonal()) > RANK_TOLERANCE).sum())
    independent = order[:rank]
    return Q[:, :rank].T, dtrtrs(R[:rank, :rank], (b / norm)[independent], trans=1)[0] if rank else np.zeros(0)


def _two_sided(problem: QPProblem, T: Array) -> tuple[Array, Array, Array]:
    """Return rows and bounds with a finite side as rows of norm 1 in y, and a row of zeros."""
    low = np.concatenate([problem.l, problem.lb])
    high = np.concatenate([problem.u, problem.ub])
    limited = np.isfinite(low) | np.isfinite(high)
    rows = np.concatenate([problem.C @ T, T])[limited]
    norm = np.linalg.norm(rows, axis=1)
    norm[norm == 0.0] = 1.0
    rows = np.concatenate([rows / norm[:, None], np.zeros((1, problem.n))])
    low, high = (np.append(side[limited] / norm, far) for side, far in ((low, -1.0), (high, 1.0)))
    return rows, low.clip(-_FAR, _FAR), high.clip(-_FAR, _FAR)


def _hierarchy(A: Array, b: Array, rows: Array, low: Array, high: Array, target: Array) -> Any:
    """Return tsid's form: hard rows at level 0, the cost |short y - target|^2 at level 1."""
    short = np.sqrt(1.0 - _TSID_REGULARISATION)
    hard, soft = tsid.ConstraintLevel(), tsid.ConstraintLevel()
    if len(b):
        hard.append(1.0, tsid.ConstraintEquality("equalities", A, b))
    hard.append(1.0, tsid.ConstraintInequality("inequalities", rows, low, high))
    soft.append(1.0, tsid.ConstraintEquality("cost", short * np.eye(len(target)), target / short))
    data = tsid.HQPData()
    data.append(hard)
    data.append(soft)
    return data
