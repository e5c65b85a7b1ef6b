import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, nnls

from com_trajectory.simplex import CornerSearch, UnboundedError, distances_to_cone, longest_steps

SEEDS = st.integers(0, 10_000)


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_corners_are_those_of_linprog(seed):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(4, 12))
    M[0] = np.abs(M[0])  # bounded
    e = M @ rng.uniform(0, 1, 12) if seed % 4 else np.array([-1.0, 0, 0, 0])
    search = CornerSearch(M, e)
    for _ in range(5):
        cost = rng.normal(size=12)
        found = linprog(-cost, A_eq=M, b_eq=e)
        assert search.feasible == (found.status == 0)
        if search.feasible:
            x = search.maximise(cost)
            assert cost @ x == pytest.approx(-found.fun, abs=1e-7)
            assert np.allclose(M @ x, e)
            assert (x >= 0).all()


def test_degenerate_rows_and_no_end():
    M = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]])
    search = CornerSearch(M, np.array([1.0, 2.0]))
    assert search.feasible
    assert search.maximise(np.array([1.0, 0.0, -1.0])) == pytest.approx([1, 0, 0])
    with pytest.raises(UnboundedError):
        search.maximise(np.array([0.0, 0.0, 1.0]))


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
@given(SEEDS)
def test_longest_steps_end_on_the_boundary(seed):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(6, 20)) + np.array([0, 0, 1.5, 0, 0, 0])[:, None]
    start = (G @ np.abs(rng.normal(size=(20, 5)))).T
    direction = rng.normal(size=(5, 6))
    steps = longest_steps(G, start, direction)
    assert (steps >= 0).all()
    finite = np.isfinite(steps)
    reached = start + np.where(finite, steps, 10.0)[:, None] * direction
    assert distances_to_cone(G, reached)[0].max() < 1e-8
    beyond = start[finite] + (steps[finite] * 1.001 + 1e-4)[:, None] * direction[finite]
    if finite.any():
        assert distances_to_cone(G, beyond)[0].min() > 1e-9
