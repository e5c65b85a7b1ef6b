"""Schema of the modal generator: a reference motion, its cycle and speed, and the weights of the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import Duration, Force, NonNegative, Positive, Speed, Switch, Time
from multi_qp_scene.schema.generator_spec import GeneratorSpec
from multi_qp_scene.schema.name_of import NameOf, SubsystemName, check_names
from multi_qp_scene.schema.settings import Setting
from multi_qp_scene.schema.tasks import check_motion

if TYPE_CHECKING:
    from multi_qp_scene.checks import Key, ScenarioChecker


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
        subsystem: the robot.
        motion: file of a reference motion, as `multi-qp motion import` writes it; a path, or one relative to the
            scenario.
        contacts: contact by surface of the motion, without the robot's name.
        begin: time of the motion at which it begins [s].
        place: where it is carried out: `motion`, where it was recorded; `entry`, moved on level ground to where the
            surfaces are that are planted at its begin.
        blend: time in which the displacement from the motion at the entry of the state goes to zero; 0: the motion is
            followed at once [s].
        cycle: part of the motion that is repeated.
        speed: speed of the motion over time.
        stride: by how much steps are longer than those of the motion [m]; negative for shorter ones.
        slope: slope of the ground in the direction in which the motion, recorded on level ground, travels; positive
            upwards, through the origin of the motion [rad].
        slow_down: slower motion after a disturbance.
        landing: when surfaces land: `touch`, at a contact force; `motion`, when the motion plants them. Where no
            forces are measured, when they are within 1 mm of what they touch, in both.
        correct_steps: whether surfaces in the air land where the body will be after a push.
        touch_force: contact force from which a surface touches [N].
        window: number of steps of the plan; 0: chosen along the motion, see `prediction_error`.
        prediction_error: largest error of the linear prediction of the body's turn at the end of a window that is
            chosen [rad].
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
    subsystem: SubsystemName
    motion: str
    contacts: dict[Annotated[str, NameOf("surface")], str] = Field(min_length=1)
    begin: Time = 0.0
    place: Literal["motion", "entry"] = "motion"
    blend: Time = 0.0
    cycle: CycleSpec | None = None
    speed: list[TimedSpeedSpec] = []
    stride: Annotated[float, Field(ge=-0.3, le=0.3)] = 0.0
    slope: Annotated[float, Field(ge=-0.5, le=0.5)] = 0.0
    slow_down: SlowDownSpec | None = None
    landing: Literal["touch", "motion"] = "touch"
    correct_steps: Switch = True
    touch_force: Force = 25.0
    window: int = Field(default=36, ge=0, le=120)
    prediction_error: Positive = 0.015
    step: Duration = 1.0 / 120.0
    position: Positive = 0.1
    rotation: Positive = 0.5
    rate: Positive = 1.0
    force: Positive = 1e-4
    feed_forward: Switch = True
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
        check_names(self, scenario, key, {"surface": scenario.surfaces_of(self.subsystem)})
        check_motion(scenario, (*key, "motion"), self.motion, self.subsystem)
        if self.place == "entry" and self.slope:
            scenario.report_error((*key, "place"), "expected `motion` with a `slope`, which is through its origin")
