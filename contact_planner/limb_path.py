"""Collision-free path of a limb around obstacles: RRT-Connect over its joints, [Tonneau2018] section 7."""

from __future__ import annotations

from collections.abc import Mapping
from time import thread_time

import numpy as np
import pinocchio as pin
from ompl import base as ob
from ompl import geometric as og
from ompl import util as ou

from contact_planner.body import CharacterModel, Limb
from contact_planner.clearance import CollisionChecker
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.scene import Scene

#: Heights above a place, along its normal, to which the limb is led; the lowest that is free and in reach [m].
HEIGHTS = (0.03, 0.05, 0.08, 0.12)
#: Largest distance from there, where the body is not yet near enough [m].
_REACHED = 0.12
_ITERATIONS, _DAMPING, _STEP = 60, 1e-3, 0.3  # inverse kinematics; the largest change of a joint in a step [rad]
_DEEP = 0.045  # [m] overlap on the direct way beyond which the limb is led around; the controller resolves less
_UP_TO = 0.8  # part of the direct way that is checked
_RESOLUTION = 0.05  # [rad] distance of the configurations that are checked


class LimbPaths:
    """Paths of the limbs of one character that are in no contact."""

    def __init__(self, scene: Scene, character: str, surfaces: Mapping[str, str], q: Array) -> None:
        """Create the collision tests.

        Args:
            scene: the scene; others are at its initial configuration.
            character: name of the subsystem.
            surfaces: full names of the surfaces of its limbs, by limb.
            q: a posture of the character, (nq,).
        """
        self._body = CharacterModel(scene, character, surfaces, q=scene.q0, posture=q)
        self._clearance = CollisionChecker(self._body, margin=0.004)
        self._blocked = CollisionChecker(self._body, margin=-_DEEP, own=-_DEEP, overlap=_DEEP)

    def around(
        self, name: str, place: pin.SE3, start: Array, end: Array, *, lift: float, budget: float, seed: int
    ) -> list[Array]:
        """Return the configurations of a limb's path to a place, (nq,) each; none if the direct way is free.

        The rest of the body remains in its posture at the start; the last configuration is above the place. Between two
        of them joints move on a straight line. There is no path either if none is found.

        Args:
            name: of the limb.
            place: pose of its surface at its next contact; +z is opposite to the normal there.
            start: configuration of the character at the start, (nq,).
            end: configuration with the limb at the place, (nq,).
            lift: height of the direct way in its middle above the straight line [m].
            budget: CPU time of the search [s].
            seed: of the search.
        """
        limb = self._body.limbs[name]
        if not len(limb.own) or not self._clearance.is_free(start):
            return []
        if self._is_direct_way_free(limb, place, start, end, lift):
            return []
        for height in HEIGHTS:
            goal = self._above(limb, place, start, end, height)
            if goal is not None:
                return self._search(limb.own + 1, start, goal, budget, seed)
        return []

    def _is_direct_way_free(self, limb: Limb, place: pin.SE3, start: Array, end: Array, lift: float) -> bool:
        """Whether the straight path of the limb's surface, with `lift` in its middle, is free up to its last part."""
        self._body.place(start)
        here = self._body.surface_pose(limb).copy()
        count = max(4, int(np.abs(end[7:] - start[7:]).max() / _RESOLUTION))
        last = start
        for k in range(1, int(_UP_TO * count)):
            s = k / count
            target = pin.SE3.Interpolate(here, place, s)
            target.translation = (1.0 - s) * here.translation + s * place.translation
            target.translation[2] += 64.0 * (s * (1.0 - s)) ** 3 * lift
            q = pin.interpolate(self._body.model, start, end, s)
            q[limb.own + 1] = last[limb.own + 1]
            last = self._placed(limb, target, q, _ITERATIONS // 4)
            if not self._blocked.is_free(last):
                return False
        return True

    def _placed(self, limb: Limb, target: pin.SE3, q: Array, iterations: int) -> Array:
        """Return a configuration with the limb's surface as near as possible to a pose, by its own joints, (nq,)."""
        model, data, own = self._body.model, self._body.data, limb.own
        q = q.copy()
        for _ in range(iterations):
            pin.computeJointJacobians(model, data, q)
            here = pin.updateFramePlacement(model, data, limb.frame_id)
            error = pin.log6(here.actInv(target)).vector
            J = pin.getFrameJacobian(model, data, limb.frame_id, pin.LOCAL)[:, own]
            step = J.T @ np.linalg.solve(J @ J.T + _DAMPING * np.eye(6), error)
            step *= min(1.0, _STEP / max(float(np.abs(step).max()), 1e-9))
            q[own + 1] = np.clip(q[own + 1] + step, self._body.lower[own], self._body.upper[own])
        return q

    def _above(self, limb: Limb, place: pin.SE3, start: Array, end: Array, height: float) -> Array | None:
        """Return the posture at the start with the limb above a place, (nq,); None if it collides or is far from it."""
        target = pin.SE3(place.rotation, place.translation - height * place.rotation[:, 2])
        guess = start.copy()
        guess[limb.own + 1] = end[limb.own + 1]
        q = self._placed(limb, target, guess, _ITERATIONS)
        self._body.place(q)
        away = np.linalg.norm(self._body.surface_pose(limb).translation - target.translation)
        return q if away < _REACHED and self._clearance.is_free(q) else None

    def _search(self, joints: Indices, start: Array, goal: Array, budget: float, seed: int) -> list[Array]:
        lower, upper = self._body.lower[joints - 1], self._body.upper[joints - 1]
        tried = start.copy()

        def valid(state: ob.State) -> bool:
            tried[joints] = [state[k] for k in range(len(joints))]
            return self._clearance.is_free(tried)

        ou.RNG.setSeed(seed + 1)
        space = ob.RealVectorStateSpace(len(joints))
        bounds = ob.RealVectorBounds(len(joints))
        for k, joint in enumerate(joints):
            bounds.setLow(k, float(min(max(lower[k], -np.pi), start[joint], goal[joint])))
            bounds.setHigh(k, float(max(min(upper[k], np.pi), start[joint], goal[joint])))
        space.setBounds(bounds)
        setup = og.SimpleSetup(space)
        setup.setStateValidityChecker(valid)
        information = setup.getSpaceInformation()
        information.setStateValidityCheckingResolution(_RESOLUTION / max(space.getMaximumExtent(), 1e-9))
        setup.setPlanner(og.RRTConnect(information))
        first, last = space.allocState(), space.allocState()
        for k, joint in enumerate(joints):
            first[k], last[k] = float(start[joint]), float(goal[joint])
        setup.setStartAndGoalStates(first, last)
        began = thread_time()
        setup.solve(ob.PlannerTerminationCondition(lambda: thread_time() - began > budget))
        if not setup.haveExactSolutionPath():
            return []
        began = thread_time()
        setup.simplifySolution(ob.PlannerTerminationCondition(lambda: thread_time() - began > budget))
        path = []
        for state in setup.getSolutionPath().getStates()[1:]:
            q = start.copy()
            q[joints] = [state[k] for k in range(len(joints))]
            path.append(q)
        return path
