"""Schema of a scenario's `plan` and `contact_sequence`: goals or contacts from which states are generated."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import (
    Angle,
    Distance,
    Duration,
    Friction,
    PoseSpec,
    Rpy,
    Seed,
    Speed,
    Time,
    Tolerance,
    Vector2,
    Vector3,
)
from multi_qp_scene.schema.name_of import NameOf

_SurfaceName = Annotated[str, NameOf("surface")]
_LimbName = Annotated[str, NameOf("limb")]


class PlanGoalSpec(StrictModel):
    """Goal of the character: a pose of its base, or a place to stand or sit at.

    Attributes:
        pose: pose of its base in the world, instead of `onto`.
        onto: full name of a planar surface to stand, or sit, on in the nominal posture.
        xy: place on `onto`, in its frame [m].
        yaw: heading of the base's x axis in the world [rad].
        by: limbs in contact with `onto`; all that are not `helpers` if left out.
        posture: nominal posture at the goal: a posture of the model, or angles [rad] by joint; the plan's `posture` if
            left out.
        contacts: limbs in contact at the goal; all that are not `helpers` if left out.
    """

    pose: PoseSpec | None = None
    onto: _SurfaceName | None = None
    xy: Vector2 = (0.0, 0.0)
    yaw: Angle = 0.0
    by: list[_LimbName] | None = Field(None, min_length=1)
    posture: str | dict[str, Angle] | None = None
    contacts: list[_LimbName] | None = Field(None, min_length=1)


class PlanBoundsSpec(StrictModel):
    """Bounds of the sampled base poses, in addition to the poses of start and goal.

    Attributes:
        xyz_min: least position, world [m].
        xyz_max: largest position, world [m].
        rpy_min: least roll, pitch, yaw [rad].
        rpy_max: largest roll, pitch, yaw [rad].
    """

    xyz_min: Vector3 = (-10.0, -10.0, 0.0)
    xyz_max: Vector3 = (10.0, 10.0, 5.0)
    rpy_min: Rpy = (0.0, 0.0, -3.2)
    rpy_max: Rpy = (0.0, 0.0, 3.2)


class PaceSpec(StrictModel):
    """Timing of a plan, and heights of swing trajectories.

    Attributes:
        com: mean speed of the centre of mass towards the contacts that stay [m/s].
        limb: mean speed of a swinging limb [m/s].
        least: minimum duration of a shift or a swing [s].
        landing: duration of the landing, from above the new contact down to it [s].
        above: height of the landing above the new contact, along its normal [m].
        lift: additional height of the middle of a swing [m].
        timeout: time that a state may last beyond its references; a longer one ends the run [s].
    """

    com: Speed = 0.15
    limb: Speed = 0.5
    least: Duration = 0.3
    landing: Duration = 0.3
    above: Distance = 0.03
    lift: Distance = 0.08
    timeout: Duration = 8.0


class FollowSpec(StrictModel):
    """A given contact sequence, followed with a centre-of-mass trajectory and swing trajectories of the limbs.

    Attributes:
        file: a file beside the scenario, a path, or the name of a shipped sequence; of one subsystem of the scenario.
        curve: `dynamic`: the fastest that gives the limbs their time, else `polyline`; `polyline`: exact, with stops;
            `2pac`: smooth, over windows of two and three phases; `smooth`: one curve over all phases.
        cost: criterion of the transition points: `nearest`, `short_and_low`, `alternating_sides`, `far_right` or `low`;
            the centre of the equilibrium region of the phase with fewer contacts if left out.
        budget: time for adapting transition points to the kinematic limits of the whole body [s].
        pace: speed of limbs; the curve is slowed down accordingly.
    """

    file: str
    curve: Literal["dynamic", "polyline", "2pac", "smooth"] = "dynamic"
    cost: str | None = None
    budget: Time = 5.0
    pace: PaceSpec = PaceSpec()


class PlanSpec(StrictModel):
    """A problem for the contact planner: character, limbs, goal and contact surfaces.

    Attributes:
        character: name of the subsystem.
        limbs: name of the character's surface at the end of each limb, by a name for the limb.
        posture: name of the nominal posture.
        goal: one goal, or a list of goals in their order.
        faces: full names of the surfaces available for contacts; all planar ones of the environment if left out.
        friction: Coulomb coefficient of surfaces that `frictions` does not name.
        frictions: Coulomb coefficients by full name of the surface.
        slope: maximum inclination of surfaces: angle of the normal from the vertical [rad].
        helpers: limbs that make contact only where it is necessary, such as hands, or where a goal requires it, such as
            a seat.
        least: minimum number of limbs with a surface within reach along the whole path; all that are not `helpers` if
            left out.
        bounds: bounds of the sampled base poses; a goal outside is refused.
        margin: distance of the centre of mass from the edge of its support region [m].
        stride: fraction of a limb's reach, from its place in the nominal posture, that is used.
        clearance: minimum distance from obstacles [m].
        budget: CPU time for planning [s]; then the best partial plan is returned.
        seed: seed of the search; `${seed}` is the run's `--seed`.
        pace: timing of the plan.
    """

    character: str
    limbs: dict[str, str] = Field(min_length=1)
    posture: str = "zero"
    goal: PlanGoalSpec | Annotated[list[PlanGoalSpec], Field(min_length=1)]
    faces: list[_SurfaceName] | None = None
    friction: Friction = 0.7
    frictions: dict[_SurfaceName, Friction] = {}
    slope: Tolerance = 0.9
    helpers: list[_LimbName] = []
    least: Annotated[int, Field(ge=1)] | None = None
    bounds: PlanBoundsSpec = PlanBoundsSpec()
    margin: Distance = 0.015
    stride: Annotated[float, Field(gt=0, le=1)] = 0.55
    clearance: Distance = 0.01
    budget: Duration = 10.0
    seed: Seed = 0
    pace: PaceSpec = PaceSpec()

    @property
    def goals(self) -> list[PlanGoalSpec]:
        """The goals, in order."""
        return self.goal if isinstance(self.goal, list) else [self.goal]

    @property
    def needed(self) -> list[str]:
        """The limbs that are not helpers."""
        return [limb for limb in self.limbs if limb not in self.helpers]
