"""What RViz sees of one tick: markers with stable namespaces and ids, all in the frame `world`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from multi_qp_controller.ros.conversions import WORLD, to_point, to_stamp
from multi_qp_controller.snapshot import ContactSnapshot, PairSnapshot, Snapshot

Array = NDArray[np.float64]

#: Length of a force's arrow [m/N], and of the edges of a friction cone [m].
FORCE_SCALE, CONE_LENGTH = 0.001, 0.06

_FORCE, _CONE, _COM, _SUPPORT, _TARGET = (
    (0.9, 0.2, 0.2),
    (0.95, 0.7, 0.2),
    (0.2, 0.4, 0.9),
    (0.2, 0.7, 0.3),
    (0.6, 0.2, 0.8),
)
_WATCHED, _DAMPED, _TOO_NEAR = (0.5, 0.5, 0.5), (0.95, 0.6, 0.1), (0.9, 0.1, 0.1)


class MarkerMaker:
    """Makes the markers of one tick after the other.

    Namespaces are "contact_forces", "friction_cones", "watched_pairs", "com", "support_polygon" and "targets". An id
    belongs to one contact, pair, subsystem or target as long as the maker lives; what is gone is deleted.
    """

    def __init__(self) -> None:
        self._ids: dict[str, dict[str, int]] = {}
        self._shown: set[tuple[str, int]] = set()
        self._stamp = to_stamp(0)

    def markers(self, snapshot: Snapshot, stamp: int) -> MarkerArray:
        """Return the markers of a snapshot at a time [ns]."""
        self._stamp = to_stamp(stamp)
        made = [marker for contact in snapshot.contacts for marker in self._contact(contact)]
        made += [self._pair(pair) for pair in snapshot.pairs]
        made += [self._ball("com", name, position, 0.05, _COM) for name, position in snapshot.com.items()]
        if snapshot.com_total is not None:
            made.append(self._ball("com", "all together", snapshot.com_total, 0.07, _COM))
        if snapshot.support_polygon is not None and len(snapshot.support_polygon) > 1:
            polygon = [*snapshot.support_polygon, snapshot.support_polygon[0]]
            made.append(self._lines("support_polygon", "", polygon, 0.008, _SUPPORT, kind=Marker.LINE_STRIP))
        made += [self._ball("targets", target.name, target.position, 0.03, _TARGET) for target in snapshot.targets]
        now = {(marker.ns, marker.id) for marker in made}
        gone = [Marker(ns=namespace, id=number, action=Marker.DELETE) for namespace, number in self._shown - now]
        self._shown = now
        return MarkerArray(markers=[*gone, *made])

    def _marker(self, namespace: str, name: str, kind: int, size: float, color: tuple[float, float, float]) -> Marker:
        ids = self._ids.setdefault(namespace, {})
        marker = Marker(ns=namespace, id=ids.setdefault(name, len(ids)), type=kind, action=Marker.ADD)
        marker.header.frame_id, marker.header.stamp = WORLD, self._stamp
        marker.scale.x = size
        marker.pose.orientation.w = 1.0
        marker.color = ColorRGBA(r=color[0], g=color[1], b=color[2], a=1.0)
        return marker

    def _lines(
        self,
        namespace: str,
        name: str,
        points: Sequence[Array],
        width: float,
        color: tuple[float, float, float],
        *,
        kind: int = Marker.LINE_LIST,
    ) -> Marker:
        marker = self._marker(namespace, name, kind, width, color)
        marker.points = [to_point(point) for point in points]
        return marker

    def _ball(
        self, namespace: str, name: str, position: Array, size: float, color: tuple[float, float, float]
    ) -> Marker:
        marker = self._marker(namespace, name, Marker.SPHERE, size, color)
        marker.scale.y = marker.scale.z = size
        marker.pose.position = to_point(position)
        return marker

    def _contact(self, contact: ContactSnapshot) -> list[Marker]:
        forces = [p for x, f in zip(contact.points, contact.forces, strict=True) for p in (x, x + FORCE_SCALE * f)]
        edges = [
            end
            for point, normal in zip(contact.points, contact.normals, strict=True)
            for edge in _cone_edges(normal, contact.friction)
            for end in (point, point + CONE_LENGTH * edge)
        ]
        return [
            self._lines("contact_forces", contact.name, forces, 0.01, _FORCE),
            self._lines("friction_cones", contact.name, edges, 0.002, _CONE),
        ]

    def _pair(self, pair: PairSnapshot) -> Marker:
        near = _TOO_NEAR if pair.distance < pair.security else _DAMPED
        color = near if pair.active else _WATCHED
        return self._lines("watched_pairs", pair.name, [pair.point_a, pair.point_b], 0.004, color)


def _cone_edges(normal: Array, friction: float) -> list[Array]:
    """Return four unit vectors along a friction pyramid; its turn about the normal is chosen for looks."""
    aside = np.cross(normal, [1.0, 0.0, 0.0] if abs(normal[0]) < 0.9 else [0.0, 1.0, 0.0])
    aside /= np.linalg.norm(aside)
    along = np.cross(normal, aside)
    slope = friction / np.sqrt(2.0)
    edges = [normal + slope * (s * aside + t * along) for s, t in ((1, 1), (1, -1), (-1, -1), (-1, 1))]
    return [edge / np.linalg.norm(edge) for edge in edges]
