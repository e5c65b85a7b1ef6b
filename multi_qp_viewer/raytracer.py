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
from multi_qp_viewer.embree import TriangleScene
from multi_qp_viewer.pixel_kernel import fill_colors, fill_srgb
from multi_qp_viewer.ray_kernel import (
    OCCLUSION_RANGE,
    Hits,
    Image,
    Triangles,
    fill_hits,
    fill_open_shares,
    turn_samples,
)

KEY_TURN = np.deg2rad(-52.0)  # key light, relative to the camera's azimuth
KEY_HEIGHT = np.deg2rad(52.0)
KEY_SOFTNESS = 0.10  # radius of the light as seen from the scene [rad]
BRIGHTEST = 2.0  # linear light that is white


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
        faces = [b.faces + start for b, start in zip(bodies, starts[:-1], strict=True)]
        colors = np.array([b.color for b in bodies], dtype=np.float32).reshape(-1, 4)
        self.opacity = colors[:, 3].copy()
        self._mesh = Triangles(
            np.concatenate([*faces, np.zeros((0, 3), dtype=np.int32)]).astype(np.int32),
            np.concatenate([*normals, empty]),
            np.repeat(np.arange(len(bodies), dtype=np.int32), [len(b.faces) for b in bodies]),
            np.array([b.group for b in bodies], dtype=np.int32),
            from_srgb(colors[:, :3]),
        )
        self._scene = TriangleScene(self.vertices, self._mesh.faces)

    def extents(self, points: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the least and the largest values of each body over its vertices, (bodies, k) each.

        Args:
            points: values of each vertex, (vertices, k).
        """
        return np.minimum.reduceat(points, self._starts), np.maximum.reduceat(points, self._starts)

    def cast(self, eye: Image, directions: Image) -> Hits:
        """Return the first intersections of rays with one origin (3,) [m] and directions (n, 3)."""
        hits = Hits.none(len(directions))
        fill_hits(self._scene.address, eye, directions, self._mesh, hits)
        return hits

    def visibility(
        self, light: Lighting, points: Image, normals: Image, tile: NDArray[Any], *, shadow: int, occlusion: int
    ) -> Image:
        """Return the shares of key light and ambient light that reach points, (2, n) in [0, 1].

        Args:
            light: the key light.
            points: (n, 3) [m].
            normals: (n, 3).
            tile: index into the sample pattern for each point, (n,).
            shadow: rays per point towards the light.
            occlusion: rays per point over the hemisphere, with the range `OCCLUSION_RANGE`.
        """
        shares, scene = np.ones((2, len(points)), dtype=np.float32), self._scene.address
        if shadow:
            fill_open_shares(scene, points, normals, tile, light.key_samples, shadow, False, np.inf, shares[0])
        if occlusion:
            fill_open_shares(scene, points, normals, tile, _HEMISPHERE, occlusion, True, OCCLUSION_RANGE, shares[1])
        return shares


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


def shade(hits: Hits, directions: Image, light: Lighting, lit: Image) -> Image:
    """Return the linear colour of hit points, (n, 3), under shares of key light and ambient light, (2, n)."""
    colors = np.empty_like(directions)
    fill_colors(hits, directions, light.key, lit, colors)
    return colors


def to_srgb(linear: Image) -> NDArray[np.uint8]:
    """Return sRGB values of linear light, (h, w, 3), with a soft shoulder instead of clipping."""
    pixels = np.empty(linear.shape, dtype=np.uint8)
    fill_srgb(linear.reshape(-1, 3), _SRGB, BRIGHTEST, pixels.reshape(-1, 3))
    return pixels


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


def _unit(vectors: Image) -> Image:
    return vectors / np.maximum(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)), 1e-9)[:, None]


def _spiral(count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return radii and angles of a shuffled Fibonacci spiral on the unit disc."""
    order = np.random.default_rng(7).permutation(count)
    return np.sqrt((order + 0.5) / count), order * np.pi * (3.0 - np.sqrt(5.0))


def _disc_around(axis: Image, *, count: int, radius: float) -> Image:
    radii, angles = _spiral(count)
    flat = np.column_stack([radius * radii * np.cos(angles), radius * radii * np.sin(angles), np.ones(count)])
    samples = flat.astype(np.float32)
    turn_samples(samples, axis)
    return _unit(samples)


def _hemisphere(count: int) -> Image:
    """Return cosine-weighted directions around +z, (count, 3)."""
    radii, angles = _spiral(count)
    return np.column_stack([radii * np.cos(angles), radii * np.sin(angles), np.sqrt(1 - radii**2)]).astype(np.float32)


_HEMISPHERE = _hemisphere(128)
