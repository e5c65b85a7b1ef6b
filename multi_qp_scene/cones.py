"""Facets of a cone that is given by its generators."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: A generator this near to a plane lies in it; both are of norm 1.
_FLAT = 1e-9
#: Facets whose unit normals agree to this are one: with many generators in one, several subsets of them find it.
_SAME = 1e-7


def facets_of(generators: Array) -> Array:
    """Return F with {W Λ, Λ ≥ 0} = {w, F w ≥ 0}; no rows where the cone is the whole space.

    A facet of a cone in R^r contains r − 1 independent generators, so every such subset is tried: its normal is a facet
    if all generators are on one side. 4 points with 4 edges make 4368 subsets, some 10 ms; the answer is kept.

    Args:
        generators: W, of full row rank, (r, k).

    Returns:
        F, unit rows, (facets, r); read-only.

    Raises:
        ValueError: when W is not of full row rank: its cone is in a plane.
    """
    W = np.ascontiguousarray(generators, dtype=np.float64)
    return _facets(W.tobytes(), W.shape)


@lru_cache(maxsize=256)
def _facets(content: bytes, shape: tuple[int, int]) -> Array:
    W = np.frombuffer(content).reshape(shape)
    W = W / np.linalg.norm(W, axis=0)
    if np.linalg.matrix_rank(W) < shape[0]:
        raise ValueError("the generators span no more than a plane")
    normals = _normals(W)
    heights = normals @ W
    above, below = (heights > -_FLAT).all(axis=1), (heights < _FLAT).all(axis=1)
    facets = _distinct(np.concatenate([normals[above], -normals[below]]))
    facets.flags.writeable = False
    return facets


def _normals(W: Array) -> Array:
    """Return the unit normal of every set of r − 1 independent generators, (sets, r)."""
    dimension, count = W.shape
    subsets = np.array(list(combinations(range(count), dimension - 1)), dtype=np.intp)
    spans = W[:, subsets].transpose(1, 2, 0)
    normals = np.empty((len(subsets), dimension))
    for k in range(dimension):  # Cramer: the cross product in any dimension
        normals[:, k] = (-1.0) ** k * np.linalg.det(np.delete(spans, k, axis=2))
    lengths = np.linalg.norm(normals, axis=1)
    independent = lengths > 1e-9
    return normals[independent] / lengths[independent, None]


def _distinct(normals: Array) -> Array:
    kept: list[Array] = []
    for normal in normals:
        if not kept or np.abs(np.array(kept) - normal).max(axis=1).min() > _SAME:
            kept.append(normal)
    return np.array(kept).reshape(len(kept), normals.shape[1])
