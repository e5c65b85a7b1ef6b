"""Rendering of one picture: floor, bodies, anti-aliased edges, overlays.

A `RenderJob` is plain numpy data, so that worker processes need neither pinocchio nor the scene.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from multi_qp_viewer.backdrop import Backdrop, pixel_centers
from multi_qp_viewer.camera import Camera
from multi_qp_viewer.captions import Caption, draw_caption
from multi_qp_viewer.raytracer import (
    PATTERN,
    Hits,
    Image,
    Lighting,
    ShadedBody,
    Solids,
    shade,
    to_srgb,
    visibility,
)

SHADOW_RAYS = 2
OCCLUSION_RAYS = 4
EDGE_SAMPLES = np.array([[1, 5], [3, 1], [5, 7], [7, 3], [9, 9], [11, 4]]) / 12.0 + 0.02  # in the pixel
OVERLAY_SAMPLES = np.array([[3, 1], [7, 3], [1, 5], [5, 7]]) / 8.0
HIDDEN_OPACITY = 0.45  # of an overlay behind a body


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
    backdrop = _backdrop(job.camera, job.width, job.height, job.center)
    image = backdrop.with_shadows(solids, light)
    depth = backdrop.distance.copy()
    _draw_solids(image, depth, solids, light, job)
    _draw_overlays(image, depth, [*_translucent(bodies, opaque, job), *job.overlays], light, job)
    pixels = to_srgb(image)
    return draw_caption(pixels, job.caption) if job.caption else pixels


@lru_cache(maxsize=2)
def _backdrop(camera: Camera, width: int, height: int, center: tuple[float, float]) -> Backdrop:
    return Backdrop.for_camera(camera, width=width, height=height, center=center)


def _translucent(bodies: Sequence[ShadedBody], opaque: NDArray[np.bool_], job: RenderJob) -> list[Overlay]:
    found = []
    for index in np.flatnonzero(~opaque):
        body, rotation = bodies[index], job.rotations[index].astype(np.float32)
        vertices = body.vertices @ rotation.T + job.positions[index].astype(np.float32)
        found.append(Overlay(ShadedBody(vertices, body.normals @ rotation.T, body.faces, body.color)))
    return found


@dataclass(frozen=True)
class _Area:
    """Pixels that bodies may cover: a rectangle, and the part of it inside the rectangles of single bodies.

    Attributes:
        rows: of the picture.
        columns: of the picture.
        pixels: centres in row-major order, (n, 2).
        covered: indices of those that a body may cover.
    """

    rows: slice
    columns: slice
    pixels: Image
    covered: NDArray[np.int64]

    @classmethod
    def of(cls, solids: Solids, job: RenderJob, *, margin: int = 3) -> _Area | None:
        """Return the area of bodies; None if they are outside of the picture."""
        if len(solids.vertices) == 0:
            return None
        pixels, depth = job.camera.project(solids.vertices, width=job.width, height=job.height)
        size = np.array([job.width, job.height])
        lower, upper = solids.extents(pixels)
        nearest, _ = solids.extents(depth[:, None])
        lower, upper = np.floor(lower) - margin, np.ceil(upper) + margin
        around_camera = nearest[:, 0] < 0.05  # part of the body is behind it
        lower[around_camera], upper[around_camera] = 0, size
        lower, upper = np.clip(lower, 0, size).astype(int), np.clip(upper, 0, size).astype(int)
        mask = np.zeros((job.height, job.width), dtype=bool)
        for (left, top), (right, bottom) in zip(lower, upper, strict=True):
            mask[top:bottom, left:right] = True
        (left, top), (right, bottom) = lower.min(axis=0), upper.max(axis=0)
        if right <= left or bottom <= top:
            return None
        centers = pixel_centers(right - left, bottom - top) + np.array([left, top], dtype=np.float32)
        covered = np.flatnonzero(mask[top:bottom, left:right])
        return cls(slice(top, bottom), slice(left, right), centers, covered)

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.columns.stop - self.columns.start)


def _cast(solids: Solids, job: RenderJob, pixels: Image) -> tuple[Hits, Image]:
    rays = job.camera.directions(pixels, width=job.width, height=job.height)
    eye = np.array(job.camera.position, dtype=np.float32)
    return solids.cast(np.broadcast_to(eye, rays.shape).copy(), rays), rays


def _draw_solids(image: Image, depth: Image, solids: Solids, light: Lighting, job: RenderJob) -> None:
    """Draw the bodies into the image and their distances into the depth buffer."""
    area = _Area.of(solids, job)
    if area is None:
        return
    part = image[area.rows, area.columns]
    floor_distance = depth[area.rows, area.columns].copy().reshape(-1)
    window = _Window(solids, light, job, area, part.reshape(-1, 3), floor_distance)
    image[area.rows, area.columns] = window.render().reshape(part.shape)
    near = np.where(window.hits.body >= 0, window.hits.distance, floor_distance)
    depth[area.rows, area.columns] = near.reshape(part.shape[:2])


class _Window:
    """Pixels that the bodies may cover, in row-major order; n = width * height."""

    def __init__(
        self,
        solids: Solids,
        light: Lighting,
        job: RenderJob,
        area: _Area,
        floor: Image,
        floor_distance: Image,
    ) -> None:
        """Cast one ray through every pixel; floor colours (n, 3) and distances (n,) [m] are the background."""
        self._solids, self._light, self._job = solids, light, job
        self._width, self._pixels, self._floor, self._floor_distance = area.width, area.pixels, floor, floor_distance
        self._eye = np.array(job.camera.position, dtype=np.float32)
        hits, rays = _cast(solids, job, area.pixels[area.covered])
        self.hits, self._rays = Hits.none(len(area.pixels)), np.zeros((len(area.pixels), 3), dtype=np.float32)
        self.hits.put(area.covered, hits)
        self._rays[area.covered] = rays
        self.hits.discard(self.hits.distance > floor_distance + 1e-3)
        self._lit = np.ones((2, len(area.pixels)), dtype=np.float32)  # share of key light, of ambient light

    def render(self) -> Image:
        """Return the colours, (n, 3)."""
        colors = self._floor.copy()
        shown = np.flatnonzero(self.hits.body >= 0)
        if len(shown) == 0:
            return colors
        part, rays = self.hits.at(shown), self._rays[shown]
        cell = self._pixels[shown].astype(np.int32) % PATTERN
        tile = cell[:, 1] * PATTERN + cell[:, 0]
        self._lit[:, shown] = self._visibility(part, rays, tile, SHADOW_RAYS, OCCLUSION_RAYS)
        self._lit[:, shown] = self._share_among_neighbours(shown, part)
        colors[shown] = shade(part, rays, self._light, *self._lit[:, shown])
        edges = _edges(self.hits, self._width)
        colors[edges] = self._supersample(edges)
        return colors

    def _visibility(self, part: Hits, rays: Image, tile: NDArray[np.int32], shadow: int, occlusion: int) -> Image:
        points = self._eye + part.distance[:, None] * rays
        shares = visibility(self._solids, self._light, points, part.normal, tile, shadow=shadow, occlusion=occlusion)
        return np.stack(shares)

    def _share_among_neighbours(self, shown: NDArray[np.int64], part: Hits) -> Image:
        """Average over the tile of the sample pattern, within one smooth surface."""
        sums = np.zeros((3, len(shown)), dtype=np.float32)
        for dy in range(-PATTERN // 2, PATTERN // 2):
            for dx in range(-PATTERN // 2, PATTERN // 2):
                other = self._beside(shown, dy * self._width + dx)
                like = self._alike(part, other)
                sums[0] += like
                sums[1:] += like * self._lit[:, other]
        return np.where(sums[0] > 0, sums[1:] / np.maximum(sums[0], 1.0), self._lit[:, shown])

    def _supersample(self, edges: NDArray[np.int64]) -> Image:
        """Return the mean colour of several rays through each pixel, (n, 3).

        Light shares are those of the pixel or of a neighbour on the same surface, else from new rays.
        """
        count = len(EDGE_SAMPLES)
        shifts = (EDGE_SAMPLES - 0.5).astype(np.float32)
        inside = (self._pixels[edges][:, None] + shifts).reshape(-1, 2)
        hits, rays = _cast(self._solids, self._job, inside)
        pixel = np.repeat(edges, count)
        hits.discard(hits.distance > self._floor_distance[pixel] + 1e-3)
        colors = self._floor[pixel]
        shown = np.flatnonzero(hits.body >= 0)
        part, rays, pixel = hits.at(shown), rays[shown], pixel[shown]
        shares = np.full((2, len(shown)), np.nan, dtype=np.float32)
        for step in (0, -1, 1, -self._width, self._width):
            open_rows = np.flatnonzero(np.isnan(shares[0]))
            other = self._beside(pixel[open_rows], step)
            like = self._alike(part.at(open_rows), other)
            shares[:, open_rows[like]] = self._lit[:, other[like]]
        rest = np.flatnonzero(np.isnan(shares[0]))
        tile = (np.arange(len(rest)) * 7 % 16).astype(np.int32)
        shares[:, rest] = self._visibility(part.at(rest), rays[rest], tile, SHADOW_RAYS, OCCLUSION_RAYS)
        colors[shown] = shade(part, rays, self._light, *shares)
        return np.minimum(colors, 1.2).reshape(-1, count, 3).mean(axis=1)

    def _beside(self, rows: NDArray[np.int64], step: int) -> NDArray[np.int64]:
        return np.clip(rows + step, 0, len(self._pixels) - 1)

    def _alike(self, part: Hits, other: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the pixels `other` show the same smooth surface as the hits."""
        like = self.hits.group[other] == part.group
        like &= np.einsum("ij,ij->i", self.hits.normal[other], part.normal) > 0.9
        return like


def _edges(hits: Hits, width: int) -> NDArray[np.int64]:
    """Return the pixels next to an outline or a crease."""
    group = hits.group.reshape(-1, width)
    normal = hits.normal.reshape(-1, width, 3)
    distance = np.where(hits.body >= 0, hits.distance, 0.0).reshape(-1, width)
    mask = np.zeros(group.shape, dtype=bool)
    for a, b in ((np.s_[:-1], np.s_[1:]), (np.s_[:, :-1], np.s_[:, 1:])):
        differ = group[a] != group[b]
        differ |= np.einsum("ijk,ijk->ij", normal[a], normal[b]) < np.where(group[a] >= 0, 0.85, -1.0)
        differ |= np.abs(distance[a] - distance[b]) > 0.03 * distance[a] + 1e-6
        mask[a] |= differ
        mask[b] |= differ
    return np.flatnonzero(mask)


def _draw_overlays(image: Image, depth: Image, overlays: Sequence[Overlay], light: Lighting, job: RenderJob) -> None:
    """Blend the overlays in; behind a body they are faint or hidden."""
    if not overlays:
        return
    count = len(overlays)
    shapes = Solids([o.body for o in overlays], np.tile(np.eye(3), (count, 1, 1)), np.zeros((count, 3)))
    through = np.array([o.through for o in overlays])
    area = _Area.of(shapes, job)
    if area is None:
        return
    pixels = area.pixels[area.covered]
    near = depth[area.rows, area.columns].reshape(-1)[area.covered]
    part = image[area.rows, area.columns]
    region = part.reshape(-1, 3).copy()
    behind = region[area.covered]
    for shift in OVERLAY_SAMPLES - 0.5:
        hits, rays = _cast(shapes, job, pixels + shift.astype(np.float32))
        shown = np.flatnonzero(hits.body >= 0)
        found = hits.at(shown)
        hidden = found.distance > near[shown] + 2e-3
        opacity = shapes.opacity[found.body] * np.where(hidden, HIDDEN_OPACITY * through[found.body], 1.0)
        facing = np.maximum(-np.einsum("ij,ij->i", found.normal, rays[shown]), 0.0)
        lit = np.maximum(found.normal @ light.key, 0.0)
        color = found.albedo * (0.45 + 0.35 * facing + 0.35 * lit)[:, None]
        region[area.covered[shown]] += opacity[:, None] * (color - behind[shown]) / len(OVERLAY_SAMPLES)
    image[area.rows, area.columns] = region.reshape(part.shape)
