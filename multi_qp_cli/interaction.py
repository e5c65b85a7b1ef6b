"""User interaction with a run: inputs of the viewer's controls, applied to the controller between ticks."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np

from multi_qp_controller.command import Command
from multi_qp_controller.controller import Controller
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_viewer.velocity_pad import SendVelocity, VelocityLimits
from walking.generator import WalkingGenerator

logger = logging.getLogger(__name__)


class Removable(Protocol):
    """Control of the viewer that can be removed."""

    def remove(self) -> None:
        """Remove the control."""


class InteractiveViewer(Protocol):
    """Part of the viewer that this module uses."""

    def add_target_handle(self, name: str, position: Array, callback: Callable[[Array], None]) -> Any:
        """Add a draggable handle."""

    def add_slider(
        self, name: str, minimum: float, maximum: float, initial: float, callback: Callable[[float], None]
    ) -> Any:
        """Add a slider."""

    def add_button(self, name: str, callback: Callable[[], None]) -> Any:
        """Add a button."""

    def add_velocity_pad(self, name: str, limits: VelocityLimits, callback: SendVelocity) -> Any:
        """Add a pad that commands a velocity."""


class Interaction:
    """Observer of a run that shows the controls available in the present state and applies their inputs.

    Callbacks arrive on the viewer's threads; their values are queued and applied by the run's thread between ticks.
    """

    def __init__(self, viewer: InteractiveViewer) -> None:
        self._viewer = viewer
        self._lock = threading.Lock()
        self._moved: dict[str, Array] = {}
        self._loads: dict[str, float] = {}
        self._commands: dict[str, None] = {}  # at most once per tick
        self._velocities: dict[str, tuple[float, float, float]] = {}
        self._settings: dict[str, float] = {}
        self._controls: dict[tuple[str, str], Removable] = {}

    def __call__(self, controller: Controller, command: Command) -> None:
        """Apply the inputs since the last tick and update the controls."""
        self._update_controls(controller)
        with self._lock:
            moved, self._moved = self._moved, {}
            loads, self._loads = self._loads, {}
            commands, self._commands = self._commands, {}
            velocities, self._velocities = self._velocities, {}
            settings, self._settings = self._settings, {}
        for name, position in moved.items():
            if name in controller.targets:
                _try(controller.set_target, name, position)
        for name, mass in loads.items():
            _try(controller.scenario.scene.loads.set_mass, name, mass)
        for name in commands:
            _try(controller.command, name)
        for name, velocity in velocities.items():
            if name in (walking := _walking(controller)):
                _try(lambda name, *velocity: walking[name].command(*velocity), name, *velocity)
        for name, value in settings.items():
            generator, _, setting = name.partition("/")
            _try(partial(controller.adjust, generator), setting, value)

    def clear(self) -> None:
        """Remove all controls and pending inputs, before a new run."""
        with self._lock:
            self._moved, self._loads, self._commands, self._velocities, self._settings = {}, {}, {}, {}, {}
        for control in self._controls.values():
            control.remove()
        self._controls.clear()

    def _update_controls(self, controller: Controller) -> None:
        available = {("target", name) for name in controller.targets}
        available |= {("command", name) for name in controller.awaited_commands}
        available |= {("load", name) for name in controller.scenario.scene.loads.masses}
        available |= {("velocity", name) for name in _walking(controller)}
        available |= {
            ("setting", f"{name}/{each}") for name, one in controller.generators.items() for each in one.settings
        }
        if available == self._controls.keys():
            return
        for key in self._controls.keys() - available:
            self._controls.pop(key).remove()
        for key in sorted(available - self._controls.keys()):
            self._controls[key] = self._add(key, controller)

    def _add(self, key: tuple[str, str], controller: Controller) -> Removable:
        kind, name = key
        if kind == "target":
            target = controller.targets[name].target(controller.kinematics)
            position = np.zeros(3) if target is None else target.position
            return self._viewer.add_target_handle(name, position, lambda place: self._queue_target(name, place))
        if kind == "load":
            loads = controller.scenario.scene.loads
            minimum, maximum = loads.limits[name]
            initial = loads.masses[name]
            return self._viewer.add_slider(
                f"{name} [kg]", minimum, maximum, initial, lambda mass: self._queue_load(name, mass)
            )
        if kind == "velocity":
            limits = _walking(controller)[name].velocity.limits
            edge = VelocityLimits(limits.ahead, limits.back, limits.aside, limits.turn)
            return self._viewer.add_velocity_pad(name, edge, lambda *velocity: self._queue_velocity(name, *velocity))
        if kind == "setting":
            generator, _, setting = name.partition("/")
            one = controller.generators[generator]
            edges, label = one.settings[setting], one.settings[setting].label(generator, setting)
            return self._viewer.add_slider(
                label,
                edges.minimum,
                edges.maximum,
                one.setting(setting),
                lambda value: self._queue_setting(name, value),
            )
        return self._viewer.add_button(name.replace("_", " "), lambda: self._queue_command(name))

    def _queue_target(self, name: str, position: Array) -> None:
        with self._lock:
            self._moved[name] = position

    def _queue_load(self, name: str, mass: float) -> None:
        with self._lock:
            self._loads[name] = mass

    def _queue_command(self, name: str) -> None:
        with self._lock:
            self._commands[name] = None

    def _queue_velocity(self, name: str, vx: float, vy: float, wz: float) -> None:
        with self._lock:
            self._velocities[name] = vx, vy, wz

    def _queue_setting(self, name: str, value: float) -> None:
        with self._lock:
            self._settings[name] = value


def _walking(controller: Controller) -> dict[str, WalkingGenerator]:
    """Return the generators of the present state that follow a velocity command."""
    return {name: each for name, each in controller.generators.items() if isinstance(each, WalkingGenerator)}


def _try(apply: Callable[..., Any], name: str, *values: Any) -> None:
    """Apply an input; an error is logged and does not end the run."""
    try:
        apply(name, *values)
    except (KeyError, ValueError, MultiQpError) as error:
        logger.warning("viewer: '%s' was not changed: %s", name, error)
