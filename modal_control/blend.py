"""Blend from the present state of a robot into a motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.stateful import Stateful


class Blend(Stateful):
    """Displacement of a configuration from a motion, that goes to zero within a time.

    Each entry follows the polynomial of fifth degree that begins with its displacement and its rate, without
    acceleration, and ends at zero, at rest.

    Attributes:
        place: displacement at the start, in the tangent space, (nv,).
        rate: its rate [1/s], (nv,).
    """

    @dataclass
    class Checkpoint:
        """Displacement and rate at the start."""

        place: Annotated[Array, "nv"]
        rate: Annotated[Array, "nv"]

    def __init__(self, duration: float, nv: int) -> None:
        """Create it without a displacement; `duration`: 0 for no blend [s]."""
        self.duration = duration
        self.place, self.rate = np.zeros(nv), np.zeros(nv)

    def start(self, place: Array, rate: Array) -> None:
        """Begin with a displacement, (nv,), and its rate, (nv,)."""
        self.place, self.rate = place.copy(), rate.copy()

    def is_over(self, elapsed: float) -> bool:
        """Return whether the displacement is zero from now on; time since the start [s]."""
        return elapsed >= self.duration

    def at(self, elapsed: float) -> tuple[Array, Array, Array]:
        """Return displacement, rate and acceleration at a time since the start [s], (nv,) each."""
        if self.is_over(elapsed):
            rest = np.zeros_like(self.place)
            return rest, rest, rest
        T = self.duration
        x = max(elapsed, 0.0) / T
        powers = np.array([x**k for k in range(6)])
        # shares of the displacement and of rate · T: 1 − minimum jerk; x − 6 x³ + 8 x⁴ − 3 x⁵
        shares = np.array([[1.0, 0.0, 0.0, -10.0, 15.0, -6.0], [0.0, 1.0, 0.0, -6.0, 8.0, -3.0]])
        first = shares[:, 1:] * np.arange(1, 6)
        second = first[:, 1:] * np.arange(1, 5)
        begin = np.stack([self.place, T * self.rate])
        return (
            shares @ powers @ begin,
            first @ powers[:5] @ begin / T,
            second @ powers[:4] @ begin / T**2,
        )
