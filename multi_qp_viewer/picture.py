"""Rendering of one picture: floor, bodies, anti-aliased edges, overlays.

A `RenderJob` is plain numpy data, so that worker processes need neither pinocchio nor the scene.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from multi_qp_viewer.background import Background
from multi_qp_viewer.camera import Camera
from multi_qp_viewer.captions import Caption, draw_caption
from multi_qp_viewer.pixel_kernel import (
    PATTERN,
    average_shares,
    blend_overlays,
    borrow_shares,
    fill_means,
    mark_edges,
)
from multi_qp_viewer.ray_kernel import Hits, Image
from multi_qp_viewer.raytracer import Lighting, ShadedBody, Solids, shade, to_srgb

SHADOW_RAYS = 2
OCCLUSION_RAYS = 4
EDGE_SAMPLES = np.array([[1, 5], [3, 1], [5, 7], [7, 3], [9, 9], [11, 4]]) / 12.0 + 0.02  # in the pixel
OVERLAY_SAMPLES = np.array([[3, 1], [7, 3], [1, 5], [5, 7]]) / 8.0
SAMPLE_LIMIT = 1.2  # linear light of one sample at an edge, else a highlight would whiten the pixel


@dataclass(frozen=True)
class Overlay:
    """Body in world coordinates that casts no shadow; with `through`, it stays faintly visible behind bodies."""

    body: ShadedBody
    through: bool = False


@dataclass(frozen=True)
class RenderJob:
    """Contents of one picture besides the meshes of the bodies.

    Attributes:
        rotations: world rotations of the bodies, (n, 3, 3).
        positions: world positions of the bodies, (n, 3) [m].
        camera: the view.
        width: of the picture [pixels].
        height: of the picture [pixels].
        center: centre of the tiled floor, x and y [m].
        overlays: drawn over the bodies.
        caption: caption, if any.
    """

    rotations: NDArray[np.float64]
    positions: NDArray[np.float64]
    camera: Camera
    width: int
    height: int
    center: tuple[float, float] = (0.0, 0.0)
    overlays: Sequence[Overlay] = field(default_factory=tuple)
    caption: Caption | None = None


def render(bodies: Sequence[ShadedBody], job: RenderJob) -> NDArray[np.uint8]:
    """Return the picture, (height, width, 3)."""
    light = Lighting.for_camera(job.camera)
    opaque = np.array([body.color[3] > 0.99 for body in bodies], dtype=bool)
    picked = [body for body, solid in zip(bodies, opaque, strict=True) if solid]
    solids = Solids(picked, job.rotations[opaque], job.positions[opaque])
    background = _background(job.camera, job.width, job.height, job.center)
    image = background.with_shadows(solids, light)
    depth = background.distance.copy()
    _draw_solids(image, depth, solids, light, job)
    _draw_overlays(image, depth, [*_translucent(bodies, opaque, job), *job.overlays], light, job)
    pixels = to_srgb(image)
    if job.caption:
        draw_caption(pixels, job.caption)
    return pixels


@lru_cache(maxsize=2)
def _background(camera: Camera, width: int, height: int, center: tuple[float, float]) -> Background:
    return Background.for_camera(camera, width=width, height=height, center=center)


def _translucent(bodies: Sequence[ShadedBody], opaque: NDArray[np.bool_], job: RenderJob) -> list[Overlay]:
    found = []
    for index in np.flatnonzero(~opaque):
        body, rotation = bodies[index], job.rotations[index].astype(np.float32)
        vertices = body.vertices @ rotation.T + job.positions[index].astype(np.float32)
        found.append(Overlay(ShadedBody(vertices, body.normals @ rotation.T, body.faces, body.color)))
    return found


def _covered(solids: Solids, job: RenderJob, *, margin: int = 3) -> NDArray[np.int64]:
    """Return the pixels inside the rectangles of single bodies, in row-major order, (n,)."""
    mask = np.zeros((job.height, job.width), dtype=bool)
    if len(solids.vertices) > 0:
        pixels, depth = job.camera.project(solids.vertices, width=job.width, height=job.height)
        size = np.array([job.width, job.height])
        lower, upper = solids.extents(pixels)
        nearest, _ = solids.extents(depth[:, None])
        lower, upper = np.floor(lower) - margin, np.ceil(upper) + margin
        around_camera = nearest[:, 0] < 0.05  # part of the body is behind it
        lower[around_camera], upper[around_camera] = 0, size
        lower, upper = np.clip(lower, 0, size).astype(int), np.clip(upper, 0, size).astype(int)
        for (left, top), (right, bottom) in zip(lower, upper, strict=True):
            mask[top:bottom, left:right] = True
    return np.flatnonzero(mask)


def _cast(solids: Solids, job: RenderJob, pixels: NDArray[np.int64], shift: NDArray[np.floating]) -> tuple[Hits, Image]:
    """Cast rays through pixels, shifted from their centres by (2,) or (n, 2)."""
    row, column = np.divmod(pixels, job.width)
    rays = job.camera.directions(np.column_stack([column, row]) + 0.5 + shift, width=job.width, height=job.height)
    return solids.cast(np.array(job.camera.position, dtype=np.float32), rays), rays


def _draw_solids(image: Image, depth: Image, solids: Solids, light: Lighting, job: RenderJob) -> None:
    """Draw the bodies over the floor, and their distances into its depth buffer."""
    window = _Window(solids, light, job, depth.reshape(-1))
    if len(window.pixels) > 0:
        window.draw(image.reshape(-1, 3))
        depth.reshape(-1)[window.pixels] = window.hits.distance


class _Window:
    """Pixels that show bodies, and one hit of each; n = height * width."""

    def __init__(self, solids: Solids, light: Lighting, job: RenderJob, floor_distance: Image) -> None:
        """Cast one ray through every pixel that may show a body; the floor's distances are (n,) [m]."""
        self._solids, self._light, self._job, self._floor_distance = solids, light, job, floor_distance
        self._eye = np.array(job.camera.position, dtype=np.float32)
        covered = _covered(solids, job)
        shown, self.hits, self._rays = self._before_floor(covered, np.zeros(2))
        self.pixels = covered[shown]
        self._at = np.full((job.height, job.width), -1, dtype=np.int32)  # hit of each pixel
        self._at.reshape(-1)[self.pixels] = np.arange(len(self.pixels))

    def draw(self, image: Image) -> None:
        """Draw the bodies over the floor, (n, 3)."""
        row, column = np.divmod(self.pixels, self._job.width)
        tile = row % PATTERN * PATTERN + column % PATTERN
        shares = self._visibility(self.hits, self._rays, tile)
        self._lit = np.empty_like(shares)  # share of key light, of ambient light
        average_shares(self.hits, self.pixels, self._at, shares, self._lit)
        mask = np.zeros(self._at.shape, dtype=bool)
        mark_edges(self.hits, self.pixels, self._at, mask)
        edges = np.flatnonzero(mask)
        colors = self._supersample(edges, image[edges])
        image[self.pixels] = shade(self.hits, self._rays, self._light, self._lit)
        image[edges] = colors

    def _before_floor(
        self, pixels: NDArray[np.int64], shift: NDArray[np.floating]
    ) -> tuple[NDArray[np.int64], Hits, Image]:
        """Cast rays through pixels; return which of them meet a body before the floor, their hits and the rays."""
        hits, rays = _cast(self._solids, self._job, pixels, shift)
        shown = np.flatnonzero((hits.body >= 0) & (hits.distance <= self._floor_distance[pixels] + 1e-3))
        return shown, hits.at(shown), rays[shown]

    def _visibility(self, hits: Hits, rays: Image, tile: NDArray[np.int64]) -> Image:
        points = self._eye + hits.distance[:, None] * rays
        return self._solids.visibility(
            self._light, points, hits.normal, tile, shadow=SHADOW_RAYS, occlusion=OCCLUSION_RAYS
        )

    def _supersample(self, edges: NDArray[np.int64], floor: Image) -> Image:
        """Return the mean colour of several rays through each pixel, (n, 3).

        Light shares are those of the pixel or of a neighbour on the same surface, else from new rays.
        """
        count = len(EDGE_SAMPLES)
        pixels, colors = np.repeat(edges, count), np.repeat(floor, count, axis=0)
        shown, hits, rays = self._before_floor(pixels, np.tile(EDGE_SAMPLES - 0.5, (len(edges), 1)))
        shares, found = np.empty((2, len(shown)), dtype=np.float32), np.empty(len(shown), dtype=bool)
        borrow_shares(hits, pixels[shown], self.hits, self._at, self._lit, shares, found)
        rest = np.flatnonzero(~found)
        shares[:, rest] = self._visibility(hits.at(rest), rays[rest], np.arange(len(rest)) * 7 % PATTERN**2)
        colors[shown] = shade(hits, rays, self._light, shares)
        means = np.empty_like(floor)
        fill_means(colors.reshape(-1, count, 3), SAMPLE_LIMIT, means)
        return means


def _draw_overlays(image: Image, depth: Image, overlays: Sequence[Overlay], light: Lighting, job: RenderJob) -> None:
    """Blend the overlays in; behind a body they are faint or hidden."""
    if not overlays:
        return
    count = len(overlays)
    shapes = Solids([o.body for o in overlays], np.tile(np.eye(3), (count, 1, 1)), np.zeros((count, 3)))
    through = np.array([o.through for o in overlays])
    pixels = _covered(shapes, job)
    colors = image.reshape(-1, 3)
    behind, share = colors[pixels], 1.0 / len(OVERLAY_SAMPLES)
    for shift in OVERLAY_SAMPLES - 0.5:
        hits, rays = _cast(shapes, job, pixels, shift)
        blend_overlays(hits, rays, pixels, depth.reshape(-1), shapes.opacity, through, light.key, share, behind, colors)
