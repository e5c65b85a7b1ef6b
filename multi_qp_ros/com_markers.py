"""RViz markers of 2PAC trajectories: polytopes of the phases, transition points and curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from visualization_msgs.msg import Marker, MarkerArray

from multi_qp_ros.marker_ledger import MarkerLedger, Rgb
from multi_qp_scene.errors import MultiQpError

if TYPE_CHECKING:  # slow to import, and needed by few scenes
    from com_trajectory.phases import PlannedPhase
    from com_trajectory.trajectory import ComTrajectory

#: Description of each marker namespace.
NAMESPACES = {
    "com_polytopes": "where the effectors of each phase let the centre of mass be",
    "com_regions": "where the centre of mass can rest on the contacts of each phase, at its lowest contact",
    "transition_points": "where the centre of mass is drawn to when a contact comes off or is made",
    "com_curve": "the curve of the centre of mass",
}
_REACH, _REST, _CURVE = (0.3, 0.8, 0.4), (0.95, 0.8, 0.2), (0.95, 0.35, 0.75)
_POINT, _MISSED = (0.2, 0.4, 0.95), (0.9, 0.2, 0.2)
_CURVE_POINTS = 200


class ComMarkers:
    """Maker of the markers of centre-of-mass trajectories."""

    def __init__(self) -> None:
        self._ledger = MarkerLedger()

    def of(self, trajectories: Mapping[str, ComTrajectory], stamp: int) -> MarkerArray:
        """Return the markers of trajectories by subsystem at a time [ns]; earlier markers are deleted."""
        self._ledger.begin(stamp)
        for name, trajectory in trajectories.items():
            for number, planned in enumerate(trajectory.phases):
                self._phase(f"{name} {number + 1}", planned)
            for number, found in enumerate(trajectory.transitions):
                color: Rgb = _POINT if found.feasible else _MISSED
                self._ledger.ball("transition_points", f"{name} {number + 1}", found.point, 0.03, color)
            times = np.linspace(0.0, trajectory.duration, _CURVE_POINTS)
            places = list(trajectory.position(times))
            self._ledger.lines("com_curve", name, places, 0.01, _CURVE, kind=Marker.LINE_STRIP)
        return self._ledger.end()

    def _phase(self, key: str, planned: PlannedPhase) -> None:
        try:
            corners, faces = planned.reach.faces()
        except MultiQpError:  # unbounded polytopes are not drawn
            corners, faces = np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
        if len(faces):
            marker = self._ledger.marker("com_polytopes", key, Marker.TRIANGLE_LIST, _REACH, alpha=0.12)
            self._ledger.put_points(marker, list(corners[faces.ravel()]))
        outline = planned.region.corners
        if len(outline) > 2:
            height = min(float(contact.pose.translation[2]) for contact in planned.phase.contacts)
            ring = [np.array([x, y, height + 0.005]) for x, y in (*outline[:, :2], outline[0, :2])]
            self._ledger.lines("com_regions", key, ring, 0.006, _REST, kind=Marker.LINE_STRIP)
