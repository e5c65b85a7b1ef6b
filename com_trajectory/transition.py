"""The point at which the centre of mass crosses from one contact phase to the next.

Three statements of one problem: the linear program (5) says whether there is such a point, the QP (6) finds
the best one with
the equilibrium region as inequalities, the QP (13) the same one with the ray loads β as variables and no region at all.

Where no point satisfies everything, the constraints give way in this order, each by as little as can be: the
region moves
by a horizontal vector e under the centre of mass, so that the slack |e| is a distance in metres and the same
in (6) and (13); where the
contacts cannot carry the weight at all, part of the wrench stays unbalanced; where the reach of the
effectors has no common
point, all reaches grow. [Tonneau2018] lets single rows of A, or single β, give way; those slacks have no common unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from com_trajectory.costs import QuadraticCost
from com_trajectory.polytope import Polytope
from com_trajectory.solver import Answer, Verdict, minimise, solved
from com_trajectory.transition_kernel import HEAVY, INSIDE, SMOOTH, append_violated, fill_loads
from com_trajectory.wrench_cone import WrenchCone
from multi_qp_scene.equilibrium import EquilibriumRegion

Array = NDArray[np.float64]
Statement = Literal["region", "loads"]


@dataclass(frozen=True, eq=False)
class TransitionPoint:
    """Where the centre of mass crosses, and by how much that breaks the constraints.

    Attributes:
        point: (3,) [m].
        slack: how far the point is outside of where the kept contacts let it rest [m]; inf if that is nowhere.
        unbalanced: wrench that the kept contacts cannot give, as a fraction of the weight, and per metre; 0
        if they can.
        kinematic_slack: how much further the effectors would have to reach [m].
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
    """Return whether some point satisfies the equilibrium and kinematic constraints: the linear program (5).

    Args:
        region: of the contacts that stay.
        reach: K⁽¹⁾: of all effectors that touch before or after.

    Source: [Tonneau2018] (5).
    """
    A, b = np.vstack([region.A, reach.A]), np.concatenate([region.a, reach.b])
    answer = _deepest(A, b)
    return answer.verdict is Verdict.UNBOUNDED or (answer.solved and answer.x[3] >= -INSIDE)


def transition_by_region(region: EquilibriumRegion, reach: Polytope, cost: QuadraticCost) -> TransitionPoint | None:
    """Return the best transition point by the QP (6); None if the region is empty.

    Args:
        region: of the contacts that stay.
        reach: of all effectors that touch before or after.
        cost: of the point.

    Source: [Tonneau2018] (6), with the slack as described above.
    """
    if region.empty:
        return None
    reach, grown = _not_empty(reach)
    H, f = _objective(cost, 0)
    rows, upper = np.vstack([region.A, reach.A]), np.concatenate([region.a, reach.b])
    hard = minimise(H, f, rows, np.full(len(rows), -np.inf), upper)
    if hard.solved:
        return TransitionPoint(hard.x, kinematic_slack=grown)
    H, f = _objective(cost, 2)
    H[3:, 3:] = HEAVY * np.eye(2)
    moved = np.vstack(
        [np.hstack([region.A, region.A[:, :2]]), np.hstack([reach.A, np.zeros((reach.size, 2))])]
    )  # A (c + e) ≤ a
    soft = minimise(H, f, moved, np.full(len(moved), -np.inf), upper)
    if not soft.solved:
        return None
    return TransitionPoint(soft.x[:3], float(np.linalg.norm(soft.x[3:])), 0.0, grown)


def transition_by_loads(
    cone: WrenchCone, reach: Polytope, cost: QuadraticCost, *, preload: float = 0.0
) -> TransitionPoint:
    """Return the best transition point by the QP (13). There is always an answer.

    Args:
        cone: of the contacts that stay.
        reach: of all effectors that touch before or after.
        cost: of the point.
        preload: share of the weight that is spread evenly over all rays, where that is possible: β ≥ preload / rays;
            else a quarter of it, else none.

    Source: [Tonneau2018] (12), (13), with the slack as described above.
    """
    for share in (preload, preload / 4.0) if preload > 0.0 else ():
        robust = _Loads(cone, reach, cost, displaced=0, preload=share).solve()
        if robust.solved:
            return TransitionPoint(robust.x[:3])
    hard = _Loads(cone, reach, cost, displaced=0).solve()
    if hard.solved:
        return TransitionPoint(hard.x[:3])
    reach, grown = _not_empty(reach)
    soft = _Loads(cone, reach, cost, displaced=2).solve()
    if soft.solved:
        return TransitionPoint(soft.x[:3], float(np.linalg.norm(soft.x[3:5])), 0.0, grown)
    worst = _Loads(cone, reach, cost, displaced=6).solve()
    if worst.solved:
        return TransitionPoint(worst.x[:3], np.inf, float(np.linalg.norm(worst.x[3:9])), grown)
    centre = _deepest(reach.A, reach.b)
    point = centre.x[:3] if centre.solved else -np.linalg.pinv(cost.Q) @ cost.q
    return TransitionPoint(point, np.inf, cone.violation(cone.wrench(point)), grown)


class _Loads:
    """The QP (13) in c, what gives way, and β; rows of the reach come in only when they are violated.

    A reach has hundreds of faces of which the solution touches a few, and the solver looks at every row in every step.
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

    def solve(self) -> Answer:
        """Solve with more and more rows of the reach, until none is violated."""
        start = -self._f[:3] / self._H.diagonal()[:3]  # the best place, if the cost is of each axis by itself
        count = self._with_violated(start, 6)
        for _ in range(20):
            answer = self._solved(count)
            if not answer.solved:
                return answer
            last, count = count, self._with_violated(answer.x, count)
            if count == last:
                return answer
        return self._solved(count)

    def _with_violated(self, point: Array, count: int) -> int:
        """Append the faces of the reach that a point violates; return the number of rows."""
        reach = self._reach
        return int(append_violated(reach.A, reach.b, point, self._chosen, len(self._f), count, *self._limits))

    def _solved(self, count: int) -> Answer:
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
    """Return the reach, grown just enough to hold a point, and by how much [m]."""
    if reach.size == 0:
        return reach, 0.0
    answer = _deepest(reach.A, reach.b)
    radius = float(answer.x[3]) if answer.solved else 0.0
    if radius >= 0.0:
        return reach, 0.0
    return Polytope(reach.A, reach.b - radius + INSIDE), -radius


def _deepest(A: Array, b: Array) -> Answer:
    """Return the centre and radius of the largest ball in A c ≤ b: x = (c, r)."""
    rows = np.hstack([A, np.ones((len(A), 1))])
    return minimise(None, np.array([0.0, 0.0, 0.0, -1.0]), rows, np.full(len(A), -np.inf), b)
