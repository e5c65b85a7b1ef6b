"""Reference of a pose task from its specification in a scenario file."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.references.bezier import BezierPose
from multi_qp_controller.references.random import RandomPoints, RandomPose
from multi_qp_controller.references.references import MinimumJerkPose, MovablePose, PoseReference, RestingPose
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.tasks import PoseTargetSpec

_WORLD = pin.SE3.Identity()

#: Creates the reference at the start of the task, from the present pose X_B_A.
PoseReferenceFactory = Callable[[Kinematics, pin.SE3], PoseReference]


def pose_goal(target: PoseTargetSpec, frame_b: int | None, scene: Scene) -> PoseReferenceFactory:
    """Return the function that creates the reference of a target, for a pose in frame B; None is the world."""
    if (path := target.random_path) is not None:
        drawn = dict(path) | {"position": np.array(path.position), "angle": np.array(path.angle)}
        RandomPose.draw(**drawn)  # cached here, not in the tick that starts the task
        return lambda _, present: RandomPose(present, **drawn)
    if (points := target.random_points) is not None:
        options = dict(points) | {"size": np.array(points.size), "centre": np.array(points.centre)}
        return lambda _, present: RandomPoints(present, **options)
    frame_of = None if target.frame in ("world", "entry") else scene.frame_id(target.frame)
    place, duration, apex, via = _target_pose(target, frame_of, frame_b), target.duration, target.apex, target.via
    if target.interactive is not None:
        return lambda kinematics, present: MovablePose(place(kinematics, present))
    if duration is None:
        return lambda kinematics, present: RestingPose(place(kinematics, present))
    if not via:
        return lambda kinematics, present: MinimumJerkPose(present, place(kinematics, present), duration, apex=apex)

    def along_curve(kinematics: Kinematics, present: pin.SE3) -> PoseReference:
        X_b_of = _origin(kinematics, frame_of, frame_b)
        points = np.array([X_b_of.act(np.array(point)) for point in via])
        return BezierPose(present, place(kinematics, present), points, duration)

    return along_curve


def _target_pose(
    target: PoseTargetSpec, frame_of: int | None, frame_b: int | None
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
    X_world_of = _WORLD if frame_of is None else kinematics.pose(frame_of)
    return X_world_of if frame_b is None else kinematics.pose(frame_b).actInv(X_world_of)
