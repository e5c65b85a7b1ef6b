"""What pinocchio keeps of all joints, as arrays over its own memory: nothing is copied, nothing looked up."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Numbers in a pose (the rotation column by column, then the translation) and in a twist.
POSE, TWIST = 12, 6


class JointViews:
    """Placements, velocities, accelerations and centres of mass of all joints.

    Where memory is not laid out as it is by the pinocchio that we know, `refresh` and `publish` copy instead.

    Attributes:
        poses: X_world_joint: rotation column by column, then translation, (joints, 12).
        twists: in the joint, linear, then angular, (joints, 6).
        drifts: spatial acceleration, as the twist, (joints, 6).
        coms: of what each joint carries, in the joint, (joints, 3).
    """

    def __init__(self, data: pin.Data) -> None:
        self._data, n = data, len(data.oMi)
        with _Marked(data):
            found = [
                _over(n, POSE, lambda k: data.oMi[k].rotation, lambda k: _pose(data.oMi[k])),
                _over(n, TWIST, lambda k: data.v[k].linear, lambda k: data.v[k].vector),
                _over(n, TWIST, lambda k: data.a[k].linear, lambda k: data.a[k].vector),
                _over(n, 3, lambda k: data.com[k], lambda k: np.array(data.com[k])),
            ]
        self._shared = all(array is not None for array in found)
        sizes = (POSE, TWIST, TWIST, 3)
        self.poses, self.twists, self.drifts, self.coms = (
            np.zeros((n, size)) if array is None or not self._shared else array
            for array, size in zip(found, sizes, strict=True)
        )

    def refresh(self) -> None:
        """Take note of what pinocchio computed."""
        if self._shared:
            return
        data = self._data
        for k in range(len(self.poses)):
            self.poses[k], self.coms[k] = _pose(data.oMi[k]), data.com[k]
            self.twists[k], self.drifts[k] = data.v[k].vector, data.a[k].vector

    def publish(self) -> None:
        """Let pinocchio see what was written into the arrays."""
        if self._shared:
            return
        data = self._data
        for k, pose in enumerate(self.poses):
            data.oMi[k] = pin.SE3(pose[:9].reshape(3, 3).T, pose[9:])
            data.v[k], data.a[k] = pin.Motion(self.twists[k]), pin.Motion(self.drifts[k])
            data.com[k] = self.coms[k]


def pose_views(poses: Any) -> Array | None:
    """Return the poses of a pinocchio vector as an array over its memory, (n, 12), or None where that cannot be."""
    return _over(len(poses), POSE, lambda k: poses[k].rotation, lambda k: _pose(poses[k]))


class _Marked:
    """Gives every joint numbers of its own to compare, and takes them back."""

    def __init__(self, data: pin.Data) -> None:
        self._data = data
        self._before = [
            (data.oMi[k].copy(), data.v[k].copy(), data.a[k].copy(), np.array(data.com[k]))
            for k in range(len(data.oMi))
        ]

    def __enter__(self) -> None:
        data = self._data
        for k in range(len(self._before)):
            step = np.arange(1.0, 7.0) + k
            data.oMi[k] = pin.SE3(pin.rpy.rpyToMatrix(*step[:3]), step[3:])
            data.v[k], data.a[k] = pin.Motion(step), pin.Motion(-step)
            data.com[k] = 0.5 * step[:3]

    def __exit__(self, *_: object) -> None:
        data = self._data
        for k, (pose, twist, drift, com) in enumerate(self._before):
            data.oMi[k], data.v[k], data.a[k], data.com[k] = pose, twist, drift, com


def _pose(pose: pin.SE3) -> Array:
    return np.concatenate([pose.rotation.ravel("F"), pose.translation])


def _over(count: int, size: int, first: Callable[[int], Array], whole: Callable[[int], Array]) -> Array | None:
    """Return an array over `count` entries of `size` numbers where they follow each other in memory, else None."""
    if not count:
        return None
    addresses = [int(first(k).__array_interface__["data"][0]) for k in range(count)]
    steps = set(np.diff(addresses).tolist())
    if steps - {8 * size}:
        return None
    array: Array = np.ctypeslib.as_array((ctypes.c_double * (size * count)).from_address(addresses[0]))
    array = array.reshape(count, size)
    expected = np.array([whole(k) for k in range(count)])
    return array if np.array_equal(array, expected, equal_nan=True) else None
