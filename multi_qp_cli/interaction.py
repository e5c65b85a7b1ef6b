"""The user's hand in a run: handles, sliders and buttons of the viewer, brought to the controller between ticks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.command import Command
from multi_qp_controller.controller import Controller

Array = NDArray[np.float64]


class Removable(Protocol):
    """Something in the viewer that can be taken away again."""

    def remove(self) -> None:
        """Take it away."""


class InteractiveViewer(Protocol):
    """The part of the viewer that this module needs."""

    def add_target_handle(self, name: str, position: Array, callback: Callable[[Array], None]) -> Any:
        """Add a handle to drag."""

    def add_slider(
        self, name: str, minimum: float, maximum: float, initial: float, callback: Callable[[float], None]
    ) -> Any:
        """Add a slider."""

    def add_button(self, name: str, callback: Callable[[], None]) -> Any:
        """Add a button."""


class Interaction:
    """An observer of a run that keeps the viewer's controls in step with what the present state lets a user do.

    The viewer calls back from its own threads; what it says waits here until the run's thread takes it, between ticks.
    """

    def __init__(self, viewer: InteractiveViewer) -> None:
        self._viewer = viewer
        self._lock = threading.Lock()
        self._moved: dict[str, Array] = {}
        self._loads: dict[str, float] = {}
        self._commands: list[str] = []
        self._controls: dict[tuple[str, str], Removable] = {}

    def __call__(self, controller: Controller, command: Command) -> None:
        """Take what the user did since the last tick, and offer what can be done now."""
        self._offer(controller)
        with self._lock:
            moved, self._moved = self._moved, {}
            loads, self._loads = self._loads, {}
            commands, self._commands = self._commands, []
        for name, position in moved.items():
            if name in controller.targets:
                controller.set_target(name, position)
        for name, mass in loads.items():
            controller.scenario.scene.loads.set_mass(name, mass)
        for name in commands:
            controller.command(name)

    def clear(self) -> None:
        """Take all controls away, before a fresh run."""
        for control in self._controls.values():
            control.remove()
        self._controls.clear()

    def _offer(self, controller: Controller) -> None:
        wanted = {("target", name) for name in controller.targets}
        wanted |= {("command", name) for name in controller.awaited_commands}
        wanted |= {("load", name) for name in controller.scenario.scene.loads.masses}
        if wanted == self._controls.keys():
            return
        for key in self._controls.keys() - wanted:
            self._controls.pop(key).remove()
        for key in sorted(wanted - self._controls.keys()):
            self._controls[key] = self._add(key, controller)

    def _add(self, key: tuple[str, str], controller: Controller) -> Removable:
        kind, name = key
        if kind == "target":
            target = controller.targets[name].target(controller.kinematics)
            position = np.zeros(3) if target is None else target.position
            return self._viewer.add_target_handle(name, position, lambda place: self._move(name, place))
        if kind == "load":
            loads = controller.scenario.scene.loads
            minimum, maximum = loads.limits[name]
            initial = loads.masses[name]
            return self._viewer.add_slider(
                f"{name} [kg]", minimum, maximum, initial, lambda mass: self._weigh(name, mass)
            )
        return self._viewer.add_button(name.replace("_", " "), lambda: self._give(name))

    def _move(self, name: str, position: Array) -> None:
        with self._lock:
            self._moved[name] = position

    def _weigh(self, name: str, mass: float) -> None:
        with self._lock:
            self._loads[name] = mass

    def _give(self, name: str) -> None:
        with self._lock:
            self._commands.append(name)
