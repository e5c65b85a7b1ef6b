"""Initial configuration of a scene and named postures of its subsystems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.couplings import Couplings
from multi_qp_scene.joints import slices_of
from multi_qp_scene.kinematic_trees import KinematicTrees
from multi_qp_scene.parts import SceneParts
from multi_qp_scene.placement import align_surfaces, pose_of
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.schema.subsystems import SubsystemSpec
from multi_qp_scene.subsystem import Subsystem
from multi_qp_scene.surfaces import Surface

if TYPE_CHECKING:
    from multi_qp_scene.scene import Scene


def configurations(
    model: pin.Model, parts: SceneParts, couplings: Couplings
) -> tuple[Array, dict[str, dict[str, Array]]]:
    """Return the initial configuration (free-flyers at the origin) and each subsystem's postures.

    Mimicking joints satisfy their couplings.
    """
    q0 = pin.neutral(model)
    postures: dict[str, dict[str, Array]] = {}
    for name, (loaded, spec) in parts.subsystems.items():
        named: dict[str, dict[str, float]] = {"zero": {}} | dict(loaded.spec.postures)
        if isinstance(spec.posture, dict):
            named["initial"] = spec.posture
        else:
            named["initial"] = named[spec.posture or "zero"]
        postures[name] = {}
        for posture, joints in named.items():
            q = pin.neutral(model)
            set_joint_angles(model, q, name, joints)
            couplings.put_in_place(q)
            postures[name][posture] = q[slices_of(model, name)[0]]
    for name in parts.subsystems:
        q0[slices_of(model, name)[0]] = postures[name]["initial"]
    return q0, postures


def set_joint_angles(model: pin.Model, q: Array, subsystem: str, joints: dict[str, float]) -> None:
    """Set some joints of a subsystem in place: angles [rad] or positions [m]."""
    for joint, angle in joints.items():
        ScalarJoint.of(model, f"{subsystem}/{joint}").set_angle(q, angle)


def posture_configuration(scene: Scene, subsystem: str, posture: str | dict[str, float] | None) -> Array:
    """Return the initial configuration with a posture of one subsystem: its name, angles by joint, or the initial."""
    part, q = scene.subsystems[subsystem], scene.q0.copy()
    q[part.q_slice] = part.postures[posture if isinstance(posture, str) else "initial"]
    if isinstance(posture, dict):
        set_joint_angles(scene.model, q, subsystem, posture)
    return q


def set_initial_pose(
    trees: KinematicTrees,
    q0: Array,
    subsystem: Subsystem,
    spec: SubsystemSpec,
    surfaces: dict[str, Surface],
) -> None:
    """Set the base pose of a floating subsystem from its specification, in place."""
    if not subsystem.floating:
        return
    if spec.place is not None:
        base = align_surfaces(
            trees,
            q0,
            subsystem.q_slice.start,
            [surfaces[f"{subsystem.name}/{name}"] for name in spec.place.surfaces],
            surfaces[spec.place.onto],
            xy=spec.place.xy,
            yaw=spec.place.yaw,
        )
    else:
        base = pose_of(spec.pose) if spec.pose else pin.SE3.Identity()
    q0[subsystem.q_slice.start : subsystem.q_slice.start + 7] = pin.SE3ToXYZQUAT(base)
