"""Support polygons: hulls, centroids, margins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from multi_qp_controller.contacts.support_polygon import (
    centroid,
    distance_inside,
    hull_corners,
    margin_inside,
    support_polygon,
)

SQUARE = np.array([[0.0, 0.0, 0.1], [2.0, 0.0, 0.1], [2.0, 1.0, 0.1], [0.0, 1.0, 0.1]])


def area(polygon):
    x, y = polygon[:, 0], polygon[:, 1]
    return 0.5 * (x @ np.roll(y, -1) - np.roll(x, -1) @ y)


def contact_points(kinematics, surface):
    """Return the contact points of a surface in the world, (k, 3)."""
    return np.array([kinematics.pose(surface.frame_id).act(point) for point in surface.points])


def test_both_soles_span_one_polygon(scene, lab):
    kinematics = lab.kinematics(scene, scene.initial_state())
    soles = [scene.surfaces[f"humanoid/{side}_sole"] for side in ("left", "right")]
    polygon = support_polygon(kinematics, soles)
    points = np.concatenate([contact_points(kinematics, sole) for sole in soles])
    assert area(polygon) > 0.0  # counter-clockwise
    np.testing.assert_allclose(points[:, 2], 0.0, atol=1e-9)
    assert min(distance_inside(polygon, point) for point in points) == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(centroid(polygon)[1], 0.0, atol=1e-6)
    alone = support_polygon(kinematics, soles[:1])
    assert area(alone) == pytest.approx(0.21 * 0.10)
    assert distance_inside(alone, centroid(alone)) == pytest.approx(0.05)


@given(seed=st.integers(0, 10_000), count=st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_margin_is_the_distance_inside_the_hull_of_the_present_points(scene, lab, seed, count):
    random = np.random.default_rng(seed)
    state = scene.initial_state()
    state.q[:3] += random.uniform(-1.0, 1.0, 3)
    state.q[7:] += random.uniform(-0.3, 0.3, len(state.q) - 7)
    kinematics = lab.kinematics(scene, state)
    surfaces = [scene.surfaces[name] for name in random.choice(sorted(scene.surfaces), count, replace=False)]
    points = np.concatenate([contact_points(kinematics, surface) for surface in surfaces])
    hull = points[hull_corners(points)]
    np.testing.assert_allclose(support_polygon(kinematics, surfaces), hull, atol=1e-12)
    place = points.mean(axis=0) + random.uniform(-0.1, 0.1, 3)
    assert margin_inside(kinematics, surfaces, place) == pytest.approx(distance_inside(hull, place), abs=1e-12)


@pytest.mark.parametrize(
    ("point", "distance"),
    [((1.0, 0.5), 0.5), ((0.1, 0.5), 0.1), ((2.0, 0.5), 0.0), ((2.3, 0.5), -0.3), ((1.0, -0.2), -0.2)],
)
def test_distance_inside(point, distance):
    assert distance_inside(SQUARE, np.array([*point, 5.0])) == pytest.approx(distance)


def test_centroid_is_that_of_the_area():
    np.testing.assert_allclose(centroid(SQUARE), [1.0, 0.5, 0.1])
    triangle = np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    np.testing.assert_allclose(centroid(triangle), [1.0, 1.0, 0.0])
    uneven = np.insert(SQUARE, 1, [[0.5, 0.0, 0.1], [0.6, 0.0, 0.1]], axis=0)
    np.testing.assert_allclose(centroid(uneven), [1.0, 0.5, 0.1])


def test_line_has_a_mean_point_and_no_interior():
    line = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    np.testing.assert_allclose(centroid(line), [1.0, 0.0, 0.0])
    assert distance_inside(line, np.array([1.0, 0.0, 0.0])) == 0.0
    assert distance_inside(line, np.array([1.0, 0.4, 0.0])) == pytest.approx(-0.4)


def test_of_collinear_points_the_ends_are_returned(workshop, lab):
    point = {"type": "point", "link": "body", "rpy": [np.pi, 0, 0]}
    workshop.block("rail", surfaces={f"p{k}": point | {"xyz": [0.1 * k, 0, 0]} for k in range(3)})
    scene = workshop.load(subsystems={"rail": {"model": "rail"}}).scene
    kinematics = lab.kinematics(scene, scene.initial_state())
    polygon = support_polygon(kinematics, list(scene.surfaces.values()))
    np.testing.assert_allclose(polygon[:, 0], [0.0, 0.2], atol=1e-12)
    assert margin_inside(kinematics, list(scene.surfaces.values()), np.array([0.1, 0.4, 0.0])) == pytest.approx(-0.4)
    np.testing.assert_allclose(centroid(polygon), [0.1, 0.0, 0.0], atol=1e-12)
    assert len(support_polygon(kinematics, [scene.surfaces["rail/p0"]])) == 1


def test_hull_equals_that_of_qhull():
    random = np.random.default_rng(0)
    for count in (3, 4, 8, 40):
        points = np.round(random.uniform(-1.0, 1.0, (count, 2)), 1)  # with duplicate and collinear points
        corners = hull_corners(points)
        polygon = np.c_[points[corners], np.zeros(len(corners))]
        hull = ConvexHull(points)
        assert area(polygon) == pytest.approx(hull.volume)
        assert {tuple(p) for p in points[corners]} == {tuple(p) for p in points[hull.vertices]}


@settings(max_examples=200)
@given(order=st.permutations(range(8)), shifts=st.lists(st.floats(-1e-15, 1e-15), min_size=16, max_size=16))
def test_collinear_corners_of_adjacent_feet_are_kept(order, shifts):
    """Corners of two feet side by side are collinear up to rounding: the ends of the row remain corners."""
    corners = np.array([(x, y) for x in (-0.1, 0.1) for y in (-0.2, -0.1, 0.1, 0.2)])[list(order)]
    points = corners + np.reshape(shifts, (8, 2))
    found = points[hull_corners(points)]
    assert area(found) == pytest.approx(0.2 * 0.4)
