from __future__ import annotations

import numpy as np
import pytest

from multi_qp_viewer import Camera
from multi_qp_viewer.raytracer import Lighting, ShadedBody, Solids

UP = np.array([[0.0, 0.0, 1.0]], dtype=np.float32)
LIGHT = Lighting.for_camera(Camera(position=(3.0, 0.0, 1.0), target=(0.0, 0.0, 0.5)))


def plate(side=1.0):
    """Return a square in the plane z = 0 of group 7 whose normals lean outwards."""
    corners = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], dtype=np.float32) * side / 2
    normals = corners + [0, 0, 1]
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    faces = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)
    return ShadedBody(corners, normals.astype(np.float32), faces, (1.0, 0.0, 0.0, 1.0), group=7)


def placed(*heights, side=1.0):
    """Return horizontal plates at these heights [m]."""
    positions = np.array([[0.0, 0.0, height] for height in heights]).reshape(-1, 3)
    return Solids([plate(side)] * len(heights), np.tile(np.eye(3), (len(heights), 1, 1)), positions)


def test_rays_hit_the_nearest_body_at_its_distance():
    eye = np.array([0.1, -0.2, 3.0], dtype=np.float32)
    targets = np.array([[0.3, 0.1, 1.0], [-0.45, 0.2, 1.0], [0.9, 0.0, 1.0]])
    rays = targets - eye
    distances = np.linalg.norm(rays, axis=1)
    hits = placed(0.5, 1.0).cast(eye, (rays / distances[:, None]).astype(np.float32))
    np.testing.assert_array_equal(hits.body, [1, 1, -1])
    np.testing.assert_array_equal(hits.group, [7, 7, -1])
    np.testing.assert_allclose(hits.distance, [*distances[:2], np.inf], rtol=1e-5)
    np.testing.assert_allclose(hits.albedo[:2], [[1, 0, 0]] * 2, atol=1e-6)


def test_normals_are_interpolated_between_the_vertices():
    """The vertices' normals are (p + z) / w with equal w: interpolated ones are p + z, normalised."""
    points = np.array([[0.0, 0.0, 0.0], [0.4, 0.1, 0.0], [-0.3, -0.2, 0.0]], dtype=np.float32)
    eye = np.array([0.0, 0.0, 2.0], dtype=np.float32)
    rays = (points - eye) / np.linalg.norm(points - eye, axis=1, keepdims=True)
    expected = points + UP
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(placed(0.0).cast(eye, rays).normal, expected, atol=1e-5)


@pytest.mark.parametrize("azimuth", [0.0, 1.0, 2.5])
def test_occlusion_rays_cover_the_hemisphere_by_the_cosine(azimuth):
    """Of rays around a horizontal normal, a plate above the point blocks the upper half."""
    normal = np.array([[np.cos(azimuth), np.sin(azimuth), 0.0]], dtype=np.float32)
    point = np.array([[0.0, 0.0, 1.0]], dtype=np.float32)
    tile = np.zeros(1, dtype=np.int32)
    shares = placed(1.001, side=20.0).visibility(LIGHT, point, normal, tile, shadow=0, occlusion=128)
    assert shares[0, 0] == 1.0
    assert shares[1, 0] == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(("height", "within"), [(0.3, True), (0.8, False)])
def test_occlusion_has_a_range(height, within):
    point, tile = np.array([[0.0, 0.0, 1.0]], dtype=np.float32), np.zeros(1, dtype=np.int32)
    shares = placed(1.0 + height, side=20.0).visibility(LIGHT, point, UP, tile, shadow=0, occlusion=64)
    assert shares[1, 0] == pytest.approx((height / 0.5) ** 2 if within else 1.0, abs=0.05)  # cosine-weighted cone


def test_key_light_is_blocked_between_point_and_light():
    points = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0] + 5 * LIGHT.key], dtype=np.float32)
    normals, tile = np.tile(UP, (2, 1)), np.arange(2, dtype=np.int32)
    shares = placed(2.0, side=4.0).visibility(LIGHT, points, normals, tile, shadow=4, occlusion=0)
    np.testing.assert_array_equal(shares, [[0.0, 1.0], [1.0, 1.0]])


def test_without_bodies_all_light_arrives():
    solids, eye = placed(), np.zeros(3, dtype=np.float32)
    assert np.all(solids.cast(eye, np.tile(UP, (3, 1))).body == -1)
    point, tile = np.array([[0.0, 0.0, 5.0]], dtype=np.float32), np.zeros(1, dtype=np.int32)
    assert np.all(solids.visibility(LIGHT, point, UP, tile, shadow=2, occlusion=4) == 1.0)
