"""The second humanoid, the quadruped and the hexapod: physical consistency and standing postures."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller import Controller
from multi_qp_scene import load_scenario
from multi_qp_scene.scene import State

ROOT = Path(__file__).resolve().parents[2]
MIRROR = np.diag([1.0, -1.0, 1.0])
MASS = {"tall_humanoid": 70.0, "quadruped": 42.0, "hexapod": 23.6}
JOINTS = {"tall_humanoid": 30, "quadruped": 12, "hexapod": 18}
FEET = {
    "tall_humanoid": ["left_sole", "right_sole"],
    "quadruped": [f"{side}_{end}_foot" for end in ("front", "hind") for side in ("left", "right")],
    "hexapod": [f"{side}_{leg}_foot" for leg in ("front", "middle", "rear") for side in ("left", "right")],
}
SLOPE = np.radians(25.0)


@pytest.fixture(params=list(MASS))
def robot(request, figure_of):
    return figure_of(request.param)


def shapes_of(robot, link):
    return [s for s in robot.shapes.geometryObjects if robot.model.frames[s.parentFrame].name == link]


def test_size_and_number_of_joints(robot):
    assert pin.computeTotalMass(robot.model) == pytest.approx(MASS[robot.name], abs=0.1)
    assert len(robot.joints) == JOINTS[robot.name]
    assert (robot.model.effortLimit[6:] > 0).all() and np.isfinite(robot.model.effortLimit).all()
    assert (robot.model.lowerPositionLimit[7:] < robot.model.upperPositionLimit[7:]).all()


def test_bodies_are_physical(robot):
    for inertia in robot.model.inertias[1:]:
        moments = np.linalg.eigvalsh(inertia.inertia)
        assert inertia.mass > 0.0 and moments[0] > 1e-6
        assert moments[2] < moments[0] + moments[1]


def test_left_side_mirrors_the_right(robot):
    model = robot.model
    for right in (n for n in robot.joints if n.startswith("R_")):
        r, left = model.getJointId(right), model.getJointId("L_" + right[2:])
        a, b = model.inertias[r], model.inertias[left]
        np.testing.assert_allclose(b.lever, MIRROR @ a.lever, atol=1e-9)
        np.testing.assert_allclose(b.inertia, MIRROR @ a.inertia @ MIRROR, atol=1e-9)
    for posture in robot.file["postures"]:
        q = robot.configuration(posture)
        for name in (n for n in robot.file["surfaces"] if n.startswith("right_")):
            right, left = robot.surface(q, name), robot.surface(q, name.replace("right_", "left_"))
            np.testing.assert_allclose(left.translation, MIRROR @ right.translation, atol=1e-6)
            np.testing.assert_allclose(left.rotation[:, 2], MIRROR @ right.rotation[:, 2], atol=1e-6)


def test_postures_keep_the_limits_and_stand_level(robot):
    for posture in robot.file["postures"]:
        q = robot.configuration(posture)
        assert (q[7:] >= robot.model.lowerPositionLimit[7:]).all(), posture
        assert (q[7:] <= robot.model.upperPositionLimit[7:]).all(), posture
        heights = [robot.surface(q, foot).translation[2] for foot in FEET[robot.name]]
        assert np.ptp(heights) < 1e-5, posture
        com = pin.centerOfMass(robot.model, robot.data, q)
        places = np.array([robot.surface(q, foot).translation for foot in FEET[robot.name]])
        assert abs(com[0] - places[:, 0].mean()) < 0.06, posture


@pytest.mark.parametrize("name", ["quadruped", "hexapod"])
def test_a_foot_touches_with_the_lowest_point_of_its_ball(name, figure_of):
    robot = figure_of(name)
    q = robot.configuration("standing")
    for foot in FEET[name]:
        surface, entry = robot.surface(q, foot), robot.file["surfaces"][foot]
        np.testing.assert_allclose(surface.rotation[:, 2], [0, 0, -1], atol=1e-6)
        ball = next(s for s in shapes_of(robot, entry["link"]) if type(s.geometry).__name__ == "Sphere")
        data = robot.model.createData()
        pin.forwardKinematics(robot.model, data, q)
        centre = (data.oMi[ball.parentJoint] * ball.placement).translation
        np.testing.assert_allclose(centre - surface.translation, [0, 0, ball.geometry.radius], atol=1e-6)


def test_self_collision_pairs_are_not_adjacent_links(robot):
    posture = "half_sitting" if robot.name == "tall_humanoid" else "standing"
    q, shapes = robot.configuration(posture), robot.shapes
    for first, second in robot.file["self_collisions"]:
        assert shapes_of(robot, first) and shapes_of(robot, second), (first, second)
        shapes.removeAllCollisionPairs()
        for a in shapes_of(robot, first):
            for b in shapes_of(robot, second):
                i, j = shapes.getGeometryId(a.name), shapes.getGeometryId(b.name)
                shapes.addCollisionPair(pin.CollisionPair(i, j))
        data = shapes.createData()
        pin.computeDistances(robot.model, robot.data, shapes, data, q)
        assert min(r.min_distance for r in data.distanceResults) > 0.015, (first, second)


def test_meshes_are_light_and_in_known_materials():
    size = 0
    for name in MASS:
        urdf = ET.parse(ROOT / f"urdf/{name}.urdf").getroot()
        named = {m.get("name") for m in urdf.findall("material")}
        assert {v.find("material").get("name") for v in urdf.iter("visual")} <= named
        for mesh in urdf.iter("mesh"):
            size += (ROOT / mesh.get("filename").replace("package://multi_qp_controller/", "")).stat().st_size
    assert size < 1_000_000


SCENARIO = """
description: a robot stands
subsystems:
  robot:
    model: {name}
    posture: {posture}
    place: {{surfaces: [{feet}], onto: ground/floor}}
environment:
  ground: {{model: ground, pose: {{rpy: [0, {tilt}, 0]}}}}
contacts: {{{contacts}}}
collisions: {{self_collisions: [robot]}}
tasks:
  posture: {{type: posture, subsystem: robot, weight: 0.01, stiffness: 5}}
  com:
    type: com
    subsystems: [robot]
    weight: 1000
    stiffness: 20
    target: {{offset: [{ahead}, 0, -0.04], duration: 0.8}}
  level: {{type: pose, frame: robot/base_link, axes: [roll, pitch, yaw], target: {{frame: entry}}, weight: 10}}
initial_state: stand
states:
  stand: {{contacts: [{feet}]}}
"""


@pytest.mark.parametrize(("name", "tilt"), [*((name, 0.0) for name in MASS), ("quadruped", SLOPE), ("hexapod", SLOPE)])
def test_it_stands_and_crouches_on_the_floor_and_on_a_slope(name, tilt, figure_of, tmp_path):
    """On a slope of 25° the point feet need the pyramid's edges in the direction of the slope."""
    robot = figure_of(name)
    feet = ", ".join(FEET[robot.name])
    contacts = ", ".join(
        f"{foot}: {{surfaces: [robot/{foot}, ground/floor], friction: 0.7}}" for foot in FEET[robot.name]
    )
    text = SCENARIO.format(
        name=robot.name,
        posture="half_sitting" if robot.name == "tall_humanoid" else "standing",
        feet=feet,
        contacts=contacts,
        tilt=-tilt,
        ahead=0.12 if tilt else 0.0,
    )
    (tmp_path / "stand.yaml").write_text(text)
    scenario = load_scenario(tmp_path / "stand.yaml")
    controller, scene = Controller(scenario), scenario.scene
    q, v, dt = scene.q0.copy(), np.zeros(scene.nv), scenario.spec.dt
    start = pin.centerOfMass(scene.model, scene.model.createData(), q).copy()
    for tick in range(300):
        command = controller.step(State(q, v), tick * dt)
        assert command.diagnostics.status.name == "OK", command.diagnostics.message
        assert (np.abs(command.tau) <= scene.torque_limits + 1e-6).all()
        v = v + dt * command.a
        q = pin.integrate(scene.model, q, dt * v)
    com = pin.centerOfMass(scene.model, scene.model.createData(), q)
    np.testing.assert_allclose(com - start, [0.12 if tilt else 0.0, 0.0, -0.04], atol=5e-3)
    assert np.abs(v).max() < 0.02
    assert max(contact.slip()[0] for contact in controller.contacts.values()) < 1e-4
    # the feet carry the whole weight, inside the friction pyramids on the ground at any orientation of the legs
    for name, wrench in command.wrenches.items():
        contact = controller.contacts[name]
        assert (contact.F @ wrench[: contact.rows] >= -1e-6 * 9.81 * MASS[robot.name]).all()
    upward = np.zeros(3)
    for name, wrench in command.wrenches.items():
        frame = controller.contacts[name].first.frame_id
        upward += controller.kinematics.pose(frame).rotation @ wrench[:3]
    np.testing.assert_allclose(upward, [0.0, 0.0, 9.81 * MASS[robot.name]], atol=5.0)
