"""Task on the pose of a link, a surface or an object, in the world or relative to another frame."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Unpack

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.dynamics.relative_motion import RelativeMotion, relative_motion
from multi_qp_controller.references.pose_goal import PoseReferenceFactory, pose_goal
from multi_qp_controller.references.random import RandomPoints
from multi_qp_controller.references.references import MovablePose, PoseReference, PoseSample
from multi_qp_controller.snapshot import TargetSnapshot
from multi_qp_controller.tasks.base import DEFAULT_SPEEDS, Gains, Task, axis_indices, limit_share
from multi_qp_controller.vectors import cross
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.tasks import PoseTaskSpec

#: Offset of a reference that has not been moved, (3,) [m].
_NO_SHIFT = np.zeros(3)


class PoseTask(Task):
    """x = pose of frame A in frame B (None: the world): position [m] and orientation [rad], in B's axes.

    Attributes:
        reference: the reference, None before the start.
    """

    Spec = PoseTaskSpec

    @dataclass
    class Checkpoint(Task.Checkpoint):
        """Reference, and its offset."""

        reference: PoseReference | None
        shift: Annotated[Array, 3]

    def __init__(
        self,
        name: str,
        *,
        frame_a: int,
        frame_b: int | None = None,
        goal: PoseReferenceFactory,
        axes: Sequence[int] = (0, 1, 2, 3, 4, 5),
        max_speed: float | tuple[float, float] | None = None,
        **gains: Unpack[Gains],
    ) -> None:
        """Create the task.

        Args:
            name: unique in the scene.
            frame_a: index of the tasked frame.
            frame_b: index of frame B; None for the world.
            goal: creates the reference.
            axes: rows to use: 0..2 position, 3..5 orientation, in B's axes.
            max_speed: bound on the speed at which a far reference is approached [m/s], [rad/s]: one for both, or two.
            gains: weight, stiffness and damping, see `Task`.
        """
        super().__init__(name, **gains)
        self.dim = len(axes)
        self.frame_a = frame_a
        self.frame_b = frame_b
        self.pairs = ((frame_a, frame_b),)
        self.axes = list(axes)
        self._goal = goal
        if max_speed is not None:
            self.speeds = max_speed if isinstance(max_speed, tuple) else (max_speed, max_speed)
        self.reference: PoseReference | None = None
        self._sample: PoseSample | None = None
        self._full_error = np.zeros(6)
        self._shift = _NO_SHIFT

    @classmethod
    def of(cls, name: str, spec: PoseTaskSpec, scenario: Scenario) -> PoseTask:
        """Return the task of a specification."""
        scene = scenario.scene
        frame_b = None if spec.relative_to is None else scene.frame_id(spec.relative_to)
        return cls(
            name,
            frame_a=scene.frame_id(spec.frame),
            frame_b=frame_b,
            goal=pose_goal(spec.target, frame_b, scene),
            axes=axis_indices(spec.axes),
            max_speed=spec.max_speed or DEFAULT_SPEEDS,
            **spec.gains,
        )

    @property
    def shift(self) -> Array:
        """Offset of the reference along B's axes, (3,) [m]; replaced, not written into."""
        return self._shift

    @shift.setter
    def shift(self, shift: Array) -> None:
        self._shift = shift
        self._update_path()

    def _update_path(self) -> None:
        path = None if self.reference is None else self.reference.path
        shift = None if self._shift is _NO_SHIFT else self._shift
        self.path = None if path is None or self.given is not None else path.shifted(self.started_at, shift)

    @property
    def reference_size(self) -> int:
        """Position, rotation row by row, velocity and acceleration of A in B, see `PoseSample`."""
        return 24

    def at_rest(self, numbers: Array) -> Array:
        """Return a given reference with zero velocity and acceleration."""
        held = numbers.copy()
        held[12:] = 0.0
        return held

    @property
    def duration(self) -> float:
        """Duration of the reference motion [s]."""
        return self.reference.duration if self.reference else 0.0

    @property
    def position_error(self) -> float:
        """Distance from the reference at the last `compute` [m]."""
        return float(np.linalg.norm(self._full_error[:3]))

    @property
    def rotation_error(self) -> float:
        """Angle from the reference at the last `compute` [rad]."""
        return float(np.linalg.norm(self._full_error[3:]))

    def errors(self) -> dict[str, tuple[float, str]]:
        """Return the errors of position [m] and rotation [rad], where the task has rows for them."""
        parts = {"position": (self._full_error[:3], "m"), "rotation": (self._full_error[3:], "rad")}
        used = {"position" if axis < 3 else "rotation" for axis in self.axes}
        return {
            f"{self.name}/{part}": (math.sqrt(error @ error), unit)
            for part, (error, unit) in parts.items()
            if part in used
        }

    def start(self, kinematics: Kinematics, time: float) -> None:
        """Start at the present pose."""
        super().start(kinematics, time)
        self._shift = _NO_SHIFT
        self.reference = self._goal(kinematics, self._pose(kinematics))
        self._update_path()

    def reference_done(self, time: float) -> bool:
        """Return whether the reference has ended; random points end with the last of them."""
        if isinstance(self.reference, RandomPoints):
            return self.reference.finished
        return super().reference_done(time)

    def move_target(self, kinematics: Kinematics, position: Array, rotation: Array | None = None) -> None:
        """Move an interactive set-point, given in the world.

        Raises:
            ValueError: when the reference is not interactive, or a number is not finite.
        """
        if not isinstance(self.reference, MovablePose):
            raise ValueError(f"the target of task '{self.name}' cannot be moved")
        position = np.asarray(position, dtype=float)
        if self.frame_b is not None:
            X_world_b = kinematics.pose(self.frame_b)
            position = X_world_b.actInv(position)
            rotation = None if rotation is None else X_world_b.rotation.T @ rotation
        present = self.reference.pose
        if not np.isfinite(position).all() or (rotation is not None and not np.isfinite(rotation).all()):
            raise ValueError("a target must be finite")
        self.reference = MovablePose(pin.SE3(present.rotation if rotation is None else rotation, position))
        self._update_path()

    def follow(self, reference: PoseReference, time: float) -> None:
        """Follow another reference, which starts at `time` [s]."""
        self.started_at = time
        self.reference = reference
        self._update_path()

    def columns(self, scene: Scene) -> NDArray[np.intp]:
        """Return the entries of v that move either frame."""
        return scene.moving(self.frame_a, self.frame_b)

    def bind_errors(self, errors: Array, reference: PoseSample) -> None:
        """Use these arrays for all six errors, (6,), and the reference."""
        self._full_error, self._sample = errors, reference

    def sample(self, time: float, position: Array | None = None) -> Array:
        """Return the reference at `time` [s], with the offset, see `PoseSample`, (24,)."""
        if self.given is not None or self.path is not None or self.reference is None:
            return super().sample(time)
        numbers = self.reference.sample(time - self.started_at).numbers.copy()
        numbers[:3] += self._shift
        if isinstance(self.reference, RandomPoints) and position is not None:
            self.reference = self.reference.observed(time - self.started_at, position)
        return numbers

    def compute(self, kinematics: Kinematics, time: float, J: Array, b: Array) -> None:
        """Write the rows of this tick."""
        motion = relative_motion(kinematics, self.frame_a, self.frame_b)
        sample = self._sample = PoseSample(self.sample(time, motion.X_B_A.translation))
        R = motion.X_B_A.rotation
        error = self._full_error
        error[:3] = motion.X_B_A.translation - sample.position
        error[3:] = R @ pin.log3(sample.rotation.T @ R)
        velocity = _rotated(R, motion.twist)
        share = self._shares(error, velocity)
        desired = self.feedback(share * error, velocity - share * sample.velocity) + share * sample.acceleration
        axes = self.axes
        self._error, self._speed = error[axes], velocity[axes]
        J[:] = _jacobian_in_b(R, motion)[axes]
        b[:] = (desired - _drift_in_b(R, motion))[axes]

    def target(self, kinematics: Kinematics) -> TargetSnapshot | None:
        """Return the reference pose in the world; of random points, the present one.

        Along axes that are not tasked, the position is that of the frame.
        """
        if self._sample is None:
            return None
        reference = self.reference
        position = reference.point if isinstance(reference, RandomPoints) else self._sample.position
        where, tasked = self._pose(kinematics).translation.copy(), [axis for axis in self.axes if axis < 3]
        where[tasked] = position[tasked]
        pose = pin.SE3(self._sample.rotation, where)
        if self.frame_b is not None:
            pose = kinematics.pose(self.frame_b) * pose
        return TargetSnapshot(self.name, pose.translation.copy(), pose.rotation.copy())

    def _pose(self, kinematics: Kinematics) -> pin.SE3:
        X_world_a = kinematics.pose(self.frame_a)
        return X_world_a.copy() if self.frame_b is None else kinematics.pose(self.frame_b).actInv(X_world_a)

    def _shares(self, error: Array, velocity: Array) -> Array:
        """Return the factors of `limit_share` for position and rotation along the tasked axes, (6,)."""
        tasked = np.zeros(6)
        tasked[self.axes] = error[self.axes]
        gains = {"stiffness": self.stiffness, "damping": self.damping}
        moved = np.zeros(6)
        moved[self.axes] = velocity[self.axes]
        parts = zip((tasked[:3], tasked[3:]), (moved[:3], moved[3:]), self.speeds, strict=True)
        return np.repeat([limit_share(e, s, max_speed=speed, **gains) for e, s, speed in parts], 3)


def _rotated(R: Array, twist: Array) -> Array:
    out = np.empty(6)
    out[:3] = R @ twist[:3]
    out[3:] = R @ twist[3:]
    return out


def _jacobian_in_b(R: Array, motion: RelativeMotion) -> Array:
    J = np.empty_like(motion.J)
    np.matmul(R, motion.J[:3], out=J[:3])
    np.matmul(R, motion.J[3:], out=J[3:])
    return J


def _drift_in_b(R: Array, motion: RelativeMotion) -> Array:
    """Return d/dt(R v) at q̈ = 0: R (v̇ + ω × v), linear then angular, (6,)."""
    drift = motion.drift.copy()
    drift[:3] += cross(motion.twist[3:], motion.twist[:3])
    return _rotated(R, drift)
