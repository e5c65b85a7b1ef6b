"""Marker ids by name, and deletion of outdated markers."""

from __future__ import annotations

from collections.abc import Sequence

from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from multi_qp_ros.conversions import WORLD, to_point, to_stamp
from multi_qp_scene.arrays import Array

Rgb = tuple[float, float, float]


class MarkerLedger:
    """Collection of the markers of successive frames, with persistent ids.

    Between `begin` and `end` each name is added at most once per namespace. `end` returns the added markers, and
    deletions of the markers of the previous frame that were not added again.
    """

    def __init__(self) -> None:
        self._ids: dict[str, dict[str, int]] = {}
        self._shown: set[tuple[str, int]] = set()
        self._made: list[Marker] = []
        self._stamp = to_stamp(0)

    def begin(self, stamp: int) -> None:
        """Start a frame with a stamp [ns]."""
        self._stamp, self._made = to_stamp(stamp), []

    def end(self) -> MarkerArray:
        """Return the markers of the frame."""
        now = {(marker.ns, marker.id) for marker in self._made}
        gone = [self._delete(namespace, number) for namespace, number in sorted(self._shown - now)]
        self._shown = now
        return MarkerArray(markers=[*gone, *self._made])

    def _delete(self, namespace: str, number: int) -> Marker:
        marker = Marker(ns=namespace, id=number, action=Marker.DELETE)
        marker.header.frame_id, marker.header.stamp = WORLD, self._stamp
        return marker

    def marker(
        self, namespace: str, name: str, kind: int, color: Rgb, *, alpha: float = 1.0, size: float = 1.0
    ) -> Marker:
        """Add a marker at the origin of the world; `size` is its scale in all directions.

        Its text is its name, which identifies it to subscribers; RViz displays it for text markers only.
        """
        ids = self._ids.setdefault(namespace, {})
        marker = Marker(ns=namespace, id=ids.setdefault(name, len(ids)), type=kind, action=Marker.ADD, text=name)
        marker.header.frame_id, marker.header.stamp = WORLD, self._stamp
        marker.scale.x = marker.scale.y = marker.scale.z = size
        marker.pose.orientation.w = 1.0
        marker.color = ColorRGBA(r=color[0], g=color[1], b=color[2], a=alpha)
        self._made.append(marker)
        return marker

    def put_points(self, marker: Marker, points: Sequence[Array], *, colors: Sequence[Rgb] = ()) -> None:
        """Set the points of a marker in the world [m], and their colors if they differ from the marker's."""
        marker.points = [to_point(point) for point in points]
        marker.colors = [ColorRGBA(r=r, g=g, b=b, a=marker.color.a) for r, g, b in colors]

    def lines(
        self,
        namespace: str,
        name: str,
        points: Sequence[Array],
        width: float,
        color: Rgb,
        *,
        kind: int = Marker.LINE_LIST,
    ) -> Marker:
        """Add lines of a width [m] through points [m]."""
        marker = self.marker(namespace, name, kind, color)
        # lines use x only; RViz warns if y or z are set
        marker.scale.x, marker.scale.y, marker.scale.z = width, 0.0, 0.0
        self.put_points(marker, points)
        return marker

    def ball(self, namespace: str, name: str, position: Array, size: float, color: Rgb) -> Marker:
        """Add a sphere of a diameter [m]."""
        marker = self.marker(namespace, name, Marker.SPHERE, color, size=size)
        marker.pose.position = to_point(position)
        return marker

    def text(self, namespace: str, name: str, position: Array, text: str, height: float, color: Rgb) -> Marker:
        """Add view-facing text of a height [m]."""
        marker = self.marker(namespace, name, Marker.TEXT_VIEW_FACING, color, size=height)
        marker.pose.position = to_point(position)
        marker.text = text
        return marker
