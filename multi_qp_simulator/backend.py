"""What a backend is: something that takes commands and has a state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.command import Command
from multi_qp_scene.scene import State

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """What the world made of a command.

    Attributes:
        acceleration: q̈ that came about, (nv,).
        wrenches: of the active contacts: force, then moment, at the first surface's origin, in its frame, (6,).
        couplings: force of each coupling on the joint that follows [N or N m], by that joint; those that the world
            does not tell are left out.
    """

    acceleration: Array
    wrenches: dict[str, Array]
    couplings: dict[str, float] = field(default_factory=dict)


class Backend(Protocol):
    """A world."""

    @property
    def state(self) -> State:
        """The present state of the scene."""

    def step(self, command: Command, dt: float) -> Outcome:
        """Let `dt` seconds pass under a command."""


@runtime_checkable
class MeasuredBackend(Backend, Protocol):
    """A world that a controller sees through sensors."""

    def measure(self) -> State:
        """Return what the sensors tell of the present state."""
