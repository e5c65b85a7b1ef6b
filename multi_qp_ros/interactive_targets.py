"""Interactive markers of targets in RViz, if `interactive_markers` is installed (part of ROS, not of the wheels)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from geometry_msgs.msg import Pose
from visualization_msgs.msg import InteractiveMarker, InteractiveMarkerControl, InteractiveMarkerFeedback, Marker

from multi_qp_ros import topics
from multi_qp_ros.conversions import WORLD, to_pose
from multi_qp_scene.arrays import Array

try:
    from interactive_markers import InteractiveMarkerServer
except ImportError:
    InteractiveMarkerServer = None


#: Size of an interactive marker [m].
SIZE = 0.25
#: Rotations of the x axis to x, y and z, as quaternions (x, y, z, w): a control acts along or about its x axis.
_AXES = {"x": (1.0, 0.0, 0.0, 1.0), "y": (0.0, 0.0, 1.0, 1.0), "z": (0.0, 1.0, 0.0, 1.0)}


def has_interactive_markers() -> bool:
    """Return whether `interactive_markers` is installed."""
    return InteractiveMarkerServer is not None


class InteractiveTargets:
    """Interactive markers of the currently movable targets; requires `has_interactive_markers`."""

    def __init__(self, node: Any, moved: Callable[[str, Pose], None]) -> None:
        """Create the server without markers; `moved` is called with the name and new pose in the world of a target."""
        self._server = InteractiveMarkerServer(node, topics.INTERACTIVE_TARGETS)
        self._moved = moved
        self._offered: set[str] = set()

    def offer(self, places: Mapping[str, Array]) -> None:
        """Set the shown targets by name; new ones are inserted at their positions in the world, (3,) [m]."""
        gone, new = self._offered - places.keys(), places.keys() - self._offered
        if not gone and not new:
            return
        for name in gone:
            self._server.erase(name)
        for name in sorted(new):
            self._server.insert(handle(name, places[name]), feedback_callback=self._on_feedback)
        self._server.applyChanges()
        self._offered = set(places)

    def _on_feedback(self, feedback: InteractiveMarkerFeedback) -> None:
        if feedback.event_type == InteractiveMarkerFeedback.POSE_UPDATE and feedback.header.frame_id in ("", WORLD):
            self._moved(feedback.marker_name, feedback.pose)


def handle(name: str, position: Array) -> InteractiveMarker:
    """Return an interactive marker with arrows and rings, at a position in the world, (3,) [m]."""
    marker = InteractiveMarker(name=name, description=name, scale=SIZE)
    marker.header.frame_id = WORLD
    marker.pose = to_pose(position, np.array([0.0, 0.0, 0.0, 1.0]))
    ball = Marker(type=Marker.SPHERE)
    ball.scale.x = ball.scale.y = ball.scale.z = 0.25 * SIZE
    ball.color.r, ball.color.g, ball.color.b, ball.color.a = 0.55, 0.27, 0.80, 0.8
    grip = InteractiveMarkerControl(
        name="grip", always_visible=True, markers=[ball], interaction_mode=InteractiveMarkerControl.MOVE_3D
    )
    marker.controls = [grip]
    for mode, label in (
        (InteractiveMarkerControl.MOVE_AXIS, "move"),
        (InteractiveMarkerControl.ROTATE_AXIS, "rotate"),
    ):
        for axis, quaternion in _AXES.items():
            control = InteractiveMarkerControl(name=f"{label}_{axis}", interaction_mode=mode)
            o = control.orientation
            o.x, o.y, o.z, o.w = (np.array(quaternion) / np.linalg.norm(quaternion)).tolist()
            marker.controls.append(control)
    return marker
