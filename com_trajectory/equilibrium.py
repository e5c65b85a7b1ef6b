"""Exact static-equilibrium region of a set of contacts, A c ≤ a, as a polygon.

The horizontal position of the centre of mass is linear in the ray loads β:

    F β = e_z,  m_z β = 0,  (c_x, c_y) = (−m_y β, m_x β),  β ≥ 0,

with F and m the force and moment rows of G. The region is the projection of that polytope on the plane. Its corners
are computed by linear programs: each edge not proven to be on the boundary yields a new corner outside it, until all
are proven. Corners are vertices of the programs, so that the polygon is exact rather than an approximation.

Source: [Tonneau2018] (2), (12); the projection is that of [Bretl2008], run to its end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from com_trajectory.simplex import projected_polygon
from com_trajectory.wrench_cone import WrenchCone
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.equilibrium import EquilibriumRegion
from multi_qp_scene.errors import MultiQpError

HORIZON = 100.0
"""Extent at which an unbounded region is cut off, as between two walls [m]."""


def equilibrium_region(
    contacts: Sequence[Contact] | WrenchCone, *, margin: float = 0.0, least_load: float = 0.0
) -> EquilibriumRegion:
    """Return the static-equilibrium region of contacts.

    Args:
        contacts: at least one, at any pose; or their wrench cone.
        margin: distance from the boundary by which the region is shrunk [m].
        least_load: minimum share of the weight on every friction ray, for robustness to force errors.

    Raises:
        MultiQpError: no contacts, or a margin that is negative or not finite.

    Source: [Tonneau2018] (2); `least_load` is b0 of [DelPrete2016].
    """
    if not (np.isfinite(least_load) and least_load >= 0.0):
        raise MultiQpError(f"least_load: expected 0 or more, got {least_load}")
    cone = contacts if isinstance(contacts, WrenchCone) else WrenchCone(contacts)
    corners, bounded = _corners(cone, least_load)
    A, a = _edges(corners, None if bounded else HORIZON)
    origin = cone.origin[:2]
    A3 = np.zeros((len(A), 3))
    A3[:, :2] = A
    return EquilibriumRegion(A3, a + A @ origin, corners + origin, bounded).shrunk(margin)


def _corners(cone: WrenchCone, least_load: float) -> tuple[Array, bool]:
    """Return the corners of the region about the cone's origin, counterclockwise, and whether it is bounded."""
    G = cone.G
    M, places = np.concatenate([G[:3], G[5:]]), np.empty((G.shape[1], 2))
    places[:, 0], places[:, 1] = -G[4], G[3]  # β → c_x, c_y about the cone's origin
    loads = G.sum(axis=1) * least_load if least_load else np.zeros(6)
    shift = np.array([-loads[4], loads[3]])
    e = np.array([0.0, 0.0, 1.0, 0.0]) - loads[[0, 1, 2, 5]]
    corners = projected_polygon(M, e, places)
    if corners is not None:
        return corners + shift, True
    # bound the centre of mass by a square of the horizon's size: four rows, each with its own slack
    square = np.concatenate([places.T, -places.T])
    limits = HORIZON - np.concatenate([shift, -shift])
    M = np.block([[M, np.zeros((4, 4))], [square, np.eye(4)]])
    walled = projected_polygon(M, np.concatenate([e, limits]), np.vstack([places, np.zeros((4, 2))]))
    assert walled is not None
    return walled + shift, False


def _edges(corners: Array, horizon: float | None) -> tuple[Array, Array]:
    """Return the inequalities of a polygon, without those of edges on the horizon."""
    if len(corners) == 0:  # 0 ≤ −1 is infeasible, and a row must not be zero
        return np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([-1.0, -1.0])
    if len(corners) == 1:
        A = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        return A, A @ corners[0]
    along = np.empty_like(corners)
    along[:-1], along[-1] = corners[1:] - corners[:-1], corners[0] - corners[-1]
    lengths = np.sqrt((along**2).sum(axis=1, keepdims=True))
    normals = along[:, ::-1] * (1.0, -1.0) / lengths
    offsets = (normals * corners).sum(axis=1)
    if len(corners) == 2:
        normals = np.concatenate([normals, along / lengths])
        offsets = (normals * np.concatenate([corners, corners[::-1]])).sum(axis=1)
    if horizon is not None:
        on_it = np.isclose(offsets, horizon, atol=1e-6) & (np.abs(normals).max(axis=1) > 1.0 - 1e-9)
        normals, offsets = normals[~on_it], offsets[~on_it]
    return normals, offsets
