"""Simplified character of [Mordatch2012] appendix A, from the model of a scene: one rigid body and massless limbs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from contact_invariant.capsules import Capsule, capsules_of, owner
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.pairs import watched_pairs
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.behaviour import BehaviourSpec, CharacterSpec, ObjectSpec

#: Joints without an effort limit count with this one [N m].
DEFAULT_EFFORT = 200.0


@dataclass(frozen=True)
class Effector:
    """A potential contact: a surface patch, and the chain of joints between the root and the patch.

    Chains may share joints: those of a foot and of a knee, or those of the hands, which the chest moves.

    A point is a patch without extent, whose rotation in x is that of the surface it touches, free of its link.

    Attributes:
        name: its name in the behaviour.
        surface: full name of its surface.
        point: whether it is a point, about which its link may turn.
        grip: whether it can pull.
        effort: factor of the cost of its forces.
        half: half extents of the patch along its x and y, (2,) [m].
        nominal: placement of the patch in the root frame in the nominal posture.
        joints: indices of its limb's joints in the scene's model; none for a patch of the trunk.
        placements: of each joint in the one before, the first in the root frame.
        axes: rotation axis of each joint, (k, 3).
        end: placement of the patch in the last joint's frame, or in the root frame.
        q_index: index of each joint in q, (k,).
        v_index: index of each joint in v, (k,).
        lower: joint limits [rad], (k,).
        upper: joint limits [rad], (k,).
        rest: joint angles of the nominal posture [rad], (k,).
        body: index in `Character.bodies` of the one that it is on, or whose limb has it; `nominal` of a patch of the
            object is relative to its centre of mass.
        of_prop: whether it is a patch of the object.
        on_prop: whether it touches the object, and nothing else.
        unit: unit of its forces in the cost [weights of the first character].
    """

    name: str
    surface: str
    point: bool
    grip: bool
    effort: float
    half: Array
    nominal: pin.SE3
    joints: tuple[int, ...]
    placements: tuple[pin.SE3, ...]
    axes: Array
    end: pin.SE3
    q_index: Indices
    v_index: Indices
    lower: Array
    upper: Array
    rest: Array
    body: int = 0
    of_prop: bool = False
    on_prop: bool = False
    unit: float = 1.0

    @property
    def margin(self) -> float:
        """Distance from the edges of a surface at which the whole patch fits on it in any direction [m].

        For an object, which need not turn on what it stands on, in one direction.
        """
        return float(self.half.min() if self.of_prop else self.half.max())

    @property
    def length(self) -> float:
        """Largest distance of the last joint, or of a point, from the first joint, as if all were stretched [m]."""
        return float(self._pieces.sum())

    @property
    def bends(self) -> bool:
        """Whether that distance depends on its joints."""
        return int((self._pieces > 0.0).sum()) > 1

    @property
    def _pieces(self) -> Array:
        """Distances between its joints, of a point also from the last one to it [m]."""
        pieces = [*self.placements[1:], self.end] if self.point else self.placements[1:]
        return np.array([np.linalg.norm(X.translation) for X in pieces])

    @property
    def oriented(self) -> bool:
        """Whether the rotation of its link is a feature: not of points, but of those on redundant limbs.

        Joint angles of such a limb would else jump from one instant to the next.
        """
        return not self.point or len(self.joints) > 6

    @property
    def turns(self) -> bool:
        """Whether it is a point whose rotation in x is not that of the surface: a foot's is, which faces down."""
        foot = self.is_limb and not self.oriented and self.nominal.rotation[2, 2] < -0.99
        return self.point and not foot

    @property
    def is_limb(self) -> bool:
        """Whether joints of a limb move it."""
        return bool(self.joints)


@dataclass(frozen=True)
class RigidBody:
    """A single rigid body: a character with the inertia of its nominal posture, or an object.

    Attributes:
        name: of the subsystem.
        mass: relative to that of the first character.
        com: its centre of mass in the root frame, (3,) [m].
        inertia: about it, in axes of the root frame, divided by its mass, (3, 3) [m²].
        root: index of its root joint in the scene's model.
        effort: factor of the cost of its accelerations, and of the forces and torques of its limbs.
    """

    name: str
    mass: float
    com: Array
    inertia: Array
    root: int
    effort: float = 1.0


@dataclass(frozen=True)
class LimbJoints:
    """The joints of all limbs, each with the links that move with it.

    Attributes:
        indices: in the scene's model, (k,).
        bodies: index in `Character.bodies` of the character whose joint it is, (k,).
        q_index: in q, (k,).
        lower: limits [rad], (k,).
        upper: limits [rad], (k,).
        rest: angles of the nominal posture [rad], (k,).
        torque: effort limits [N m], (k,).
        mass: of these links, divided by the first character's mass, (k,).
        lever: their centre of mass in the joint's frame, (k, 3) [m].
        nominal: the same in the root frame in the nominal posture, (k, 3) [m].
        beyond: of each joint, places in these arrays of the links that it moves.
    """

    indices: tuple[int, ...]
    bodies: tuple[int, ...]
    q_index: Indices
    lower: Array
    upper: Array
    rest: Array
    torque: Array
    mass: Array
    lever: Array
    nominal: Array
    beyond: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Character:
    """A character, or several that act together: trunks, effectors and approximate collision geometry.

    Attributes:
        name: of the subsystem of the first character.
        mass: its mass [kg].
        com: centre of mass of its nominal posture in the root frame, (3,) [m].
        inertia: about it, in axes of the root frame, divided by the mass, (3, 3) [m²].
        root: index of its root joint in the scene's model.
        effectors: patches of limbs first, then those of trunks, then those of the object.
        joints: of the limbs.
        capsules: approximate collision geometry.
        apart: pairs of links that stay apart, full names.
        close: further pairs, which the scenario's `collisions` lists: they may come close to each other.
        nominal: nominal configuration of the whole scene, (nq,).
        limb_weights: whether the weight of limbs acts where they are, instead of where the nominal posture has it.
        prop: the object.
        effort: factor of the cost of its accelerations, forces and torques.
        partners: the other characters.
    """

    name: str
    mass: float
    com: Array
    inertia: Array
    root: int
    effectors: tuple[Effector, ...]
    joints: LimbJoints
    capsules: tuple[Capsule, ...]
    apart: tuple[tuple[str, str], ...]
    close: tuple[tuple[str, str], ...]
    nominal: Array
    limb_weights: bool
    prop: RigidBody | None = None
    effort: float = 1.0
    partners: tuple[RigidBody, ...] = ()

    @property
    def bodies(self) -> tuple[RigidBody, ...]:
        """All bodies: the characters, then the object."""
        first = RigidBody(self.name, 1.0, self.com, self.inertia, self.root, self.effort)
        return (first, *self.partners, *([] if self.prop is None else [self.prop]))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the characters."""
        return (self.name, *(partner.name for partner in self.partners))

    @property
    def limbs(self) -> tuple[Effector, ...]:
        """The effectors that a limb's joints move; they are the first of `effectors`."""
        return tuple(effector for effector in self.effectors if effector.is_limb)

    @property
    def features(self) -> int:
        """Size of x in (12): position and exponential map of the trunk, of each limb's patch, and of other bodies."""
        return 6 * (len(self.bodies) + len(self.limbs))

    def label(self, body: int) -> str:
        """Return what a body is called in terms and figures."""
        if body >= len(self.names):
            return "object"
        return f"{self.names[body]} root" if body else "root"

    def body_features(self, body: int) -> slice:
        """Return where x has the position of a body's centre of mass, and its rotation vector."""
        first = 6 * (len(self.limbs) + body) if body else 0
        return slice(first, first + 6)

    @property
    def prop_features(self) -> slice:
        """The same of the object; empty without one."""
        return slice(6 * (1 + len(self.limbs) + len(self.partners)), self.features)

    def index(self, name: str) -> int:
        """Return the index of an effector by its name."""
        return [effector.name for effector in self.effectors].index(name)

    def features_at(self, scene: Scene, q: Array) -> Array:
        """Return x of a configuration, (features,): rotations are relative to the upright nominal posture."""
        data = scene.model.createData()
        pin.framesForwardKinematics(scene.model, data, q)
        first, *others = (self._body_at(data, body) for body in self.bodies)
        limbs = []
        for limb in self.limbs:
            X = data.oMf[scene.surfaces[limb.surface].frame_id]
            turn = pin.log3(X.rotation @ limb.nominal.rotation.T) if limb.oriented else np.zeros(3)
            limbs += [X.translation, turn]
        return np.concatenate([first, *limbs, *others])

    @staticmethod
    def _body_at(data: pin.Data, body: RigidBody) -> Array:
        X = data.oMi[body.root]
        return np.append(X.act(body.com), pin.log3(X.rotation))


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
            raise MultiQpError(f"behaviour.character: expected a character with a floating base, got '{body.name}'")
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
        effectors += [replace(effector, body=k) for effector in found]
    effectors.sort(key=lambda effector: not effector.is_limb)
    prop = None if spec.object is None else _prop(scene, spec.object, mass)
    if prop is not None and spec.object is not None:
        hands = spec.object.hands
        effectors = [replace(e, on_prop=True, unit=prop.mass) if e.name in hands else e for e in effectors]
        patches = [_patch(scene, prop, name, surface) for name, surface in spec.object.patches.items()]
        effectors += [replace(patch, body=len(members)) for patch in patches]
    joints = _limb_joints(scene, effectors, [body.root for body in bodies], upright, mass)
    touching = {scene.surfaces[effector.surface].joint_id for effector in effectors if not effector.of_prop}
    planar = {scene.surfaces[e.surface].joint_id for e in effectors if not (e.of_prop or e.point)}
    capsules: list[Capsule] = []
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
        prop=prop,
        effort=first.effort,
        partners=tuple(bodies[1:]),
    )


def _close_pairs(scenario: Scenario, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of links of these characters that the scenario keeps apart and no model file lists."""
    listed = {frozenset(pair) for name in names for pair in scenario.scene.self_collisions.get(name, ())}
    own = tuple(f"{name}/" for name in names)
    pairs = watched_pairs(scenario.scene, scenario.spec.collisions.model_copy(update={"self_collisions": []}))
    found = [pair.links for pair in pairs if pair.damper and all(link.startswith(own) for link in pair.links)]
    return tuple(links for links in dict.fromkeys(found) if frozenset(links) not in listed)


def behaviour_of(scenario: Scenario) -> BehaviourSpec:
    """Return the behaviour of a scenario.

    Raises:
        MultiQpError: it has none.
    """
    if scenario.spec.behaviour is None:
        raise MultiQpError(f"{scenario.name} has no `behaviour`: there is nothing to synthesise")
    return scenario.spec.behaviour


def _prop(scene: Scene, spec: ObjectSpec, mass: float) -> RigidBody:
    """Return the object, for the character's mass [kg]."""
    body = scene.subsystems[spec.subsystem]
    if body.v_slice.stop - body.v_slice.start != 6:
        raise MultiQpError(f"behaviour.object.subsystem: expected one rigid body, '{body.name}' has joints")
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
        raise MultiQpError(f"behaviour.object.patches.{name}: expected a planar surface")
    X = scene.model.frames[surface.frame_id].placement
    nominal, none = pin.SE3(X.rotation, X.translation - prop.com), np.zeros(0)
    index = np.zeros(0, dtype=np.intp)
    return Effector(
        name=name,
        surface=surface.name,
        point=False,
        grip=False,
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
            raise MultiQpError(f"behaviour.effectors.{name}: expected a planar surface or a point, got a grasp")
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
            raise MultiQpError(
                f"behaviour.effectors.{name}: joint '{model.names[j]}' of the limb is no revolute joint with limits"
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
        grip=given.grip,
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
