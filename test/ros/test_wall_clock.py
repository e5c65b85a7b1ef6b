"""By the wall clock, on a real graph: whole runs, late and lost states, a slow solver, a QP without solution."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticStatus

from multi_qp_controller import Controller

DT = 0.02
NODE = "multi_qp_controller"
OK, ERROR = DiagnosticStatus.OK, DiagnosticStatus.ERROR


class Talking:
    """The fake robots say their state every period, by a thread of its own, until told otherwise."""

    def __init__(self, robots) -> None:
        self.robots, self.silent = robots, False
        self.jammed_since: int | None = None
        self._on = True
        self._thread = threading.Thread(target=self._talk)
        self._thread.start()

    def _talk(self) -> None:
        due = time.monotonic()
        while self._on:
            if not self.silent:
                self.robots.say_at(self._stamp())
            due = max(due + DT, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))

    def _stamp(self) -> int:
        """Return the time [ns]; while the way is jammed, messages take longer and longer, up to 8 periods."""
        now, since = time.time_ns(), self.jammed_since
        return now if since is None else now - min(round(8 * DT * 1e9), (now - since) // 2)

    def stop(self) -> None:
        self._on = False
        self._thread.join()


@pytest.fixture(scope="module")
def slow(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("slow") / "now"


@pytest.fixture(scope="module")
def running(start, graph, fake_robots, slow):
    settings = {"scenario": "box", "dt": DT, "autostart": True, "marker_rate": 0.0}
    here = Path(__file__).parent
    environment = {"SLOW_WHILE": str(slow), "PYTHONPATH": f"{here.parents[1]}:{here}"}
    start("slow_solver_node", environment=environment, **settings)
    graph.until(lambda: graph.diagnosed(NODE, "waiting for"), 40.0, "the controller")
    talking = Talking(fake_robots)
    yield talking
    talking.stop()


@pytest.fixture
def talking(running, graph):
    """Robots that are well, and a controller that says so."""
    graph.until(lambda: graph.states() and graph.states()[-1]["status"] == "ok", what="a good command")
    graph.forget()
    yield running
    running.silent, running.jammed_since = False, None
    graph.until(lambda: graph.states() and graph.states()[-1]["status"] == "ok", what="recovery")


def efforts(graph) -> list[np.ndarray]:
    return [np.array(message.effort) for message in graph.heard["humanoid/joint_commands"]]


def damped(graph):
    """Return whether the last command damps robots at rest: no effort at all."""
    told = efforts(graph)
    return bool(told) and np.abs(told[-1]).max() < 1e-3


def test_states_are_answered_as_they_come(talking, graph):
    """A timer of its own would answer many twice; here only those that come more than half a period late may be."""
    graph.listen(1.0)
    stamps = [state["stamp"] for state in graph.states()]
    assert len(stamps) > 15 and len(set(stamps)) > 0.7 * len(stamps)


def test_states_that_stop_are_held_then_damped(talking, graph):
    talking.silent = True
    graph.until(lambda: graph.states() and graph.states()[-1]["status"] == "fallback", what="a fallback")
    graph.until(lambda: damped(graph), what="damping")
    graph.until(lambda: graph.diagnosed(NODE, "ms old", ERROR), what="age")
    graph.forget()
    talking.silent = False
    graph.until(lambda: graph.diagnosed(NODE, "in state", OK), what="recovery")


def test_states_that_come_late_are_as_good_as_none(talking, graph):
    talking.jammed_since = time.time_ns()
    graph.until(lambda: graph.diagnosed(NODE, "ms old", ERROR), what="age")
    graph.until(lambda: graph.states()[-1]["status"] == "fallback", what="a fallback")


def test_a_solver_that_takes_too_long_is_not_followed(talking, graph, slow):
    slow.touch()
    graph.until(lambda: graph.diagnosed(NODE, "longer than its deadline", ERROR), what="a deadline that is missed")
    graph.until(lambda: damped(graph), what="damping")
    assert np.isfinite(np.concatenate(efforts(graph))).all()
    slow.unlink()
    graph.forget()
    graph.until(lambda: graph.diagnosed(NODE, "in state", OK), what="recovery")


def test_a_qp_without_solution_falls_back(talking, graph):
    """The feet fly off: no torque can stop them within a period."""
    robots = talking.robots
    humanoid = robots.scenario.scene.subsystems["humanoid"]
    limits = robots.scenario.scene.torque_limits[humanoid.actuated]
    still = robots.state.v.copy()
    robots.state.v[humanoid.v_slice.start + 2] = 50.0
    try:
        graph.until(lambda: graph.diagnosed(NODE, "the QP has no solution", ERROR), what="infeasibility")
        graph.until(lambda: graph.states()[-1]["status"] == "fallback", what="a fallback")
        graph.listen(0.3)
        assert all((np.abs(effort) <= limits + 1e-9).all() for effort in efforts(graph))
    finally:
        robots.state.v[:] = still


def test_activation_starts_from_where_the_robots_are(talking, graph):
    """Out of posture by up to 0.1 rad: the first torques are those that hold it, nearly; then they change smoothly."""
    robots, joints = talking.robots, slice(None)
    scene = robots.scenario.scene
    humanoid = scene.subsystems["humanoid"]
    arms = [k for k, name in enumerate(scene.actuated_joint_names) if "ELBOW" in name or "WRIST" in name]
    before = robots.state.q.copy()
    q_index = [scene.model.joints[scene.model.getJointId(scene.actuated_joint_names[k])].idx_q for k in arms]
    robots.state.q[q_index] += 0.1
    try:
        assert graph.transition("deactivate")
        graph.forget()
        assert graph.transition("activate")
        graph.until(lambda: len(efforts(graph)) > 20, what="commands")
        told = np.array(efforts(graph)[joints])
        expected = Controller(robots.scenario, dt=DT).step(robots.state, 0.0)
        np.testing.assert_allclose(told[0], expected.tau[humanoid.actuated], atol=1e-6)
        assert np.abs(expected.a).max() < 5.0  # rad/s²: nothing darts off
        limits = scene.torque_limits[humanoid.actuated]
        assert (np.abs(np.diff(told, axis=0)) < 0.05 * limits).all()
    finally:
        robots.state.q[:] = before


def test_a_whole_run_by_the_wall_clock_keeps_its_contacts(ros_environment, tmp_path):
    file = tmp_path / "report.json"
    command = [sys.executable, "-m", "multi_qp_cli", "ros", "box", "--wall-clock", "--namespace", "lab"]
    command += ["--realtime-priority", "10"]  # without the right to it: a warning
    command += ["--set", "path.duration=2", "--report", str(file)]
    environment = {**ros_environment, "ROS_DOMAIN_ID": str(101 - int(ros_environment["ROS_DOMAIN_ID"]) % 50)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    report = json.loads(file.read_text("utf-8"))
    if report["qp_failures"] > 5:
        pytest.skip(f"this machine is too busy for real time: {report['qp_failures']} ticks came too late")
    assert done.returncode == 0, done.stdout + done.stderr
    assert report["worst"]["contact_slip_m"] < 2e-3
