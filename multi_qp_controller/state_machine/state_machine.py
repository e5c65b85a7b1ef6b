"""Finite state machine over the states of a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from multi_qp_controller.state_machine.conditions import Condition, make_condition
from multi_qp_controller.state_machine.running_generators import RunningGenerators
from multi_qp_controller.state_machine.transition_context import TransitionContext
from multi_qp_scene.errors import ArgumentError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.states import StateSpec
from multi_qp_scene.schema.tasks import TaskSpec
from multi_qp_scene.stateful import Stateful
from multi_qp_scene.suggestions import unknown_name


class Transition(NamedTuple):
    """Transition to another state.

    Attributes:
        to: name of that state.
        when: its condition.
    """

    to: str
    when: Condition


@dataclass(frozen=True)
class MachineState:
    """One state: its active contacts and tasks.

    Attributes:
        name: name of the state.
        spec: specification in the scenario file.
        contacts: names of the active contacts.
        tasks: the active tasks: those of the scenario, overridden by those of the state, and those of its generators.
        owned_contacts: names of the contacts that its generators make and break.
        transitions: its transitions in order of precedence.
    """

    name: str
    spec: StateSpec
    contacts: tuple[str, ...]
    tasks: dict[str, TaskSpec]
    owned_contacts: tuple[str, ...] = ()
    transitions: tuple[Transition, ...] = ()


class StateMachine(Stateful):
    """State machine of a scenario.

    Attributes:
        present: the present state.
        entered: time at which it was entered [s].
        visited: names of all states so far, in order.
        commands: pending user commands.
    """

    @dataclass
    class Checkpoint:
        """Name of the present state, its entry time, visited states and pending commands."""

        state: str
        entered: float
        visited: list[str]
        commands: frozenset[str]

    def __init__(self, scenario: Scenario, generators: RunningGenerators | None = None) -> None:
        """Create the states; `generators` are those of all states."""
        self._states = {
            name: _machine_state(scenario, name, spec, generators) for name, spec in scenario.spec.states.items()
        }
        self.commands: frozenset[str] = frozenset()
        self._known_commands = {name for state in self._states.values() for name in state.spec.commands}
        self._new_contacts = {
            (state.name, way.to): tuple(c for c in self._states[way.to].contacts if c not in state.contacts)
            for state in self._states.values()
            for way in state.transitions
        }
        self.present = self._states[scenario.spec.initial_state]
        self.entered = 0.0
        self.visited = [self.present.name]

    @property
    def states(self) -> tuple[MachineState, ...]:
        """All states."""
        return tuple(self._states.values())

    @property
    def named(self) -> dict[str, MachineState]:
        """All states by name; read-only."""
        return self._states

    @property
    def state(self) -> str:
        """Name of the present state."""
        return self.present.name

    @state.setter
    def state(self, name: str) -> None:
        self.present = self._states[name]

    @property
    def finished(self) -> bool:
        """Whether the present state is final (without transitions)."""
        return not self.present.transitions

    def command(self, name: str) -> None:
        """Add a user command; it stays pending until a state has a transition for it.

        Raises:
            ArgumentError: when no state has such a transition.
        """
        if not isinstance(name, str) or name not in self._known_commands:
            raise ArgumentError(unknown_name("command", name, self._known_commands))
        self.commands |= {name}

    def timed_out(self, time: float) -> bool:
        """Return whether the present state has exceeded its timeout."""
        timeout = self.present.spec.timeout
        return timeout is not None and time - self.entered > timeout

    def due(self, now: TransitionContext) -> str | None:
        """Return the target state of the first transition that is due, None if there is none.

        A transition is due when its condition holds and the contacts that its state adds are closed.
        """
        for transition in self.present.transitions:
            if transition.when.holds(now) and not now.open_contacts(self.new_contacts(transition.to)):
                return transition.to
        return None

    def new_contacts(self, name: str) -> tuple[str, ...]:
        """Return the contacts of a state that the present one does not have."""
        return self._new_contacts[self.present.name, name]

    def enter(self, name: str, time: float) -> None:
        """Enter a state at a time [s]; pending commands are discarded."""
        self.present = self._states[name]
        self.entered = time
        self.visited.append(name)
        self.commands = frozenset()


def _machine_state(
    scenario: Scenario, name: str, state: StateSpec, generators: RunningGenerators | None
) -> MachineState:
    tasks: dict[str, TaskSpec | None] = {**scenario.spec.tasks, **state.tasks}
    on = {task_name: task for task_name, task in tasks.items() if task is not None}
    owned: tuple[str, ...] = ()
    if generators is not None:
        on |= generators.task_specs(name)
        owned = generators.owned_contacts(name)
    transitions = tuple(Transition(way.to, make_condition(way.when)) for way in state.transitions)
    return MachineState(name, state, tuple(state.contacts), on, owned, transitions)
