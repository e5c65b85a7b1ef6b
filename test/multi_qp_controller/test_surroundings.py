"""Subsystems that are not controlled: not in the QP, seen by generators."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
import yaml

from multi_qp_controller.command import Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.take_snapshot import take_snapshot
from multi_qp_scene import load_scenario
from multi_qp_scene.resources import scenario_path
from multi_qp_scene.scene import State

OTHERS = {
    "lever": {"model": "lever", "controlled": False, "pose": {"xyz": [1, 0, 0], "rpy": [0, 0, 1]}},
    "box": {"model": "box", "controlled": False, "pose": {"xyz": [1, 2, 3]}},
}


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory):
    """Return `stand` with two more subsystems that are not controlled, and alone."""
    data = yaml.safe_load(scenario_path("stand").read_text())
    path = tmp_path_factory.mktemp("surrounded") / "stand.yaml"
    path.write_text(yaml.safe_dump({**data, "subsystems": {**OTHERS, **data["subsystems"]}}, sort_keys=False))
    return load_scenario(path), load_scenario("stand")


@pytest.fixture
def state(scenarios):
    scene, random = scenarios[0].scene, np.random.default_rng(1)
    step = np.concatenate([np.zeros(36), random.uniform(-0.5, 0.5, scene.nv - 36)])
    return State(pin.integrate(scene.model, scene.q0, step), 0.02 * random.uniform(-1, 1, scene.nv))


def test_commands_are_those_without_them(scenarios, state):
    surrounded, alone = Controller(scenarios[0]), Controller(scenarios[1])
    for tick in range(3):
        one = surrounded.step(state, 0.005 * tick)
        other = alone.step(State(state.q[:37], state.v[:36]), 0.005 * tick)
        np.testing.assert_array_equal(one.tau, other.tau)
        assert one.diagnostics.status is Status.OK
        assert one.diagnostics.variables == other.diagnostics.variables


def test_places_and_velocities(scenarios, state):
    controller, scene = Controller(scenarios[0]), scenarios[0].scene
    controller.step(state, 0.0)
    seen, step = controller.surroundings, 1e-7
    for link in ("lever/ball", "box/box_link"):
        frame = scene.frame_id(link)
        before, later = (seen_at(scene, frame, state, s) for s in (-step, step))
        offset = np.array([0.1, 0.2, 0.3])
        point = seen.pose(frame).act(offset)
        velocity = (later.act(offset) - before.act(offset)) / (2 * step)
        np.testing.assert_allclose(seen.velocity(frame, point), velocity, atol=1e-6)
        np.testing.assert_allclose(seen.points(np.array([frame]), offset[None])[0], point, atol=1e-12)


def seen_at(scene, frame, state, step):
    """Return the pose of a frame a time later, by pinocchio."""
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, pin.integrate(scene.model, state.q, step * state.v))
    return data.oMf[frame].copy()


def test_what_is_lost_of_them_does_not_disturb_the_controlled(scenarios, state):
    controller, scene = Controller(scenarios[0]), scenarios[0].scene
    controller.step(state, 0.0)
    lever, box = scene.subsystems["lever"], scene.subsystems["box"]
    q = state.q.copy()
    q[lever.q_slice] = np.nan
    command = controller.step(State(q, state.v), 0.005)
    assert command.diagnostics.status is Status.OK
    np.testing.assert_array_equal(controller.surroundings.q[lever.q_slice], scene.q0[lever.q_slice])
    np.testing.assert_array_equal(controller.surroundings.q[box.q_slice], state.q[box.q_slice])
    q[:37] = np.nan
    assert controller.step(State(q, state.v), 0.01).diagnostics.status is Status.FALLBACK


def test_snapshots_show_them(scenarios, state):
    controller = Controller(scenarios[0])
    snapshot = take_snapshot(controller, controller.step(state, 0.0))
    np.testing.assert_array_equal(snapshot.q[37:], state.q[37:])


def test_a_copy_of_the_controller_returns_the_same(scenarios, state):
    controller = Controller(scenarios[0])
    controller.step(state, 0.0)
    kept = controller.get_state()
    expected = controller.step(state, 0.005).tau
    other = Controller(scenarios[0])
    other.set_state(kept)
    np.testing.assert_array_equal(other.step(state, 0.005).tau, expected)
