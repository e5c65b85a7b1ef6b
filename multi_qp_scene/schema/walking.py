"""Schema of the walking generator: gait, velocity commands, weights."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import (
    Distance,
    Duration,
    Force,
    Fraction,
    Length,
    NonNegative,
    Number,
    Positive,
    Seed,
    Speed,
    Time,
)
from multi_qp_scene.schema.generator_spec import GeneratorSpec
from multi_qp_scene.schema.name_of import FrameName, JointName, NameOf, SubsystemName, check_names

if TYPE_CHECKING:
    from multi_qp_scene.checks import Key, ScenarioChecker


class UnknownGroundSpec(StrictModel):
    """Swings onto ground whose height the model does not contain, found by contact force.

    The height of a landing is expected at the mean of the last two footholds.

    Attributes:
        rise: part of a swing in which the foot only rises, so that it does not stub against a higher edge.
        descent: part of a swing, before the touchdown, in which it only descends.
        landing_speed: vertical speed at the expected touchdown, instead of the gait's, also in reactions to pushes
            [m/s].
        search_speed: vertical speed after it, until the foot has landed [m/s].
    """

    rise: Fraction = 0.3
    descent: Fraction = 0.15
    landing_speed: Speed = 0.3
    search_speed: Speed = 0.5


class GaitSpec(StrictModel):
    """Timing of a gait in which two groups of feet swing alternately.

    Attributes:
        offsets: time of lift-off of each foot, as a fraction of the period; two values half a period apart. Left out:
            0 and 0.5 for two feet, a trot for four (front left, front right, hind left, hind right).
        period: duration of a cycle, that is of two steps [s].
        duty: fraction of the period for which a foot is on the ground, at least 0.5.
        least_swing: shortest swing that the preview may choose [s].
        longest_swing: longest swing that the preview may choose [s].
        recovery_swing: duration of the swing that a disturbance triggers [s].
        lift: height of a swing above the higher of its ends [m].
        landing_speed: vertical speed of the planned landing; faster feet slip less in quick steps; at most 0.05 in
            steps that react to a push, and without measured forces [m/s].
        foot_pitch: pitch of a swing foot when it is highest, per distance that it swings ahead: heels lift first, and
            toes backwards; less where the lower end of the sole would touch the ground, none over `treads` higher than
            the foot lifts off, on unknown ground and in reactions to pushes [rad/m].
        unknown_ground: swings onto ground of unknown height; not with `treads`.
    """

    offsets: list[Fraction] | None = None
    period: Duration = 0.96
    duty: Annotated[float, Field(ge=0.5, lt=1.0)] = 0.583
    least_swing: Duration = 0.15
    longest_swing: Duration = 0.55
    recovery_swing: Duration = 0.3
    lift: Length = 0.05
    landing_speed: Speed = 0.05
    foot_pitch: NonNegative = 0.0
    unknown_ground: UnknownGroundSpec | None = None


class VelocityLimitsSpec(StrictModel):
    """Limits of the velocity command; commands beyond, or faster than the steps of the robot, are reduced to them.

    Attributes:
        ahead: largest vx [m/s].
        back: largest -vx [m/s].
        aside: largest |vy| [m/s].
        turn: largest |wz| [rad/s].
        acceleration: largest rates of change of vx and vy [m/s²] and of wz [rad/s²].
        stride: share of the largest step ahead (`reach`) that commands may use; the rest is for corrections.
        step_turn: largest turn of a step that commands may use [rad].
        timeout: a command from outside is replaced by zero after this time without another one [s].
        absurd: a command from outside with a component beyond this is refused [m/s], [rad/s].
    """

    ahead: Speed = 0.8
    back: Speed = 0.5
    aside: Speed = 0.3
    turn: Speed = 1.0
    acceleration: tuple[Positive, Positive, Positive] = (1.0, 0.8, 2.5)
    stride: Fraction = 0.8
    step_turn: Positive = 0.55
    timeout: Duration = 0.5
    absurd: Speed = 10.0


class TimedVelocitySpec(StrictModel):
    """A velocity command from a time on.

    Attributes:
        at: time since the state was entered [s].
        velocity: vx, vy [m/s] and wz [rad/s], in the heading of the robot.
    """

    at: Time = 0.0
    velocity: tuple[Number, Number, Number]


class RandomVelocitySpec(StrictModel):
    """Random velocity commands, uniform within the limits; zero at last.

    Attributes:
        seed: seed of the random numbers; `${seed}` is the run's `--seed`.
        duration: time from the start of the state until the last, zero command [s]; 0: no random commands, `velocity`
            applies.
        every: mean time between two commands; each lasts between half and one and a half times it [s].
        rest: share of the commands that are zero.
        scale: factor of the commands; those beyond the limits are reduced to them.
    """

    seed: Seed
    duration: Time = 60.0
    every: Duration = 3.0
    rest: Fraction = 0.2
    scale: Positive = 1.0


class RouteSpec(StrictModel):
    """A route through points of the ground plane; with one point, a target to walk to.

    Attributes:
        points: x, y of each in the world [m]; the robot looks along the route.
        heading: heading at the end [rad]; that of the last leg if left out.
        speed: speed on the way [m/s], within the limits of the velocity.
        tolerance: distance from the last point at which it has arrived [m].
        heading_tolerance: error of the heading at which it has arrived [rad].
    """

    points: list[tuple[Number, Number]] = Field(min_length=1)
    heading: Number | None = None
    speed: Speed = 0.5
    tolerance: Length = 0.05
    heading_tolerance: Positive = 0.1


_FOOT = NameOf("foot of this generator")
_FootName = Annotated[str, _FOOT]


class ArmSwingSpec(StrictModel):
    """Swing of a joint with a foot, for arms that swing against the legs.

    Attributes:
        foot: the contact of the foot, usually of the other side.
        gain: angle per distance of the foot ahead of the centre of mass [rad/m].
        limit: largest angle [rad].
    """

    foot: _FootName
    gain: Number
    limit: Positive = 0.5


class WalkingWeightsSpec(StrictModel):
    """Weights and gains of the tasks of the walking generator.

    Attributes:
        com: weight of the centre of mass.
        height: stiffness of its height [1/s²].
        foot: weight of a swing foot.
        foot_stiffness: its stiffness [1/s²].
        upright: weight of the orientation of each link in `upright`.
        upright_stiffness: its stiffness [1/s²].
        posture: weight of the posture.
        posture_stiffness: its stiffness [1/s²].
        legs: weight of the joints of the legs, relative to `posture`.
    """

    com: NonNegative = 2000.0
    height: NonNegative = 80.0
    foot: NonNegative = 200.0
    foot_stiffness: NonNegative = 900.0
    upright: NonNegative = 25.0
    upright_stiffness: NonNegative = 80.0
    posture: NonNegative = 1.0
    posture_stiffness: NonNegative = 40.0
    legs: NonNegative = 0.02


class WalkingSpec(GeneratorSpec):
    """Walking by a velocity command: footsteps and their times from a preview of the divergent component of motion.

    Attributes:
        subsystem: the robot.
        feet: contacts of the feet with the ground.
        treads: further contacts of each foot in `feet`, with level surfaces that it may step on, in the same order of
            surfaces for all feet; without them, the ground is taken as level at the height of the present support.
        rise: largest height of a step relative to the supporting foot [m].
        upright: links whose orientation is kept, in the heading of the robot.
        height: height of the centre of mass above the feet, standing and in short steps [m]; 0.9 of the initial one if
            left out. In longer ones it is lower, as it is on legs that stay as long.
        reach: largest step ahead or back, and largest distance of the feet aside [m].
        width: nominal distance of the feet aside [m]; the initial one if left out.
        least_width: least distance of the feet aside, for legs that do not cross [m]; 3 cm below `width` if left out.
        margin: distance of the zero-moment point from the edges of a sole [m].
        swing_speed: largest mean speed of a swing foot relative to the commanded velocity, in each direction [m/s].
        touch_force: normal force from which a swing foot has landed [N]; if left out, 6.5 % of what it bears in the
            stance: of the weight for two feet, of half of it for four.
        gait: timing of the gait.
        velocity: velocity commands over time; none if it is commanded from outside.
        random: random velocity commands, instead of `velocity`.
        route: a path to follow, or a target to walk to, instead of `velocity`.
        limits: limits of the velocity command.
        arms: joints that swing with the feet, by joint, full names.
        excluded_joints: names or patterns with `*` of joints that its posture leaves to other generators or tasks.
        weights: weights and gains of its tasks.
    """

    type: Literal["walking"]
    subsystem: SubsystemName
    feet: list[str] = Field(min_length=2)
    treads: dict[_FootName, list[str]] = {}
    rise: Length = 0.2
    upright: list[FrameName] = []
    height: Length | None = None
    reach: tuple[Length, Length] = (0.5, 0.45)
    width: Distance | None = None
    least_width: Distance | None = None
    margin: Distance = 0.015
    swing_speed: Speed = 2.2
    touch_force: Force | None = None
    gait: GaitSpec = GaitSpec()
    velocity: list[TimedVelocitySpec] = []
    random: RandomVelocitySpec | None = None
    route: RouteSpec | None = None
    limits: VelocityLimitsSpec = VelocityLimitsSpec()
    arms: dict[JointName, ArmSwingSpec] = {}
    excluded_joints: list[str] = []
    weights: WalkingWeightsSpec = WalkingWeightsSpec()

    @property
    def owned_contacts(self) -> tuple[str, ...]:
        """The contacts of the feet."""
        return tuple(contact for foot in self.feet for contact in (foot, *self.treads.get(foot, [])))

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check the names of subsystem, links, joints and feet."""
        feet = {_FOOT.kind: self.feet}
        check_names(self, scenario, key, feet)
        if self.random is not None and self.random.seed < 0:
            scenario.report_error((*key, "random", "seed"), f"a seed is 0 or above, got {self.random.seed}")
        for joint, swing in self.arms.items():
            check_names(swing, scenario, (*key, "arms", joint), feet)
            excluded = [one for one in self.excluded_joints if fnmatch(joint.removeprefix(f"{self.subsystem}/"), one)]
            if excluded:
                scenario.report_error((*key, "arms", joint), f"this joint is in `excluded_joints`, by '{excluded[0]}'")
        if self.subsystem in scenario.names.postures:
            own = scenario.joints_of(self.subsystem)
            scenario.check_patterns((*key, "excluded_joints"), "joint", self.excluded_joints, own)

    @model_validator(mode="after")
    def _consistent(self) -> WalkingSpec:
        gait, offsets = self.gait, self.gait.offsets
        if gait.unknown_ground is not None and self.treads:
            raise ValueError("`unknown_ground` of the gait cannot be combined with `treads`")
        if self.route is not None and (self.velocity or self.random is not None):
            raise ValueError("`route` cannot be combined with `velocity` or `random`")
        if offsets is None and len(self.feet) not in (2, 4):
            raise ValueError(f"the gait of {len(self.feet)} feet needs `offsets`")
        if offsets is not None and len(offsets) != len(self.feet):
            raise ValueError(
                f"`offsets` of the gait: expected {len(self.feet)} numbers, one a foot, got {len(offsets)}"
            )
        phases = sorted({round(offset % 1.0, 6) for offset in self.offsets})
        if len(phases) != 2 or abs(phases[1] - phases[0] - 0.5) > 1e-6:
            raise ValueError("`offsets` of the gait: expected two values half a period apart, such as 0 and 0.5")
        swing = (1.0 - gait.duty) * gait.period
        if not gait.least_swing <= swing <= gait.longest_swing:
            raise ValueError(
                f"the swing of the gait, (1 - duty) period = {swing:g} s, must be between `least_swing` "
                f"({gait.least_swing:g} s) and `longest_swing` ({gait.longest_swing:g} s)"
            )
        return self

    @property
    def offsets(self) -> list[float]:
        """Time of lift-off of each foot, as a fraction of the period."""
        if self.gait.offsets is not None:
            return self.gait.offsets
        return [0.0, 0.5] if len(self.feet) == 2 else [0.0, 0.5, 0.5, 0.0]
