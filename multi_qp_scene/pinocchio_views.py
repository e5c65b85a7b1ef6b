"""Joint quantities of pinocchio's data as array views of its memory, which is not a supported interface.

The memory layout is checked for every data by writing distinct numbers into all entries. If it is not as expected, the
entries are copied one by one and a warning is logged; docs/decisions.md has the cost.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.lib.stride_tricks import as_strided

from multi_qp_scene.arrays import Array

_LOG = logging.getLogger(__name__)

#: Numbers in a pose (the rotation column by column, then the translation), in a twist and in an inertia.
POSE, TWIST, INERTIA = 12, 6, 10


class JointViews:
    """Placements, velocities, accelerations, subtree centres of mass and forces of all joints.

    With another memory layout, `refresh` and `publish` copy.

    Attributes:
        poses: X_world_joint: rotation column by column, then translation, (joints, 12).
        twists: in the joint, linear, then angular, (joints, 6).
        drifts: spatial acceleration, as the twist, (joints, 6).
        proper: spatial acceleration minus gravity, pinocchio's `a_gf`, (joints, 6).
        forces: force transmitted by each joint, joint frame, linear, then angular, pinocchio's `f`, (joints, 6).
        coms: centre of mass of each joint's subtree, world frame, as `ccrba` computes them, (joints, 3).
        shared: whether all arrays are views of pinocchio's memory.
    """

    def __init__(self, data: pin.Data) -> None:
        self._data, n = data, len(data.oMi)
        with _Marked(data):
            found = [
                _over(n, POSE, lambda k: data.oMi[k].rotation, lambda k: _pose(data.oMi[k])),
                _over(n, TWIST, lambda k: data.v[k].linear, lambda k: data.v[k].vector),
                _over(n, TWIST, lambda k: data.a[k].linear, lambda k: data.a[k].vector),
                _over(n, TWIST, lambda k: data.a_gf[k].linear, lambda k: data.a_gf[k].vector),
                _over(n, TWIST, lambda k: data.f[k].linear, lambda k: data.f[k].vector),
                _over(n, 3, lambda k: data.oYcrb[k].lever, lambda k: data.oYcrb[k].lever, INERTIA),
            ]
        self.shared = all(array is not None for array in found)
        if not self.shared:
            warn_of_copies("pinocchio", pin.__version__)
        sizes = (POSE, TWIST, TWIST, TWIST, TWIST, 3)
        self.poses, self.twists, self.drifts, self.proper, self.forces, self.coms = (
            np.zeros((n, size)) if array is None or not self.shared else array
            for array, size in zip(found, sizes, strict=True)
        )

    def refresh(self) -> None:
        """Copy pinocchio's results into the arrays, unless they are views."""
        if self.shared:
            return
        data = self._data
        for k in range(len(self.poses)):
            self.poses[k], self.coms[k] = _pose(data.oMi[k]), data.oYcrb[k].lever
            self.twists[k], self.drifts[k] = data.v[k].vector, data.a[k].vector
            self.proper[k], self.forces[k] = data.a_gf[k].vector, data.f[k].vector

    def publish(self) -> None:
        """Copy the arrays into pinocchio's data, unless they are views."""
        if self.shared:
            return
        data = self._data
        for k, pose in enumerate(self.poses):
            data.oMi[k] = pin.SE3(pose[:9].reshape(3, 3).T, pose[9:])
            data.v[k], data.a[k] = pin.Motion(self.twists[k]), pin.Motion(self.drifts[k])
            data.a_gf[k], data.f[k] = pin.Motion(self.proper[k]), pin.Force(self.forces[k])
            data.oYcrb[k].lever = self.coms[k]


def warn_of_copies(library: str, version: str) -> None:
    """Log that a library has an unexpected memory layout, so that its results are copied one by one."""
    _LOG.warning("%s %s has an unknown memory layout: its data are copied, and ticks take longer", library, version)


def pose_views(poses: Any) -> Array | None:
    """Return the poses of a pinocchio vector as an array view, (n, 12), or None if that is not possible."""
    return _over(len(poses), POSE, lambda k: poses[k].rotation, lambda k: _pose(poses[k]))


class _Marked:
    """Context in which every joint has distinct numbers to compare; they are restored on exit."""

    def __init__(self, data: pin.Data) -> None:
        self._data = data
        self._before = [
            tuple(of_all[k].copy() for of_all in (data.oMi, data.v, data.a, data.a_gf, data.f, data.oYcrb))
            for k in range(len(data.oMi))
        ]

    def __enter__(self) -> None:
        data = self._data
        for k in range(len(self._before)):
            step = np.arange(1.0, 7.0) + k
            data.oMi[k] = pin.SE3(pin.rpy.rpyToMatrix(*step[:3]), step[3:])
            data.v[k], data.a[k] = pin.Motion(step), pin.Motion(-step)
            data.a_gf[k], data.f[k] = pin.Motion(2.0 * step), pin.Force(3.0 * step)
            data.oYcrb[k] = pin.Inertia(1.0, 0.5 * step[:3], np.eye(3))

    def __exit__(self, *_: object) -> None:
        data = self._data
        for k, before in enumerate(self._before):
            data.oMi[k], data.v[k], data.a[k], data.a_gf[k], data.f[k], data.oYcrb[k] = before


def _pose(pose: pin.SE3) -> Array:
    return np.concatenate([pose.rotation.ravel("F"), pose.translation])


def _over(
    count: int, size: int, first: Callable[[int], Array], whole: Callable[[int], Array], step: int | None = None
) -> Array | None:
    """Return an array view of `count` entries of `size` numbers with a stride of `step`, None if it is not possible."""
    step = size if step is None else step
    if not count:
        return None
    addresses = [int(first(k).__array_interface__["data"][0]) for k in range(count)]
    steps = set(np.diff(addresses).tolist())
    if steps - {8 * step}:
        return None
    numbers = (ctypes.c_double * (step * (count - 1) + size)).from_address(addresses[0])
    array: Array = as_strided(np.ctypeslib.as_array(numbers), (count, size), (8 * step, 8))
    expected = np.array([whole(k) for k in range(count)])
    return array if np.array_equal(array, expected, equal_nan=True) else None
