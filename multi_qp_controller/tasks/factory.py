"""Factory of tasks from their specifications in a scenario file."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.contacts.support_polygon import support_centre
from multi_qp_controller.dynamics.kinematics import Group, Kinematics
from multi_qp_controller.references.bezier import BezierPose, Curves
from multi_qp_controller.references.random import RandomPoints, RandomPose
from multi_qp_controller.references.references import MinimumJerkPose, MovablePose, PoseReference, RestingPose
from multi_qp_controller.tasks.base import Task
from multi_qp_controller.tasks.com import CoMGoal, CoMTask
from multi_qp_controller.tasks.joint import JointAngleTask, JointVelocityTask
from multi_qp_controller.tasks.momentum import MomentumTask
from multi_qp_controller.tasks.pose import PoseGoal, PoseTask
from multi_qp_controller.tasks.posture import PostureTask
from multi_qp_scene.configuration import set_joint_angles
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema import tasks as spec_of

Array = NDArray[np.float64]

_AXIS_INDEX = {"x": 0, "y": 1, "z": 2, "roll": 3, "pitch": 4, "yaw": 5}


class TaskFactory:
    """Creates the tasks of one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._scene = scenario.scene

    def make(self, name: str, spec: spec_of.TaskSpec) -> Task:
        """Create a task from its specification, whose names have been checked."""
        gains: dict[str, Any] = {"weight": spec.weight, "stiffness": spec.stiffness, "damping": spec.damping}
        match spec:
            case spec_of.PostureTaskSpec():
                return self._posture(name, spec)
            case spec_of.CoMTaskSpec():
                return CoMTask(
                    name,
                    group=Group.of(self._scene, spec.subsystems),
                    goal=self._com_goal(spec.target),
                    axes=_indices(spec.axes),
                    along_with=self._carriers(spec.target),
                    duration=spec.target.duration,
                    curves=_curves(spec.target),
                    max_speed=spec.max_speed,
                    **gains,
                )
            case spec_of.PoseTaskSpec():
                return PoseTask(
                    name,
                    frame_a=self._scene.frame_id(spec.frame),
                    frame_b=None if spec.relative_to is None else self._scene.frame_id(spec.relative_to),
                    goal=self._pose_goal(spec),
                    axes=_indices(spec.axes),
                    max_speed=spec.max_speed,
                    **gains,
                )
            case spec_of.JointAngleTaskSpec():
                joint = ScalarJoint.of(self._scene.model, spec.joint)
                return JointAngleTask(name, joint=joint, goal=spec.target, duration=spec.duration, **gains)
            case spec_of.JointVelocityTaskSpec():
                joint = ScalarJoint.of(self._scene.model, spec.joint)
                return JointVelocityTask(
                    name, v_index=joint.v_index, goal=spec.target, weight=spec.weight, stiffness=spec.stiffness
                )
            case spec_of.MomentumTaskSpec():
                return MomentumTask(
                    name,
                    group=Group.of(self._scene, spec.subsystems),
                    goal=np.array(spec.target),
                    axes=_indices(spec.axes),
                    weight=spec.weight,
                    stiffness=spec.stiffness,
                )

    def _posture(self, name: str, spec: spec_of.PostureTaskSpec) -> PostureTask:
        subsystem = self._scene.subsystems[spec.subsystem]
        all_names = self._scene.velocity_names
        prefix = f"{spec.subsystem}/"
        joints = subsystem.joint_v_slice
        # dependent joints of couplings are not tasked: their leading joints are
        indices = np.setdiff1d(np.arange(joints.start, joints.stop), self._scene.couplings.v_index)
        own_names = [all_names[k].removeprefix(prefix) for k in indices]
        keep = [
            spec.joints is None or any(fnmatch.fnmatch(own, pattern) for pattern in spec.joints) for own in own_names
        ]
        indices = indices[keep]
        own_names = [own for own, selected in zip(own_names, keep, strict=True) if selected]
        weights = np.ones(len(indices))
        for pattern, weight in spec.joint_weights.items():
            weights[[fnmatch.fnmatch(own, pattern) for own in own_names]] = weight
        return PostureTask(
            name,
            v_index=indices,
            q_reference=self._posture_reference(spec),
            row_weights=weights,
            duration=spec.duration,
            weight=spec.weight,
            stiffness=spec.stiffness,
            damping=spec.damping,
        )

    def _posture_reference(self, spec: spec_of.PostureTaskSpec) -> Array | None:
        subsystem = self._scene.subsystems[spec.subsystem]
        if spec.posture == "entry":
            return None
        q = self._scene.q0.copy()
        if isinstance(spec.posture, dict):
            q[subsystem.q_slice] = subsystem.postures["initial"]
            set_joint_angles(self._scene.model, q, spec.subsystem, spec.posture)
        else:
            q[subsystem.q_slice] = subsystem.postures[spec.posture or "initial"]
        return q

    def _com_goal(self, target: spec_of.CoMTargetSpec) -> CoMGoal:
        contacts = self._scenario.spec.contacts
        surfaces = [self._scene.surfaces[contacts[name].surfaces[0]] for name in target.over_contacts or []]
        offset = np.array(target.offset)

        def goal(kinematics: Kinematics, present: Array) -> Array:
            place = present.copy() if target.position is None else np.array(target.position, dtype=float)
            if surfaces:
                place[:2] = support_centre(kinematics, surfaces)[:2]
            return place + offset

        return goal

    def _carriers(self, target: spec_of.CoMTargetSpec) -> list[int]:
        """Return the carrier frames of a target, by index."""
        if not target.follow:
            return []
        contacts = self._scenario.spec.contacts
        return [self._scene.surfaces[contacts[name].surfaces[0]].frame_id for name in target.over_contacts or []]

    def _pose_goal(self, spec: spec_of.PoseTaskSpec) -> PoseGoal:
        target = spec.target
        frame_b = None if spec.relative_to is None else self._scene.frame_id(spec.relative_to)
        frame_of = None if target.frame in ("world", "entry") else self._scene.frame_id(target.frame)

        place = _target_pose(target, frame_of, frame_b)
        if (drawn := target.random_path) is not None:  # cached here, not in the tick that starts the task
            position, angle = np.array(drawn.position), np.array(drawn.angle)
            RandomPose.draw(drawn.duration, position, angle, drawn.seed, drawn.knots_every)

        def goal(kinematics: Kinematics, present: pin.SE3) -> PoseReference:
            if target.random_path is not None:
                path = target.random_path
                return RandomPose(
                    present,
                    duration=path.duration,
                    position=np.array(path.position),
                    angle=np.array(path.angle),
                    seed=path.seed,
                    knots_every=path.knots_every,
                )
            if target.random_points is not None:
                points = target.random_points
                return RandomPoints(
                    present,
                    count=points.count,
                    seed=points.seed,
                    size=np.array(points.size),
                    centre=np.array(points.centre),
                    tolerance=points.tolerance,
                    hold=points.hold,
                    timeout=points.timeout,
                    speed=points.speed,
                )
            end = place(kinematics, present)
            if target.interactive is not None:
                return MovablePose(end)
            if target.duration is None:
                return RestingPose(end)
            if target.via:
                X_b_of = _origin(kinematics, frame_of, frame_b)
                via = np.array([X_b_of.act(np.array(point)) for point in target.via])
                return BezierPose(present, end, via, target.duration)
            return MinimumJerkPose(present, end, target.duration, apex=target.apex)

        return goal


def _target_pose(
    target: spec_of.PoseTargetSpec, frame_of: int | None, frame_b: int | None
) -> Callable[[Kinematics, pin.SE3], pin.SE3]:
    """Return the function of X_B_target from the present pose; unspecified parts keep their present value."""
    position = None if target.position is None else np.array(target.position, dtype=float)
    rotation = None if target.rpy is None else pin.rpy.rpyToMatrix(*target.rpy)
    complete = None if position is None or rotation is None else pin.SE3(rotation, position)

    def from_entry(_: Kinematics, present: pin.SE3) -> pin.SE3:
        # offset along B's axes, rotation about the axes of the tasked frame
        turned = present.rotation if rotation is None else present.rotation @ rotation
        return pin.SE3(turned, present.translation if position is None else present.translation + position)

    def in_frame(kinematics: Kinematics, present: pin.SE3) -> pin.SE3:
        X_b_of = _origin(kinematics, frame_of, frame_b)
        if complete is not None:
            return X_b_of * complete
        desired = X_b_of.actInv(present)
        if position is not None:
            desired.translation = position
        if rotation is not None:
            desired.rotation = rotation
        return X_b_of * desired

    return from_entry if target.frame == "entry" else in_frame


def _origin(kinematics: Kinematics, frame_of: int | None, frame_b: int | None) -> pin.SE3:
    """Return the pose in B of the frame that a target is given in; None is the world."""
    X_world_of = pin.SE3.Identity() if frame_of is None else kinematics.pose(frame_of)
    return X_world_of if frame_b is None else kinematics.pose(frame_b).actInv(X_world_of)


def _curves(target: spec_of.CoMTargetSpec) -> Curves | None:
    return Curves([(curve.points, curve.duration) for curve in target.curves]) if target.curves else None


def _indices(axes: Sequence[str]) -> list[int]:
    return sorted(_AXIS_INDEX[axis] for axis in axes)
