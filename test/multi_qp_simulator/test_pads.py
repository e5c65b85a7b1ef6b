"""Surfaces against the collision shapes of their links: their fit, and pads in MuJoCo."""

from __future__ import annotations

import math

import numpy as np
import pytest

from multi_qp_cli.main import main
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.surface_fit import surface_fit
from multi_qp_simulator.mujoco_world import MujocoBackend
from multi_qp_simulator.mujoco_world.pads import padded_surfaces
from multi_qp_simulator.runner import run_scenario

BRICK = """\
<robot name="brick"><link name="brick">
  <inertial><mass value="2"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  {collision}
</link></robot>
"""
MODEL = """\
urdf: brick.urdf
surfaces:
  bottom: {{type: planar, link: brick, {outline}, xyz: [0, 0, -0.1], rpy: [3.14159265359, 0, 0]}}
  corner: {{type: point, link: brick, xyz: [0, 0, -0.1], rpy: [3.14159265359, 0, 0]}}
"""
SCENE = """\
description: a brick lies on a table
subsystems:
  brick: {{model: brick.yaml, place: {{surfaces: [bottom], onto: table/top}}}}
environment:
  table: {{box: [1, 1, 0.2]}}
contacts:
  lies: {{surfaces: [brick/{surface}, table/top]{pad}}}
initial_state: lie
states:
  lie: {{contacts: [lies], hold: 0.5}}
"""
BOX = '<collision><origin xyz="0 0 {z}"/><geometry><box size="0.2 0.1 0.2"/></geometry></collision>'
RECTANGLE = "size: [0.2, 0.1]"


@pytest.fixture
def write(tmp_path):
    def make(collision="", *, surface="bottom", pad="", outline=RECTANGLE):
        (tmp_path / "brick.urdf").write_text(BRICK.format(collision=collision))
        (tmp_path / "brick.yaml").write_text(MODEL.format(outline=outline))
        path = tmp_path / "scene.yaml"
        path.write_text(SCENE.format(surface=surface, pad=pad))
        return path

    return make


@pytest.mark.parametrize(("z", "distance"), [(0.0, 0.0), (0.013, 0.013), (-0.02, 0.02)])
def test_fit_is_the_distance_of_the_contact_points_from_the_shapes(write, z, distance):
    scene = load_scenario(write(BOX.format(z=z))).scene
    fit = surface_fit(scene, scene.surfaces["brick/bottom"])
    assert fit.distance == pytest.approx(distance, abs=1e-5) and fit.fits == (z == 0.0)


def test_check_says_it_for_each_surface(write, capsys):
    assert main(["check", str(write(BOX.format(z=0.013)))]) == 0
    assert "surface brick/bottom: 13.0 mm from the collision shapes of its link; in MuJoCo" in capsys.readouterr().out
    assert main(["check", str(write())]) == 0
    assert "surface brick/bottom: its link has no collision shape; in MuJoCo" in capsys.readouterr().out
    assert main(["check", str(write(BOX.format(z=0.0)))]) == 0
    assert capsys.readouterr().out.endswith("surface brick/bottom: 0.0 mm from the collision shapes of its link\n")


@pytest.mark.parametrize("surface", ["bottom", "corner"])
def test_a_surface_that_faces_its_own_body_is_named(write, capsys, surface):
    path = write(BOX.format(z=0.0))
    model = path.with_name("brick.yaml")
    lines = [line.replace(", rpy: [3.14159265359, 0, 0]", "") if surface in line else line
             for line in model.read_text().splitlines()]  # fmt: skip
    model.write_text("\n".join(lines))
    scene = load_scenario(path).scene
    fits = {name: surface_fit(scene, scene.surfaces[f"brick/{name}"]) for name in ("bottom", "corner")}
    assert [name for name, fit in fits.items() if fit.inward] == [surface]
    assert "its z axis points into the collision shapes of its link: expected outward" in str(fits[surface])


def test_all_surfaces_of_the_shipped_robots_fit():
    scene = load_scenario("box").scene
    planar = [surface for surface in scene.surfaces.values() if surface.kind != "grasp"]
    assert len(planar) > 5 and all(surface_fit(scene, surface).fits for surface in planar)
    assert not any(padded_surfaces(load_scenario("box")).values())


@pytest.mark.parametrize("outline", [RECTANGLE, "outline: [[0.1, 0.05], [-0.1, 0.05], [0, -0.08]]"])
def test_a_body_without_shape_rests_on_the_pad_of_its_contact(write, outline):
    scenario = load_scenario(write(outline=outline))
    result = run_scenario(scenario, backend="mujoco")
    assert result.succeeded, result.report["health"]
    fallen = result.log.q[0, 2] - result.log.q[-1, 2]
    assert abs(fallen) < 5e-4
    assert result.log.contact_wrench[-1, 0, 2] == pytest.approx(-2.0 * 9.81, rel=1e-3)


def test_without_pad_it_falls(write):
    result = run_scenario(load_scenario(write(pad=", pad: never")), backend="mujoco")
    assert result.log.q[0, 2] - result.log.q[-1, 2] > 0.5
    assert not result.succeeded and "slipped" in result.report["health"]["problems"][0]


def test_a_pad_replaces_shapes_that_protrude(write):
    result = run_scenario(load_scenario(write(BOX.format(z=-0.02))), backend="mujoco")
    assert abs(result.log.q[0, 2] - result.log.q[-1, 2]) < 5e-4, "held by the pad, not by the shape 20 mm below it"


def test_a_pad_has_the_size_of_the_surface_and_the_friction_of_the_contact(write):
    world = MujocoBackend(load_scenario(write(pad=", pad: always, friction: 0.3"))).world
    pad = world.geom("brick/bottom#pad")
    np.testing.assert_allclose(sorted(pad.size), [0.005, 0.05, 0.1])  # a hull, in its principal axes
    np.testing.assert_allclose(pad.pos, [0.0, 0.0, -0.095], atol=1e-9)
    assert world.npair == 1 and world.pair_friction[0, 0] == pytest.approx(0.3)


@pytest.mark.parametrize(("y", "flat"), [(0.0, True), (0.05, False)])
def test_a_point_within_a_face_does_not_fit_while_one_on_an_edge_does(write, y, flat, capsys):
    path = write(BOX.format(z=0.0), surface="corner")
    model = path.with_name("brick.yaml")
    model.write_text(model.read_text().replace("point, link: brick, xyz: [0, 0,", f"point, link: brick, xyz: [0, {y},"))
    scene = load_scenario(path).scene
    fit = surface_fit(scene, scene.surfaces["brick/corner"])
    assert fit.distance < 1e-5 and fit.flat == flat and fit.fits != flat
    assert main(["check", str(path)]) == 0
    assert ("brick/corner: a point within a face" in capsys.readouterr().out) == flat


def test_a_point_has_a_ball(write):
    scenario = load_scenario(write(surface="corner"))
    world = MujocoBackend(scenario).world
    ball = world.geom("brick/corner#pad")
    assert ball.pos[2] - ball.size[0] == pytest.approx(-0.1)
    fit = surface_fit(scenario.scene, scenario.scene.surfaces["brick/corner"])
    assert math.isinf(fit.distance)
