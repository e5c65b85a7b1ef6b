"""Every exit from `active` ends with zero efforts, then silence, and diagnostics that report it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rosgraph_msgs.msg import Clock

from multi_qp_ros.node_table import NodeSpec

NODE = "multi_qp_controller"
OK, WARN, ERROR, STALE = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR, DiagnosticStatus.STALE
SETTINGS = {"scenario": "box", "dt": 0.01, "lock_step": True, "autostart": True, "marker_rate": 0.0}
#: Starts a node as `multi-qp ros` does, and publishes its number.
PARENT = """
import os, subprocess, sys
from multi_qp_ros.node_table import environment
process = subprocess.Popen(sys.argv[1:], env={**os.environ, **environment()}, start_new_session=True)
print(process.pid, flush=True)
process.wait()
"""


@pytest.fixture
def active(start_here, graph, fake_robots):
    """An active controller that answers."""
    graph.clear()
    process = start_here("multi_qp_ros.nodes.controller_node", **SETTINGS)
    assert np.abs(fake_robots.begin()[0]).max() > 1.0
    return process


def ends_with_zero_efforts(graph, robots, published, level=STALE):
    """Check that zero efforts were the last command for any message of the robots, and check the diagnostics."""
    received = graph.received["humanoid/joint_commands"]
    graph.until(lambda: received and not any(received[-1].effort), what="zero efforts")
    assert len(received[-1].effort) == robots.scenario.scene.na
    graph.until(lambda: graph.diagnosed(NODE, published, level), what=published)
    count = len(received)
    for tick in range(1000, 1020):
        robots.send(tick)
        graph.listen(0.02)
    assert len(received) == count


@pytest.mark.parametrize("count, number", [(5, signal.SIGINT), (1, signal.SIGHUP)])
def test_a_signal(active, graph, fake_robots, count, number):
    before = graph.node.get_node_names().count(NODE)  # another one that a test has killed may not be forgotten yet
    for _ in range(count):
        active.send_signal(number)
        time.sleep(0.02)
    ends_with_zero_efforts(graph, fake_robots, f"the process ends: {number.name}")
    assert active.wait(10) == 0
    assert graph.node.get_node_names().count(NODE) < before  # it has left the graph itself: no lease has to run out


def test_the_end_of_the_parent(ros_environment, graph, fake_robots):
    graph.clear()
    command = NodeSpec("", "multi_qp_ros.nodes.controller_node", "", SETTINGS).command(log_level="warn")
    parent = subprocess.Popen([sys.executable, "-c", PARENT, *command], env=ros_environment, stdout=subprocess.PIPE)
    node = int(parent.stdout.readline())
    try:
        fake_robots.begin()
        parent.kill()
        ends_with_zero_efforts(graph, fake_robots, "the process ends: SIGTERM")
        graph.until(lambda: not runs(node), 10, "the end of the process")
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
        if runs(node):
            os.kill(node, signal.SIGKILL)


def runs(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # a zombie: without an init process, orphans are not reaped


@pytest.fixture(scope="module")
def switch(tmp_path_factory):
    return tmp_path_factory.mktemp("faulty") / "raise"


@pytest.fixture(scope="module")
def processes():
    return []


@pytest.fixture
def faulty_process(start, graph, switch, processes):
    """Return the process of these tests, a new one if the last one has been shut down, also if a test is run again."""
    if not processes:
        here = Path(__file__).parent
        environment = {"RAISE": str(switch), "PYTHONPATH": f"{here.parents[1]}:{here}"}
        processes.append(start("faulty_node", environment=environment, **{**SETTINGS, "autostart": False}))
    return processes[0]


@pytest.fixture
def faulty(faulty_process, graph, fake_robots, switch, processes):
    """Return a function that lets another one of the active controller raise; see `faulty_node`."""
    graph.clear()
    graph.transition("configure")
    assert graph.transition("activate")
    fake_robots.begin()
    yield switch.write_text
    switch.unlink(missing_ok=True)
    assert faulty_process.poll() is None
    if not graph.transition("deactivate"):  # it is finalized, or a test has deactivated it
        faulty_process.terminate()
        faulty_process.wait(timeout=30.0)
        processes.clear()


@pytest.mark.parametrize("name, doing", [("lock_step_command", "tick"), ("publish_if_due", "work")])
def test_an_exception_of_the_loop(faulty, graph, fake_robots, switch, name, doing):
    faulty(name)
    fake_robots.send(1)
    ends_with_zero_efforts(graph, fake_robots, f"deactivated: {doing} raised RuntimeError: {name} is broken", ERROR)
    switch.unlink()
    assert graph.transition("activate")  # once the cause is gone
    assert np.abs(fake_robots.begin()[0]).max() > 1.0


@pytest.mark.parametrize("name", ["end", "clear"])
def test_an_exception_on_the_way_out(faulty, graph, fake_robots, name):
    faulty(name)
    assert graph.transition("deactivate")
    ends_with_zero_efforts(graph, fake_robots, f"{name} is broken", WARN)


def test_an_exception_in_a_transition_leads_to_unconfigured(faulty, graph, fake_robots, switch):
    assert graph.transition("deactivate")
    faulty("begin")
    assert not graph.transition("activate")
    graph.until(lambda: graph.diagnosed(NODE, "on_activate: RuntimeError: begin is broken"), what="the exception")
    switch.unlink()
    ends_with_zero_efforts(graph, fake_robots, "a transition from 'inactive' failed", ERROR)
    assert graph.transition("configure") and graph.transition("activate")
    assert np.abs(fake_robots.begin()[0]).max() > 1.0


def test_a_failure_after_the_command_does_not_change_it(faulty, graph, fake_robots, switch):
    faulty("observe")
    for tick in range(1, 5):
        assert fake_robots.ask(tick)[1]["status"] == "ok"
    graph.until(lambda: graph.diagnosed(NODE, "observe is broken", WARN), what="the exception")
    switch.unlink()
    assert fake_robots.ask(5)[1]["status"] == "ok"


def test_shutdown(faulty, graph, fake_robots):
    assert graph.transition("active_shutdown")
    ends_with_zero_efforts(graph, fake_robots, "shut down")
    graph.clear()
    graph.until(lambda: graph.diagnosed(NODE, "shut down", STALE), what="diagnostics")  # finalized, and reports so


def test_a_clock_that_is_not_a_time_ends_nothing(start_here, graph, fake_robots):
    graph.clear()
    process = start_here("multi_qp_ros.nodes.controller_node", **SETTINGS, use_sim_time=True)
    fake_robots.begin()
    publisher = graph.node.create_publisher(Clock, "/clock", 10)
    message = Clock()
    message.clock.sec = -5

    def counted():
        publisher.publish(message)
        return graph.diagnosed(NODE, "Seconds value must not be negative")

    try:
        graph.until(counted, what="the exception")
    finally:
        graph.node.destroy_publisher(publisher)
    assert fake_robots.ask(1)[1]["status"] == "ok" and process.poll() is None
