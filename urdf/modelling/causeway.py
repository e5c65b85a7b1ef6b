"""A causeway of rock, as one mesh: steps hewn out of a block, then tops of many-sided columns."""

from __future__ import annotations

import numpy as np
from scipy.spatial import Voronoi

from .mesh import Mesh, merged
from .solids import Vector

#: Names of the mesh's folder and file.
NAME = "causeway"
_DEPTH = 0.4  # [m] of everything below the floor
_JOINT = 0.006  # [m] between neighbouring columns
_LIMIT = np.tan(np.radians(6.0))  # of the slope of a top


def causeway(seed: int = 4) -> Mesh:
    """Return the mesh: along +x two hewn steps, a field of columns, and two steps down again.

    Args:
        seed: of the columns.
    """
    flight = _flight([(0.0, 0.08), (0.3, 0.16)], 0.6)
    down = _flight([(0.0, 0.08), (0.34, 0.16)], 0.68)
    turned = np.diag([-1.0, -1.0, 1.0])
    return merged([flight, *_columns(seed, 0.6, 1.8, 0.6), down.moved((2.48, 0.0, 0.0), turned)])


def _flight(steps: list[tuple[float, float]], end: float) -> Mesh:
    """Return a flight of steps as one hollow-cornered block.

    Args:
        steps: where each begins along x, and its height [m].
        end: of the block along x [m].
    """
    corners = [(end, -_DEPTH)]
    corners += [(end, steps[-1][1])]
    for (x, z), below in reversed(list(zip(steps, [-_DEPTH, *(z for _, z in steps)], strict=False))):
        corners += [(x, z), (x, below)]
    profile = np.array(corners)  # anticlockwise seen from -y
    count = len(profile)
    sides = [np.column_stack([profile[:, 0], np.full(count, y), profile[:, 1]]) for y in (-0.6, 0.6)]
    k = np.arange(count)
    after = (k + 1) % count
    walls = np.vstack([np.column_stack([k, k + count, after + count]), np.column_stack([k, after + count, after])])
    # the profile is star-shaped with respect to the bottom corner at the far end
    side = np.array([(0, corner, corner + 1) for corner in range(1, count - 1)])
    faces = np.vstack([walls, side, side[:, ::-1] + count])
    return Mesh(np.vstack(sides), faces)


def _columns(seed: int, start: float, end: float, half: float) -> list[Mesh]:
    """Return closed columns that fill a rectangle, with joints between them: Voronoi cells with random tops."""
    rng = np.random.default_rng(seed)
    rows = enumerate(np.arange(start + 0.19, end, 0.36))
    grid = [(x, y) for k, x in rows for y in (-0.42 + 0.14 * (k % 2), 0.0, 0.42)]
    sites = np.array(grid) + rng.uniform(-0.045, 0.045, (len(grid), 2))
    mirrored = [sites * [1, -1] + [0, 2 * y] for y in (-half, half)]
    mirrored += [sites * [-1, 1] + [2 * x, 0] for x in (start, end)]
    cells = Voronoi(np.vstack([sites, *mirrored]))
    return [
        _column(_shrunk(cells.vertices[cells.regions[cells.point_region[k]]], site), site, rng)
        for k, site in enumerate(sites)
    ]


def _shrunk(outline: Vector, site: Vector) -> Vector:
    """Return a cell, anticlockwise, shrunk by the width of the joints."""
    around = outline - site
    around = around[np.argsort(np.arctan2(around[:, 1], around[:, 0]))]
    return site + around * (1.0 - _JOINT / np.linalg.norm(around, axis=1, keepdims=True))


def _column(outline: Vector, site: Vector, rng: np.random.Generator) -> Mesh:
    height, slope = rng.uniform(0.1, 0.24), rng.uniform(-_LIMIT, _LIMIT, 2)
    count = len(outline)
    top = np.column_stack([outline, height + (outline - site) @ slope])
    bottom = np.column_stack([outline, np.full(count, -_DEPTH)])
    k = np.arange(count)
    after = (k + 1) % count
    walls = np.vstack([np.column_stack([k + count, after + count, after]), np.column_stack([k + count, after, k])])
    fan = np.array([(0, j, j + 1) for j in range(1, count - 1)])
    return Mesh(np.vstack([top, bottom]), np.vstack([walls, fan, fan[:, ::-1] + count]))
