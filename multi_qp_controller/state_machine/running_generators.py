"""The motion generators of the present state: their start, update, faults and saved state."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from multi_qp_controller.contacts.contact_gap import contact_gap, within_tolerance
from multi_qp_controller.incidents import IncidentLog, described
from multi_qp_controller.motion_generator import GeneratorInput, GeneratorOutput, MotionGenerator, make_generator
from multi_qp_controller.tasks import Task
from multi_qp_scene.errors import ArgumentError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.tasks import CoMTaskSpec, PoseTaskSpec, TaskSpec
from multi_qp_scene.stateful import Stateful, conformed
from multi_qp_scene.suggestions import unknown_name

#: Largest number of combinations of contact sets of several generators for which plans are built in advance.
MOST_COMBINATIONS = 64


class RunningGenerators(Stateful):
    """The generators of all states, and those of the present one.

    Attributes:
        of_states: generators by name, for each state.
        present: generators of the present state by name.
        done: names of the generators that are done.
        faults: description of the exception of each generator that failed in the last tick.
    """

    @dataclass
    class Checkpoint:
        """State of one generator, an object of `Checkpoint` of its class, its changed settings and its last output."""

        generator: Any
        changed: dict[str, float]
        contacts: list[str]
        references: list[str]
        done: bool

    def __init__(self, scenario: Scenario, incidents: IncidentLog) -> None:
        """Create all generators.

        Raises:
            MultiQpError: when one of them does not fit the scene.
        """
        made: dict[tuple[str, str], MotionGenerator] = {}
        self.of_states: dict[str, dict[str, MotionGenerator]] = {}
        for state, spec in scenario.spec.states.items():
            own = self.of_states[state] = {}
            for name, one in spec.generators.items():
                key = name, repr(one)
                made[key] = own[name] = made.get(key) or make_generator(name, one, scenario)
        for generator in made.values():
            generator.tasks = {task: _followed(spec) for task, spec in generator.tasks.items()}
        self._owned = {
            state: {name: one.owned_contacts for name, one in spec.generators.items()}
            for state, spec in scenario.spec.states.items()
        }
        self._scenario, self._incidents = scenario, incidents
        self._state = ""
        self.present: dict[str, MotionGenerator] = {}
        self._outputs: dict[str, GeneratorOutput] = {}
        self.done: frozenset[str] = frozenset()
        self.faults: dict[str, str] = {}

    def task_specs(self, state: str) -> dict[str, TaskSpec]:
        """Return the tasks of a state's generators by their names in the controller."""
        generators = self.of_states[state]
        return {f"{name}/{task}": spec for name, one in generators.items() for task, spec in one.tasks.items()}

    def owned_contacts(self, state: str) -> tuple[str, ...]:
        """Return the contacts that the generators of a state own."""
        return tuple(contact for names in self._owned[state].values() for contact in names)

    def contact_sets(self, state: str) -> Iterator[tuple[str, ...]]:
        """Yield the sets of contacts that the generators of a state will activate, of all generators together."""
        sets = [list(one.contact_sets()) for one in self.of_states[state].values()]
        for parts in itertools.islice(itertools.product(*sets), MOST_COMBINATIONS):
            yield tuple(contact for part in parts for contact in part)

    def enter(self, state: str) -> None:
        """Run the generators of a state; one that the state before has with the same options continues."""
        before, self._state, self.present = self.present, state, self.of_states[state]
        same = {name for name, one in self.present.items() if before.get(name) is one}
        for name in before.keys() & self.present.keys():
            present = self.present[name]
            present.change({key: value for key, value in before[name].changed.items() if key in present.settings})
        self._outputs = {name: output for name, output in self._outputs.items() if name in same}
        self.done, self.faults = frozenset(), {}

    def named(self, name: str) -> list[MotionGenerator]:
        """Return the generators of a name: that of the present state first, then those of all states.

        Raises:
            ArgumentError: when there is none.
        """
        found = [own[name] for own in (self.present, *self.of_states.values()) if name in own]
        if not found:
            raise ArgumentError(
                unknown_name("generator", name, {one for own in self.of_states.values() for one in own})
            )
        return found

    def adjust(self, name: str, setting: str, value: float) -> None:
        """Change a setting of the generators of a name, in all states whose generator has it.

        Raises:
            ArgumentError: when there is none, or the value is not a number within its range.
        """
        named = self.named(name)
        for one in [one for one in named if setting in one.settings] or named[:1]:
            one.adjust(setting, value)

    def update(self, now: GeneratorInput, tasks: Mapping[str, Task]) -> tuple[str, ...]:
        """Update all generators; give the references to their tasks and return the active contacts.

        Args:
            now: input of this tick.
            tasks: the active tasks by name.
        """
        contacts: list[str] = []
        self.faults = {}
        for name, generator in self.present.items():
            try:
                if name not in self._outputs:
                    generator.start(now)
                output = generator.update(now)
                self._give(name, output, tasks)
                for other, change in output.changes.items():
                    self.present[other].apply(change)
                self._outputs[name] = output
            except Exception as error:  # of a user's code: the tick continues with the last contacts and references
                self.faults[name] = f"generator '{name}': {described(error)}"
                self._incidents.warn(f"{self.faults[name]}; its contacts and references are held")
                output = self._outputs.get(name) or GeneratorOutput(contacts=self._closed(name, now))
                self._hold(name, tasks)
            contacts += output.contacts
        self.done = frozenset(name for name, output in self._outputs.items() if output.done)
        return tuple(contacts)

    def warm_up(self, now: GeneratorInput) -> None:
        """Warm up the generators of the present state."""
        for name, generator in self.present.items():
            try:
                generator.warm_up(now)
            except Exception as error:  # of a user's code
                self._incidents.warn(f"generator '{name}' was not warmed up: {described(error)}")

    def _give(self, name: str, output: GeneratorOutput, tasks: Mapping[str, Task]) -> None:
        """Give the references of this tick; tasks without one have zero weight.

        Raises:
            ValueError: when a contact or a reference is not the generator's own, or a reference is invalid.
        """
        if not set(output.contacts) <= set(self._owned[self._state][name]):
            foreign = ", ".join(sorted(set(output.contacts) - set(self._owned[self._state][name])))
            raise ValueError(f"contacts that it does not own: {foreign}")
        own = self.present[name].tasks
        if not output.references.keys() <= own.keys():
            raise ValueError(f"references of unknown tasks: {', '.join(sorted(output.references.keys() - own.keys()))}")
        for task_name, numbers in output.references.items():
            expected = tasks[f"{name}/{task_name}"].reference_size
            # a finite sum of squares has finite terms, and is fast; it may also overflow for large ones
            if numbers.shape != (expected,) or not (math.isfinite(numbers.dot(numbers)) or np.isfinite(numbers).all()):
                raise ValueError(
                    f"reference of '{task_name}': expected {expected} finite numbers, got {numbers.shape}: {numbers}"
                )
        for task_name, spec in own.items():
            task, reference = tasks[f"{name}/{task_name}"], output.references.get(task_name)
            if reference is None:
                task.weight = 0.0
            else:
                task.weight = spec.weight
                task.give(reference)

    def _closed(self, name: str, now: GeneratorInput) -> tuple[str, ...]:
        """Return the contacts of a generator that are closed: one that has decided on none yet has only these."""
        scenario, found = self._scenario, []
        for contact in self._owned[self._state][name]:
            first, second = (scenario.scene.surfaces[one] for one in scenario.spec.contacts[contact].surfaces)
            X = now.kinematics.pose(second.frame_id).actInv(now.kinematics.pose(first.frame_id))
            if (now.forces or {}).get(contact, 0.0) > 0.0 or within_tolerance(
                scenario, contact, contact_gap(first, second, X)
            ):
                found.append(contact)
        return tuple(found)

    def _hold(self, name: str, tasks: Mapping[str, Task]) -> None:
        """Hold the last references of a generator that failed, at rest."""
        last = self._outputs.get(name)
        for task_name in self.present[name].tasks:
            task = tasks[f"{name}/{task_name}"]
            if last is None or task_name not in last.references or task.given is None:
                task.weight = 0.0
            else:
                task.give(task.at_rest(task.given))

    def get_state(self) -> dict[str, Checkpoint]:
        """Return the states of the present generators, those that have started."""
        return {
            name: self.Checkpoint(
                self.present[name].get_state(),
                dict(self.present[name].changed),
                list(out.contacts),
                sorted(out.references),
                out.done,
            )
            for name, out in self._outputs.items()
        }

    def restore(self, saved: dict[str, Checkpoint], state: str) -> None:
        """Restore saved states, for a state of the state machine; the references are restored with their tasks."""
        self._outputs = {}
        self.enter(state)
        for name, one in saved.items():
            generator = self.present[name]
            generator.set_state(conformed(generator.Checkpoint, one.generator, generator.scenario.scene))
            generator.change(one.changed)
            references = dict.fromkeys(one.references, np.zeros(0))
            self._outputs[name] = GeneratorOutput(tuple(one.contacts), references, one.done)
        self.done = frozenset(name for name, output in self._outputs.items() if output.done)


def _followed(spec: TaskSpec) -> TaskSpec:
    """Return a generator's task without the default of `max_speed`, which would reduce its feed-forward."""
    if isinstance(spec, PoseTaskSpec | CoMTaskSpec) and spec.max_speed is None:
        return spec.model_copy(update={"max_speed": math.inf})
    return spec
