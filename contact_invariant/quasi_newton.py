"""The published optimiser, for comparison: L-BFGS on finite differences of the cost, [Mordatch2012] 4.5."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from contact_invariant.least_squares import Fit
from multi_qp_scene.arrays import Array

#: Step of the central differences, as published [m], [rad], [body weights].
DIFFERENCE = 1e-3
#: Number of pairs of steps and gradients that approximate the Hessian.
MEMORY = 20


class Differentiable(Protocol):
    """A cost over z, whose first `fixed` variables are constant."""

    fixed: int

    def differences(self, z: Array, step: float) -> tuple[float, Array]:
        """Return the cost and its gradient by central differences, (size,)."""


class _OutOfTime(Exception):
    """The deadline has passed."""


def quasi_newton(
    problem: Differentiable,
    z: Array,
    *,
    iterations: int,
    tolerance: float = 1e-4,
    deadline: float = float("inf"),
    progress: Callable[[int, float], None] | None = None,
) -> Fit:
    """Minimise a cost with scipy's L-BFGS-B; arguments are those of `levenberg_marquardt`."""
    start, fixed = time.process_time(), problem.fixed
    costs: list[float] = []
    times: list[float] = []
    latest: list[tuple[float, Array]] = []

    def evaluate(free: Array) -> tuple[float, Array]:
        if latest and time.process_time() > deadline:
            raise _OutOfTime
        cost, gradient = problem.differences(np.concatenate([z[:fixed], free]), DIFFERENCE)
        if not costs:
            costs.append(cost)
            times.append(0.0)
        if not latest or cost < latest[0][0]:
            latest[:] = [(cost, free.copy())]
        return cost, gradient[fixed:]

    def after(intermediate_result: object) -> None:
        costs.append(float(intermediate_result.fun))  # type: ignore[attr-defined]
        times.append(time.process_time() - start)
        if progress is not None:
            progress(len(costs) - 1, costs[-1])

    settings = {"maxiter": iterations, "maxfun": 100 * iterations, "maxcor": MEMORY, "ftol": tolerance**2, "gtol": 0.0}
    try:
        found = minimize(evaluate, z[fixed:], jac=True, method="L-BFGS-B", callback=after, options=settings)
        reason = "converged" if found.success else "iterations" if found.status == 1 else "no decrease"
    except _OutOfTime:
        reason = "time"
    return Fit(np.concatenate([z[:fixed], latest[0][1]]), costs, times, reason)
