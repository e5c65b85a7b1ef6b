"""Instanced copies of one shape in the browser."""

from __future__ import annotations

import numpy as np
import viser
import viser.transforms as vtf
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_viewer.marks import Color
from multi_qp_viewer.meshes import unit_shape
from multi_qp_viewer.raytracer import from_srgb

AWAY = np.array([0.0, 0.0, -200.0])  # position of unused instances


class Instances:
    """Variable number of copies of one shape; spare copies are placed out of sight, so the mesh is sent once."""

    def __init__(
        self, server: viser.ViserServer, name: str, shape: str, color: Color, *, opacity: float | None = None
    ) -> None:
        """Create copies of a unit shape ("sphere", "pyramid", ...) of one colour."""
        self._server, self._name, self._color, self._opacity = server, name, color, opacity
        self._vertices, self._faces = _pyramid() if shape == "pyramid" else _triangles(shape)
        self._visible = True
        self._capacity = 0
        self._handle: viser.BatchedMeshHandle | None = None

    def place(self, positions: Array, rotations: Array, scales: Array) -> None:
        """Show n copies: positions (n, 3) [m], rotations (n, 3, 3), scales (n, 3)."""
        count = len(positions)
        if count > self._capacity:
            self._allocate(2 ** int(np.ceil(np.log2(max(count, 4)))))
        if self._handle is None:
            return
        spare = self._capacity - count
        wxyzs = vtf.SO3.from_matrix(rotations).wxyz if count else np.zeros((0, 4))
        rest = np.tile([1.0, 0.0, 0.0, 0.0], (spare, 1))
        self._handle.batched_positions = np.vstack([positions, np.tile(AWAY, (spare, 1))]).astype(np.float32)
        self._handle.batched_wxyzs = np.vstack([wxyzs, rest]).astype(np.float32)
        self._handle.batched_scales = np.vstack([scales, np.full((spare, 3), 1e-3)]).astype(np.float32)

    def switch(self, shown: bool) -> None:
        """Show or hide."""
        self._visible = shown
        if self._handle is not None:
            self._handle.visible = shown

    def _allocate(self, capacity: int) -> None:
        self._capacity = capacity
        self._handle = self._server.scene.add_batched_meshes_simple(
            self._name,
            self._vertices,
            self._faces,
            batched_wxyzs=np.tile([1.0, 0.0, 0.0, 0.0], (capacity, 1)),
            batched_positions=np.tile(AWAY, (capacity, 1)),
            batched_scales=np.ones((capacity, 3)),
            batched_colors=instance_colors(np.array(self._color)),
            lod="off",
            opacity=self._opacity,
            side="double" if self._opacity else "front",
            cast_shadow=False,
            receive_shadow=False,
            visible=self._visible,
        )


def instance_colors(display: Array) -> NDArray[np.uint8]:
    """Return display colours (..., 3) in [0, 1] as linear light in 0..255, which viser expects of instances."""
    return (255 * from_srgb(display)).round().astype(np.uint8)


def _triangles(shape: str) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    unit = unit_shape(shape)
    return unit.vertices.astype(np.float32), unit.faces.astype(np.uint32)


def _pyramid() -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    """Return a pyramid with its apex at the origin and its base at z = 1, corners on the unit circle."""
    vertices = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 1], [-1, 0, 1], [0, -1, 1]], dtype=np.float32)
    faces = np.array([[0, 2, 1], [0, 3, 2], [0, 4, 3], [0, 1, 4]], dtype=np.uint32)
    return vertices[faces.reshape(-1)], np.arange(12, dtype=np.uint32).reshape(4, 3)  # flat sides
