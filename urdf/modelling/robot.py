"""Model description: links, joints and surfaces, with left-right mirroring."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pinocchio as pin

from .mesh import Mesh
from .solids import Solid, Triple, flip, inertial_of

MATERIALS: dict[str, tuple[float, float, float]] = {
    "tint": (0.16, 0.42, 0.72),
    "shell": (0.93, 0.93, 0.92),
    "dark": (0.13, 0.14, 0.16),
    "visor": (0.03, 0.04, 0.06),
}
"""Default colours; a viewer replaces `tint` by the colour of the character."""


@dataclass(frozen=True)
class Visual:
    """A mesh in the link frame, in one material.

    Attributes:
        name: File stem of the mesh, unique in the model.
        mesh: The mesh.
        material: A key of MATERIALS, or of the model's own materials.
        model: Name of the model that has the mesh; its own if empty.
    """

    name: str
    mesh: Mesh
    material: str
    model: str = ""

    def mirrored(self) -> Visual:
        """The same piece on the other side of the body."""
        return Visual(other_side(self.name), self.mesh.mirrored(), self.material, self.model)


@dataclass(frozen=True)
class Link:
    """A rigid body, or a massless frame when the mass is zero.

    Attributes:
        name: Unique name.
        mass: Mass [kg].
        collisions: Collision shapes, in the link frame.
        solids: Mass distribution; the collision shapes if empty.
        visuals: Meshes, in the link frame.
    """

    name: str
    mass: float = 0.0
    collisions: tuple[Solid, ...] = ()
    solids: tuple[Solid, ...] = ()
    visuals: tuple[Visual, ...] = ()

    def inertial(self) -> pin.Inertia | None:
        """Mass properties, None for a mere frame."""
        return inertial_of(self.solids or self.collisions, self.mass) if self.mass > 0 else None

    def mirrored(self) -> Link:
        """The same link on the other side of the body."""
        return replace(
            self,
            name=other_side(self.name),
            collisions=tuple(s.mirrored() for s in self.collisions),
            solids=tuple(s.mirrored() for s in self.solids),
            visuals=tuple(v.mirrored() for v in self.visuals),
        )


@dataclass(frozen=True)
class JointModel:
    """A revolute or fixed joint; frames are parallel at the zero posture unless `rpy` says otherwise.

    Attributes:
        name: Unique name.
        parent: Name of the parent link.
        child: Name of the child link.
        xyz: Origin in the parent link [m].
        axis: "x", "y" or "z", or one of these with a minus; None makes the joint fixed.
        lower: Smallest angle [rad].
        upper: Largest angle [rad].
        velocity: Largest speed [rad/s].
        effort: Largest torque [N m].
    """

    name: str
    parent: str
    child: str
    xyz: Triple = (0.0, 0.0, 0.0)
    axis: str | None = None
    lower: float = 0.0
    upper: float = 0.0
    velocity: float = 0.0
    effort: float = 0.0

    def mirrored(self) -> JointModel:
        """The same joint on the other side: roll and yaw change their sense, pitch does not."""
        lower, upper = (self.lower, self.upper) if self.axis in ("y", "-y") else (0.0 - self.upper, 0.0 - self.lower)
        return replace(
            self,
            name=other_side(self.name),
            parent=other_side(self.parent),
            child=other_side(self.child),
            xyz=flip(self.xyz),
            lower=lower,
            upper=upper,
        )


@dataclass(frozen=True)
class SurfaceModel:
    """A contact surface of a link; +z of its frame points out of the body.

    With a size it is planar, with a radius a grasp, else a point.

    Attributes:
        link: Name of the link.
        xyz: Origin in the link frame [m].
        rpy: Orientation in the link frame [rad].
        size: Planar: rectangle along the frame's x and y [m].
        radius: Grasp: radius of the cylinder, whose axis is the frame's x [m].
        length: Grasp: length of the cylinder [m].
        encloses: Grasp: whether this is the hand around the cylinder, not the handle.
    """

    link: str
    xyz: Triple
    rpy: Triple = (0.0, 0.0, 0.0)
    size: tuple[float, float] | None = None
    radius: float | None = None
    length: float | None = None
    encloses: bool = True

    @property
    def kind(self) -> str:
        """Type of the surface."""
        if self.size:
            return "planar"
        return "grasp" if self.radius else "point"

    def mirrored(self) -> SurfaceModel:
        """The same surface on the other side of the body."""
        roll, pitch, yaw = self.rpy
        rpy = (_turned(roll), pitch, 0.0 - yaw)
        return replace(self, link=other_side(self.link), xyz=flip(self.xyz), rpy=rpy)


@dataclass(frozen=True)
class Robot:
    """Description of one model, from which its files are generated.

    Attributes:
        name: File stem of URDF and model file.
        description: One line.
        root: "free_flyer" or "fixed".
        links: The root link first.
        joints: In the order of the file.
        materials: Colours by material name, 0..1.
        color: Default tint; that of the materials if None.
        surfaces: Surfaces by name.
        postures: Joint angles by posture [rad]; missing joints are 0.
        effort_limits: Torques by set and joint [N m]; the first set is the default.
        landmarks: Joints and soles by landmark of a person.
        self_collisions: Pairs of links for self-collision avoidance.
        passive_joints: Stiffness, rest, damping and friction of joints without a motor [SI].
        notes: Comment lines by key of the model file.
    """

    name: str
    description: str
    root: str
    links: tuple[Link, ...]
    joints: tuple[JointModel, ...] = ()
    materials: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    color: tuple[float, float, float] | None = None
    surfaces: dict[str, SurfaceModel] = field(default_factory=dict)
    postures: dict[str, dict[str, float]] = field(default_factory=dict)
    effort_limits: dict[str, dict[str, float]] = field(default_factory=dict)
    landmarks: dict[str, str] = field(default_factory=dict)
    self_collisions: tuple[tuple[str, str], ...] = ()
    passive_joints: dict[str, dict[str, float]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)


def other_side(name: str) -> str:
    """Name with left and right exchanged, in the spellings of the models."""
    for a, b in (("l_", "r_"), ("L_", "R_"), ("left_", "right_")):
        if name.startswith(a):
            return b + name[len(a) :]
        if name.startswith(b):
            return a + name[len(b) :]
    return name


def _turned(roll: float) -> float:
    """Mirrored roll; half a turn is its own mirror image."""
    return roll if abs(roll) == np.pi else 0.0 - roll
