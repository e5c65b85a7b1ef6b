"""Triangle meshes, and boxes with rounded edges; lofted shells are in `loft`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .solids import MIRROR, Triple, Vector


@dataclass(frozen=True)
class Mesh:
    """Triangle mesh with shared vertices.

    Attributes:
        vertices: Points, shape (n, 3) [m].
        faces: Vertex indices, counter-clockwise seen from outside, shape (m, 3).
    """

    vertices: Vector
    faces: NDArray[np.int64]

    def moved(self, offset: Triple | Vector, rotation: Vector | None = None) -> Mesh:
        """Rotate about the origin, then translate."""
        turned = self.vertices if rotation is None else self.vertices @ rotation.T
        return Mesh(turned + np.asarray(offset), self.faces)

    def mirrored(self) -> Mesh:
        """The mirror image, left for right, still facing outwards."""
        return Mesh(self.vertices @ MIRROR, self.faces[:, ::-1])

    def obj(self, comment: str) -> str:
        """Wavefront OBJ text; without normals: readers compute smooth ones from shared vertices."""
        lines = [f"# {comment}"]
        lines += [f"v {x:.5f} {y:.5f} {z:.5f}" for x, y, z in np.round(self.vertices, 5) + 0.0]
        lines += [f"f {a} {b} {c}" for a, b, c in self.faces + 1]
        return "\n".join(lines) + "\n"


def merged(meshes: Sequence[Mesh]) -> Mesh:
    """Several meshes as one (they stay separate shells)."""
    starts = np.cumsum([0] + [len(m.vertices) for m in meshes[:-1]])
    faces = [m.faces + start for m, start in zip(meshes, starts, strict=True)]
    return Mesh(np.vstack([m.vertices for m in meshes]), np.vstack(faces))


def rounded_box(center: Triple, size: Triple, radius: float, *, steps: int = 2) -> Mesh:
    """Box with rounded edges, its flat faces exactly those of the box.

    Args:
        center: Centre [m].
        size: Full edge lengths along x, y, z [m].
        radius: Radius of the edges [m].
        steps: Strips of an edge, halved.
    """
    half = np.tan(np.linspace(0.0, 0.25 * np.pi, steps + 1))
    grid = np.concatenate([-half[::-1], half])  # of a cube's side; between the zeros lies the flat face
    sign = np.concatenate([-np.ones(steps + 1), np.ones(steps + 1)])
    n = len(grid)
    u, v = (g.ravel() for g in np.meshgrid(grid, grid, indexing="ij"))
    su, sv = (g.ravel() for g in np.meshgrid(sign, sign, indexing="ij"))
    i, j = (g.ravel() for g in np.meshgrid(np.arange(n - 1), np.arange(n - 1), indexing="ij"))
    a = i * n + j
    quad = np.vstack([np.column_stack([a, a + n, a + n + 1]), np.column_stack([a, a + n + 1, a + 1])])
    core = np.asarray(size) / 2 - radius
    points: list[Vector] = []
    faces: list[NDArray[np.int64]] = []
    for k in range(6):
        axes, side = [k % 3, (k + 1) % 3, (k + 2) % 3], 1.0 if k < 3 else -1.0
        local = np.column_stack([np.full_like(u, side), u, v])
        corner = np.column_stack([np.full_like(u, side), su, sv])
        local /= np.linalg.norm(local, axis=1, keepdims=True)
        world = np.empty_like(local)
        world[:, axes] = corner * core[axes] + radius * local
        faces.append((quad if side > 0 else quad[:, ::-1]) + len(points) * n * n)
        points.append(world)
    unique, index = np.unique(np.round(np.vstack(points), 7), axis=0, return_inverse=True)
    return Mesh(unique + np.asarray(center), index.reshape(-1)[np.vstack(faces)])
