"""Schema of `config/models/*.yaml`: what a URDF does not say of a robot or an object."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import NonNegative, Positive, Vector3

UnitInterval = Annotated[float, Field(ge=0, le=1)]


class PlanarSurfaceSpec(StrictModel):
    """A rectangle on a link; its frame's +z is the outward normal.

    Attributes:
        type: chooses this kind of surface.
        link: name of the link in the URDF.
        xyz: origin of the surface frame in the link frame [m].
        rpy: roll, pitch, yaw of the surface frame in the link frame [rad].
        size: extent along the surface frame's x and y [m].
    """

    type: Literal["planar"]
    link: str
    xyz: Vector3 = (0.0, 0.0, 0.0)
    rpy: Vector3 = (0.0, 0.0, 0.0)
    size: tuple[Positive, Positive]


class GraspSurfaceSpec(StrictModel):
    """A cylinder along its frame's x axis, in a hand (`encloses: true`) or on a handle (`encloses: false`).

    Attributes:
        type: chooses this kind of surface.
        link: name of the link in the URDF.
        xyz: origin of the surface frame in the link frame [m].
        rpy: roll, pitch, yaw of the surface frame in the link frame [rad].
        radius: of the cylinder [m].
        length: distance between its two pairs of contact points, along x [m].
        encloses: whether the body is the hand around the cylinder.
    """

    type: Literal["grasp"]
    link: str
    xyz: Vector3 = (0.0, 0.0, 0.0)
    rpy: Vector3 = (0.0, 0.0, 0.0)
    radius: Positive
    length: Positive
    encloses: bool = True


class PointSurfaceSpec(StrictModel):
    """A point on a link; its frame's +z is the outward normal.

    Attributes:
        type: chooses this kind of surface.
        link: name of the link in the URDF.
        xyz: origin of the surface frame in the link frame [m].
        rpy: roll, pitch, yaw of the surface frame in the link frame [rad].
    """

    type: Literal["point"]
    link: str
    xyz: Vector3 = (0.0, 0.0, 0.0)
    rpy: Vector3 = (0.0, 0.0, 0.0)


SurfaceSpec = Annotated[PlanarSurfaceSpec | GraspSurfaceSpec | PointSurfaceSpec, Field(discriminator="type")]


class PassiveJointSpec(StrictModel):
    """What moves a joint without a motor: a spring, a damper, dry friction.

    Attributes:
        stiffness: of the spring [N m/rad].
        rest: angle at which the spring is relaxed [rad].
        damping: viscous [N m s/rad].
        friction: dry [N m]; comes in smoothly over 0.01 rad/s.
    """

    stiffness: NonNegative = 0.0
    rest: float = 0.0
    damping: NonNegative = 0.0
    friction: NonNegative = 0.0


class ModelFile(StrictModel):
    """A robot, an object or a piece of environment: its URDF and what the URDF does not say.

    Attributes:
        description: one line for people.
        urdf: the URDF: a file beside this one, or in the project's `urdf/`.
        root: whether the base floats or is fixed; pieces of the environment are `fixed`.
        color: red, green, blue of the visuals whose material is named `tint`.
        postures: joint angles [rad] by posture and joint; joints left out are at zero. `zero` always exists.
        surfaces: where the body can touch, by name.
        effort_limits: sets of effort limits [N m] by name and joint; the first set is the default, and joints left out
            of a set keep the URDF's. Which joints have motors is the URDF's matter: those with a finite effort limit
            above zero.
        self_collisions: pairs of links that a scenario may watch by `collisions.self_collisions`.
        passive_joints: springs, dampers and friction by joint. Joints without a motor that are left out have the URDF's
            `<dynamics>`.
    """

    description: str = ""
    urdf: str
    root: Literal["free_flyer", "fixed"] = "free_flyer"
    color: tuple[UnitInterval, UnitInterval, UnitInterval] | None = None
    postures: dict[str, dict[str, float]] = {}
    surfaces: dict[str, SurfaceSpec] = {}
    effort_limits: dict[str, dict[str, NonNegative]] = {}
    self_collisions: list[tuple[str, str]] = []
    passive_joints: dict[str, PassiveJointSpec] = {}
