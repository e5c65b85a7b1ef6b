"""Construction of the simplified character of a behaviour from the models of a scene."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pinocchio as pin

from contact_invariant.capsules import LinkCapsule, capsules_of, owner, touching_joints
from contact_invariant.character import GRAVITY, Character, Effector, LimbJoints, RigidBody, behaviour_of
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import KeyedError
from multi_qp_scene.pairs import watched_pairs
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.behaviour import CharacterSpec, ObjectSpec

#: Joints without an effort limit count with this one [N m].
DEFAULT_EFFORT = 200.0


def character_of(scenario: Scenario) -> Character:
    """Return the character of a scenario's behaviour, with its partner if there is one.

    Joints that move no effector, such as those of the neck, or limbs together, such as those of the chest if no
    effector is on it, are held at the nominal posture.

    Raises:
        MultiQpError: there is no behaviour, a surface is a grasp, or a limb's joint is not a revolute one.
    """
    spec, scene = behaviour_of(scenario), scenario.scene
    members = spec.characters
    nominal = scene.q0.copy()
    for member in members:
        body = scene.subsystems[member.character]
        if not body.floating:
            raise KeyedError(("behaviour", "character"), f"'{body.name}' has no floating base")
        nominal[body.q_slice] = body.postures[member.posture]
    upright = nominal.copy()
    for member in members:
        first = scene.subsystems[member.character].q_slice.start
        upright[first : first + 7] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    mass, bodies, effectors = 0.0, [], []
    for k, member in enumerate(members):
        root = scene.subsystems[member.character].root_joints[0]
        data = scene.model.createData()
        pin.ccrba(scene.model, data, upright, np.zeros(scene.nv))
        inertia = data.oMi[root].actInv(data.oYcrb[root])
        mass = mass or float(inertia.mass)
        com, turning = np.asarray(inertia.lever).copy(), np.asarray(inertia.inertia) / inertia.mass
        bodies.append(RigidBody(member.character, inertia.mass / mass, com, turning, root, member.effort))
        chains = _chains(scene, member, root)
        found = [_effector(scene, member, name, chains[name], root, upright) for name in member.effectors]
        effectors += [replace(effector, body=k, grip=effector.grip / mass) for effector in found]
    effectors.sort(key=lambda effector: not effector.is_limb)
    prop = None if spec.object is None else _prop(scene, spec.object, mass)
    if prop is not None and spec.object is not None:
        hands = spec.object.hands
        effectors = [replace(e, on_prop=True, unit=prop.mass) if e.name in hands else e for e in effectors]
        patches = [_patch(scene, prop, name, surface) for name, surface in spec.object.patches.items()]
        effectors += [replace(patch, body=len(members)) for patch in patches]
    joints = _limb_joints(scene, effectors, [body.root for body in bodies], upright, mass)
    own = [scene.surfaces[effector.surface] for effector in effectors if not effector.of_prop]
    touching = {joint for surface in own for joint in touching_joints(scene, surface)}
    planar = {scene.surfaces[e.surface].joint_id for e in effectors if not (e.of_prop or e.point)}
    capsules: list[LinkCapsule] = []
    for k, member in enumerate(members):
        moved, subsystem = set(joints.indices), scene.subsystems[member.character]
        of_body = capsules_of(scene, subsystem, moved, touching, touching - planar, upright)
        capsules += [replace(capsule, body=k) for capsule in of_body]
    first, names = bodies[0], tuple(body.name for body in bodies)
    return Character(
        name=first.name,
        mass=mass,
        com=first.com,
        inertia=first.inertia,
        root=first.root,
        effectors=tuple(effectors),
        joints=joints,
        capsules=tuple(capsules),
        apart=tuple(pair for name in names for pair in scene.self_collisions.get(name, ())),
        close=_close_pairs(scenario, names),
        nominal=nominal,
        limb_weights=spec.limb_weights,
        limb_smoothness=spec.limb_smoothness,
        prop=prop,
        effort=first.effort,
        partners=tuple(bodies[1:]),
        touchable=tuple(tuple(f"{one.character}/{name}" for name in one.touchable) for one in members),
    )


def _close_pairs(scenario: Scenario, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of links of these characters that the scenario keeps apart and no model file lists."""
    listed = {frozenset(pair) for name in names for pair in scenario.scene.self_collisions.get(name, ())}
    own = tuple(f"{name}/" for name in names)
    pairs = watched_pairs(scenario.scene, scenario.spec.collisions.model_copy(update={"self_collisions": []}))
    found = [pair.links for pair in pairs if pair.damper and all(link.startswith(own) for link in pair.links)]
    return tuple(links for links in dict.fromkeys(found) if frozenset(links) not in listed)


def _prop(scene: Scene, spec: ObjectSpec, mass: float) -> RigidBody:
    """Return the object, for the character's mass [kg]."""
    body = scene.subsystems[spec.subsystem]
    if body.v_slice.stop - body.v_slice.start != 6:
        raise KeyedError(("behaviour", "object", "subsystem"), f"expected one rigid body, '{body.name}' has joints")
    root = body.root_joints[0]
    inertia = scene.model.inertias[root]
    return RigidBody(
        name=body.name,
        mass=float(inertia.mass) / mass,
        com=np.asarray(inertia.lever).copy(),
        inertia=np.asarray(inertia.inertia) / inertia.mass,
        root=root,
    )


def _patch(scene: Scene, prop: RigidBody, name: str, surface_name: str) -> Effector:
    """Return a patch of the object."""
    surface = scene.surfaces[f"{prop.name}/{surface_name}"]
    if surface.kind != "planar":
        raise KeyedError(("behaviour", "object", "patches", name), "expected a planar surface")
    X = scene.model.frames[surface.frame_id].placement
    nominal, none = pin.SE3(X.rotation, X.translation - prop.com), np.zeros(0)
    index = np.zeros(0, dtype=np.intp)
    return Effector(
        name=name,
        surface=surface.name,
        point=False,
        grip=0.0,
        effort=1.0,
        half=np.ptp(surface.points[:, :2], axis=0) / 2.0,
        nominal=nominal,
        joints=(),
        placements=(),
        axes=np.zeros((0, 3)),
        end=nominal,
        q_index=index,
        v_index=index,
        lower=none,
        upper=none,
        rest=none,
        of_prop=True,
        unit=prop.mass,
    )


def _chains(scene: Scene, spec: CharacterSpec, root: int) -> dict[str, list[int]]:
    """Return the joints between the root and each effector, without those that are held.

    A joint that limbs share is held, unless an effector is on a link between it and where they part.
    """
    chains = {}
    for name, effector in spec.effectors.items():
        surface = scene.surfaces[f"{spec.character}/{effector.surface}"]
        if surface.kind == "grasp":
            raise KeyedError(("behaviour", "effectors", name), "expected a planar surface or a point, got a grasp")
        chains[name] = [j for j in scene.model.supports[surface.joint_id] if j > root]
    shared, free = set(), set()
    for one in chains.values():
        for other in chains.values():
            common = set(one) & set(other)
            if len(common) < min(len(one), len(other)):
                shared |= common
    for chain in chains.values():
        if set(chain) <= shared:
            free |= set(chain)
    return {name: [j for j in chain if j in free or j not in shared] for name, chain in chains.items()}


def _effector(
    scene: Scene, spec: CharacterSpec, name: str, chain: Sequence[int], root: int, upright: Array
) -> Effector:
    model, given = scene.model, spec.effectors[name]
    surface = scene.surfaces[f"{spec.character}/{given.surface}"]
    straight = upright.copy()
    columns = [model.joints[j].idx_q for j in chain]
    straight[columns] = 0.0
    data = model.createData()
    pin.computeJointJacobians(model, data, straight)
    axes = []
    for j in chain:
        column = pin.getJointJacobian(model, data, j, pin.LOCAL)[:, model.joints[j].idx_v]
        if model.joints[j].nq != 1 or np.abs(column[:3]).max() > 1e-9:
            raise KeyedError(
                ("behaviour", "effectors", name),
                f"joint '{model.names[j]}' of the limb is no revolute joint",
            )
        axes.append(column[3:])
    above = [root, *chain]
    placements = tuple(data.oMi[a].actInv(data.oMi[b]) for a, b in zip(above, chain, strict=False))
    pin.updateFramePlacements(model, data)
    end = data.oMi[above[-1]].actInv(data.oMf[surface.frame_id])
    pin.framesForwardKinematics(model, data, upright)
    v_index = np.array([model.joints[j].idx_v for j in chain], dtype=np.intp)
    q_index = np.array(columns, dtype=np.intp)
    return Effector(
        name=name,
        surface=surface.name,
        point=surface.kind == "point",
        grip=given.grip / GRAVITY,
        effort=given.effort,
        half=np.ptp(surface.points[:, :2], axis=0) / 2.0,
        nominal=data.oMf[surface.frame_id].copy(),
        joints=tuple(chain),
        placements=placements,
        axes=np.array(axes).reshape(-1, 3),
        end=end,
        q_index=q_index,
        v_index=v_index,
        lower=np.asarray(model.lowerPositionLimit)[q_index],
        upper=np.asarray(model.upperPositionLimit)[q_index],
        rest=upright[q_index],
        joined=given.joined or "",
        supports=float(given.supports),
    )


def _limb_joints(
    scene: Scene, effectors: Sequence[Effector], roots: Sequence[int], upright: Array, mass: float
) -> LimbJoints:
    """Return the joints of all limbs, for the first character's mass [kg] and the root joint of each character."""
    model, data = scene.model, scene.model.createData()
    pin.forwardKinematics(model, data, upright)
    bodies = {j: effector.body for effector in effectors for j in effector.joints}
    indices = list(bodies)
    q_index = np.array([model.joints[j].idx_q for j in indices], dtype=np.intp)
    carried = {j: pin.Inertia.Zero() for j in indices}
    for link in (link for root in roots for link in model.subtrees[root]):
        joint = owner(scene, link, set(indices))
        if joint is not None:
            carried[joint] += data.oMi[joint].actInv(data.oMi[link]).act(model.inertias[link])
    levers = np.array([carried[j].lever for j in indices]).reshape(-1, 3)
    nominal = [data.oMi[roots[bodies[j]]].actInv(data.oMi[j].act(c)) for j, c in zip(indices, levers, strict=True)]
    return LimbJoints(
        indices=tuple(indices),
        bodies=tuple(bodies.values()),
        q_index=q_index,
        lower=np.asarray(model.lowerPositionLimit)[q_index],
        upper=np.asarray(model.upperPositionLimit)[q_index],
        rest=upright[q_index],
        torque=np.array([_effort(scene, j) for j in indices]),
        mass=np.array([carried[j].mass for j in indices]) / mass,
        lever=levers,
        nominal=np.array(nominal).reshape(-1, 3),
        beyond=tuple(tuple(k for k, i in enumerate(indices) if j in model.supports[i]) for j in indices),
    )


def _effort(scene: Scene, joint: int) -> float:
    """Return a joint's effort limit [N m]."""
    motors = dict(zip(scene.actuated_v.tolist(), scene.torque_limits.tolist(), strict=True))
    limit = motors.get(scene.model.joints[joint].idx_v, DEFAULT_EFFORT)
    return float(limit if math.isfinite(limit) else DEFAULT_EFFORT)
