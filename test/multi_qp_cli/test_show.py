"""Tests of `multi-qp show`."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from multi_qp_cli.main import main
from multi_qp_scene import load_scenario
from multi_qp_viewer.surface_marks import surface_overlays


def test_a_picture_with_surfaces_differs_where_they_are(tmp_path, capsys):
    pictures = []
    for name, more in (("plain", []), ("marked", ["--surfaces", "left_palm"])):
        file = tmp_path / f"{name}.png"
        assert main(["show", "humanoid", "--size", "240x180", *more, "--output", str(file)]) == 0
        pictures.append(np.asarray(Image.open(file).convert("RGB")).astype(int))
    changed = np.abs(pictures[0] - pictures[1]).sum(axis=2) > 30
    assert 3 < changed.sum() < 0.1 * changed.size
    printed = capsys.readouterr().out
    assert "left_palm" in printed and "right_palm" not in printed


def test_directions_are_those_of_the_posture(capsys):
    assert main(["show", "humanoid", "--surfaces", "left_sole", "left_palm"]) == 0
    sole, palm = (line.split() for line in capsys.readouterr().out.splitlines()[-2:])
    assert sole[-5:-3] == ["down", "ahead"] and palm[-5:-3] == ["right", "ahead"]


def test_the_place_of_a_ball_is_its_lowest_point(capsys):
    heights = []
    for posture in ("standing", "crouching"):
        assert main(["show", "quadruped", "--surfaces", "left_front_foot", "--posture", posture]) == 0
        heights.append(float(capsys.readouterr().out.splitlines()[-1].split()[-1].rstrip(")")))
    scene = load_scenario("trot").scene  # stands on its feet, without a tilt
    assert heights[0] == pytest.approx(-scene.q0[2], abs=1e-3) and heights[1] > heights[0] + 0.05


def test_marks_are_at_the_surface():
    scene = load_scenario("box").scene
    surface = scene.surfaces["table/top"]
    overlays = surface_overlays(scene.model, scene.q0, [surface])
    face = overlays[0].body.vertices
    assert np.ptp(face, axis=0)[2] < 1e-6
    assert np.ptp(face, axis=0)[:2] == pytest.approx(np.ptp(surface.points, axis=0)[:2], abs=1e-6)
    highest = max(float(overlay.body.vertices[:, 2].max()) for overlay in overlays)
    assert highest == pytest.approx(face[0, 2] + 0.08, abs=1e-3), "z is out of the body"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["humanoit"], "unknown model 'humanoit'; did you mean 'humanoid'?"),
        (["humanoid", "--surfaces", "palm"], "--surfaces: unknown surface 'palm'"),
        (["humanoid", "--posture", "flying"], "--posture: unknown posture 'flying'"),
        (["humanoid", "--output", "x.jpg"], "--output: expected a file ending in .png"),
    ],
)
def test_wrong_arguments_give_one_message(arguments, message, capsys):
    assert main(["show", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
