"""Tests of label placement without overlaps."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_viewer.browser_labels import HEIGHT, LETTER, View, apart
from multi_qp_viewer.camera import Camera

VIEW = View(Camera(position=(3.0, 0.0, 1.0), target=(0.0, 0.0, 1.0)), 800, 600)


def test_of_labels_at_one_point_the_first_is_shown():
    points = np.array([[0.0, 0.0, 1.0], [0.0, 0.001, 1.0], [0.5, 0.0, 1.0], [0.0, 0.9, 1.0]])
    assert apart(points, ["1.0 cm"] * 4, VIEW).tolist() == [True, False, False, True]


@pytest.mark.parametrize("seed", range(5))
def test_shown_labels_do_not_overlap_and_hidden_ones_would(seed):
    rng = np.random.default_rng(seed)
    points = rng.uniform(-0.4, 0.4, (40, 3)) + [0.0, 0.0, 1.0]
    texts = ["1.0 cm", "11.0 cm"] * 20
    shown = apart(points, texts, VIEW)
    pixels, _ = VIEW.camera.project(points, width=VIEW.width, height=VIEW.height)
    for i in range(40):
        covered = False
        for j in range(i):
            gap = np.abs(pixels[i] - pixels[j])
            overlap = gap[0] < LETTER * len(texts[0]) and gap[1] < HEIGHT - 1
            assert not (shown[i] and shown[j] and overlap)
            covered |= shown[j] and gap[0] < LETTER * 7 + 6.0 and gap[1] < HEIGHT
        assert shown[i] or covered


def test_points_behind_the_camera_have_no_label():
    assert apart(np.array([[4.0, 0.0, 1.0]]), ["here"], VIEW).tolist() == [False]
    assert apart(np.zeros((0, 3)), [], VIEW).tolist() == []
