"""Browser layers of external drawings, such as ROS markers: one layer per group."""

from __future__ import annotations

import numpy as np
import viser
from numpy.typing import NDArray

from multi_qp_controller.snapshot import Snapshot
from multi_qp_scene.arrays import Array
from multi_qp_viewer.browser_instances import instance_colors
from multi_qp_viewer.browser_labels import LabelPool
from multi_qp_viewer.drawings import Drawing, DrawingShape, DrawnSnapshot
from multi_qp_viewer.meshes import unit_shape

MAX_TEXTS = 24  # per group


class DrawingLayer:
    """Drawings of one group; unchanged data is not sent again."""

    def __init__(self, server: viser.ViserServer, group: str) -> None:
        """Create an empty layer."""
        self.title = group.replace("_", " ").replace("com", "centre of mass").capitalize()
        self._server, self._group = server, group
        self._visible = True
        self._parts: dict[DrawingShape, _ShapeMarks] = {}
        self._words = LabelPool(server, f"/world/drawings/{group}/word", MAX_TEXTS)

    def draw(self, snapshot: Snapshot) -> None:
        """Show this tick."""
        drawings = snapshot.drawings if isinstance(snapshot, DrawnSnapshot) else ()
        ours = [drawing for drawing in drawings if drawing.group == self._group]
        for shape in (DrawingShape.SEGMENTS, DrawingShape.ARROWS, DrawingShape.TRIANGLES, DrawingShape.BALLS):
            some = [drawing for drawing in ours if drawing.shape is shape and len(drawing.points)]
            if some and shape not in self._parts:
                self._parts[shape] = _ShapeMarks(self._server, f"/world/drawings/{self._group}/{shape}", shape)
            if shape in self._parts:
                self._parts[shape].draw(some, shown=self._visible)
        words = [drawing for drawing in ours if drawing.shape is DrawingShape.WORDS and len(drawing.points)]
        places = np.array([drawing.points[0] for drawing in words])
        self._words.place(places, [drawing.text for drawing in words], visible=self._visible)

    def switch(self, shown: bool) -> None:
        """Show or hide."""
        self._visible = shown
        for part in self._parts.values():
            part.switch(shown)
        self._words.switch(shown)


class _ShapeMarks:
    """Marks of one shape: created again when their number changes, else moved and recoloured."""

    def __init__(self, server: viser.ViserServer, name: str, shape: DrawingShape) -> None:
        self._server, self._name, self._shape = server, name, shape
        self._handle: viser.SceneNodeHandle | None = None
        self._count = 0

    def draw(self, drawings: list[Drawing], *, shown: bool) -> None:
        if not drawings:
            self.switch(False)
            return
        points = np.concatenate([drawing.points for drawing in drawings]).astype(np.float32)
        colors = np.concatenate([drawing.colors for drawing in drawings])
        if self._handle is None or len(points) != self._count:
            if self._handle is not None:
                self._handle.remove()
            self._handle, self._count = self._make(points, colors, drawings), len(points)
        else:
            _change(self._handle, points, colors)
        self._handle.visible = shown

    def switch(self, shown: bool) -> None:
        if self._handle is not None:
            self._handle.visible = shown

    def _make(self, points: NDArray[np.float32], colors: Array, drawings: list[Drawing]) -> viser.SceneNodeHandle:
        scene, size = self._server.scene, drawings[0].size
        pixels = _pixels(colors)
        match self._shape:
            case DrawingShape.SEGMENTS:
                ends = points.reshape(-1, 2, 3)
                return scene.add_line_segments(self._name, ends, pixels.reshape(-1, 2, 3), thickness=size)
            case DrawingShape.ARROWS:
                return scene.add_arrows(
                    self._name,
                    points.reshape(-1, 2, 3),
                    instance_colors(colors[::2]),
                    shaft_radius=size / 2,
                    head_radius=1.3 * size,
                    head_length=3.5 * size,
                )
            case DrawingShape.TRIANGLES:
                faces = np.arange(len(points), dtype=np.uint32).reshape(-1, 3)
                red, green, blue = (int(channel) for channel in pixels[0])
                return scene.add_mesh_simple(
                    self._name,
                    points,
                    faces,
                    color=(red, green, blue),
                    opacity=drawings[0].opacity,
                    side="double",
                    flat_shading=True,
                    cast_shadow=False,
                    receive_shadow=False,
                )
            case _:
                return self._make_balls(points, colors, drawings)

    def _make_balls(self, points: NDArray[np.float32], colors: Array, drawings: list[Drawing]) -> viser.SceneNodeHandle:
        unit = unit_shape("sphere")
        radii = np.repeat([drawing.size / 2 for drawing in drawings], [len(drawing.points) for drawing in drawings])
        return self._server.scene.add_batched_meshes_simple(
            self._name,
            unit.vertices.astype(np.float32),
            unit.faces.astype(np.uint32),
            batched_wxyzs=np.tile([1.0, 0.0, 0.0, 0.0], (len(points), 1)),
            batched_positions=points,
            batched_scales=np.tile(radii[:, None], (1, 3)),
            batched_colors=instance_colors(colors),
            lod="off",
            cast_shadow=False,
            receive_shadow=False,
        )


def _change(handle: viser.SceneNodeHandle, points: NDArray[np.float32], colors: Array) -> None:
    """Update positions and colours of marks; the colours of triangles are constant."""
    match handle:
        case viser.BatchedMeshHandle():
            handle.batched_positions, handle.batched_colors = points, instance_colors(colors)
        case viser.MeshHandle():
            handle.vertices = points
        case viser.LineSegmentsHandle():
            handle.points, handle.colors = points.reshape(-1, 2, 3), _pixels(colors).reshape(-1, 2, 3)
        case viser.ArrowsHandle():
            handle.points = points.reshape(-1, 2, 3)


def _pixels(colors: Array) -> NDArray[np.uint8]:
    return (255 * colors).round().astype(np.uint8)
