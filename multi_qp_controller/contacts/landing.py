"""Foot landing: detection by measured contact force, and motion of the limb towards the surface until then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.state_machine.state_machine import MachineState
from multi_qp_controller.tasks import PoseTask, Task
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.conditions import ConditionSpec, SeveralConditionsSpec, TouchingConditionSpec
from multi_qp_scene.stateful import Stateful
from multi_qp_scene.surfaces import Surface

#: Speed [m/s] and largest distance [m] of the motion beyond the reference while no contact force is measured.
SPEED, FURTHEST = 0.03, 0.03


class LandingDetection(Stateful):
    """Measured contacts, and the landing motion of the contacts that the present state still waits for.

    Attributes:
        measured_contacts: contacts with at least the landing force; None without force measurement.
        pending: pairs of links in landing motion; collision avoidance between them is disabled.
    """

    @dataclass
    class Checkpoint:
        """Measured contacts."""

        measured_contacts: frozenset[str] | None

    def __init__(self, scenario: Scenario, force: float, *, dt: float) -> None:
        self._scenario, self._force, self._dt = scenario, force, dt
        self._awaited: list[tuple[str, PoseTask, Surface]] = []
        self.measured_contacts: frozenset[str] | None = None
        self.pending: frozenset[frozenset[str]] = frozenset()

    def update_forces(self, forces: Mapping[str, float] | None) -> None:
        """Update with the measured normal force of each contact [N]; None without force measurement."""
        if forces is None:
            self.measured_contacts = None
            return
        self.measured_contacts = frozenset(name for name, force in forces.items() if force >= self._force)

    def enter(self, state: MachineState, tasks: Mapping[str, Task]) -> None:
        """Find the tasks of a state that move surfaces to a contact that its transitions wait for."""
        scene, contacts = self._scenario.scene, self._scenario.spec.contacts
        self._awaited, self.pending = [], frozenset()
        for name in dict.fromkeys(n for t in state.spec.transitions for n in _touching(t.when)):
            first, second = (scene.surfaces[surface] for surface in contacts[name].surfaces)
            for task in tasks.values():
                if first.kind == "grasp" or not isinstance(task, PoseTask):
                    continue
                joint = scene.model.frames[task.frame_a].parentJoint
                for surface in (first, second):
                    if joint and joint == surface.joint_id:
                        self._awaited.append((name, task, surface))

    def update(self, kinematics: Kinematics, time: float) -> bool:
        """Move tasks beyond their ended references until a force is measured; return whether `pending` has changed."""
        if self.measured_contacts is None:
            return False
        before, contacts, surfaces = self.pending, self._scenario.spec.contacts, self._scenario.scene.surfaces
        for name, task, surface in self._awaited:
            if name in self.measured_contacts or not task.reference_done(time):
                continue
            out_of_body = kinematics.pose(surface.frame_id).rotation[:, 2]
            if task.frame_b is not None:
                out_of_body = kinematics.pose(task.frame_b).rotation.T @ out_of_body
            further = task.shift + SPEED * self._dt * out_of_body
            length = float(np.linalg.norm(further))
            task.shift = further if length <= FURTHEST else further * (FURTHEST / length)
            self.pending |= {frozenset(surfaces[surface].link for surface in contacts[name].surfaces)}
        return self.pending != before


def _touching(condition: ConditionSpec) -> Iterator[str]:
    """Yield the contacts that a condition waits for."""
    if isinstance(condition, TouchingConditionSpec):
        yield condition.contact
    elif isinstance(condition, SeveralConditionsSpec):
        for part in condition.of:
            yield from _touching(part)
