"""A contact sequence as states of the machine that the controller runs.

Nobody has to write them: where contacts come off, the weight first goes to those that stay; then the limb swings over
its new place and is set down until it touches. How it gets past obstacles is not said: the collision rows see to that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from com_trajectory.trajectory import ComTrajectory
from multi_qp_controller.phase_curves import PhaseCurves
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.scenario_file import CollisionPairSpec, CollisionsSpec, ContactSpec, ScenarioFile
from multi_qp_scene.schema.states import StateSpec
from multi_qp_scene.subsystem import Subsystem

Array = NDArray[np.float64]

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


def with_states(
    scenario: Scenario,
    sequence: ContactSequence,
    postures: Sequence[Array] | None = None,
    *,
    pace: Pace | None = None,
    hold: float = 0.5,
    trajectory: ComTrajectory | None = None,
) -> Scenario:
    """Return the scenario with states that go through a contact sequence.

    What the scenario says of tasks, goals and collisions is kept; what the sequence needs is added.

    Args:
        scenario: the scenario; its own states are replaced.
        sequence: contacts of one of its subsystems, phase by phase.
        postures: for each phase a configuration of that subsystem to be near, (nq,) each; its initial one if left out.
        pace: how fast.
        hold: how long the last state lasts [s].
        trajectory: of the centre of mass through the phases of this sequence, to be followed with its velocity and
            acceleration, slowed down as a whole until limbs can follow; else it goes from rest to rest.

    Raises:
        MultiQpError: the sequence is of several subsystems or of none of the scenario's, does not say what a contact
            touches, or has another number of phases than there are postures.
    """
    writer = _Writer(scenario, sequence, postures, pace or Pace(), hold, trajectory)
    spec = scenario.spec
    contacts, states = writer.write()
    duration = sum((state.timeout or 0.0) for state in states.values()) + hold + 1.0
    return replace(
        scenario,
        spec=spec.model_copy(
            update={
                "contacts": {**spec.contacts, **contacts},
                "states": states,
                "initial_state": next(iter(states)),
                "collisions": _collisions(scenario.scene, spec, sequence),
                "duration": max(spec.duration, duration),
            }
        ),
    )


@dataclass(frozen=True, eq=False)
class _Step:
    """A phase with the posture that belongs to it."""

    phase: ContactPhase
    q: Array | None


class _Writer:
    def __init__(
        self,
        scenario: Scenario,
        sequence: ContactSequence,
        postures: Sequence[Array] | None,
        pace: Pace,
        hold: float,
        trajectory: ComTrajectory | None,
    ) -> None:
        if len(sequence.subsystems) != 1:
            named = ", ".join(sequence.subsystems)
            raise MultiQpError(f"a sequence of one subsystem can be run, this one has {named}")
        self._name = sequence.subsystems[0]
        if self._name not in scenario.scene.subsystems:
            raise MultiQpError(f"the sequence is of {self._name!r}, which is no subsystem of {scenario.name}")
        if postures is not None and len(postures) != len(sequence.phases):
            raise MultiQpError(f"expected {len(sequence.phases)} postures, one a phase, got {len(postures)}")
        self._scene = scenario.scene
        self._pace, self._hold = pace, hold
        self._body = scenario.scene.subsystems[self._name]
        self._contacts: dict[str, ContactSpec] = {}
        self._states: dict[str, StateSpec] = {}
        if trajectory is None:
            self._steps = _one_change_at_a_time(sequence, postures)
        else:
            own = [None] * len(trajectory.phases) if postures is None else list(postures)
            self._steps = [_Step(planned.phase, q) for planned, q in zip(trajectory.phases, own, strict=True)]
        self._joints = _joints(self._scene, self._body)
        self._curves = None if trajectory is None else self._slow_enough(trajectory)

    def _slow_enough(self, trajectory: ComTrajectory) -> PhaseCurves:
        """Return the trajectory, slowed down until each limb has the time that its swing takes at the pace."""
        curves, factor = PhaseCurves(trajectory), 1.0
        for number, (step, following) in enumerate(zip(self._steps, self._steps[1:], strict=False)):
            for contact in step.phase.made(following.phase):
                swing = max(self._pace.least, self._swing_duration(step, following, contact)) + self._pace.landing
                factor = max(factor, swing / max(curves.duration(number), 1e-3))
        return PhaseCurves(trajectory, slower=factor)

    def write(self) -> tuple[dict[str, ContactSpec], dict[str, StateSpec]]:
        """Return the contacts and the states, in order."""
        names = [self._names(step.phase) for step in self._steps]
        labels = [f"{number:02d}" for number in range(len(self._steps))]
        for number, (step, following) in enumerate(zip(self._steps, self._steps[1:], strict=False)):
            label = labels[number]
            made = step.phase.made(following.phase)
            after = self._entry(number + 1)
            if made:
                self._swing(label, step, following, names[number], made, after)
            else:
                self._shift(f"shift_{label}", following, names[number], after)
        last = self._steps[-1]
        settling = None if self._curves is None else self._curves.target(len(self._steps) - 1)
        self._state("settle", names[-1], self._tasks(last, 1.0, settling), [self._when_there("done")])
        self._states["done"] = StateSpec.model_validate(
            {"description": "stays", "contacts": names[-1], "hold": self._hold, "tasks": self._tasks(last, None)}
        )
        return self._contacts, self._states

    def _entry(self, number: int) -> str:
        """Return the name of the first state of a phase."""
        if number == len(self._steps) - 1:
            return "settle"
        made = self._steps[number].phase.made(self._steps[number + 1].phase)
        return f"{'swing' if made else 'shift'}_{number:02d}"

    def _shift(self, name: str, following: _Step, contacts: list[str], after: str) -> None:
        number = self._steps.index(following) - 1
        if self._curves is None:
            tasks, when = self._tasks(following, self._com_duration(following)), self._when_there(after)
        else:
            curve = self._curves.target(number)
            tasks, when = self._tasks(following, self._curves.duration(number), curve), self._when_passing(after)
        label = name.partition("_")[2]
        halt: dict[str, object] = {"to": f"halt_{label}", "when": {"type": "command", "name": HALT}}
        self._state(name, contacts, tasks, [halt, when])
        self._halt(label, contacts)

    def _halt(self, label: str, contacts: list[str]) -> None:
        """Write what a halt leads to: the weight goes to the middle of all contacts, and stays there."""
        tasks = self._tasks(self._steps[0], None)
        middle = {"over_contacts": contacts, "duration": 1.0}
        tasks["planned_com"] = {**tasks["planned_com"], "axes": ["x", "y"], "target": middle}
        tasks["planned_posture"] = {**tasks["planned_posture"], "posture": "entry"}
        tasks.pop("planned_base", None)
        self._state(f"halt_{label}", contacts, tasks, [self._when_there(f"halted_{label}")])
        self._states[f"halted_{label}"] = StateSpec.model_validate(
            {"description": "stays where it was halted", "contacts": contacts, "tasks": tasks, "hold": FOREVER}
        )

    def _swing(
        self, label: str, step: _Step, following: _Step, contacts: list[str], made: Sequence[Contact], after: str
    ) -> None:
        pace = self._pace
        over: list[dict[str, object]] = []
        down: list[dict[str, object]] = []
        if self._curves is None:
            duration = max(pace.least, *(self._swing_duration(step, following, contact) for contact in made))
            tasks = self._tasks(following, duration)
            landing = self._tasks(following, pace.landing)
        else:
            number = self._steps.index(step)
            duration = self._curves.duration(number) - pace.landing
            tasks = self._tasks(following, duration, self._curves.target(number, 0.0, duration))
            landing = self._tasks(following, pace.landing, self._curves.target(number, duration))
            down.append({"type": "reference_done", "task": "planned_com"})
        for contact in made:
            task = f"{contact.effector}_to_place"
            pose, normal = contact.pose, contact.normal
            above = pin.SE3(pose.rotation, pose.translation + pace.above * normal)
            pressed = pin.SE3(pose.rotation, pose.translation - 0.003 * normal)
            tasks[task] = _limb_task(contact, above, duration, pace.lift)
            landing[task] = {**_limb_task(contact, pressed, pace.landing, 0.0), "weight": 4000}
            over += [{"type": "reference_done", "task": task}, {"type": "task", "task": task, "error": 0.05}]
            down.append({"type": "touching", "contact": self._contact(contact)})
        self._state(f"swing_{label}", contacts, tasks, [{"to": f"land_{label}", "when": {"type": "all", "of": over}}])
        self._state(f"land_{label}", contacts, landing, [{"to": after, "when": {"type": "all", "of": down}}])

    def _when_there(self, to: str) -> dict[str, object]:
        return {"to": to, "when": {"type": "task", "task": "planned_com", "error": 0.01, "speed": 0.05}}

    def _when_passing(self, to: str) -> dict[str, object]:
        """Go on when the curve of a phase is run through; the centre of mass does not stop."""
        return {"to": to, "when": {"type": "task", "task": "planned_com", "error": 0.02}}

    def _state(
        self, name: str, contacts: list[str], tasks: Mapping[str, object], transitions: list[dict[str, object]]
    ) -> None:
        self._states[name] = StateSpec.model_validate(
            {"contacts": contacts, "tasks": tasks, "transitions": transitions, "timeout": self._pace.timeout}
        )

    # -------------------------------------------------------------------------------------------------- tasks
    def _tasks(
        self, step: _Step, duration: float | None, curves: list[dict[str, object]] | None = None
    ) -> dict[str, dict[str, object]]:
        """Return the tasks that bring the body to a step's posture and centre of mass, or along curves."""
        target = {"curves": curves} if curves else {**self._com_target(step), "duration": duration}
        # a posture has its own height; arms would be thrown up for one on the curve that its legs do not reach
        follows = self._curves is not None and step.q is None
        tasks: dict[str, dict[str, object]] = {
            "planned_com": {
                "type": "com",
                "subsystems": [self._name],
                "axes": ["x", "y", "z"] if follows else ["x", "y"],
                "target": target,
                "weight": 1000,
                "stiffness": 100,
            }
        }
        posture: object = "initial"
        if step.q is not None:
            angles = step.q[7:] if self._body.floating else step.q
            posture = {joint: _short(angle) for joint, angle in zip(self._joints, angles, strict=True)}
        tasks["planned_posture"] = {
            "type": "posture", "subsystem": self._name, "posture": posture, "duration": duration,
            "weight": 0.3 if follows else 2, "stiffness": 20,
        }  # fmt: skip
        if step.q is not None and self._body.floating:
            base = pin.XYZQUATToSE3(step.q[:7])
            tasks["planned_base"] = {
                "type": "pose", "frame": self._body.base_link, "axes": ["z", "roll", "pitch", "yaw"],
                "target": {"position": _numbers(base.translation), "rpy": _rpy(base), "duration": duration},
                "weight": 20, "stiffness": 20,
            }  # fmt: skip
        return tasks

    def _com_target(self, step: _Step) -> dict[str, object]:
        if self._curves is not None:
            return {"position": _numbers(self._curves.end)}
        com = step.phase.com.get(self._name)
        if com is None:
            return {"over_contacts": self._names(step.phase)}
        return {"position": _numbers(com)}

    def _com_duration(self, following: _Step) -> float:
        number = self._steps.index(following)
        here, there = (self._steps[k].phase.com.get(self._name) for k in (number - 1, number))
        if here is None or there is None:
            return max(self._pace.least, 0.8)
        return max(self._pace.least, float(np.linalg.norm(there - here)) / self._pace.com)

    def _swing_duration(self, step: _Step, following: _Step, contact: Contact) -> float:
        """Return how long a limb takes; from where it last touched, if it did."""
        number = self._steps.index(step)
        for earlier in reversed(self._steps[: number + 1]):
            for old in earlier.phase.contacts:
                if old.surface == contact.surface:
                    away = float(np.linalg.norm(old.pose.translation - contact.pose.translation))
                    return (away + 2.0 * self._pace.lift) / self._pace.limb
        return max(1.0, self._com_duration(following))

    # ----------------------------------------------------------------------------------------------- contacts
    def _names(self, phase: ContactPhase) -> list[str]:
        return [self._contact(contact) for contact in phase.contacts]

    def _contact(self, contact: Contact) -> str:
        if contact.other is None:
            raise MultiQpError(f"contact {contact.name!r}: the sequence does not say which surface it touches")
        if contact.other not in self._scene.surfaces:
            raise MultiQpError(f"contact {contact.name!r}: there is no surface {contact.other!r} in the scene")
        name = contact_name(contact.effector, contact.other)
        self._contacts[name] = ContactSpec(surfaces=(contact.surface, contact.other), friction=contact.friction)
        return name


def contact_name(effector: str, other: str) -> str:
    """Return what the contact of an effector with another subsystem's surface is called in planned states."""
    return f"{effector}_on_{other.replace('/', '_')}"


def _one_change_at_a_time(sequence: ContactSequence, postures: Sequence[Array] | None) -> list[_Step]:
    """Return the phases, with one between any two that break contacts and make others at once.

    Two phases with the same contacts are a shift of the weight.
    """
    steps: list[_Step] = []
    for number, phase in enumerate(sequence.phases):
        q = None if postures is None else postures[number]
        if steps:
            before = steps[-1].phase
            if before.broken(phase) and before.made(phase):
                kept = before.kept(phase)
                if not kept:
                    label = phase.name or f"number {number + 1}"
                    raise MultiQpError(f"contact sequence {sequence.name!r}: phase {label} keeps none of the last's")
                steps.append(_Step(ContactPhase(kept), steps[-1].q))
        steps.append(_Step(phase, q))
    return steps


def _limb_task(contact: Contact, pose: pin.SE3, duration: float, lift: float) -> dict[str, object]:
    axes = ["x", "y", "z"] if contact.kind == "point" else ["x", "y", "z", "roll", "pitch", "yaw"]
    target = {"position": _numbers(pose.translation), "rpy": _rpy(pose), "duration": duration, "apex": lift}
    return {
        "type": "pose", "frame": contact.surface, "axes": axes, "target": target, "weight": 1000, "stiffness": 100,
    }  # fmt: skip


def _collisions(scene: Scene, spec: ScenarioFile, sequence: ContactSequence) -> CollisionsSpec:
    """Return the scenario's pairs, and those of the limbs' ends with everything that does not move."""
    surfaces = {contact.surface for phase in sequence.phases for contact in phase.contacts}
    ends = sorted({scene.surfaces[surface].link for surface in surfaces})
    fixed = [link for piece in scene.environment.values() for link in piece.links]
    # the ends come flush to what they touch: these may close to zero, softly
    pairs = [CollisionPairSpec(bodies=(end, link), influence=0.06, security=0.0002) for end in ends for link in fixed]
    return spec.collisions.model_copy(update={"pairs": [*spec.collisions.pairs, *pairs]})


def _joints(scene: Scene, body: Subsystem) -> list[str]:
    """Return the names of the joints of a subsystem after its free-flyer, in the order of q."""
    prefix = f"{body.name}/"
    own = [name for name in scene.joint_names if name.startswith(prefix)]
    return [name.removeprefix(prefix) for name in (own[1:] if body.floating else own)]


def _short(number: float) -> float:
    return round(float(number), 5)


def _numbers(values: Array) -> list[float]:
    return [round(float(value), 6) for value in values]


def _rpy(pose: pin.SE3) -> list[float]:
    return _numbers(pin.rpy.matrixToRpy(pose.rotation))
