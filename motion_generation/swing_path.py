"""Path of a swinging foot beside a standing one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pinocchio as pin
from scipy.spatial import ConvexHull

from motion_generation.swing_clearance import MIDDLE
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact

#: Least distance of the outlines of a swinging and a standing foot, across the path [m].
CLEARANCE = 0.03
#: Least vertical component of the normal of a contact that a foot stands on.
_LEVEL = 0.7
#: Their weight at 0.3 and 0.7 of the duration, an eighth of the way from the ends; in between the foot is aside.
_EARLY = 0.324


def control_points(
    start: Contact, target: Contact, end: pin.SE3, standing: Iterable[Contact], lift: float
) -> Array | None:
    """Return the inner control points of a swing around a standing foot, (2, 3) [m]; None if the direct path is clear.

    Collision constraints alone do not suffice there: a foot below the edge of the standing one is held by it from above
    and by a step in front, and stays there. The points lie above both ends and beside them, so that the foot first
    rises and moves aside, and then forward.

    Args:
        start: last contact of the limb.
        target: next contact of the limb.
        end: pose of the limb's surface in the world at the end of the swing.
        standing: contacts that remain during the swing.
        lift: height of the middle of the path above the higher end [m].
    """
    way = (end.translation - start.pose.translation)[:2]
    length = float(np.linalg.norm(way))
    if length < 1e-3 or not (_stands(start) and _stands(target)):
        return None
    axes = np.array([way, [-way[1], way[0]]]) / length  # along and across the path, in the horizontal plane
    swept = np.vstack([_outline(start), _outline(target)]) @ axes.T
    aside = 0.0
    for contact in filter(_stands, standing):
        if _is_clear(start, target, contact):
            continue
        outline = _outline(contact) @ axes.T
        if outline[:, 0].min() > swept[:, 0].max() or outline[:, 0].max() < swept[:, 0].min():
            continue
        left = CLEARANCE + outline[:, 1].max() - swept[:, 1].min()  # shifts that pass it on its left and right side
        right = swept[:, 1].max() - outline[:, 1].min() + CLEARANCE
        shift = left if left <= right else -right
        if min(left, right) > 0.0 and abs(shift) > abs(aside):
            aside = shift
    if aside == 0.0:
        return None
    height = max(start.pose.translation[2], end.translation[2]) + lift / MIDDLE
    sideways = aside / _EARLY * axes[1]
    return np.array([[*(point[:2] + sideways), height] for point in (start.pose.translation, end.translation)])


def _is_clear(start: Contact, target: Contact, standing: Contact) -> bool:
    """Return whether the straight path keeps the clearance from a standing foot, or comes no nearer than its ends.

    The last step to a foot beside the standing one is short, and oblique: neither foot is in its way.
    """
    ends, other = [_outline(start), _outline(target)], _outline(standing)
    nearest = min(_gap(end, other) for end in ends)
    return _gap(np.vstack(ends), other) >= min(CLEARANCE, nearest) - 1e-6


def _gap(first: Array, second: Array) -> float:
    """Return the gap of the convex hulls of two sets of points, (k, 2) [m], across an edge; negative: overlap."""
    gaps = []
    for one, other in ((first, second), (second, first)):
        edges = ConvexHull(one).equations  # outward unit normals and offsets
        gaps.append((other @ edges[:, :2].T + edges[:, 2]).min(axis=0).max())
    return float(max(gaps))


def _stands(contact: Contact) -> bool:
    return contact.kind == "planar" and bool(contact.normal[2] > _LEVEL)


def _outline(contact: Contact) -> Array:
    """Return the corners of a contact's surface in the world's horizontal plane, (k, 2) [m]."""
    corners: Array = contact.points @ contact.pose.rotation.T + contact.pose.translation
    return corners[:, :2]
