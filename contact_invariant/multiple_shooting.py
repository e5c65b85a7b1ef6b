"""Trajectory optimisation by multiple shooting: Newton steps from crocoddyl's Riccati recursion, and a line search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from contact_invariant.link_forces import LinkForces
from contact_invariant.optional_crocoddyl import crocoddyl
from multi_qp_scene.arrays import Array

#: Weight of the sum of defects in the merit of a trajectory.
DEFECTS = 0.1
#: Least share of the decrease that a linear model predicts with which a step is accepted.
ARMIJO = 1e-4
#: Least length of a step, and factor of the last one with which the search for the next begins.
SHORTEST, LONGER = 1e-3, 4.0
#: Regularisation of the recursion: at the start, least, largest, and factor.
REGULARISATION, LEAST, LARGEST, FACTOR = 1e-6, 1e-9, 1e2, 10.0
#: Lengths of steps below which it is increased, and from which on it is decreased.
SHORT, LONG = 0.1, 0.5


class MultipleShooting:
    """A trajectory whose states and controls are variables; defects between its nodes vanish as it converges.

    FDDP, which integrates the dynamics in its line search, takes steps of 1/64 to 1/8 in motions of several seconds
    with changes of contacts.

    Attributes:
        xs: states at the nodes.
        us: controls between them.
        cost: sum of the costs of all nodes.
        gap: largest defect of the dynamics.
        merit: cost and defects.
    """

    def __init__(self, problem: crocoddyl.ShootingProblem, xs: Sequence[Array], us: Sequence[Array]) -> None:
        """Begin with a trajectory, whose first state is that of the problem."""
        self._problem, self._solver = problem, crocoddyl.SolverFDDP(problem)
        self._data = list(problem.runningDatas)
        nodes = zip(problem.runningModels, self._data, strict=True)
        self._forces = [LinkForces(model, data) for model, data in nodes if hasattr(data, "differential")]
        self._states = [model.state for model in (*problem.runningModels, problem.terminalModel)]
        self._length, self._regularisation = 1.0, REGULARISATION
        self._evaluate(list(xs), list(us))

    def _evaluate(self, xs: list[Array], us: list[Array]) -> None:
        self.cost = float(self._problem.calc(xs, us))
        defects = [s.diff(x, d.xnext) for s, x, d in zip(self._states[1:], xs[1:], self._data, strict=True)]
        self.gap, self._defects = float(np.abs(defects).max()), float(np.abs(defects).sum())
        self.merit = self.cost + DEFECTS * self._defects
        self.xs, self.us = xs, us

    def step(self) -> bool:
        """Move to a trajectory of less merit; return whether there is one."""
        xs, us = self.xs, self.us
        for forces in self._forces:
            forces.add()
        self._problem.calcDiff(xs, us)
        self._solver.setCandidate(xs, us, False)
        self._solver.computeDynamicFeasibility()
        while self._regularisation <= LARGEST:
            if self._searched(xs, us):
                return True
            self._regularisation *= FACTOR
        return False

    def _searched(self, xs: list[Array], us: list[Array]) -> bool:
        """Move by the longest step of the line search that decreases the merit; return whether there is one."""
        self._solver.preg = self._regularisation
        try:
            self._solver.computeDirection(False)
        except RuntimeError:  # a matrix of the recursion is not positive definite
            return False
        dx, du, slope = self._direction()
        merit, slope = self.merit, slope - DEFECTS * self._defects
        length = min(1.0, LONGER * self._length)
        while length > SHORTEST:
            moved = [s.integrate(x, length * step) for s, x, step in zip(self._states, xs, dx, strict=True)]
            self._evaluate(moved, [u + length * step for u, step in zip(us, du, strict=True)])
            if self.merit <= merit + ARMIJO * length * min(slope, 0.0):
                self._length = length
                if length < SHORT:
                    self._regularisation *= FACTOR
                elif length >= LONG:
                    self._regularisation = max(self._regularisation / FACTOR, LEAST)
                return True
            length *= 0.5
        self._evaluate(xs, us)
        return False

    def _direction(self) -> tuple[list[Array], list[Array], float]:
        """Return the steps of states and controls that close all defects of linear dynamics, and the cost's slope."""
        gains, steps, defects = self._solver.K, self._solver.k, self._solver.fs
        dx, du, slope = [np.zeros(self._states[0].ndx)], [], 0.0
        for k, data in enumerate(self._data):
            du.append(-steps[k] - gains[k] @ dx[k])
            slope += float(data.Lx @ dx[k] + data.Lu @ du[k])
            dx.append(data.Fx @ dx[k] + data.Fu @ du[k] + defects[k + 1])
        return dx, du, slope + float(self._problem.terminalData.Lx @ dx[-1])
