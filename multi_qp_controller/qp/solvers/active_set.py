"""Dual active-set method [Goldfarb1983]_ for small dense problems with few active rows."""

from __future__ import annotations

from time import perf_counter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgeqrf, dorgqr, dpotrf, dpotrs, dtrtrs

from multi_qp_controller.qp.problem import QPProblem
from multi_qp_controller.qp.solution import Solution, Status
from multi_qp_controller.qp.solvers.base import Solver

Array = NDArray[np.float64]

#: A row violated by more than this joins the active set, relative to 1 + |value of the side|.
VIOLATION = 1e-9
#: Least share of the squared length of a new row that must be linearly independent of the active ones.
_INDEPENDENT = 1e-20


class ActiveSet(Solver):
    """Exact up to round-off; inactive rows are cheap, which suits the formulation `condensed`.

    A warm start provides the active set: rows whose multipliers have the wrong sign are dropped until the method can
    start at an optimum of the remaining rows. Equalities are eliminated first, through their null space.

    Args:
        max_iterations: largest number of changes of the active set.
        tolerance: see `Solver`.
        time_limit: see `Solver`; also checked between iterations [s].
    """

    name: ClassVar[str] = "active_set"

    def __init__(self, *, max_iterations: int = 300, tolerance: float = 1e-6, time_limit: float = 1.0) -> None:
        """Set the limits."""
        super().__init__(tolerance=tolerance, time_limit=time_limit)
        self._max_iterations = max_iterations

    def _solve(self, problem: QPProblem, warm_start: Solution | None) -> Solution:
        bounded = np.flatnonzero(np.isfinite(problem.lb) | np.isfinite(problem.ub))
        rows, low, high = problem.C, problem.l, problem.u
        if len(bounded):
            rows = np.concatenate([rows, np.eye(problem.n)[bounded]])
            low = np.concatenate([low, problem.lb[bounded]])
            high = np.concatenate([high, problem.ub[bounded]])
        H, g, Z, start = problem.H, problem.g, None, None
        if problem.m:
            Z, start = _null_space(problem)
            g, H = Z.T @ (g + H @ start), Z.T @ H @ Z
            shift = rows @ start
            rows, low, high = rows @ Z, low - shift, high - shift
            if not Z.shape[1]:  # the equalities determine x
                return _with_multipliers(problem, start, np.zeros(problem.p), np.zeros(problem.n), 0)
        search = _Search(H, g, rows, low, high)
        if warm_start is not None and warm_start.z_ineq is not None and warm_start.z_bounds is not None:
            search.begin(np.concatenate([warm_start.z_ineq, warm_start.z_bounds[bounded]]))
        status = search.run(self._max_iterations, self._deadline)
        if status != "solved":
            return Solution.failed(problem.n, status=status, iterations=search.iterations)
        x = np.asarray(search.x if Z is None or start is None else start + Z @ search.x)
        z = search.multipliers(len(rows))
        z_ineq, z_bounds = z[: problem.p], np.zeros(problem.n)
        z_bounds[bounded] = z[problem.p :]
        return _with_multipliers(problem, x, z_ineq, z_bounds, search.iterations)


def _with_multipliers(problem: QPProblem, x: Array, z_ineq: Array, z_bounds: Array, iterations: int) -> Solution:
    """Return a solution with least-squares multipliers of the equalities."""
    y_eq: Array = np.zeros(0)
    if problem.m:
        gradient = problem.H @ x + problem.g + z_ineq @ problem.C + z_bounds
        y_eq = -np.asarray(np.linalg.lstsq(problem.A.T, gradient, rcond=None)[0])
    return Solution(
        x=x, found=True, status="solved", iterations=iterations, y_eq=y_eq, z_ineq=z_ineq, z_bounds=z_bounds
    )


def _null_space(problem: QPProblem) -> tuple[Array, Array]:
    """Return Z and x₀ with A (x₀ + Z y) = b for every y.

    Raises:
        LinAlgError: if rows of A are linearly dependent.
    """
    m = problem.m
    Q, R = np.linalg.qr(problem.A.T, mode="complete")
    diagonal = np.abs(np.diag(R))
    if m > problem.n or not diagonal.min() > 1e-10 * diagonal.max():
        raise np.linalg.LinAlgError("the equality rows are linearly dependent")
    return Q[:, m:], Q[:, :m] @ dtrtrs(R[:m], problem.b, trans=1)[0]


class _Search:
    """Search in y, x = x₀ + L⁻ᵀ y with H = L Lᵀ and x₀ the unconstrained optimum: min ½‖y‖² s.t. e·y >= d.

    Attributes:
        x: present iterate.
        iterations: number of changes of the active set.
    """

    def __init__(self, H: Array, g: Array, rows: Array, low: Array, high: Array) -> None:
        L, failed = dpotrf(H, lower=1, clean=0)
        if failed:
            raise np.linalg.LinAlgError("the Hessian is not positive definite")
        self._L = L
        self._x0 = -dpotrs(L, g, lower=1)[0]
        self._rows, self._low, self._high = rows, low, high
        self._slack = 1.0 + np.minimum(np.minimum(np.abs(low), np.abs(high)), 1e6)
        self._values0 = rows @ self._x0
        self._index: list[int] = []
        self._sign: list[float] = []
        self._E = np.zeros((0, len(g)))
        self._d = np.zeros(0)
        self._multiplier = np.zeros(0)
        self._Q, self._R = np.zeros((len(g), 0)), np.zeros((0, 0))
        self._y = np.zeros(len(g))
        self.x = self._x0
        self.iterations = 0

    def begin(self, z: Array) -> None:
        """Start from the active set given by multipliers `z` of the rows."""
        active = np.flatnonzero(z)
        if not len(active):
            return
        signs = -np.sign(z[active])
        finite = np.isfinite(np.where(signs > 0, self._low[active], self._high[active]))
        active, signs = active[finite], signs[finite]
        self._index, self._sign = active.tolist(), signs.tolist()
        self._E = dtrtrs(self._L, (signs[:, None] * self._rows[active]).T, lower=1)[0].T
        self._d = self._distance(active, signs)
        while self._index and self._factorise():
            self._refine()
            worst = int(self._multiplier.argmin())
            if self._multiplier[worst] >= 0.0:
                return
            self._drop(worst)
            self.iterations += 1
        self._clear()

    def run(self, max_iterations: int, deadline: float) -> Status:
        """Run the search; return its status."""
        while True:
            if self._index:
                self.x = self._x0 + dtrtrs(self._L, self._y, lower=1, trans=1)[0]
                values = self._rows @ self.x
            else:
                self.x, values = self._x0, self._values0
            violation = np.maximum(self._low - values, values - self._high)
            violation /= self._slack
            violation[self._index] = 0.0
            worst = int(violation.argmax()) if len(violation) else 0
            if not len(violation) or violation[worst] <= VIOLATION:
                return "solved"
            if self.iterations >= max_iterations:
                return "iteration_limit"
            if perf_counter() > deadline:
                return "time_limit"
            if not self._add(worst, 1.0 if values[worst] < self._low[worst] else -1.0):
                return "infeasible"

    def multipliers(self, count: int) -> Array:
        """Return the multipliers of all rows, with the signs of `Solution`."""
        z = np.zeros(count)
        z[self._index] = -np.asarray(self._sign) * np.maximum(self._multiplier, 0.0)
        return z

    def _add(self, row: int, sign: float) -> bool:
        """Make a violated row active, and drop blocking rows; return False if that is impossible."""
        e = dtrtrs(self._L, sign * self._rows[row], lower=1)[0]
        d = float(self._distance(np.array([row]), np.array([sign]))[0])
        length, own = float(e @ e), 0.0
        while True:
            self.iterations += 1
            dual_direction, direction = self._split(e)
            rise = float(direction @ direction)
            blocking = np.flatnonzero(dual_direction > 1e-14)
            ratios = self._multiplier[blocking] / dual_direction[blocking]
            longest = float(ratios.min()) if len(blocking) else np.inf
            full = (d - float(e @ self._y)) / rise if rise > _INDEPENDENT * length else np.inf
            step = min(longest, full)
            if step == np.inf:
                return False
            if full < np.inf:
                self._y = self._y + step * direction
            self._multiplier = self._multiplier - step * dual_direction
            own += step
            if full <= longest:
                self._index.append(row)
                self._sign.append(sign)
                self._E = np.concatenate([self._E, e[None]])
                self._d = np.append(self._d, d)
                self._multiplier = np.append(self._multiplier, own)
                if self._factorise():
                    self._refine()
                return True
            self._drop(int(blocking[ratios.argmin()]))
            if not self._factorise():
                return False

    def _factorise(self) -> bool:
        """Compute Q and R of Eᵀ; return whether the active rows are independent."""
        if not self._index:
            self._Q, self._R = self._E.T, np.zeros((0, 0))
            return True
        factor, tau, _, _ = dgeqrf(self._E.T)
        self._R = np.asfortranarray(factor[: len(self._index)])
        self._Q = dorgqr(factor, tau)[0]
        return bool(np.abs(self._R.ravel("K")[:: len(self._index) + 1]).min() > 0.0)

    def _split(self, e: Array) -> tuple[Array, Array]:
        """Return the coefficients of e in the span of the active rows, and its orthogonal remainder."""
        if not self._index:
            return np.zeros(0), e
        inside = e @ self._Q
        rest = e - self._Q @ inside
        again = rest @ self._Q  # reorthogonalisation
        return dtrtrs(self._R, inside + again)[0], rest - self._Q @ again

    def _refine(self) -> None:
        """Recompute y and the multipliers from the active set, so that rounding errors do not accumulate."""
        along = dtrtrs(self._R, self._d, trans=1)[0]
        self._y = self._Q @ along
        self._multiplier = dtrtrs(self._R, along)[0]

    def _distance(self, rows: NDArray[np.intp], signs: Array) -> Array:
        """Return d of e·y >= d."""
        side = np.where(signs > 0, self._low[rows], self._high[rows])
        return signs * (side - self._values0[rows])

    def _drop(self, position: int) -> None:
        del self._index[position], self._sign[position]
        keep = np.arange(len(self._d)) != position
        self._E, self._d = self._E[keep], self._d[keep]
        self._multiplier = self._multiplier[keep] if len(self._multiplier) == len(keep) else np.zeros(len(self._d))

    def _clear(self) -> None:
        self._index, self._sign = [], []
        self._E, self._d, self._multiplier = self._E[:0], self._d[:0], np.zeros(0)
        self._Q, self._R = self._E.T, np.zeros((0, 0))
        self._y = np.zeros_like(self._y)
