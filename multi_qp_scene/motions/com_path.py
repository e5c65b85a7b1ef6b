"""Path of the centre of mass near a reference, for which the ground can transmit the forces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import piqp
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import ConvexHull

from multi_qp_scene.arrays import Array

GRAVITY = 9.81
#: Weight of the jerk beside the distance from the reference [s⁶], and of the distance of the zero-moment point (ZMP)
#: from the middle of the support.
JERK, CENTRE = 1e-6, 0.02
#: Weight of the ZMP outside of the support, and distance up to which it is weighted linearly [m].
OUTSIDE, BEYOND = 100.0, 0.05
#: Range of the vertical acceleration in contact, and largest horizontal one per vertical force, relative to gravity.
LEAST, MOST, FRICTION = -0.6, 1.5, 0.5
#: Least vertical force, relative to the weight, of which a ZMP is computed.
LIGHT = 0.1


def vertical_path(reference: Array, contact: NDArray[np.bool_], dt: float) -> Array:
    """Return heights of the centre of mass near a reference, at rest at both ends and in free fall in flights, (n,).

    Args:
        reference: heights, (n,) [m].
        contact: whether a surface is planted, (n,).
        dt: time between two samples [s].
    """
    n = len(reference)
    place, _, acceleration = _parts(n)
    flight = ~np.asarray(contact, dtype=bool)
    lower = np.where(flight, -GRAVITY, LEAST * GRAVITY)
    upper = np.where(flight, -GRAVITY, MOST * GRAVITY)
    H = place.T @ place + JERK * _jerk(n, dt)
    found = _solved(H, -place.T @ reference, _motion(n, dt), acceleration, lower, upper)
    return reference.copy() if found is None else place @ found


def horizontal_path(
    reference: Array, heights: Array, spin: Array, supports: Sequence[Array | None], dt: float
) -> Array:
    """Return a path of the centre of mass whose ZMP is in the support, at rest at both ends, (n, 2).

    Where this is impossible, the ZMP leaves the support as little as possible.

    Args:
        reference: path, (n, 2) [m].
        heights: above the ground, (n,) [m].
        spin: rate of the angular momentum about the centre of mass over the mass, x and y, (n, 2) [m²/s²].
        supports: corners of the support at each sample, (k, 2) [m]; None in flights.
        dt: time between two samples [s].
    """
    n = len(reference)
    place, _, acceleration = _parts(n)
    load = np.maximum(_differences(heights, dt) + GRAVITY, 0.0)  # vertical force over the mass, (n,)
    # moment of the ground's forces: load · ZMP = load · c - height · c̈ + turned
    Z = sparse.csr_matrix(sparse.diags(load) @ place - sparse.diags(heights) @ acceleration) / GRAVITY
    load, turned = load / GRAVITY, np.column_stack([-spin[:, 1], spin[:, 0]]) / GRAVITY
    grounded = np.array([corners is not None for corners in supports])
    middle = np.array([np.zeros(2) if corners is None else corners.mean(axis=0) for corners in supports])
    pull = CENTRE * Z.T @ sparse.diags(grounded.astype(float))
    H = place.T @ place + JERK * _jerk(n, dt) + pull @ Z
    g = -(place.T @ reference + pull @ (load[:, None] * middle - turned))
    rows, slacks, bounds = _inside(Z, load, turned, supports)
    slide = np.tile(np.where(grounded, FRICTION * GRAVITY * load, 0.0), 2)
    extra, none = sparse.identity(n), sparse.csr_matrix((2 * (2 * n + 2), n))
    found = _solved(
        sparse.block_diag([H, H, OUTSIDE * extra]),
        np.concatenate([g.T.ravel(), np.full(n, OUTSIDE * BEYOND)]),
        sparse.hstack([sparse.block_diag([_motion(n, dt)] * 2), none]),
        sparse.vstack(
            [sparse.hstack([rows, slacks]), sparse.block_diag([sparse.block_diag([acceleration] * 2), extra])]
        ),
        np.concatenate([np.full(len(bounds), -np.inf), -slide, np.zeros(n)]),
        np.concatenate([bounds, slide, np.full(n, np.inf)]),
    )
    return reference.copy() if found is None else (place @ found[: 6 * n].reshape(2, -1).T)


def zero_moment_points(path: Array, spin: Array, dt: float) -> Array:
    """Return the ZMP of a motion on ground at height 0, (n, 2) [m].

    Args:
        path: of the centre of mass, (n, 3) [m].
        spin: see `horizontal_path`.
        dt: time between two samples [s].
    """
    acceleration = _differences(path, dt)
    load = acceleration[:, 2] + GRAVITY
    turned = np.column_stack([-spin[:, 1], spin[:, 0]])
    moment = load[:, None] * path[:, :2] - path[:, 2:] * acceleration[:, :2] + turned
    return np.asarray(moment / np.maximum(load, LIGHT * GRAVITY)[:, None])


def relative_loads(path: Array, dt: float) -> Array:
    """Return the vertical force on the ground over the weight, `LIGHT` at least, (n,).

    Args:
        path: of the centre of mass, (n, 3) [m].
        dt: time between two samples [s].
    """
    return np.asarray(np.maximum(_differences(path[:, 2], dt) / GRAVITY + 1.0, LIGHT))


def outside(point: Array, corners: Array) -> float:
    """Return the distance of a point from the convex hull of corners, 0 inside [m]."""
    hull = ConvexHull(corners)
    if (hull.equations[:, :2] @ point + hull.equations[:, 2] <= 0.0).all():
        return 0.0
    begin, end = corners[hull.simplices[:, 0]], corners[hull.simplices[:, 1]]
    share = ((point - begin) * (end - begin)).sum(axis=1) / ((end - begin) ** 2).sum(axis=1)
    nearest = begin + np.clip(share, 0.0, 1.0)[:, None] * (end - begin)
    return float(np.linalg.norm(nearest - point, axis=1).min())


def _inside(
    Z: sparse.spmatrix, load: Array, turned: Array, supports: Sequence[Array | None]
) -> tuple[sparse.spmatrix, sparse.spmatrix, Array]:
    """Return rows on the path, x then y, rows of slacks, and upper bounds that keep the ZMP inside the supports."""
    Z, kept = sparse.csr_matrix(Z), [k for k, corners in enumerate(supports) if corners is not None]
    hulls = [ConvexHull(supports[k]).equations for k in kept]
    samples = np.repeat(kept, [len(hull) for hull in hulls])
    edges = np.vstack(hulls) if hulls else np.zeros((0, 3))
    own = Z[samples] if len(samples) else sparse.csr_matrix((0, Z.shape[1]))
    rows = sparse.hstack([sparse.diags(edges[:, 0]) @ own, sparse.diags(edges[:, 1]) @ own])
    bounds = -edges[:, 2] * load[samples] - (edges[:, :2] * turned[samples]).sum(axis=1)
    slacks = sparse.csr_matrix((-load[samples], (np.arange(len(samples)), samples)), shape=own.shape[:1] + load.shape)
    return rows, slacks, bounds


def _differences(path: Array, dt: float) -> Array:
    """Return second differences over time, as if at rest before the first and after the last sample."""
    held = np.concatenate([path[:1], path, path[-1:]])
    return np.asarray(np.diff(held, 2, axis=0) / dt**2)


def _parts(n: int) -> list[sparse.csr_matrix]:
    """Return maps from the variables of one axis, place, velocity and acceleration, to each of them, (n, 3 n)."""
    return [sparse.csr_matrix(sparse.eye(n, 3 * n, k=i * n)) for i in range(3)]


def _motion(n: int, dt: float) -> sparse.csr_matrix:
    """Return rows that are zero for a motion with linear acceleration between samples, at rest at both ends.

    With variables for the rates, the problem is well conditioned also for long motions.
    """
    now, then = sparse.eye(n - 1, n), sparse.eye(n - 1, n, k=1)
    none = sparse.csr_matrix((n - 1, n))
    ends = sparse.csr_matrix(([1.0, 1.0], ([0, 1], [0, n - 1])), shape=(2, n))
    place = [then - now, -dt * now, -(dt**2) * (now / 3.0 + then / 6.0)]
    rate = [none, then - now, -0.5 * dt * (now + then)]
    return sparse.csr_matrix(sparse.bmat([place, rate, [None, ends, None], [None, None, ends]]))


def _jerk(n: int, dt: float) -> sparse.csr_matrix:
    """Return the sum of squares of the jerk of one axis as a matrix, (3 n, 3 n)."""
    step = (sparse.eye(n - 1, 3 * n, k=2 * n + 1) - sparse.eye(n - 1, 3 * n, k=2 * n)) / dt
    return sparse.csr_matrix(step.T @ step)


def _solved(
    H: sparse.spmatrix, g: Array, E: sparse.spmatrix, A: sparse.spmatrix, lower: Array, upper: Array
) -> Array | None:
    """Solve min ½ xᵀ H x + gᵀ x with E x = 0, lower ≤ A x ≤ upper; return None where there is no solution."""
    A, same = sparse.csr_matrix(A), upper - lower < 1e-9
    equal, other = np.flatnonzero(same), np.flatnonzero(~same)
    solver = piqp.SparseSolver()
    solver.setup(
        sparse.csc_matrix(H),
        g,
        sparse.csc_matrix(sparse.vstack([E, A[equal]])),
        np.concatenate([np.zeros(E.shape[0]), lower[equal]]),
        sparse.csc_matrix(A[other]),
        lower[other],
        upper[other],
    )
    status = solver.solve()
    return np.asarray(solver.result.x).copy() if status == piqp.PIQP_SOLVED else None
