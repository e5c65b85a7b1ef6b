"""Path of the base under the reachability condition of [Tonneau2015].

The trunk is collision-free, and the reachable workspaces of enough limbs intersect a face.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import thread_time

import coal
import numpy as np
import pinocchio as pin
from ompl import base as ob
from ompl import geometric as og
from ompl import util as ou

from contact_planner.body import CharacterModel
from contact_planner.clearance import CollisionChecker
from contact_planner.faces import Face
from contact_planner.reach import LimbReach
from multi_qp_scene.arrays import Array

_SPACING = 0.04  # [m] distance between poses of the path; two radians count as a metre

ou.setLogLevel(ou.LogLevel.LOG_NONE)


@dataclass(frozen=True, eq=False)
class RootPath:
    """Poses of the base, evenly spaced.

    Attributes:
        poses: in the world.
        complete: whether it leads to the goal.
        reason: message if not.
    """

    poses: tuple[pin.SE3, ...]
    complete: bool
    reason: str = ""


class Reachability:
    """Reachability condition of a pose of the base: collision-free trunk, and enough limbs with a face in reach."""

    def __init__(
        self,
        body: CharacterModel,
        clearance: CollisionChecker,
        reaches: Mapping[str, LimbReach],
        faces: Sequence[Face],
        *,
        needed: Sequence[str],
        least: int,
    ) -> None:
        """Create the collision objects.

        Args:
            body: the character.
            clearance: its collision tests.
            reaches: databases of its limbs.
            faces: faces that can be touched.
            needed: limbs that are counted.
            least: number of them that must have a face within reach.
        """
        self._body, self._clearance, self._least = body, clearance, least
        self._limbs = [coal.CollisionObject(reaches[name].shape) for name in needed]
        self._faces = faces
        self._q = body.nominal.copy()
        self._request, self._result = coal.CollisionRequest(), coal.CollisionResult()

    def __call__(self, X_world_base: pin.SE3) -> bool:
        """Whether the condition holds at a pose."""
        return self.obstacle(X_world_base) is None

    def obstacle(self, X_world_base: pin.SE3) -> str | None:
        """Return a message if the condition does not hold at a pose, else None."""
        self._q[:7] = pin.SE3ToXYZQUAT(X_world_base)
        if not self._clearance.trunk_is_free(self._q):
            return "the trunk hits something"
        place = coal.Transform3s(X_world_base.rotation, X_world_base.translation)
        found = 0
        for shape in self._limbs:
            shape.setTransform(place)
            if any(self._meets(shape, face) for face in self._faces):
                found += 1
        if found < self._least:
            return f"{found} of the limbs have a face within reach, {self._least} are needed"
        return None

    def _meets(self, shape: coal.CollisionObject, face: Face) -> bool:
        self._result.clear()
        return bool(coal.collide(shape, face.plate, self._request, self._result))


def find_root_path(
    start: pin.SE3,
    goal: pin.SE3,
    valid: Reachability,
    *,
    low: Array,
    high: Array,
    budget: float,
    seed: int,
) -> RootPath:
    """Search a path of the base by RRT-Connect, then shorten and smooth it.

    Args:
        start: pose of the base.
        goal: pose of the base.
        valid: condition on poses.
        low: lower bounds of x, y, z [m], roll, pitch, yaw [rad] of sampled poses, (6,). A goal whose position is
            outside is refused; the start, and the inclination of the goal, widen them.
        high: upper bounds, (6,).
        budget: CPU time of the search [s].
        seed: of the search.

    Returns:
        The path; if none is found within the budget, the start alone with a reason.
    """
    for name, pose in (("start", start), ("goal", goal)):
        wrong = valid.obstacle(pose)
        if wrong is not None:
            return RootPath((start,), False, f"the {name} is not possible for the base: {wrong}")
    outside = _outside(goal.translation, low, high)
    if outside:
        return RootPath((start,), False, f"the goal is outside the bounds of the base: {outside}")
    ou.RNG.setSeed(seed + 1)
    space = ob.RealVectorStateSpace(6)
    bounds = ob.RealVectorBounds(6)
    begin, end = _coordinates(start, None), _coordinates(goal, start)
    for k in range(6):
        bounds.setLow(k, float(min(low[k], begin[k], end[k]) - 1e-6))
        bounds.setHigh(k, float(max(high[k], begin[k], end[k]) + 1e-6))
    space.setBounds(bounds)
    setup = og.SimpleSetup(space)
    setup.setStateValidityChecker(lambda state: valid(_pose([state[k] for k in range(6)])))
    information = setup.getSpaceInformation()
    information.setStateValidityCheckingResolution(0.02 / max(space.getMaximumExtent(), 1e-9))
    planner = og.RRTConnect(information)
    planner.setRange(0.5)
    setup.setPlanner(planner)
    first, last = space.allocState(), space.allocState()
    for k in range(6):
        first[k], last[k] = float(begin[k]), float(end[k])
    setup.setStartAndGoalStates(first, last)
    if not _straight(begin, end, valid):
        setup.solve(_after(budget))
        if not setup.haveExactSolutionPath():
            return RootPath((start,), False, f"no path of the base to the goal was found in {budget:g} s")
        setup.simplifySolution(_after(budget))
        found = setup.getSolutionPath()
        knots = [np.array([state[k] for k in range(6)]) for state in found.getStates()]
    else:
        knots = [begin, end]
    return RootPath(tuple(_pose(c) for c in _resampled(knots)), True)


def _outside(position: Array, low: Array, high: Array) -> str:
    """Return the coordinates of a position, (3,) [m], that are out of bounds, with their bounds."""
    return ", ".join(
        f"{axis} = {value:.2f} m, expected {least:g} to {most:g}"
        for axis, value, least, most in zip("xyz", position, low, high, strict=False)
        if not least - 1e-6 <= value <= most + 1e-6
    )


def _after(budget: float) -> ob.PlannerTerminationCondition:
    """Return a termination condition on CPU time [s], so that results do not depend on the load of the machine."""
    began = thread_time()
    return ob.PlannerTerminationCondition(lambda: thread_time() - began > budget)


def _straight(begin: Array, end: Array, valid: Reachability) -> bool:
    steps = max(2, int(np.linalg.norm(end - begin) / 0.03))
    return all(valid(_pose(begin + (end - begin) * k / steps)) for k in range(steps + 1))


def _resampled(knots: list[Array]) -> list[Array]:
    weights = np.array([1, 1, 1, 0.5, 0.5, 0.5])
    points = [knots[0]]
    for before, after in zip(knots, knots[1:], strict=False):
        length = float(np.linalg.norm((after - before) * weights))
        count = max(1, int(np.ceil(length / _SPACING)))
        points += [before + (after - before) * k / count for k in range(1, count + 1)]
    return points


def _coordinates(pose: pin.SE3, near: pin.SE3 | None) -> Array:
    """Return x, y, z, roll, pitch, yaw; the yaw within π of that of `near`."""
    angles = pin.rpy.matrixToRpy(pose.rotation)
    if near is not None:
        yaw = pin.rpy.matrixToRpy(near.rotation)[2]
        angles[2] = yaw + np.arctan2(np.sin(angles[2] - yaw), np.cos(angles[2] - yaw))
    return np.concatenate([pose.translation, angles])


def _pose(coordinates: Sequence[float] | Array) -> pin.SE3:
    return pin.SE3(pin.rpy.rpyToMatrix(*coordinates[3:]), np.array(coordinates[:3], dtype=float))
