"""A real ROS graph for tests: nodes as separate processes in a domain of their own, ended after each test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import ros_messages

from multi_qp_cli.node_processes import on_this_machine
from multi_qp_ros.node_table import NodeSpec
from multi_qp_ros.qos import COMMAND_QOS, EVENT_QOS, STATE_QOS
from multi_qp_scene import load_scenario

ROOT = Path(__file__).resolve().parents[2]
DT = 0.01
PERIOD = round(DT * 1e9)  # [ns]
HERE = Path(__file__).parent
#: How long to wait for what must come [s]; only a test that fails takes so long, however busy the machine is.
PATIENCE = 300.0
#: Output of the started nodes, shown with failures.
LOGS: dict[subprocess.Popen, Path] = {}
#: Time after which a state without a command is published again [s]: states are best effort.
SAY_AGAIN = 3.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let a test of the graph fail twice before it is believed: others use the machine, and DDS drops what is late.

    pytest's summary names those that were run again.
    """
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=2))


@pytest.fixture(scope="package")
def ros_environment() -> dict[str, str]:
    os.environ.update(on_this_machine())
    return {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def start(ros_environment, tmp_path_factory) -> Iterator:
    """Starts a node of the table; all that still run are ended with the module's tests."""
    with starting(ros_environment, tmp_path_factory) as start_node:
        yield start_node


@pytest.fixture
def start_here(ros_environment, tmp_path_factory) -> Iterator:
    """Starts a node for one test, which is ended with the test even if that fails."""
    with starting(ros_environment, tmp_path_factory) as start_node:
        yield start_node


@pytest.fixture(scope="module")
def printed():
    """Return what a started node has written to standard error so far."""
    return lambda process: LOGS[process].read_text("utf-8")


@contextmanager
def starting(ros_environment, tmp_path_factory) -> Iterator:
    running = []

    def start_node(module: str, environment=None, namespace="", **settings) -> subprocess.Popen:
        spec = NodeSpec("", module, "", settings)
        log = (tmp_path_factory.mktemp("node") / "log.txt").open("wb")
        process = subprocess.Popen(
            spec.command(namespace=namespace, log_level="warn"),
            env={**ros_environment, **(environment or {})},
            cwd=ROOT,
            stderr=log,
            # under nohup the tests ignore SIGHUP, which a node would inherit
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )
        running.append(process)
        LOGS[process] = Path(log.name)
        return process

    try:
        yield start_node
    finally:
        for process in running:
            stop(process)
            del LOGS[process]


@pytest.fixture(scope="module", autouse=True)
def publishers_end_with_their_module() -> Iterator[None]:
    """Destroy the publishers that a module's tests made: they would be second publishers of another module's nodes."""
    before = {graph: set(graph.node.publishers) for graph in Graph.all}
    yield
    for graph in Graph.all:
        for publisher in set(graph.node.publishers) - before.get(graph, graph.own_publishers):
            graph.node.destroy_publisher(publisher)


def stop(process: subprocess.Popen, number: int = signal.SIGTERM) -> int:
    if process.poll() is None:
        process.send_signal(number)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


class Graph:
    """Node of the test, with all received messages by topic."""

    all: ClassVar[list[Graph]] = []

    def __init__(self) -> None:
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.context import Context
        from rclpy.executors import SingleThreadedExecutor
        from rosgraph_msgs.msg import Clock
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray, String
        from visualization_msgs.msg import MarkerArray

        from multi_qp_ros import topics

        self.context = Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node("tester", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.received: dict[str, list] = {}
        for message, topic, qos in (
            (JointState, topics.joint_commands("humanoid"), EVENT_QOS),
            (Float64MultiArray, topics.effort_commands("humanoid"), EVENT_QOS),
            (String, topics.CONTROLLER_STATE, EVENT_QOS),
            (DiagnosticArray, topics.DIAGNOSTICS, EVENT_QOS),
            (Clock, topics.CLOCK, STATE_QOS),
            (JointState, topics.joint_states("humanoid"), STATE_QOS),
            (MarkerArray, topics.MARKERS, EVENT_QOS),
        ):
            self.received[topic] = []
            self.node.create_subscription(message, topic, self.received[topic].append, qos)
        self.own_publishers = set(self.node.publishers)
        Graph.all.append(self)

    def until(self, holds, timeout: float = PATIENCE, what: str = ""):
        """Listen until something holds, and return it."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            found = holds()
            if found:
                return found
            self.executor.spin_once(timeout_sec=0.02)
        published = {(s.name, s.level, s.message) for m in self.received["/diagnostics"] for s in m.status}
        ended = [
            (p.args[2], p.returncode, log.read_text("utf-8")[-500:]) for p, log in LOGS.items() if p.poll() is not None
        ]
        raise AssertionError(f"not within {timeout} s: {what}; diagnosed: {sorted(published)}; ended: {ended}")

    def listen(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.01)

    def clear(self) -> None:
        self.listen(0.15)  # messages in the queues are older
        for messages in self.received.values():
            messages.clear()

    def call(self, kind, service: str, request):
        client = self.node.create_client(kind, service)
        asked: list = []
        due, end = 0.0, time.monotonic() + PATIENCE
        while not any(future.done() for future in asked):
            assert time.monotonic() < end, service
            if time.monotonic() >= due:
                assert client.wait_for_service(PATIENCE), service
                asked.append(client.call_async(request))  # the one that answered before may have died without a word
                due = time.monotonic() + 30.0
            self.executor.spin_once(timeout_sec=0.02)
        self.node.destroy_client(client)
        return next(future for future in asked if future.done()).result()

    def transition(self, name: str) -> bool:
        from lifecycle_msgs.msg import Transition
        from lifecycle_msgs.srv import ChangeState

        number = getattr(Transition, f"TRANSITION_{name.upper()}")
        request = ChangeState.Request(transition=Transition(id=number))
        return self.call(ChangeState, "/multi_qp_controller/change_state", request).success

    def states(self) -> list[dict]:
        return [json.loads(message.data) for message in self.received["multi_qp/state"]]

    def diagnosed(self, node: str, text: str, level: bytes | None = None):
        """Return the first status of a node with a message."""
        for message in self.received["/diagnostics"]:
            for status in message.status:
                published = status.message + " ".join(f"{pair.key}={pair.value}" for pair in status.values)
                if (
                    status.name == f"{node}: status"
                    and status.hardware_id == node
                    and text in published
                    and level in (None, status.level)
                ):
                    return status
        return None

    def close(self) -> None:
        Graph.all.remove(self)
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()


@pytest.fixture(scope="package")
def graph(ros_environment) -> Iterator[Graph]:
    made = Graph()
    yield made
    made.close()


class FakeRobots:
    """The box scene's robots at rest in their initial state, faults to order."""

    def __init__(self, graph: Graph) -> None:
        from nav_msgs.msg import Odometry
        from sensor_msgs.msg import JointState

        from multi_qp_ros import topics
        from multi_qp_ros.state_assembly import joints_of

        self.graph, self.scenario = graph, load_scenario("box")
        scene = self.scenario.scene
        self.joints = joints_of(scene, scene.subsystems["humanoid"])
        make = graph.node.create_publisher
        self.outputs = {
            "humanoid/joint_states": make(JointState, topics.joint_states("humanoid"), COMMAND_QOS),
            "humanoid/odom": make(Odometry, topics.odom("humanoid"), COMMAND_QOS),
            "box/odom": make(Odometry, topics.odom("box"), COMMAND_QOS),
        }
        self.state = scene.initial_state()

    def send(self, tick: int, **faults) -> None:
        """Publish the state of a tick, but for some topics; `edit` may spoil the joint states."""
        self.send_at(tick * PERIOD, **faults)

    def send_at(self, stamp: int, *, but=(), edit=None, edit_all=None) -> None:
        """Publish the state with a stamp [ns]; `edit_all` may spoil all messages, by topic."""
        messages = self.messages(stamp)
        if edit is not None:
            edit(messages["humanoid/joint_states"])
        if edit_all is not None:
            edit_all(messages)
        for topic, message in messages.items():
            if topic not in but:
                self.outputs[topic].publish(message)

    def messages(self, stamp: int) -> dict[str, object]:
        """Return the state with a stamp [ns], by topic."""

        subsystems = self.scenario.scene.subsystems
        return {
            "humanoid/joint_states": ros_messages.joint_state(self.joints, self.state, stamp),
            "humanoid/odom": ros_messages.odometry(subsystems["humanoid"], self.state, stamp),
            "box/odom": ros_messages.odometry(subsystems["box"], self.state, stamp),
        }

    def ask(self, tick: int, *, again=SAY_AGAIN, answer: int | None = None, **faults) -> tuple[np.ndarray, dict]:
        """Publish the state of a tick until it is answered: with efforts and the controller's state.

        `answer`: stamp of the answer [ns], if it is not that of the tick.
        """
        received, stamp = self.graph.received, tick * PERIOD if answer is None else answer
        received["humanoid/joint_commands"].clear()
        received["multi_qp/state"].clear()
        due = 0.0

        def answered():
            nonlocal due
            if time.monotonic() >= due:
                self.send(tick, **faults)
                due = time.monotonic() + again
            efforts = [m.effort for m in received["humanoid/joint_commands"] if nanoseconds(m.header.stamp) == stamp]
            states = [state for state in self.graph.states() if state["stamp"] == stamp]
            return (np.array(efforts[-1]), states[-1]) if efforts and states else None

        return self.graph.until(answered, what=f"an answer to tick {tick}")

    def begin(self) -> tuple[np.ndarray, dict]:
        """Say tick 0 until it is answered, which may take a while: the controller may not have met us yet."""
        return self.ask(0, again=0.1)


@pytest.fixture(scope="module")
def fake_robots(graph) -> FakeRobots:
    return FakeRobots(graph)


def nanoseconds(stamp) -> int:
    return stamp.sec * 1_000_000_000 + stamp.nanosec
