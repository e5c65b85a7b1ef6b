"""Joint impedance task: springs and dampers on joints, as torques of the QP."""

from __future__ import annotations

import fnmatch

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.tasks.base import Task
from multi_qp_scene.arrays import Array
from multi_qp_scene.configuration import posture_configuration
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.tasks import JointImpedanceTaskSpec


class JointImpedanceTask(Task):
    """Joint torques τ = N + f + K (q_ref − q) + D (q̇_ref − q̇), where N compensates gravity and velocity effects.

    Unlike a posture task, which sets an acceleration, it lets the joints yield to forces and to the motion of the
    other joints, as a spring does. Its rows are M q̈ = f + K (q_ref − q) + D (q̇_ref − q̇), each divided by its entry on
    the diagonal of M. The joints must not carry contacts of the QP, whose forces are not in these rows.

    Attributes:
        angle_index: index of each joint in q, (k,).
        reference: posture without a given reference, (k,) [rad or m].
    """

    Spec = JointImpedanceTaskSpec
    unit = "rad"

    def __init__(
        self,
        name: str,
        *,
        v_index: NDArray[np.intp],
        angle_index: NDArray[np.intp],
        reference: Array,
        joint_stiffness: float,
        joint_damping: float,
        efforts: Array,
        dt: float,
        weight: float = 1.0,
    ) -> None:
        """Create the task.

        Args:
            name: unique in the scene.
            v_index: the joints, by index in v, (k,).
            angle_index: the joints, by index in q, (k,).
            reference: posture without a given reference, (k,) [rad or m].
            joint_stiffness: diagonal of K without a given reference [N m/rad].
            joint_damping: diagonal of D without a given reference [N m s/rad].
            efforts: effort limits, (k,) [N m or N].
            dt: control period h [s].
            weight: w in (32).
        """
        super().__init__(name, weight=weight, stiffness=0.0)
        self.dim = len(v_index)
        self._v_index, self.angle_index = v_index, angle_index
        self.reference, self._efforts, self._dt = reference, efforts, dt
        self._stiffness, self._damping = joint_stiffness * np.eye(self.dim), np.full(self.dim, joint_damping)

    @classmethod
    def of(cls, name: str, spec: JointImpedanceTaskSpec, scenario: Scenario) -> JointImpedanceTask:
        """Return the task of a specification.

        Raises:
            MultiQpError: when it has no joints, or one without a fixed zero, or one that carries a contact.
        """
        scene = scenario.scene
        indices = impedance_joints(name, spec.subsystem, spec.joints, scenario)
        q = posture_configuration(scene, spec.subsystem, spec.posture)
        angle_index = scene.angle_index[indices]
        return cls(
            name,
            v_index=indices,
            angle_index=angle_index,
            reference=q[angle_index],
            joint_stiffness=spec.joint_stiffness,
            joint_damping=spec.joint_damping,
            efforts=effort_limits(scene, indices),
            dt=scenario.spec.dt,
            weight=spec.weight,
        )

    @property
    def reference_size(self) -> int:
        """q_ref, q̇_ref, f, the diagonal of D, and K row by row."""
        return self.dim * (4 + self.dim)

    def at_rest(self, numbers: Array) -> Array:
        """Return a reference with its velocity set to zero."""
        held = numbers.copy()
        held[self.dim : 2 * self.dim] = 0.0
        return held

    def columns(self, scene: Scene) -> NDArray[np.intp] | None:
        """Return None: rows of M have as many columns as the joint has others in its tree."""
        return None

    def compute(self, kinematics: Kinematics, time: float, J: Array, b: Array) -> None:
        """Write the rows of this tick."""
        k, rows = self.dim, self._v_index
        if self.given is None:
            angles, rates, torque = self.reference, np.zeros(k), np.zeros(k)
            stiffness, damping = self._stiffness, self._damping
        else:
            angles, rates, torque, damping = self.given[: 4 * k].reshape(4, k)
            stiffness = self.given[4 * k :].reshape(k, k)
        error, speed, h = kinematics.q[self.angle_index] - angles, kinematics.v[rows], self._dt
        J[:] = kinematics.M[rows]
        J[:, rows] += h * np.diag(damping) + h**2 * stiffness
        torque = torque - stiffness @ (error + h * speed) + damping * (rates - speed)
        held = kinematics.N[rows] + kinematics.disturbance[rows]
        b[:] = kinematics.disturbance[rows] + np.clip(torque, -self._efforts - held, self._efforts - held)
        J /= self._efforts[:, None]
        b /= self._efforts
        self._error, self._speed = error, speed


def effort_limits(scene: Scene, v_index: NDArray[np.intp]) -> Array:
    """Return the effort limits of joints with motors, by index in v, (k,) [N m or N]."""
    limits = dict(zip(scene.actuated_v.tolist(), scene.torque_limits.tolist(), strict=True))
    return np.array([limits[k] for k in v_index.tolist()])


def impedance_joints(name: str, subsystem: str, patterns: list[str], scenario: Scenario) -> NDArray[np.intp]:
    """Return the joints of a subsystem that match a pattern, by index in v.

    Raises:
        MultiQpError: when there are none, or one without a motor or a fixed zero, or one that carries a contact.
    """
    scene = scenario.scene
    part = scene.subsystems[subsystem].joint_v_slice
    own = {k: scene.velocity_names[k].removeprefix(f"{subsystem}/") for k in range(part.start, part.stop)}
    found = [k for k, joint in own.items() if any(fnmatch.fnmatch(joint, pattern) for pattern in patterns)]
    indices = np.array(found, dtype=np.intp)
    if not found:
        raise MultiQpError(f"'{name}': no joint of '{subsystem}' matches {', '.join(patterns)}")
    for k in found:
        if scene.angle_index[k] < 0 or k not in scene.actuated_v or k in scene.couplings.v_index:
            raise MultiQpError(
                f"'{name}': joint '{own[k]}' is continuous, mimics another one or has no motor, so that no impedance "
                "can be set"
            )
    for contact, spec in scenario.spec.contacts.items():
        for surface in spec.surfaces:
            carried = np.intersect1d(scene.moving(scene.surfaces[surface].frame_id), indices)
            if len(carried):
                raise MultiQpError(
                    f"'{name}': joint '{own[carried[0]]}' carries the contact '{contact}', whose force an impedance "
                    "does not contain"
                )
    return indices
