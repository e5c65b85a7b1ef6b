"""Schema of a scenario's `plan`: a goal, instead of states that somebody wrote."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import NonNegative, PoseSpec, Positive, Vector3


class PlanGoalSpec(StrictModel):
    """Where the character is to go: a pose of its base, or a place to stand or sit at.

    Attributes:
        pose: of its base in the world; `onto` is not given then.
        onto: full name of a planar surface to stand, or sit, on in the liked posture.
        xy: place on `onto`, in its frame [m].
        yaw: heading of the base's x axis in the world [rad].
        by: limbs that are put onto `onto`; all that are no `helpers` if left out.
        posture: liked there: a posture of the model, or angles [rad] by joint; the plan's `posture` if left out.
        contacts: limbs that touch there, others have let go; all that are no `helpers` if left out.
    """

    pose: PoseSpec | None = None
    onto: str | None = None
    xy: tuple[float, float] = (0.0, 0.0)
    yaw: float = 0.0
    by: list[str] | None = Field(None, min_length=1)
    posture: str | dict[str, float] | None = None
    contacts: list[str] | None = Field(None, min_length=1)


class PlanBoundsSpec(StrictModel):
    """The poses of the base that are tried, beside the start's and the goal's.

    Attributes:
        xyz_min: least position, world [m].
        xyz_max: largest position, world [m].
        rpy_min: least roll, pitch, yaw [rad].
        rpy_max: largest roll, pitch, yaw [rad].
    """

    xyz_min: Vector3 = (-10.0, -10.0, 0.0)
    xyz_max: Vector3 = (10.0, 10.0, 5.0)
    rpy_min: Vector3 = (0.0, 0.0, -3.2)
    rpy_max: Vector3 = (0.0, 0.0, 3.2)


class PaceSpec(StrictModel):
    """How fast a plan is gone through, and how limbs are lifted.

    Attributes:
        com: mean speed of the centre of mass towards the contacts that stay [m/s].
        limb: mean speed of a swinging limb [m/s].
        least: shortest duration of a shift or a swing [s].
        landing: from above the new place down to it [s].
        above: height over the new place, along its normal, from which the limb is set down [m].
        lift: how much the middle of a swing is raised [m].
        timeout: a state that lasts longer ends the run [s].
    """

    com: Positive = 0.15
    limb: Positive = 0.4
    least: Positive = 0.6
    landing: Positive = 0.4
    above: NonNegative = 0.03
    lift: NonNegative = 0.08
    timeout: Positive = 8.0


class FollowSpec(StrictModel):
    """Contacts that are given, phase by phase: the centre of mass goes through them by 2PAC, and limbs swing between.

    Attributes:
        file: a file beside the scenario, a path, or the name of a shipped sequence; of one subsystem of the scenario.
        curve: `2pac`: smooth, through windows of two and three phases; `polyline`: exact, with stops; `smooth`: one
            curve through all.
        cost: what transition points are chosen by: `nearest`, `tired`, `groovy`, `far_right` or `low`; where the phase
            with fewer contacts stands at ease if left out.
        budget: time for moving transition points until the whole body can follow [s].
        pace: how fast limbs are; the curve is slowed down to it.
    """

    file: str
    curve: Literal["2pac", "polyline", "smooth"] = "2pac"
    cost: str | None = None
    budget: NonNegative = 5.0
    pace: PaceSpec = PaceSpec()


class PlanSpec(StrictModel):
    """What the contact planner is asked: who goes where, with which limbs, on what.

    Attributes:
        character: name of the subsystem.
        limbs: name of the character's surface at the end of each limb, by a name for the limb.
        posture: name of the posture that it likes best.
        goal: where to; several are reached one after the other.
        faces: full names of the surfaces that may be touched; all planar ones of the environment if left out.
        friction: Coulomb coefficient of surfaces that `frictions` does not name.
        frictions: Coulomb coefficients by full name of the surface.
        slope: steepest surface that is used: angle of its normal from the vertical [rad].
        helpers: limbs that touch only where it cannot do without, as hands, and where a goal says so, as a seat.
        least: how many limbs must have a surface within reach all along the way; all that are no `helpers` if left out.
        bounds: poses of the base that are tried.
        margin: distance of the centre of mass from the edge of its support region [m].
        stride: share of its reach, from where the liked posture has it, that a limb uses.
        clearance: distance kept to what is not touched [m].
        budget: time of the processor for planning [s]; then the best partial plan is the answer.
        seed: of the search; `${seed}` is the run's `--seed`.
        pace: how fast it is gone through.
    """

    character: str
    limbs: dict[str, str] = Field(min_length=1)
    posture: str = "zero"
    goal: PlanGoalSpec | Annotated[list[PlanGoalSpec], Field(min_length=1)]
    faces: list[str] | None = None
    friction: Positive = 0.7
    frictions: dict[str, Positive] = {}
    slope: Positive = 0.9
    helpers: list[str] = []
    least: Annotated[int, Field(ge=1)] | None = None
    bounds: PlanBoundsSpec = PlanBoundsSpec()
    margin: NonNegative = 0.015
    stride: Annotated[float, Field(gt=0, le=1)] = 0.55
    clearance: NonNegative = 0.01
    budget: Positive = 10.0
    seed: int = 0
    pace: PaceSpec = PaceSpec()

    @property
    def goals(self) -> list[PlanGoalSpec]:
        """The goals, in order."""
        return self.goal if isinstance(self.goal, list) else [self.goal]

    @property
    def needed(self) -> list[str]:
        """The limbs that are no helpers."""
        return [limb for limb in self.limbs if limb not in self.helpers]
