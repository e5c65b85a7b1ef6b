"""Graceful degradation: one infeasible part of the scene leaves the others alone and keeps its own robot standing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from multi_qp_controller.command import Status
from multi_qp_controller.controller import Controller
from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.jit import COMPILED
from multi_qp_scene.scene import State
from multi_qp_simulator.integrator import Integrator
from multi_qp_simulator.run_monitor import RunMonitor

BOX = Path(__file__).parents[2] / "config" / "scenarios" / "box.yaml"
FEET = ["other_left_foot", "other_right_foot"]
#: Friction of the hands on the box: with 0.6 they carry it, with 0.08 it sinks between them until
#: it is near the table.
ENOUGH, TOO_LITTLE = 0.6, 0.08
#: Length of a continued run.
TICKS = 120
COMPILED_ONLY = pytest.mark.skipif(not COMPILED, reason="the solver by subsystems is not used")


def scenario_with(folder: Path, friction: float, fallback: dict | None = None, importance: dict | None = None):
    """Return `box` with a second humanoid, 2 m away, that moves its hand.

    Args:
        folder: folder of the file.
        friction: friction of the hands on the box.
        fallback: keys of `fallback`.
        importance: importance of tasks by name.
    """
    spec = yaml.safe_load(BOX.read_text())
    place = {"surfaces": ["left_sole", "right_sole"], "onto": "ground/floor", "xy": [0, 2.0]}
    spec["subsystems"]["other"] = {"model": "humanoid", "posture": "half_sitting", "place": place}
    for side in ("left", "right"):
        spec["contacts"][f"{side}_hand"]["friction"] = friction
        spec["contacts"][f"other_{side}_foot"] = {"surfaces": [f"other/{side}_sole", "ground/floor"], "friction": 0.7}
    over_feet = {"use": "over_feet", "with": {"who": ["other"]}, "target": {"over_contacts": FEET}}
    path = {"duration": 60, "seed": 1, "position": [0.1, 0.1, 0.1]}
    hand = {"type": "pose", "frame": "other/r_gripper", "axes": ["x", "y", "z"], "target": {"random_path": path}}
    posture = {"type": "posture", "subsystem": "other", "weight": 1, "stiffness": 10}
    spec["tasks"] |= {"other_com": over_feet, "other_posture": posture, "other_hand": hand | {"weight": 100}}
    for state in spec["states"].values():
        state["contacts"] += FEET
        for name, rank in (importance or {}).items():
            if name == "box_path" and name in state.get("tasks", {}):
                state["tasks"][name]["importance"] = rank
            elif name in spec["tasks"]:
                spec["tasks"][name]["importance"] = rank
    spec["fallback"] = fallback or {}
    file = folder / "two.yaml"
    file.write_text(yaml.safe_dump(spec, sort_keys=False))
    return load_scenario(file, parameters={"path.duration": 2})


def carrying(folder: Path):
    """Return the state of the scene and of a controller 0.3 s after the box has been lifted."""
    scenario = scenario_with(folder, ENOUGH)
    controller, world, tick, lifted = Controller(scenario), Integrator(scenario), 0, None
    while lifted is None or tick < lifted + 60:
        command = controller.step(world.state, tick * controller.dt)
        assert command.diagnostics.status is Status.OK
        controller.post_update()
        world.step(command, controller.dt)
        tick += 1
        if lifted is None and command.diagnostics.state == "carry":
            lifted = tick
    return tick, world.state, controller.get_state()


@pytest.fixture(scope="module")
def carried(tmp_path_factory):
    return carrying(tmp_path_factory.mktemp("carried"))


def continued(scenario, carried):
    """Return a controller and a world that continue while the box is carried, and the next tick."""
    tick, state, saved = carried
    controller, world = Controller(scenario), Integrator(scenario)
    controller.set_state(saved)
    world.state = state
    return controller, world, tick


def followed(scenario, carried, ticks: int):
    """Continue for a number of ticks; return the commands, the states, and the report."""
    controller, world, tick = continued(scenario, carried)
    monitor, commands, states = RunMonitor(scenario, controller, backend="integrator"), [], []
    for k in range(tick, tick + ticks):
        commands.append(controller.step(world.state, k * controller.dt))
        states.append(world.state)
        monitor.observe(world.state, commands[-1])
        controller.post_update()
        world.step(commands[-1], controller.dt)
    return commands, states, monitor.report()


@COMPILED_ONLY
def test_missing_friction_leaves_both_robots_standing(tmp_path, carried):
    """The task of the box is given up first; the other robot moves as it does beside a robot that carries."""
    good, poor = scenario_with(tmp_path, ENOUGH), scenario_with(tmp_path, TOO_LITTLE, {"give_up_after": 10})
    commands, states, report = followed(poor, carried, TICKS)
    _, expected, nominal = followed(good, carried, TICKS)
    statuses = [command.diagnostics.status for command in commands]
    assert Status.RELAXED in statuses and Status.FALLBACK not in statuses
    other, humanoid = (poor.scene.subsystems[name] for name in ("other", "humanoid"))
    for one, state in zip(expected, states, strict=True):
        np.testing.assert_allclose(state.q[other.q_slice], one.q[other.q_slice], atol=1e-4)
        assert state.q[humanoid.q_slice][2] > 0.6
    slack = {name for command in commands for name in command.diagnostics.slack}
    assert slack and not any("other" in name for name in slack)
    assert next(iter(report["given_up"])) == "box_path" and "other_hand" not in report["given_up"]
    assert report["given_up"]["box_path"]["ticks"] > 0 and report["qp_failures"] > 0
    assert nominal["given_up"] == {} and nominal["qp_failures"] == 0


@COMPILED_ONLY
def test_the_scenario_states_which_tasks_are_given_up_first(tmp_path, carried):
    scenario = scenario_with(tmp_path, TOO_LITTLE, {"give_up_after": 10}, {"box_path": None, "look_at_box": 0})
    commands, _, report = followed(scenario, carried, 72)
    assert any(command.diagnostics.status is Status.RELAXED for command in commands)
    assert next(iter(report["given_up"])) == "look_at_box" and "box_path" not in report["given_up"]


def test_tasks_are_taken_up_again():
    """A joint is too fast for two ticks; its robot's task returns 0.5 s after the last of them."""
    scenario = load_scenario("box")
    scenario.spec.states["stand"].transitions.clear()
    controller, state = Controller(scenario), scenario.scene.initial_state()
    v = state.v.copy()
    v[scenario.scene.velocity_names.index("humanoid/R_SHOULDER_P")] = -40.0
    for k in range(2):
        assert controller.step(State(state.q, v), k * controller.dt).diagnostics.status is Status.RELAXED
    later = [controller.step(state, k * controller.dt).diagnostics for k in range(2, 110)]
    assert len(later[0].given_up) == 1 and later[0].status is Status.REDUCED
    assert f"task '{later[0].given_up[0]}' is left out: given up" in later[0].message
    assert [one.given_up for one in later].count(later[0].given_up) == 100
    assert later[-1].status is Status.OK and later[-1].given_up == ()


@COMPILED_ONLY
def test_groups_that_are_not_listed_are_never_relaxed(tmp_path, carried):
    scenario = scenario_with(tmp_path, TOO_LITTLE, {"relax": [], "give_up_after": 10})
    commands, _, _ = followed(scenario, carried, 72)
    statuses = {command.diagnostics.status for command in commands}
    assert Status.FALLBACK in statuses and Status.RELAXED not in statuses


def test_a_group_named_twice_is_refused(tmp_path):
    with pytest.raises(MultiQpError, match="limits.*twice"):
        scenario_with(tmp_path, ENOUGH, {"relax": ["limits", "limits"]})


@COMPILED_ONLY
@pytest.mark.parametrize("deadline", [None, 10.0])
def test_contradicting_contacts_of_one_robot_leave_the_other_its_solution(deadline, tmp_path, monkeypatch):
    """Both are followed half way; the other humanoid moves as if nothing had happened."""
    scenario = scenario_with(tmp_path, ENOUGH)
    controller, same = Controller(scenario, deadline=deadline), Controller(scenario)
    state, qp_data = scenario.scene.initial_state(), controller.qp_data
    for one in (controller, same):
        one.step(state, 0.0)
    contacts, update = qp_data.contacts, qp_data.update
    rows = dict(zip(controller.contacts, contacts.row_slices, strict=True))
    left, right = rows["left_foot"], rows["right_foot"]

    def contradict(*arguments):
        update(*arguments)
        contacts.J[right] = contacts.J[left]
        contacts.rhs[right] = contacts.rhs[left] + 1.0

    monkeypatch.setattr(qp_data, "update", contradict)
    command, expected = (one.step(state, one.dt) for one in (controller, same))
    assert command.diagnostics.status is Status.RELAXED
    assert command.diagnostics.message.startswith("contacts of humanoid contradict each other")
    assert {name.rsplit(" ", 2)[0] for name in command.diagnostics.slack} == {"no slip left_foot", "no slip right_foot"}
    assert all(value[0] == pytest.approx(0.5) for value in command.diagnostics.slack.values())
    other = scenario.scene.subsystems["other"]
    np.testing.assert_allclose(command.a[other.v_slice], expected.a[other.v_slice], atol=1e-5)
    np.testing.assert_allclose(command.tau[other.actuated], expected.tau[other.actuated], atol=1e-4)
    missed = contacts.J[left] @ command.a - contacts.rhs[left]
    assert np.abs(missed).max() < 1e-6
