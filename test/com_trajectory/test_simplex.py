import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, nnls

from com_trajectory.simplex import distances_to_cone, least_step_inside, projected_polygon

SEEDS = st.integers(0, 10_000)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_corners_are_those_of_linprog(seed):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(4, 12))
    M[0] = np.abs(M[0])  # bounded
    e = M @ rng.uniform(0, 1, 12) if seed % 4 else np.array([-1.0, 0, 0, 0])
    places = rng.normal(size=(12, 2))
    corners = projected_polygon(M, e, places)
    assert corners is not None
    for angle in rng.uniform(0.0, 2.0 * np.pi, 8):
        direction = np.array([np.cos(angle), np.sin(angle)])
        found = linprog(-places @ direction, A_eq=M, b_eq=e)
        assert (len(corners) > 0) == (found.status == 0)
        if len(corners):
            assert (corners @ direction).max() == pytest.approx(-found.fun, abs=1e-7)
    for corner in corners:
        hull = linprog(np.zeros(12), A_eq=np.vstack([M, places.T]), b_eq=[*e, *corner])
        assert hull.status == 0  # the projection of a point of the polytope
    ways = np.roll(corners, -1, axis=0) - corners
    turns = ways[:, 0] * np.roll(ways[:, 1], -1) - ways[:, 1] * np.roll(ways[:, 0], -1)
    assert (turns > 0.0).all() or len(corners) < 3  # counterclockwise, without collinear corners


def test_degenerate_rows_points_segments_and_no_end():
    M, e = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]), np.array([1.0, 2.0])
    assert projected_polygon(M, e, np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 1.0]])) is None
    segment = projected_polygon(M, e, np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]))
    assert sorted(segment.tolist()) == [[0.0, 0.0], [1.0, 0.0]]
    assert projected_polygon(M, e, np.full((3, 2), [[0.5, 2.0], [0.5, 2.0], [0.0, 0.0]])).tolist() == [[0.5, 2.0]]
    assert projected_polygon(M, np.array([1.0, 3.0]), np.zeros((3, 2))).shape == (0, 2)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(3, 30))
def test_distance_is_zero_inside_and_proven_outside(seed, rays):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(6, rays)) + np.array([0, 0, 1.5, 0, 0, 0])[:, None]
    W = np.vstack([(G @ np.abs(rng.normal(size=(rays, 5)))).T, rng.normal(size=(5, 6))])
    distance, proof = distances_to_cone(G, W)
    assert np.allclose(distance[:5], 0.0, atol=1e-9)
    for w, d, y in zip(W, distance, proof, strict=True):
        assert (nnls(G, w)[1] < 1e-8) == (d < 1e-8)
        assert y @ w == pytest.approx(d, abs=1e-9)
        assert (y @ G).max() < 1e-9


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from([1e-3, 0.3, 16.0, 1e4]))
def test_the_least_step_inside_is_the_least_of_those_of_linprog(seed, limit):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(6, 20)) + np.array([0, 0, 1.5, 0, 0, 0])[:, None]
    start = (G @ np.abs(rng.normal(size=(20, 8)))).T
    direction = rng.normal(size=(8, 6))
    steps = [limit]
    for s, d in zip(start, direction, strict=True):
        found = linprog(np.eye(21)[20] * -1.0, A_eq=np.column_stack([G, -d]), b_eq=s)
        if found.status == 0:
            steps.append(-found.fun)
    assert least_step_inside(G, start, direction, limit) == pytest.approx(min(steps), rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(1, 3))
def test_the_least_step_inside_a_flat_cone(seed, dimension):
    """Points without friction make cones in a plane of few dimensions, of which no six rays are a basis."""
    rng = np.random.default_rng(seed)
    flat = rng.normal(size=(6, dimension + 1))
    G = flat @ np.abs(rng.normal(size=(dimension + 1, 9)))
    start = (G @ np.abs(rng.normal(size=(9, 4)))).T
    direction = (G @ rng.normal(size=(9, 4))).T
    steps = [50.0]
    for s, d in zip(start, direction, strict=True):
        found = linprog(np.eye(10)[9] * -1.0, A_eq=np.column_stack([G, -d]), b_eq=s)
        steps += [-found.fun] if found.status == 0 else []
    assert least_step_inside(G, start, direction, 50.0) == pytest.approx(min(steps), rel=1e-6)


def test_a_ray_that_leaves_the_cone_at_once_does_not_count():
    G = np.hstack([np.eye(6), -np.eye(6)[:, :5]])  # the half space x5 ≥ 0
    start = np.array([[0.0] * 6, [0.0] * 5 + [1.0]])
    direction = np.array([[0.0] * 5 + [-1.0], [0.0] * 5 + [-0.5]])
    assert least_step_inside(G, start, direction, 16.0) == pytest.approx(2.0)
    assert least_step_inside(G, start[:1], direction[:1], 16.0) == 16.0
