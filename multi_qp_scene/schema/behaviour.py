"""Schema of a scenario's `behaviour`: task terms from which contacts and motion are found together."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.limits import Within
from multi_qp_scene.schema.common import (
    Angle,
    Coordinate,
    Fraction,
    Friction,
    NonNegative,
    Positive,
    Seed,
    Vector3,
    Velocity,
)
from multi_qp_scene.schema.name_of import AnySurfaceName, NameOf

_EffectorName = Annotated[str, NameOf("effector")]


class EffectorSpec(StrictModel):
    """A potential contact: a planar surface, or a point, of the character.

    Attributes:
        surface: name of the character's surface.
        grip: largest force with which it pulls, as a hand that grips; its friction cone is that of a normal force that
            is larger by it [N].
        effort: factor of the cost of its forces in (7); the paper's hands have 4.
        joined: name of another effector of the character; both touch at the same time, as they have one contact
            variable. Points at the ends of an edge make it a line contact.
        supports: whether it can bear the character without another contact, or the share of this that it has; each
            phase has contacts whose shares sum to 1. Arms of a heavy character cannot; with 0.34, three points can.
    """

    surface: str
    grip: NonNegative = 0.0
    effort: Positive = 1.0
    joined: str | None = None
    supports: bool | Fraction = True


class TermBase(StrictModel):
    """A task term; its residual is in `contact_invariant/task_terms.py`.

    Attributes:
        type: selects this term.
        phase: number of the phase at whose end it is true, counted from 1; the last one by default.
        weight: factor of its residual. Terms below 1 are preferences, which no audit judges.
    """

    phase: Annotated[int, Field(ge=1)] | None = None
    weight: Positive = 1.0


class StandTerm(TermBase):
    """Stands: at rest, upright, centre of mass above the middle of the feet, the legs as in the posture.

    Attributes:
        feet: effectors to stand on.
        on: full name of the surface of the surroundings to stand on; any one by default.
        phase: number of the phase at whose end it stands, counted from 1; the last one by default.
    """

    type: Literal["stand"]
    feet: list[_EffectorName] = Field(min_length=1)
    on: AnySurfaceName | None = None


class HandstandTerm(TermBase):
    """Stands on the hands: at rest, upside down, centre of mass above the middle of the hands, feet above the trunk.

    The trunk is above the hands by the length that the arms have in the posture, from the first to the last joint.

    Attributes:
        hands: effectors to stand on.
        feet: effectors above the trunk.
        phase: number of the phase at whose end it does, counted from 1; the last one by default.
    """

    type: Literal["handstand"]
    hands: list[_EffectorName] = Field(min_length=1)
    feet: list[_EffectorName] = []


class CharacterTerm(TermBase):
    """A task term of one character.

    Attributes:
        character: its name; the first one if none is given.
    """

    character: Annotated[str, NameOf("character")] | None = None


class RestTerm(CharacterTerm):
    """Rests on patches, such as hands and knees: they are on surfaces, and they and the trunk do not move.

    Attributes:
        character: name of the character of which no patches are named; the first one if none is given.
        patches: effectors of one character to rest on; without any, its trunk does not move, whatever it is on.
        phase: number of the phase at whose end it rests, counted from 1; the last one by default.
    """

    type: Literal["rest"]
    patches: list[_EffectorName] = []


class PositionTerm(CharacterTerm):
    """The centre of mass is at a place.

    Attributes:
        character: name of the character; the first one if none is given.
        target: x and y, or x, y and z in the world [m].
        phase: number of the phase at whose end it is there, counted from 1; the last one by default.
    """

    type: Literal["position"]
    target: Annotated[list[Coordinate], Field(min_length=2, max_length=3)]


class DirectionTerm(CharacterTerm):
    """The trunk faces a direction.

    Attributes:
        character: name of the character; the first one if none is given.
        yaw: heading of its x axis in the world [rad].
        phase: number of the phase at whose end it does, counted from 1; the last one by default.
    """

    type: Literal["direction"]
    yaw: Angle


class UprightTerm(CharacterTerm):
    """The trunk is upright.

    Attributes:
        character: name of the character; the first one if none is given.
        phase: number of the phase at whose end it is, counted from 1; the last one by default.
    """

    type: Literal["upright"]


class StrikeTerm(TermBase):
    """An effector is at a place at the end of a phase, with a velocity.

    Attributes:
        effector: name of the effector.
        target: position in the world [m].
        velocity: in the world [m/s].
        phase: number of the phase at whose end it strikes, counted from 1.
    """

    type: Literal["strike"]
    effector: _EffectorName
    target: Vector3
    velocity: tuple[Velocity, Velocity, Velocity] = (0.0, 0.0, 0.0)
    phase: Annotated[int, Field(ge=1)]


class ObjectPositionTerm(TermBase):
    """The object is at a place, and everything is at rest; nothing is said about the character.

    Attributes:
        target: of its centre of mass in the world [m].
        upright: whether its z axis is vertical as well.
        phase: number of the phase at whose end it is there, counted from 1; the last one by default.
    """

    type: Literal["object_position"]
    target: Vector3
    upright: bool = False


TaskTerm = Annotated[
    StandTerm | RestTerm | HandstandTerm | PositionTerm | DirectionTerm | UprightTerm | StrikeTerm | ObjectPositionTerm,
    Field(discriminator="type"),
]


class ObjectSpec(StrictModel):
    """An object that the character moves with its hands.

    Attributes:
        subsystem: its name; with a floating base and no joints.
        hands: effectors that may touch the object, and nothing else.
        patches: planar surfaces of the object by name that may touch the surroundings.
        slip: further weight of the slip of patches and hands in the last stage: what touches for many phases may
            otherwise creep by some millimetres in each.
        together: weight of the difference between the contact variables of a character's hands: with it, they take and
            release the object together, so that it is not held between one hand each of two characters.
        level: weight of the tilt of the object at all times; without it, it may tilt by 60 degrees on its way.
    """

    subsystem: str
    hands: list[_EffectorName] = Field(min_length=1)
    patches: dict[str, str] = Field(min_length=1)
    slip: NonNegative = 0.0
    together: NonNegative = 0.0
    level: NonNegative = 0.0


class MoveSpec(StrictModel):
    """A move of the target during a run.

    Attributes:
        time: since the start of the motion [s].
        by: displacement along x and y of the world [m].
    """

    time: NonNegative
    by: tuple[Coordinate, Coordinate]


class OnlineSpec(StrictModel):
    """The motion is made again at the end of each phase, for a window of the next `phases`, towards the target.

    The behaviour has one term `position`, at the end: the target, which a user may move during the run.

    Attributes:
        speed: at which the places that the windows lead to approach the target [m/s].
        running: weight of these places at the end of each phase but the last one of the window.
        moves: of the target during the run.
    """

    speed: Positive = 0.3
    running: Annotated[float, Field(gt=0, lt=1)] = 0.15
    moves: list[MoveSpec] = []


class CharacterSpec(StrictModel):
    """A character and its potential contacts.

    Attributes:
        character: name of the subsystem, with a floating base.
        effectors: potential contacts by name, on any links; a limb may have several, such as a foot and a knee. Joints
            that limbs share, such as those of the chest, move if an effector is on a link between them and the limbs.
        posture: nominal posture.
        effort: factor of the cost of its accelerations, forces and torques: with a large one, a partner does more.
        touchable: planar surfaces of its trunk that the other character may touch, as one that climbs on it.
    """

    character: str
    effectors: dict[str, EffectorSpec] = Field(min_length=1)
    posture: str = "zero"
    effort: Positive = 1.0
    touchable: list[Annotated[str, NameOf("surface")]] = []


class BehaviourSpec(CharacterSpec):
    """What a character shall have achieved; contacts and motion are found by contact-invariant optimisation.

    Attributes:
        partner: a second character, which acts together with the first; names of effectors differ.
        object: an object whose motion is found as well.
        phases: number of phases; contacts are constant within a phase.
        phase_duration: duration of a phase [s].
        duration_factor: factor by which the duration of each phase may differ; above 1, durations are found as well.
        samples: instants of a phase at which dynamics and collisions of links are in the cost, an even number; with few
            in a long phase, links may enter solids between two of them.
        path_samples: the same for lengths of limbs and corners of patches, which may cut through edges.
        friction: Coulomb coefficient of all contacts.
        smoothness: factor of the accelerations in the cost, before they are squared; larger ones give the motion more
            of its time.
        limb_smoothness: further factor of the accelerations of limbs; with a small one, swings are shorter and more.
        limb_weights: whether the weight of limbs acts where they are, instead of where the nominal posture has it.
        physics: factor of the dynamics in the cost, before they are squared; its root is that of forces without
            contact, the root of this that of contacts. Larger ones leave less to forces that no contact can give.
        torque_limits: factor of what static torques exceed 60 % of their limits by in the cost, before it is squared; 0
            leaves it out. Needs `limb_weights`.
        drag: factor of sliding along a surface without contact in the last stage, and of what a carried object misses
            of 2 cm from solids, before they are squared; with larger ones, feet stand or lift.
        slip_cost: factor of the velocity of patches in contact in the cost, before it is squared.
        support: factor of phases without a contact from the third stage on, before it is squared; with 1 it is small
            beside the other costs there, and the motion may leap.
        overlap: weight of changes of phase over which no contacts last that bear the character; with 1, one costs as
            much as a phase without a contact.
        posture_cost: factor of the distance of joint angles from the nominal posture in the cost, before it is squared;
            with larger ones, steps are shorter and more.
        extent: share of the extents of patches within which the origin of their force stays; a margin for the balance
            when the motion is carried out.
        balanced: whether limbs and chest leave the centre of mass where the nominal posture has it while `stand`
            terms hold; else a bent chest may hold it over the feet for the terms, which know that of the rigid body.
        firming: whether the continuation has a further stage before the last one, with weights between those of the
            last two, and no noise after it. Else more contacts are given up whose patches are a centimetre off.
        exact: whether the continuation has a further stage at the end, with larger weights of physics and contacts.
            Else moments of some percent of the weight may be missing for tenths of a second after a contact ends.
        held_start: whether the contacts of the start pose are those of the first phase.
        terms: what is true at the end, or at a given time.
        seed: seed of the noise between the stages; `${seed}` is the run's `--seed`.
        refine: whether motions are refined with the full model, torques in the cost, by crocoddyl.
        online: the motion is made again while it is carried out; the phases are then those of a window.
        starts: number of seeds, from `seed` on, that are tried until a motion passes the audit.
        time_limit: computing time of a start, after which its motion so far is returned [s].
    """

    partner: CharacterSpec | None = None
    object: ObjectSpec | None = None
    phases: Annotated[int, Field(ge=1, le=40)] = 10
    phase_duration: Annotated[float, Field(gt=0, le=10)] = 0.5
    duration_factor: Annotated[float, Field(ge=1, le=4)] = 1.0
    samples: Annotated[int, Field(ge=8, le=40, multiple_of=2)] = 8
    path_samples: Annotated[int, Field(ge=8, le=80, multiple_of=2)] = 20
    friction: Friction = 0.7
    smoothness: Positive = 1.0
    limb_smoothness: Positive = 1.0
    limb_weights: bool = False
    physics: Positive = 1.0
    torque_limits: NonNegative = 0.0
    drag: Positive = 1.0
    slip_cost: Positive = 1.0
    support: Positive = 1.0
    overlap: NonNegative = 0.0
    posture_cost: Positive = 1.0
    extent: float = Field(default=1.0, gt=0.0, le=1.0)
    balanced: bool = False
    firming: bool = False
    exact: bool = False
    held_start: bool = False
    terms: list[TaskTerm] = Field(min_length=1)
    seed: Seed = 0
    refine: bool = False
    online: OnlineSpec | None = None
    starts: Annotated[int, Field(ge=1, le=100)] = 4
    time_limit: Annotated[float, Field(gt=0), Within("time")] = 300.0

    @property
    def characters(self) -> tuple[CharacterSpec, ...]:
        """The first character and its partner."""
        return (self,) if self.partner is None else (self, self.partner)

    @property
    def refinable(self) -> bool:
        """Whether its motions can be refined: not if each character may touch the other one."""
        return not all(character.touchable for character in self.characters)
