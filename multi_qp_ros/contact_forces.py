"""Measured forces of contacts: which a scenario needs, and the newest values of each; independent of ROS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from multi_qp_scene.scenario import Scenario


def measured_contacts(scenario: Scenario) -> dict[str, str]:
    """Return the contacts whose forces are to be measured, with the first surface of each.

    These are all contacts of a scenario with a generator that makes and breaks contacts, none of another one.
    """
    generators = [one for state in scenario.spec.states.values() for one in state.generators.values()]
    if not any(one.owned_contacts for one in generators):
        return {}
    return {name: contact.surfaces[0] for name, contact in scenario.spec.contacts.items()}


class ContactForces:
    """Newest measured normal force of each contact.

    Attributes:
        contacts: names of the contacts.
    """

    def __init__(self, contacts: Iterable[str], *, max_age: float) -> None:
        """Begin without any force.

        Args:
            contacts: names of the contacts.
            max_age: age from which a force is out of date [s].
        """
        self.contacts, self._max_age = tuple(contacts), max_age
        self._newest: dict[str, tuple[float, float]] = {}

    def put(self, contact: str, force: float, at: float) -> None:
        """Store the normal force of a contact [N], measured at a time [s]."""
        self._newest[contact] = at, force

    def forces(self, now: float) -> Mapping[str, float] | None:
        """Return the forces [N]; None unless that of every contact is up to date at a time [s].

        One missing sensor counts as none: a foot without force would never land.
        """
        if not self.contacts or self.outdated(now):
            return None
        return {contact: force for contact, (_, force) in self._newest.items()}

    def outdated(self, now: float) -> list[str]:
        """Return the contacts without a force that is up to date at a time [s]."""
        limit = now - self._max_age
        return [name for name in self.contacts if name not in self._newest or self._newest[name][0] < limit]

    def lost(self, now: float) -> list[str]:
        """Return the contacts that have been measured, but whose force is out of date at a time [s]."""
        return [name for name in self.outdated(now) if name in self._newest]

    def awaited(self, time: float) -> bool:
        """Return whether forces of this time [s] are still to come: of the sensors that have measured before."""
        return any(at < time - 1e-9 for at, _ in self._newest.values())
