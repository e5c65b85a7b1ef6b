"""Stances, plans and their conversion to contact sequences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence


@dataclass(frozen=True, eq=False)
class Stance:
    """Contacts of a character and a posture with these contacts in static equilibrium.

    Attributes:
        contacts: by limb, in the order in which they were made.
        q: configuration of the character, (nq,).
        moved: limb whose contact differs from the previous stance; None for the first.
        lifted: posture with the contacts of the previous stance from which `moved` can lift off, (nq,); None if it had
            no contact. It is balanced, like `q`, on the contacts that both stances share.
        progress: index of the base pose on the path.
    """

    contacts: Mapping[str, Contact]
    q: Array
    moved: str | None = None
    lifted: Array | None = None
    progress: int = 0


@dataclass(frozen=True, eq=False)
class ContactPlan:
    """Result of the planner.

    Attributes:
        stances: the first one is the initial stance. A later one without `moved` has the contacts of the previous one
            in the nominal configuration: a goal is reached.
        complete: whether the last one is at the goal.
        reason: message if not.
        sequence: contact phases: all contacts of a stance, then all but that of the moving limb, and so on.
        postures: configuration of each phase, (nq,) each; for a swing phase the one at lift-off.
        seconds: CPU time by stage [s].
    """

    stances: tuple[Stance, ...]
    complete: bool
    reason: str
    sequence: ContactSequence
    postures: tuple[Array, ...]
    seconds: Mapping[str, float]

    @property
    def moves(self) -> int:
        """Number of contacts that are made or broken."""
        return sum(stance.moved is not None for stance in self.stances)


def sequence_of(
    stances: tuple[Stance, ...],
    *,
    subsystem: str,
    com_of: Callable[[Array], Array],
    name: str,
    models: Mapping[str, str],
) -> tuple[ContactSequence, tuple[Array, ...]]:
    """Return the contact phases of stances, and a configuration for each.

    Args:
        stances: at least one.
        subsystem: name of the character.
        com_of: function from a configuration to its centre of mass, (3,).
        name: name of the sequence.
        models: model name or path of each subsystem.
    """
    phases: list[ContactPhase] = []
    postures: list[Array] = []
    named: dict[int, Contact] = {}  # sequence files need a unique name for each contact

    def name_of(contact: Contact) -> Contact:
        if id(contact) not in named:
            count = sum(other.surface == contact.surface for other in named.values())
            named[id(contact)] = replace(contact, name=f"{contact.name}_{count}")
        return named[id(contact)]

    def add(contacts: Mapping[str, Contact], q: Array, label: str) -> None:
        phases.append(ContactPhase(tuple(name_of(c) for c in contacts.values()), label, {subsystem: com_of(q)}))
        postures.append(q)

    for number, stance in enumerate(stances):
        if stance.moved is not None and stance.lifted is not None:
            before = stances[number - 1].contacts
            rest = {limb: contact for limb, contact in before.items() if limb != stance.moved}
            add(rest, stance.lifted, f"{number}_{stance.moved}_up")
            if stance.moved not in stance.contacts:
                continue
        add(stance.contacts, stance.q, f"{number}_{'rest' if number and stance.moved is None else 'stand'}")
    return ContactSequence(tuple(phases), models, name), tuple(postures)
