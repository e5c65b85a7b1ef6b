"""Quantities that transition conditions depend on, and gaps of contacts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from multi_qp_controller.contacts.alignment_kernel import GRASP, PLANAR, POINT, alignment_gap
from multi_qp_controller.contacts.contact_gap import ContactGap, within_tolerance
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.tasks.base import Task
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.surfaces import Surface

#: Kind of gap for each kind of surface; all others are planar.
_KINDS = {"point": POINT, "grasp": GRASP}


class AlignmentGap(NamedTuple):
    """Gap between the surfaces of a contact to the aligned pose, and its rate.

    Attributes:
        distance: to the second surface's plane, not to its edges as in `ContactGap` [m].
        angle: [rad].
        speed: relative linear speed [m/s].
        angular_speed: [rad/s].
        overhang: distance of the first surface's origin from the second's edges, 0 inside them [m].
    """

    distance: float
    angle: float
    speed: float
    angular_speed: float
    overhang: float


@dataclass(slots=True)
class TransitionContext:
    """Quantities that conditions depend on; one object is reused over ticks.

    Attributes:
        scenario: names of contacts and subsystems.
        kinematics: kinematics at this tick.
        tasks: the active tasks by name, as computed at the last tick.
        time: present time [s].
        entered: time at which the present state was entered [s].
        commands: pending user commands, not yet consumed by a transition.
        visited: names of all states so far, in order, including the present one.
        interactive: whether a user is present.
        done: names of the generators that are done.
        measured_contacts: contacts with a measured force; None where contacts are detected by the distance of their
            surfaces.
        surfaces: cache, by contact: joint of a surface and its placement in that joint, for both, the kind of gap,
            centre and radius of the first surface's ball, and the edges of the second surface.
    """

    scenario: Scenario
    kinematics: Kinematics
    tasks: Mapping[str, Task]
    time: float
    entered: float
    commands: frozenset[str]
    visited: Sequence[str] = ()
    interactive: bool = False
    measured_contacts: frozenset[str] | None = None
    done: frozenset[str] = frozenset()
    surfaces: dict[str, tuple[int, Array, int, Array, int, Array, float, Array]] = field(default_factory=dict)

    def surfaces_of(self, contact: str) -> tuple[Surface, Surface]:
        """Return the surfaces of a contact."""
        first, second = self.scenario.spec.contacts[contact].surfaces
        return self.scenario.scene.surfaces[first], self.scenario.scene.surfaces[second]

    def gap_to_alignment(self, contact: str) -> AlignmentGap:
        """Return the gap between the surfaces of a contact to the aligned pose, and its rate."""
        if contact not in self.surfaces:
            first, second = self.surfaces_of(contact)
            a, b = (self.kinematics.fixed_frame(surface.frame_id) for surface in (first, second))
            kind, ball = _KINDS.get(first.kind, PLANAR), first.ball
            edges = np.column_stack(second.edges) if second.kind == "planar" else np.zeros((0, 3))
            self.surfaces[contact] = a.joint, a.place, b.joint, b.place, kind, ball.centre, ball.radius, edges
        cached, views = self.surfaces[contact], self.kinematics.views
        return AlignmentGap(*alignment_gap(*cached[:4], views.poses, views.twists, *cached[4:]))

    def open_contacts(self, names: Iterable[str]) -> dict[str, ContactGap]:
        """Return those of these contacts whose gap is too large for them to be made, with their gaps.

        A contact with a measured force is closed, wherever its surfaces are in the model.
        """
        found = {}
        for name in names:
            if self.measured_contacts is not None and name in self.measured_contacts:
                continue
            alignment = self.gap_to_alignment(name)
            gap = ContactGap(math.hypot(alignment.distance, alignment.overhang), alignment.angle)
            if not within_tolerance(self.scenario, name, gap):
                found[name] = gap
        return found
