"""Centre of mass of one subsystem or of a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.curves import Curves
from multi_qp_controller.kinematics import Group, Kinematics
from multi_qp_controller.memory import Memory
from multi_qp_controller.paths import Path
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
        self._curves = self._given_curves = curves
        self._moved = False
        self.group = group
        self.dim = len(axes)
        self.axes = list(axes)
        self.along_with = list(along_with)
        self.pairs = tuple((frame, None) for frame in along_with)
        self._goal = goal
        self._duration = (duration or 0.0) if curves is None else curves.duration
        self.max_speed = max_speed
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
        self._curves, self._moved = self._given_curves, False
        com, base = self.group.com(kinematics), self._base(kinematics)
        self._from = com - base
        self._to = self._goal(kinematics, com) - base
        self._note_path()

    def memory(self) -> Memory:
        """Return also where it comes from and goes to, less p."""
        return super().memory() | {
            "from": self._from,
            "to": self._to,
            "reference": self._reference.copy(),
            "moved": self._moved,
        }

    def resume(self, memory: Memory, kinematics: Kinematics) -> None:
        """Go on from a memory."""
        super().resume(memory, kinematics)
        self._from, self._to, self._reference = memory["from"], memory["to"], memory["reference"]
        self._moved = memory["moved"]
        if self._moved:
            self._curves = None
        self._note_path()

    def columns(self, scene: Scene) -> NDArray[np.intp]:
        """Return what moves the group, or a frame that the target goes along with."""
        return np.union1d(self.group.columns, scene.moving(*self.along_with))

    def compute(self, kinematics: Kinematics, time: float, J: Array, b: Array) -> None:
        """Write the rows of this tick."""
        place, rate, second = self.sample(time).reshape(3, 3).T
        self._reference = self._base(kinematics) + place
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
        self._error = (self.group.com(kinematics) - self._reference)[self.axes]
        self._speed = velocity[self.axes]
        error = limited_error(self._error, stiffness=self.stiffness, damping=self.damping, max_speed=self.max_speed)
        desired = self.feedback(error, (velocity - rate)[self.axes]) + second[self.axes]
        if self.along_with:
            J[:] = self._full_J[self.axes]
        else:  # the others' columns are never written
            where = self.group.where
            J[:, where] = (
                self._full_J[self.axes, where] if isinstance(where, slice) else self._full_J[self.axes][:, where]
            )
        b[:] = desired - drift[self.axes]

    def _note_path(self) -> None:
        self.path = None
        if self._curves is None:
            step = self._to - self._from
            self.path = Path.straight(self._from, step, start=self.started_at, duration=self._duration)

    def sample(self, time: float, position: Array | None = None) -> Array:
        """Return the reference relative to p at `time` [s]: place, rate and acceleration along each axis, (9,)."""
        if self.path is not None or self._curves is None:
            return super().sample(time)
        elapsed = time - self.started_at
        curve = self._curves.sample(elapsed)
        if elapsed >= self._duration:
            self.path = Path.straight(curve[0], np.zeros(3), start=self.started_at, duration=0.0)
        return np.stack(curve, axis=1).ravel()

    def bind_reference(self, reference: Array) -> None:
        """Have the reference in this array from now on, world frame, (3,) [m]."""
        self._reference = reference

    def move_target(self, kinematics: Kinematics, position: Array, rotation: Array | None = None) -> None:
        """Make `position`, in the world, the set-point from now on.

        Raises:
            ValueError: when a number is not finite.
        """
        if not np.isfinite(position).all():
            raise ValueError("a target must be finite")
        self._curves, self._moved = None, True
        self._from = self._to = np.array(position, dtype=float) - self._base(kinematics)
        self._note_path()

    def target(self, kinematics: Kinematics) -> TargetSnapshot:
        """Return the reference point; along axes that the task asks nothing of, it is where the centre of mass is."""
        where = self.group.com(kinematics).copy()
        where[self.axes] = self._reference[self.axes]
        return TargetSnapshot(self.name, where)

    def _base(self, kinematics: Kinematics) -> Array:
        """Return p, world frame, (3,) [m]."""
        if not self.along_with:
            return np.zeros(3)
        return np.mean([kinematics.pose(frame).translation for frame in self.along_with], axis=0)
