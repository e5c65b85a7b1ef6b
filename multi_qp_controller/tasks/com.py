"""Task on the centre of mass of a subsystem or of a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Unpack

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.contacts.support_polygon import support_centre
from multi_qp_controller.dynamics.kinematics import Group, Kinematics
from multi_qp_controller.references.bezier import CONTINUED, Curves
from multi_qp_controller.references.minimum_jerk import Path
from multi_qp_controller.snapshot import TargetSnapshot
from multi_qp_controller.tasks.base import DEFAULT_SPEEDS, Gains, Task, axis_indices, limit_share
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.tasks import CoMTargetSpec, CoMTaskSpec
from multi_qp_scene.surfaces import Surface

#: Goal of the centre of mass, evaluated at the start of the task: present position (3,) -> goal (3,) [m].
CoMGoal = Callable[[Kinematics, Array], Array]


class CoMTask(Task):
    """x = c − p: centre of mass of a group of subsystems, along some world axes [m].

    p is the mean of the origins of carrier frames, such as the shoulders that carry the group; 0 if there are none.

    Attributes:
        start_position: x at the start, (3,) [m].
        goal_position: goal of x, (3,) [m].
        reference: reference of c at the last tick, (3,) [m].
        moved: whether a user has moved the set-point.
    """

    Spec = CoMTaskSpec
    unit = "m"

    @dataclass
    class Checkpoint(Task.Checkpoint):
        """Start, goal and reference."""

        start_position: Annotated[Array, 3]
        goal_position: Annotated[Array, 3]
        reference: Annotated[Array, 3]
        moved: bool

    def __init__(
        self,
        name: str,
        *,
        group: Group,
        goal: CoMGoal,
        axes: Sequence[int] = (0, 1, 2),
        along_with: Sequence[int] = (),
        duration: float | None = None,
        curves: Curves | None = None,
        max_speed: float | None = None,
        **gains: Unpack[Gains],
    ) -> None:
        """Create the task.

        Args:
            name: unique in the scene.
            group: subsystems of the centre of mass.
            goal: goal of the centre of mass.
            axes: world axes to use as rows.
            along_with: carrier frames, by index; the reference is relative to p.
            duration: duration of a minimum-jerk path to the goal [s]; a set-point if None.
            curves: Bézier curves to follow instead of a path to the goal.
            max_speed: bound on the speed at which a far reference is approached [m/s].
            gains: weight, stiffness and damping, see `Task`.
        """
        super().__init__(name, **gains)
        self._curves = self._given_curves = curves
        self.moved = False
        self.group = group
        self.dim = len(axes)
        self.axes = list(axes)
        self.along_with = list(along_with)
        self.pairs = tuple((frame, None) for frame in along_with)
        self._goal = goal
        self._duration = (duration or 0.0) if curves is None else curves.duration
        if max_speed is not None:
            self.speeds = max_speed, max_speed
        self.start_position = np.zeros(3)
        self.goal_position = np.zeros(3)
        self._full_J: Array = np.zeros((3, 0))
        self.reference = np.zeros(3)

    @classmethod
    def of(cls, name: str, spec: CoMTaskSpec, scenario: Scenario) -> CoMTask:
        """Return the task of a specification."""
        target, scene = spec.target, scenario.scene
        contacts = [scenario.spec.contacts[contact] for contact in target.over_contacts or []]
        surfaces = [scene.surfaces[contact.surfaces[0]] for contact in contacts]
        return cls(
            name,
            group=Group.of(scene, spec.subsystems),
            goal=_goal(target, surfaces),
            axes=axis_indices(spec.axes),
            along_with=[surface.frame_id for surface in surfaces] if target.follow else (),
            duration=target.duration,
            curves=Curves([(curve.points, curve.duration) for curve in target.curves]) if target.curves else None,
            max_speed=spec.max_speed or DEFAULT_SPEEDS[0],
            **spec.gains,
        )

    @property
    def duration(self) -> float:
        """Duration of the reference motion [s]."""
        return self._duration

    def start(self, kinematics: Kinematics, time: float) -> None:
        """Start at the present centre of mass."""
        super().start(kinematics, time)
        self._curves, self.moved = self._given_curves, False
        com, base = self.group.com(kinematics), self._base(kinematics)
        self.start_position = com - base
        self.goal_position = self._goal(kinematics, com) - base
        self._update_path()

    def restored(self, kinematics: Kinematics) -> None:
        """Compute the path."""
        self._curves = None if self.moved else self._given_curves
        self._update_path()

    def columns(self, scene: Scene) -> NDArray[np.intp]:
        """Return the entries of v that move the group or a carrier frame."""
        return np.union1d(self.group.columns, scene.moving(*self.along_with))

    def compute(self, kinematics: Kinematics, time: float, J: Array, b: Array) -> None:
        """Write the rows of this tick."""
        place, rate, second = self.sample(time).reshape(3, 3).T
        self.reference = self._base(kinematics) + place
        velocity, drift = self.group.com_velocity(kinematics), self.group.com_drift(kinematics)
        if self.along_with or self._full_J.shape[1] != J.shape[1]:
            self._full_J = np.zeros((3, J.shape[1]))
        self.group.com_jacobian(kinematics, self._full_J)
        for frame in self.along_with:
            point_J, point_velocity, point_drift = kinematics.point_motion(frame)
            share = 1.0 / len(self.along_with)
            self._full_J -= share * point_J
            velocity = velocity - share * point_velocity
            drift = drift - share * point_drift
        self._error = (self.group.com(kinematics) - self.reference)[self.axes]
        self._speed = velocity[self.axes]
        gains = {"stiffness": self.stiffness, "damping": self.damping}
        share = limit_share(self._error, self._speed, max_speed=self.speeds[0], **gains)
        desired = self.feedback(share * self._error, (velocity - share * rate)[self.axes]) + share * second[self.axes]
        if self.along_with:
            J[:] = self._full_J[self.axes]
        else:  # other columns are never written
            where = self.group.where
            J[:, where] = (
                self._full_J[self.axes, where] if isinstance(where, slice) else self._full_J[self.axes][:, where]
            )
        b[:] = desired - drift[self.axes]

    def _update_path(self) -> None:
        self.path = None
        if self._curves is None and self.given is None:
            step = self.goal_position - self.start_position
            self.path = Path.straight(self.start_position, step, start=self.started_at, duration=self._duration)

    def sample(self, time: float, position: Array | None = None) -> Array:
        """Return the reference relative to p at `time` [s]: position, velocity, acceleration along each axis, (9,)."""
        if self.given is not None or self.path is not None or self._curves is None:
            return super().sample(time)
        elapsed = time - self.started_at
        curve = self._curves.sample(elapsed)
        if elapsed >= self._duration + CONTINUED:
            self.path = Path.straight(curve[0], np.zeros(3), start=self.started_at, duration=0.0)
        return np.stack(curve, axis=1).ravel()

    @property
    def reference_size(self) -> int:
        """Position relative to p, velocity, acceleration along each world axis."""
        return 9

    def bind_reference(self, reference: Array) -> None:
        """Use this array for the reference, world frame, (3,) [m]."""
        self.reference = reference

    def move_target(self, kinematics: Kinematics, position: Array, rotation: Array | None = None) -> None:
        """Move the set-point to `position`, world frame, (3,) [m].

        Raises:
            ValueError: when a number is not finite.
        """
        if not np.isfinite(position).all():
            raise ValueError("a target must be finite")
        self._curves, self.moved = None, True
        self.start_position = self.goal_position = np.array(position, dtype=float) - self._base(kinematics)
        self._update_path()

    def target(self, kinematics: Kinematics) -> TargetSnapshot:
        """Return the reference point; along axes that are not tasked, the present centre of mass."""
        where = self.group.com(kinematics).copy()
        where[self.axes] = self.reference[self.axes]
        return TargetSnapshot(self.name, where)

    def _base(self, kinematics: Kinematics) -> Array:
        """Return p, world frame, (3,) [m]."""
        if not self.along_with:
            return np.zeros(3)
        return np.add.reduce([kinematics.pose(frame).translation for frame in self.along_with]) / len(self.along_with)


def _goal(target: CoMTargetSpec, surfaces: list[Surface]) -> CoMGoal:
    offset = np.array(target.offset)
    position = None if target.position is None else np.array(target.position, dtype=float)

    def goal(kinematics: Kinematics, present: Array) -> Array:
        place = (present if position is None else position).copy()
        if surfaces:
            place[:2] = support_centre(kinematics, surfaces)[:2]
        return place + offset

    return goal
