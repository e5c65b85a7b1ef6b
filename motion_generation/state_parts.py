"""Data of planned states: durations at a pace, surrounding motion, and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from motion_generation.planned_tasks import PLANNED, Entry
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact, ContactPhase
from multi_qp_scene.schema.plan import PaceSpec
from multi_qp_scene.schema.scenario_file import ContactSpec
from multi_qp_scene.schema.states import StateSpec

#: Configurations of a body, (nq,) each, that lead a free limb around obstacles before the swing of a phase, by phase.
Ways = Mapping[int, Sequence[Array]]

#: User command that ends a plan at the next stance, before its next limb is lifted.
HALT = "halt"
#: Duration of the last state [s].
LAST = 0.5
#: Duration of a state that only another plan ends [s].
FOREVER = 1e9
_BASE_SPEED, JOINT_SPEED = 0.3, 1.25  # mean speeds between two postures [m/s], [rad/s]
_FIRST = 1.0  # [s] duration of a limb's way to its first contact


def swing_time(pace: PaceSpec, way: float | None) -> float:
    """Return the duration of a limb's swing over a distance [m], or of its first contact if None [s]."""
    return _FIRST if way is None else max(pace.least, (way + 2.0 * pace.lift) / pace.limb)


def least_durations(
    pace: PaceSpec, phases: Sequence[ContactPhase], postures: Sequence[Array] | None = None
) -> list[float]:
    """Return the minimum duration of each phase [s]: of a shift, or of the swing and landing at its end.

    Args:
        pace: speeds and foot heights.
        phases: the phases.
        postures: of a body with a floating base, one a phase, (nq,) each, towards which the phase before moves.
    """
    durations: list[float] = []
    last: dict[str, Contact] = {}
    for phase, following in zip(phases, [*phases[1:], None], strict=True):
        last |= {contact.surface: contact for contact in phase.contacts}
        made = phase.made(following) if following else []
        swings = [swing_time(pace, distance(last.get(contact.surface), contact)) for contact in made]
        durations.append(max(swings) + pace.landing if swings else pace.least)
    for number, (q, towards) in enumerate(pairwise(postures or ())):
        base, joints = np.linalg.norm(towards[:3] - q[:3]) / _BASE_SPEED, np.abs(towards[7:] - q[7:])
        durations[number] = max(durations[number], float(base), float(joints.max(initial=0.0)) / JOINT_SPEED)
    return durations


def distance(old: Contact | None, new: Contact) -> float | None:
    """Return the distance of two contacts [m]; None without a first one."""
    return None if old is None else float(np.linalg.norm(old.pose.translation - new.pose.translation))


@dataclass(frozen=True)
class SequencePart:
    """Surrounding motion of a sequence, if it is part of a larger one.

    Attributes:
        label: prefix of the state names.
        then: state after the last one; the character stays there if None.
        stem: prefix of the names of its body's tasks.
        contacts: names of other characters' contacts, which stay active.
        tasks: of other characters, by name.
    """

    label: str = ""
    then: str | None = None
    stem: str = PLANNED
    contacts: tuple[str, ...] = ()
    tasks: Mapping[str, Entry] = field(default_factory=dict)

    def contact(self, contact: Contact) -> str:
        """Return the name of a contact, prefixed by the character if others have contacts too."""
        name = contact_name(contact.effector, str(contact.other))
        return name if self.stem == PLANNED else f"{self.stem}_{name}"


@dataclass(frozen=True)
class Written:
    """Contacts and states of a sequence in the format of a scenario.

    Attributes:
        contacts: by name.
        states: by name, in order.
    """

    contacts: dict[str, ContactSpec]
    states: dict[str, StateSpec]


def contact_name(effector: str, other: str) -> str:
    """Return the name of an effector's contact with another subsystem's surface in planned states."""
    return f"{effector}_on_{other.replace('/', '_')}"
