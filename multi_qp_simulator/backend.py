"""What a backend is: something that takes commands and has a state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

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
    """

    acceleration: Array
    wrenches: dict[str, Array]


class Backend(Protocol):
    """A world."""

    @property
    def state(self) -> State:
        """The present state of the scene."""

    def step(self, command: Command, dt: float) -> Outcome:
        """Let `dt` seconds pass under a command."""
