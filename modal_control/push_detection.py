"""Detection of pushes: velocity of the centre of mass that the planned forces do not explain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.stateful import Stateful

#: Time constant with which an unexpected velocity is forgotten [s].
FORGETTING = 0.2
#: Unexpected velocity of the centre of mass from which on footholds are corrected [m/s].
PUSHED = 0.1


class PushDetection(Stateful):
    """Sum of the unexpected changes of a velocity.

    Attributes:
        unexpected: sum, forgotten exponentially, (2,) [m/s].
        expected: velocity that is expected at the next tick, (2,) [m/s]; NaN before the first one.
    """

    @dataclass
    class Checkpoint:
        """Sum, and what is expected next."""

        unexpected: Annotated[Array, 2]
        expected: Annotated[Array, 2]

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Begin without a push."""
        self.unexpected, self.expected = np.zeros(2), np.full(2, math.nan)

    def update(self, velocity: Array, dt: float) -> float:
        """Return the norm of the sum at a velocity, (2,) [m/s]; `dt`: since the last tick [s]."""
        if not np.isnan(self.expected).any():
            self.unexpected = math.exp(-dt / FORGETTING) * self.unexpected + velocity - self.expected
        return float(np.linalg.norm(self.unexpected))

    def plan(self, velocity: Array, acceleration: Array, dt: float) -> None:
        """Process the planned acceleration of the next period, (2,) [m/s²]."""
        self.expected = velocity + dt * acceleration
