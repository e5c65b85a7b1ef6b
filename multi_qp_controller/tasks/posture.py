"""Posture task: joint angles of one subsystem."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Annotated, Unpack

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.references.joint_motion import JointMotion
from multi_qp_controller.references.minimum_jerk import Path, minimum_jerk
from multi_qp_controller.tasks.base import Gains, Task
from multi_qp_scene.arrays import Array
from multi_qp_scene.configuration import posture_configuration
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.tasks import PostureTaskSpec


class PostureTask(Task):
    """x = joint angles of one subsystem; J selects them.

    The background task of every scene: [Vaillant2015] section 3.5, "a reference rest pose".

    Attributes:
        entry_q: configuration at the start, where it is the goal or the start of a path, (nq,).
    """

    Spec = PostureTaskSpec
    unit = "rad"

    @dataclass
    class Checkpoint(Task.Checkpoint):
        """Configuration at the start."""

        entry_q: Annotated[Array, "nq"] | None

    def __init__(
        self,
        name: str,
        *,
        v_index: NDArray[np.intp],
        q_reference: Array | None,
        row_weights: Array | None = None,
        duration: float | None = None,
        motion: JointMotion | None = None,
        **gains: Unpack[Gains],
    ) -> None:
        """Create the task.

        Args:
            name: unique in the scene.
            v_index: the joints, by index in v, (dim,).
            q_reference: configuration of the whole scene, of which the joints' entries are used, (nq,); None for the
                posture at the start of the task.
            row_weights: weight of each joint relative to `weight`, (dim,).
            duration: duration of a minimum-jerk path to the reference [s]; a set-point if None. Of a motion: time in
                which the distance between its beginning and the posture at the start of the task is reduced to zero.
            motion: motion of the joints since the start of the task, instead of `q_reference`.
            gains: weight, stiffness and damping, see `Task`.
        """
        super().__init__(name, **gains)
        self.dim = len(v_index)
        self.row_weights = row_weights
        self._v_index = v_index
        self.selects: list[int] = v_index.tolist()
        self._rows = np.arange(self.dim)
        self._q_reference = q_reference
        self.entry_q: Array | None = None
        self._duration = duration or 0.0
        self._motion = motion
        self._distance = np.zeros(self.dim)
        self._path: tuple[Array, Array] | None = None
        self._angles: NDArray[np.intp] | None = None
        self._q_index: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, name: str, spec: PostureTaskSpec, scenario: Scenario) -> PostureTask:
        """Return the task of a specification; of coupled joints only the leading ones are tasked."""
        scene = scenario.scene
        joints, prefix = scene.subsystems[spec.subsystem].joint_v_slice, f"{spec.subsystem}/"
        indices = np.setdiff1d(np.arange(joints.start, joints.stop), scene.couplings.v_index)
        if spec.joints is not None:
            own = [scene.velocity_names[k].removeprefix(prefix) for k in indices]
            indices = indices[[any(fnmatch.fnmatch(joint, pattern) for pattern in spec.joints) for joint in own]]
        own = [scene.velocity_names[k].removeprefix(prefix) for k in indices]
        weights = np.ones(len(indices))
        for pattern, weight in spec.joint_weights.items():
            weights[[fnmatch.fnmatch(joint, pattern) for joint in own]] = weight
        return cls(
            name,
            v_index=indices,
            q_reference=None
            if spec.target is not None or spec.posture == "entry"
            else posture_configuration(scene, spec.subsystem, spec.posture),
            row_weights=weights,
            duration=spec.duration,
            motion=None if spec.target is None else _motion(name, spec.target.motion, own, indices, scenario),
            **spec.gains,
        )

    @property
    def duration(self) -> float:
        """Duration of the reference motion [s]."""
        return self._duration if self._motion is None else max(self._duration, self._motion.duration)

    def start(self, kinematics: Kinematics, time: float) -> None:
        """Start at the present posture."""
        super().start(kinematics, time)
        if self._q_reference is None or self._duration:
            self.entry_q = kinematics.q.copy()
        self._update_path(kinematics.scene)

    @property
    def _goal(self) -> Array:
        if self._q_reference is not None:
            return self._q_reference
        return np.zeros(0) if self.entry_q is None else self.entry_q

    def _update_path(self, scene: Scene) -> None:
        """Compute the entries of q of the joints and the path of their angles."""
        if self._angles is None:
            self._angles = scene.angle_index[self._v_index]
            self._q_index = None if (self._angles < 0).any() else self._angles
        self.path, self._path = None, None
        if self._motion is not None:
            if self._duration and self.entry_q is not None:
                self._distance = self.entry_q[self._angles] - self._motion.sample(0.0)[0]
            return
        if self._duration and self.entry_q is not None:
            self._path = self.entry_q, pin.difference(scene.model, self.entry_q, self._goal)
        if self._q_index is None or self.given is not None:
            return
        start, step = (self._goal, np.zeros(scene.nv)) if self._path is None else self._path
        self.path = Path.straight(
            start[self._q_index],
            step[self._v_index],
            start=self.started_at,
            duration=0.0 if self._path is None else self._duration,
        )

    def restored(self, kinematics: Kinematics) -> None:
        """Compute the path."""
        self._update_path(kinematics.scene)

    def sample(self, time: float, position: Array | None = None) -> Array:
        """Return angle, rate and acceleration of each joint, (3 dim,)."""
        if self.given is not None or self._motion is None:
            return super().sample(time)
        elapsed = time - self.started_at
        reference = np.stack(self._motion.sample(elapsed), axis=1)  # (dim, 3)
        if elapsed < self._duration:
            s, ds, dds = minimum_jerk(elapsed, self._duration)
            reference += self._distance[:, None] * [1.0 - s, -ds, -dds]
        return reference.ravel()

    @property
    def reference_size(self) -> int:
        """Angle, rate and acceleration of each joint; 0 where q represents one of the angles by two numbers."""
        return 0 if self._q_index is None else 3 * self.dim

    def places(self, scene: Scene) -> list[tuple[int, int]] | None:
        """Return the entries of q and v of each row, or None where q represents one of the angles by two numbers."""
        plain = scene.angle_index[self._v_index]
        return None if (plain < 0).any() else list(zip(plain.tolist(), self.selects, strict=True))

    def compute(self, kinematics: Kinematics, time: float, J: Array, b: Array) -> None:
        """Write the rows of this tick."""
        rate: Array | float
        acceleration: Array | float
        if self._q_index is not None:  # all angles are entries of q: plain differences
            angles, rate, acceleration = self.sample(time).reshape(-1, 3).T
            self._error = kinematics.q[self._q_index] - angles
        else:
            reference, rate, acceleration = self._reference(kinematics, time)
            self._error = pin.difference(kinematics.model, reference, kinematics.q)[self._v_index]
        self._speed = kinematics.v[self._v_index]
        J[self._rows, self._v_index] = 1.0
        b[:] = self.feedback(self._error, self._speed - rate) + acceleration

    def _reference(self, kinematics: Kinematics, time: float) -> tuple[Array, Array | float, Array | float]:
        if self._path is None:
            return self._goal, 0.0, 0.0
        start, step = self._path
        s, ds, dds = minimum_jerk(time - self.started_at, self._duration)
        moved = step[self._v_index]
        return pin.integrate(kinematics.model, start, s * step), ds * moved, dds * moved


def _motion(name: str, file: str, joints: list[str], v_index: NDArray[np.intp], scenario: Scenario) -> JointMotion:
    """Return the motion of joints of a subsystem, by name and by index in v.

    Raises:
        MultiQpError: when the motion lacks one, or the configuration of one is not a single number.
    """
    motion = ReferenceMotion.beside(file, scenario.path)
    for joint, where in zip(joints, scenario.scene.angle_index[v_index], strict=True):
        if joint not in motion.joints:
            raise MultiQpError(f"task '{name}': the motion '{file}' has no joint '{joint}'; leave it out of `joints`")
        if where < 0:
            raise MultiQpError(f"task '{name}': the continuous joint '{joint}' cannot follow a motion")
    columns = [7 + motion.joints.index(joint) for joint in joints]
    return JointMotion(motion.times, motion.q[:, columns])
