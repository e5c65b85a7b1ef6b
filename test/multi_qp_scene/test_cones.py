"""Facets of wrench cones describe the same set as the rays."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from multi_qp_scene.cones import facets_of
from multi_qp_scene.surfaces import Surface, grasp_points, planar_points, single_point


def rays(points, normals, friction=0.6, rows=6):
    surface = Surface("s/a", "planar", "s/l", 0, 0, None, points, normals)
    return surface.rays(friction)[:rows]


PLANAR = rays(*planar_points((0.2, 0.1)))
POINT = rays(*single_point(), rows=3)


@pytest.mark.parametrize(("W", "count"), [(PLANAR, 32), (POINT, 4)])
def test_every_generator_satisfies_every_facet_and_touches_some(W, count):
    F = facets_of(W)
    assert len(F) == count
    heights = F @ W
    assert heights.min() > -1e-9
    assert (np.abs(heights) < 1e-9).any(axis=0).all()


@pytest.mark.parametrize("W", [PLANAR, POINT])
def test_a_wrench_is_inside_the_facets_if_and_only_if_it_can_be_generated(W):
    F, random = facets_of(W), np.random.default_rng(3)
    inside = 0
    for _ in range(400):
        w = W @ random.exponential(1.0, W.shape[1]) + 0.5 * random.normal(size=len(W))
        margin = (F @ w).min()
        if abs(margin) < 1e-6:
            continue
        assert (nnls(W, w)[1] < 1e-8) == (margin > 0.0)
        inside += margin > 0.0
    assert 20 < inside < 380


def test_an_enclosing_grasp_can_push_in_every_direction():
    W = rays(*grasp_points(0.02, 0.08, encloses=True), friction=0.8)
    assert facets_of(W).shape == (0, 6)
    for w in np.random.default_rng(0).normal(size=(20, 6)):
        assert nnls(W, w)[1] < 1e-9


def test_generators_in_a_plane_are_refused():
    with pytest.raises(ValueError, match="do not span the space"):
        facets_of(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
