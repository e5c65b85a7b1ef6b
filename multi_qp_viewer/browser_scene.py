"""Drawing of a scene in the browser: bodies, and layers over them."""

from __future__ import annotations

from collections.abc import Sequence

import viser

from multi_qp_controller.snapshot import Snapshot
from multi_qp_viewer import marks
from multi_qp_viewer.browser_bodies import BodyMeshes
from multi_qp_viewer.browser_drawings import DrawingLayer, Layer
from multi_qp_viewer.browser_labels import View, view_of
from multi_qp_viewer.browser_studio import FLOOR
from multi_qp_viewer.drawings import DrawnSnapshot
from multi_qp_viewer.following import WORLD, FollowingView
from multi_qp_viewer.ghost import ReferenceLayer
from multi_qp_viewer.scene_view import DrawableScene, character_weight, scene_bounds

PERMANENT = ("/lights", FLOOR, "/WorldAxes")  # nodes that are no part of a scene
HANDLE_REACH = 20.0  # margin around the initial scene within which handles can be dragged [m]


class SceneDrawing:
    """Bodies and layers of one scene.

    Attributes:
        bodies: meshes of the bodies.
        layers: drawn over the bodies.
        reach: lower and upper corner of the initial scene with a margin, (3,) each [m].
        view: follows the bodies.
    """

    def __init__(self, server: viser.ViserServer, scene: DrawableScene, groups: Sequence[str] = marks.GROUPS) -> None:
        """Add the scene to the page.

        Args:
            server: of the page.
            scene: the scene.
            groups: of drawings, each of which is a layer.
        """
        self._server = server
        lower, upper = scene_bounds(scene, scene.q0)
        self.reach = lower - HANDLE_REACH, upper + HANDLE_REACH
        self.bodies = BodyMeshes(server, scene)
        self.view = FollowingView(server, scene, self.bodies)
        self.layers: list[Layer] = [*(DrawingLayer(server, group) for group in groups), ReferenceLayer(server, scene)]
        self._weight = character_weight(scene)
        self._drawn: Snapshot | None = None
        self._seen: View | None = None

    def draw(self, snapshot: Snapshot, *, follow_camera: bool) -> None:
        """Draw a snapshot unless it is drawn already; a camera that has moved may change labels."""
        seen = view_of(self._server)
        if snapshot is self._drawn and (seen == self._seen or not follow_camera):
            return
        self._seen = seen  # decides which labels are shown
        self.bodies.move(snapshot.q)
        external = snapshot.drawings if isinstance(snapshot, DrawnSnapshot) else None
        drawings = list(marks.drawings_of(snapshot, weight=self._weight)) if external is None else external
        for layer in self.layers:
            layer.draw(snapshot, drawings)
        self._drawn = snapshot

    def remove(self) -> None:
        """Remove everything but lights and floor from the 3-D view."""
        nodes = self._server.scene._handle_from_node_name  # viser has no public list of them; its version is pinned
        for name in sorted(nodes):  # parents first, which remove their children
            if name.strip("/") and name != WORLD and not name.startswith(PERMANENT):
                self._server.scene.remove_by_name(name)
