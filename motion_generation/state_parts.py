"""Data of planned states: pace, surrounding motion, and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from motion_generation.planned_tasks import PLANNED, Entry
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.schema.scenario_file import ContactSpec
from multi_qp_scene.schema.states import StateSpec

#: User command that ends a plan at the next stance, before its next limb is lifted.
HALT = "halt"
#: Duration of a state that only another plan ends [s].
FOREVER = 1e9


@dataclass(frozen=True)
class Pace:
    """Speeds and foot heights of a sequence.

    Attributes:
        com: mean speed of the centre of mass towards the remaining contacts [m/s].
        limb: mean speed of a swinging limb [m/s].
        least: minimum duration of a shift or a swing [s].
        landing: duration from above the new place down to it [s].
        above: height over the new place, along its normal, where the landing starts [m].
        lift: height added in the middle of a swing [m].
        timeout: time that a state may last beyond its references, after which the run ends [s].
    """

    com: float = 0.15
    limb: float = 0.4
    least: float = 0.6
    landing: float = 0.4
    above: float = 0.03
    lift: float = 0.08
    timeout: float = 8.0


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
