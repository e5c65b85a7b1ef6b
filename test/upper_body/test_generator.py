"""The motion generator `antagonistic` in the scene `hold`."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_controller import Controller
from multi_qp_scene import ConfigError, load_scenario
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import scenario_path
from multi_qp_simulator.integrator import Integrator
from multi_qp_simulator.runner import run_scenario

DT = 0.005


def edited(tmp_path, *changes):
    """Return a copy of the scene with replaced text."""
    text = scenario_path("hold").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "hold.yaml"
    path.write_text(text)
    return path


def advance(controller, world, ticks, first=0):
    for tick in range(first, first + ticks):
        command = controller.step(world.state, tick * DT)
        assert command.diagnostics.status.name == "OK"
        world.step(command, DT)
    return command


def test_torques_are_those_of_springs_and_dampers_at_the_end_of_the_period():
    scenario = load_scenario("hold")
    controller, world = Controller(scenario), Integrator(scenario)
    advance(controller, world, 60)
    command = controller.step(world.state, 60 * DT)
    joints, kinematics = controller.generator("arms").limbs.joints, controller.kinematics
    n = len(joints.v_index)
    numbers = controller.tasks["arms/limbs"].given
    angles, rates, torque, damping = numbers[: 4 * n].reshape(4, n)
    stiffness = numbers[4 * n :].reshape(n, n)
    np.testing.assert_allclose(angles, kinematics.q[joints.q_index])
    speed = kinematics.v[joints.v_index]
    later = speed + DT * command.a[joints.v_index]
    wanted = kinematics.N[joints.v_index] + torque - stiffness @ (DT * later) + damping * (rates - later)
    motors = [scenario.scene.actuated_v.tolist().index(k) for k in joints.v_index]
    np.testing.assert_allclose(command.tau[motors], wanted, atol=0.01)


def test_a_checkpoint_resumes_the_same_torques():
    scenario = load_scenario("hold")
    controller, world = Controller(scenario), Integrator(scenario)
    advance(controller, world, 40)
    other = Controller(scenario)
    other.set_state(controller.get_state())
    first, second = controller.step(world.state, 40 * DT), other.step(world.state, 40 * DT)
    np.testing.assert_array_equal(first.tau, second.tau)


def deflection(scenario):
    """Run in MuJoCo; return the elbow's distance from its target under the whole load and after it [deg]."""
    result = run_scenario(scenario, backend="mujoco")
    assert result.succeeded
    model = scenario.scene.model
    elbow = model.joints[model.getJointId("humanoid/L_ELBOW_P")].idx_q
    goal = scenario.scene.subsystems["humanoid"].postures["ready"][
        elbow - scenario.scene.subsystems["humanoid"].q_slice.start
    ]
    error = np.degrees(np.abs(result.log.q[:, elbow] - goal))
    return [float(error[np.argmin(np.abs(result.log.time - t))]) for t in (5.9, 7.9)]


def test_tension_holds_what_a_relaxed_arm_does_not():
    """[Alvarado2022] Fig. 10: the tension is adapted to the load, or it is not."""
    adapted, after = deflection(load_scenario("hold"))
    constant, constant_after = deflection(load_scenario("hold", parameters={"heavy": 0.2}))
    assert constant > 3.0 * adapted > 0.5
    assert after < 0.1 and constant_after < 0.1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('joints: ["*SHOULDER*", "*ELBOW*", "*WRIST*"]', "joints: [ELBOW]", "ELBOW"),
        ("posture: ready", "posture: asleep", "asleep"),
        ("R_ELBOW_P: 0}", "R_ELBO: 0}", "R_ELBO"),
        ("posture: ready", "posture: ready\n        stiffness: [2, 1]", "stiffness"),
    ],
)
def test_unknown_names_are_reported(tmp_path, old, new, message):
    with pytest.raises(ConfigError, match=message):
        load_scenario(edited(tmp_path, (old, new)))


def test_legs_that_stand_cannot_be_held_so(tmp_path):
    path = edited(tmp_path, ('joints: ["*SHOULDER*", "*ELBOW*", "*WRIST*"]', 'joints: ["*KNEE*"]'))
    with pytest.raises(MultiQpError, match="carries the contact"):
        Controller(load_scenario(path))
