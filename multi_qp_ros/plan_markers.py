"""RViz markers of plans: the contacts of each phase, and the path of each centre of mass."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from trajectory_msgs.msg import MultiDOFJointTrajectory
from visualization_msgs.msg import Marker, MarkerArray

from multi_qp_ros.marker_ledger import MarkerLedger, Rgb
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.surfaces import planar_points

#: Description of each marker namespace.
NAMESPACES = {
    "planned_contacts": "the surface of each planned contact, from light, the first phase, to dark, the last",
    "planned_phases": "the number of the phase in which a contact is made, beside it",
    "com_trajectory": "the planned path of each centre of mass",
}
_EARLY, _LATE, _PATH, _TEXT = (0.60, 0.85, 1.0), (0.10, 0.25, 0.70), (0.95, 0.35, 0.75), (0.9, 0.9, 0.9)
#: Size of the outline of a contact whose surface is unknown [m].
_UNKNOWN = (0.2, 0.1)


class PlanMarkers:
    """Maker of the markers of planned contacts and, independently, of planned paths."""

    def __init__(self, scenario: Scenario) -> None:
        self._contacts, self._paths = MarkerLedger(), MarkerLedger()
        surfaces = scenario.scene.surfaces
        self._outlines = {name: surface.points for name, surface in surfaces.items()}
        for name, contact in scenario.spec.contacts.items():
            self._outlines[name] = surfaces[contact.surfaces[0]].points

    def contacts(self, plan: MultiDOFJointTrajectory, stamp: int) -> MarkerArray:
        """Return the markers of a contact sequence at a time [ns].

        Each point of the message is one phase, with the surface pose of each contact; NaN if the contact is inactive.
        Names are those of contacts of the scenario or of surfaces; others are drawn as 20 cm × 10 cm.
        """
        self._contacts.begin(stamp)
        before: dict[str, Array] = {}
        for phase, point in enumerate(plan.points):
            share = phase / max(len(plan.points) - 1, 1)
            color = _between(_EARLY, _LATE, share)
            now = _poses(plan.joint_names, point)
            for name, pose in now.items():
                if name not in before or not np.allclose(before[name], pose, atol=1e-6):
                    self._contact(name, phase, pose, color)
            before = now
        return self._contacts.end()

    def _contact(self, name: str, phase: int, pose: Array, color: Rgb) -> None:
        X, key = pin.XYZQUATToSE3(pose), f"{name} {phase}"
        corners = self._outlines.get(name, planar_points(_UNKNOWN)[0])
        outline = [X.act(corner) for corner in (*corners, corners[0])]
        if len(corners) == 1:
            self._contacts.ball("planned_contacts", key, outline[0], 0.03, color)
        else:
            self._contacts.lines("planned_contacts", key, outline, 0.008, color, kind=Marker.LINE_STRIP)
        above = X.translation + [0.0, 0.0, 0.03]
        self._contacts.text("planned_phases", key, above, str(phase + 1), 0.05, _TEXT)

    def paths(self, plan: MultiDOFJointTrajectory, stamp: int) -> MarkerArray:
        """Return the markers of a trajectory of centres of mass at a time [ns]."""
        self._paths.begin(stamp)
        for k, name in enumerate(plan.joint_names):
            shifts = [p.transforms[k].translation for p in plan.points if k < len(p.transforms)]
            places = np.array([[t.x, t.y, t.z] for t in shifts]).reshape(-1, 3)
            places = places[np.isfinite(places).all(axis=1)]
            if len(places) > 1:
                self._paths.lines("com_trajectory", name, list(places), 0.012, _PATH, kind=Marker.LINE_STRIP)
        return self._paths.end()


def _poses(names: list[str], point: object) -> dict[str, Array]:
    """Return the active contacts of one phase: position [m] and unit quaternion (x, y, z, w) by name, (7,)."""
    poses = {}
    for name, transform in zip(names, getattr(point, "transforms", []), strict=False):
        t, r = transform.translation, transform.rotation
        pose = np.array([t.x, t.y, t.z, r.x, r.y, r.z, r.w])
        size = np.linalg.norm(pose[3:])
        if np.isfinite(pose).all() and size > 1e-9:
            poses[name] = np.concatenate([pose[:3], pose[3:] / size])
    return poses


def _between(first: Rgb, last: Rgb, share: float) -> Rgb:
    red, green, blue = ((1.0 - share) * a + share * b for a, b in zip(first, last, strict=True))
    return red, green, blue
