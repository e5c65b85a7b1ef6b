"""Schema of the motion generators of a state, and the registry of their types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from multi_qp_scene.schema.common import Coordinate, Duration, NonNegative, Number, Positive
from multi_qp_scene.schema.generator_spec import GeneratorSpec
from multi_qp_scene.schema.modal import ModalSpec
from multi_qp_scene.schema.name_of import JointName, SubsystemName
from multi_qp_scene.schema.settings import Setting
from multi_qp_scene.schema.tagged_union import TaggedUnion
from multi_qp_scene.schema.upper_body import AntagonisticSpec, AnticipationSpec
from multi_qp_scene.schema.walking import WalkingSpec

if TYPE_CHECKING:
    from multi_qp_scene.checks import Key, ScenarioChecker

#: Farthest that a user moves the target of a motion that is made again [m].
FARTHEST = 3.0


class OscillationSpec(GeneratorSpec):
    """Sinusoidal motion of joints around their angles at the start, for example of arms beside a walking generator.

    Attributes:
        joints: amplitude by joint, full names [rad] or [m].
        period: duration of a cycle [s].
        cycles: number of cycles after which it is done; the motion goes on until the state ends.
        weight: w in (32).
        stiffness: k in (33) [1/s²].
    """

    type: Literal["oscillation"]
    joints: dict[JointName, Number] = Field(min_length=1)
    period: Duration = 2.0
    cycles: Positive = 1.0
    weight: NonNegative = 10.0
    stiffness: NonNegative = 100.0


class MotionPlaybackSpec(GeneratorSpec):
    """Plays a synthesised motion: its contacts, centre of mass, trunk, swinging limbs and postures over time.

    Attributes:
        subsystem: the character.
        file: the motion, as `multi-qp synthesize --output` writes it; a path, or one relative to the scenario.
        contacts: contact by effector and touched surface, "<effector> <surface>" as in the motion's file.
        com: weight of the centre of mass.
        trunk: weight of the orientation of the trunk.
        limb: weight of limbs that make contact again later.
        object: weight of the object's pose while a hand touches it.
        posture: weight of the joint angles.
    """

    type: Literal["motion_playback"]
    subsystem: SubsystemName
    file: str
    contacts: dict[str, str] = Field(min_length=1)
    com: NonNegative = 1000.0
    trunk: NonNegative = 100.0
    limb: NonNegative = 200.0
    object: NonNegative = 1000.0
    posture: NonNegative = 3.0

    @property
    def owned_contacts(self) -> tuple[str, ...]:
        """All contacts of the motion."""
        return tuple(self.contacts.values())


class MotionReplanningSpec(MotionPlaybackSpec):
    """Plays a synthesised motion that is made again while it is played; written for a behaviour with `online`.

    Attributes:
        file: the first motion, as `multi-qp synthesize --output` writes it.
        contacts: contact by effector and touched surface, "<effector> <surface>", of all that may be made.
        target: where the motion leads to, before the moves of the behaviour, x and y [m].
    """

    type: Literal["motion_replanning"]  # type: ignore[assignment]
    target: tuple[Coordinate, Coordinate]

    @property
    def settings(self) -> dict[str, Setting]:
        """The target."""
        x, y = self.target
        return {
            "target_x": Setting(x, x - FARTHEST, x + FARTHEST, "target along x of the world, before its moves", "m"),
            "target_y": Setting(y, y - FARTHEST, y + FARTHEST, "target along y of the world, before its moves", "m"),
        }

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check the name of the subsystem, and that there is a behaviour with `online`."""
        super().check(scenario, key)
        if scenario.spec.behaviour is None or scenario.spec.behaviour.online is None:
            scenario.report_error((*key, "type"), "the scenario has no `behaviour` with `online`")


#: The types of generators; `multi_qp_controller.motion_generator.register_generator` adds one.
GENERATOR_SPECS = TaggedUnion(
    OscillationSpec,
    WalkingSpec,
    MotionPlaybackSpec,
    MotionReplanningSpec,
    ModalSpec,
    AntagonisticSpec,
    AnticipationSpec,
)

AnyGeneratorSpec = Annotated[GeneratorSpec, GENERATOR_SPECS]
