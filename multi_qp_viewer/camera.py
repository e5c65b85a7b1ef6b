"""Pinhole camera: framing, projection and viewing rays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_viewer.ray_kernel import fill_directions

Points = NDArray[np.floating[Any]]

AZIMUTH = np.deg2rad(38.0)  # three-quarter front view of characters that face +x
ELEVATION = np.deg2rad(14.0)
MARGIN = 1.12  # free space around the framed box


@dataclass(frozen=True, kw_only=True)
class Camera:
    """Pinhole camera in the world frame, z up.

    Attributes:
        position: of the eye, (3,) [m].
        target: point at the centre of the image, (3,) [m].
        fov: vertical opening angle [rad].
    """

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    fov: float = float(np.deg2rad(32.0))

    def __post_init__(self) -> None:
        """Validate the camera.

        Raises:
            ValueError: if the eye coincides with the target or the opening angle is not in (0, pi).
        """
        if np.linalg.norm(np.subtract(self.target, self.position)) < 1e-9:
            raise ValueError("the camera's position and target are the same point")
        if not 0.0 < self.fov < np.pi:
            raise ValueError(f"the camera's fov is {self.fov} rad; it must be between 0 and pi")

    @classmethod
    def framing(cls, lower: Array, upper: Array, *, aspect: float = 16 / 9) -> Camera:
        """Return the nearest camera that sees the whole box between two corners.

        Args:
            lower: lower corner of the box, (3,) [m].
            upper: upper corner of the box, (3,) [m].
            aspect: width / height of the picture.
        """
        lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        target = (lower + upper) / 2
        back = np.array([np.cos(AZIMUTH) * np.cos(ELEVATION), np.sin(AZIMUTH) * np.cos(ELEVATION), np.sin(ELEVATION)])
        corners = np.array(np.meshgrid(*zip(lower, upper, strict=True))).reshape(3, -1).T
        slope = np.tan(cls.fov / 2)
        for _ in range(3):  # fixed point: centre the outline of the box, then step back far enough
            right, up, _ = _axes(-back)
            x, y, z = (corners - target) @ right, (corners - target) @ up, (corners - target) @ back
            distance = np.max(MARGIN * np.maximum(np.abs(x) / (slope * aspect), np.abs(y) / slope) + z)
            distance = max(distance, 0.5)
            u, v = x / (distance - z), y / (distance - z)
            target = target + distance * ((u.max() + u.min()) / 2 * right + (v.max() + v.min()) / 2 * up)
        return cls(position=_tuple(target + distance * back), target=_tuple(target))

    def moved(self, shift: Array) -> Camera:
        """Return the camera shifted by (3,) [m]."""
        position, target = np.add(self.position, shift), np.add(self.target, shift)
        return Camera(position=_tuple(position), target=_tuple(target), fov=self.fov)

    def axes(self) -> tuple[Array, Array, Array]:
        """Return the world directions right, up and forward of the image, (3,) each."""
        return _axes(np.subtract(self.target, self.position))

    def project(self, points: Points, *, width: int, height: int) -> tuple[Array, Array]:
        """Return pixel coordinates (n, 2) and depths (n,) [m] of world points (n, 3)."""
        right, up, forward = self.axes()
        relative = np.asarray(points) - self.position
        depth = relative @ forward
        scale = height / (2 * np.tan(self.fov / 2)) / np.maximum(depth, 1e-6)
        pixels = np.column_stack([width / 2 + scale * (relative @ right), height / 2 - scale * (relative @ up)])
        return pixels, depth

    def directions(self, pixels: Points, *, width: int, height: int) -> NDArray[np.float32]:
        """Return unit world directions (n, 3) of the rays through pixel coordinates (n, 2)."""
        rays = np.empty((len(pixels), 3), dtype=np.float32)
        axes, middle = np.array(self.axes(), dtype=np.float32), np.array([width / 2, height / 2], dtype=np.float32)
        scale = float(2 * np.tan(self.fov / 2) / height)
        fill_directions(np.ascontiguousarray(pixels, dtype=np.float32), axes, middle, scale, rays)
        return rays


def _axes(forward: Array) -> tuple[Array, Array, Array]:
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    if np.linalg.norm(right) < 1e-6:  # straight down or up: let +x be the top of the picture
        right = np.cross(forward, [1.0, 0.0, 0.0])
    right /= np.linalg.norm(right)
    return np.asarray(right), np.asarray(np.cross(right, forward)), np.asarray(forward)


def _tuple(values: Array) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z
