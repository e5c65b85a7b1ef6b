"""Compiled kernels for pixels: shading, averages over neighbours, outlines, overlays, sRGB."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.jit import compiled, compiled_part
from multi_qp_viewer.ray_kernel import Hits, Image, Indices

KEY_COLOR = np.array([2.15, 2.05, 1.90], dtype=np.float32)
SKY = np.array([0.92, 0.96, 1.02], dtype=np.float32)
GROUND = np.array([0.62, 0.59, 0.56], dtype=np.float32)
RIM = np.array([0.30, 0.34, 0.40], dtype=np.float32)
PATTERN = 4  # side of the pixel tile over which shadow and occlusion samples vary
SMOOTH = 0.9  # least cosine between the normals of one smooth surface
CREASE = 0.85  # least cosine between the normals of two pixels without an edge
STEP = 0.03  # largest difference of their distances, relative
HIDDEN_OPACITY = 0.45  # of an overlay behind a body


@compiled
def fill_colors(hits: Hits, directions: Image, key: Image, lit: Image, out: Image) -> None:
    """Write the linear colour of hit points: key, sky and ground light, highlight and rim.

    Args:
        hits: n of them.
        directions: unit directions of the rays, (n, 3).
        key: unit direction towards the key light, (3,).
        lit: shares of key light and of ambient light, (2, n).
        out: output, (n, 3).
    """
    for k in range(len(directions)):
        facing, half, square, against = 0.0, 0.0, 0.0, 0.0
        for i in range(3):
            n, between = hits.normal[k, i], key[i] - directions[k, i]
            facing += n * key[i]
            against -= n * directions[k, i]
            half += n * between
            square += between * between
        up = hits.normal[k, 2]
        shine = max(half / max(math.sqrt(square), 1e-9), 0.0) ** 40 * 0.22 * lit[0, k]
        grazing = 1.0 - max(against, 0.0)
        rim = 0.5 * grazing**4 * lit[1, k] * (0.4 + 0.6 * max(up, 0.0))
        direct = max(facing, 0.0) * lit[0, k] * 0.46
        ambient = (0.25 + 0.75 * lit[1, k]) * 0.62
        for i in range(3):
            around = ((0.5 + 0.5 * up) * SKY[i] + (0.5 - 0.5 * up) * GROUND[i]) * ambient
            out[k, i] = hits.albedo[k, i] * (direct * KEY_COLOR[i] + around) + shine + rim * RIM[i]


@compiled_part
def _dot(one: Image, k: int, other: Image, j: int) -> float:
    """Return the dot product of two rows."""
    return one[k, 0] * other[j, 0] + one[k, 1] * other[j, 1] + one[k, 2] * other[j, 2]


@compiled
def average_shares(hits: Hits, pixels: Indices, at: Indices, lit: Image, out: Image) -> None:
    """Average the shares of light over the tile of the sample pattern, within one smooth surface.

    Args:
        hits: n of them.
        pixels: index of the pixel of each, (n,).
        at: index of the hit of each pixel, negative without one, (height, width).
        lit: shares of key light and of ambient light, (2, n).
        out: output, (2, n).
    """
    group, normal = hits.group, hits.normal
    height, width = at.shape
    for k in range(len(pixels)):
        count, key, ambient = 0, 0.0, 0.0
        y, x = pixels[k] // width, pixels[k] % width
        for row in range(max(y - PATTERN // 2, 0), min(y + PATTERN // 2, height)):
            for column in range(max(x - PATTERN // 2, 0), min(x + PATTERN // 2, width)):
                j = at[row, column]
                if j >= 0 and group[j] == group[k] and _dot(normal, j, normal, k) > SMOOTH:
                    count += 1
                    key += lit[0, j]
                    ambient += lit[1, j]
        if count == 0:  # a surface without normals is like no other, not even like itself
            count, key, ambient = 1, lit[0, k], lit[1, k]
        out[0, k], out[1, k] = key / count, ambient / count


@compiled
def mark_edges(hits: Hits, pixels: Indices, at: Indices, mask: NDArray[np.bool_]) -> None:
    """Mark the pixels on both sides of an outline or a crease, (height, width); see `average_shares`."""
    group, normal, distance = hits.group, hits.normal, hits.distance
    height, width = at.shape
    for k in range(len(pixels)):
        y, x = pixels[k] // width, pixels[k] % width
        for row, column in ((y - 1, x), (y, x - 1), (y, x + 1), (y + 1, x)):
            if 0 <= row < height and 0 <= column < width:
                j = at[row, column]
                if j < 0:
                    mask[y, x] = mask[row, column] = True
                elif group[j] != group[k] or _dot(normal, j, normal, k) < CREASE:
                    mask[y, x] = True
                elif abs(distance[k] - distance[j]) > STEP * distance[min(k, j)] + 1e-6:
                    mask[y, x] = True


@compiled
def borrow_shares(
    samples: Hits, pixels: Indices, hits: Hits, at: Indices, lit: Image, out: Image, found: NDArray[np.bool_]
) -> None:
    """Write the shares of light of the hit of the same or of a neighbouring pixel on the same smooth surface.

    Args:
        samples: n hits inside of pixels.
        pixels: index of the pixel of each, (n,).
        hits: hits at the centres of pixels.
        at: index of the hit of each pixel, negative without one, (height, width).
        lit: shares of key light and of ambient light of `hits`, (2, m).
        out: output, (2, n).
        found: output, whether there is such a hit, (n,).
    """
    group, normal = hits.group, hits.normal
    height, width = at.shape
    for k in range(len(pixels)):
        found[k] = False
        for dy, dx in ((0, 0), (0, -1), (0, 1), (-1, 0), (1, 0)):
            row, column = pixels[k] // width + dy, pixels[k] % width + dx
            if 0 <= row < height and 0 <= column < width:
                j = at[row, column]
                if j >= 0 and group[j] == samples.group[k] and _dot(normal, j, samples.normal, k) > SMOOTH:
                    out[0, k], out[1, k], found[k] = lit[0, j], lit[1, j], True
                    break


@compiled
def fill_means(colors: Image, brightest: float, out: Image) -> None:
    """Write the mean of k colours, each at most `brightest`: (n, k, 3) to (n, 3)."""
    count = colors.shape[1]
    for n in range(len(colors)):
        for i in range(3):
            total = 0.0
            for k in range(count):
                total += min(colors[n, k, i], brightest)
            out[n, i] = total / count


@compiled
def blend_overlays(
    hits: Hits,
    directions: Image,
    pixels: Indices,
    depth: Image,
    opacity: Image,
    through: NDArray[np.bool_],
    key: Image,
    share: float,
    behind: Image,
    image: Image,
) -> None:
    """Blend overlays into the image; behind a body they are faint or hidden.

    Args:
        hits: n of them.
        directions: unit directions of the rays, (n, 3).
        pixels: index of the pixel of each, (n,).
        depth: distance of the bodies at each pixel, (height width,) [m].
        opacity: of each overlay, (overlays,).
        through: whether it is visible behind bodies, (overlays,).
        key: unit direction towards the key light, (3,).
        share: of these rays in the colour of the pixel.
        behind: colours without overlays at the n pixels, (n, 3).
        image: changed in place, (height width, 3).
    """
    for k in range(len(pixels)):
        body = hits.body[k]
        if body < 0:
            continue
        weight = opacity[body] * share
        if hits.distance[k] > depth[pixels[k]] + 2e-3:
            weight *= HIDDEN_OPACITY if through[body] else 0.0
        facing, lit = 0.0, 0.0
        for i in range(3):
            facing -= hits.normal[k, i] * directions[k, i]
            lit += hits.normal[k, i] * key[i]
        bright = 0.45 + 0.35 * max(facing, 0.0) + 0.35 * max(lit, 0.0)
        for i in range(3):
            image[pixels[k], i] += weight * (hits.albedo[k, i] * bright - behind[k, i])


@compiled
def fill_srgb(linear: Image, table: NDArray[Any], brightest: float, out: NDArray[np.uint8]) -> None:
    """Write sRGB values, (n, 3), from a table of linear light from 0 to `brightest`, (count,)."""
    scale, limit = np.float32((len(table) - 1) / brightest), np.float32(brightest)
    for n in range(len(linear)):
        for i in range(3):
            out[n, i] = table[np.int32(min(max(linear[n, i], np.float32(0.0)), limit) * scale)]
