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
from multi_qp_scene.schema.walking import VelocityLimitsSpec
from multi_qp_viewer.velocity_pad import SendVelocity
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

    def add_velocity_pad(self, name: str, limits: VelocityLimitsSpec, callback: SendVelocity) -> Any:
        """Add a pad that commands a velocity."""


class Interaction:
    """Observer of a run that shows the controls available in the present state and applies their inputs.

    Callbacks arrive on the viewer's threads; their values are queued and applied by the run's thread between ticks.
    """

    def __init__(self, viewer: InteractiveViewer) -> None:
        self._viewer = viewer
        self._lock = threading.Lock()
        self._inputs: dict[tuple[str, str], tuple[Any, ...]] = {}  # the last one by kind and name of the control
        self._controls: dict[tuple[str, str], Removable] = {}

    def __call__(self, controller: Controller, command: Command) -> None:
        """Apply the inputs since the last tick and update the controls."""
        self._update_controls(controller)
        with self._lock:
            inputs, self._inputs = self._inputs, {}
        for (kind, name), values in inputs.items():
            _try(partial(_apply, controller, kind), name, *values)

    def clear(self) -> None:
        """Remove all controls and pending inputs, before a new run."""
        with self._lock:
            self._inputs.clear()
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
        queue = partial(self._queue, kind, name)
        if kind == "target":
            target = controller.targets[name].target(controller.kinematics)
            return self._viewer.add_target_handle(name, np.zeros(3) if target is None else target.position, queue)
        if kind == "load":
            loads = controller.scenario.scene.loads
            minimum, maximum = loads.limits[name]
            return self._viewer.add_slider(f"{name} [kg]", minimum, maximum, loads.masses[name], queue)
        if kind == "velocity":
            limits = _walking(controller)[name].velocity.limits
            return self._viewer.add_velocity_pad(name, limits, queue)
        if kind == "setting":
            generator, _, setting = name.partition("/")
            one = controller.generators[generator]
            edges, label = one.settings[setting], one.settings[setting].label(generator, setting)
            return self._viewer.add_slider(label, edges.minimum, edges.maximum, one.setting(setting), queue)
        return self._viewer.add_button(name.replace("_", " "), queue)

    def _queue(self, kind: str, name: str, *values: Any) -> None:
        with self._lock:
            self._inputs[kind, name] = values


def _apply(controller: Controller, kind: str, name: str, *values: Any) -> None:
    """Pass an input to the controller; one for which the state has changed meanwhile has no effect."""
    if kind == "target" and name in controller.targets:
        controller.set_target(name, *values)
    elif kind == "load":
        controller.scenario.scene.loads.set_mass(name, *values)
    elif kind == "command":
        controller.command(name)
    elif kind == "velocity" and name in (walking := _walking(controller)):
        walking[name].command(*values)
    elif kind == "setting":
        generator, _, setting = name.partition("/")
        controller.adjust(generator, setting, *values)


def _walking(controller: Controller) -> dict[str, WalkingGenerator]:
    """Return the generators of the present state that follow a velocity command."""
    return {name: each for name, each in controller.generators.items() if isinstance(each, WalkingGenerator)}


def _try(apply: Callable[..., Any], name: str, *values: Any) -> None:
    """Apply an input; an error is logged and does not end the run."""
    try:
        apply(name, *values)
    except (KeyError, ValueError, MultiQpError) as error:
        logger.warning("viewer: '%s' was not changed: %s", name, error)
