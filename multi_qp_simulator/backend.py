"""Interfaces of simulator backends, which integrate the physics under commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from multi_qp_controller.command import Command
from multi_qp_scene.arguments import check_type
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scene import Scene, State


@dataclass(frozen=True)
class Outcome:
    """Result of a simulation step.

    Attributes:
        acceleration: simulated q̈, (nv,).
        wrenches: of the active contacts: force, then moment, at the first surface's origin, in its frame, (6,).
        couplings: force of each coupling on the following joint [N or N m], by joint; missing where the backend does
            not provide it.
    """

    acceleration: Array
    wrenches: dict[str, Array]
    couplings: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class TouchForce:
    """Largest force between two links during a run that no contact of the scenario connects.

    Attributes:
        links: full names of both links.
        force: norm of the force [N].
        time: [s].
    """

    links: tuple[str, str]
    force: float
    time: float


@runtime_checkable
class Backend(Protocol):
    """A simulator backend."""

    @property
    def state(self) -> State:
        """Current state of the scene."""

    def step(self, command: Command, dt: float) -> Outcome:
        """Simulate `dt` seconds under a command.

        Raises:
            MultiQpError: if a torque is not finite, or their number differs from the motors'.
        """


@runtime_checkable
class MeasuredBackend(Backend, Protocol):
    """A simulator backend with sensors."""

    def measure(self) -> State:
        """Return the measured state."""


@runtime_checkable
class TouchingBackend(Backend, Protocol):
    """A simulator backend that detects contacts by itself."""

    def touch_forces(self) -> list[TouchForce]:
        """Return the largest forces so far between bodies that no contact of the scenario connects."""


def torques_of(command: Command, scene: Scene) -> Array:
    """Return the torques of a command, (na,) [N m].

    Raises:
        MultiQpError: if it is not a command, a torque is not finite, or their number differs from the motors'.
    """
    check_type("command", command, Command, "a Command, as `Controller.step` returns it")
    try:
        torques = np.asarray(command.tau, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise MultiQpError(f"the command's torques are not numbers: {error}") from None
    if torques.shape != (scene.na,):
        raise MultiQpError(f"the command has torques of shape {torques.shape}, expected ({scene.na},), one a motor")
    if not np.isfinite(torques).all():
        k = int(np.flatnonzero(~np.isfinite(torques))[0])
        raise MultiQpError(f"the command's torque of {scene.actuated_joint_names[k]} is {torques[k]}")
    return torques
