"""Floor and background of rendered pictures: tiles with soft shadows that fade into a bright sky."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_viewer.camera import Camera
from multi_qp_viewer.floor_kernel import add_occlusion, darken
from multi_qp_viewer.ray_kernel import OCCLUSION_RANGE, Image
from multi_qp_viewer.raytracer import Lighting, Solids, from_srgb

SKY_TOP = from_srgb(np.array([0.90, 0.925, 0.955]))
SKY_LOW = from_srgb(np.array([0.955, 0.962, 0.970]))
TILE = from_srgb(np.array([[0.885, 0.890, 0.897], [0.862, 0.868, 0.877]]))
LINE = from_srgb(np.array([0.800, 0.810, 0.825]))
TILE_SIZE = 0.5  # [m]
LINE_WIDTH = 0.008  # [m]
TEXEL = 0.011  # [m]
TEXELS_PER_PIXEL = 0.36  # maximum along a side, per pixel of the image width
SHADOW_RAYS = 4
OCCLUSION_RAYS = 12


@dataclass(frozen=True)
class Background:
    """Floor and sky without bodies, from one camera.

    Attributes:
        color: linear light, (h, w, 3).
        distance: from the eye to the floor; infinite above the horizon, (h, w) [m].
        ground: floor coordinates x and y of each pixel, (h, w, 2) [m].
        presence: opacity of the floor, 1 near the centre and 0 far away, (h, w).
    """

    color: Image
    distance: Image
    ground: Image
    presence: Image

    @classmethod
    def for_camera(cls, camera: Camera, *, width: int, height: int, center: tuple[float, float]) -> Background:
        """Return tiles around the centre of the scene [m] that fade into the sky with distance."""
        pixels = pixel_centers(width, height)
        rays = camera.directions(pixels, width=width, height=height)
        eye = np.array(camera.position, dtype=np.float32)
        down = rays[:, 2] < -1e-4
        distance = np.where(down & (eye[2] > 0), -eye[2] / np.minimum(rays[:, 2], -1e-4), np.inf)
        distance = distance.astype(np.float32)
        near = np.where(np.isfinite(distance), distance, 0.0)[:, None]
        ground = eye[:2] + near * rays[:, :2]
        reach = max(3.0, 0.9 * float(np.linalg.norm(np.subtract(camera.position, camera.target))))
        radius = np.sqrt(((ground - np.array(center, dtype=np.float32)) ** 2).sum(axis=1))
        presence = np.where(np.isfinite(distance), 1.0 - _smooth(radius, reach, 3.2 * reach), 0.0)[:, None]
        footprint = near[:, 0] * (2 * np.tan(camera.fov / 2) / height)
        rise = np.clip(rays[:, 2:] * 1.6 + 0.1, 0.0, 1.0)
        sky = (1 - rise) * SKY_LOW + rise * SKY_TOP
        color = (1 - presence) * sky + presence * _tiles(ground, footprint / np.maximum(-rays[:, 2], 0.05))
        shape = (height, width)
        return cls(
            color.astype(np.float32).reshape(*shape, 3),
            distance.reshape(shape),
            ground.astype(np.float32).reshape(*shape, 2),
            presence.astype(np.float32).reshape(shape),
        )

    def with_shadows(self, solids: Solids, light: Lighting) -> Image:
        """Return the floor with the shadows of the bodies, (h, w, 3)."""
        image = self.color.copy()
        if len(solids.vertices) == 0:
            return image
        lower, upper = _shadow_area(solids.vertices, light.key)
        texture = _shadow_texture(solids, light, lower, upper, max_size=int(TEXELS_PER_PIXEL * image.shape[1]))
        darken(image, self.ground, self.presence, texture, lower, upper)
        return image


def pixel_centers(width: int, height: int) -> Image:
    """Return x, y of all pixel centres in row-major order, (h * w, 2)."""
    x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    return np.column_stack([x.ravel(), y.ravel()]).astype(np.float32)


def _shadow_area(vertices: Image, key: Image) -> tuple[Image, Image]:
    """Return the floor rectangle affected by shadows and occlusion: lower and upper corner, (2,) each [m]."""
    cast = vertices[:, :2] - np.maximum(vertices[:, 2:], 0.0) * (key[:2] / key[2])
    near = vertices[vertices[:, 2] < OCCLUSION_RANGE][:, :2]
    lower = np.minimum(cast.min(axis=0) - 0.3, (near if len(near) else cast).min(axis=0) - OCCLUSION_RANGE)
    upper = np.maximum(cast.max(axis=0) + 0.3, (near if len(near) else cast).max(axis=0) + OCCLUSION_RANGE)
    return lower.astype(np.float32), upper.astype(np.float32)


def _shadow_texture(solids: Solids, light: Lighting, lower: Image, upper: Image, *, max_size: int) -> Image:
    """Return the shadow texture of the rectangle, 1 in full shadow, (rows, columns) in [0, 1]."""
    columns, rows = np.clip(np.ceil((upper - lower) / TEXEL), 48, max(max_size, 64)).astype(int)
    shadow = _sample_floor(solids, light, lower, upper, columns, rows, shadow=SHADOW_RAYS, occlusion=0)
    closed = _sample_floor(solids, light, lower, upper, columns // 3, rows // 3, shadow=0, occlusion=OCCLUSION_RAYS)
    add_occlusion(shadow, closed)
    return shadow


def _sample_floor(
    solids: Solids,
    light: Lighting,
    lower: Image,
    upper: Image,
    columns: int,
    rows: int,
    *,
    shadow: int,
    occlusion: int,
) -> Image:
    y, x = np.mgrid[0:rows, 0:columns]
    share = np.column_stack([(x.ravel() + 0.5) / columns, (y.ravel() + 0.5) / rows])
    points = np.zeros((len(share), 3), dtype=np.float32)
    points[:, :2] = lower + share * (upper - lower)
    up = np.tile(np.array([0, 0, 1], dtype=np.float32), (len(share), 1))
    tile = ((y % 4) * 4 + x % 4).ravel()
    shares = solids.visibility(light, points, up, tile, shadow=shadow, occlusion=occlusion)
    return _blur(1.0 - shares.min(axis=0).reshape(rows, columns))


def _tiles(ground: NDArray[Any], footprint: NDArray[Any]) -> NDArray[Any]:
    """Return the tile pattern averaged over each pixel's footprint, (n, 3)."""
    width = np.maximum(footprint, 1e-4)[:, None] / TILE_SIZE
    at = ground / TILE_SIZE
    wave = _triangle(at + 0.5 * width) - _triangle(at - 0.5 * width)
    checker = 0.5 - 0.5 * np.clip(wave[:, 0] / width[:, 0], -1, 1) * np.clip(wave[:, 1] / width[:, 0], -1, 1)
    distance = np.abs(at - np.round(at)) * TILE_SIZE
    half = 0.5 * LINE_WIDTH
    spread = np.maximum(footprint, 1e-4)[:, None]
    line = np.clip((half + 0.5 * spread - distance) / spread, 0, 1) * np.minimum(1.0, LINE_WIDTH / spread)
    covered = 1.0 - (1.0 - line[:, :1]) * (1.0 - line[:, 1:])
    tiles = (1 - checker[:, None]) * TILE[0] + checker[:, None] * TILE[1]
    return (1 - covered) * tiles + covered * LINE


def _triangle(x: NDArray[Any]) -> NDArray[Any]:
    """Return the integral of the square wave that is +1 on even and -1 on odd tiles."""
    return np.abs(2.0 * (x / 2 - np.floor(x / 2)) - 1.0) * -1.0 + 1.0


def _smooth(x: Image, low: float, high: float) -> Image:
    t = np.clip((x - low) / (high - low), 0.0, 1.0)
    return t * t * (3 - 2 * t)


def _blur(image: Image) -> Image:
    """Average over the 4 x 4 tile of the sample pattern."""
    for axis in (0, 1):
        padded = np.concatenate(
            [np.take(image, [0, 0], axis), image, np.take(image, [-1, -1], axis)], axis
        )  # 2 on either side
        size = image.shape[axis]
        parts = [np.take(padded, np.arange(k, k + size), axis) for k in range(5)]
        image = (0.5 * parts[0] + parts[1] + parts[2] + parts[3] + 0.5 * parts[4]) / 4
    return image.astype(np.float32)
