"""Bodies of the scene in the browser, as instanced meshes: two small messages per shape and frame."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import viser
import viser.transforms as vtf
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_viewer.meshes import Piece, pieces, rgba
from multi_qp_viewer.pose import ScenePose
from multi_qp_viewer.raytracer import from_srgb
from multi_qp_viewer.scene_view import DrawableScene, drawn_geometry, subsystem_of


@dataclass
class _Batch:
    """All instances of one shape; `owners` are the indices of their geometries."""

    handle: viser.BatchedMeshHandle
    owners: NDArray[np.int64]
    offsets: Array  # (k, 3) in the geometry's frame [m]
    opacities: Array  # (k,)
    fixed: bool  # attached to the world


class BodyMeshes:
    """Meshes of the scene's geometry, placed at a configuration."""

    def __init__(
        self,
        server: viser.ViserServer,
        scene: DrawableScene,
        *,
        node: str = "/world/bodies",
        only: Collection[str] | None = None,
    ) -> None:
        """Add every distinct shape once.

        Args:
            server: the viser server.
            scene: the scene.
            node: parent of the meshes in the tree of the page.
            only: names of the subsystems; all if left out.
        """
        drawn = drawn_geometry(scene)
        geometries = [one for one in drawn if only is None or subsystem_of(one.name) in only]
        self._pose = ScenePose(scene.model, geometries)
        self._server = server
        self.positions = np.zeros((len(geometries), 3))
        self.names = [geometry.name for geometry in geometries]
        parts: dict[str, list[tuple[int, Piece]]] = defaultdict(list)
        for index, geometry in enumerate(geometries):
            for piece in pieces(geometry):
                parts[piece.shape.key].append((index, piece))
        colors = np.array([rgba(geometry) for geometry in geometries]).reshape(-1, 4)
        fixed = np.array([geometry.parentJoint == 0 for geometry in geometries])
        self._batches = [
            self._add(f"{node}/{number}", group, colors, fixed) for number, group in enumerate(parts.values())
        ]
        self._placed = False
        self.move(scene.q0)

    def move(self, q: Array) -> None:
        """Place all bodies at a configuration, (nq,)."""
        rotations, self.positions = self._pose.placements(q)
        wxyzs = vtf.SO3.from_matrix(rotations).wxyz if len(rotations) else np.zeros((0, 4))
        for batch in self._batches:
            if batch.fixed and self._placed:
                continue
            turned = np.einsum("kij,kj->ki", rotations[batch.owners], batch.offsets)
            batch.handle.batched_positions = (self.positions[batch.owners] + turned).astype(np.float32)
            batch.handle.batched_wxyzs = wxyzs[batch.owners].astype(np.float32)
        self._placed = True

    @property
    def visible(self) -> bool:
        """Whether the bodies are shown."""
        return all(batch.handle.visible for batch in self._batches)

    @visible.setter
    def visible(self, shown: bool) -> None:
        for batch in self._batches:
            batch.handle.visible = shown

    def fade(self, opacity: float) -> None:
        """Set the opacity of all bodies, in [0, 1]."""
        for batch in self._batches:
            batch.handle.batched_opacities = (opacity * batch.opacities).astype(np.float32)

    def _add(self, name: str, parts: list[tuple[int, Piece]], colors: Array, fixed: NDArray[np.bool_]) -> _Batch:
        owners = np.array([index for index, _ in parts])
        shape = parts[0][1].shape
        count = len(parts)
        handle = self._server.scene.add_batched_meshes_simple(
            name,
            shape.vertices.astype(np.float32),
            shape.faces.astype(np.uint32),
            batched_wxyzs=np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)),
            batched_positions=np.zeros((count, 3)),
            batched_scales=np.array([piece.scale for _, piece in parts]),
            batched_colors=instance_colors(colors[owners, :3]),
            batched_opacities=colors[owners, 3].astype(np.float32),
            lod="off",
        )
        offsets = np.array([piece.offset for _, piece in parts])
        return _Batch(handle, owners, offsets, colors[owners, 3], bool(fixed[owners].all()))


def instance_colors(display: Array) -> NDArray[np.uint8]:
    """Return display colours (..., 3) in [0, 1] as linear light in 0..255, which viser expects of instances."""
    return (255 * from_srgb(display)).round().astype(np.uint8)
