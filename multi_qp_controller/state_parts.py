"""What planned states are written with: the pace, what they are part of, and their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from multi_qp_controller.planned_tasks import PLANNED, Task
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.schema.scenario_file import ContactSpec
from multi_qp_scene.schema.states import StateSpec

#: A user's command that ends a plan at the next stance, before its next limb is lifted.
HALT = "halt"
#: How long a state lasts that only another plan ends [s].
FOREVER = 1e9


@dataclass(frozen=True)
class Pace:
    """How fast a sequence is gone through, and how feet are lifted.

    Attributes:
        com: mean speed of the centre of mass towards the contacts that stay [m/s].
        limb: mean speed of a swinging limb [m/s].
        least: shortest duration of a shift or a swing [s].
        landing: from above the new place down to it [s].
        above: height over the new place, along its normal, from which it is set down [m].
        lift: how much the middle of a swing is raised [m].
        timeout: a state that lasts longer ends the run [s].
    """

    com: float = 0.15
    limb: float = 0.4
    least: float = 0.6
    landing: float = 0.4
    above: float = 0.03
    lift: float = 0.08
    timeout: float = 8.0


@dataclass(frozen=True)
class Part:
    """What the states of a sequence are part of, where it is not all that happens.

    Attributes:
        label: what their names begin with.
        then: state that comes after the last one; the character stays there if None.
        stem: what the names of its body's tasks begin with.
        contacts: names of others' contacts, which stay on.
        tasks: of others, by name.
    """

    label: str = ""
    then: str | None = None
    stem: str = PLANNED
    contacts: tuple[str, ...] = ()
    tasks: Mapping[str, Task] = field(default_factory=dict)

    def contact(self, contact: Contact) -> str:
        """Return the name of a contact: with that of the character where others have contacts too."""
        name = contact_name(contact.effector, str(contact.other))
        return name if self.stem == PLANNED else f"{self.stem}_{name}"


@dataclass(frozen=True)
class Written:
    """A sequence as a scenario has it.

    Attributes:
        contacts: by name.
        states: by name, in order.
    """

    contacts: dict[str, ContactSpec]
    states: dict[str, StateSpec]


def contact_name(effector: str, other: str) -> str:
    """Return what the contact of an effector with another subsystem's surface is called in planned states."""
    return f"{effector}_on_{other.replace('/', '_')}"
