"""Distances of many pairs of convex pieces, computed by coal, as one array."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import coal
import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.pinocchio_views import warn_of_copies

#: Entries of a measurement: distance, normal from the first piece to the second, witness points on both.
MEASUREMENT = 10


class Distances:
    """Computes the distances of selected pairs of a geometry model in one call.

    Reading coal's results one by one from Python takes longer than computing them, so they are read by an array view of
    coal's memory. The layout is checked for every geometry; where it differs, results are copied one by one and a
    warning is logged.

    Attributes:
        found: distance, normal and witness points of each pair as last measured, world frame, (pairs, 10).
    """

    def __init__(self, geometry: pin.GeometryModel, data: pin.GeometryData) -> None:
        """Create it for the pairs of `geometry`; `data` is overwritten."""
        self._geometry, self._data = geometry, data
        self._results, count = data.distanceResults, len(geometry.collisionPairs)
        for k in range(count):
            data.deactivateCollisionPair(k)
            pin.computeDistance(geometry, data, k)  # results for the check of the layout
        self._chosen: list[int] = []
        self._memory = _over(self._results, count)
        if count and self._memory is None:
            warn_of_copies("coal", coal.__version__)
        self.found = np.zeros((count, MEASUREMENT)) if self._memory is None else self._memory

    def measure(self, pairs: list[int]) -> None:
        """Compute the distances of these pairs, in increasing order, at the present placements."""
        if pairs != self._chosen:
            for k in set(self._chosen) - set(pairs):
                self._data.deactivateCollisionPair(k)
            for k in set(pairs) - set(self._chosen):
                self._data.activateCollisionPair(k)
            self._chosen = pairs
        if pairs:
            pin.computeDistances(self._geometry, self._data)
        if self._memory is None:
            for k in pairs:
                self.found[k] = _measurement(self._results[k])


def _measurement(result: object) -> Array:
    points = result.getNearestPoint1(), result.getNearestPoint2()  # type: ignore[attr-defined]
    return np.concatenate([[result.min_distance], result.normal, *points])  # type: ignore[attr-defined]


def _over(results: Sequence[object], count: int) -> Array | None:
    """Return an array view of the first ten numbers of each result, or None where the layout is not supported."""
    if not count:
        return None
    # `normal` is a view of coal's memory, and the distance precedes it
    first = [int(results[k].normal.__array_interface__["data"][0]) for k in range(count)]  # type: ignore[attr-defined]
    steps = set(np.diff(first).tolist()) or {8 * MEASUREMENT}
    if len(steps) > 1 or min(steps) < 8 * MEASUREMENT or min(steps) % 8:
        return None
    step = min(steps) // 8
    # ends at the last result's ten numbers: memory beyond may not be readable
    size = (count - 1) * step + MEASUREMENT
    flat: Array = np.ctypeslib.as_array((ctypes.c_double * size).from_address(first[0] - 8))
    array = np.lib.stride_tricks.as_strided(flat, (count, MEASUREMENT), (8 * step, 8), writeable=False)
    expected = np.array([_measurement(results[k]) for k in range(count)])
    return array if np.array_equal(array, expected, equal_nan=True) else None
