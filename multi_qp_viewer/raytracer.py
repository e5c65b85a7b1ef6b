"""Ray casting with Embree and numpy, without a window or a graphics driver.

`Solids` are shaded bodies with soft shadows and ambient occlusion. Arrays are float32; colours are linear light until
`to_srgb`. Rays follow fixed sample patterns, so that still parts of a video do not flicker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_viewer.camera import Camera

Image = NDArray[np.float32]

KEY_TURN = np.deg2rad(-52.0)  # key light, relative to the camera's azimuth
KEY_HEIGHT = np.deg2rad(52.0)
KEY_SOFTNESS = 0.10  # radius of the light as seen from the scene [rad]
KEY_COLOR = np.array([2.15, 2.05, 1.90], dtype=np.float32)
SKY = np.array([0.92, 0.96, 1.02], dtype=np.float32)
GROUND = np.array([0.62, 0.59, 0.56], dtype=np.float32)
RIM = np.array([0.30, 0.34, 0.40], dtype=np.float32)
OCCLUSION_RANGE = 0.5  # [m]
OFFSET = 1.5e-3  # of ray origins from the surface [m]
BRIGHTEST = 2.0  # linear light that is white
PATTERN = 4  # side of the pixel tile over which shadow and occlusion samples vary


@dataclass(frozen=True)
class ShadedBody:
    """Rigid mesh in its own frame, with its colour.

    Attributes:
        vertices: (n, 3) [m].
        normals: unit normals at the vertices, (n, 3).
        faces: (m, 3).
        color: red, green, blue, opacity, in [0, 1] (sRGB).
        group: equal for meshes that form one smooth surface.
    """

    vertices: Image
    normals: Image
    faces: NDArray[np.int32]
    color: tuple[float, float, float, float]
    group: int = 0


@dataclass
class Hits:
    """First intersections of n rays.

    Attributes:
        body: index of the body, -1 without intersection, (n,).
        group: group of the body, -1 without intersection, (n,).
        distance: infinite without intersection, (n,) [m].
        normal: interpolated unit normals that face the camera, (n, 3).
        albedo: linear colour, (n, 3).
    """

    body: NDArray[np.int32]
    group: NDArray[np.int32]
    distance: Image
    normal: Image
    albedo: Image

    @classmethod
    def none(cls, count: int) -> Hits:
        """Return rays without intersection."""
        nothing = np.full(count, -1, dtype=np.int32)
        vectors = np.zeros((2, count, 3), dtype=np.float32)
        return cls(nothing, nothing.copy(), np.full(count, np.inf, np.float32), vectors[0], vectors[1])

    def put(self, rows: NDArray[np.int64], hits: Hits) -> None:
        """Write the hits of some rays."""
        for name in ("body", "group", "distance", "normal", "albedo"):
            getattr(self, name)[rows] = getattr(hits, name)

    def at(self, rows: NDArray[np.int64]) -> Hits:
        """Return the hits of some rays."""
        return Hits(self.body[rows], self.group[rows], self.distance[rows], self.normal[rows], self.albedo[rows])

    def discard(self, rows: NDArray[np.bool_]) -> None:
        """Mark these rays as without intersection."""
        self.body[rows] = self.group[rows] = -1


class Solids:
    """Bodies placed in the world, with their acceleration structure."""

    def __init__(self, bodies: Sequence[ShadedBody], rotations: NDArray[Any], positions: NDArray[Any]) -> None:
        """Place the bodies.

        Args:
            bodies: n meshes.
            rotations: world rotations, (n, 3, 3).
            positions: world positions, (n, 3) [m].
        """
        vertices = [
            b.vertices @ r.astype(np.float32).T + p.astype(np.float32)
            for b, r, p in zip(bodies, rotations, positions, strict=True)
        ]
        normals = [b.normals @ r.astype(np.float32).T for b, r in zip(bodies, rotations, strict=True)]
        starts = np.cumsum([0, *(len(b.vertices) for b in bodies)])
        self._starts = starts[:-1]
        empty = np.zeros((0, 3), dtype=np.float32)
        self.vertices = np.concatenate([*vertices, empty])
        self._normals = np.concatenate([*normals, empty])
        faces = [b.faces + start for b, start in zip(bodies, starts[:-1], strict=True)]
        self._faces = np.concatenate([*faces, np.zeros((0, 3), dtype=np.int32)]).astype(np.int32)
        self._body_of_face = np.repeat(np.arange(len(bodies), dtype=np.int32), [len(b.faces) for b in bodies])
        colors = np.array([b.color for b in bodies], dtype=np.float32).reshape(-1, 4)
        self._albedo = from_srgb(colors[:, :3])
        self.opacity = colors[:, 3]
        self._groups = np.array([b.group for b in bodies], dtype=np.int32)
        self._scene = _embree(self.vertices, self._faces)

    def extents(self, points: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the least and the largest values of each body over its vertices, (bodies, k) each.

        Args:
            points: values of each vertex, (vertices, k).
        """
        return np.minimum.reduceat(points, self._starts), np.maximum.reduceat(points, self._starts)

    def cast(self, origins: Image, directions: Image) -> Hits:
        """Return the first intersections of rays with origins (n, 3) [m] and directions (n, 3)."""
        count = len(directions)
        hits = Hits.none(count)
        if self._scene is None or count == 0:
            return hits
        found = self._scene.run(origins, directions, output=1)
        hit = np.flatnonzero(found["primID"] >= 0)
        faces = found["primID"][hit]
        corners = self._normals[self._faces[faces]]  # (k, 3, 3)
        u, v = found["u"][hit, None], found["v"][hit, None]
        normals = _unit((1 - u - v) * corners[:, 0] + u * corners[:, 1] + v * corners[:, 2])
        # An interpolated normal at the outline may face away from the camera: make it grazing, else it would be black.
        facing = np.einsum("ij,ij->i", normals, directions[hit])
        normals = _unit(normals - np.maximum(facing + 0.02, 0.0)[:, None] * directions[hit])
        body = self._body_of_face[faces]
        hits.put(hit, Hits(body, self._groups[body], found["tfar"][hit], normals, self._albedo[body]))
        return hits

    def blocked(self, origins: Image, directions: Image, *, within: float = 1e4) -> NDArray[np.bool_]:
        """Return for each ray whether it intersects a body within a distance [m]."""
        if self._scene is None or len(origins) == 0:
            return np.zeros(len(origins), dtype=bool)
        reach = np.full(len(origins), within, dtype=np.float32)
        return np.asarray(self._scene.run(origins, directions, dists=reach, query="OCCLUDED")) >= 0


@dataclass(frozen=True)
class Lighting:
    """Key light and samples, fixed relative to the camera so that every view is lit alike."""

    key: Image  # unit direction towards the light, (3,)
    key_samples: Image  # (k, 3)

    @classmethod
    def for_camera(cls, camera: Camera) -> Lighting:
        """Return lighting with the key light at a fixed angle to the camera."""
        back = -camera.axes()[2]
        azimuth = np.arctan2(back[1], back[0]) + KEY_TURN
        flat = np.cos(KEY_HEIGHT)
        key = np.array([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(KEY_HEIGHT)], dtype=np.float32)
        return cls(key, _disc_around(key, count=64, radius=KEY_SOFTNESS))


def visibility(
    solids: Solids,
    light: Lighting,
    points: Image,
    normals: Image,
    tile: NDArray[Any],
    *,
    shadow: int,
    occlusion: int,
) -> tuple[Image, Image]:
    """Return the shares of key light and ambient light that reach points, (n,) each in [0, 1].

    Args:
        solids: occluders.
        light: the key light.
        points: (n, 3) [m].
        normals: (n, 3).
        tile: index into the sample pattern for each point, (n,).
        shadow: rays per point towards the light.
        occlusion: rays per point over the hemisphere.
    """
    start = points + OFFSET * normals
    lit = _key_share(solids, light, start, tile, shadow) if shadow else np.ones(len(points), dtype=np.float32)
    if not occlusion:
        return lit, np.ones(len(points), dtype=np.float32)
    above = np.maximum(points[:, 2], 0.0)[:, None]  # the floor occludes the lower hemisphere
    local = _HEMISPHERE[(tile[:, None] * occlusion + np.arange(occlusion)) % len(_HEMISPHERE)]
    around = _rotate_to(normals, local)
    closed = _share(solids, start, around, within=OCCLUSION_RANGE)
    down = np.maximum(-around[..., 2], 1e-3)
    floor = (around[..., 2] < -1e-3) & (above / down < OCCLUSION_RANGE)
    open_share = 1.0 - np.maximum(closed, 0.55 * floor).mean(axis=1)
    return lit, open_share.astype(np.float32)


def shade(hits: Hits, directions: Image, light: Lighting, lit: Image, open_share: Image) -> Image:
    """Return the linear colour of hit points, (n, 3): key, sky and ground light, highlight and rim."""
    facing = np.maximum(hits.normal @ light.key, 0.0) * lit
    mix = (0.5 + 0.5 * hits.normal[:, 2:]).astype(np.float32)
    ambient = (mix * SKY + (1 - mix) * GROUND) * (0.25 + 0.75 * open_share)[:, None] * 0.62
    half = _unit(light.key - directions)
    shine = np.maximum(np.einsum("ij,ij->i", hits.normal, half), 0.0) ** 40 * 0.22 * lit
    grazing = 1.0 - np.maximum(-np.einsum("ij,ij->i", hits.normal, directions), 0.0)
    rim = (grazing**4 * open_share * (0.4 + 0.6 * np.maximum(hits.normal[:, 2], 0.0)))[:, None] * RIM
    return hits.albedo * (facing[:, None] * KEY_COLOR * 0.46 + ambient) + shine[:, None] + 0.5 * rim


def to_srgb(linear: Image) -> NDArray[np.uint8]:
    """Return sRGB values of linear light, with a soft shoulder instead of clipping."""
    return _SRGB[(np.clip(linear, 0.0, BRIGHTEST) * ((len(_SRGB) - 1) / BRIGHTEST)).astype(np.int16)]


def from_srgb(display: NDArray[Any]) -> Image:
    """Return linear light of sRGB colours in [0, 1]."""
    display = np.asarray(display, dtype=np.float32)
    return np.where(display <= 0.04045, display / 12.92, ((display + 0.055) / 1.055) ** 2.4).astype(np.float32)


def _encode(linear: NDArray[Any]) -> NDArray[Any]:
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 1e-9) ** (1 / 2.4) - 0.055)


def _srgb_table(count: int) -> NDArray[np.uint8]:
    """Return sRGB values of linear light from 0 to `BRIGHTEST`, (count,)."""
    linear = np.linspace(0.0, BRIGHTEST, count)
    shoulder = np.where(linear > 0.8, 0.8 + 0.2 * np.tanh((linear - 0.8) / 0.2), linear)
    return (255.0 * _encode(shoulder) + 0.5).astype(np.uint8)


_SRGB = _srgb_table(8192)


def _embree(vertices: Image, faces: NDArray[np.int32]) -> Any:
    if len(faces) == 0:
        return None
    from embreex.mesh_construction import TriangleMesh
    from embreex.rtcore_scene import EmbreeScene

    scene = EmbreeScene()
    TriangleMesh(scene, vertices, faces)
    return scene


def _key_share(solids: Solids, light: Lighting, starts: Image, tile: NDArray[Any], rays: int) -> Image:
    towards = light.key_samples[(tile[:, None] * rays + np.arange(rays)) % len(light.key_samples)]
    return 1.0 - _share(solids, starts, towards, within=1e4).mean(axis=1, dtype=np.float32)


def _share(solids: Solids, starts: Image, directions: Image, *, within: float) -> NDArray[np.bool_]:
    """Cast k rays from each of n starts; return (n, k)."""
    count = directions.shape[1]
    origins = np.repeat(starts, count, axis=0)
    return solids.blocked(origins, directions.reshape(-1, 3), within=within).reshape(-1, count)


def _unit(vectors: Image) -> Image:
    return vectors / np.maximum(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)), 1e-9)[:, None]


def _spiral(count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return radii and angles of a shuffled Fibonacci spiral on the unit disc."""
    order = np.random.default_rng(7).permutation(count)
    return np.sqrt((order + 0.5) / count), order * np.pi * (3.0 - np.sqrt(5.0))


def _disc_around(axis: Image, *, count: int, radius: float) -> Image:
    radii, angles = _spiral(count)
    flat = np.column_stack([radius * radii * np.cos(angles), radius * radii * np.sin(angles), np.ones(count)])
    return _unit(_rotate_to(axis[None], flat[None].astype(np.float32))[0])


def _hemisphere(count: int) -> Image:
    """Return cosine-weighted directions around +z, (count, 3)."""
    radii, angles = _spiral(count)
    return np.column_stack([radii * np.cos(angles), radii * np.sin(angles), np.sqrt(1 - radii**2)]).astype(np.float32)


_HEMISPHERE = _hemisphere(128)


def _rotate_to(axes: Image, local: Image) -> Image:
    """Rotate local directions (n, k, 3) so that their z axis maps to the axes (n, 3)."""
    x, y, z = axes[:, 0], axes[:, 1], axes[:, 2]
    sign = np.where(z >= 0, 1.0, -1.0).astype(np.float32)
    a = -1.0 / (sign + z)
    b = x * y * a
    first = np.stack([1.0 + sign * x * x * a, sign * b, -sign * x], axis=1)
    second = np.stack([b, sign + y * y * a, -y], axis=1)
    basis = np.stack([first, second, axes], axis=1)  # rows
    return np.matmul(local, basis).astype(np.float32)
