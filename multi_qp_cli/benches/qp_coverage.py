"""Verification of QP solvers on the random problems of `qp_families`, and its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from multi_qp_cli.benches.qp_families import FAMILIES, Case, cases
from multi_qp_cli.benches.result import BenchTable
from multi_qp_controller.qp import QPProblem, Solution, SolverStatus, make_solver
from multi_qp_scene.arrays import Array

Grade = Literal["right", "failed", "wrong"]

#: Required accuracy, ten times the tolerance of the solvers, in the units described at `verify`.
ACCURACY = 1e-5
#: Statuses that make no claim about the problem.
_FAILURES: tuple[SolverStatus, ...] = ("numerical", "iteration_limit", "time_limit")


def verify(case: Case, solution: Solution) -> tuple[Grade, str]:
    """Return the verification of a solution, with a reason where it is wrong; computed in extended precision.

    A solution must satisfy each row a'x <= b to 1e-5 (min(1, |a|) + |b|), have multipliers of the correct signs with a
    vanishing gradient of the Lagrangian, and reach the objective of the constructed optimum, all relative to the
    magnitudes of the summed terms.
    """
    if solution.status != "solved":
        if solution.found:
            return "wrong", f"found, but {solution.status}"
        if solution.status == case.expected:
            return "right", ""
        return ("failed", "") if solution.status in _FAILURES else ("wrong", f"{solution.status}, not {case.expected}")
    if case.x is None or case.expected != "solved":
        return "wrong", f"solved, not {case.expected}"
    error = _error(case.problem, case.x, solution)
    return ("wrong", error) if error else ("right", "")


def _error(problem: QPProblem, optimum: Array, solution: Solution) -> str:
    if solution.y_eq is None or solution.z_ineq is None or solution.z_bounds is None:
        return "no multipliers"
    H, g, A, b, C, x, best, y, z, z_bounds = (
        np.asarray(a, dtype=np.longdouble)
        for a in (problem.H, problem.g, problem.A, problem.b, problem.C, solution.x, optimum, solution.y_eq,
                  solution.z_ineq, solution.z_bounds)
    )  # fmt: skip
    if not (x.shape == g.shape == z_bounds.shape and y.shape == b.shape and z.shape == (problem.p,)):
        return "wrong shapes"
    rows, low = np.vstack([A, C, np.eye(problem.n)]), np.concatenate([b, problem.l, problem.lb])
    high, multiplier = np.concatenate([b, problem.u, problem.ub]), np.concatenate([y, z, z_bounds])
    value, norm = rows @ x, np.minimum(1.0, np.sqrt((rows * rows).sum(axis=1)))
    for violation, side in ((low - value, low), (value - high, high)):
        tolerance = ACCURACY * (norm + np.abs(side)) + 1e-15 * (np.abs(rows) @ np.abs(x))
        if not (violation[np.isfinite(side)] <= tolerance[np.isfinite(side)]).all():
            return f"violates a row by {float(violation.max()):.3g}"
    terms = [H @ x, g, multiplier @ rows]
    sizes = np.abs(H) @ np.abs(x) + np.abs(g) + np.abs(multiplier) @ np.abs(rows)
    if not (np.abs(sum(terms)) <= ACCURACY * sizes + 1e-12).all():
        return f"gradient of the Lagrangian {float(np.abs(sum(terms)).max()):.3g}"
    side = np.where(multiplier[len(b) :] > 0, high[len(b) :], low[len(b) :])
    size = np.abs(multiplier[len(b) :]) * norm[len(b) :]
    if (np.isinf(side) & (size > ACCURACY * max(1e-7, float(sizes.max(initial=0.0))))).any():
        return "a multiplier of the wrong sign"
    at_best = 0.5 * best @ H @ best + g @ best
    scale = np.abs(0.5 * best @ H @ best) + np.abs(g) @ np.abs(best) + 1e-12
    active = np.where(np.isfinite(low), np.abs(low), 0.0) + np.where(np.isfinite(high), np.abs(high), 0.0)
    scale += np.abs(multiplier) @ (norm + np.where(active < 1e12, active, 0.0))
    excess = 0.5 * x @ H @ x + g @ x - at_best
    if not abs(excess) <= ACCURACY * scale:
        return f"objective off by {float(excess):.3g} of {float(scale):.3g}"
    off = x - best
    if not off @ H @ off <= (1e3 * ACCURACY) ** 2 * scale:
        return f"away from the optimum by {float(off @ H @ off):.3g} in the metric of the cost"
    return ""


def measure_families(solvers: Sequence[str], count: int) -> dict[str, Any]:
    """Return verified results of the first `count` problems by solver and family, and the slowest solve of each solver.

    Solvers have their default settings.
    """
    measured: dict[str, Any] = {}
    for name in solvers:
        solver, slowest = make_solver(name), 0.0
        verdicts = {family: dict.fromkeys(("right", "failed", "wrong"), 0) for family in FAMILIES}
        for family, problem in cases(count):
            solution = solver.solve(problem.problem)
            slowest = max(slowest, solution.solve_time)
            verdicts[family][verify(problem, solution)[0]] += 1
        measured[name] = {"verdicts": verdicts, "slowest_ms": 1e3 * slowest}
    return measured


def families_table(measured: dict[str, Any], count: int) -> BenchTable:
    """Return a table of the results, one row per family and one column per solver."""
    rows = [[family, *(_cell(m["verdicts"][family]) for m in measured.values())] for family in FAMILIES]
    totals = [
        {kind: sum(v[kind] for v in m["verdicts"].values()) for kind in ("right", "failed", "wrong")}
        for m in measured.values()
    ]
    rows.append(["all", *map(_cell, totals)])
    rows.append(["slowest, ms", *(f"{m['slowest_ms']:.0f}" for m in measured.values())])
    return BenchTable(
        f"{count} random QPs with known outcome: verified results",
        ("family", *measured),
        rows,
        "correct results of all; in parentheses: failures with a status, and wrong results",
    )


def _cell(verdicts: dict[str, int]) -> str:
    text = f"{verdicts['right']}/{sum(verdicts.values())}"
    rest = [f"{verdicts[kind]} {kind}" for kind in ("failed", "wrong") if verdicts[kind]]
    return f"{text} ({', '.join(rest)})" if rest else text
