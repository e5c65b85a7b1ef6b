import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from com_trajectory.polytope import Polytope
from multi_qp_scene.errors import MultiQpError

SEEDS = st.integers(0, 10_000)


def random_hull(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(rng.integers(5, 30), 3))
    return rng, points, Polytope.hull(points)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_hull_contains_its_points_and_its_vertices_are_among_them(seed):
    _, points, hull = random_hull(seed)
    assert hull.contains(points, tolerance=1e-7).all()
    distances = np.linalg.norm(hull.vertices()[:, None] - points[None], axis=2).min(axis=1)
    assert distances.max() < 1e-6


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_transformed_moves_the_points(seed):
    rng, points, hull = random_hull(seed)
    pose = pin.SE3.Random()
    moved = hull.transformed(pose)
    samples = rng.normal(size=(50, 3)) * 1.5
    world = samples @ pose.rotation.T + pose.translation
    assert np.allclose(hull.violation(samples), moved.violation(world))


def test_violation_is_a_distance_in_metres():
    box = Polytope(np.array([[2.0, 0, 0]]), np.array([1.0]))
    assert box.violation([[1.5, 0, 0], [0.0, 5, 5]]) == pytest.approx([1.0, -0.5])


def test_intersection_and_volume_of_boxes():
    both = Polytope.intersection([Polytope.box([0, 0, 0], [2, 2, 2]), Polytope.box([1, 1, 1], [3, 4, 1.5])])
    assert both.volume() == pytest.approx(0.5)
    assert len(both.vertices()) == 8
    corners, triangles = both.faces()
    assert triangles.shape == (12, 3)


def test_an_empty_polytope_has_a_negative_radius():
    gap = Polytope.intersection([Polytope.box([0, 0, 0], [1, 1, 1]), Polytope.box([1.2, 0, 0], [2, 1, 1])])
    assert gap.chebyshev()[1] == pytest.approx(-0.1)
    assert len(gap.vertices()) == 0


@pytest.mark.parametrize(
    ("A", "b", "words"),
    [
        (np.zeros((1, 3)), np.zeros(1), "row 0 of A is zero"),
        (np.full((1, 3), np.nan), np.zeros(1), "finite"),
        (np.ones((2, 3)), np.zeros(1), "expected A"),
    ],
)
def test_wrong_numbers_are_refused(A, b, words):
    with pytest.raises(MultiQpError, match=words):
        Polytope(A, b)


def test_unbounded_and_flat_sets_are_refused():
    with pytest.raises(MultiQpError, match="not bounded"):
        Polytope.box([-1, -1, -1], [1, 1, 1]).__class__(np.eye(3), np.ones(3)).vertices()
    with pytest.raises(MultiQpError, match="no volume"):
        Polytope.hull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
