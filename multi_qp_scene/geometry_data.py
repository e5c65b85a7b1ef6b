"""Reproducible initialisation of pinocchio's GeometryData and of coal; import it before distances are computed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import coal
import numpy as np
import pinocchio as pin

#: glibc's M_PERTURB option: new memory is filled with the complement of this byte; 0 switches it off.
_M_PERTURB, _ZEROS, _OFF = -6, 0xFF, 0


def geometry_data(geometry: pin.GeometryModel) -> pin.GeometryData:
    """Return data for a geometry whose distances do not depend on uninitialised memory.

    The solvers of coal 3.0.1 have an uninitialised member. Where it is not 0, the last digits of distances between
    capsules and boxes differ: in one process of seven, with torque differences of 1e-11.
    """
    with _zeroed_memory():
        return pin.GeometryData(geometry)


def _query_box_supports() -> None:
    """Compute the distance of a box with a first search direction along an axis.

    coal 3.0.1 enlarges the supports of all boxes by 1e-10, or not, by the direction of the first query of the process
    (a static variable in `getShapeSupport`): distances would depend on what was computed before.
    """
    aside = coal.Transform3s(np.eye(3), np.array([2.0, 0.0, 0.0]))
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    coal.distance(coal.Box(1.0, 1.0, 1.0), coal.Transform3s(), coal.Capsule(0.1, 0.2), aside, request, result)


_query_box_supports()


@contextmanager
def _zeroed_memory() -> Iterator[None]:
    """Context in which the C library fills new memory blocks with zeros, where supported."""
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
    """Return the C library's `mallopt`, None where it does not exist."""
    try:
        found: Callable[[int, int], int] = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return None
    return found
