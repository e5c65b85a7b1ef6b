"""Landing told by force: a foot goes on towards the ground until it is felt, not until it is where the model has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from multi_qp_controller.fsm import Phase
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.tasks import PoseTask, Task
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.states import AllCondition, AnyCondition, Condition, TouchingCondition
from multi_qp_scene.surfaces import Surface

#: A surface that ought to touch and is not felt is brought on at this speed [m/s], this far [m].
SPEED, FURTHEST = 0.03, 0.03


class Landing:
    """Which of the contacts that a state waits for are felt, and the way on of those that are not.

    Attributes:
        felt: the contacts that press with at least the landing force; None where nobody feels.
        sought: pairs of links that are brought on until they touch; no damper may keep them apart meanwhile.
    """

    def __init__(self, scenario: Scenario, force: float, *, dt: float) -> None:
        self._scenario, self._force, self._dt = scenario, force, dt
        self._awaited: list[tuple[str, PoseTask, Surface]] = []
        self.felt: frozenset[str] | None = None
        self.sought: frozenset[frozenset[str]] = frozenset()

    def feel(self, pressures: Mapping[str, float]) -> None:
        """Take in with how much each contact presses [N]."""
        self.felt = frozenset(name for name, pressure in pressures.items() if pressure >= self._force)

    def enter(self, phase: Phase, tasks: Mapping[str, Task]) -> None:
        """Note which tasks of a state bring surfaces to a contact that it waits for."""
        scene, contacts = self._scenario.scene, self._scenario.spec.contacts
        self._awaited, self.sought = [], frozenset()
        for name in dict.fromkeys(n for t in phase.spec.transitions for n in _touching(t.when)):
            first, second = (scene.surfaces[surface] for surface in contacts[name].surfaces)
            for task in tasks.values():
                if first.kind == "grasp" or not isinstance(task, PoseTask):
                    continue
                joint = scene.model.frames[task.frame_a].parentJoint
                for surface in (first, second):
                    if joint and joint == surface.joint_id:
                        self._awaited.append((name, task, surface))

    def update(self, kinematics: Kinematics, time: float) -> bool:
        """Bring on what has come to the end of its reference without being felt; return whether `sought` has grown."""
        if self.felt is None:
            return False
        before, contacts, surfaces = self.sought, self._scenario.spec.contacts, self._scenario.scene.surfaces
        for name, task, surface in self._awaited:
            if name in self.felt or not task.reference_done(time):
                continue
            out_of_body = kinematics.pose(surface.frame_id).rotation[:, 2]
            if task.frame_b is not None:
                out_of_body = kinematics.pose(task.frame_b).rotation.T @ out_of_body
            further = task.shift + SPEED * self._dt * out_of_body
            length = float(np.linalg.norm(further))
            task.shift = further if length <= FURTHEST else further * (FURTHEST / length)
            self.sought |= {frozenset(surfaces[surface].link for surface in contacts[name].surfaces)}
        return self.sought != before


def _touching(condition: Condition) -> Iterator[str]:
    match condition:
        case TouchingCondition():
            yield condition.contact
        case AllCondition() | AnyCondition():
            for part in condition.of:
                yield from _touching(part)
        case _:
            return
