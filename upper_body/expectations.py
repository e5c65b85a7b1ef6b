"""What is expected of obstacles: their masses and velocities, true or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatch

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.upper_body import ExpectationSpec

#: Speed from which an obstacle that can fall is taken to fall [m/s].
FALLING = 0.2


class Expectations:
    """Expected mass and speed of each obstacle.

    Attributes:
        masses: expected masses; of obstacles that hands have pushed, their estimates, (o,) [kg].
        speeds: expected speeds relative to the true ones, (o,).
        sticks: whether hands stick to each obstacle, (o,).
        reactions: bounds of the reaction time of each obstacle [s]; None for those of the region.
    """

    def __init__(self, scene: Scene, names: Sequence[str], expected: Mapping[str, ExpectationSpec]) -> None:
        """Create it for obstacles of a scene by name; of several patterns that match, the last one holds."""
        model = scene.model
        self._masses, self._speeds = np.empty(len(names)), np.empty(len(names))
        self._tensions = np.empty((len(names), 2))
        self.reactions: list[tuple[float, float] | None] = []
        self._fall, self.sticks = np.zeros((2, len(names)), dtype=bool)
        for k, name in enumerate(names):
            own = [j for j in range(1, model.njoints) if model.names[j].split("/")[0] == name]
            one = ([spec for pattern, spec in expected.items() if fnmatch(name, pattern)] or [ExpectationSpec()])[-1]
            self._masses[k] = sum(model.inertias[j].mass for j in own) if one.mass is None else one.mass
            self._speeds[k], self._fall[k] = one.velocity, one.falls
            self.sticks[k], self._tensions[k] = one.sticks, one.tension
            self.reactions.append(one.reaction)
        self._factor, self._measured = 1.0, np.full(len(names), np.nan)
        self.masses, self.speeds = self._masses, self._speeds

    def scale(self, mass: float, speed: float) -> None:
        """Multiply what the scenario expects by factors of all masses and of all speeds."""
        self._factor, self.speeds = mass, speed * self._speeds
        self.learn(self._measured)

    def learn(self, measured: Array) -> None:
        """Replace expected masses by estimates, (o,) [kg]; NaN where there is none."""
        self._measured = measured
        self.masses = np.where(np.isnan(measured), self._factor * self._masses, measured)

    def tension(self, obstacle: int, heaviest: float) -> float:
        """Return the tension for an obstacle, 0 to 1, [Alvarado2022] (6); `heaviest` has full tension [kg]."""
        least, most = self._tensions[obstacle]
        return float(least + (most - least) * min(self.masses[obstacle] / heaviest, 1.0))

    def motion(self, obstacle: int, velocity: Array) -> tuple[Array, bool]:
        """Return the expected velocity of a point of an obstacle and whether it falls, from its true velocity [m/s]."""
        return np.asarray(self.speeds[obstacle] * velocity), bool(
            self._fall[obstacle] and np.linalg.norm(velocity) > FALLING
        )
