"""Controller and simulator together, as separate processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from multi_qp_ros.recording import Bag, Replay
from multi_qp_ros.recording.replay import same_bits

#: However busy the machine is [s].
PATIENCE = 300.0
SETTINGS = {"scenario": "box", "dt": 0.01, "lock_step": True}


def multi_qp(environment, *arguments):
    command = [sys.executable, "-m", "multi_qp_cli", "ros", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)


def test_box_reaches_its_goals_over_the_graph_and_is_recorded(ros_environment, tmp_path):
    file, bag = tmp_path / "report.json", tmp_path / "run.mcap"
    short = ["--headless", "--dt", "0.02", "--set", "path.duration=2"]
    done = multi_qp(ros_environment, "box", *short, "--report", str(file), "--record", str(bag))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(file.read_text("utf-8"))
    assert report["completed"] and report["qp_failures"] == 0
    assert all(goal["reached"] for goal in report["goals"].values())
    assert report["worst"]["contact_slip_m"] < 1e-4
    check_recording(bag, ticks=report["ticks"])


def test_a_recording_on_a_full_disk_is_reported_and_the_run_continues(ros_environment, tmp_path):
    file, bag = tmp_path / "run.json", tmp_path / "full.mcap"
    bag.symlink_to("/dev/full")
    done = multi_qp(ros_environment, "stand", "--headless", "--report", str(file), "--record", str(bag))
    report = json.loads(file.read_text(encoding="utf-8"))
    assert report["completed"], "the run came to its end"
    assert report["recording"]["failure"] == "No space left on device" and report["recording"]["ticks"] == 0
    assert "has ended, the run goes on: No space left on device" in done.stdout + done.stderr
    assert done.returncode == 2


def check_recording(path, *, ticks):
    """Every tick is in it, and some of them, solved again, give the same bits."""
    with Bag(path) as bag:
        assert bag.complete
        times = [head.time for head in bag.heads()]
        assert len(times) == ticks
        replay = Replay(bag, 0)
        for time_of_tick in times[:: ticks // 8]:
            tick = bag.tick(time_of_tick)
            assert same_bits(tick, replay.step(tick).command)


def test_by_the_wall_clock_it_ends_in_time_and_missed_goals_are_status_1(ros_environment):
    """With all that belongs to it; without the right to a real-time priority there is a warning."""
    options = ["--wall-clock", "--namespace", "lab", "--realtime-priority", "10", "--duration", "0.3"]
    done = multi_qp(ros_environment, "box", *options)
    assert done.returncode == 1, done.stderr
    assert "the duration of 0.3 s is over" in done.stdout


def test_no_node_is_left_behind_when_it_is_ended(ros_environment, tmp_path):
    command = [sys.executable, "-m", "multi_qp_cli", "ros", "box", "--report", str(tmp_path / "report.json")]
    process = subprocess.Popen(command, env=ros_environment, stderr=subprocess.DEVNULL)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    nodes = []
    deadline = time.monotonic() + PATIENCE
    while len(nodes) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
        nodes = [int(pid) for pid in children.read_text("utf-8").split()]
    process.terminate()
    assert process.wait(PATIENCE) == 1
    assert len(nodes) == 2
    assert not [pid for pid in nodes if Path(f"/proc/{pid}").exists()]


def test_a_wrong_scenario_is_status_2(ros_environment):
    done = multi_qp(ros_environment, "bx")
    assert done.returncode == 2
    assert "did you mean 'box'?" in done.stderr


def test_an_unknown_parameter_is_refused(start):
    process = start("multi_qp_ros.nodes.simulator_node", scenaro="box")
    assert process.wait(PATIENCE) == 2


@pytest.mark.parametrize(
    ("given", "variables", "named"),
    [
        (["-p", "x"], {}, "parameter override rule: '-p x'"),
        (["--params-file", "/none.yaml"], {}, "'--params-file /none.yaml'"),
        (["-q"], {}, "unknown ROS arguments ['-q']"),
        (["-p", "use_sim_time:=5"], {}, "parameter 'use_sim_time': expected true or false, got 5"),
        ([], {"ROS_DOMAIN_ID": "a"}, "ROS_DOMAIN_ID is not an integral number"),
        ([], {"ROS_DOMAIN_ID": "5000"}, "ROS_DOMAIN_ID is 5000, expected 0 to 232"),
    ],
)
def test_a_malformed_ros_argument_is_one_message_and_status_2(ros_environment, given, variables, named):
    command = [sys.executable, "-m", "multi_qp_ros.nodes.simulator_node", "--ros-args", *given]
    done = subprocess.run(
        command, env=ros_environment | variables, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 2
    own = [line for line in done.stderr.splitlines() if not line.startswith("[ERROR] [")]  # the latter are rclpy's
    assert len(own) == 1 and own[0].startswith("multi-qp: ") and named in own[0], done.stderr


def test_each_side_continues_when_the_other_ends(start_here, graph):
    """The controller is killed and comes back, then the simulator, whose `/clock` jumps back to 0."""

    def start_controller():
        return start_here("multi_qp_ros.nodes.controller_node", autostart=True, use_sim_time=True, **SETTINGS)

    def start_simulator():
        return start_here("multi_qp_ros.nodes.simulator_node", speed=1.0, patience=0.2, **SETTINGS)

    def well(node):
        graph.received["/diagnostics"].clear()  # what others of that name reported before; each speaks once a second
        graph.until(lambda: graph.diagnosed(node, "", DiagnosticStatus.OK), what=f"{node} is well")

    def at_rest():
        """The world goes on without answers, and its drives bring it to rest."""
        published = graph.received["humanoid/joint_states"]
        return published and np.abs(published[-1].velocity).max() < 1e-3

    def kill(process):
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        graph.clear()

    graph.clear()
    simulator, controller = start_simulator(), start_controller()
    well("multi_qp_controller")
    graph.until(lambda: any(state["status"] == "ok" for state in graph.states()), what="commands")
    well("simulator")  # it has had commands too

    kill(controller)
    graph.until(lambda: graph.diagnosed("simulator", "braking", DiagnosticStatus.ERROR), what="the watchdog")
    graph.until(at_rest, what="robots at rest")
    graph.clear()
    controller = start_controller()
    well("multi_qp_controller")
    well("simulator")

    kill(simulator)
    simulator = start_simulator()
    # not by what is received of /clock: it may have come past the time of before when the first of it is received here
    graph.until(lambda: graph.diagnosed("multi_qp_controller", "time_jumps="), what="a jump of time")
    graph.clear()
    well("simulator")
    well("multi_qp_controller")
    graph.until(lambda: graph.states() and graph.states()[-1]["status"] == "ok", what="good commands")
    for process in (controller, simulator):
        process.terminate()
        assert process.wait(PATIENCE) == 0
