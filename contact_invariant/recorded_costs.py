"""Costs of the motion of the full model that is nearest to a retargeted one, as models of crocoddyl."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_invariant.clearance_residual import ClearanceResidual
from contact_invariant.cost_sum import CostSum
from contact_invariant.optional_crocoddyl import crocoddyl
from multi_qp_scene.arrays import Array
from multi_qp_scene.geometry_data import geometry_data
from multi_qp_scene.motions.contacts import GRAVITY
from multi_qp_scene.overlaps import OverlapSearch, convex_geometry
from multi_qp_scene.scene import Scene
from multi_qp_scene.surfaces import Surface

#: Shares of torque limits and joint speeds that are used, distance from joint limits [rad] and edges of soles [m].
TORQUE, SPEED, JOINT_MARGIN, EDGE = 0.85, 0.8, 0.12, 0.02
#: Friction coefficient, and largest normal force of a sole, in body weights.
FRICTION, LARGEST = 0.5, 3.0
#: Distance of own links that is kept, within which pairs are looked at [m], and height of feet in the air.
APART, UNLISTED, NEAR, CLEARANCE = 0.03, 0.01, 0.12, 0.01
#: Steps after a lift and before a landing in which a foot may be lower.
LEAVING = 2
#: Weights, of squares per second: distance from the reference: trunk and joints [rad], velocities, centre of mass ...
TRUNK, POSTURE, VELOCITY, COM = 5.0, 2.0, 0.03, 100.0
#: ... feet in the air: horizontal, vertical [m], turn [rad]; footholds [m], [rad]; moments about the middle of soles
#: [body weights · m]; effort, joint accelerations;
SWING = np.array([100.0, 100.0, 200.0, 20.0, 20.0, 20.0])
FOOTHOLD, CENTRE, EFFORT, ACCELERATION = 300.0, 2000.0, 2.0, 2e-4
#: ... barriers times the firmness: poses and velocities of landings, forces in body weights, angles, speeds, torques
#: [N m], heights of soles, distances of links.
LANDING, AT_REST, CONE, ANGLES, SPEEDS, TORQUES, HEIGHT, OVERLAP = 1e6, 1e5, 1e4, 1e4, 100.0, 1.0, 1e4, 2e4
#: Weights at the end: trunk, joints, velocities.
END_TRUNK, END_POSTURE, END_VELOCITY = 2e3, 100.0, 50.0


@dataclass(frozen=True)
class RecordedTask:
    """Reference, contact sequence and poses of the soles.

    Attributes:
        q: configurations, (n, nq).
        v: velocities, (n, nv).
        contacts: whether each sole is planted, (n, soles).
        soles: poses of each sole.
        dt: time between two samples [s].
    """

    q: Array
    v: Array
    contacts: NDArray[np.bool_]
    soles: list[list[pin.SE3]]
    dt: float

    def begin(self, k: int, j: int) -> int:
        """Return the first sample of the contact of a sole at a sample."""
        lifted = np.flatnonzero(~self.contacts[: k + 1, j])
        return int(lifted[-1]) + 1 if len(lifted) else 0


class RecordedCosts:
    """Makes the costs of each sample.

    Attributes:
        state: of crocoddyl; its model has frames at the corners of the soles.
        limit: largest torque of each joint, (nv - 6,) [N m].
        weight: of the body [N].
    """

    def __init__(
        self, scene: Scene, soles: list[Surface], listed: list[tuple[int, int]], other: list[tuple[int, int]]
    ) -> None:
        """Prepare for a robot.

        Args:
            scene: a scene of this robot alone.
            soles: surfaces of its feet.
            listed: pairs of collision pieces that are kept apart by `APART`.
            other: those that are kept apart by `UNLISTED`.
        """
        self._scene, self._soles = scene, soles
        self._model = model = pin.Model(scene.model)
        model.names[1] = "root_joint"  # by this name crocoddyl finds the joint without motors
        self._corners = [_corner_frames(model, sole) for sole in soles]
        self.state = crocoddyl.StateMultibody(model)
        self._nu, self._data = model.nv - 6, model.createData()
        self.weight = GRAVITY * pin.computeTotalMass(model)
        limit = np.zeros(scene.nv)
        limit[scene.actuated_v] = np.where(np.isfinite(scene.torque_limits), scene.torque_limits, 200.0)
        self.limit = limit[6:]
        self._margins = [*[APART] * len(listed), *[UNLISTED] * len(other)]
        self._search = OverlapSearch(scene.model, scene.collision_model, [*listed, *other], margin=NEAR)
        self.geometry = convex_geometry(scene.collision_model, [*listed, *other])
        self._shared = self.geometry, geometry_data(self.geometry)

    def at(self, task: RecordedTask, k: int, q: Array, firmness: float, placed: bool) -> crocoddyl.CostModelSum:
        """Return the costs of a sample.

        Args:
            task: the task.
            k: the sample.
            q: posture near which links are looked for that are close to each other.
            firmness: factor of the barriers.
            placed: whether footholds are known.
        """
        state, nu, last = self.state, self._nu, k == len(task.q) - 1
        costs = CostSum(state, nu)
        for j in range(len(self._soles)):
            self._foot(costs, task, k, j, firmness, placed)
        nv = self._model.nv
        trunk, joints, rates = (END_TRUNK, END_POSTURE, END_VELOCITY) if last else (TRUNK, POSTURE, VELOCITY)
        weights = np.concatenate([[0.0] * 3, [trunk] * 3, np.full(nv - 6, joints), np.full(nv, rates)])
        there = np.concatenate([task.q[k], np.zeros(nv) if last else task.v[k]])
        costs.squares("posture", crocoddyl.ResidualModelState(state, there, nu), weights)
        com = np.asarray(pin.centerOfMass(self._model, self._data, task.q[k]))
        costs.add("com", crocoddyl.ResidualModelCoMPosition(state, com, nu), COM)
        costs.joint_limits(self._scene, JOINT_MARGIN, SPEED, firmness * ANGLES, firmness * SPEEDS)
        near = list(self._search.distances(q))
        if near:
            ends = [(int(a), int(b)) for a, b in self._search.pairs[near]]
            residual = ClearanceResidual(state, nu, self._scene, ends, [self._margins[k] for k in near], self._shared)
            costs.add("clearance", residual, firmness * OVERLAP)
        if not last:
            costs.torques(self.limit, EFFORT, TORQUE, firmness * TORQUES)
            costs.add("accelerations", crocoddyl.ResidualModelJointAcceleration(state, nu), ACCELERATION)
        return costs.sum

    def _foot(self, costs: CostSum, task: RecordedTask, k: int, j: int, firmness: float, placed: bool) -> None:
        """Add the costs of a foot: forces while it is planted, pose and velocity at its landing, path in the air."""
        state, nu, frame, X = self.state, self._nu, self._soles[j].frame_id, task.soles[j][k]
        pose = crocoddyl.ResidualModelFramePlacement(state, frame, X, nu)
        if not task.contacts[k, j]:
            costs.squares(f"swing {j}", pose, SWING)
            beside = task.contacts[max(0, k - LEAVING) : k + LEAVING + 1, j].any()
            low = np.array([-np.inf, -np.inf, 0.0 if beside else CLEARANCE])
            for i, corner in enumerate(self._corners[j]):
                place = crocoddyl.ResidualModelFrameTranslation(state, corner, np.zeros(3), nu)
                costs.barrier(f"height {j} {i}", place, low, np.full(3, np.inf), firmness * HEIGHT)
            return
        if k < len(task.q) - 1:
            cone = self._cone(X, self._soles[j])
            wrench = crocoddyl.ResidualModelContactWrenchCone(state, frame, cone, nu)
            costs.barrier(f"cone {j}", wrench, cone.lb, cone.ub, firmness * CONE / self.weight**2)
            force = crocoddyl.ResidualModelContactForce(state, frame, pin.Force.Zero(), 6, nu)
            weights = np.array([0.0, 0.0, 0.0, CENTRE, CENTRE, 0.0]) / self.weight**2
            costs.squares(f"centre {j}", force, weights)
        if k > 0 and task.begin(k, j) == k:
            strict, free = firmness * LANDING, LANDING if placed else FOOTHOLD
            costs.squares(f"landing {j}", pose, np.array([free, free, strict, strict, strict, free]))
            rate = crocoddyl.ResidualModelFrameVelocity(state, frame, pin.Motion.Zero(), pin.LOCAL, nu)
            costs.add(f"at rest {j}", rate, firmness * AT_REST)

    def _cone(self, X: pin.SE3, sole: Surface) -> crocoddyl.WrenchCone:
        up = 1.0 if X.rotation[2, 2] > 0.0 else -1.0  # normals of soles point downwards
        half = np.abs(sole.points[:, :2]).max(axis=0)
        extent = 2.0 * np.maximum(half - EDGE, 0.5 * half)
        return crocoddyl.WrenchCone(np.diag([1.0, up, up]), FRICTION, extent, 4, True, 0.0, LARGEST * self.weight)


def _corner_frames(model: pin.Model, sole: Surface) -> list[int]:
    """Add a frame at each corner of a sole, and return their indices."""
    frame = model.frames[sole.frame_id]
    return [
        model.addFrame(
            pin.Frame(
                f"{frame.name} corner {i}",
                frame.parentJoint,
                frame.placement * pin.SE3(np.eye(3), p),
                pin.FrameType.OP_FRAME,
            )
        )
        for i, p in enumerate(sole.points)
    ]
