"""Active contacts that bear nothing in the simulation, although the QP relies on their forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multi_qp_controller.command import Command, Status
from multi_qp_scene.scenario import Scenario
from multi_qp_simulator.backend import Outcome
from multi_qp_simulator.touches import lighter_weight

#: Least impulse of an episode that is reported [N s].
LEAST = 0.1


@dataclass
class _Episode:
    time: float
    state: str
    duration: float = 0.0
    force: float = 0.0
    impulse: float = 0.0


class LostContacts:
    """Episodes in which links of an active contact exert no force on each other; the worst of each contact is kept.

    Contacts of the same links are one here: which of them a simulated force belongs to is a convention.
    """

    def __init__(self, scenario: Scenario) -> None:
        scene, contacts = scenario.scene, scenario.spec.contacts.items()
        self._links = {name: frozenset(scene.surfaces[s].link for s in contact.surfaces) for name, contact in contacts}
        self._weights = {name: lighter_weight(scene, links) for name, links in self._links.items()}
        self._present: dict[str, _Episode] = {}
        self._worst: dict[str, _Episode] = {}

    def observe(self, command: Command, outcome: Outcome, dt: float) -> None:
        """Add one tick of a period [s]."""
        if command.diagnostics.status is Status.FALLBACK:
            return
        touching = {self._links[name] for name, wrench in outcome.wrenches.items() if wrench[:3].any()}
        lost = [name for name in command.wrenches if self._links[name] not in touching]
        for name in self._present.keys() - set(lost):
            del self._present[name]
        for name in lost:
            episode = self._present.setdefault(name, _Episode(command.time, command.diagnostics.state))
            force = float(np.linalg.norm(command.wrenches[name][:3]))
            episode.duration += dt
            episode.force = max(episode.force, force)
            episode.impulse += force * dt
            if name not in self._worst or episode.impulse > self._worst[name].impulse:
                self._worst[name] = episode

    def report(self) -> list[dict[str, Any]]:
        """Return them with force [N] and impulse [N s] that the QP expected, the largest impulse first."""
        found = []
        for name, one in sorted(self._worst.items(), key=lambda item: -item[1].impulse):
            if one.impulse >= LEAST:
                weight = self._weights[name]
                found.append(
                    {
                        "contact": name,
                        "time": one.time,
                        "state": one.state,
                        "duration": one.duration,
                        "force_n": one.force,
                        "impulse_ns": one.impulse,
                        "impulse_of_weight": None if weight is None else one.impulse / weight,
                    }
                )
        return found
