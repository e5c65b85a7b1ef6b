"""Paths of the contact surfaces of a reference motion, and when each is planted."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from motion_generation.body_shift import pressed
from multi_qp_scene.arrays import Array


class SurfaceSample(NamedTuple):
    """Motion of a surface at a time, in the world.

    Attributes:
        position: (3,) [m].
        rotation: (3, 3).
        twist: linear, then angular velocity, (6,).
        acceleration: the same, (6,).
    """

    position: Array
    rotation: Array
    twist: Array
    acceleration: Array


class SurfacePaths:
    """Paths of some surfaces and their contacts over time; the last pose is held.

    Attributes:
        count: number of surfaces.
        place: displacement of all paths on the ground.
    """

    def __init__(self, times: Array, poses: Sequence[Sequence[pin.SE3]], contacts: NDArray[np.bool_]) -> None:
        """Create it.

        Args:
            times: of the samples, from 0 on, (n,) [s].
            poses: of each surface at each sample.
            contacts: whether each is planted from each sample on, (n, s).
        """
        self._times, self._contacts, self.count = times, contacts, len(poses)
        self.place = pin.SE3.Identity()
        self._places = [CubicSpline(times, [X.translation for X in path]) for path in poses]
        self._shares = pressed(contacts)
        changed = np.argwhere(np.diff(contacts, axis=0)) + [1, 0]
        self._changes = [(float(times[k]), int(i), bool(contacts[k, i])) for k, i in changed]
        self._changed_at = [at for at, _, _ in self._changes]
        self._turns = [RotationSpline(times, Rotation.from_matrix([X.rotation for X in path])) for path in poses]

    def pose(self, i: int, time: float) -> pin.SE3:
        """Return the pose of a surface at a time [s]."""
        t = min(max(time, 0.0), float(self._times[-1]))
        return self.place * pin.SE3(self._turns[i](t).as_matrix(), self._places[i](t))

    def at(self, i: int, time: float) -> SurfaceSample:
        """Return the motion of a surface at a time [s]; at rest before the motion and after it."""
        t, end = min(max(time, 0.0), float(self._times[-1])), float(self._times[-1])
        R = self._turns[i](t).as_matrix()
        twist, acceleration = np.zeros(6), np.zeros(6)
        if 0.0 <= time < end:
            twist[:3], acceleration[:3] = self._places[i](t, 1), self._places[i](t, 2)
            # rates of a RotationSpline are in the axes of the body
            twist[3:], acceleration[3:] = R @ self._turns[i](t, 1), R @ self._turns[i](t, 2)
        turn, beside = self.place.rotation, self.place.translation
        twist, acceleration = (np.concatenate([turn @ x[:3], turn @ x[3:]]) for x in (twist, acceleration))
        return SurfaceSample(turn @ self._places[i](t) + beside, turn @ R, twist, acceleration)

    def planted(self, time: float) -> NDArray[np.bool_]:
        """Return which surfaces are planted at a time, (s,)."""
        return np.asarray(self._contacts[self._sample(time)])

    def shares(self, times: Array) -> Array:
        """Return the share of each surface in a displacement of the zero-moment point, see `pressed`, (n, s)."""
        return np.asarray(self._shares[self._sample(times)])

    def changes_between(self, after: float, until: float) -> list[tuple[float, int, bool]]:
        """Return time [s] and surface of each change, and whether it is planted from then on, in their order."""
        return self._changes[bisect_right(self._changed_at, after) : bisect_right(self._changed_at, until)]

    def next_change(self, i: int, time: float) -> float:
        """Return when a surface is planted or lifted next [s]; infinity if it is not."""
        k = self._sample(time)
        later = np.flatnonzero(self._contacts[k:, i] != self._contacts[k, i])
        return float(self._times[k + later[0]]) if len(later) else np.inf

    def _sample(self, time: float | Array) -> NDArray[np.intp]:
        return np.clip(np.searchsorted(self._times, np.add(time, 1e-9), side="right") - 1, 0, len(self._times) - 1)
