"""RViz markers of one tick, with stable namespaces and ids, in the frame `world`."""

from __future__ import annotations

from collections import Counter

import numpy as np
from visualization_msgs.msg import Marker, MarkerArray

from multi_qp_controller.snapshot import ContactSnapshot, PairSnapshot, Snapshot, TargetSnapshot
from multi_qp_ros.marker_ledger import MarkerLedger, Rgb
from multi_qp_scene.arrays import Array
from multi_qp_scene.surfaces import pyramid

#: Description of each marker namespace; RViz can toggle them individually.
NAMESPACES = {
    "contact_forces": "an arrow at each contact point: the force on the first surface's body",
    "friction_cones": "the linearised friction cone at each contact point",
    "watched_pairs": "the segment between the witness points of each watched pair that is near",
    "witness_points": "its ends",
    "pair_distances": "its length",
    "com": "centre of mass of each moving subsystem, and of all together",
    "support_polygon": "hull of the contacts of characters with the environment",
    "targets": "what each task follows",
    "target_names": "their names",
}

#: Length of a force arrow [m/N], smallest drawn force [N], height of a friction cone [m].
FORCE_SCALE, LEAST_FORCE, CONE_HEIGHT = 0.002, 1.0, 0.08
_AXIS, _LABEL = 0.12, 0.04  # [m]

_FORCE, _CONE, _COM = (0.10, 0.62, 0.35), (0.20, 0.70, 0.45), (0.95, 0.55, 0.10)
_SUPPORT, _TARGET, _TEXT = (0.24, 0.52, 0.89), (0.55, 0.27, 0.80), (0.9, 0.9, 0.9)
_AXES = ((0.9, 0.2, 0.2), (0.2, 0.8, 0.2), (0.25, 0.4, 0.95))
WATCHED, DAMPED, TOO_NEAR = (0.62, 0.64, 0.67), (0.96, 0.78, 0.13), (0.86, 0.15, 0.15)


class MarkerMaker:
    """Maker of the markers listed in `NAMESPACES`, tick by tick.

    Ids of contact points, pairs, subsystems and targets persist for the lifetime of this object; outdated markers are
    deleted.
    """

    def __init__(self) -> None:
        self._ledger = MarkerLedger()

    def markers(self, snapshot: Snapshot, stamp: int) -> MarkerArray:
        """Return the markers of a snapshot at a time [ns]."""
        self._ledger.begin(stamp)
        for contact in snapshot.contacts:
            self._forces(contact)
            self._cones(contact)
        pieces = Counter[str]()  # pairs of convex pieces of two links have the same name
        for pair in snapshot.pairs:
            self._pair(pair, f"{pair.name} {pieces[pair.name]}")
            pieces[pair.name] += 1
        for name, position in snapshot.com.items():
            self._ledger.ball("com", name, position, 0.05, _COM)
        if snapshot.com_total is not None:
            self._ledger.ball("com", "all together", snapshot.com_total, 0.08, _COM)
        if snapshot.support_polygon is not None and len(snapshot.support_polygon) > 1:
            self._support(snapshot.support_polygon)
        for target in snapshot.targets:
            self._target(target)
        return self._ledger.end()

    def clear(self, stamp: int) -> MarkerArray:
        """Return the deletion of all markers."""
        self._ledger.begin(stamp)
        return self._ledger.end()

    def _forces(self, contact: ContactSnapshot) -> None:
        for k, (point, force) in enumerate(zip(contact.points, contact.forces, strict=True)):
            size = float(np.linalg.norm(force))
            if not size > LEAST_FORCE:
                continue
            marker = self._ledger.marker("contact_forces", f"{contact.name} {k}", Marker.ARROW, _FORCE)
            self._ledger.put_points(marker, [point, point + FORCE_SCALE * force])
            marker.scale.x, marker.scale.y, marker.scale.z = 0.012, 0.03, min(0.05, 0.4 * FORCE_SCALE * size)

    def _cones(self, contact: ContactSnapshot) -> None:
        """Add pyramids without bases, one triangle between each two neighbouring edges."""
        points: list[Array] = []
        for apex, normal in zip(contact.points, contact.normals, strict=True):
            edges = apex + CONE_HEIGHT * pyramid(normal, contact.friction)
            for edge, following in zip(edges, np.roll(edges, -1, axis=0), strict=True):
                points += [apex, edge, following]
        marker = self._ledger.marker("friction_cones", contact.name, Marker.TRIANGLE_LIST, _CONE, alpha=0.35)
        self._ledger.put_points(marker, points)

    def _pair(self, pair: PairSnapshot, key: str) -> None:
        color, ends = pair_color(pair), [pair.point_a, pair.point_b]
        self._ledger.lines("watched_pairs", key, ends, 0.006, color)
        balls = self._ledger.marker("witness_points", key, Marker.SPHERE_LIST, color, size=0.016)
        self._ledger.put_points(balls, ends)
        middle = (pair.point_a + pair.point_b) / 2.0
        self._ledger.text("pair_distances", key, middle, f"{100.0 * pair.distance:.1f} cm", _LABEL, color)

    def _support(self, polygon: Array) -> None:
        lifted = [corner + [0.0, 0.0, 0.004] for corner in polygon]
        self._ledger.lines("support_polygon", "outline", [*lifted, lifted[0]], 0.01, _SUPPORT, kind=Marker.LINE_STRIP)
        if len(lifted) > 2:
            fan = [corner for k in range(1, len(lifted) - 1) for corner in (lifted[0], lifted[k], lifted[k + 1])]
            area = self._ledger.marker("support_polygon", "area", Marker.TRIANGLE_LIST, _SUPPORT, alpha=0.3)
            self._ledger.put_points(area, fan)

    def _target(self, target: TargetSnapshot) -> None:
        self._ledger.ball("targets", target.name, target.position, 0.03, _TARGET)
        above = target.position + [0.0, 0.0, 0.05]
        self._ledger.text("target_names", target.name, above, target.name, _LABEL, _TEXT)
        if target.rotation is None:
            return
        ends = [end for axis in target.rotation.T for end in (target.position, target.position + _AXIS * axis)]
        axes = self._ledger.marker("targets", f"axes of {target.name}", Marker.LINE_LIST, _TARGET, size=0.006)
        self._ledger.put_points(axes, ends, colors=[color for color in _AXES for _ in range(2)])


def pair_color(pair: PairSnapshot) -> Rgb:
    """Return the color of a pair by the state of its velocity damper.

    Grey: the pair has no row in the QP. Else from yellow at the influence distance to red at the security distance.
    """
    if not pair.active:
        return WATCHED
    share = (pair.influence - pair.distance) / max(pair.influence - pair.security, 1e-9)
    share = min(max(share, 0.0), 1.0)
    red, green, blue = ((1.0 - share) * far + share * near for far, near in zip(DAMPED, TOO_NEAR, strict=True))
    return red, green, blue
