"""Controller and simulator together, as separate processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticStatus

SETTINGS = {"scenario": "box", "dt": 0.01, "lock_step": True}


def multi_qp(environment, *arguments):
    command = [sys.executable, "-m", "multi_qp_cli", "ros", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_box_reaches_its_goals_over_the_graph(ros_environment, tmp_path):
    file = tmp_path / "report.json"
    short = ["--headless", "--dt", "0.01", "--set", "path.duration=2"]
    done = multi_qp(ros_environment, "box", *short, "--report", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(file.read_text("utf-8"))
    assert report["completed"] and report["qp_failures"] == 0
    assert all(goal["reached"] for goal in report["goals"].values())
    assert report["worst"]["contact_slip_m"] < 1e-4


def test_missed_goals_are_status_1(ros_environment):
    done = multi_qp(ros_environment, "box", "--headless", "--duration", "0.1")
    assert done.returncode == 1, done.stderr
    assert "the duration of 0.1 s is over" in done.stdout


def test_no_node_is_left_behind_when_it_is_ended(ros_environment, tmp_path):
    command = [sys.executable, "-m", "multi_qp_cli", "ros", "box", "--report", str(tmp_path / "report.json")]
    process = subprocess.Popen(command, env=ros_environment, stderr=subprocess.DEVNULL)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.parent.exists():
        process.kill()
        pytest.skip("needs /proc")
    nodes = []
    deadline = time.monotonic() + 40.0
    while len(nodes) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
        nodes = [int(pid) for pid in children.read_text("utf-8").split()]
    process.terminate()
    assert process.wait(30) == 1
    assert len(nodes) == 2
    assert not [pid for pid in nodes if Path(f"/proc/{pid}").exists()]


def test_a_wrong_scenario_is_status_2(ros_environment):
    done = multi_qp(ros_environment, "bx")
    assert done.returncode == 2
    assert "did you mean 'box'?" in done.stderr


def test_an_unknown_parameter_is_refused(start):
    process = start("multi_qp_simulator.simulator_node", scenaro="box")
    assert process.wait(30) == 2


def test_each_side_survives_the_death_of_the_other(start, graph):
    """The controller is killed and comes back, then the simulator, whose clock starts at 0 again."""

    def start_controller():
        return start("multi_qp_controller.controller_node", autostart=True, **SETTINGS)

    def start_simulator():
        return start("multi_qp_simulator.simulator_node", speed=1.0, patience=0.2, **SETTINGS)

    def well(node):
        graph.heard["/diagnostics"].clear()  # what others of that name said before; each speaks once a second
        graph.until(lambda: graph.diagnosed(node, "", DiagnosticStatus.OK), 40.0, f"{node} is well")

    def kill(process):
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        graph.forget()

    graph.forget()
    simulator, controller = start_simulator(), start_controller()
    well("multi_qp_controller")
    graph.until(lambda: any(state["status"] == "ok" for state in graph.states()), what="commands")
    well("simulator")  # it has had commands too

    kill(controller)
    graph.until(lambda: graph.diagnosed("simulator", "braking", DiagnosticStatus.ERROR), what="the watchdog")
    graph.forget()
    controller = start_controller()
    well("multi_qp_controller")
    well("simulator")

    kill(simulator)
    simulator = start_simulator()
    graph.until(lambda: graph.diagnosed("multi_qp_controller", "time_jumps=1"), 40.0, "a jump of time")
    graph.forget()
    well("simulator")
    well("multi_qp_controller")
    assert graph.states()[-1]["status"] == "ok"
    for process in (controller, simulator):
        process.terminate()
        assert process.wait(10) == 0
