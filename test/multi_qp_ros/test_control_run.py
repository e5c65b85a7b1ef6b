"""Wall-clock runs in simulated time: delays of messages and computations are set by the test.

Nothing here depends on how fast the machine is; the graph itself is tested in test_wall_clock.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_controller.closed_loop.delay_prediction import Predictor
from multi_qp_controller.command import Status
from multi_qp_ros.control_run import ControlRun
from multi_qp_ros.delayed_graph import DelayedGraph, Delays, Stall, about
from multi_qp_scene import load_scenario
from multi_qp_simulator.run_monitor import succeeded


@pytest.mark.slow
def test_a_whole_run_by_the_wall_clock_reaches_its_goals_and_keeps_its_contacts():
    delays = Delays(state=about(0.001), answer=about(0.004), command=about(0.001))
    worlds = DelayedGraph(lambda: load_scenario("box", parameters={"path.duration": 2.0}), dt=0.01, delays=delays)
    report = worlds.go(20.0).run.monitor.report()
    assert succeeded(report), report
    assert set(worlds.statuses) == {Status.OK}
    assert report["worst"]["contact_slip_m"] < 1e-3


@pytest.mark.parametrize("silent", ["states", "answers"])
def test_after_a_pause_the_run_continues_in_its_state(silent):
    """No message for 80 ms: the robot, held and damped meanwhile, is brought back without a jerk."""
    worlds = DelayedGraph(lambda: load_scenario("box"), dt=0.005).go(0.3)
    worlds.stall(Stall(0.08, states=silent == "states", commands=silent == "answers"))
    worlds.go(0.8)
    assert (Status.FALLBACK in worlds.statuses) is (silent == "states")
    assert worlds.statuses[-40:] == [Status.OK] * 40
    assert np.abs(worlds.simulated_robot.world.state.v).max() < 1.0
    assert worlds.run.monitor.report()["worst"]["contact_slip_m"] < 2e-3


def test_with_computation_of_two_periods_every_second_state_gets_a_command():
    """Computation of twice the period: only the rate decreases."""
    delays = Delays(state=about(0.002), answer=about(0.01), command=about(0.002))
    worlds = DelayedGraph(lambda: load_scenario("box"), dt=0.005, delays=delays)
    worlds.go(1.2)
    assert set(worlds.statuses) == {Status.OK}
    assert 80 < len(worlds.statuses) < 160  # of 240 periods
    assert worlds.run.rate_controller.missed > 60
    assert worlds.run.controller.machine.present.name == "reach"
    assert np.abs(worlds.simulated_robot.world.state.v).max() < 1.0
    assert worlds.run.monitor.report()["worst"]["contact_slip_m"] < 1e-3


def test_stalls_of_two_periods_do_not_end_the_run_of_king():
    """Three a second, of 70 ms, at any moment of a step: the drives brake meanwhile, and what follows is not mistaken.

    With drives that waited for five periods they went at 20 rad/s; where a stall counted as what answers usually take,
    the states after it were predicted too far, and all fell.
    """
    answers = 0

    def stalled(rng) -> float:
        nonlocal answers
        answers += 1
        return 0.07 if worlds.now > 0.3 and answers % 5 == 0 else about(0.003)(rng)

    worlds = DelayedGraph(lambda: load_scenario("king"), delays=Delays(answer=stalled))
    worlds.go(3.0)
    assert set(worlds.statuses) == {Status.OK}
    assert worlds.fastest < 4.0
    assert worlds.run.monitor.report()["worst"]["contact_slip_m"] < 1e-3


def test_a_step_continues_after_lost_states():
    """The drives brake, and are not kept from it by answers to states long gone, of which they fell."""
    worlds = DelayedGraph(lambda: load_scenario("king")).go(1.96)
    assert worlds.phase == "step_left"
    worlds.stall(Stall(0.11, states=True))
    worlds.go(2.4)
    assert set(worlds.statuses) == {Status.OK}
    assert worlds.fastest < 3.0
    assert worlds.run.monitor.report()["worst"]["contact_slip_m"] < 1e-3


def test_after_a_stall_the_prediction_includes_the_braking_of_the_drives(monkeypatch):
    """Predicted by the torques of before, which do not act any more, speeds were 0.2 rad/s off."""
    worlds, answered = DelayedGraph(lambda: load_scenario("king")).go(0.9), []
    step = worlds.run.controller.step
    monkeypatch.setattr(worlds.run.controller, "step", lambda state, time: answered.append(state) or step(state, time))
    worlds.stall(Stall(0.16, controller=True))
    worlds.go(0.9 + 0.159)
    assert not answered
    worlds.go(0.9 + 0.164)  # when the answer acts
    np.testing.assert_allclose(answered[0].v, worlds.simulated_robot.world.state.v, atol=0.05)


def test_states_of_two_instants_are_no_new_state_where_they_used_to_come_together():
    delays = Delays(*(lambda rng: 0.0,) * 3)
    worlds = DelayedGraph(lambda: load_scenario("box"), dt=0.005, delays=delays)
    worlds.go(0.05)
    run, state = worlds.run, worlds.simulated_robot.world.state
    stamp, joints = run.assembler.newest, run.assembler.joints["humanoid"]
    period = 5_000_000  # [ns]
    at = run.assembler.measured

    def send(topic: str, later: int) -> None:
        name, _, what = topic.partition("/")
        subsystem = worlds.run.scenario.scene.subsystems[name]
        time = at + later * 0.005
        if what == "odom":
            q, v = state.q[subsystem.q_slice][:7], state.v[subsystem.v_slice][:6]
            run.assembler.put_root(name, stamp + later * period, time, q, v)
        else:
            q, v = [state.q[j.q_index] for j in joints], [state.v[j.v_index] for j in joints]
            run.assembler.put_joints(name, stamp + later * period, time, [j.name for j in joints], q, v)

    run.wall_clock_command(at)
    for topic in run.assembler.topics:
        assert not run.complete
        send(topic, 1)
    assert run.complete
    send(run.assembler.topics[0], 2)  # after a stall the next ones are coming already
    assert run.assembler.fresh and not run.complete
    run.wall_clock_command(at + 0.01)  # after the longest wait the command is computed with the messages at hand
    first, *others = run.assembler.topics
    for topic in others:
        send(topic, 2)
    send(first, 3)
    assert run.assembler.fresh and not run.complete  # or the first would be a period ahead of the rest for ever
    for topic in others:
        send(topic, 3)
    assert run.complete
    for later in range(4, 16, 2):
        run.wall_clock_command(at + 0.005 * later)
        send(first, later)
        for topic in others:
            send(topic, later + 1)
    assert run.complete  # robots of clocks of their own are not waited for


@pytest.mark.parametrize("entry, value", [("q", 1e10), ("q", np.inf), ("v", 1e6), ("v", -np.inf)])
def test_nothing_is_predicted_from_a_state_that_is_invalid(monkeypatch, entry, value):
    worlds = DelayedGraph(lambda: load_scenario("box"), dt=0.005, delays=Delays(*(lambda rng: 0.0,) * 3))
    worlds.go(0.05)
    run, state, predicted = worlds.run, worlds.simulated_robot.world.state, []
    ahead = Predictor.predict

    def watched(self, state, *rest, **more):
        predicted.append(state)
        return ahead(self, state, *rest, **more)

    monkeypatch.setattr(Predictor, "predict", watched)
    stamp, at, joints = run.assembler.newest, run.assembler.measured, run.assembler.joints["humanoid"]
    run.wall_clock_command(at)
    assert len(predicted) == 1
    q, v = ([getattr(state, of)[getattr(joint, f"{of}_index")] for joint in joints] for of in "qv")
    (q if entry == "q" else v)[7] = value
    run.assembler.put_joints("humanoid", stamp + 1, at + 0.005, [joint.name for joint in joints], q, v)
    seen, command, _ = run.wall_clock_command(at + 0.005)
    assert len(predicted) == 1
    assert command.diagnostics.status is Status.FALLBACK
    run.monitor.observe(seen, command)
    worst = run.monitor.report()["worst"]
    assert worst["joint_limit_violation_rad"] < 1e-3 and worst["velocity_ratio"] < 1.0


def test_warm_up_computes_a_valid_command():
    """The kernels of the run monitor are compiled by `warm_up`, not in the loop."""
    seen = []

    class Monitor:
        ended = None

        def observe(self, state, command):
            seen.append(command.diagnostics.status)

    settings = {"period": 0.005, "closed_loop": False, "solver": "", "formulation": "", "interactive": False}
    # a deadline that no tick keeps
    settings |= {"lock_step": False, "use_sim_time": False, "max_state_age": 1e-3, "compensate_delay": True}
    run = ControlRun(load_scenario("box"), settings, lambda scenario, controller: Monitor())
    run.warm_up()
    assert seen == [Status.OK]
    assert run.make_controller(run.scenario).step(run.scenario.scene.initial_state(), 0.0).diagnostics.status is (
        Status.FALLBACK
    )
