"""Browser layers of drawings: those of a snapshot, or external ones such as ROS markers; one layer per group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import viser
from numpy.typing import NDArray

from multi_qp_controller.snapshot import Snapshot
from multi_qp_scene.arrays import Array
from multi_qp_viewer.browser_bodies import instance_colors
from multi_qp_viewer.browser_labels import LabelPool
from multi_qp_viewer.drawings import CORNERS, Drawing, DrawingShape
from multi_qp_viewer.meshes import unit_shape

MAX_TEXTS = 24  # per group
AWAY = np.array([0.0, 0.0, -200.0])  # position of spare marks, out of sight


class Layer(Protocol):
    """Drawing that can be shown and hidden."""

    title: str

    def draw(self, snapshot: Snapshot, drawings: Sequence[Drawing]) -> None:
        """Show a tick with its drawings."""

    def switch(self, shown: bool) -> None:
        """Show or hide."""


class DrawingLayer:
    """Drawings of one group; unchanged data is not sent again."""

    def __init__(self, server: viser.ViserServer, group: str) -> None:
        """Create an empty layer."""
        self.title = group.replace("_", " ").replace("com", "centre of mass").capitalize()
        self._server, self._group = server, group
        self._visible = True
        self._parts: dict[DrawingShape, _ShapeMarks] = {}
        self._words = LabelPool(server, f"/world/drawings/{group}/word", MAX_TEXTS)

    def draw(self, snapshot: Snapshot, drawings: Sequence[Drawing]) -> None:
        """Show the drawings of the group."""
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
    """Marks of one shape, moved and recoloured; created again only when there are more than ever before.

    But for arrows, whose number may change, spare marks are placed out of sight.
    """

    def __init__(self, server: viser.ViserServer, name: str, shape: DrawingShape) -> None:
        self._server, self._name, self._shape = server, name, shape
        self._handle: viser.SceneNodeHandle | None = None
        self._capacity = 0  # of points

    def draw(self, drawings: list[Drawing], *, shown: bool) -> None:
        if not drawings:
            self.switch(False)
            return
        points = np.concatenate([drawing.points for drawing in drawings]).astype(np.float32)
        colors = np.concatenate([drawing.colors for drawing in drawings])
        sizes = np.repeat([drawing.size for drawing in drawings], [len(drawing.points) for drawing in drawings])
        fits = self._handle is not None and len(points) <= self._capacity
        if self._shape is not DrawingShape.ARROWS:
            if not fits:
                corners = CORNERS[self._shape]
                self._capacity = corners * 2 ** int(np.ceil(np.log2(max(len(points) // corners, 4))))
            spare = self._capacity - len(points)
            points = np.vstack([points, np.tile(AWAY, (spare, 1))]).astype(np.float32)
            colors, sizes = np.pad(colors, ((0, spare), (0, 0))), np.pad(sizes, (0, spare), constant_values=1e-3)
        if self._handle is not None and (fits or self._shape is DrawingShape.ARROWS):
            _change(self._handle, points, colors, sizes)
        else:
            if self._handle is not None:
                self._handle.remove()
            self._handle = self._make(points, colors, sizes, drawings[0].opacity)
        self._handle.visible = shown

    def switch(self, shown: bool) -> None:
        if self._handle is not None:
            self._handle.visible = shown

    def _make(self, points: NDArray[np.float32], colors: Array, sizes: Array, opacity: float) -> viser.SceneNodeHandle:
        scene, size = self._server.scene, float(sizes[0])
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
                    opacity=opacity,
                    side="double",
                    flat_shading=True,
                    cast_shadow=False,
                    receive_shadow=False,
                )
            case _:
                unit = unit_shape("sphere")
                return scene.add_batched_meshes_simple(
                    self._name,
                    unit.vertices.astype(np.float32),
                    unit.faces.astype(np.uint32),
                    batched_wxyzs=np.tile([1.0, 0.0, 0.0, 0.0], (len(points), 1)),
                    batched_positions=points,
                    batched_scales=_scales(sizes),
                    batched_colors=instance_colors(colors),
                    lod="off",
                    cast_shadow=False,
                    receive_shadow=False,
                )


def _change(handle: viser.SceneNodeHandle, points: NDArray[np.float32], colors: Array, sizes: Array) -> None:
    """Update positions and colours of marks; the colours of triangles are constant."""
    match handle:
        case viser.BatchedMeshHandle():
            handle.batched_positions, handle.batched_colors = points, instance_colors(colors)
            handle.batched_scales = _scales(sizes)
        case viser.MeshHandle():
            handle.vertices = points
        case viser.LineSegmentsHandle():
            handle.points, handle.colors = points.reshape(-1, 2, 3), _pixels(colors).reshape(-1, 2, 3)
        case viser.ArrowsHandle():
            handle.points, handle.colors = points.reshape(-1, 2, 3), instance_colors(colors[::2])


def _scales(sizes: Array) -> NDArray[np.float32]:
    """Return the scales of unit balls of these diameters, (n, 3)."""
    return np.tile(sizes[:, None] / 2, (1, 3)).astype(np.float32)


def _pixels(colors: Array) -> NDArray[np.uint8]:
    return (255 * colors).round().astype(np.uint8)
