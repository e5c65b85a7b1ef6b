"""Schema of the motion generators of a state, and the registry of their types."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import (
    Angle,
    Distance,
    Duration,
    Force,
    Fraction,
    Length,
    Mass,
    NonNegative,
    Number,
    Positive,
    Seed,
    Speed,
    Spread,
    Switch,
    Time,
    Vector3,
)
from multi_qp_scene.schema.settings import Setting
from multi_qp_scene.schema.tagged_union import TaggedUnion
from multi_qp_scene.schema.tasks import check_motion

if TYPE_CHECKING:
    from multi_qp_scene.checks import Key, ScenarioChecker


class GeneratorSpec(StrictModel):
    """Base class of the specifications of motion generators.

    A subclass has a key `type: Literal[...]`. It names what it owns, and checks the names that it refers to.
    """

    @property
    def owned_contacts(self) -> tuple[str, ...]:
        """Names of the contacts that the generator makes and breaks; they are no contacts of the state."""
        return ()

    @property
    def settings(self) -> dict[str, Setting]:
        """Numbers that a user may change while the generator runs, by name."""
        return {}

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check the names in this specification, and report unknown ones at places below its own."""


class OscillationSpec(GeneratorSpec):
    """Sinusoidal motion of joints around their angles at the start, for example of arms beside a walking generator.

    Attributes:
        type: selects this type of generator.
        joints: amplitude by joint, full names [rad] or [m].
        period: duration of a cycle [s].
        cycles: number of cycles after which it is done; the motion goes on until the state ends.
        weight: w in (32).
        stiffness: k in (33) [1/s²].
    """

    type: Literal["oscillation"]
    joints: dict[str, Number] = Field(min_length=1)
    period: Duration = 2.0
    cycles: Positive = 1.0
    weight: NonNegative = 10.0
    stiffness: NonNegative = 100.0

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check the names of the joints."""
        for joint in self.joints:
            scenario.known((*key, "joints", joint), "joint", joint, scenario.names.joints)


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
    unknown_ground: UnknownGroundSpec | None = None


class VelocityLimitsSpec(StrictModel):
    """Limits of the velocity command; commands beyond are reduced to them.

    Attributes:
        ahead: largest vx [m/s].
        back: largest -vx [m/s].
        aside: largest |vy| [m/s].
        turn: largest |wz| [rad/s].
        acceleration: largest rates of change of vx and vy [m/s²] and of wz [rad/s²].
        timeout: a command from outside is replaced by zero after this time without another one [s].
        absurd: a command from outside with a component beyond this is refused [m/s], [rad/s].
    """

    ahead: Speed = 0.8
    back: Speed = 0.5
    aside: Speed = 0.3
    turn: Speed = 1.0
    acceleration: tuple[Positive, Positive, Positive] = (1.0, 0.8, 2.5)
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


class ArmSwingSpec(StrictModel):
    """Swing of a joint with a foot, for arms that swing against the legs.

    Attributes:
        foot: the contact of the foot, usually of the other side.
        gain: angle per distance of the foot ahead of the centre of mass [rad/m].
        limit: largest angle [rad].
    """

    foot: str
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
        type: selects this type of generator.
        subsystem: the robot.
        feet: contacts of the feet with the ground.
        treads: further contacts of each foot in `feet`, with level surfaces that it may step on, in the same order of
            surfaces for all feet; without them, the ground is taken as level at the height of the present support.
        rise: largest height of a step relative to the supporting foot [m].
        upright: links whose orientation is kept, in the heading of the robot.
        height: height of the centre of mass above the feet [m]; 0.9 of the initial one if left out.
        reach: largest step ahead or back, and largest distance of the feet aside [m].
        width: nominal distance of the feet aside [m]; the initial one if left out.
        least_width: least distance of the feet aside, for legs that do not cross [m]; 3 cm below `width` if left out.
        margin: distance of the zero-moment point from the edges of a sole [m].
        swing_speed: largest mean speed of a swing foot relative to the commanded velocity, in each direction [m/s].
        touch_force: normal force from which a swing foot has landed [N].
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
    subsystem: str
    feet: list[str] = Field(min_length=2)
    treads: dict[str, list[str]] = {}
    rise: Length = 0.2
    upright: list[str] = []
    height: Length | None = None
    reach: tuple[Length, Length] = (0.5, 0.45)
    width: Distance | None = None
    least_width: Distance | None = None
    margin: Distance = 0.015
    swing_speed: Speed = 2.2
    touch_force: Force = 25.0
    gait: GaitSpec = GaitSpec()
    velocity: list[TimedVelocitySpec] = []
    random: RandomVelocitySpec | None = None
    route: RouteSpec | None = None
    limits: VelocityLimitsSpec = VelocityLimitsSpec()
    arms: dict[str, ArmSwingSpec] = {}
    excluded_joints: list[str] = []
    weights: WalkingWeightsSpec = WalkingWeightsSpec()

    @property
    def owned_contacts(self) -> tuple[str, ...]:
        """The contacts of the feet."""
        return tuple(contact for foot in self.feet for contact in (foot, *self.treads.get(foot, [])))

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check the names of subsystem, links, joints and feet."""
        names = scenario.names
        scenario.known((*key, "subsystem"), "subsystem", self.subsystem, names.moving)
        for k, link in enumerate(self.upright):
            scenario.known((*key, "upright", k), "link or surface", link, names.frames)
        for foot in self.treads:
            scenario.known((*key, "treads", foot), "foot of this generator", foot, self.feet)
        if self.random is not None and self.random.seed < 0:
            scenario.report_error((*key, "random", "seed"), f"a seed is 0 or above, got {self.random.seed}")
        for joint, swing in self.arms.items():
            scenario.known((*key, "arms", joint), "joint", joint, names.joints)
            scenario.known((*key, "arms", joint, "foot"), "foot of this generator", swing.foot, self.feet)
            excluded = [one for one in self.excluded_joints if fnmatch(joint.removeprefix(f"{self.subsystem}/"), one)]
            if excluded:
                scenario.report_error((*key, "arms", joint), f"this joint is in `excluded_joints`, by '{excluded[0]}'")
        if self.subsystem in names.postures:
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


class MotionPlaybackSpec(GeneratorSpec):
    """Plays a synthesised motion: its contacts, centre of mass, trunk, swinging limbs and postures over time.

    Attributes:
        type: selects this type of generator.
        subsystem: the character.
        file: the motion, as `multi-qp synthesize --output` writes it; a path, or one relative to the scenario.
        contacts: contact by effector and touched surface, "<effector> <surface>" as in the motion's file.
        com: weight of the centre of mass.
        trunk: weight of the orientation of the trunk.
        limb: weight of limbs that make contact again later.
        posture: weight of the joint angles.
    """

    type: Literal["motion_playback"]
    subsystem: str
    file: str
    contacts: dict[str, str] = Field(min_length=1)
    com: NonNegative = 1000.0
    trunk: NonNegative = 100.0
    limb: NonNegative = 200.0
    posture: NonNegative = 3.0

    @property
    def owned_contacts(self) -> tuple[str, ...]:
        """All contacts of the motion."""
        return tuple(self.contacts.values())

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check the name of the subsystem."""
        scenario.known((*key, "subsystem"), "subsystem", self.subsystem, scenario.names.moving)


class CycleSpec(StrictModel):
    """Part of a motion that is repeated, each time from where the last one has ended.

    Attributes:
        start: begin of the part [s].
        end: its end, with the contacts and the pose of its begin [s].
        count: number of times that it occurs.
    """

    start: Time
    end: Time
    count: int = Field(ge=1, le=1000)


class TimedSpeedSpec(StrictModel):
    """Speed of a motion from a time on.

    Attributes:
        at: time since the state was entered [s].
        factor: relative to that of the motion.
    """

    at: Time = 0.0
    factor: Annotated[float, Field(ge=0.5, le=2.0)]


class SlowDownSpec(StrictModel):
    """Slower motion after a disturbance.

    Attributes:
        above: sudden change of the velocity of the centre of mass from which the motion is slowed down [m/s].
        factor: speed relative to that before it.
        duration: how long [s].
    """

    above: Speed = 0.15
    factor: Annotated[float, Field(ge=0.5, le=1.0)] = 0.75
    duration: Duration = 1.0


class ModalSpec(GeneratorSpec):
    """Follows a reference motion by a plan of the contact forces of a window.

    Attributes:
        type: selects this type of generator.
        subsystem: the robot.
        motion: file of a reference motion, as `multi-qp motion import` writes it; a path, or one relative to the
            scenario.
        contacts: contact by surface of the motion, without the robot's name.
        cycle: part of the motion that is repeated.
        speed: speed of the motion over time.
        stride: by how much steps are longer than those of the motion [m]; negative for shorter ones.
        slope: slope of the ground in the direction in which the motion, recorded on level ground, travels; positive
            upwards, through the origin of the motion [rad].
        slow_down: slower motion after a disturbance.
        landing: when surfaces land: `touch`, at a contact force or else a gap; `motion`, when the motion plants them.
        touch_force: contact force from which a surface touches [N].
        window: number of steps of the plan.
        step: duration of a step [s].
        position: W₁ of translations, on rigid modes of mass 1.
        rotation: W₁ of rotations.
        rate: W₂ of the velocities.
        force: W₃ of the impulses of the contact forces.
        feed_forward: whether W₃ weights the deviation from the weight of the body, instead of the forces.
        momentum: weight of the task on the rate of the momentum.
        posture: weight of the joint angles.
        stiffness: stiffness of the joint angles [1/s²].
        swing: weight of the poses of surfaces in the air.
        swing_stiffness: their stiffness [1/s²].
    """

    type: Literal["modal"]
    subsystem: str
    motion: str
    contacts: dict[str, str] = Field(min_length=1)
    cycle: CycleSpec | None = None
    speed: list[TimedSpeedSpec] = []
    stride: Annotated[float, Field(ge=-0.3, le=0.3)] = 0.0
    slope: Annotated[float, Field(ge=-0.5, le=0.5)] = 0.0
    slow_down: SlowDownSpec | None = None
    landing: Literal["touch", "motion"] = "touch"
    touch_force: Force = 25.0
    window: int = Field(default=36, ge=1, le=120)
    step: Duration = 1.0 / 120.0
    position: Positive = 0.1
    rotation: Positive = 0.5
    rate: Positive = 1.0
    force: Positive = 1e-4
    feed_forward: bool = True
    momentum: NonNegative = 100.0
    posture: NonNegative = 5.0
    stiffness: NonNegative = 100.0
    swing: NonNegative = 200.0
    swing_stiffness: NonNegative = 900.0

    @property
    def settings(self) -> dict[str, Setting]:
        """Speed of the motion, and length of its steps."""
        speed = self.speed[0].factor if self.speed else 1.0
        return {
            "speed": Setting(speed, 0.5, 2.0, "speed of the motion, instead of that of the scenario"),
            "stride": Setting(self.stride, -0.3, 0.3, "by how much steps are longer than those of the motion", "m"),
        }

    @property
    def owned_contacts(self) -> tuple[str, ...]:
        """The contacts of the motion."""
        return tuple(self.contacts.values())

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check the names of subsystem and surfaces, and the motion."""
        scenario.known((*key, "subsystem"), "subsystem", self.subsystem, scenario.names.moving)
        own = scenario.surfaces_of(self.subsystem)
        for surface in self.contacts:
            scenario.known((*key, "contacts", surface), "surface", surface, own)
        check_motion(scenario, (*key, "motion"), self.motion, self.subsystem)


class TimedTensionSpec(StrictModel):
    """A tension from a time on.

    Attributes:
        at: time since the state was entered [s].
        tension: 0 relaxed, 1 tense.
    """

    at: Time = 0.0
    tension: Fraction


class AntagonisticSpec(GeneratorSpec):
    """Holds limbs at a posture by antagonistic pairs of springs, which yield by their tension.

    Attributes:
        type: selects this type of generator.
        subsystem: the character.
        joints: names or patterns with `*` of joints with motors, which carry no contacts.
        posture: a posture of its model, `initial` (if left out), or angles [rad] by joint, with the initial ones for
            other joints.
        reference: posture with the limbs spread, from which joints of several hinges measure their rotation, a
            posture of its model or angles [rad] by joint; they must not turn their limb by 180 degrees from it.
        duration: duration of the path to the posture [s].
        tension: tension over time.
        tension_rate: largest rate of change of the tension [1/s].
        stiffness: stiffness without and with full tension, relative to the effort limit of each joint [1/rad].
        damping_ratio: damping relative to the critical one.
        weight: w in (32) of the torques relative to the effort limits; large, so that they are those of the springs.
    """

    type: Literal["antagonistic"]
    subsystem: str
    joints: list[str] = Field(min_length=1)
    posture: str | dict[str, Angle] | None = None
    reference: str | dict[str, Angle] | None = None
    duration: Duration = 1.0
    tension: list[TimedTensionSpec] = Field(default=[TimedTensionSpec(tension=0.5)], min_length=1)
    tension_rate: Positive = 5.0
    stiffness: tuple[Positive, Positive] = (0.3, 6.0)
    damping_ratio: Positive = 0.7
    weight: NonNegative = 1e5

    @property
    def settings(self) -> dict[str, Setting]:
        """Tension."""
        return {"tension": Setting(self.tension[0].tension, 0.0, 1.0, "tension of the limbs, instead of the schedule")}

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check the names of subsystem, joints and postures."""
        names = scenario.names
        scenario.known((*key, "subsystem"), "subsystem", self.subsystem, names.moving)
        if self.subsystem not in names.postures:
            return
        scenario.check_patterns((*key, "joints"), "joint", self.joints, scenario.joints_of(self.subsystem))
        scenario.check_posture((*key, "posture"), self.subsystem, self.posture)
        scenario.check_posture((*key, "reference"), self.subsystem, self.reference)

    @model_validator(mode="after")
    def _consistent(self) -> AntagonisticSpec:
        if self.stiffness[1] < self.stiffness[0]:
            raise ValueError(f"`stiffness`: expected the relaxed one first, got {list(self.stiffness)}")
        return self


class HandSpec(StrictModel):
    """A hand that meets obstacles, with the safety region around its shoulder.

    Attributes:
        palm: surface of the palm, without the name of the subsystem.
        shoulder: link at whose frame the safety region is centred.
    """

    palm: str
    shoulder: str


class SightSpec(StrictModel):
    """The visible volume: a pyramid from a link along its x axis.

    Attributes:
        link: the link, for example the head.
        horizontal: half of the angle between its left and right sides [rad].
        vertical: half of the angle between its upper and lower sides [rad].
        range: its length [m].
    """

    link: str
    horizontal: Annotated[float, Field(gt=0.0, lt=1.57)] = 1.2
    vertical: Annotated[float, Field(gt=0.0, lt=1.57)] = 1.0
    range: Length = 3.0


class ExpectationSpec(StrictModel):
    """What is expected of an obstacle, true or not.

    Attributes:
        mass: its mass [kg]; that of its model if left out.
        velocity: its speed, relative to the true one.
        falls: whether it falls freely as soon as it moves.
        sticks: whether a hand keeps its place on it, until that is out of reach, instead of sliding along it.
        reaction: bounds of the reaction time [s]; those of the safety region if left out.
        tension: tension for a mass of zero, and from `heaviest` on.
    """

    mass: Mass | None = None
    velocity: NonNegative = 1.0
    falls: Switch = False
    sticks: Switch = False
    reaction: tuple[Duration, Duration] | None = None
    tension: tuple[Fraction, Fraction] = (0.0, 1.0)

    @model_validator(mode="after")
    def _ordered(self) -> ExpectationSpec:
        _check_ordered(self.reaction)
        if self.tension[1] < self.tension[0]:
            raise ValueError(f"`tension`: expected that for light obstacles first, got {list(self.tension)}")
        return self


class SafetyRegionSpec(StrictModel):
    """A ball around a part of the body that all hands keep free, besides those around the shoulders.

    Attributes:
        link: link with which it moves.
        xyz: its centre in the frame of the link [m].
        radius: its radius [m].
        hold: distance of a palm from the centre at which an obstacle is stopped [m].
        reach: largest distance of a palm from the centre [m].
        reaction: bounds of the reaction time [s]; those of the generator if left out.
        tension: least tension of a hand that meets an obstacle there.
        approach: posture from which the inverse kinematics of a hand starts; that of the generator if left out.
    """

    link: str
    xyz: Vector3 = (0.0, 0.0, 0.0)
    radius: Length = 0.4
    hold: Length = 0.2
    reach: Length = 0.3
    reaction: tuple[Duration, Duration] | None = None
    tension: Fraction = 0.0
    approach: str | dict[str, Angle] | None = None

    @model_validator(mode="after")
    def _ordered(self) -> SafetyRegionSpec:
        _check_ordered(self.reaction, self.hold, self.reach)
        return self


def _check_ordered(reaction: tuple[float, float] | None, hold: float = 0.0, reach: float = 0.0) -> None:
    if reaction is not None and reaction[1] < reaction[0]:
        raise ValueError(f"`reaction`: expected the shortest time first, got {list(reaction)}")
    if reach < hold:
        raise ValueError(f"`reach` must be at least `hold`, got {reach:g} and {hold:g}")


class LegsSpec(StrictModel):
    """What the legs do about obstacles, by the command of a walking generator of the same state.

    Attributes:
        gait: the walking generator.
        heavy: expected mass of an obstacle from which the robot braces while hands meet it [kg].
        speed: factor of the walking speed meanwhile; 0 stops.
        lower: by which the centre of mass is lowered meanwhile [m].
        lean: by which the links that walking keeps upright lean ahead meanwhile [rad].
        push: external force on the whole body from which the robot steps where it pushes [N].
        step: speed of these steps [m/s].
        duration: duration of these steps after the last such force [s].
    """

    gait: str
    heavy: Mass = 8.0
    speed: Fraction = 0.3
    lower: Distance = 0.03
    lean: Spread = 0.0
    push: Force = 60.0
    step: Speed = 0.15
    duration: Duration = 0.8


class HitsSpec(StrictModel):
    """What happens after an unexpected hit, found by the torques that the model does not have.

    Attributes:
        parts: joints of parts of trunk and head, each by names or patterns with `*`, which are given to antagonistic
            pairs for a while when they are hit; other tasks hold them otherwise.
        effort: torque of a joint, relative to its effort limit, that is a hit.
        tension: tension of the limb after a hit; lower than before it relaxes, higher it tenses.
        duration: time until the limb begins to return [s].
    """

    parts: dict[str, list[str]] = {}
    effort: Positive = 0.6
    tension: Fraction = 0.05
    duration: Duration = 0.4


class AnticipationSpec(AntagonisticSpec):
    """Antagonistic limbs whose hands meet obstacles that are seen, as tense as these are expected to be heavy.

    Attributes:
        type: selects this type of generator.
        hands: the hands by name.
        obstacles: names or patterns with `*` of subsystems that are not controlled.
        expected: what is expected of an obstacle, by name or pattern; the last one that matches holds.
        sight: the visible volume.
        regions: further safety regions by name, for example of the head.
        radius: radius of the safety regions of the shoulders [m], [Alvarado2022] section 5.1.
        hold: distance of the palm from the shoulder at which an obstacle is stopped [m].
        reach: largest distance of the palm from the shoulder [m].
        look_ahead: time within which an approaching obstacle must enter a safety region [s].
        reaction: bounds of the reaction time [s], (5).
        safety: α in (5).
        heaviest: expected mass that has full tension [kg], (6).
        both_hands: expected mass from which both hands are used [kg].
        adapt: whether the tension follows the mass that the hands feel, instead of the expected one, once they push.
        tie: difference of the distances to the hands below which both are used [m].
        stray: largest distance of a palm from its place in the posture [m]; any if left out.
        crowd: number of obstacles that a hand would meet from which it keeps the posture instead; any if left out.
        approach: posture from which the inverse kinematics of a hand starts; `posture` if left out.
        legs: what the legs do; nothing if left out.
        hits: what happens after unexpected hits; nothing if left out.
    """

    type: Literal["anticipation"]  # type: ignore[assignment]
    hands: dict[str, HandSpec] = Field(min_length=1)
    obstacles: list[str] = Field(min_length=1)
    expected: dict[str, ExpectationSpec] = {}
    sight: SightSpec
    regions: dict[str, SafetyRegionSpec] = {}
    radius: Length = 0.5
    hold: Length = 0.35
    reach: Length = 0.5
    look_ahead: Duration = 1.0
    reaction: tuple[Duration, Duration] = (0.3, 2.0)
    safety: Fraction = 0.8
    heaviest: Mass = 15.0
    both_hands: Mass = 4.0
    adapt: Switch = True
    tie: Distance = 0.1
    stray: Length | None = None
    crowd: Annotated[int, Field(ge=1)] | None = None
    approach: str | dict[str, Angle] | None = None
    legs: LegsSpec | None = None
    hits: HitsSpec | None = None

    @property
    def settings(self) -> dict[str, Setting]:
        """Tension, reaction time, safety regions, and what is expected of obstacles."""
        shortest, radius = self.reaction[0], self.radius
        return super().settings | {
            "reaction": Setting(shortest, min(0.1, shortest), max(2.0, shortest), "shortest reaction time", "s"),
            "radius": Setting(radius, min(0.2, radius), max(1.0, radius), "radius of the safety regions", "m"),
            "expected_mass": Setting(1.0, 0.01, 10.0, "factor of the expected masses"),
            "expected_speed": Setting(1.0, 0.1, 10.0, "factor of the expected speeds"),
        }

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check the names of subsystem, joints, postures, surfaces, links and obstacles."""
        super().check(scenario, key)
        names = scenario.names
        if self.subsystem not in names.postures:
            return
        scenario.check_posture((*key, "approach"), self.subsystem, self.approach)
        own = scenario.surfaces_of(self.subsystem)
        links = {frame.removeprefix(f"{self.subsystem}/") for frame in names.frames}
        for name, hand in self.hands.items():
            scenario.known((*key, "hands", name, "palm"), "surface", hand.palm, own)
            scenario.known((*key, "hands", name, "shoulder"), "link", hand.shoulder, links)
        for name, region in self.regions.items():
            scenario.known((*key, "regions", name, "link"), "link", region.link, links)
            scenario.check_posture((*key, "regions", name, "approach"), self.subsystem, region.approach)
        scenario.known((*key, "sight", "link"), "link", self.sight.link, links)
        for part, joints in self.hits.parts.items() if self.hits is not None else ():
            at = (*key, "hits", "parts", part)
            scenario.check_patterns(at, "joint", joints, scenario.joints_of(self.subsystem))
        if self.legs is not None:
            beside = scenario.spec.states[str(key[1])].generators
            gaits = {name for name, one in beside.items() if isinstance(one, WalkingSpec)}
            scenario.known((*key, "legs", "gait"), "walking generator of this state", self.legs.gait, gaits)
        others = {name for name, one in scenario.spec.subsystems.items() if not one.controlled}
        scenario.check_patterns((*key, "obstacles"), "subsystem with `controlled: false`", self.obstacles, others)
        for pattern in self.expected:
            scenario.check_patterns((*key, "expected", pattern), "subsystem", [pattern], others)

    @model_validator(mode="after")
    def _ordered(self) -> AnticipationSpec:
        _check_ordered(self.reaction, self.hold, self.reach)
        return self


#: The types of generators; `multi_qp_controller.motion_generator.register_generator` adds one.
GENERATOR_SPECS = TaggedUnion(
    OscillationSpec, WalkingSpec, MotionPlaybackSpec, ModalSpec, AntagonisticSpec, AnticipationSpec
)

AnyGeneratorSpec = Annotated[GeneratorSpec, GENERATOR_SPECS]
