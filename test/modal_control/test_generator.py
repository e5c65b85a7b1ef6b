"""The motion generator `modal` in the scene `squat`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller import Controller
from multi_qp_scene import ConfigError, load_scenario
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.resources import find_resource, scenario_path
from multi_qp_scene.schema.mismatch import PushSpec
from multi_qp_simulator.integrator import Integrator
from multi_qp_simulator.runner import run_scenario

DT = 0.005


@pytest.fixture(scope="module")
def motion():
    return ReferenceMotion.load(find_resource("config/motions/squat.npz"))


def centre_errors(scenario, motion, times, configurations):
    """Return the distance of the centre of mass from that of the motion, (n,) [m]."""
    model, data = scenario.scene.model, scenario.scene.model.createData()
    wanted = np.array([pin.centerOfMass(model, data, q).copy() for q in motion.q])
    return np.array(
        [
            np.linalg.norm(pin.centerOfMass(model, data, q) - [np.interp(t, motion.times, x) for x in wanted.T])
            for t, q in zip(times, configurations, strict=True)
        ]
    )


def started():
    """Return scenario, controller and world of the squat."""
    scenario = load_scenario("squat")
    return scenario, Controller(scenario), Integrator(scenario)


def test_the_beginning_of_the_squat_is_followed(motion):
    scenario, controller, world = started()
    configurations = []
    for tick in range(100):
        configurations.append(world.state.q.copy())
        command = controller.step(world.state, tick * DT)
        assert command.diagnostics.status.name == "OK"
        world.step(command, DT)
    errors = centre_errors(scenario, motion, DT * np.arange(100), configurations)
    assert errors.max() < 0.01


def test_a_bar_that_the_motion_was_recorded_without_is_carried_in_mujoco(motion):
    scenario = load_scenario("squat", parameters={"bar.mass": 30.0})
    result = run_scenario(scenario, backend="mujoco")
    assert result.succeeded and result.report["qp_failures"] == 0
    height = np.interp(result.log.time, motion.times, motion.q[:, 2])
    assert np.ptp(height) > 0.2 and np.abs(result.log.q[:, 2] - height).max() < 0.01


def test_a_checkpoint_resumes_the_same_motion():
    scenario, controller, world = started()
    for tick in range(20):
        world.step(controller.step(world.state, tick * DT), DT)
    other = Controller(scenario)
    other.set_state(controller.get_state())
    first, second = (each.step(world.state, 20 * DT) for each in (controller, other))
    np.testing.assert_array_equal(first.tau, second.tau)


def edited(tmp_path, motion, **changes):
    """Write the scene with changed lines, and its motion; return its file."""
    text = scenario_path("squat").read_text().replace("../motions/squat.npz", "squat.npz")
    for old, new in changes.pop("lines", {}).items():
        assert old in text
        text = text.replace(old, new)
    arrays = {name: changes.get(name, getattr(motion, name)) for name in motion.__dataclass_fields__}
    ReferenceMotion(**arrays).save(tmp_path / "squat.npz")
    (tmp_path / "scene.yaml").write_text(text)
    return tmp_path / "scene.yaml"


@pytest.mark.parametrize(
    ("cycle", "message"),
    [
        ("{start: 1.0, end: 9.0, count: 2}", "expected increasing times up to"),
        ("{start: 0.0, end: 1.5, count: 2}", "cycle: joint '.*' differs by"),
    ],
)
def test_cycles_that_do_not_close_are_refused(tmp_path, motion, cycle, message):
    lines = {"motion: squat.npz": f"motion: squat.npz\n        cycle: {cycle}"}
    with pytest.raises(MultiQpError, match=message):
        Controller(load_scenario(edited(tmp_path, motion, lines=lines)))


def test_contacts_must_be_those_of_the_motion(tmp_path, motion):
    lines = {"contacts: {left_sole: left_foot, right_sole: right_foot}": "contacts: {left_sole: left_foot}"}
    with pytest.raises(MultiQpError, match="`contacts` names left_sole; planted in the motion: left_sole, right_sole"):
        Controller(load_scenario(edited(tmp_path, motion, lines=lines)))


@pytest.mark.parametrize(
    ("rise", "message"),
    [
        (-0.05, r"'squat.npz' the surface of 'left_foot' is 5 cm below 'ground/floor' at .* s"),
        (0.08, r"surface of 'left_foot' is 8 cm above 'ground/floor' at .* s, where it is planted"),
    ],
)
def test_motions_through_or_above_the_ground_are_refused(tmp_path, motion, rise, message):
    q = motion.q.copy()
    q[:, 2] += rise
    with pytest.raises(MultiQpError, match=message):
        Controller(load_scenario(edited(tmp_path, motion, q=q)))


def test_a_motion_of_another_robot_is_refused(tmp_path, motion):
    joints = ("FIN", *motion.joints[1:])
    with pytest.raises(ConfigError, match="a motion of 'humanoid': 'humanoid' has no joint 'FIN'"):
        load_scenario(edited(tmp_path, motion, joints=joints))


@pytest.mark.parametrize(
    "line, message",
    [
        ({"{left_sole: left_foot": "{left_paw: left_foot"}, "unknown surface 'left_paw'"),
        ({"motion: squat.npz": "motion: none.npz"}, r"generators.squat.motion: .*none.npz.*No such file"),
        ({"motion: squat.npz": "motion: squat.npz\n        window: 0"}, "generators.squat.window"),
    ],
)
def test_errors_name_the_key(tmp_path, motion, line, message):
    with pytest.raises(ConfigError, match=message):
        load_scenario(edited(tmp_path, motion, lines=line))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["integrator", "mujoco"])
def test_the_squat_is_followed(motion, backend):
    scenario = load_scenario("squat")
    result = run_scenario(scenario, backend=backend)
    assert result.succeeded and result.report["qp_failures"] == 0
    errors = centre_errors(scenario, motion, result.log.time, result.log.q)
    assert np.sqrt(np.mean(errors**2)) < 0.003


def pushed(force, direction, backend, **parameters):
    """Return the run of the squat with a push of 20 steps at its bottom."""
    scenario = load_scenario("squat", parameters=parameters)
    push = PushSpec(link="humanoid/torso", direction=direction, force=force, duration=1.0 / 6.0, at=1.8)
    mismatch = scenario.spec.mismatch.model_copy(update={"pushes": [push]})
    return run_scenario(
        replace(scenario, spec=scenario.spec.model_copy(update={"mismatch": mismatch})), backend=backend
    )


SIDES = [(1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0)]


@pytest.mark.slow
@pytest.mark.parametrize("direction", SIDES)
def test_planted_feet_hold_90_newtons(motion, direction):
    scenario = load_scenario("squat")
    result = pushed(90.0, direction, "mujoco", **{"step.margin": -1.0})
    assert result.succeeded and result.report["qp_failures"] == 0
    errors = centre_errors(scenario, motion, result.log.time, result.log.q)
    assert errors.max() > 0.02 and errors[-1] < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("direction", SIDES)
@pytest.mark.parametrize("backend", ["integrator", "mujoco"])
def test_it_steps_after_150_newtons_and_squats_again(backend, direction):
    result = pushed(150.0, direction, backend)
    assert result.succeeded and result.report["qp_failures"] == 0
    states = result.log.state
    assert list(dict.fromkeys(states.tolist())) == ["squat", "step", "stand"]
    again = result.log.q[(states == "squat") & (result.log.time > 3.0)]
    assert np.ptp(again[:, 2]) > 0.2
    assert abs(again[-1, :2] - result.log.q[0, :2]).max() > 0.1  # elsewhere
