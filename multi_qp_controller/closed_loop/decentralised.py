"""Decentralised control: each character solves the whole QP, with delayed states of the other characters."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np

from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.state_check import as_recorded
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.subsystem import Subsystem


class DecentralisedController(Controller):
    """The controller of the first character, with one more `Controller` for each other character.

    Each controller receives the present state of its own character, of objects and of the environment, and the state
    of the other characters `delay` ago. It applies its own character's torques of the solution and runs its own state
    machine. Contacts and diagnostics are those of the first character.

    Source: the future work that [Vaillant2015] section 6 names.
    """

    def __init__(self, scenario: Scenario, *, delay: float, **settings: Any) -> None:
        """Create the controllers; `delay` [s] is rounded to control periods, `settings` are those of `Controller`."""
        super().__init__(scenario, **settings)
        self._characters = scenario.scene.characters
        self._others = [Controller(scenario, **settings) for _ in self._characters[1:]]
        self._past: deque[State] = deque(maxlen=1 + round(delay / self.dt))

    def step(self, state: State, time: float) -> Command:
        """Return the command with the torques of each character from its own controller."""
        state = as_recorded(self.scenario.scene, state)
        self._past.append(State(state.q.copy(), state.v.copy()))
        then = self._past[0]
        first, *others = self._characters
        command = super().step(self._delayed_view(first, state, then), time)
        tau = command.tau.copy()
        for character, other_controller in zip(others, self._others, strict=True):
            other_controller.interactive = self.interactive
            own = other_controller.step(self._delayed_view(character, state, then), time)
            tau[character.actuated] = own.tau[character.actuated]
            if own.diagnostics.status is Status.FALLBACK and command.diagnostics.status is Status.OK:
                diagnostics = replace(command.diagnostics, status=Status.RELAXED, message=own.diagnostics.message)
                command = replace(command, diagnostics=diagnostics)
        return replace(command, tau=tau)

    def __reduce__(self) -> tuple[Any, ...]:
        """Refuse copying and pickling.

        Raises:
            MultiQpError: always, as the states of the other controllers are not part of `get_state`.
        """
        raise MultiQpError("a DecentralisedController cannot be copied or pickled: create another one")

    def _delayed_view(self, character: Subsystem, now: State, then: State) -> State:
        q, v = np.array(now.q), np.array(now.v)
        for other in self._characters:
            if other is not character:
                q[other.q_slice], v[other.v_slice] = then.q[other.q_slice], then.v[other.v_slice]
        return State(q, v)
