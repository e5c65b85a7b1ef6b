"""Dual active-set method [Goldfarb1983]_ for small dense problems of which few rows are active."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgeqrf, dorgqr, dpotrf, dpotrs, dtrtrs

from multi_qp_controller.qp.problem import Problem
from multi_qp_controller.qp.solution import Solution, Status
from multi_qp_controller.qp.solvers.base import Solver

Array = NDArray[np.float64]

#: A row violated by more than this joins the active set, relative to 1 + |value of the side|.
VIOLATION = 1e-9
#: Of a new row, what is independent of the active ones must be more than this share of its squared length.
_INDEPENDENT = 1e-20


class ActiveSet(Solver):
    """Exact up to round-off; rows cost nothing until they are violated, so it is at its best on `condensed`.

    A warm start hands the active set over: rows of it whose multipliers have the wrong sign are dropped, which leaves
    an optimum of fewer rows, where the method can start. Equalities are eliminated first, through their null space.

    Args:
        max_iterations: changes of the active set.
        tolerance: see `Solver`.
        time_limit: see `Solver`; the method stops by itself [s].
    """

    name: ClassVar[str] = "active_set"

    def __init__(self, *, max_iterations: int = 300, tolerance: float = 1e-6, time_limit: float = 1.0) -> None:
        """Set the limits."""
        super().__init__(tolerance=tolerance, time_limit=time_limit)
        self._max_iterations = max_iterations

    def solve(self, problem: Problem, *, warm_start: Solution | None = None) -> Solution:
        """Solve one problem; see `Solver.solve`, whose checks and further attempts follow where this is no optimum."""
        begun = perf_counter()
        if not problem.m and np.isposinf(problem.ub).all() and np.isneginf(problem.lb).all() and problem.n:
            try:
                answer = self._straight(problem, warm_start)
            except (np.linalg.LinAlgError, ValueError):  # as for a Hessian with a NaN in it
                answer = None
            if answer is not None:
                return replace(answer, solve_time=perf_counter() - begun)
        return super().solve(problem, warm_start=warm_start)

    def _straight(self, problem: Problem, warm_start: Solution | None) -> Solution | None:
        """Solve a problem of inequality rows alone; return None where the answer is not an optimum, or there is none.

        Rows were checked by the search; what is left is that x and the multipliers are finite and the gradient is 0.
        """
        search = _Search(problem.H, problem.g, problem.C, problem.l, problem.u)
        z = None if warm_start is None else warm_start.z_ineq
        if z is not None and len(z) == problem.p:
            search.begin(z)
        if search.run(self._max_iterations, perf_counter() + self.time_limit) != "solved":
            return None
        x = search.x
        z_ineq = search.multipliers(problem.p)
        active = np.flatnonzero(z_ineq)
        pull = problem.H @ x
        gradient = pull + problem.g
        if len(active):
            gradient += z_ineq[active] @ problem.C[active]
        scale = 1.0 + max(float(np.abs(pull).max()), float(np.abs(problem.g).max()))
        # written so that a NaN fails: every comparison with it is false
        if not (np.abs(gradient).max() <= self.tolerance * scale and abs(search.checksum) < np.inf):
            return None
        return Solution(
            x=x,
            found=True,
            status="solved",
            iterations=search.iterations,
            y_eq=problem.b,
            z_ineq=z_ineq,
            z_bounds=np.zeros(problem.n),
        )

    def _solve(self, problem: Problem, warm_start: Solution | None) -> Solution:
        if not problem.n:
            return _nothing_to_choose(problem)
        deadline = perf_counter() + self.time_limit
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
        search = _Search(H, g, rows, low, high)
        if warm_start is not None and warm_start.z_ineq is not None and warm_start.z_bounds is not None:
            search.begin(np.concatenate([warm_start.z_ineq, warm_start.z_bounds[bounded]]))
        status = search.run(self._max_iterations, deadline)
        if status != "solved":
            return Solution.failed(problem.n, status=status, iterations=search.iterations)
        x = search.x if Z is None or start is None else start + Z @ search.x
        z = search.multipliers(len(rows))
        z_ineq, z_bounds = z[: problem.p], np.zeros(problem.n)
        z_bounds[bounded] = z[problem.p :]
        y_eq = np.zeros(0)
        if problem.m:
            gradient = problem.H @ x + problem.g + z_ineq @ problem.C + z_bounds
            y_eq = -np.linalg.lstsq(problem.A.T, gradient, rcond=None)[0]
        return Solution(
            x=x, found=True, status="solved", iterations=search.iterations, y_eq=y_eq, z_ineq=z_ineq, z_bounds=z_bounds
        )


def _nothing_to_choose(problem: Problem) -> Solution:
    """Return the answer to a problem without variables."""
    if problem.p and max(problem.l.max(), -problem.u.min()) > 0.0:
        return Solution.failed(0, status="infeasible")
    none = np.zeros(0)
    z = np.zeros(problem.p)
    return Solution(x=none, found=True, status="solved", y_eq=np.zeros(problem.m), z_ineq=z, z_bounds=none)


def _null_space(problem: Problem) -> tuple[Array, Array]:
    """Return Z and x₀ with A (x₀ + Z y) = b for every y.

    Raises:
        LinAlgError: when rows of A depend on each other.
    """
    m = problem.m
    Q, R = np.linalg.qr(problem.A.T, mode="complete")
    diagonal = np.abs(np.diag(R))
    if m > problem.n or not diagonal.min() > 1e-10 * diagonal.max():
        raise np.linalg.LinAlgError("the equality rows depend on each other")
    return Q[:, m:], Q[:, :m] @ dtrtrs(R[:m], problem.b, trans=1)[0]


class _Search:
    """The search in y, x = x₀ + L⁻ᵀ y with H = L Lᵀ and x₀ the free optimum: min ½‖y‖² with e·y >= d, row by row.

    Attributes:
        x: where it is.
        iterations: changes of the active set.
        checksum: finite if every row's value at the end is.
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
        self.checksum = 0.0

    def begin(self, z: Array) -> None:
        """Start from the active set that multipliers `z` of the rows tell."""
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
        """Search, and say how it ended."""
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
                self.checksum = float(values.sum())
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
        """Make a violated row active, dropping others on the way; return False where that cannot be."""
        e = dtrtrs(self._L, sign * self._rows[row], lower=1)[0]
        d = float(self._distance(np.array([row]), np.array([sign]))[0])
        length, own = float(e @ e), 0.0
        while True:
            self.iterations += 1
            pull, direction = self._split(e)
            rise = float(direction @ direction)
            blocking = np.flatnonzero(pull > 1e-14)
            ratios = self._multiplier[blocking] / pull[blocking]
            longest = float(ratios.min()) if len(blocking) else np.inf
            full = (d - float(e @ self._y)) / rise if rise > _INDEPENDENT * length else np.inf
            step = min(longest, full)
            if step == np.inf:
                return False
            if full < np.inf:
                self._y = self._y + step * direction
            self._multiplier = self._multiplier - step * pull
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
        """Return the multipliers that make the part of e in the span of the active rows, and the rest of e."""
        if not self._index:
            return np.zeros(0), e
        inside = e @ self._Q
        rest = e - self._Q @ inside
        again = rest @ self._Q  # a second time, for what rounding left
        return dtrtrs(self._R, inside + again)[0], rest - self._Q @ again

    def _refine(self) -> None:
        """Compute y and the multipliers anew from the active set, so that rounding does not add up."""
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
