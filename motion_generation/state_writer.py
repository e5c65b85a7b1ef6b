"""Generation of the states that execute a contact sequence.

Before contacts are broken, the weight shifts to the remaining ones; then the limb swings above its new place and lands.
A swing passes beside standing feet (`swing_path.py`). Other obstacles are not considered here: the collision
constraints avoid them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pinocchio as pin

from com_trajectory.trajectory import ComTrajectory
from motion_generation.phase_curves import PhaseCurves, at_rest
from motion_generation.planned_tasks import Entry, body_tasks, com_of, limb_task, numbers
from motion_generation.state_parts import (
    FOREVER,
    HALT,
    JOINT_SPEED,
    LAST,
    SequencePart,
    Ways,
    Written,
    distance,
    swing_time,
)
from motion_generation.swing_clearance import SwingClearance
from motion_generation.swing_path import control_points
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.plan import PaceSpec
from multi_qp_scene.schema.scenario_file import ContactSpec
from multi_qp_scene.schema.states import StateSpec

_REST = 2.0  # [s] duration of the motion to a rest posture
_FOLLOWED = 40.0  # weight of the posture on a limb's way around obstacles
_OFF = 0.02  # [m] distance from its last contact at which a limb has lifted off


@dataclass(frozen=True, eq=False)
class _Step:
    """A phase with its posture."""

    phase: ContactPhase
    q: Array | None


class StateWriter:
    """Writer of the states of one sequence."""

    def __init__(
        self,
        scenario: Scenario,
        sequence: ContactSequence,
        postures: Sequence[Array] | None,
        *,
        pace: PaceSpec | None = None,
        trajectory: ComTrajectory | None = None,
        part: SequencePart | None = None,
        ways: Ways | None = None,
    ) -> None:
        """Prepare the steps; arguments and errors are those of `with_states`, `part` is the surrounding motion."""
        if len(sequence.subsystems) != 1:
            named = ", ".join(sequence.subsystems)
            raise MultiQpError(f"expected a sequence of one subsystem, got {named}")
        self._name = sequence.subsystems[0]
        if self._name not in scenario.scene.subsystems:
            raise MultiQpError(f"the sequence is of {self._name!r}, which is not a subsystem of {scenario.name}")
        if postures is not None and len(postures) != len(sequence.phases):
            raise MultiQpError(f"expected {len(sequence.phases)} postures, one a phase, got {len(postures)}")
        self._scene = scenario.scene
        self._data = scenario.scene.model.createData()
        self._clearance = SwingClearance(scenario.scene)
        self._ways = ways or {}
        self._pace, self._part = pace or PaceSpec(), part or SequencePart()
        self._com_task = f"{self._part.stem}_com"
        self._body = scenario.scene.subsystems[self._name]
        self._contacts: dict[str, ContactSpec] = {}
        self._states: dict[str, StateSpec] = {}
        if trajectory is None:
            self._steps = _one_change_at_a_time(sequence, postures)
        else:
            own = [None] * len(trajectory.phases) if postures is None else list(postures)
            self._steps = [_Step(planned.phase, q) for planned, q in zip(trajectory.phases, own, strict=True)]
        self._curves = None if trajectory is None else self._slow_enough(trajectory)

    def _slow_enough(self, trajectory: ComTrajectory) -> PhaseCurves:
        """Return the trajectory, slowed down to the swing durations of the limbs at the pace."""
        curves, factor = PhaseCurves(trajectory), 1.0
        for number, (step, following) in enumerate(zip(self._steps, self._steps[1:], strict=False)):
            for contact in step.phase.made(following.phase):
                swing = swing_time(self._pace, distance(self._last(step, contact), contact)) + self._pace.landing
                factor = max(factor, swing / max(curves.duration(number), 1e-3))
        return PhaseCurves(trajectory, slower=factor)

    def write(self) -> Written:
        """Return the contacts and the states, in order."""
        names = [self._names(step.phase) for step in self._steps]
        for number, (step, following) in enumerate(zip(self._steps, self._steps[1:], strict=False)):
            label = f"{number:02d}"
            made = step.phase.made(following.phase)
            after = self._entry(number + 1)
            if made:
                if number in self._ways:
                    self._go_around(number, names[number], self._ways[number])
                elif self._rests(number, made):
                    self._come_to_rest(label, number, names[number])
                self._swing(label, step, following, names[number], made, after)
            else:
                self._shift(label, following, names[number], after)
        last = self._steps[-1]
        last_target = None if self._curves is None else self._curves.target(len(self._steps) - 1)
        done = self._part.then or self._called("done")
        self._state(self._called("stabilise"), names[-1], self._tasks(last, 1.0, last_target), [self._when_there(done)])
        if self._part.then is None:
            self._rest(done, "stays", names[-1], self._tasks(last, None), LAST)
        return Written(self._contacts, self._states)

    def _called(self, name: str) -> str:
        return f"{self._part.label}{name}"

    def _entry(self, number: int) -> str:
        """Return the name of the first state of a phase."""
        if number == len(self._steps) - 1:
            return self._called("stabilise")
        made = self._steps[number].phase.made(self._steps[number + 1].phase)
        if made and number in self._ways:
            return self._called(f"way_{number:02d}_1")
        kind = ("rest" if self._rests(number, made) else "swing") if made else "shift"
        return self._called(f"{kind}_{number:02d}")

    def _rests(self, number: int, made: Sequence[Contact]) -> bool:
        """Whether a phase's posture is at rest: its next limbs are away from their last contacts."""
        step = self._steps[number]
        if step.q is None:
            return False
        pin.framesForwardKinematics(self._scene.model, self._data, self._with(step.q))
        for contact in made:
            old = self._last(step, contact)
            here = self._data.oMf[self._scene.surfaces[contact.surface].frame_id].translation
            if old is not None and np.linalg.norm(here - old.pose.translation) > _OFF:
                return True
        return False

    def _with(self, q_body: Array) -> Array:
        """Return the scene's configuration with the body's, (nq,)."""
        q = self._scene.q0.copy()
        q[self._body.q_slice] = q_body
        return q

    def _come_to_rest(self, label: str, number: int, contacts: list[str]) -> None:
        """Write the state that reaches a phase's posture before a limb leaves it: a goal is reached there."""
        # the curve does not stop there: the target is the posture's own centre of mass
        place = None if self._curves is None else self._curves.to_rest(number, self._com_at_rest(number), _REST)
        tasks = self._tasks(self._steps[number], _REST, place)
        ends = {"type": "reference_done", "task": f"{self._part.stem}_posture"}
        self._state(
            self._called(f"rest_{label}"), contacts, tasks, [{"to": self._called(f"swing_{label}"), "when": ends}]
        )

    def _go_around(self, number: int, contacts: list[str], way: Sequence[Array]) -> None:
        """Write the states that lead a free limb around obstacles, with the rest of the body in the phase's posture."""
        step, task, place = self._steps[number], f"{self._part.stem}_posture", self._com_at_rest(number)
        for k, (before, q) in enumerate(pairwise([self._posture_of(step), *way]), 1):
            duration = max(self._pace.least, float(np.abs(q[7:] - before[7:]).max()) / JOINT_SPEED)
            if k == 1 and number:
                duration = max(duration, _REST)
            com = None
            if self._curves is not None:
                com = self._curves.to_rest(number, place, duration) if k == 1 else at_rest(place, duration)
            tasks = self._tasks(replace(step, q=q), duration, com)
            tasks[task]["weight"] = _FOLLOWED
            after = f"way_{number:02d}_{k + 1}" if k < len(way) else f"swing_{number:02d}"
            ends = {"to": self._called(after), "when": {"type": "reference_done", "task": task}}
            self._state(self._called(f"way_{number:02d}_{k}"), contacts, tasks, [ends])

    def _posture_of(self, step: _Step) -> Array:
        if step.q is None:
            raise ValueError("a step has no posture")
        return step.q

    def _com_at_rest(self, number: int) -> Array:
        return com_of(self._scene, self._name, self._with(self._posture_of(self._steps[number])))

    def _shift(self, label: str, following: _Step, contacts: list[str], after: str) -> None:
        number = self._steps.index(following) - 1
        if self._curves is None:
            tasks, when = self._tasks(following, self._com_duration(following)), self._when_there(after)
        else:
            curve = self._curves.target(number)
            # a posture at rest is assumed after the shift, whose curve ends elsewhere
            towards = self._steps[number] if "rest" in after else following
            tasks, when = self._tasks(towards, self._curves.duration(number), curve), self._when_passing(after)
        halt: Entry = {"to": self._called(f"halt_{label}"), "when": {"type": "command", "name": HALT}}
        self._state(self._called(f"shift_{label}"), contacts, tasks, [halt, when])
        self._halt(label, contacts)

    def _halt(self, label: str, contacts: list[str]) -> None:
        """Write the states after a halt: the weight shifts to the centre of all contacts and stays there."""
        tasks, stem = self._tasks(self._steps[0], None), self._part.stem
        middle = {"over_contacts": contacts, "duration": 1.0}
        tasks[self._com_task] = {**tasks[self._com_task], "axes": ["x", "y"], "target": middle}
        tasks[f"{stem}_posture"] = {**tasks[f"{stem}_posture"], "posture": "entry"}
        tasks.pop(f"{stem}_base", None)
        halted = self._called(f"halted_{label}")
        self._state(self._called(f"halt_{label}"), contacts, tasks, [self._when_there(halted)])
        self._rest(halted, "stays where it was halted", contacts, tasks, FOREVER)

    def _swing(
        self, label: str, step: _Step, following: _Step, contacts: list[str], made: Sequence[Contact], after: str
    ) -> None:
        pace = self._pace
        over: list[Entry] = []
        down: list[Entry] = []
        if self._curves is None:
            duration = max(swing_time(pace, distance(self._last(step, contact), contact)) for contact in made)
            tasks = self._tasks(following, duration)
            landing = self._tasks(following, pace.landing)
        else:
            number = self._steps.index(step)
            duration = self._curves.duration(number) - pace.landing
            curve = self._curves.target(number, 0.0, duration)
            if number in self._ways or self._rests(number, made):
                curve = self._curves.from_rest(number, self._com_at_rest(number), duration)
            tasks = self._tasks(following, duration, curve)
            landing = self._tasks(following, pace.landing, self._curves.target(number, duration))
            down.append({"type": "reference_done", "task": self._com_task})
        for contact in made:
            task = f"{contact.effector}_to_place"
            pose, normal = contact.pose, contact.normal
            above = pin.SE3(pose.rotation, pose.translation + pace.above * normal)
            pressed = pin.SE3(pose.rotation, pose.translation - 0.003 * normal)
            old = self._last(step, contact)
            kept = step.phase.contacts
            via = None if old is None else control_points(old, contact, above, kept, pace.lift)
            if old is not None and via is None:
                via = self._clearance.raised(contact.surface, old.pose, above, pace.lift)
            lift = 0.0 if self._steps.index(step) in self._ways else pace.lift
            tasks[task] = limb_task(contact, above, duration, lift, via)
            landing[task] = {**limb_task(contact, pressed, pace.landing, 0.0), "weight": 4000}
            over += [{"type": "reference_done", "task": task}, {"type": "task", "task": task, "error": 0.05}]
            down.append({"type": "touching", "contact": self._contact(contact)})
        landed, lands = self._called(f"land_{label}"), {"type": "all", "of": over}
        self._state(self._called(f"swing_{label}"), contacts, tasks, [{"to": landed, "when": lands}])
        self._state(landed, contacts, landing, [{"to": after, "when": {"type": "all", "of": down}}])

    def _when_there(self, to: str) -> Entry:
        return {"to": to, "when": {"type": "task", "task": self._com_task, "error": 0.01, "speed": 0.05}}

    def _when_passing(self, to: str) -> Entry:
        """Return the transition at the end of a phase's curve, without a stop of the centre of mass."""
        return {"to": to, "when": {"type": "task", "task": self._com_task, "error": 0.02}}

    def _state(self, name: str, contacts: list[str], tasks: Mapping[str, Entry], transitions: list[Entry]) -> None:
        timeout = round(max(map(_duration, tasks.values())) + self._pace.timeout, 6)
        self._states[name] = StateSpec.model_validate(
            {**self._shared(contacts, tasks), "transitions": transitions, "timeout": timeout}
        )

    def _rest(self, name: str, what: str, contacts: list[str], tasks: Mapping[str, Entry], hold: float) -> None:
        shared = self._shared(contacts, tasks)
        self._states[name] = StateSpec.model_validate({**shared, "description": what, "hold": hold})

    def _shared(self, contacts: list[str], tasks: Mapping[str, Entry]) -> Entry:
        """Return the contacts and tasks of a state, with those of the surrounding motion."""
        return {"contacts": [*contacts, *self._part.contacts], "tasks": {**tasks, **self._part.tasks}}

    # -------------------------------------------------------------------------------------------------- tasks
    def _tasks(
        self, step: _Step, duration: float | None, curves: list[dict[str, object]] | None = None
    ) -> dict[str, Entry]:
        """Return the tasks for a step's posture and centre of mass, or for curves."""
        target = {"curves": curves} if curves else {**self._com_target(step), "duration": duration}
        # the height is that of the posture: on a curve beyond the reach of the legs, the task would raise the arms
        follows = self._curves is not None and step.q is None
        return body_tasks(
            self._scene, self._body, target, step.q, stem=self._part.stem, duration=duration, height=follows
        )

    def _com_target(self, step: _Step) -> Entry:
        if self._curves is not None:
            return {"position": numbers(self._curves.end)}
        com = step.phase.com.get(self._name)
        if com is None:
            return {"over_contacts": self._names(step.phase)}
        return {"position": numbers(com)}

    def _com_duration(self, following: _Step) -> float:
        number = self._steps.index(following)
        here, there = (self._steps[k].phase.com.get(self._name) for k in (number - 1, number))
        if here is None or there is None:
            return max(self._pace.least, 0.8)
        return max(self._pace.least, float(np.linalg.norm(there - here)) / self._pace.com)

    def _last(self, step: _Step, contact: Contact) -> Contact | None:
        """Return the last contact of a limb, or None."""
        for earlier in reversed(self._steps[: self._steps.index(step) + 1]):
            for old in earlier.phase.contacts:
                if old.surface == contact.surface:
                    return old
        return None

    # ----------------------------------------------------------------------------------------------- contacts
    def _names(self, phase: ContactPhase) -> list[str]:
        return [self._contact(contact) for contact in phase.contacts]

    def _contact(self, contact: Contact) -> str:
        if contact.other is None:
            raise MultiQpError(f"contact {contact.name!r}: the sequence does not specify which surface it touches")
        if contact.other not in self._scene.surfaces:
            raise MultiQpError(f"contact {contact.name!r}: no surface {contact.other!r} in the scene")
        name = self._part.contact(contact)
        self._contacts[name] = ContactSpec(surfaces=(contact.surface, contact.other), friction=contact.friction)
        return name


def _duration(task: Entry) -> float:
    """Return the time that the reference of a task takes [s]."""
    target = task.get("target", task)
    parts = target.get("curves", [target])
    return float(sum(part.get("duration") or 0.0 for part in parts))


def _one_change_at_a_time(sequence: ContactSequence, postures: Sequence[Array] | None) -> list[_Step]:
    """Return the phases with single changes; two with equal contacts are a shift of the weight."""
    steps: list[_Step] = []
    for phase, source in sequence.with_single_changes():
        q = None if postures is None else steps[-1].q if source is None else postures[source]
        steps.append(_Step(phase, q))
    return steps
