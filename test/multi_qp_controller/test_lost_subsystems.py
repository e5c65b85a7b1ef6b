"""States that are invalid for some subsystems: safe torques there, the QP's solution elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from multi_qp_controller import Controller
from multi_qp_controller.command import Status
from multi_qp_scene import load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.integrator import Integrator

STAND = Path(__file__).parents[2] / "config" / "scenarios" / "stand.yaml"
HOLD = 0.05


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two humanoids that stand 2 m apart."""
    spec = yaml.safe_load(STAND.read_text())
    place = {"surfaces": ["left_sole", "right_sole"], "onto": "ground/floor", "xy": [0, 2.0]}
    spec["subsystems"]["other"] = {"model": "humanoid", "posture": "half_sitting", "place": place}
    feet = {}
    for side in ("left", "right"):
        feet[f"other_{side}_foot"] = {"surfaces": [f"other/{side}_sole", "ground/floor"], "friction": 0.7}
    spec["contacts"] |= feet
    spec["tasks"]["other_posture"] = {"type": "posture", "subsystem": "other", "weight": 1, "stiffness": 10}
    spec["states"]["stand"]["contacts"] += [*feet]
    spec["fallback"] = {"hold": HOLD}
    file = tmp_path_factory.mktemp("two") / "two.yaml"
    file.write_text(yaml.safe_dump(spec, sort_keys=False))
    return load_scenario(file)


def lost(scene, state, names=("other",)):
    """Return the state with a NaN in each subsystem."""
    q, v = state.q.copy(), state.v.copy()
    for name in names:
        q[scene.subsystems[name].q_slice.stop - 1] = np.nan
    return State(q, v)


def motors_of(scene, name):
    own = scene.subsystems[name].v_slice
    return (scene.actuated_v >= own.start) & (scene.actuated_v < own.stop)


def stepped(controller, world, ticks, seen=lambda state: state):
    """Run from tick to tick; `seen` is what the controller sees of a state."""
    for k in ticks:
        command = controller.step(seen(world.state), k * controller.dt)
        controller.post_update()
        world.step(command, controller.dt)


def test_the_other_robot_gets_its_command_as_before(two):
    scene, controller, expected = two.scene, Controller(two), Controller(two)
    mine, other, state = motors_of(scene, "humanoid"), motors_of(scene, "other"), scene.initial_state()
    last = controller.step(state, 0.0)
    expected.step(state, 0.0)
    for k in range(1, 30):
        time = k * controller.dt
        command, whole = controller.step(lost(scene, state), time), expected.step(state, time)
        assert command.diagnostics.status is Status.FALLBACK
        assert "position is not finite (nan); safe torques for other only" in command.diagnostics.message
        np.testing.assert_allclose(command.tau[mine], whole.tau[mine], atol=1e-6)
        held = time - controller.dt < HOLD - 1e-9
        np.testing.assert_array_equal(command.tau[other], last.tau[other] if held else 0.0)  # it is at rest
        own = scene.subsystems["humanoid"].v_slice
        assert np.isfinite(command.a[own]).all() and np.isnan(np.delete(command.a, np.r_[own])).all()
        assert set(command.wrenches) == {"left_foot", "right_foot"}
    back = controller.step(state, 1.0)
    assert back.diagnostics.status is Status.OK and np.isfinite(back.a).all()


def test_it_stands_while_the_other_one_is_lost(two):
    controller, world = Controller(two), Integrator(two)
    stepped(controller, world, range(10))
    stepped(controller, world, range(10, 210), lambda state: lost(two.scene, state))
    heights = [world.state.q[two.scene.subsystems[name].q_slice][2] for name in ("humanoid", "other")]
    assert heights[0] > 0.72 and abs(heights[0] - two.scene.q0[2]) < 0.02
    assert heights[1] < heights[0] - 0.01  # damped joints do not carry it


def test_all_of_the_motors_are_safe_where_no_robot_is_left(two):
    controller, state = Controller(two), two.scene.initial_state()
    controller.step(state, 0.0)
    command = controller.step(lost(two.scene, state, ("humanoid", "other")), 0.005)
    assert np.isnan(command.a).all() and command.wrenches == {}
    assert Controller(two).step(lost(two.scene, state), 0.0).diagnostics.status is Status.FALLBACK  # never seen


def test_connected_robots_are_lost_together(two, tmp_path):
    """A task on the distance of the two torsos depends on both states."""
    spec = yaml.safe_load(two.path.read_text())
    spec["tasks"]["together"] = {
        "type": "pose",
        "frame": "humanoid/torso",
        "relative_to": "other/torso",
        "axes": ["x"],
        "weight": 1.0,
        "target": {"frame": "entry", "position": [0.0, 0.0, 0.0]},
    }
    file = tmp_path / "together.yaml"
    file.write_text(yaml.safe_dump(spec, sort_keys=False))
    scenario = load_scenario(file)
    controller, state = Controller(scenario), scenario.scene.initial_state()
    controller.step(state, 0.0)
    command = controller.step(lost(scenario.scene, state), 0.005)
    assert command.diagnostics.status is Status.FALLBACK and np.isnan(command.a).all()


def test_a_saved_state_continues_with_the_same_commands(two):
    one, state = Controller(two), two.scene.initial_state()
    for k in range(5):
        one.step(state if k < 3 else lost(two.scene, state), k * one.dt)
    same = Controller(two)
    same.set_state(one.get_state())
    for k in range(5, 40):
        seen = lost(two.scene, state) if k < 20 else state
        np.testing.assert_array_equal(same.step(seen, k * one.dt).tau, one.step(seen, k * one.dt).tau)
