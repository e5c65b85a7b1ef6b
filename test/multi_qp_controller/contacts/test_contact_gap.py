"""Gap at which contacts are made: starts are refused, transitions wait."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_cli.main import main
from multi_qp_controller.contacts.alignment_kernel import POINT, alignment_gap
from multi_qp_controller.contacts.contact_gap import check_start, contact_gap
from multi_qp_controller.state_machine.transition_context import TransitionContext
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.runner import run_scenario

#: A standing humanoid; its feet are `height` above the floor at the start.
STANDING = """\
description: a humanoid stands
duration: 3
subsystems:
  humanoid: {{model: humanoid, posture: half_sitting, place: {{surfaces: [left_sole, right_sole], onto: low/top}}}}
environment:
  ground: {{model: ground}}
  low: {{box: [2, 2, 0.1], pose: {{xyz: [0, 0, {floor}]}}}}
contacts:
  left_foot: {{surfaces: [humanoid/left_sole, {under}]}}
  right_foot: {{surfaces: [humanoid/right_sole, {under}]}}
  hand: {{surfaces: [humanoid/right_palm, {under}]}}
tasks:
  posture: {{type: posture, subsystem: humanoid}}
  balance:
    type: com
    subsystems: [humanoid]
    axes: [x, y]
    target: {{over_contacts: [left_foot, right_foot]}}
    weight: 100
initial_state: stand
states:
  stand:
    contacts: [left_foot, right_foot]
    timeout: 0.3
    transitions:
      - {{to: lean, when: {{type: time, after: 0.1}}}}
  lean: {{contacts: [left_foot, right_foot{added}], hold: 0.1}}
"""


@pytest.fixture
def write(tmp_path):
    def make(*, gap=0.0, added="", more=""):
        # the feet are placed on the upper box, and their contacts are with the ground below it
        on_ground = STANDING.format(floor=-0.05 + gap, under="ground/floor", added=added)
        path = tmp_path / "scene.yaml"
        path.write_text(on_ground + more)
        return path

    return make


def test_a_start_in_the_air_is_refused_by_check_and_run(write, capsys):
    path = write(gap=0.19)
    for command in (["check", str(path)], ["run", str(path), "--headless"]):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert "'left_foot' (humanoid/left_sole on ground/floor) is 190 mm and 0° apart" in said
        assert "`contact_tolerance` (5 mm, 2°)" in said and said.count("\n") == 1


def test_a_small_gap_is_accepted_and_reported(write):
    report = run_scenario(load_scenario(write(gap=0.004))).report
    assert report["completed"]
    assert [(made["contact"], made["state"], made["time"]) for made in report["contacts_made"]] == [
        ("left_foot", "stand", 0.0),
        ("right_foot", "stand", 0.0),
    ]
    for made in report["contacts_made"]:
        assert made["gap_m"] == pytest.approx(0.004, abs=1e-9) and made["angle_rad"] == pytest.approx(0.0, abs=1e-6)


def test_the_tolerance_is_a_key_of_the_scenario_and_of_the_contact(write):
    with pytest.raises(MultiQpError, match="are open at the start"):
        check_start(load_scenario(write(gap=0.004, more="contact_tolerance: {distance: 0.003}\n")))
    check_start(load_scenario(write(gap=0.02, more="contact_tolerance: {distance: 0.03}\n")))
    path = write(gap=0.02)
    path.write_text(path.read_text().replace("ground/floor]", "ground/floor], tolerance: {distance: 0.03}"))
    check_start(load_scenario(path))


def test_a_transition_waits_for_its_contact_and_times_out_by_name(write):
    report = run_scenario(load_scenario(write(added=", hand"))).report
    assert not report["completed"] and report["states_visited"] == ["stand"]
    assert report["ended"] == "state 'stand' took longer than its timeout of 0.3 s"
    assert report["waited_for"].startswith("'lean' waits for contact 'hand' to close (")
    assert "mm and" in report["waited_for"]


def test_gap_of_planar_surfaces_counts_the_distance_beside_the_second():
    scene = load_scenario("box").scene
    palm, side = scene.surfaces["humanoid/left_palm"], scene.surfaces["table/top"]
    facing = np.diag([1.0, -1.0, -1.0])
    half = np.max(side.points[:, 0])
    assert contact_gap(palm, side, pin.SE3(facing, np.zeros(3))).distance == pytest.approx(0.0, abs=1e-12)
    assert contact_gap(palm, side, pin.SE3(facing, np.array([0.0, 0.0, 0.03]))).distance == pytest.approx(0.03)
    beside = contact_gap(palm, side, pin.SE3(facing, np.array([half + 0.04, 0.0, 0.03])))
    assert beside.distance == pytest.approx(0.05) and beside.angle == pytest.approx(0.0, abs=1e-6)
    turned = pin.SE3(facing @ pin.rpy.rpyToMatrix(0.1, 0.0, 0.0), np.zeros(3))
    assert contact_gap(palm, side, turned).angle == pytest.approx(0.1)
    assert contact_gap(palm, side, pin.SE3.Identity()).angle == pytest.approx(np.pi)


BALL = """\
<robot name="ball"><link name="ball">
  <inertial><mass value="2"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0 0 0.1"/><geometry><sphere radius="{radius}"/></geometry></collision>
</link></robot>
"""
BALL_MODEL = """\
urdf: ball.urdf
surfaces:
  lowest: {type: point, link: ball, xyz: [0, 0, 0.05], rpy: [3.14159265359, 0, 0]}
"""
BALL_SCENE = """\
description: a ball lies on a table, tilted
subsystems:
  ball: {{model: ball.yaml, pose: {{xyz: [0, 0, {z}], rpy: [0.8, 0, 0]}}}}
environment:
  table: {{box: [1, 1, 0.2], pose: {{xyz: [0, 0, -0.1]}}}}
contacts:
  lies: {{surfaces: [ball/lowest, table/top]}}
initial_state: lie
states:
  lie: {{contacts: [lies], hold: 0.5}}
"""


@pytest.fixture
def ball_scene(tmp_path):
    def make(height, radius=0.05):
        """Return a scene with a tilted ball whose middle is at a height [m]."""
        (tmp_path / "ball.urdf").write_text(BALL.format(radius=radius))
        (tmp_path / "ball.yaml").write_text(BALL_MODEL)
        path = tmp_path / "scene.yaml"
        path.write_text(BALL_SCENE.format(z=height - 0.1 * np.cos(0.8)))
        return load_scenario(path)

    return make


@pytest.mark.parametrize(
    ("height", "gap"),
    [(0.06, 0.01), (0.05, 0.0), (0.04, 0.0), (0.05 * np.cos(0.8), 0.0), (0.02, 0.05 * np.cos(0.8) - 0.02)],
)
def test_a_tilted_ball_touches_beside_its_point(ball_scene, lab, height, gap):
    """A ball closes a contact while the surface is between its declared point and its lowest one."""
    scenario = ball_scene(height)
    scene, (first, second) = scenario.scene, scenario.spec.contacts["lies"].surfaces
    first, second = scene.surfaces[first], scene.surfaces[second]
    np.testing.assert_allclose(first.ball.centre, [0.0, 0.0, -0.05], atol=1e-9)
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    X = data.oMf[second.frame_id].actInv(data.oMf[first.frame_id])
    assert contact_gap(first, second, X).distance == pytest.approx(gap, abs=1e-9)
    kinematics = lab.kinematics(scene, State(scene.q0, np.zeros(scene.nv)))
    fixed = [part for s in (first, second) for part in kinematics.fixed_frame(s.frame_id)[:2]]
    views, edges = kinematics.views, np.zeros((0, 3))
    found = alignment_gap(*fixed, views.poses, views.twists, POINT, first.ball.centre, first.ball.radius, edges)
    assert found[0] == pytest.approx(gap, abs=1e-9)


def test_a_point_beside_the_sphere_of_its_link_lies_on_no_ball(ball_scene):
    assert ball_scene(0.05, radius=0.03).scene.surfaces["ball/lowest"].ball.radius == 0.0


def test_a_tilted_ball_rests_in_mujoco(ball_scene):
    """At its declared point the gap would be 15 mm: the start would be refused."""
    assert run_scenario(ball_scene(0.05), backend="mujoco").report["completed"]


def test_gap_of_a_grasp_is_between_the_axes():
    scene = load_scenario("door").scene
    hand, handle = (scene.surfaces[name] for name in load_scenario("door").spec.contacts["grasp"].surfaces)
    offset = pin.SE3(pin.rpy.rpyToMatrix(0.7, 0.0, 0.2), np.array([0.02, 0.003, 0.004]))
    gap = contact_gap(hand, handle, offset)
    assert gap.distance == pytest.approx(0.005) and gap.angle == pytest.approx(0.2)


@pytest.mark.parametrize("name", ["box", "door", "acrobats"])
def test_the_gap_that_a_transition_waits_for_is_that_of_the_report(name, lab):
    """The kernel of the tick and `contact_gap` agree at a random state, where all contacts are open."""
    scenario = load_scenario(name)
    kinematics = lab.kinematics(scenario.scene, lab.random_state(scenario.scene, 4))
    now = TransitionContext(scenario, kinematics, {}, 0.0, 0.0, frozenset())
    found = now.open_contacts(scenario.spec.contacts)
    for contact, gap in found.items():
        first, second = now.surfaces_of(contact)
        X = kinematics.pose(second.frame_id).actInv(kinematics.pose(first.frame_id))
        expected = contact_gap(first, second, X)
        assert gap.distance == pytest.approx(expected.distance, abs=1e-9), contact
        assert gap.angle == pytest.approx(expected.angle, abs=1e-6), contact
    assert found.keys() == set(scenario.spec.contacts)
