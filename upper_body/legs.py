"""What the legs do about obstacles: brace for heavy ones, and step where an unexpected force pushes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from multi_qp_controller.motion_generator import GaitChange, GeneratorInput
from multi_qp_scene.arrays import Array
from multi_qp_scene.schema.upper_body import LegsSpec
from multi_qp_scene.stateful import Stateful
from upper_body.meetings import Meeting

#: Time constant of the filter of the external force [s].
FILTER = 0.02


class Legs(Stateful):
    """Rules of the legs, as changes of the command of a walking generator.

    Attributes:
        force: filtered external force on the body, in the plane, world frame, (2,) [N].
        direction: of the present steps, world frame, (2,).
        until: time at which they end [s].
    """

    @dataclass
    class Checkpoint:
        """Filter, and present steps."""

        force: Annotated[Array, 2]
        direction: Annotated[Array, 2]
        until: float

    def __init__(self, spec: LegsSpec, base: int, v_start: int) -> None:
        """Create it for a body by the joint of its floating base, whose entries of v begin at `v_start`."""
        self._spec, self._base, self._v = spec, base, slice(v_start, v_start + 3)
        self.force, self.direction, self.until = np.zeros(2), np.zeros(2), -math.inf

    def update(self, now: GeneratorInput, chosen: Sequence[Meeting | None], masses: Array) -> GaitChange:
        """Return the change of this tick.

        Args:
            now: input of the tick.
            chosen: obstacle of each hand.
            masses: expected masses of all obstacles, (o,) [kg].
        """
        spec, pose = self._spec, now.kinematics.data.oMi[self._base]
        if now.external is not None:
            # the forces of the floating base are those on the whole body, in its axes
            pushed = (pose.rotation @ now.external[self._v])[:2]
            self.force = self.force + min(1.0, now.dt / FILTER) * (pushed - self.force)
        size = float(np.linalg.norm(self.force))
        if size >= spec.push:
            self.direction, self.until = self.force / size, now.time + spec.duration
        heavy = any(one is not None and masses[one.obstacle] >= spec.heavy for one in chosen)
        factor, lower, lean = (spec.speed, spec.lower, spec.lean) if heavy else (1.0, 0.0, 0.0)
        if now.time > self.until:
            return GaitChange(factor, np.zeros(3), lower, lean)
        yaw = math.atan2(pose.rotation[1, 0], pose.rotation[0, 0])
        c, s = math.cos(yaw), math.sin(yaw)
        x, y = self.direction
        return GaitChange(0.0, spec.step * np.array([c * x + s * y, c * y - s * x, 0.0]), spec.lower, lean)
