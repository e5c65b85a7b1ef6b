"""A scene computed in parts against the same scene computed as one model."""

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.controller import Controller
from multi_qp_controller.dynamics.kinematics import Group, Kinematics
from multi_qp_controller.dynamics.relative_motion import relative_motion
from multi_qp_scene import kinematic_trees as trees
from multi_qp_scene.kinematic_trees import KinematicTrees
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.integrator import Integrator


@pytest.fixture(params=["box", "door"])  # a free body beside a humanoid; a joint of one degree of freedom
def both(request, monkeypatch):
    """Return the scene with its kinematics as one model and in parts, at one state in motion."""
    scene = load_scenario(request.param).scene
    complete = Kinematics(scene)
    monkeypatch.setattr(trees, "LARGEST_PART", 0)
    parts = Kinematics(scene)
    assert len(KinematicTrees(scene.model).parts) == len(scene.subsystems) > 1
    random = np.random.default_rng(3)
    v = random.normal(size=scene.nv)
    state = State(pin.integrate(scene.model, scene.q0, 0.1 * random.normal(size=scene.nv)), v)
    surfaces = [surface.frame_id for surface in scene.surfaces.values()]
    pairs = [(surfaces[-1], surfaces[0]), (surfaces[-1], None)]
    for kinematics in (complete, parts):
        kinematics.watch(pairs)
        kinematics.update(state)
    return scene, complete, parts, pairs


def test_dynamics_of_parts_agree(both):
    scene, complete, parts, _ = both
    for name in ("M", "N"):
        np.testing.assert_allclose(getattr(parts, name), getattr(complete, name), rtol=0, atol=1e-11)
    for name in ("J", "Ag"):
        np.testing.assert_allclose(getattr(parts.data, name), getattr(complete.data, name), rtol=0, atol=1e-11)
    np.testing.assert_allclose(parts.data.com[0], complete.data.com[0], atol=1e-12)
    for frame in range(scene.model.nframes):
        np.testing.assert_allclose(parts.pose(frame).homogeneous, complete.pose(frame).homogeneous, atol=1e-12)


def test_relative_motions_of_parts_agree(both):
    _, complete, parts, pairs = both
    for k, pair in enumerate(pairs):
        expected, found = relative_motion(complete, *pair), relative_motion(parts, *pair)
        for name in ("J", "X_B_A", "twist", "drift"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=0, atol=1e-11)
        if parts.motions is not None:
            np.testing.assert_allclose(parts.motions.J[6 * k : 6 * k + 6], expected.J, rtol=0, atol=1e-11)
    frame = pairs[0][0]
    for found, expected in zip(parts.point_motion(frame), complete.point_motion(frame), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def test_momentum_of_parts_agrees(both):
    scene, complete, parts, _ = both
    for names in (list(scene.subsystems), list(scene.subsystems)[-1:]):
        group = Group.of(scene, names)
        assert group.mass(parts) == pytest.approx(group.mass(complete), abs=1e-12)
        for found, expected in zip(group.momentum(parts), group.momentum(complete), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(parts.centroid(group), complete.centroid(group), rtol=0, atol=1e-11)
    for subsystem in scene.subsystems.values():
        np.testing.assert_allclose(parts.com(subsystem), complete.com(subsystem), atol=1e-12)


def test_a_load_changes_the_part_that_carries_it(monkeypatch):
    scenario = load_scenario("funambulist")
    scene, masses = scenario.scene, []
    complete = Kinematics(scene)
    monkeypatch.setattr(trees, "LARGEST_PART", 0)
    parts = Kinematics(scene)
    name = next(iter(scene.loads.limits))
    for mass in scene.loads.limits[name]:
        scene.loads.set_state(scene.loads.Checkpoint({name: mass}, {}, 0.0))
        for kinematics in (complete, parts):
            kinematics.update(scene.initial_state())
        np.testing.assert_allclose(parts.N, complete.N, rtol=0, atol=1e-10)
        masses.append(parts.data.mass[0])
    low, high = scene.loads.limits[name]
    assert masses[1] - masses[0] == pytest.approx(high - low, abs=1e-9)


def test_the_command_does_not_depend_on_the_partition(monkeypatch):
    answers = []
    for largest in (trees.LARGEST_PART, 0):
        monkeypatch.setattr(trees, "LARGEST_PART", largest)
        scenario = load_scenario("box")
        controller, world = Controller(scenario), Integrator(scenario)
        for tick in range(5):
            command = controller.step(world.state, tick * controller.dt)
            world.step(command, controller.dt)
        answers.append(command)
    complete, parts = answers
    np.testing.assert_allclose(parts.tau, complete.tau, rtol=0, atol=1e-7)
    np.testing.assert_allclose(parts.a, complete.a, rtol=0, atol=1e-7)
