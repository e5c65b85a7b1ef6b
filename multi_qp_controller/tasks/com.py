"""Centre of mass of one subsystem or of a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.curves import Curves
from multi_qp_controller.kinematics import Group, Kinematics
from multi_qp_controller.memory import Memory
from multi_qp_controller.references import minimum_jerk
from multi_qp_controller.snapshot import TargetSnapshot
from multi_qp_controller.tasks.base import Task, limited_error
from multi_qp_scene.scene import Scene

Array = NDArray[np.float64]

#: Where the centre of mass should go, decided when the task is started: from the present one, (3,) -> (3,) [m].
CoMGoal = Callable[[Kinematics, Array], Array]


class CoMTask(Task):
    """x = c − p: centre of mass of a group of subsystems, along some world axes [m].

    p is the mean of the origins of some frames that the target goes along with, as shoulders that carry the group; 0 if
    there are none.
    """

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
        weight: float = 1.0,
        stiffness: float = 10.0,
        damping: float | None = None,
    ) -> None:
        """Make the task: `goal` says where to go, `axes` which world axes count, `duration` [s] how long it takes.

        The target goes along with the frames `along_with`, by index. `max_speed` [m/s] bounds the speed with which a
        far set-point is approached. `curves` are followed instead of a path to the goal.
        """
        super().__init__(name, weight=weight, stiffness=stiffness, damping=damping)
        self._curves, self._moved = curves, False
        self.group = group
        self.dim = len(axes)
        self._axes = list(axes)
        self._along_with = list(along_with)
        self._goal = goal
        self._duration = (duration or 0.0) if curves is None else curves.duration
        self._max_speed = max_speed
        self._from = np.zeros(3)
        self._to = np.zeros(3)
        self._full_J: Array = np.zeros((3, 0))
        self._reference = np.zeros(3)

    @property
    def duration(self) -> float:
        """Time that the reference moves for [s]."""
        return self._duration

    def start(self, kinematics: Kinematics, time: float) -> None:
        """Begin at the present centre of mass."""
        super().start(kinematics, time)
        self._full_J = np.zeros((3, kinematics.scene.nv))
        com, base = self.group.com(kinematics), self._base(kinematics)
        self._from = com - base
        self._to = self._goal(kinematics, com) - base

    def memory(self) -> Memory:
        """Return also where it comes from and goes to, less p."""
        return super().memory() | {
            "from": self._from,
            "to": self._to,
            "reference": self._reference,
            "moved": self._moved,
        }

    def resume(self, memory: Memory, kinematics: Kinematics) -> None:
        """Go on from a memory."""
        super().resume(memory, kinematics)
        self._full_J = np.zeros((3, kinematics.scene.nv))
        self._from, self._to, self._reference = memory["from"], memory["to"], memory["reference"]
        self._moved = memory["moved"]
        if self._moved:
            self._curves = None

    def columns(self, scene: Scene) -> NDArray[np.intp]:
        """Return what moves the group, or a frame that the target goes along with."""
        return np.union1d(self.group.columns, scene.moving(*self._along_with))

    def compute(self, kinematics: Kinematics, time: float, J: Array, b: Array) -> None:
        """Write the rows of this tick."""
        place, rate, second = self._sample(time - self.started_at)
        self._reference = self._base(kinematics) + place
        velocity, drift = self.group.com_velocity(kinematics), self.group.com_drift(kinematics)
        if self._along_with:
            self._full_J[:] = 0.0
        self.group.com_jacobian(kinematics, self._full_J)
        for frame in self._along_with:
            point_J, point_velocity, point_drift = kinematics.point_motion(frame)
            share = 1.0 / len(self._along_with)
            self._full_J -= share * point_J
            velocity = velocity - share * point_velocity
            drift = drift - share * point_drift
        self._error = (self.group.com(kinematics) - self._reference)[self._axes]
        self._speed = velocity[self._axes]
        error = limited_error(self._error, stiffness=self.stiffness, damping=self.damping, max_speed=self._max_speed)
        desired = self.feedback(error, (velocity - rate)[self._axes]) + second[self._axes]
        if self._along_with:
            J[:] = self._full_J[self._axes]
        else:  # the others' columns are never written
            where = self.group.where
            J[:, where] = (
                self._full_J[self._axes, where] if isinstance(where, slice) else self._full_J[self._axes][:, where]
            )
        b[:] = desired - drift[self._axes]

    def _sample(self, time: float) -> tuple[Array, Array, Array]:
        """Return the reference relative to p, its velocity and acceleration, at `time` [s] after the start."""
        if self._curves is not None:
            return self._curves.sample(time)
        step = self._to - self._from
        s, ds, dds = minimum_jerk(time, self._duration) if self._duration else (1.0, 0.0, 0.0)
        return self._from + s * step, ds * step, dds * step

    def move_target(self, kinematics: Kinematics, position: Array, rotation: Array | None = None) -> None:
        """Make `position`, in the world, the set-point from now on.

        Raises:
            ValueError: when a number is not finite.
        """
        if not np.isfinite(position).all():
            raise ValueError("a target must be finite")
        self._curves, self._moved = None, True
        self._from = self._to = np.array(position, dtype=float) - self._base(kinematics)

    def target(self, kinematics: Kinematics) -> TargetSnapshot:
        """Return the reference point."""
        return TargetSnapshot(self.name, self._reference.copy())

    def _base(self, kinematics: Kinematics) -> Array:
        """Return p, world frame, (3,) [m]."""
        if not self._along_with:
            return np.zeros(3)
        return np.mean([kinematics.pose(frame).translation for frame in self._along_with], axis=0)
