"""Forces of several contacts on one link, which crocoddyl 3.0.1 does not add up before it takes derivatives."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

from contact_invariant.optional_crocoddyl import crocoddyl


class LinkForces:
    """The forces on links with several contacts, in the data of a node.

    `ContactModelMultiple.updateForce` keeps the force of the last contact of a link alone, and derivatives of its
    inverse dynamics are those with this force: with toes that touch with two points, by 5 % and more of the largest
    entry off.
    """

    def __init__(self, model: crocoddyl.IntegratedActionModelEuler, data: Any) -> None:
        """Find the links.

        Args:
            model: of the node.
            data: of the same, with `differential.multibody`.
        """
        links = dict[int, list[Any]]()
        self._contacts = data.differential.multibody.contacts
        frames = model.state.pinocchio.frames
        for contact in self._contacts.contacts.todict().values():
            links.setdefault(int(frames[contact.frame].parentJoint), []).append(contact)
        self._links = {joint: contacts for joint, contacts in links.items() if len(contacts) > 1}

    def add(self) -> None:
        """Add them up, after `calc` and before `calcDiff`."""
        for joint, contacts in self._links.items():
            self._contacts.fext[joint] = reduce(add, (contact.fext for contact in contacts))
