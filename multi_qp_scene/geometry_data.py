"""pinocchio's memory for distances, the same in every process."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pinocchio as pin

#: glibc's option for what new memory is filled with: the complement of this byte; 0 switches it off.
_M_PERTURB, _ZEROS, _OFF = -6, 0xFF, 0


def geometry_data(geometry: pin.GeometryModel) -> pin.GeometryData:
    """Return data for a geometry whose distances do not depend on what was in memory before.

    The solvers of coal 3.0.1 have a member that nobody sets. Where it is not 0, the last digits of distances between
    capsules and boxes are others: in one process of seven, whose torques part from the others' at 1e-11.
    """
    with _zeroed_memory():
        return pin.GeometryData(geometry)


@contextmanager
def _zeroed_memory() -> Iterator[None]:
    """Have the C library fill larger pieces of new memory with zeros meanwhile, where it can."""
    mallopt = _mallopt()
    if mallopt is None:
        yield
        return
    mallopt(_M_PERTURB, _ZEROS)
    try:
        yield
    finally:
        mallopt(_M_PERTURB, _OFF)


def _mallopt() -> Callable[[int, int], int] | None:
    """Return the C library's function of that name, None where it has none."""
    try:
        found: Callable[[int, int], int] = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return None
    return found
