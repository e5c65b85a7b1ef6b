"""Schema of what a scene contains: subsystems, their copies and loads, and the environment."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import (
    Angle,
    Color,
    Coordinate,
    Distance,
    Duration,
    Factors,
    Length,
    Mass,
    MassOrNone,
    PoseSpec,
    Positive,
    Seed,
    Switch,
    Time,
    Vector2,
    Vector3,
)
from multi_qp_scene.schema.model_file import MotorSpec
from multi_qp_scene.schema.name_of import LinkName


class PlaceSpec(StrictModel):
    """Placement of a body with its surfaces aligned to another surface, centred at `xy` of it and rotated by `yaw`.

    Attributes:
        surfaces: surfaces of this subsystem, without its name; their mean point is placed at `xy`.
        onto: full name of the supporting surface of the environment.
        xy: position in the supporting surface's frame [m].
        yaw: heading of the base's x axis about the supporting surface's normal [rad].
    """

    surfaces: list[str] = Field(min_length=1)
    onto: str
    xy: Vector2 = (0.0, 0.0)
    yaw: Angle = 0.0


class CopiesSpec(StrictModel):
    """Copies of a subsystem in a rectangle of the ground plane, on a grid or at random; they are named `<name>_1`, ...

    The position of a copy adds to that of the subsystem's `pose`. Random copies are turned about z at random as well.

    Attributes:
        region: two opposite corners of the rectangle [m].
        grid: number of copies along x and along y.
        count: instead of `grid`: number of random copies.
        distance: least distance of random copies from each other [m].
        seed: seed of random copies; `${seed}` is the run's `--seed`.
        models: models of which each random copy has one, instead of the subsystem's.
        mass: bounds of the total mass of random copies [kg], instead of the subsystem's mass.
        release: instead of the subsystem's: times at which copies at the region's first corner and at its second one
            are released, by their places along x between these [s].
    """

    region: tuple[Vector2, Vector2]
    grid: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]] | None = None
    count: Annotated[int, Field(ge=1)] | None = None
    distance: Distance = 0.0
    seed: Annotated[int, Field(ge=0)] = 0
    models: list[str] = []
    mass: tuple[Mass, Mass] | None = None
    release: tuple[Time, Time] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> CopiesSpec:
        if (self.grid is None) == (self.count is None):
            raise ValueError("give either `grid` or `count`")
        if self.grid is not None and (self.models or self.mass or self.distance):
            raise ValueError("`distance`, `models` and `mass` are for random copies; give `count` instead of `grid`")
        if self.mass is not None and self.mass[1] < self.mass[0]:
            raise ValueError(f"`mass`: expected the lower bound first, got {list(self.mass)}")
        return self


class SubsystemSpec(StrictModel):
    """A robot, an object or an articulated part: its model, pose and posture.

    Attributes:
        model: name of a shipped model, or path of a model file, relative to this file.
        controlled: whether it is part of the QP. Other subsystems, which have no motors, are simulated and seen, for
            example as obstacles of generators; contacts, tasks and constraints cannot name them.
        release: time until which a subsystem that is not controlled has no weight, as it hangs somewhere [s].
        copies: several of it instead of one.
        pose: pose of the base in the world; for a floating base, the initial one.
        place: instead of `pose`, for floating bases: aligned to a surface.
        posture: initial joint angles: a posture of the model, or angles [rad] by joint; `zero` if left out.
        mass: total mass [kg]; masses and inertias of all its links are scaled to it.
        scale: factors along x, y and z of a model of one link: its shapes and surfaces are scaled; its mass is
            unchanged.
        effort_limits: name of the model's set of effort limits; its first if left out.
        motors: rotors by joint or by a pattern with `*`, instead of the model's.
        color: red, green, blue in 0..1; the model's if left out.
    """

    model: str
    controlled: Switch = True
    release: Time = 0.0
    copies: CopiesSpec | None = None
    pose: PoseSpec | None = None
    place: PlaceSpec | None = None
    posture: str | dict[str, Angle] | None = None
    mass: Mass | None = None
    scale: Factors = (1.0, 1.0, 1.0)
    effort_limits: str | None = None
    motors: dict[str, MotorSpec] = {}
    color: Color | None = None


class EnvironmentCopiesSpec(StrictModel):
    """Copies of a piece of the environment on a grid of the ground plane; they are named `<name>_1`, ...

    The position of a copy adds to that of the piece's `pose`.

    Attributes:
        region: two opposite corners of the rectangle [m].
        grid: number of copies along x and along y, each in the middle of its cell.
        heights: bounds of a random height that adds to each copy's position [m].
        seed: seed of the heights; `${seed}` is the run's `--seed`.
    """

    region: tuple[Vector2, Vector2]
    grid: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]
    heights: tuple[Coordinate, Coordinate] = (0.0, 0.0)
    seed: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _consistent(self) -> EnvironmentCopiesSpec:
        if self.heights[1] < self.heights[0]:
            raise ValueError(f"`heights`: expected the lower bound first, got {list(self.heights)}")
        return self


class EnvironmentSpec(StrictModel):
    """A fixed part of the environment: a model, a box given by its size, a triangle mesh, or a URDF.

    Attributes:
        model: name of a shipped model, or path of a model file, relative to this file; its root must be `fixed`.
        box: instead of `model`: extent along x, y and z [m] of a box whose frame is at its centre. It has the surfaces
            `front` (+x), `back`, `left` (+y), `right`, `top` (+z) and `bottom`.
        mesh: instead of `model`: a triangle mesh (STL, OBJ, DAE, PLY), a path relative to this file, or package://...
            It has a surface on each planar facet that is at least 3 cm wide: `facet_1` is the largest, facets of equal
            size are numbered from the lowest. Facets that are not convex are divided into convex ones. The collision
            geometry consists of closed convex shells as they are, of columns under the facets of shells without
            overhang, and of plates behind the facets of other shells. Its z axis is up.
        urdf: instead of `model`: a URDF without moving joints, a path relative to this file, or package://... Every
            collision box and mesh has surfaces: `<link>_top`, `<link>_facet_1`, `<link>_2_top` if it has several.
        scale: factors along x, y and z of a mesh, or of a model or URDF of one link: shapes and surfaces are scaled.
        unknown_part_of: name of another piece that this one is a part of, without the controller knowing it: only the
            simulator has it, as ground that differs from the model. Contacts with surfaces of the other piece touch
            this one as well, and measured forces include it. It has an effect with `--backend mujoco` only, since the
            integrator takes the controller's model as the world.
        copies: several of it instead of one.
        pose: pose of its base in the world.
        color: red, green, blue in 0..1; the model's if left out.
    """

    model: str | None = None
    box: tuple[Length, Length, Length] | None = None
    mesh: str | None = None
    urdf: str | None = None
    scale: Factors = (1.0, 1.0, 1.0)
    unknown_part_of: str | None = None
    copies: EnvironmentCopiesSpec | None = None
    pose: PoseSpec = PoseSpec()
    color: Color | None = None


class RandomMassSpec(StrictModel):
    """A smooth random mass profile between the limits.

    Attributes:
        seed: seed of the random numbers; `${seed}` is the run's `--seed`.
        every: time between new values [s].
    """

    seed: Seed
    every: Duration = 1.0


class LoadSpec(StrictModel):
    """A point mass on a link, variable at run time, at random or by a user.

    Attributes:
        link: full name of the link that carries it.
        xyz: position in the link's frame [m].
        mass: initial mass [kg].
        min: minimum mass [kg].
        max: maximum mass [kg].
        rate: rate limit of changes by a user [kg/s]; none if left out.
        random: random profile, until a user sets the mass; constant if left out.
    """

    link: LinkName
    xyz: Vector3 = (0.0, 0.0, 0.0)
    mass: MassOrNone
    min: MassOrNone
    max: Mass
    rate: Positive | None = None
    random: RandomMassSpec | None = None
