"""The state machine: which contacts and tasks are on, and when that changes."""

from __future__ import annotations

from dataclasses import dataclass

from multi_qp_controller.conditions import Situation, holds, parts_of
from multi_qp_controller.memory import Memory
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.states import CommandCondition, StateSpec
from multi_qp_scene.schema.tasks import TaskSpec


@dataclass(frozen=True)
class Phase:
    """What one state asks for.

    Attributes:
        name: of the state.
        spec: as the file has it.
        contacts: names of the contacts that are on.
        tasks: the tasks that are on: those of the scenario with the state's own over them.
    """

    name: str
    spec: StateSpec
    contacts: tuple[str, ...]
    tasks: dict[str, TaskSpec]


class StateMachine:
    """Runs through the states of a scenario.

    Attributes:
        phase: the present state.
        entered: when it was entered [s].
        visited: names of all states so far, in order.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._phases = {name: _phase(scenario, name, spec) for name, spec in scenario.spec.states.items()}
        self._commands: set[str] = set()
        self.phase = self._phases[scenario.spec.initial_state]
        self.entered = 0.0
        self.visited = [self.phase.name]

    @property
    def phases(self) -> tuple[Phase, ...]:
        """All states."""
        return tuple(self._phases.values())

    @property
    def named(self) -> dict[str, Phase]:
        """All states by name; only to be read."""
        return self._phases

    @property
    def commands(self) -> frozenset[str]:
        """Commands that wait for a transition."""
        return frozenset(self._commands)

    @property
    def finished(self) -> bool:
        """Whether the present state has no way on."""
        return not self.phase.spec.transitions

    def memory(self) -> Memory:
        """Return where it stands."""
        return {
            "state": self.phase.name,
            "entered": self.entered,
            "visited": list(self.visited),
            "commands": sorted(self._commands),
        }

    def resume(self, memory: Memory) -> None:
        """Go on from a memory."""
        self.phase = self._phases[memory["state"]]
        self.entered = memory["entered"]
        self.visited = list(memory["visited"])
        self._commands = set(memory["commands"])

    def command(self, name: str) -> None:
        """Give a user's command; it waits until a state has a transition for it."""
        self._commands.add(name)

    def timed_out(self, time: float) -> bool:
        """Return whether the present state has lasted too long."""
        timeout = self.phase.spec.timeout
        return timeout is not None and time - self.entered > timeout

    def due(self, now: Situation) -> str | None:
        """Return where the first transition leads whose condition holds, None if none does."""
        for transition in self.phase.spec.transitions:
            if holds(transition.when, now):
                return transition.to
        return None

    def enter(self, name: str, time: float) -> None:
        """Go to a state."""
        self.phase = self._phases[name]
        self.entered = time
        self.visited.append(name)
        self._commands.clear()


def commands_in(state: StateSpec) -> tuple[str, ...]:
    """Return the user's commands that the transitions of a state wait for."""
    parts = [part for transition in state.transitions for part in parts_of(transition.when)]
    return tuple(dict.fromkeys(part.name for part in parts if isinstance(part, CommandCondition)))


def _phase(scenario: Scenario, name: str, state: StateSpec) -> Phase:
    tasks: dict[str, TaskSpec | None] = {**scenario.spec.tasks, **state.tasks}
    on = {task_name: task for task_name, task in tasks.items() if task is not None}
    return Phase(name, state, tuple(state.contacts), on)
