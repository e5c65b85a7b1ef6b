"""Elastic form of a QP: relaxable rows and bounds with penalised slack."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.qp.labels import LabelBlock, Labels
from multi_qp_controller.qp.problem import QPProblem
from multi_qp_scene.arrays import Array


def elastic_problem(problem: QPProblem, *, weight: float, linear: float, step: int = 1) -> QPProblem:
    """Return min 1/2 x'Hx + g'x + sum(1/2 weight s^2 + linear s), a slack s for each row and bound up to this step.

    Variables are (x, s). The inequality rows are: the other rows, then "c'x - s <= u", then "c'x + s >=
    l", the last two for the finite sides of relaxable rows, followed by relaxable bounds (whose bounds
    become infinite).

    Raises:
        ValueError: if a penalty weight is negative, or if both are zero.
    """
    if weight < 0 or linear < 0 or weight + linear == 0:
        raise ValueError(f"slack needs penalty weights >= 0, not both zero; got weight={weight}, linear={linear}")
    soft_rows = (problem.relaxable_rows > 0) & (problem.relaxable_rows <= step)
    soft_bounds = (problem.relaxable_bounds > 0) & (problem.relaxable_bounds <= step)
    rows = np.flatnonzero(soft_rows & _limited(problem.l, problem.u))
    bounds = np.flatnonzero(soft_bounds & _limited(problem.lb, problem.ub))
    soft = np.vstack([problem.C[rows], np.eye(problem.n)[bounds]])
    low = np.concatenate([problem.l[rows], problem.lb[bounds]])
    high = np.concatenate([problem.u[rows], problem.ub[bounds]])
    hard_rows = np.flatnonzero(~soft_rows)
    upper, lower = np.flatnonzero(np.isfinite(high)), np.flatnonzero(np.isfinite(low))
    n, k = problem.n, len(soft)
    slack = np.eye(k)
    C = np.block(
        [
            [problem.C[hard_rows], np.zeros((len(hard_rows), k))],
            [soft[upper], -slack[upper]],
            [soft[lower], slack[lower]],
        ]
    )
    H = np.zeros((n + k, n + k))
    H[:n, :n] = problem.H
    # A slack without curvature would make the Hessian singular; add a little relative to the linear weight.
    H[range(n, n + k), range(n, n + k)] = max(weight, 1e-6 * linear)
    lb, ub = problem.lb.copy(), problem.ub.copy()
    lb[bounds], ub[bounds] = -np.inf, np.inf
    return QPProblem(
        H=H,
        g=np.concatenate([problem.g, np.full(k, linear)]),
        A=np.hstack([problem.A, np.zeros((problem.m, k))]),
        b=problem.b,
        C=C,
        l=np.concatenate([problem.l[hard_rows], np.full(len(upper), -np.inf), low[lower]]),
        u=np.concatenate([problem.u[hard_rows], high[upper], np.full(len(lower), np.inf)]),
        lb=np.concatenate([lb, np.zeros(k)]),
        ub=np.concatenate([ub, np.full(k, np.inf)]),
        labels=_labels(problem, hard_rows=hard_rows, rows=rows, bounds=bounds, upper=upper, lower=lower),
    )


def _limited(low: Array, high: Array) -> NDArray[np.bool_]:
    return np.isfinite(low) | np.isfinite(high)


def _labels(
    problem: QPProblem,
    *,
    hard_rows: NDArray[np.int64],
    rows: NDArray[np.int64],
    bounds: NDArray[np.int64],
    upper: NDArray[np.int64],
    lower: NDArray[np.int64],
) -> Labels:
    """Return labels of the slacks and of the rows in their new order; labels of the variables are reused."""
    old = problem.labels
    soft = [(old.name("inequality", i), old.unit("inequality", i)) for i in rows]
    soft += [(old.name("bound", i), old.unit("bound", i)) for i in bounds]
    hard = [(old.name("inequality", i), old.unit("inequality", i)) for i in hard_rows]
    # Unlabelled variables before the slacks would shift the labels of the slacks: add a block for them.
    variables = old.variables
    missing = problem.n - sum(len(block) for block in variables)
    if missing > 0:
        first = problem.n - missing
        variables += (LabelBlock("variable", "", tuple(str(i) for i in range(first, problem.n))),)
    ordered = hard + [soft[i] for i in upper] + [soft[i] for i in lower]
    return Labels(
        variables=variables + tuple(LabelBlock("slack of", unit, (name,)) for name, unit in soft),
        equalities=old.equalities,
        inequalities=tuple(LabelBlock(name, unit, ("",)) for name, unit in ordered),
    )
