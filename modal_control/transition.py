"""Reference that goes from one motion over into another, by a blend from the state of the robot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from modal_control.blend import Blend
from modal_control.character import displaced, displacement
from modal_control.reference import Reference, StepReference
from multi_qp_scene.arrays import Array


class BlendedReference(StepReference):
    """One motion up to a step, then another one, into which the robot goes over ([Jain2011] section 6).

    The displacement of the robot from the second motion when that begins, and its rate, go to zero within the blend;
    before, plans that look ahead expect those of the first motion.
    """

    def __init__(self, first: Reference, second: Reference, *, at: int, begin: int, blend: float, dt: float) -> None:
        """Create it.

        Args:
            first: motion up to the step `at`.
            second: motion from there on, at the same place.
            at: first step of the second motion.
            begin: step of the second motion at which it begins.
            blend: duration of the blend, 0 for none [s].
            dt: time step [s].
        """
        self._first, self._second, self._at, self._begin, self._dt = first, second, at, begin, dt
        self._blend = Blend(blend, first.v.shape[1])
        self._start(*first.state(at))

    def _start(self, q: Array, v: Array) -> None:
        q2, v2 = self._second.state(self._begin)
        self._blend.start(displacement(q2, q), v - v2)

    def __len__(self) -> int:
        """Return the number of steps."""
        return self._at + len(self._second) - self._begin

    def state(self, step: int) -> tuple[Array, Array]:
        """Return configuration and velocity at a step."""
        if step < self._at:
            return self._first.state(step)
        q, v = self._second.state(self._begin + step - self._at)
        elapsed = self._dt * (step - self._at)
        if self._blend.is_over(elapsed):
            return q, v
        place, rate, _ = self._blend.at(elapsed)
        return displaced(q, place), v + rate

    def planted(self, step: int) -> NDArray[np.bool_]:
        """Return which surfaces are planted at a step, (surfaces,)."""
        if step < self._at:
            return self._first.planted(step)
        return self._second.planted(self._begin + step - self._at)

    def follow(self, step: int, q: Array, v: Array, forces: Array, *, blind: bool) -> None:
        """Begin the blend at the state of the robot; before its step, that of the first motion is expected."""
        if step == 0:
            self._start(*self._first.state(self._at))
        elif step == self._at and not blind:
            self._start(q, v)
