"""Facets of a friction cone or another polyhedral cone given by its rays."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np

from multi_qp_scene.arrays import Array

#: Distance below which a ray of norm 1 lies in a plane with a unit normal.
_FLAT = 1e-9
#: Tolerance for duplicate unit normals: a facet with many rays is found from several subsets of them.
_SAME = 1e-7


def facets_of(rays: Array) -> Array:
    """Return F with {W Λ, Λ ≥ 0} = {w, F w ≥ 0}; no rows where the cone is the whole space.

    A facet of a cone in R^r contains r − 1 independent rays, so all subsets are enumerated: the normal of a
    subset is a facet if all rays are on one side. 4 points with 4 edges have 4368 subsets, which take about 10
    ms; results are cached.

    Args:
        rays: W, of full row rank, (r, k).

    Returns:
        F, unit rows, (facets, r); read-only.

    Raises:
        ValueError: when W is not of full row rank.
    """
    W = np.ascontiguousarray(rays, dtype=np.float64)
    return _facets(W.tobytes(), W.shape)


@lru_cache(maxsize=256)
def _facets(content: bytes, shape: tuple[int, int]) -> Array:
    W = np.frombuffer(content).reshape(shape)
    W = W / np.linalg.norm(W, axis=0)
    if np.linalg.matrix_rank(W) < shape[0]:
        raise ValueError("the rays do not span the space")
    normals = _normals(W)
    heights = normals @ W
    above, below = (heights > -_FLAT).all(axis=1), (heights < _FLAT).all(axis=1)
    facets = _distinct(np.concatenate([normals[above], -normals[below]]))
    facets.flags.writeable = False
    return facets


def _normals(W: Array) -> Array:
    """Return the unit normal of every set of r − 1 independent rays, (sets, r)."""
    dimension, count = W.shape
    subsets = np.array(list(combinations(range(count), dimension - 1)), dtype=np.intp)
    spans = W[:, subsets].transpose(1, 2, 0)
    normals = np.empty((len(subsets), dimension))
    for k in range(dimension):  # cofactors: the cross product in any dimension
        normals[:, k] = (-1.0) ** k * np.linalg.det(np.delete(spans, k, axis=2))
    lengths = np.linalg.norm(normals, axis=1)
    independent = lengths > 1e-9
    return normals[independent] / lengths[independent, None]


def _distinct(normals: Array) -> Array:
    distinct: list[Array] = []
    for normal in normals:
        if not distinct or np.abs(np.array(distinct) - normal).max(axis=1).min() > _SAME:
            distinct.append(normal)
    return np.array(distinct).reshape(len(distinct), normals.shape[1])
