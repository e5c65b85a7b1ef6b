"""Limbs that are held by antagonistic pairs: torques, stiffness and damping of all their joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.tasks.impedance import effort_limits
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.tasks import JointImpedanceTaskSpec
from multi_qp_scene.schema.upper_body import AntagonisticSpec, TimedTensionSpec
from upper_body.joints import JointTable
from upper_body.limb_kernel import limb_torques


class LimbTorques(NamedTuple):
    """Torques of the pairs at one state.

    Attributes:
        torque: torque at this state without damping, (n,) [N m].
        stiffness: K by hinges, (n, n) [N m/rad].
        damping: coefficient of each hinge, (n,) [N m s/rad].
        gains: k_L and k_H of each angle of the joints, (2, k) [N m/rad].
    """

    torque: Array
    stiffness: Array
    damping: Array
    gains: Array


class AntagonisticLimbs:
    """Hinges of a character, grouped by joints, each with antagonistic pairs.

    Attributes:
        joints: the joints.
        efforts: effort limit of each joint, the mean of its hinges, (j,) [N m].
        sag: stiffness of each joint with which gravity cannot overturn it, (j,) [N m/rad].
    """

    def __init__(self, scene: Scene, v_index: Indices, reference: Array) -> None:
        """Create it from hinges, by index in v, and the reference configuration of the decomposition, (nq,)."""
        self.joints = joints = JointTable.of(scene, v_index, reference)
        efforts = effort_limits(scene, joints.v_index)
        self.efforts = np.array([efforts[slice(*part)].mean() for part in joints.hinges])
        self._model, self._data = scene.model, scene.model.createData()
        self._there, self._kernel = scene.q0.copy(), (*joints[4:],)
        pin.centerOfMass(scene.model, self._data, reference, True)
        first = joints.v_index[joints.hinges[:, 0]]
        ids = [next(j for j in range(1, scene.model.njoints) if scene.model.joints[j].idx_v == k) for k in first]
        g = float(np.linalg.norm(scene.model.gravity.linear))
        self.sag = np.array([self._data.mass[j] * g * float(np.linalg.norm(self._data.com[j])) for j in ids])

    def gravity(self, q: Array, angles: Array) -> Array:
        """Return the torques that hold the hinges at these angles against gravity, (n,) [N m]; other joints as in q."""
        self._there[:] = q
        self._there[self.joints.q_index] = angles
        torques = pin.computeGeneralizedGravity(self._model, self._data, self._there)
        return np.asarray(torques[self.joints.v_index])

    def torques(
        self, present: Array, target: Array, equilibrium: Array, stiffness: Array, inertia: Array, *, ratio: float
    ) -> LimbTorques:
        """Return the torques of the pairs whose equilibrium is at the target.

        Args:
            present: θ of the hinges, (n,) [rad].
            target: θ_kin of the hinges, (n,) [rad].
            equilibrium: τ_eq, torques of the hinges at the target, (n,) [N m].
            stiffness: wanted stiffness of each joint, (j,) [N m/rad]; raised to the least one with which both gains are
                positive and gravity cannot overturn the limb.
            inertia: diagonal of M, (n,) [kg m²].
            ratio: damping ratio.
        """
        n = len(present)
        K, torque, gains = np.zeros((n, n)), np.empty(n), np.empty((2, len(self.joints.low)))
        table = self.joints
        limb_torques(
            self._kernel,
            table.hinges,
            table.angles,
            target,
            present,
            equilibrium,
            stiffness,
            self.sag,
            gains,
            torque,
            K,
        )
        return LimbTorques(torque, K, 2.0 * ratio * np.sqrt(K.diagonal() * inertia), gains)

    def impedance(
        self,
        kinematics: Kinematics,
        target: Array,
        rates: Array,
        stiffness: Array,
        *,
        ratio: float,
        load: Array | float = 0.0,
    ) -> tuple[Array, LimbTorques]:
        """Return the reference of the joint impedance task that holds a moving target, and the torques.

        Args:
            kinematics: at the state estimate.
            target: θ_kin of the hinges, (n,) [rad].
            rates: its rates, (n,) [rad/s].
            stiffness: wanted stiffness of each joint, (j,) [N m/rad].
            ratio: damping ratio.
            load: inertia at the hinges of what the limbs push, (n,) [kg m²].
        """
        present = kinematics.q[self.joints.q_index]
        inertia = kinematics.M.diagonal()[self.joints.v_index] + load
        equilibrium = self.gravity(kinematics.q, target)
        held = self.torques(present, target, equilibrium, stiffness, inertia, ratio=ratio)
        # the task compensates gravity at the present angles
        beyond = held.torque - self.gravity(kinematics.q, present)
        return np.concatenate([present, rates, beyond, held.damping, held.stiffness.ravel()]), held


def impedance_task(scene: Scene, spec: AntagonisticSpec, limbs: AntagonisticLimbs) -> JointImpedanceTaskSpec:
    """Return the task whose reference is `AntagonisticLimbs.impedance`."""
    prefix = f"{spec.subsystem}/"
    return JointImpedanceTaskSpec(
        type="joint_impedance",
        subsystem=spec.subsystem,
        joints=[scene.velocity_names[k].removeprefix(prefix) for k in limbs.joints.v_index],
        weight=spec.weight,
    )


def tension_at(tension: Sequence[TimedTensionSpec], elapsed: float) -> float:
    """Return the scheduled tension at a time since the start [s], the first one before its time."""
    return ([one.tension for one in tension if one.at <= elapsed + 1e-9] or [tension[0].tension])[-1]
