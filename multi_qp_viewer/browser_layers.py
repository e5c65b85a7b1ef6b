"""Layers that the browser draws over the bodies, one class per layer."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import viser
import viser.transforms as vtf

from multi_qp_controller.snapshot import PairSnapshot, Snapshot
from multi_qp_viewer import marks
from multi_qp_viewer.browser_instances import AWAY, Instances, instance_colors
from multi_qp_viewer.browser_labels import LabelPool
from multi_qp_viewer.marks import Color

COM_RADIUS = 0.035  # [m]
MARK_LIFT = 0.004  # of flat marks above the floor [m]
MOST_LABELS = 10  # of the closest pairs
MOST_CORNERS = 16  # of the support polygon


class Layer(Protocol):
    """Drawing that can be shown and hidden."""

    title: str

    def draw(self, snapshot: Snapshot) -> None:
        """Show this tick."""

    def switch(self, shown: bool) -> None:
        """Show or hide."""


class Forces:
    """Contact forces as arrows, acting on the body of the first surface."""

    title = "Contact forces"

    def __init__(self, server: viser.ViserServer, weight: float) -> None:
        """Scale arrows by the weight of the heaviest character [N]."""
        self._weight = weight
        self._handle = server.scene.add_arrows(
            "/world/forces",
            np.zeros((0, 2, 3)),
            instance_colors(np.array(marks.FORCE)),
            shaft_radius=0.009,
            head_radius=0.024,
            head_length=0.06,
        )

    def draw(self, snapshot: Snapshot) -> None:
        """Show this tick."""
        arrows = marks.force_arrows(snapshot, weight=self._weight)
        self._handle.points = np.stack([arrows.starts, arrows.ends], axis=1).astype(np.float32)

    def switch(self, shown: bool) -> None:
        """Show or hide."""
        self._handle.visible = shown


class FrictionCones:
    """The 4-edge friction pyramid at every contact point."""

    title = "Friction cones"

    def __init__(self, server: viser.ViserServer) -> None:
        """Create translucent pyramids."""
        self._instances = Instances(server, "/world/friction_cones", "pyramid", marks.CONE, opacity=0.35)

    def draw(self, snapshot: Snapshot) -> None:
        """Show this tick."""
        cones = marks.friction_cones(snapshot)
        widths = cones.slopes * marks.CONE_HEIGHT
        scales = np.column_stack([widths, widths, np.full(len(widths), marks.CONE_HEIGHT)])
        self._instances.place(cones.apexes, cones.rotations, scales)

    def switch(self, shown: bool) -> None:
        """Show or hide."""
        self._instances.switch(shown)


class CentersOfMass:
    """Centre of mass per subsystem (small) and in total, with their ground projections."""

    title = "Centre of mass"

    def __init__(self, server: viser.ViserServer) -> None:
        """Create instanced balls and flat marks."""
        self._balls = Instances(server, "/world/com/balls", "sphere", marks.COM)
        self._marks = Instances(server, "/world/com/marks", "cylinder", marks.COM)
        self._drops = server.scene.add_line_segments(
            "/world/com/drops", np.zeros((0, 2, 3)), _bytes(marks.COM), thickness=0.006
        )

    def draw(self, snapshot: Snapshot) -> None:
        """Show this tick."""
        points, sizes = list(snapshot.com.values()), [0.6] * len(snapshot.com)
        if snapshot.com_total is not None:
            points, sizes = [*points, snapshot.com_total], [*sizes, 1.0]
        centers = np.reshape(points, (-1, 3)).astype(float)
        radii = COM_RADIUS * np.array(sizes).reshape(-1, 1)
        rotations = np.tile(np.eye(3), (len(centers), 1, 1))
        feet = centers * [1.0, 1.0, 0.0] + [0.0, 0.0, MARK_LIFT]
        self._balls.place(centers, rotations, np.tile(radii, (1, 3)))
        self._marks.place(feet, rotations, np.hstack([radii, radii, np.full_like(radii, 0.003)]))
        self._drops.points = np.stack([centers, feet], axis=1).astype(np.float32)

    def switch(self, shown: bool) -> None:
        """Show or hide."""
        self._balls.switch(shown)
        self._marks.switch(shown)
        self._drops.visible = shown


class SupportPolygon:
    """The convex hull of the ground contacts."""

    title = "Support polygon"

    def __init__(self, server: viser.ViserServer) -> None:
        """Create a fan of triangles, whose corners move later."""
        _, faces = marks.fan(np.zeros((MOST_CORNERS, 3)))
        self._mesh = server.scene.add_mesh_simple(
            "/world/support/area",
            np.zeros((MOST_CORNERS, 3)),
            faces.astype(np.uint32),
            color=_bytes(marks.SUPPORT),
            opacity=0.3,
            side="double",
            flat_shading=True,
            cast_shadow=False,
            receive_shadow=False,
        )
        self._outline = server.scene.add_line_segments(
            "/world/support/outline", np.zeros((0, 2, 3)), _bytes(marks.SUPPORT), thickness=0.008
        )

    def draw(self, snapshot: Snapshot) -> None:
        """Show this tick."""
        polygon = snapshot.support_polygon
        if polygon is None or len(polygon) < 3:
            self._mesh.vertices = np.tile(AWAY, (MOST_CORNERS, 1)).astype(np.float32)
            self._outline.points = np.zeros((0, 2, 3), dtype=np.float32)
            return
        corners = np.asarray(polygon) + [0.0, 0.0, MARK_LIFT]
        rows = np.minimum(np.arange(MOST_CORNERS), len(corners) - 1)  # spare corners repeat the last
        self._mesh.vertices = corners[rows].astype(np.float32)
        self._outline.points = np.stack([corners, np.roll(corners, -1, axis=0)], axis=1).astype(np.float32)

    def switch(self, shown: bool) -> None:
        """Show or hide."""
        self._mesh.visible = self._outline.visible = shown


class Pairs:
    """Monitored collision pairs: grey when far, yellow within the influence distance, red at the security distance."""

    title = "Watched pairs"

    def __init__(self, server: viser.ViserServer) -> None:
        """Allocate segments and labels."""
        self._server = server
        self._capacity = 0
        self._visible = True
        self._allocate(32)
        self._labels = LabelPool(server, "/world/pairs/label", MOST_LABELS)

    def draw(self, snapshot: Snapshot) -> None:
        """Show this tick."""
        if len(snapshot.pairs) > self._capacity:
            self._allocate(2 * len(snapshot.pairs))
        points = np.tile(AWAY, (self._capacity, 2, 1))
        colors = np.zeros((self._capacity, 2, 3), dtype=np.uint8)
        for index, pair in enumerate(snapshot.pairs):
            points[index] = pair.point_a, pair.point_b
            colors[index] = _bytes(marks.pair_color(pair))
        self._segments.colors = colors
        self._segments.points = points.astype(np.float32)
        self._label([pair for pair in snapshot.pairs if pair.distance < pair.influence])

    def switch(self, shown: bool) -> None:
        """Show or hide."""
        self._visible = shown
        self._segments.visible = shown
        self._labels.switch(shown)

    def _label(self, pairs: list[PairSnapshot]) -> None:
        closest = sorted(pairs, key=lambda pair: pair.distance)
        middles = np.array([(pair.point_a + pair.point_b) / 2 for pair in closest])
        self._labels.place(middles, [marks.pair_label(pair) for pair in closest], visible=self._visible)

    def _allocate(self, capacity: int) -> None:
        self._capacity = capacity
        self._segments = self._server.scene.add_line_segments(
            "/world/pairs/segments",
            np.tile(AWAY, (capacity, 2, 1)),
            np.zeros((capacity, 2, 3), dtype=np.uint8),
            thickness=0.008,
            visible=self._visible,
        )


class Targets:
    """References of the tasks: frames for poses, balls for points."""

    title = "Targets"

    def __init__(self, server: viser.ViserServer) -> None:
        """Create an empty layer; frames and points are added on demand."""
        self._server = server
        self._visible = True
        self._frames: dict[str, viser.FrameHandle] = {}
        self._points = Instances(server, "/world/target_points", "sphere", marks.TARGET)

    def draw(self, snapshot: Snapshot) -> None:
        """Show this tick."""
        turning = {target.name: target for target in snapshot.targets if target.rotation is not None}
        for name in turning.keys() - self._frames.keys():
            path = f"/world/targets/{len(self._frames)}"
            self._frames[name] = self._server.scene.add_frame(
                path, axes_length=0.12, axes_radius=0.005, origin_radius=0.012
            )
        for name, frame in self._frames.items():
            frame.visible = self._visible and name in turning
            if name in turning:
                frame.position = turning[name].position
                frame.wxyz = vtf.SO3.from_matrix(np.asarray(turning[name].rotation)).wxyz
        points = np.array([target.position for target in snapshot.targets if target.rotation is None])
        count = len(points)
        self._points.place(
            points.reshape(-1, 3), np.tile(np.eye(3), (count, 1, 1)), np.full((count, 3), 0.6 * COM_RADIUS)
        )

    def switch(self, shown: bool) -> None:
        """Show or hide."""
        self._visible = shown
        self._points.switch(shown)
        for frame in self._frames.values():
            frame.visible = shown


def all_layers(server: viser.ViserServer, *, weight: float) -> list[Layer]:
    """Return all layers; `weight` of the heaviest character [N] scales the forces."""
    return [
        Forces(server, weight),
        FrictionCones(server),
        CentersOfMass(server),
        SupportPolygon(server),
        Pairs(server),
        Targets(server),
    ]


def _bytes(color: Color) -> tuple[int, int, int]:
    red, green, blue = (round(255 * channel) for channel in color)
    return red, green, blue
