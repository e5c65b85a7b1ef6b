"""Transition points: centre of mass at the change from one contact phase to the next.

Three formulations of one problem: the linear program (5) decides feasibility, the QP (6) finds the best point with the
equilibrium region as inequalities, the QP (13) finds the same point with the ray loads β as variables and no region.

Where the problem is infeasible, the constraints are relaxed in this order, each by as little as possible: the region is
displaced by a horizontal vector e, so that the slack |e| is a distance in metres and the same in (6) and (13); where
the contacts cannot carry the weight at all, part of the wrench stays unbalanced; where the reaches of the effectors
have no common point, all are enlarged. [Tonneau2018] relaxes single rows of A, or single β; those slacks have no
common unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from com_trajectory.costs import QuadraticCost
from com_trajectory.polytope import Polytope
from com_trajectory.solver import ProgramSolution, SolveStatus, minimise, solved
from com_trajectory.transition_kernel import HEAVY, INSIDE, SMOOTH, append_violated, fill_loads
from com_trajectory.wrench_cone import WrenchCone
from multi_qp_scene.arrays import Array
from multi_qp_scene.equilibrium import EquilibriumRegion


@dataclass(frozen=True, eq=False)
class TransitionPoint:
    """A transition point and its constraint violations.

    Attributes:
        point: (3,) [m].
        slack: distance of the point from the equilibrium region of the remaining contacts [m]; inf if that is empty.
        unbalanced: wrench that the remaining contacts cannot provide, as a fraction of the weight, and per metre; 0 if
            they can.
        kinematic_slack: enlargement of the effectors' reach [m].
    """

    point: Array
    slack: float = 0.0
    unbalanced: float = 0.0
    kinematic_slack: float = 0.0

    @property
    def feasible(self) -> bool:
        """Whether all constraints hold."""
        return self.slack <= 1e-6 and self.unbalanced <= 1e-6 and self.kinematic_slack <= 1e-6


def transition_exists(region: EquilibriumRegion, reach: Polytope) -> bool:
    """Return the feasibility of the equilibrium and kinematic constraints: the linear program (5).

    Args:
        region: of the remaining contacts.
        reach: K⁽¹⁾: of all effectors that touch before or after.

    Source: [Tonneau2018] (5).
    """
    A, b = np.vstack([region.A, reach.A]), np.concatenate([region.a, reach.b])
    result = _deepest(A, b)
    return result.status is SolveStatus.UNBOUNDED or (result.solved and result.x[3] >= -INSIDE)


def transition_by_region(region: EquilibriumRegion, reach: Polytope, cost: QuadraticCost) -> TransitionPoint | None:
    """Return the best transition point by the QP (6); None if the region is empty.

    Args:
        region: of the remaining contacts.
        reach: of all effectors that touch before or after.
        cost: of the point.

    Source: [Tonneau2018] (6), with the slack as described above.
    """
    if region.empty:
        return None
    reach, enlarged = _not_empty(reach)
    H, f = _objective(cost, 0)
    rows, upper = np.vstack([region.A, reach.A]), np.concatenate([region.a, reach.b])
    hard = minimise(H, f, rows, upper)
    if hard.solved:
        return TransitionPoint(hard.x, kinematic_slack=enlarged)
    H, f = _objective(cost, 2)
    H[3:, 3:] = HEAVY * np.eye(2)
    moved = np.vstack(
        [np.hstack([region.A, region.A[:, :2]]), np.hstack([reach.A, np.zeros((reach.size, 2))])]
    )  # A (c + e) ≤ a
    soft = minimise(H, f, moved, upper)
    if not soft.solved:
        return None
    return TransitionPoint(soft.x[:3], float(np.linalg.norm(soft.x[3:])), 0.0, enlarged)


def transition_by_loads(
    cone: WrenchCone, reach: Polytope, cost: QuadraticCost, *, preload: float = 0.0
) -> TransitionPoint:
    """Return the best transition point by the QP (13); infeasible problems are relaxed.

    Args:
        cone: of the remaining contacts.
        reach: of all effectors that touch before or after.
        cost: of the point.
        preload: share of the weight spread evenly over all rays, where possible: β ≥ preload / rays; else a quarter of
            it, else none.

    Source: [Tonneau2018] (12), (13), with the slack as described above.
    """
    for share in (preload, preload / 4.0) if preload > 0.0 else ():
        robust = _Loads(cone, reach, cost, displaced=0, preload=share).solve()
        if robust.solved:
            return TransitionPoint(robust.x[:3])
    hard = _Loads(cone, reach, cost, displaced=0).solve()
    if hard.solved:
        return TransitionPoint(hard.x[:3])
    reach, enlarged = _not_empty(reach)
    soft = _Loads(cone, reach, cost, displaced=2).solve()
    if soft.solved:
        return TransitionPoint(soft.x[:3], float(np.linalg.norm(soft.x[3:5])), 0.0, enlarged)
    worst = _Loads(cone, reach, cost, displaced=6).solve()
    if worst.solved:
        return TransitionPoint(worst.x[:3], np.inf, float(np.linalg.norm(worst.x[3:9])), enlarged)
    centre = _deepest(reach.A, reach.b)
    point = centre.x[:3] if centre.solved else -np.linalg.pinv(cost.Q) @ cost.q
    return TransitionPoint(point, np.inf, cone.violation(cone.wrench(point)), enlarged)


class _Loads:
    """The QP (13) in c, the relaxation, and β; rows of the reach are added when they are violated.

    A reach has hundreds of faces, few of which are active, and the solver visits every row in every step.
    """

    def __init__(
        self, cone: WrenchCone, reach: Polytope, cost: QuadraticCost, *, displaced: int, preload: float = 0.0
    ) -> None:
        rays, faces = cone.G.shape[1], reach.size
        n = 3 + displaced + rays
        self._reach = reach
        self._H, self._f, self._chosen = np.empty((n, n)), np.empty(n), np.zeros(faces)
        self._rows = np.empty((6 + faces, n))
        self._lower, self._upper = np.empty(n + 6 + faces), np.empty(n + 6 + faces)
        self._sense = np.empty(n + 6 + faces, dtype=np.int32)
        self._limits = (self._rows, self._lower, self._upper)
        least = preload / rays
        fill_loads(cost.Q, cost.q, cone.G, cone.origin, displaced, least, self._H, self._f, *self._limits, self._sense)

    def solve(self) -> ProgramSolution:
        """Solve with a growing set of rows of the reach, until none is violated."""
        start = -self._f[:3] / self._H.diagonal()[:3]  # unconstrained minimiser of a separable cost
        count = self._with_violated(start, 6)
        for _ in range(20):
            result = self._solved(count)
            if not result.solved:
                return result
            last, count = count, self._with_violated(result.x, count)
            if count == last:
                return result
        return self._solved(count)

    def _with_violated(self, point: Array, count: int) -> int:
        """Append the faces of the reach that a point violates; return the number of rows."""
        reach = self._reach
        return int(append_violated(reach.A, reach.b, point, self._chosen, len(self._f), count, *self._limits))

    def _solved(self, count: int) -> ProgramSolution:
        limits = len(self._f) + count
        rows = self._rows[:count]
        return solved(self._H, self._f, rows, self._lower[:limits], self._upper[:limits], self._sense[:limits])


def _objective(cost: QuadraticCost, extra: int) -> tuple[Array, Array]:
    H = np.zeros((3 + extra, 3 + extra))
    H[:3, :3] = cost.Q
    H.ravel()[: 3 * (4 + extra) : 4 + extra] += SMOOTH
    f = np.zeros(3 + extra)
    f[:3] = cost.q
    return H, f


def _not_empty(reach: Polytope) -> tuple[Polytope, float]:
    """Return the reach, enlarged just enough to be non-empty, and by how much [m]."""
    if reach.size == 0:
        return reach, 0.0
    result = _deepest(reach.A, reach.b)
    radius = float(result.x[3]) if result.solved else 0.0
    if radius >= 0.0:
        return reach, 0.0
    return Polytope(reach.A, reach.b - radius + INSIDE), -radius


def _deepest(A: Array, b: Array) -> ProgramSolution:
    """Return the centre and radius of the largest ball in A c ≤ b: x = (c, r)."""
    rows = np.hstack([A, np.ones((len(A), 1))])
    return minimise(None, np.array([0.0, 0.0, 0.0, -1.0]), rows, b)
