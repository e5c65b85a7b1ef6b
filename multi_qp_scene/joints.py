"""Joints of the scene's model: indices by subsystem, limits, and passive forces."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.parts import SceneParts
from multi_qp_scene.scene import JointLimits
from multi_qp_scene.subsystem import PassiveJoints


def joints_of(model: pin.Model, subsystem: str) -> list[int]:
    """Return the indices of a subsystem's joints."""
    return [k for k in range(1, model.njoints) if model.names[k].startswith(f"{subsystem}/")]


def slices_of(model: pin.Model, subsystem: str) -> tuple[slice, slice]:
    """Return a subsystem's entries in q and in v."""
    joints = [model.joints[k] for k in joints_of(model, subsystem)]
    if not joints:
        return slice(0, 0), slice(0, 0)
    first_q, first_v = min(j.idx_q for j in joints), min(j.idx_v for j in joints)
    return (
        slice(first_q, first_q + sum(j.nq for j in joints)),
        slice(first_v, first_v + sum(j.nv for j in joints)),
    )


def effort_limits(model: pin.Model, parts: SceneParts) -> Array:
    """Return the effort limit of each entry of v, from the selected set of each subsystem (the first by default)."""
    limits = np.array(model.effortLimit)
    for name, (loaded, spec) in parts.subsystems.items():
        sets = loaded.spec.effort_limits
        chosen = sets.get(spec.effort_limits or next(iter(sets), ""), {})
        for joint, effort in chosen.items():
            limits[model.joints[model.getJointId(f"{name}/{joint}")].idx_v] = effort
    return limits


def joint_limits(model: pin.Model) -> JointLimits:
    """Collect the limits of all joints with one degree of freedom."""
    v_index, q_index, lower, upper, velocity = [], [], [], [], []
    for k in range(1, model.njoints):
        joint = model.joints[k]
        if joint.nv != 1:
            continue
        speed = model.velocityLimit[joint.idx_v]
        bounded = joint.nq == 1 and model.lowerPositionLimit[joint.idx_q] < model.upperPositionLimit[joint.idx_q]
        v_index.append(joint.idx_v)
        q_index.append(joint.idx_q)
        lower.append(model.lowerPositionLimit[joint.idx_q] if bounded else -np.inf)
        upper.append(model.upperPositionLimit[joint.idx_q] if bounded else np.inf)
        velocity.append(speed if 0.0 < speed < 1e6 else np.inf)
    return JointLimits(
        v_index=np.array(v_index, dtype=np.intp),
        q_index=np.array(q_index, dtype=np.intp),
        lower=np.array(lower),
        upper=np.array(upper),
        velocity=np.array(velocity),
    )


def set_motors(model: pin.Model, parts: SceneParts) -> None:
    """Write rotor inertias, gear ratios and reflected inertias of model files and scenario into a model."""
    for name, (loaded, spec) in parts.subsystems.items():
        motors = dict(loaded.spec.motors)
        for pattern, motor in spec.motors.items():
            motors |= dict.fromkeys(fnmatch.filter(loaded.urdf.actuated_joints, pattern), motor)
        for joint, motor in motors.items():
            k = model.joints[model.getJointId(f"{name}/{joint}")].idx_v
            model.rotorInertia[k], model.rotorGearRatio[k] = motor.rotor_inertia, motor.gear_ratio
            model.armature[k] = motor.armature


def passive_joints(model: pin.Model, parts: SceneParts, driven: Collection[str]) -> PassiveJoints:
    """Collect springs and dampers: from the URDFs' `<dynamics>` of joints without a motor, and from the model files.

    Args:
        model: of the whole scene.
        parts: the parts of the scene.
        driven: full names of the joints that a motor drives, their own or, through a coupling, their leader's.
    """
    rows = []
    for name, (loaded, _) in parts.subsystems.items():
        for k in joints_of(model, name):
            joint, full_name = model.joints[k], model.names[k]
            if joint.nv != 1:
                continue
            place = (joint.idx_v, joint.idx_q, joint.nq == 2)
            spec = loaded.spec.passive_joints.get(full_name.removeprefix(f"{name}/"))
            if spec is not None:
                rows.append((*place, spec.stiffness, spec.rest, spec.damping, spec.friction))
            elif full_name not in driven:
                damping, friction = model.damping[joint.idx_v], model.friction[joint.idx_v]
                if damping > 0 or friction > 0:
                    rows.append((*place, 0.0, 0.0, damping, friction))
    columns = list(zip(*rows, strict=True)) or [()] * 7
    return PassiveJoints(
        v_index=np.array(columns[0], dtype=np.intp),
        q_index=np.array(columns[1], dtype=np.intp),
        continuous=np.array(columns[2], dtype=bool),
        stiffness=np.array(columns[3], dtype=float),
        rest=np.array(columns[4], dtype=float),
        damping=np.array(columns[5], dtype=float),
        friction=np.array(columns[6], dtype=float),
    )
