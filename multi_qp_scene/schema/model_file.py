"""Schema of `config/models/*.yaml`: what a URDF does not say of a robot or an object."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import NonNegative, Positive, Vector3

UnitInterval = Annotated[float, Field(ge=0, le=1)]


class PlanarSurfaceSpec(StrictModel):
    """A rectangle on a link; its frame's +z is the outward normal."""

    type: Literal["planar"]
    link: str
    xyz: Vector3 = (0.0, 0.0, 0.0)
    rpy: Vector3 = (0.0, 0.0, 0.0)
    size: tuple[Positive, Positive]


class GraspSurfaceSpec(StrictModel):
    """A cylinder along its frame's x axis, in a hand (`encloses: true`) or on a handle (`encloses: false`)."""

    type: Literal["grasp"]
    link: str
    xyz: Vector3 = (0.0, 0.0, 0.0)
    rpy: Vector3 = (0.0, 0.0, 0.0)
    radius: Positive
    length: Positive
    encloses: bool = True


class PointSurfaceSpec(StrictModel):
    """A point on a link; its frame's +z is the outward normal."""

    type: Literal["point"]
    link: str
    xyz: Vector3 = (0.0, 0.0, 0.0)
    rpy: Vector3 = (0.0, 0.0, 0.0)


SurfaceSpec = Annotated[PlanarSurfaceSpec | GraspSurfaceSpec | PointSurfaceSpec, Field(discriminator="type")]


class PassiveJointSpec(StrictModel):
    """What moves a joint without a motor: a spring, a damper, dry friction."""

    stiffness: NonNegative = 0.0
    rest: float = 0.0
    damping: NonNegative = 0.0
    friction: NonNegative = 0.0


class ModelFile(StrictModel):
    """A robot, an object or a piece of environment: its URDF and what the URDF does not say."""

    description: str = ""
    urdf: str
    root: Literal["free_flyer", "fixed"] = "free_flyer"
    color: tuple[UnitInterval, UnitInterval, UnitInterval] | None = None
    postures: dict[str, dict[str, float]] = {}
    surfaces: dict[str, SurfaceSpec] = {}
    effort_limits: dict[str, dict[str, NonNegative]] = {}
    self_collisions: list[tuple[str, str]] = []
    passive_joints: dict[str, PassiveJointSpec] = {}
