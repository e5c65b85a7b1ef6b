"""Contact points and wrench cones of surfaces."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, nnls

from multi_qp_scene.surfaces import Surface, grasp_points, planar_points, pyramid, single_point, tangents

FRICTIONS = [0.1, 0.5, 0.7, 1.5]
SIZE, RADIUS, LENGTH = (0.2, 0.1), 0.02, 0.08
POINTS = {
    "planar": lambda: planar_points(SIZE),
    "hand": lambda: grasp_points(RADIUS, LENGTH, encloses=True),
    "handle": lambda: grasp_points(RADIUS, LENGTH, encloses=False),
    "point": single_point,
}


def surface(name):
    kind = {"hand": "grasp", "handle": "grasp"}.get(name, name)
    points, normals = POINTS[name]()
    return Surface(
        name=f"body/{name}",
        kind=kind,
        link="body/link",
        frame_id=0,
        joint_id=0,
        X_link_surface=pin.SE3.Identity(),
        points=points,
        normals=normals,
    )


def carries(W, wrench):
    """Return whether W Λ = wrench has a solution Λ ≥ 0."""
    return nnls(W, wrench)[1] < 1e-9 * max(1.0, np.linalg.norm(wrench))


@pytest.mark.parametrize("friction", FRICTIONS)
@pytest.mark.parametrize("name", POINTS)
def test_generators_are_edges_of_an_inscribed_pyramid(name, friction):
    """Rays are unit forces on the Coulomb cone of their point, so that no sum of them is outside it."""
    made = surface(name)
    W = made.rays(friction)
    assert W.shape == (6, 4 * len(made.points))
    for k in range(W.shape[1]):
        force, normal, point = W[:3, k], made.normals[k // 4], made.points[k // 4]
        pressing = force @ normal
        sliding = np.linalg.norm(force - pressing * normal)
        assert np.linalg.norm(force) == pytest.approx(1.0)
        assert pressing > 0.0
        assert sliding == pytest.approx(friction * pressing)
        np.testing.assert_allclose(W[3:, k], np.cross(point, force), atol=1e-15)


@given(seed=st.integers(0, 1000), friction=st.floats(0.01, 3.0))
def test_every_force_of_a_point_is_inside_its_cone(seed, friction):
    W = surface("point").rays(friction)
    force = W[:3] @ np.random.default_rng(seed).uniform(0.0, 1.0, 4)
    assert np.hypot(*force[:2]) <= -friction * force[2] * (1 + 1e-12)


@pytest.mark.parametrize("friction", FRICTIONS)
def test_a_plane_only_pushes(friction):
    """Contact forces act along -z of the surface, into the body: they cannot pull."""
    W = surface("planar").rays(friction)
    assert (W[2] < 0.0).all()
    assert carries(W, np.array([0, 0, -10.0, 0, 0, 0]))
    assert not carries(W, np.array([0, 0, 10.0, 0, 0, 0]))
    assert not carries(W, np.array([1.0, 0, 0, 0, 0, 0]))


@pytest.mark.parametrize("offset", [(0.0, 0.0), (0.09, 0.0), (-0.09, 0.04), (0.099, -0.049)])
def test_a_plane_carries_a_pressure_at_any_place_in_it(offset):
    W, force = surface("planar").rays(0.5), np.array([0.0, 0.0, -100.0])
    inside = np.array([*offset, 0.0])
    assert carries(W, np.concatenate([force, np.cross(inside, force)]))
    outside = np.array([0.101, 0.0, 0.0]) if offset[0] >= 0 else np.array([0.0, 0.051, 0.0])
    assert not carries(W, np.concatenate([force, np.cross(outside, force)]))


@given(seed=st.integers(0, 1000))
def test_moments_are_those_of_the_point_forces(seed):
    made = surface("planar")
    W, forces = made.rays(0.7), np.random.default_rng(seed).uniform(0.0, 10.0, 16)
    at_points = (W[:3] * forces).reshape(3, 4, 4).sum(axis=2).T
    expected = np.concatenate([at_points.sum(axis=0), np.cross(made.points, at_points).sum(axis=0)])
    np.testing.assert_allclose(W @ forces, expected, atol=1e-12)


@pytest.mark.parametrize("friction", FRICTIONS)
@pytest.mark.parametrize("name", ["hand", "handle"])
def test_a_grasp_resists_in_all_directions(name, friction):
    """Its rays positively span all wrenches: 0 is a strictly positive combination of them, and rank is 6."""
    W = surface(name).rays(friction)
    assert np.linalg.matrix_rank(W) == 6
    n = W.shape[1]
    most = linprog(
        np.r_[np.zeros(n), -1.0],
        A_eq=np.c_[W, np.zeros(6)],
        b_eq=np.zeros(6),
        A_ub=np.c_[-np.eye(n), np.ones(n)],
        b_ub=np.zeros(n),
        bounds=[(0, 1)] * n + [(0, 1)],
    )
    assert most.status == 0
    assert most.x[-1] > 1e-3
    for axis in range(6):
        for sign in (-1.0, 1.0):
            assert carries(W, sign * np.eye(6)[axis])


@pytest.mark.parametrize("seed", range(5))
def test_a_grasp_resists_any_wrench(seed):
    wrench = np.random.default_rng(seed).uniform(-50, 50, 6)
    assert carries(surface("hand").rays(0.5), wrench)


def test_a_hand_is_pushed_outwards_and_a_handle_inwards():
    (points, out), (_, into) = POINTS["hand"](), POINTS["handle"]()
    radial = points.copy()
    radial[:, 0] = 0.0
    np.testing.assert_allclose(np.linalg.norm(radial, axis=1), RADIUS)
    np.testing.assert_allclose(out, radial / RADIUS, atol=1e-12)
    np.testing.assert_allclose(into, -out)
    np.testing.assert_allclose(np.abs(points[:, 0]), LENGTH / 2)
    np.testing.assert_allclose(points[0, 0], points[2, 0])  # opposite points share an end


def test_the_corners_of_a_rectangle():
    points, normals = planar_points(SIZE)
    assert {tuple(p) for p in np.abs(points)} == {(0.1, 0.05, 0.0)}
    assert len({tuple(p) for p in points}) == 4
    np.testing.assert_array_equal(normals, np.tile([0, 0, -1.0], (4, 1)))


@given(seed=st.integers(0, 10_000))
def test_tangents_complete_a_basis(seed):
    normal = np.random.default_rng(seed).normal(size=3)
    normal /= np.linalg.norm(normal)
    basis = np.stack([*tangents(normal), normal], axis=1)
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-12)
    assert np.linalg.det(basis) == pytest.approx(1.0)


@pytest.mark.parametrize("edges", [4, 8])
@given(seed=st.integers(0, 10_000))
def test_the_edges_of_a_pyramid_lie_on_the_friction_cone(edges, seed):
    normal = np.random.default_rng(seed).normal(size=3)
    normal /= np.linalg.norm(normal)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("multi_qp_scene.surfaces.PYRAMID_EDGES", edges)
        found = pyramid(normal, 0.7)
    assert len(found) == edges
    np.testing.assert_allclose(found @ normal, 1.0)
    along = found - normal
    np.testing.assert_allclose(np.linalg.norm(along, axis=1), 0.7)
    between = np.degrees(np.arccos(np.einsum("ij,ij->i", along, np.roll(along, -1, axis=0)) / 0.49))
    np.testing.assert_allclose(between, 360 / edges)


@pytest.mark.parametrize(("name", "rows"), [("planar", 6), ("hand", 6), ("point", 3)])
def test_rows_of_no_slip(name, rows):
    assert surface(name).equality_rows == rows
