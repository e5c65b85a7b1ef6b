"""One-sided form of inequalities and bounds, G x >= h."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.qp.problem import QPProblem
from multi_qp_scene.arrays import Array

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class OneSided:
    """Finite sides of a problem, one row each, in the order l, -u, lb, -ub.

    Attributes:
        G: rows, (k, n).
        h: lower sides, (k,).
        sides: indices of the finite entries of l, u, lb and ub.
        p: number of inequality rows of the problem.
    """

    G: Array
    h: Array
    sides: tuple[IntArray, IntArray, IntArray, IntArray]
    p: int

    @classmethod
    def of(cls, problem: QPProblem) -> OneSided:
        """Return the one-sided form of a problem."""
        l, u, lb, ub = sides = tuple(map(_finite, (problem.l, problem.u, problem.lb, problem.ub)))  # noqa: E741
        starts = np.cumsum([0, *map(len, sides)])
        G = np.zeros((starts[-1], problem.n))
        G[: starts[1]] = problem.C[l]
        G[starts[1] : starts[2]] = -problem.C[u]
        G[np.arange(starts[2], starts[3]), lb] = 1.0
        G[np.arange(starts[3], starts[4]), ub] = -1.0
        h = np.concatenate([problem.l[l], -problem.u[u], problem.lb[lb], -problem.ub[ub]])
        return cls(G=G, h=h, sides=(l, u, lb, ub), p=problem.p)

    def multipliers(self, values: Array) -> tuple[Array, Array]:
        """Return (z_ineq, z_bounds), with the signs of `Solution`, from the multipliers of the rows (>= 0)."""
        l, u, lb, ub = self.sides  # noqa: E741
        parts = np.split(values, np.cumsum([len(l), len(u), len(lb)]))
        z_ineq, z_bounds = np.zeros(self.p), np.zeros(self.G.shape[1])
        z_ineq[l] -= parts[0]
        z_ineq[u] += parts[1]
        z_bounds[lb] -= parts[2]
        z_bounds[ub] += parts[3]
        return z_ineq, z_bounds


def _finite(side: Array) -> IntArray:
    return np.flatnonzero(np.isfinite(side))
