"""Stances: what a plan is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stance:
    """Contacts of a character, and a posture in static equilibrium that has them.

    Attributes:
        contacts: by limb, the oldest first.
        q: configuration of the character, (nq,).
        moved: the limb that is elsewhere than in the stance before, or no longer in contact; None for the first.
        lifted: posture with the contacts of the stance before, from which `moved` can be lifted, (nq,); None where it
            had no contact. Its centre of mass, like that of `q`, is over what stays in contact.
        progress: index of the base's pose on its path.
    """

    contacts: Mapping[str, Contact]
    q: Array
    moved: str | None = None
    lifted: Array | None = None
    progress: int = 0


@dataclass(frozen=True, eq=False)
class Plan:
    """An answer of the planner.

    Attributes:
        stances: the first one is where the character is. One without `moved` after it has the contacts of the one
            before, in the posture that is liked there: a goal is reached.
        complete: whether the last one is at the goal.
        reason: what stopped the planner, where it is not.
        sequence: the contacts, phase by phase: all of a stance, then all but the limb that moves, and so on.
        postures: a configuration for each phase of the sequence, (nq,) each: of a phase without the moving limb the
            one that it has as soon as the limb is up.
        seconds: what planning took, by part [s].
    """

    stances: tuple[Stance, ...]
    complete: bool
    reason: str
    sequence: ContactSequence
    postures: tuple[Array, ...]
    seconds: Mapping[str, float]

    @property
    def moves(self) -> int:
        """How many contacts are made or given up."""
        return sum(stance.moved is not None for stance in self.stances)


def sequence_of(
    stances: tuple[Stance, ...],
    *,
    subsystem: str,
    com_of: Callable[[Array], Array],
    name: str,
    models: Mapping[str, str],
) -> tuple[ContactSequence, tuple[Array, ...]]:
    """Return the phases of stances, and a posture for each.

    Args:
        stances: at least one.
        subsystem: name of the character.
        com_of: function from a configuration to its centre of mass, (3,).
        name: of the sequence.
        models: model of each subsystem.
    """
    phases: list[ContactPhase] = []
    postures: list[Array] = []
    named: dict[int, Contact] = {}  # a file of a sequence wants a name for each place

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
