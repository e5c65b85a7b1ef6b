"""Schema of the generators of the upper body: limbs on antagonistic springs, and hands that meet obstacles."""

from __future__ import annotations

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
    Positive,
    Speed,
    Spread,
    Switch,
    Time,
    Vector3,
)
from multi_qp_scene.schema.generator_spec import GeneratorSpec
from multi_qp_scene.schema.name_of import NameOf, SubsystemName, check_names
from multi_qp_scene.schema.settings import Setting
from multi_qp_scene.schema.walking import WalkingSpec

if TYPE_CHECKING:
    from multi_qp_scene.checks import Key, ScenarioChecker


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
    subsystem: SubsystemName
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
        super().check(scenario, key)
        if self.subsystem not in scenario.names.postures:
            return
        scenario.check_patterns((*key, "joints"), "joint", self.joints, scenario.joints_of(self.subsystem))
        scenario.check_posture((*key, "posture"), self.subsystem, self.posture)
        scenario.check_posture((*key, "reference"), self.subsystem, self.reference)

    @model_validator(mode="after")
    def _consistent(self) -> AntagonisticSpec:
        if self.stiffness[1] < self.stiffness[0]:
            raise ValueError(f"`stiffness`: expected the relaxed one first, got {list(self.stiffness)}")
        return self


#: Without the name of the subsystem.
_LinkName = Annotated[str, NameOf("link")]


class HandSpec(StrictModel):
    """A hand that meets obstacles, with the safety region around its shoulder.

    Attributes:
        palm: surface of the palm, without the name of the subsystem.
        shoulder: link at whose frame the safety region is centred.
    """

    palm: Annotated[str, NameOf("surface")]
    shoulder: _LinkName


class SightSpec(StrictModel):
    """The visible volume: a pyramid from a link along its x axis.

    Attributes:
        link: the link, for example the head.
        horizontal: half of the angle between its left and right sides [rad].
        vertical: half of the angle between its upper and lower sides [rad].
        range: its length [m].
    """

    link: _LinkName
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
    """A safety region besides those of the shoulders: the hand nearer to an obstacle that enters it meets it.

    Attributes:
        link: link with which it moves.
        xyz: its centre in the frame of the link [m].
        radius: its radius [m].
        hold: distance of a palm from the centre at which an obstacle is stopped [m].
        reach: largest distance of a palm from the centre [m].
        reaction: bounds of the reaction time [s]; those of the generator if left out.
        tension: least tension of a hand that meets an obstacle there.
        approach: posture from which the inverse kinematics of a hand starts; that of the generator if left out.
        obstacles: names or patterns with `*` of those obstacles that are kept out of it.
    """

    link: _LinkName
    xyz: Vector3 = (0.0, 0.0, 0.0)
    radius: Length = 0.4
    hold: Length = 0.2
    reach: Length = 0.3
    reaction: tuple[Duration, Duration] | None = None
    tension: Fraction = 0.0
    approach: str | dict[str, Angle] | None = None
    obstacles: Annotated[list[str], Field(min_length=1)] = ["*"]

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

    gait: Annotated[str, NameOf("walking generator of this state")]
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
        stray: largest distance of a palm from its place in the posture [m], but for `regions`; any if left out.
        crowd: number of obstacles that a hand would meet, but for those in `regions`, from which it keeps the posture
            instead; any if left out.
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
        links = {frame.removeprefix(f"{self.subsystem}/") for frame in names.frames}
        own = {"surface": scenario.surfaces_of(self.subsystem), "link": links}
        for name, hand in self.hands.items():
            check_names(hand, scenario, (*key, "hands", name), own)
        others = {name for name, one in scenario.spec.subsystems.items() if not one.controlled}
        for name, region in self.regions.items():
            check_names(region, scenario, (*key, "regions", name), own)
            scenario.check_posture((*key, "regions", name, "approach"), self.subsystem, region.approach)
            if region.obstacles != ["*"]:
                at = (*key, "regions", name, "obstacles")
                scenario.check_patterns(at, "subsystem with `controlled: false`", region.obstacles, others)
        check_names(self.sight, scenario, (*key, "sight"), own)
        for part, joints in self.hits.parts.items() if self.hits is not None else ():
            at = (*key, "hits", "parts", part)
            scenario.check_patterns(at, "joint", joints, scenario.joints_of(self.subsystem))
        if self.legs is not None:
            beside = scenario.spec.states[str(key[1])].generators
            gaits = {name for name, one in beside.items() if isinstance(one, WalkingSpec)}
            check_names(self.legs, scenario, (*key, "legs"), {"walking generator of this state": gaits})
        scenario.check_patterns((*key, "obstacles"), "subsystem with `controlled: false`", self.obstacles, others)
        for pattern in self.expected:
            scenario.check_patterns((*key, "expected", pattern), "subsystem", [pattern], others)

    @model_validator(mode="after")
    def _ordered(self) -> AnticipationSpec:
        _check_ordered(self.reaction, self.hold, self.reach)
        return self
