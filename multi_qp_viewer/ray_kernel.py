"""Compiled kernels for rays: of pixels, of light samples, and properties of their intersections."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.jit import compiled, compiled_part
from multi_qp_viewer.embree import intersect, occluded

Image = NDArray[np.float32]
Indices = NDArray[np.integer[Any]]

OFFSET = 1.5e-3  # of ray origins from the surface [m]
OCCLUSION_RANGE = 0.5  # [m]
# RTCRayHit: 32-bit words of its fields, and more than its size.
_REACH, _MASK, _U, _V, _FACE, _GEOMETRY, _RAY_HIT = 8, 9, 15, 16, 17, 18, 32
FLOOR_OCCLUSION = 0.55  # share of light that the floor takes from a ray towards it


class Triangles(NamedTuple):
    """Triangles of all bodies.

    Attributes:
        faces: (m, 3).
        normals: unit normals at the vertices, (n, 3).
        body_of_face: (m,).
        groups: of each body, (bodies,).
        albedo: linear colour of each body, (bodies, 3).
    """

    faces: Indices
    normals: Image
    body_of_face: Indices
    groups: Indices
    albedo: Image


class Hits(NamedTuple):
    """First intersections of n rays.

    Attributes:
        body: index of the body, -1 without intersection, (n,).
        group: group of the body, -1 without intersection, (n,).
        distance: infinite without intersection, (n,) [m].
        normal: interpolated unit normals that face the camera, (n, 3).
        albedo: linear colour, (n, 3).
    """

    body: Indices
    group: Indices
    distance: Image
    normal: Image
    albedo: Image

    @classmethod
    def none(cls, count: int) -> Hits:
        """Return rays without intersection."""
        body, group = np.full((2, count), -1, dtype=np.int32)
        normal, albedo = np.zeros((2, count, 3), dtype=np.float32)
        return cls(body, group, np.full(count, np.inf, dtype=np.float32), normal, albedo)

    def at(self, rows: NDArray[np.int64]) -> Hits:
        """Return the hits of some rays."""
        return Hits(self.body[rows], self.group[rows], self.distance[rows], self.normal[rows], self.albedo[rows])


@compiled
def fill_directions(pixels: Image, axes: Image, middle: Image, scale: float, out: Image) -> None:
    """Write the unit directions of rays through pixel coordinates.

    Args:
        pixels: (n, 2).
        axes: right, up and forward of the image, rows, (3, 3).
        middle: pixel coordinates of the centre of the image, (2,).
        scale: size of a pixel at unit distance.
        out: output, (n, 3).
    """
    for k in range(len(pixels)):
        x, y = (pixels[k, 0] - middle[0]) * scale, (middle[1] - pixels[k, 1]) * scale
        size = 1.0 / math.sqrt(x * x + y * y + 1.0)
        for i in range(3):
            out[k, i] = (x * axes[0, i] + y * axes[1, i] + axes[2, i]) * size


@compiled
def fill_hits(scene: int, eye: Image, directions: Image, mesh: Triangles, hits: Hits) -> None:
    """Cast rays, and write the properties of their first intersections.

    Args:
        scene: address of the scene of the triangles.
        eye: origin of the rays, (3,) [m].
        directions: unit directions of the rays, (n, 3).
        mesh: the triangles.
        hits: output; of rays without intersection unchanged.
    """
    ray = np.zeros(_RAY_HIT, dtype=np.float32)
    words = ray.view(np.int32)
    for k in range(len(directions)):
        _start(ray, words, eye, directions[k], np.inf)
        words[_FACE] = words[_GEOMETRY] = -1
        intersect(scene, ray.ctypes.data, 0)
        face = words[_FACE]
        if face < 0:
            continue
        u, v = ray[_U], ray[_V]
        body, corners = mesh.body_of_face[face], mesh.faces[face]
        a, b, c = corners[0], corners[1], corners[2]
        hits.body[k], hits.group[k], hits.distance[k] = body, mesh.groups[body], ray[_REACH]
        facing, square = 0.0, 0.0
        for i in range(3):
            n = (1.0 - u - v) * mesh.normals[a, i] + u * mesh.normals[b, i] + v * mesh.normals[c, i]
            hits.normal[k, i] = n
            hits.albedo[k, i] = mesh.albedo[body, i]
            facing += n * directions[k, i]
            square += n * n
        # An interpolated normal at the outline may face away from the camera: make it grazing, else it would be black.
        size = max(math.sqrt(square), 1e-9)
        turn = max(facing / size + 0.02, 0.0)
        square = 0.0
        for i in range(3):
            hits.normal[k, i] = hits.normal[k, i] / size - turn * directions[k, i]
            square += hits.normal[k, i] ** 2
        size = max(math.sqrt(square), 1e-9)
        for i in range(3):
            hits.normal[k, i] /= size


@compiled_part
def _start(ray: Image, words: Indices, origin: Image, direction: Image, reach: float) -> None:
    """Write origin, direction and length of a ray; the bits of a mask are all set."""
    for i in range(3):
        ray[i], ray[4 + i] = origin[i], direction[i]
    ray[_REACH], words[_MASK] = reach, -1


@compiled_part
def _turn(sample: Image, normal: Image, out: Image) -> None:
    """Rotate a vector so that the z axis becomes the normal, (3,) each."""
    u, v, w, x, y, z = sample[0], sample[1], sample[2], normal[0], normal[1], normal[2]
    sign = 1.0 if z >= 0.0 else -1.0
    a = -1.0 / (sign + z)
    b = x * y * a
    out[0] = u * (1.0 + sign * x * x * a) + v * b + w * x
    out[1] = u * sign * b + v * (sign + y * y * a) + w * y
    out[2] = w * z - u * sign * x - v * y


@compiled
def turn_samples(samples: Image, normal: Image) -> None:
    """Rotate vectors, (n, 3), in place so that the z axis becomes the normal, (3,)."""
    turned = np.empty(3, dtype=np.float32)
    for k in range(len(samples)):
        _turn(samples[k], normal, turned)
        samples[k] = turned


@compiled
def fill_open_shares(
    scene: int,
    points: Image,
    normals: Image,
    tile: Indices,
    samples: Image,
    rays: int,
    around_normal: bool,
    reach: float,
    out: Image,
) -> None:
    """Write the share of rays from points that are not blocked; rays that reach the floor count in part.

    Args:
        scene: address of the scene of the bodies.
        points: of a surface, (n, 3) [m].
        normals: unit normals of the surface, (n, 3).
        tile: index into the sample pattern for each point, (n,).
        samples: unit directions, (m, 3).
        rays: from each point.
        around_normal: the samples' z axis is the normal; else they are world directions.
        reach: length of the rays [m].
        out: output, (n,).
    """
    ray = np.zeros(_RAY_HIT, dtype=np.float32)
    words, origin, direction = ray.view(np.int32), np.empty(3, dtype=np.float32), np.empty(3, dtype=np.float32)
    for n in range(len(points)):
        closed = 0.0
        for i in range(3):
            origin[i] = points[n, i] + OFFSET * normals[n, i]
        for j in range(rays):
            sample = samples[(tile[n] * rays + j) % len(samples)]
            if around_normal:
                _turn(sample, normals[n], direction)
            else:
                direction[:] = sample
            _start(ray, words, origin, direction, reach)
            occluded(scene, ray.ctypes.data, 0)
            if ray[_REACH] < 0.0:
                closed += 1.0
            elif direction[2] < -1e-3 and max(points[n, 2], 0.0) < -reach * direction[2]:
                closed += FLOOR_OCCLUSION
        out[n] = 1.0 - closed / rays
