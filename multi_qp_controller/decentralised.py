"""Characters who know of one another late: each solves the whole QP for himself and follows his own torques of it."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np

from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.subsystem import Subsystem


class DecentralisedController(Controller):
    """The controller of the first character, and one more of the same kind for each other one.

    Everybody sees himself, the objects and the surroundings as they are, and the other characters as they were
    `delay` ago. Each runs the state machine for himself. Contacts and diagnostics are those of the first.

    Source: the future work that [Vaillant2015] section 6 names.
    """

    def __init__(self, scenario: Scenario, *, delay: float, **settings: Any) -> None:
        """Prepare; `delay` [s] is rounded to control periods, the other settings are those of `Controller`."""
        super().__init__(scenario, **settings)
        self._characters = scenario.scene.characters
        self._fellows = [Controller(scenario, **settings) for _ in self._characters[1:]]
        self._past: deque[State] = deque(maxlen=1 + round(delay / self.dt))

    def step(self, state: State, time: float) -> Command:
        """Answer one state with everybody's own torques."""
        self._past.append(state)
        then = self._past[0]
        first, *others = self._characters
        command = super().step(self._seen_by(first, state, then), time)
        tau = command.tau.copy()
        for character, fellow in zip(others, self._fellows, strict=True):
            fellow.attended = self.attended
            own = fellow.step(self._seen_by(character, state, then), time)
            tau[character.actuated] = own.tau[character.actuated]
            if own.diagnostics.status is Status.FALLBACK and command.diagnostics.status is Status.OK:
                diagnostics = replace(command.diagnostics, status=Status.RELAXED, message=own.diagnostics.message)
                command = replace(command, diagnostics=diagnostics)
        return replace(command, tau=tau)

    def _seen_by(self, character: Subsystem, now: State, then: State) -> State:
        q, v = np.array(now.q), np.array(now.v)
        for other in self._characters:
            if other is not character:
                q[other.q_slice], v[other.v_slice] = then.q[other.q_slice], then.v[other.v_slice]
        return State(q, v)
