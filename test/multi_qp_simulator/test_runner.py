"""Runs and their ends: by time, user, timeout or lasting failures; recovery from short failures."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from multi_qp_controller.command import Status
from multi_qp_controller.controller import Controller
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.integrator import Integrator
from multi_qp_simulator.runner import Run, make_backend, run_scenario

NEVER = {"type": "command", "name": "go"}


class Witness:
    """Records every command, and calls a function at one tick."""

    def __init__(self, at: int = -1, call=None) -> None:
        self.commands, self._at, self._call = [], at, call

    def __call__(self, controller, command) -> None:
        if len(self.commands) == self._at:
            self._call()
        self.commands.append(command)

    def statuses(self) -> list[str]:
        return [str(command.diagnostics.status) for command in self.commands]


def nan_between(scenario, start: float, end: float):
    """Return a sensor with NaN for a knee angle in an interval of time."""
    joint = scenario.scene.model.joints[scenario.scene.model.getJointId("humanoid/R_KNEE_P")]

    def sensor(state: State, time: float) -> State:
        if not start - 1e-9 <= time < end - 1e-9:
            return state
        q = state.q.copy()
        q[joint.idx_q] = math.nan
        return State(q, state.v)

    return sensor


def make_run(scenario, **options) -> Run:
    return Run(scenario, Controller(scenario), Integrator(scenario), **options)


def test_a_run_ends_when_its_last_state_has_been_last(standing):
    witness = Witness()
    result = run_scenario(standing, observers=[witness])
    assert result.succeeded and result.report["ended"] == "completed"
    assert result.report["sim_time"] == pytest.approx(0.51)
    assert result.report["ticks"] == len(result.log.time) == len(witness.commands) == 51
    assert result.report["states_visited"] == ["only"]


def test_a_run_ends_when_its_duration_is_over(standing):
    result = run_scenario(standing, duration=0.2)
    assert result.report["ended"] == "the duration of 0.2 s is over"
    assert result.report["sim_time"] == pytest.approx(0.2)
    assert result.report["ticks"] == 20
    assert not result.succeeded and not result.report["completed"]


def test_a_duration_in_the_file_has_precedence(stand):
    result = run_scenario(stand({"only": {"hold": 0.5}}, duration=0.1))
    assert result.report["ended"] == "the duration of 0.1 s is over"


def test_a_state_that_lasts_too_long_ends_the_run(stand):
    scenario = stand({"wait": {"timeout": 0.1, "transitions": [{"to": "end", "when": NEVER}]}, "end": {}})
    result = run_scenario(scenario)
    assert result.report["ended"] == "state 'wait' took longer than its timeout of 0.1 s"
    assert result.report["waited_for"] == "'end' waits for command 'go'"
    assert result.report["sim_time"] == pytest.approx(0.12)
    assert not result.succeeded


def test_a_state_left_in_time_has_not_timed_out(stand):
    after = {"type": "time", "after": 0.05}
    scenario = stand({"wait": {"timeout": 0.1, "transitions": [{"to": "end", "when": after}]}, "end": {"hold": 0.3}})
    result = run_scenario(scenario)
    assert result.succeeded and result.report["states_visited"] == ["wait", "end"]


def test_a_user_stops_a_run(standing):
    witness = Witness()
    run = make_run(standing, observers=[witness])
    witness._at, witness._call = 4, run.stop
    result = run.execute()
    assert result.report["ended"] == "stopped by the user"
    assert result.report["ticks"] == 5 and not result.succeeded
    assert run.result is result


def test_an_interrupted_run_has_a_result(standing):
    witness = Witness()
    run = make_run(standing, observers=[witness])

    def interrupt() -> None:
        raise KeyboardInterrupt

    witness._at, witness._call = 4, interrupt
    with pytest.raises(KeyboardInterrupt):
        run.execute()
    result = run.interrupted()
    assert result.report["ended"] == "stopped by the user"
    assert len(result.log.time) == 4, "ticks that were completed"
    json.dumps(result.report, allow_nan=False)


def test_a_users_command_moves_the_state_machine(stand):
    scenario = stand({"wait": {"transitions": [{"to": "end", "when": NEVER}]}, "end": {}})
    controller = Controller(scenario)
    witness = Witness(3, lambda: controller.command("go"))
    result = Run(scenario, controller, Integrator(scenario), observers=[witness]).execute()
    assert result.succeeded and result.report["states_visited"] == ["wait", "end"]
    assert list(result.log.state[:6]) == ["wait"] * 4 + ["end"]


def wait_for_command(stand, *, stop_after: float, **options):
    """Return the result of an interactive run that waits for a command of the user, who closes it after a while."""
    scenario = stand({"wait": {"transitions": [{"to": "end", "when": NEVER}], "timeout": 0.1}, "end": {}})
    scenario = replace(scenario, spec=scenario.spec.model_copy(update={"duration": 0.2}))
    witness = Witness(round(stop_after / 0.01))
    run = make_run(scenario, observers=[witness], interactive=True, **options)
    witness._call = run.stop
    return run.execute()


def test_a_given_duration_ends_a_phase_that_waits_for_a_user(stand):
    result = wait_for_command(stand, stop_after=0.5, duration=0.3)
    assert result.report["ended"] == "the duration of 0.3 s is over"
    assert result.report["ticks"] == 30


def test_the_times_of_a_file_do_not_end_a_phase_that_waits_for_a_user(stand):
    result = wait_for_command(stand, stop_after=0.5)
    assert result.report["ended"] == "stopped by the user"
    assert result.report["ticks"] == 51


def test_progress_is_reported(standing):
    reported: list[tuple[float, str]] = []
    make_run(standing, duration=0.1).execute(lambda fraction, state: reported.append((fraction, state)))
    fractions = [fraction for fraction, _ in reported]
    assert fractions == sorted(fractions) and 0.0 <= fractions[0] and fractions[-1] <= 1.0
    assert {state for _, state in reported} == {"only"}


def test_options_reach_the_report(standing):
    result = run_scenario(standing, dt=0.02, solver="quadprog", formulation="full", duration=0.1)
    report = result.report
    assert (report["dt"], report["solver"], report["formulation"]) == (0.02, "quadprog", "full")
    assert report["backend"] == "integrator"


def test_an_unknown_backend_is_refused(standing):
    with pytest.raises(MultiQpError, match=r"unknown backend 'nonsense'.*integrator"):
        make_backend("nonsense", standing)


@pytest.mark.parametrize("dt", [0.0, -0.01, math.nan, math.inf])
def test_a_time_step_that_is_none_is_refused(dt, standing):
    with pytest.raises(MultiQpError, match="dt: expected "):
        run_scenario(standing, dt=dt)


def test_a_start_outside_a_joint_limit_recovers(standing):
    scene = standing.scene
    limits, state = scene.limits, scene.initial_state()
    knee = scene.model.joints[scene.model.getJointId("humanoid/R_ELBOW_P")].idx_q
    row = int(np.flatnonzero(limits.q_index == knee)[0])
    q = state.q.copy()
    q[knee] = limits.upper[row] + 0.05
    result = run_scenario(standing, initial_state=replace(state, q=q))
    assert result.succeeded and result.report["qp_failures"] == 0
    assert result.report["worst"]["joint_limit_violation_rad"] == pytest.approx(0.05, abs=1e-6)
    angles = result.log.q[:, knee]
    assert np.all(np.diff(angles[:10]) < 0.0) and angles[-1] <= limits.upper[row]


def test_three_ticks_without_measurement_hold_the_torques_and_the_run_continues(standing):
    witness = Witness()
    result = run_scenario(standing, sensor=nan_between(standing, 0.2, 0.23), observers=[witness])
    report = result.report
    assert witness.statuses() == ["ok"] * 20 + ["fallback"] * 3 + ["ok"] * 28
    for tick in (20, 21, 22):
        np.testing.assert_array_equal(witness.commands[tick].tau, witness.commands[19].tau)
        assert witness.commands[tick].diagnostics.message.startswith("invalid state: humanoid/R_KNEE_P")
        assert np.isnan(witness.commands[tick].a).all(), "no acceleration without a solution"
    assert report["ended"] == "completed" and not result.succeeded
    (problem,) = report["health"]["problems"]
    assert problem.startswith("3 ticks without a QP solution as stated, first at 0.200 s in 'only'")
    assert report["qp_failures"] == 3 and report["relaxed_ticks"] == 0
    assert report["failure"]["time"] == pytest.approx(0.2)
    assert report["failure"]["status"] == "fallback"
    assert "humanoid/R_KNEE_P" in report["failure"]["message"]
    assert np.isfinite(result.log.q).all() and np.isfinite(result.log.a).all()
    assert np.abs(result.log.q - result.log.q[0]).max() < 0.02, "no fall"
    assert report["worst"]["contact_slip_m"] < 1e-3


def test_longer_loss_of_measurement_brakes_the_joints_and_recovers(standing):
    witness = Witness()
    result = run_scenario(standing, sensor=nan_between(standing, 0.2, 0.35), observers=[witness])
    last = witness.commands[19].tau
    blind = witness.commands[20:35]
    assert all(command.diagnostics.status is Status.FALLBACK for command in blind)
    assert all(np.array_equal(command.tau, last) for command in blind[:5]), "for 50 ms"
    assert not any(np.array_equal(command.tau, last) for command in blind[5:])
    assert all(np.all(np.abs(command.tau) <= standing.scene.torque_limits) for command in blind)
    assert witness.commands[35].diagnostics.status is not Status.FALLBACK
    assert result.report["qp_failures"] >= 15


def test_permanent_loss_of_measurement_ends_the_run(standing):
    witness = Witness()
    result = run_scenario(standing, sensor=nan_between(standing, 0.2, math.inf), observers=[witness])
    report = result.report
    assert report["ended"] == "no QP could be solved as stated for 0.2 s"
    assert not result.succeeded and not report["completed"]
    assert report["ticks"] == 40 and report["qp_failures"] == 20
    assert "humanoid/R_KNEE_P" in report["failure"]["message"]
    assert all(np.isfinite(command.tau).all() for command in witness.commands)
    assert np.isfinite(result.log.q).all()
    json.dumps(report, allow_nan=False)


def test_no_measurement_from_the_start_ends_the_run(standing):
    result = run_scenario(standing, sensor=nan_between(standing, 0.0, math.inf))
    assert result.report["ended"] == "no QP could be solved as stated for 0.2 s"
    assert result.report["ticks"] == result.report["qp_failures"] == 20
    assert not result.log.tau.any(), "no last torques to hold, and no braking without a state"
    json.dumps(result.report, allow_nan=False)


def test_a_state_of_the_wrong_size_is_a_failure_and_no_exception(standing):
    result = run_scenario(standing, sensor=lambda state, time: State(state.q[:-1], state.v))
    assert result.report["ended"] == "no QP could be solved as stated for 0.2 s"
    assert result.report["failure"]["message"] == "invalid state: q has the wrong size (43,), expected (44,)"


def test_a_diverging_simulation_ends_the_run(standing):
    scene = standing.scene
    v = np.zeros(scene.nv)
    v[0] = math.nan
    result = run_scenario(standing, initial_state=State(scene.q0, v))
    assert result.report["ended"] == "the state of the world is not finite"
    assert not result.succeeded
    json.dumps(result.report, allow_nan=False)


def test_a_pose_goal_of_a_diverged_simulation_is_null(stand):
    goal = {"type": "pose", "frame": "box/box_link", "target": "initial", "tolerance": 0.1}
    scenario = stand({"only": {}}, goals={"box": goal})
    q = scenario.scene.q0.copy()
    q[scenario.scene.subsystems["box"].q_slice] = math.nan
    report = run_scenario(scenario, initial_state=State(q, np.zeros(scenario.scene.nv))).report
    assert report["goals"]["box"]["value"] == [None, None, None]
    assert report["goals"]["box"]["error"] is None and not report["goals"]["box"]["reached"]
    json.dumps(report, allow_nan=False)


def test_a_box_that_is_too_heavy_ends_the_run_with_an_explanation():
    scenario = load_scenario("box", parameters={"box.mass": 200.0})
    result = run_scenario(scenario, dt=0.02)
    report = result.report
    assert not result.succeeded and not report["completed"]
    assert report["ended"] == "no QP could be solved as stated for 0.2 s"
    assert report["states_visited"][-1] == "lift"
    assert report["sim_time"] < 15.0
    assert report["worst"]["torque_ratio"] <= 1.0
    failure = report["failure"]
    assert failure["state"] == "lift" and failure["status"] in ("relaxed", "fallback")
    assert failure["message"].startswith("the QP has no solution")
    assert failure["time"] == pytest.approx(report["sim_time"] - 0.2)
    assert set(failure["unreconciled"]) >= {"message", "violated", "conflict"}
    rows = failure["relaxed"] + failure["unreconciled"]["violated"]
    assert all(row["slack"] > 0.0 and row["unit"] for row in rows)
    rows = [row["row"] for part in ("violated", "conflict") for row in failure["unreconciled"][part]]
    assert any(row.startswith("dynamics box/root_joint") for row in rows)
    assert any(row.startswith(("torque limit humanoid/", "friction cone ")) for row in rows)
    json.dumps(report, allow_nan=False)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"observers": 5}, "observers: expected a list of functions, got 5"),
        ({"observers": [5]}, "an observer: expected a function of controller and command, got 5"),
        ({"sensor": 5}, "sensor: expected a function of state and time, got 5"),
        ({"duration": "long"}, "duration: expected a number [s], got 'long'"),
        ({"initial_state": 5}, "initial_state: expected a State, got 5"),
        ({"backend": 5}, "unknown backend '5'"),
    ],
)
def test_invalid_arguments_of_a_run_are_refused(standing, wrong, message) -> None:
    with pytest.raises(MultiQpError) as error:
        run_scenario(standing, **wrong)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("which", "message"), [("controller", "controller: expected a Controller"), ("backend", "backend: expected a")]
)
def test_a_run_refuses_wrong_parts(standing, which, message) -> None:
    parts = {"controller": Controller(standing), "backend": Integrator(standing)} | {which: 5}
    with pytest.raises(MultiQpError) as error:
        Run(standing, **parts)
    assert str(error.value).startswith(message)
