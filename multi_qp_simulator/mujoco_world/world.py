"""Construction of the MuJoCo model of a scene: bodies, joints, passive forces, motors, contacts, grasps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scalar_joint import joint_motion
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_simulator.mujoco_world.pads import add_pads
from multi_qp_simulator.mujoco_world.shapes import add_shape, body_name, excluded_pairs, is_ground, wxyz

#: Largest physics step [s].
PHYSICS_STEP = 0.001
#: Weld of a closed grasp: time constant [s] and damping ratio; and its impedance, near that of a rigid bond.
GRASP_SOLREF, GRASP_SOLIMP = (0.004, 1.0), (0.98, 0.999, 0.001, 0.5, 2.0)

#: Distance of shapes within which a grip draws them together [m].
GRIP_REACH = 0.003


@dataclass(frozen=True)
class WorldOptions:
    """Mismatch between the simulation and the controller's model.

    Attributes:
        mass_scale: factor on the mass and inertia of each joint's body, by joint; 1 if missing.
        friction_scale: factor on the friction of each contact, by contact; 1 if missing.
        compliance: time constant of penetrations between touching bodies [s].
    """

    mass_scale: dict[str, float] = field(default_factory=dict)
    friction_scale: dict[str, float] = field(default_factory=dict)
    compliance: float = 0.004


def build_world(scenario: Scenario, options: WorldOptions) -> mujoco.MjModel:
    """Return the MuJoCo model of a scenario's scene: one body for each joint, in the order of the scene's model.

    Raises:
        MultiQpError: naming the joint or shape that MuJoCo cannot take.
    """
    scene = scenario.scene
    spec = mujoco.MjSpec()
    _set_options(spec)
    bodies = _add_bodies(spec, scene, options)
    for name in hanging_bodies(scenario):
        bodies[name].gravcomp = 1.0
    aligned = _planar_contact_bodies(scenario)
    for item in scene.collision_model.geometryObjects:
        place = _body_of(scenario, item)
        add_shape(spec, bodies[place], item, item.placement, aligned=place in aligned)
    pads = add_pads(spec, scenario, bodies, aligned)
    _set_contact_softness(spec, options)
    for first, second in sorted(excluded_pairs(scene)):
        spec.add_exclude(bodyname1=first, bodyname2=second)
    _add_contacts(spec, scenario, bodies, pads, options)
    _add_couplings(spec, scene)
    for name, limit in zip(scene.actuated_joint_names, scene.torque_limits, strict=True):
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.set_to_motor()
        actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE
        actuator.ctrlrange = [-limit, limit]
    for name in gripping(scenario):
        _add_grip(spec, scenario, name)
    try:
        return spec.compile()
    except ValueError as error:
        raise MultiQpError(f"MuJoCo cannot build the world of '{scenario.name}': {error}") from None


def _body_of(scenario: Scenario, item: pin.GeometryObject) -> str:
    """Return the body of a shape; that of unknown environment belongs to the known piece that it is a part of."""
    owner = item.name.split("/")[0]
    piece = scenario.spec.environment.get(owner)
    owner = owner if piece is None else piece.unknown_part_of or owner
    return body_name(scenario.scene, item.parentJoint, owner)


def hanging_bodies(scenario: Scenario) -> dict[str, float]:
    """Return the bodies that have no weight until they are released, by name, with that time [s]."""
    scene, specs = scenario.scene, scenario.spec.subsystems
    owners = {k: name.split("/")[0] for k, name in enumerate(scene.model.names) if k}
    releases = {k: specs[owner].release for k, owner in owners.items()}
    return {body_name(scene, k, ""): release for k, release in releases.items() if release > 0.0}


def _planar_contact_bodies(scenario: Scenario) -> set[str]:
    """Return the bodies of first surfaces of planar contacts, except on ground: one hull of each pair is enough."""
    scene = scenario.scene
    items = scene.collision_model.geometryObjects
    solid = {_body_of(scenario, item) for item in items if not is_ground(item)}
    aligned = set()
    for contact in scenario.spec.contacts.values():
        first, second = (scene.surfaces[surface] for surface in contact.surfaces)
        one, other = (body_name(scene, s.joint_id, s.name.split("/")[0]) for s in (first, second))
        if first.kind == "planar" and other in solid:
            aligned.add(one)
    return aligned


def _set_options(spec: Any) -> None:
    spec.compiler.degree = False
    spec.compiler.autolimits = False
    spec.option.timestep = PHYSICS_STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    # elliptic friction cones, stiffer along the surface than across it, so that planted feet do not creep
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 100.0
    # divergence must be visible in the state
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET


def _add_bodies(spec: Any, scene: Scene, options: WorldOptions) -> dict[str, Any]:
    model = scene.model
    bodies: dict[str, Any] = {}
    fixed = [name for name, subsystem in scene.subsystems.items() if not subsystem.floating]
    for name in (*scene.environment, *fixed):
        bodies[f"{name}/base"] = spec.worldbody.add_body(name=f"{name}/base")
    neutral = pin.neutral(model)
    axes = [np.zeros(6), *(joint_motion(joint, neutral) for joint in list(model.joints)[1:])]
    loaded = set(scene.loads.joint_ids)
    for k in range(1, model.njoints):
        name = model.names[k]
        parent_id = model.parents[k]
        # a child of the world body, not of the fixed part: MuJoCo allows free joints there only
        parent = spec.worldbody if parent_id == 0 else bodies[body_name(scene, parent_id, "")]
        placement = model.jointPlacements[k]
        body = parent.add_body(name=body_name(scene, k, ""), pos=placement.translation, quat=wxyz(placement.rotation))
        bodies[body_name(scene, k, "")] = body
        _set_inertia(body, model.inertias[k], options.mass_scale.get(name, 1.0), offset=k in loaded)
        _add_joint(body, model, k, axes[k])
    _set_passive(spec, scene)
    return bodies


def _set_inertia(body: Any, inertia: pin.Inertia, scale: float, *, offset: bool) -> None:
    if inertia.mass <= 0.0:
        raise MultiQpError(f"{body.name.removesuffix('#body')}: MuJoCo needs a mass on every body that moves")
    I = inertia.inertia * scale  # noqa: E741
    body.explicitinertial = True
    body.mass = inertia.mass * scale
    # bodies with variable mass must not be treated as having their inertia along the body axes
    body.ipos = inertia.lever + (1e-3 if offset else 0.0)
    body.fullinertia = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]


def _add_joint(body: Any, model: pin.Model, k: int, axis: Array) -> None:
    joint, name = model.joints[k], model.names[k]
    if joint.nq == 7 and joint.nv == 6:
        body.add_freejoint(name=name, align=mujoco.mjtAlignFree.mjALIGNFREE_FALSE)
        return
    if joint.nv != 1:
        raise MultiQpError(f"{name}: MuJoCo has no joint like {joint.shortname()}")
    slides = np.linalg.norm(axis[:3]) > 0.5
    made = body.add_joint(name=name, axis=axis[:3] if slides else axis[3:])
    made.type = mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE
    made.armature = model.armature[joint.idx_v]
    if joint.nq == 1:
        lower, upper = model.lowerPositionLimit[joint.idx_q], model.upperPositionLimit[joint.idx_q]
        if np.isfinite(lower) and np.isfinite(upper) and lower < upper:
            made.limited = mujoco.mjtLimited.mjLIMITED_TRUE
            made.range = [lower, upper]


def _set_passive(spec: Any, scene: Scene) -> None:
    passive, names = scene.passive, scene.velocity_names
    for row, v_index in enumerate(passive.v_index):
        joint = spec.joint(names[v_index])
        joint.damping[0] = passive.damping[row]
        joint.frictionloss = passive.friction[row]
        # springs on continuous joints act by the shortest rotation, MuJoCo's do not
        if not passive.continuous[row]:
            joint.stiffness[0] = passive.stiffness[row]
            joint.springref = passive.rest[row]


def _set_contact_softness(spec: Any, options: WorldOptions) -> None:
    for geom in spec.geoms:
        geom.solref = [options.compliance, 1.0]
        geom.solimp = [0.95, 0.99, 0.001, 0.5, 2.0]
        geom.condim = 3
        geom.friction = [0.5, 0.005, 0.0001]


def _add_contacts(
    spec: Any, scenario: Scenario, bodies: dict[str, Any], pads: dict[str, dict[str, str]], options: WorldOptions
) -> None:
    """Add the scenario's contacts: friction between the links of planar and point contacts, welds for grasps.

    Args:
        spec: the world.
        scenario: the scenario.
        bodies: bodies by name.
        pads: names of the pads by surface, by contact.
        options: mismatch.
    """
    scene, contacts = scenario.scene, scenario.spec.contacts
    all_pads = {pad for of_contact in pads.values() for pad in of_contact.values()}
    excluded: set[tuple[str, ...]] = set()
    for name, contact in contacts.items():
        first, second = (scene.surfaces[surface] for surface in contact.surfaces)
        ends = [body_name(scene, s.joint_id, s.name.split("/")[0]) for s in (first, second)]
        if first.kind == "grasp":
            weld = spec.add_equality(
                name=name,
                type=mujoco.mjtEq.mjEQ_WELD,
                name1=ends[0],
                name2=ends[1],
                active=False,
                objtype=mujoco.mjtObj.mjOBJ_BODY,
            )
            weld.solref, weld.solimp = GRASP_SOLREF, GRASP_SOLIMP
            # fingers are not separate bodies: the weld represents the whole grasp
            _exclude(spec, ends, excluded)
            continue
        friction = contact.friction * options.friction_scale.get(name, 1.0)
        shapes = [
            [pads[name][surface]]
            if surface in pads[name]
            else [geom.name for geom in bodies[end].geoms if geom.name not in all_pads]
            for surface, end in zip(contact.surfaces, ends, strict=True)
        ]
        for one in shapes[0]:
            for other in shapes[1]:
                _add_pair(spec, one, other, friction, options, GRIP_REACH if contact.grip > 0.0 else 0.0)
        if pads[name]:  # the shapes behind a pad may protrude from it
            _exclude(spec, ends, excluded)


def gripping(scenario: Scenario) -> list[str]:
    """Return the names of the contacts that pull, in the order of the actuators that follow those of the joints."""
    contacts, surfaces = scenario.spec.contacts.items(), scenario.scene.surfaces
    return [name for name, c in contacts if c.grip > 0.0 and surfaces[c.surfaces[0]].kind != "grasp"]


def _add_grip(spec: Any, scenario: Scenario, name: str) -> None:
    """Add an actuator that presses the first body of a contact against what it touches."""
    contact, scene = scenario.spec.contacts[name], scenario.scene
    first = scene.surfaces[contact.surfaces[0]]
    body = body_name(scene, first.joint_id, first.name.split("/")[0])
    actuator = spec.add_actuator(name=f"grip {name}", target=body, trntype=mujoco.mjtTrn.mjTRN_BODY)
    actuator.set_to_adhesion(gain=contact.grip)
    actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE
    actuator.ctrlrange = [0.0, 1.0]


def _exclude(spec: Any, ends: list[str], excluded: set[tuple[str, ...]]) -> None:
    """Exclude all collisions of two bodies except those of pairs that are added by name."""
    if (both := tuple(sorted(ends))) not in excluded:
        spec.add_exclude(bodyname1=ends[0], bodyname2=ends[1])
        excluded.add(both)


def _add_pair(spec: Any, first: str, second: str, friction: float, options: WorldOptions, reach: float) -> None:
    name = f"{first} | {second}"
    if spec.pair(name) is not None:
        return
    pair = spec.add_pair(name=name, geomname1=first, geomname2=second, condim=3)
    pair.friction = [friction, friction, 0.005, 0.0001, 0.0001]
    pair.gap = reach
    pair.solref = [options.compliance, 1.0]
    pair.solimp = [0.95, 0.99, 0.001, 0.5, 2.0]


def _add_couplings(spec: Any, scene: Scene) -> None:
    for coupling, name in zip(scene.couplings.couplings, scene.couplings.names, strict=True):
        leader = scene.velocity_names[coupling.leader.v_index]
        spec.add_equality(
            name=name,
            type=mujoco.mjtEq.mjEQ_JOINT,
            name1=name,
            name2=leader,
            active=True,
            objtype=mujoco.mjtObj.mjOBJ_JOINT,
            data=[coupling.offset, coupling.multiplier, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            solref=GRASP_SOLREF,
            solimp=GRASP_SOLIMP,
        )
