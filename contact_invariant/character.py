"""Simplified character of [Mordatch2012] appendix A, from the model of a scene: one rigid body and massless limbs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.behaviour import BehaviourSpec
from multi_qp_scene.subsystem import Subsystem

#: Joints without an effort limit count with this one [N m].
DEFAULT_EFFORT = 200.0
#: Distance of the spheres along a capsule, relative to its radius.
SPACING = 1.2


@dataclass(frozen=True)
class Capsule:
    """Approximation of one piece of a link's collision geometry.

    Attributes:
        link: full name of the link.
        limb: index of the effector whose chain moves it, None for the trunk.
        joint: index in that chain.
        ends: of its axis, in the frame of that joint, or in the root frame for the trunk, (2, 3) [m].
        radius: that fits into the geometry [m].
        apart: radius for the distance to other links [m], which covers the geometry's middle extent.
        touches: whether its link has a patch.
    """

    link: str
    limb: int | None
    joint: int
    ends: Array
    radius: float
    apart: float
    touches: bool

    @property
    def fractions(self) -> Array:
        """Places along its axis, 0..1, of spheres that cover it, (k,)."""
        length = float(np.linalg.norm(self.ends[1] - self.ends[0]))
        if length < 1e-6:
            return np.array([0.5])
        return np.linspace(0.0, 1.0, 1 + math.ceil(length / (SPACING * self.radius)))


@dataclass(frozen=True)
class Effector:
    """A potential contact: a surface patch, and the chain of joints between the root and the patch.

    A point is a patch without extent, whose rotation in x is that of the surface it touches, free of its link.

    Attributes:
        name: its name in the behaviour.
        surface: full name of its surface.
        point: whether it is a point, about which its link may turn.
        grip: whether it can pull.
        effort: factor of the cost of its forces.
        half: half extents of the patch along its x and y, (2,) [m].
        nominal: placement of the patch in the root frame in the nominal posture.
        joints: indices of the joints of its own in the scene's model; none for a patch of the trunk.
        placements: of each joint in the one before, the first in the root frame.
        axes: rotation axis of each joint, (k, 3).
        end: placement of the patch in the last joint's frame, or in the root frame.
        q_index: index of each joint in q, (k,).
        v_index: index of each joint in v, (k,).
        lower: joint limits [rad], (k,).
        upper: joint limits [rad], (k,).
        rest: joint angles of the nominal posture [rad], (k,).
        torque: effort limits [N m], (k,).
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
    torque: Array

    @property
    def margin(self) -> float:
        """Distance from the edges of a surface at which the whole patch fits on it in any direction [m]."""
        return float(self.half.max())

    @property
    def length(self) -> float:
        """Largest distance of the last joint, or of a point, from the first joint, as if all were stretched [m]."""
        pieces = [*self.placements[1:], self.end] if self.point else self.placements[1:]
        return float(sum(np.linalg.norm(X.translation) for X in pieces))

    @property
    def is_limb(self) -> bool:
        """Whether joints of its own move it."""
        return bool(self.joints)


@dataclass(frozen=True)
class Character:
    """A character: trunk, effectors and approximate collision geometry.

    Attributes:
        name: of the subsystem.
        mass: [kg].
        com: centre of mass of the nominal posture in the root frame, (3,) [m].
        inertia: about it, in axes of the root frame, divided by the mass, (3, 3) [m²].
        root: index of its root joint in the scene's model.
        effectors: limbs first, then patches of the trunk.
        capsules: approximate collision geometry.
        apart: pairs of links that stay apart, full names.
        nominal: nominal configuration of the whole scene, (nq,).
    """

    name: str
    mass: float
    com: Array
    inertia: Array
    root: int
    effectors: tuple[Effector, ...]
    capsules: tuple[Capsule, ...]
    apart: tuple[tuple[str, str], ...]
    nominal: Array

    @property
    def limbs(self) -> tuple[Effector, ...]:
        """The effectors that joints of their own move; they are the first of `effectors`."""
        return tuple(effector for effector in self.effectors if effector.is_limb)

    @property
    def features(self) -> int:
        """Size of x in (12): position and exponential map of the trunk and of each limb's patch."""
        return 6 * (1 + len(self.limbs))

    def index(self, name: str) -> int:
        """Return the index of an effector by its name."""
        return [effector.name for effector in self.effectors].index(name)

    def features_at(self, scene: Scene, q: Array) -> Array:
        """Return x of a configuration, (features,): rotations are relative to the upright nominal posture."""
        data = scene.model.createData()
        pin.framesForwardKinematics(scene.model, data, q)
        X_root = data.oMi[self.root]
        x = [X_root.act(self.com), pin.log3(X_root.rotation)]
        for limb in self.limbs:
            X = data.oMf[scene.surfaces[limb.surface].frame_id]
            x += [X.translation, np.zeros(3) if limb.point else pin.log3(X.rotation @ limb.nominal.rotation.T)]
        return np.concatenate(x)


def character_of(scenario: Scenario) -> Character:
    """Return the character of a scenario's behaviour.

    Joints that no effector has to itself, such as those of chest and neck, are held at the nominal posture.

    Raises:
        MultiQpError: there is no behaviour, a surface is a grasp, or a limb's joint is not a revolute one.
    """
    spec, scene = behaviour_of(scenario), scenario.scene
    body = scene.subsystems[spec.character]
    if not body.floating:
        raise MultiQpError(f"behaviour.character: expected a character with a floating base, got '{body.name}'")
    nominal = scene.q0.copy()
    nominal[body.q_slice] = body.postures[spec.posture]
    root = body.root_joints[0]
    upright = nominal.copy()
    upright[body.q_slice.start : body.q_slice.start + 7] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    chains = _chains(scene, spec, root)
    effectors = [_effector(scene, spec, name, chains[name], root, upright) for name in spec.effectors]
    effectors.sort(key=lambda effector: not effector.is_limb)
    data = scene.model.createData()
    pin.ccrba(scene.model, data, upright, np.zeros(scene.nv))
    inertia = data.oMi[root].actInv(data.oYcrb[root])
    return Character(
        name=body.name,
        mass=float(inertia.mass),
        com=np.asarray(inertia.lever).copy(),
        inertia=np.asarray(inertia.inertia) / inertia.mass,
        root=root,
        effectors=tuple(effectors),
        capsules=tuple(_capsules(scene, body, effectors, root, upright)),
        apart=scene.self_collisions.get(body.name, ()),
        nominal=nominal,
    )


def behaviour_of(scenario: Scenario) -> BehaviourSpec:
    """Return the behaviour of a scenario.

    Raises:
        MultiQpError: it has none.
    """
    if scenario.spec.behaviour is None:
        raise MultiQpError(f"{scenario.name} has no `behaviour`: there is nothing to synthesise")
    return scenario.spec.behaviour


def _chains(scene: Scene, spec: BehaviourSpec, root: int) -> dict[str, list[int]]:
    """Return the joints of each effector that no other effector at another link has."""
    joints, chains = {}, {}
    for name, effector in spec.effectors.items():
        surface = scene.surfaces[f"{spec.character}/{effector.surface}"]
        if surface.kind == "grasp":
            raise MultiQpError(f"behaviour.effectors.{name}: expected a planar surface or a point, got a grasp")
        joints[name] = surface.joint_id
        chains[name] = [j for j in scene.model.supports[surface.joint_id] if j > root]
    own = {}
    for name, chain in chains.items():
        others = {j for other, above in chains.items() if joints[other] != joints[name] for j in above}
        own[name] = [j for j in chain if j not in others]
        if any(joints[other] == joints[name] for other in chains if other != name) and own[name]:
            raise MultiQpError(f"behaviour.effectors.{name}: another effector is on the same link of a limb")
    return own


def _effector(
    scene: Scene, spec: BehaviourSpec, name: str, chain: Sequence[int], root: int, upright: Array
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
    motors = dict(zip(scene.actuated_v.tolist(), scene.torque_limits.tolist(), strict=True))
    torque = [limit if math.isfinite(limit := motors.get(v, DEFAULT_EFFORT)) else DEFAULT_EFFORT for v in v_index]
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
        torque=np.array(torque),
    )


def _capsules(scene: Scene, body: Subsystem, effectors: Sequence[Effector], root: int, upright: Array) -> list[Capsule]:
    owner = {j: (i, k) for i, effector in enumerate(effectors) for k, j in enumerate(effector.joints)}
    data = scene.model.createData()
    pin.forwardKinematics(scene.model, data, upright)
    touching = {scene.surfaces[effector.surface].joint_id for effector in effectors}
    found = []
    for piece in scene.collision_model.geometryObjects:
        if piece.name.split("/")[0] != body.name:
            continue
        link = scene.model.frames[piece.parentFrame].name
        limb, joint = owner.get(piece.parentJoint, (None, 0))
        X = piece.placement
        if limb is None:
            X = data.oMi[root].actInv(data.oMi[piece.parentJoint]).act(X)
        ends, radius, apart = _fitted(piece.geometry)
        placed = ends @ X.rotation.T + X.translation
        found.append(Capsule(link, limb, joint, placed, radius, apart, piece.parentJoint in touching))
    return found


def _fitted(shape: coal.CollisionGeometry) -> tuple[Array, float, float]:
    """Return a capsule along the longest axis of a shape: ends of its axis, radius inside it, radius across it."""
    shape.computeLocalAABB()
    low, high = np.asarray(shape.aabb_local.min_), np.asarray(shape.aabb_local.max_)
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    order = np.argsort(half)
    radius, apart, axis = float(half[order[0]]), float(half[order[1]]), int(order[2])
    ends = np.tile(middle, (2, 1))
    ends[:, axis] += np.array([-1.0, 1.0]) * (half[axis] - radius)
    return ends, radius, apart
