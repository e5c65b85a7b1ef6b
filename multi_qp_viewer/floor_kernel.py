"""Compiled kernels for the floor of pictures: its shadow texture, and the shadows in the image."""

from __future__ import annotations

import numpy as np

from multi_qp_scene.jit import compiled, compiled_part
from multi_qp_viewer.ray_kernel import Image

SHADOW_STRENGTH = np.array([0.50, 0.48, 0.43], dtype=np.float32)


@compiled_part
def _bilinear(texture: Image, x: float, y: float) -> float:
    """Interpolate a texture at normalised coordinates in [0, 1]."""
    rows, columns = texture.shape
    x = min(max(x * columns - 0.5, 0.0), columns - 1.001)
    y = min(max(y * rows - 0.5, 0.0), rows - 1.001)
    i, j = int(y), int(x)
    a, b = x - j, y - i
    upper = (1.0 - a) * texture[i, j] + a * texture[i, j + 1]
    lower = (1.0 - a) * texture[i + 1, j] + a * texture[i + 1, j + 1]
    return (1.0 - b) * upper + b * lower


@compiled
def add_occlusion(shadow: Image, closed: Image) -> None:
    """Add a coarse texture of occlusion to a texture of shadows, both (rows, columns) in [0, 1]."""
    rows, columns = shadow.shape
    for i in range(rows):
        for j in range(columns):
            near = _bilinear(closed, (j + 0.5) / columns, (i + 0.5) / rows)
            shadow[i, j] = 1.0 - (1.0 - 0.72 * shadow[i, j]) * (1.0 - 0.95 * near)


@compiled
def darken(image: Image, ground: Image, presence: Image, texture: Image, lower: Image, upper: Image) -> None:
    """Darken the floor of an image by a shadow texture.

    Args:
        image: linear light, changed in place, (h, w, 3).
        ground: floor coordinates x and y of each pixel, (h, w, 2) [m].
        presence: opacity of the floor, (h, w).
        texture: 1 in full shadow, (rows, columns) in [0, 1].
        lower: lower corner of the rectangle of the texture, (2,) [m].
        upper: upper corner, (2,) [m].
    """
    height, width = presence.shape
    for i in range(height):
        for j in range(width):
            x, y = ground[i, j, 0], ground[i, j, 1]
            if presence[i, j] > 0.0 and lower[0] < x < upper[0] and lower[1] < y < upper[1]:
                x, y = (x - lower[0]) / (upper[0] - lower[0]), (y - lower[1]) / (upper[1] - lower[1])
                dark = _bilinear(texture, x, y) * presence[i, j]
                for k in range(3):
                    image[i, j, k] *= 1.0 - dark * SHADOW_STRENGTH[k]
