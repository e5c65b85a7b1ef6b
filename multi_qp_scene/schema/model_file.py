"""Schema of `config/models/*.yaml`: surfaces, postures and other data of a model that URDF does not have."""

from __future__ import annotations

from math import atan2, pi
from typing import Annotated, Literal

from pydantic import Field, model_validator

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.limits import Within
from multi_qp_scene.schema.common import Angle, Color, ForceOrNone, Length, NonNegative, Rpy, Vector2, Vector3


def _is_convex(outline: list[tuple[float, float]]) -> bool:
    """Whether a polygon turns left at every corner, with a total of one turn."""
    corners, total = [*outline, *outline[:2]], 0.0
    for a, b, c in zip(corners, corners[1:], corners[2:], strict=False):
        before, after = (b[0] - a[0], b[1] - a[1]), (c[0] - b[0], c[1] - b[1])
        sine = before[0] * after[1] - before[1] * after[0]
        if sine <= 0.0:
            return False
        total += atan2(sine, before[0] * after[0] + before[1] * after[1])
    return len(outline) >= 3 and total < 3.0 * pi


class SurfaceBase(StrictModel):
    """Type and frame of a contact surface.

    Attributes:
        type: selects this type of surface.
        link: name of the link in the URDF.
        xyz: origin of the surface frame in the link frame [m].
        rpy: roll, pitch, yaw of the surface frame in the link frame [rad].
    """

    type: str
    link: str
    xyz: Vector3 = (0.0, 0.0, 0.0)
    rpy: Rpy = (0.0, 0.0, 0.0)


class PlanarSurfaceSpec(SurfaceBase):
    """A rectangle, or another convex polygon, on a link; its frame's +z is the outward normal.

    Attributes:
        size: extent of a rectangle along the surface frame's x and y [m].
        outline: instead of `size`: corners of a convex polygon in that frame, anticlockwise [m].
    """

    type: Literal["planar"]
    size: tuple[Length, Length] | None = None
    outline: list[Vector2] | None = None

    @model_validator(mode="after")
    def _one_shape(self) -> PlanarSurfaceSpec:
        if (self.size is None) == (self.outline is None):
            raise ValueError("give either `size` or `outline`")
        if self.outline is not None and not _is_convex(self.outline):
            raise ValueError("expected the corners of a convex polygon, anticlockwise")
        return self

    @property
    def extent(self) -> tuple[float, float]:
        """Extent along the surface frame's x and y [m]."""
        if self.size is not None:
            return self.size
        x, y = (2.0 * max(abs(corner[k]) for corner in self.outline or ()) for k in (0, 1))
        return x, y


class GraspSurfaceSpec(SurfaceBase):
    """A cylinder along its frame's x axis, in a hand (`encloses: true`) or on a handle (`encloses: false`).

    Attributes:
        radius: of the cylinder [m].
        length: distance between its two pairs of contact points, along x [m].
        encloses: whether the body is the hand around the cylinder.
    """

    type: Literal["grasp"]
    radius: Length
    length: Length
    encloses: bool = True


class PointSurfaceSpec(SurfaceBase):
    """A point on a link; its frame's +z is the outward normal."""

    type: Literal["point"]


SurfaceSpec = Annotated[PlanarSurfaceSpec | GraspSurfaceSpec | PointSurfaceSpec, Field(discriminator="type")]


class PassiveJointSpec(StrictModel):
    """Passive forces of a joint: spring, viscous damper, dry friction.

    Attributes:
        stiffness: of the spring [N m/rad].
        rest: angle at which the spring is relaxed [rad].
        damping: viscous damping [N m s/rad].
        friction: dry friction [N m]; smoothed over 0.01 rad/s.
    """

    stiffness: NonNegative = 0.0
    rest: Angle = 0.0
    damping: NonNegative = 0.0
    friction: ForceOrNone = 0.0


class MotorSpec(StrictModel):
    """Rotor of an actuated joint; its reflected inertia, `rotor_inertia` · `gear_ratio`², adds to M.

    Attributes:
        rotor_inertia: about its axis [kg m²]; with a gear ratio of 1, the reflected inertia, `armature` in MuJoCo.
        gear_ratio: turns of the rotor per turn of the joint; of a prismatic joint, per meter, in radians [rad/m].
    """

    rotor_inertia: Annotated[float, Field(ge=0), Within("joint_inertia", zero=True)]
    gear_ratio: Annotated[float, Within("gear_ratio", signed=True)] = 1.0

    @property
    def armature(self) -> float:
        """Reflected inertia [kg m²] or [kg]."""
        return self.rotor_inertia * self.gear_ratio**2


Landmark = Literal[
    "chest",
    "left_hip",
    "left_knee",
    "left_ankle",
    "left_shoulder",
    "left_elbow",
    "left_wrist",
    "left_sole",
    "right_hip",
    "right_knee",
    "right_ankle",
    "right_shoulder",
    "right_elbow",
    "right_wrist",
    "right_sole",
]


class ModelFile(StrictModel):
    """A robot, an object or an environment model: its URDF and additional data.

    Attributes:
        description: one line of text.
        extends: a shipped model's name or the path of a model file, whose keys this one has as well, except those that
            it replaces; mappings are merged level by level, and null removes a key.
        urdf: the URDF: a file beside this one, or in the project's `urdf/`.
        root: whether the base floats or is fixed; environment models are `fixed`.
        color: red, green, blue of the visuals whose material is named `tint`.
        postures: joint angles [rad] by posture and joint; joints left out are at zero. `zero` always exists.
        surfaces: contact surfaces by name.
        effort_limits: sets of effort limits [N m] by name and joint; the first set is the default, and joints left out
            of a set keep the URDF's limit. The URDF determines which joints have motors: those with a finite effort
            limit above zero.
        self_collisions: pairs of links that a scenario may monitor by `collisions.self_collisions`.
        passive_joints: springs, dampers and friction by joint, with a motor or without. Other joints without a motor
            have the URDF's `<dynamics>`; other joints with one have none.
        motors: rotors by actuated joint.
        landmarks: joint whose origin is at each landmark of a person (`left_hip`, `left_knee`, `left_ankle`,
            `left_shoulder`, `left_elbow`, `left_wrist`, the same on the right, `chest`), and the surface of each sole
            (`left_sole`, `right_sole`); recorded motions are retargeted by them.
        srdf: an SRDF beside this file, or a URI: its `<group_state>`s are postures, its `<rotor_params>` motors, unless
            this file has one of that name; without `self_collisions`, these are all pairs that it does not disable.
    """

    description: str = ""
    extends: str | None = None
    urdf: str
    root: Literal["free_flyer", "fixed"] = "free_flyer"
    color: Color | None = None
    postures: dict[str, dict[str, Angle]] = {}
    surfaces: dict[str, SurfaceSpec] = {}
    effort_limits: dict[str, dict[str, ForceOrNone]] = {}
    self_collisions: list[tuple[str, str]] = []
    passive_joints: dict[str, PassiveJointSpec] = {}
    motors: dict[str, MotorSpec] = {}
    landmarks: dict[Landmark, str] = {}
    srdf: str | None = None
