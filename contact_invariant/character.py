"""Simplified character of [Mordatch2012] appendix A, from the model of a scene: one rigid body and massless limbs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin

from contact_invariant.capsules import LinkCapsule
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.behaviour import BehaviourSpec

#: [m/s²].
GRAVITY = 9.81


@dataclass(frozen=True)
class Effector:
    """A potential contact: a surface patch, and the chain of joints between the root and the patch.

    Chains may share joints: those of a foot and of a knee, or those of the hands, which the chest moves.

    A point is a patch without extent, whose rotation in x is that of the surface it touches, free of its link.

    Attributes:
        name: its name in the behaviour.
        surface: full name of its surface.
        point: whether it is a point, about which its link may turn.
        grip: largest force with which it pulls, by which its friction cone is larger [weights of the first character].
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
        joined: name of the effector whose contact variable it has, "" if it has its own.
        supports: share that it has in what bears the character: with 1, it needs no other contact.
    """

    name: str
    surface: str
    point: bool
    grip: float
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
    joined: str = ""
    supports: float = 1.0

    @property
    def corners(self) -> Array:
        """Corners of the patch in its own frame, (4, 3) [m]; four times its place if it is a point."""
        signs = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
        return np.column_stack([signs * self.half, np.zeros(4)])

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
        limb_smoothness: factor of the accelerations of limbs in the cost, before they are squared.
        prop: the object.
        effort: factor of the cost of its accelerations, forces and torques.
        partners: the other characters.
        touchable: of each character, full names of surfaces of its trunk that the other one may touch.
    """

    name: str
    mass: float
    com: Array
    inertia: Array
    root: int
    effectors: tuple[Effector, ...]
    joints: LimbJoints
    capsules: tuple[LinkCapsule, ...]
    apart: tuple[tuple[str, str], ...]
    close: tuple[tuple[str, str], ...]
    nominal: Array
    limb_weights: bool
    limb_smoothness: float
    prop: RigidBody | None = None
    effort: float = 1.0
    partners: tuple[RigidBody, ...] = ()
    touchable: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def bodies(self) -> tuple[RigidBody, ...]:
        """All bodies: the characters, then the object."""
        first = RigidBody(self.name, 1.0, self.com, self.inertia, self.root, self.effort)
        return (first, *self.partners, *([] if self.prop is None else [self.prop]))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the characters."""
        return (self.name, *(partner.name for partner in self.partners))

    @cached_property
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

    @cached_property
    def variables(self) -> list[int]:
        """Index of the contact variable of each effector: its own, or that of the one that it is joined to."""
        return [self.index(effector.joined) if effector.joined else i for i, effector in enumerate(self.effectors)]

    def shares(self, body: int) -> dict[int, float]:
        """Return the shares of effectors in what bears a character, by index; joined ones count once."""
        own = ((i, e) for i, e in enumerate(self.effectors) if e.body == body and not e.on_prop)
        return {i: e.supports for i, e in own if not e.joined}

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


def behaviour_of(scenario: Scenario) -> BehaviourSpec:
    """Return the behaviour of a scenario.

    Raises:
        MultiQpError: it has none.
    """
    if scenario.spec.behaviour is None:
        raise MultiQpError(f"{scenario.name} has no `behaviour`: there is nothing to synthesise")
    return scenario.spec.behaviour
