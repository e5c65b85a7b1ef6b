"""Simulator node on a real graph with a controller simulated by the test: commands, faults, timing."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import rclpy
import ros_messages
from diagnostic_msgs.msg import DiagnosticStatus
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from multi_qp_controller import Controller
from multi_qp_ros import conversions, topics
from multi_qp_ros.diagnostics import Level
from multi_qp_ros.nodes.simulator_node import SimulatorNode
from multi_qp_ros.qos import COMMAND_QOS, LATCHED_QOS
from multi_qp_ros.raw_messages import JointReader
from multi_qp_ros.scene_templates import motor_names
from multi_qp_scene import load_scenario
from multi_qp_scene.scene import State

DT = 0.01


@pytest.fixture(scope="module")
def process(start):
    return start("multi_qp_ros.nodes.simulator_node", scenario="box", dt=DT, lock_step=True, speed=0.0, patience=60.0)


@pytest.fixture(scope="module")
def hand(process, graph):
    return Hand(graph)


def test_reliable_subscribers_receive_clock_and_states(process, graph):
    """As rqt_plot or PlotJuggler ask for them; the controller asks for best effort."""
    received: dict[str, list] = {"clock": [], "joints": [], "odom": []}
    make = graph.node.create_subscription
    subscriptions = [
        make(Clock, topics.CLOCK, received["clock"].append, COMMAND_QOS),
        make(JointState, topics.joint_states("humanoid"), received["joints"].append, COMMAND_QOS),
        make(Odometry, topics.odom("box"), received["odom"].append, COMMAND_QOS),
    ]
    graph.until(lambda: all(received.values()), what="clock and states, received reliably")
    for subscription in subscriptions:
        graph.node.destroy_subscription(subscription)


class Hand:
    """Sends zero efforts to the simulator, or those of the test."""

    def __init__(self, graph) -> None:
        self.graph, self.scenario = graph, load_scenario("box")
        scene = self.scenario.scene
        self.motors = motor_names(scene, scene.subsystems["humanoid"])
        make = graph.node.create_publisher
        self.commands = make(JointState, topics.joint_commands("humanoid"), COMMAND_QOS)
        self.state = make(String, topics.CONTROLLER_STATE, LATCHED_QOS)

    @property
    def stamp(self) -> int | None:
        """The stamp of the last state that was received."""
        received = self.graph.received["humanoid/joint_states"]
        return conversions.from_stamp(received[-1].header.stamp) if received else None

    def answer(self, efforts, *, contacts=("left_foot", "right_foot", "box_on_table")) -> None:
        """Answer the present state and wait for the next."""
        stamp = self.graph.until(lambda: self.stamp is not None, what="a state") and self.stamp
        due = 0.0

        def stepped():
            nonlocal due
            if time.monotonic() >= due:  # the simulator may not have met us yet; it takes one answer to each state
                due = time.monotonic() + 0.2
                self.state.publish(String(data=json.dumps({"stamp": stamp, "contacts": list(contacts)})))
                self.commands.publish(ros_messages.joint_command(self.motors, efforts, stamp))
            return self.stamp > stamp

        self.graph.until(stepped, what=f"a state after {stamp}")


def test_no_shared_memory_lock_with_processes_that_may_be_killed(hand, process, graph):
    graph.clear()  # another module's simulator may have spoken
    graph.until(lambda: hand.stamp is not None, what="a state")
    threads = [task.joinpath("comm").read_text() for task in Path(f"/proc/{process.pid}/task").iterdir()]
    assert any("dds.udp" in name for name in threads)
    assert not any("dds.shm" in name for name in threads)


def test_nothing_moves_before_the_first_command(hand, graph):
    graph.clear()
    graph.until(lambda: len(graph.received["humanoid/joint_states"]) > 2, what="states")
    assert hand.stamp == 0


def test_a_command_moves_the_robot_by_the_equation_of_motion(hand, graph):
    scenario = hand.scenario
    controller = Controller(scenario, dt=DT)
    command = controller.step(scenario.scene.initial_state(), 0.0)
    hand.answer(command.tau)
    published = graph.received["humanoid/joint_states"][-1]
    humanoid = scenario.scene.subsystems["humanoid"]
    expected = State(scenario.scene.q0, command.a * DT)  # only its velocities are looked at
    np.testing.assert_allclose(published.velocity, expected.v[humanoid.joint_v_slice], atol=1e-8)


@contextmanager
def simulator(**parameters: object) -> Iterator[SimulatorNode]:
    """Have a node in this process, whose time a test may choose."""
    given = [("-p", f"{name}:={json.dumps(value)}") for name, value in parameters.items()]
    rclpy.init(args=["--ros-args", *itertools.chain(*given)])
    try:
        node = SimulatorNode()
        yield node
        node.destroy_node()
    finally:
        rclpy.shutdown()


def send_efforts(node: SimulatorNode, robot: str, effort: float = 0.0, stamp: int = 0) -> None:
    """Have a node receive the same effort for all motors of a robot."""
    names = motor_names(node._scene, node._scene.subsystems[robot])
    message = ros_messages.joint_command(names, np.full(len(names), effort), stamp)
    node._take_named(robot, JointReader().read(serialize_message(message)))


def test_it_waits_for_the_first_command_without_keeping_a_core_busy(ros_environment):
    """By the wall clock the state is published once a period, without waiting for commands."""
    with simulator(scenario="box", dt=0.5) as node:
        asked = [node.work() for _ in range(3)]
        assert 0.0 < min(asked) and max(asked) <= 0.5


def test_after_a_stall_due_steps_are_simulated_before_queued_commands_are_received(ros_environment, monkeypatch):
    now = 1000.0
    monkeypatch.setattr("multi_qp_ros.nodes.simulator_node.monotonic", lambda: now)
    with simulator(scenario="box", dt=0.01, physics_rate=1000.0) as node:
        simulated_robot = node._simulated_robot
        simulated_robot.command("humanoid", np.zeros(30))
        node.work()
        now += 1e-3
        node.work()
        assert simulated_robot.steps == 2
        now += 0.015
        node.work()
        assert simulated_robot.steps == 17
        now += 2e-3  # that took a while itself
        received = 0
        while simulated_robot.steps == 17:
            received += 1
            node.work()
        assert (
            received > len(simulated_robot.robots) + 1
        )  # a message each time: commands and contacts are there before they act
        assert simulated_robot.steps == 19


def test_a_command_received_after_a_stall_acts_after_the_due_steps(ros_environment, monkeypatch):
    """A message is taken before the node works: 67 ms went by under it in king, on one of three robots."""
    now, driven = 1000.0, []
    monkeypatch.setattr("multi_qp_ros.nodes.simulator_node.monotonic", lambda: now)
    with simulator(scenario="box", dt=0.01, physics_rate=1000.0) as node:
        simulated_robot = node._simulated_robot
        advance = simulated_robot.world.advance
        monkeypatch.setattr(
            simulated_robot.world, "advance", lambda tau, *rest: driven.append(tau[0]) or advance(tau, *rest)
        )
        send_efforts(node, "humanoid", 0.25)
        node.work()
        assert driven == [0.25]
        now += 0.015  # no processor; then a message is the first that it gets to
        send_efforts(node, "humanoid", 0.5)
        assert driven == [0.25] * 16
        now += 1e-3
        while len(driven) == 16:
            node.work()
        assert driven[16:] == [0.5]


def test_commands_that_have_waited_act_together(ros_environment, monkeypatch):
    """Catching up takes time itself, and more was due before the next robot's command: they tore at what both hold."""
    now = 1000.0
    monkeypatch.setattr("multi_qp_ros.nodes.simulator_node.monotonic", lambda: now)
    with simulator(scenario="king") as node:
        simulated_robot = node._simulated_robot
        step = simulated_robot.step

        def slow_step():
            nonlocal now
            now += 1e-3
            return step()

        monkeypatch.setattr(simulated_robot, "step", slow_step)

        for robot in simulated_robot.robots:
            send_efforts(node, robot)
        node.work()
        now += 0.05
        send_efforts(node, "front")
        caught_up = simulated_robot.steps
        assert caught_up > 20
        send_efforts(node, "back")
        node.work()
        send_efforts(node, "king")
        assert simulated_robot.steps == caught_up
        for _ in range(20):
            node.work()
        assert caught_up < simulated_robot.steps < caught_up + 5  # the time that it took has passed by


def test_a_late_command_is_waited_for_in_lock_step(ros_environment, monkeypatch):
    """Lock-step: each command comes 0.3 s after its state; the simulation waits 0.2 s, then both meet again."""
    now = 1000.0
    monkeypatch.setattr("multi_qp_ros.nodes.simulator_node.monotonic", lambda: now)
    with simulator(scenario="box", dt=0.01, lock_step=True, patience=0.2) as node:
        simulated_robot = node._simulated_robot
        waiting: list[tuple[float, int]] = []  # when each state is answered, and its stamp

        def follow() -> int:
            """Go on for a millisecond, and return how many steps have had their answer so far."""
            nonlocal now, followed
            if waiting and waiting[0][0] <= now:
                stamp = waiting.pop(0)[1]
                followed += stamp == node._stamp
                node._take_contacts(String(data=json.dumps({"contacts": simulated_robot.contacts, "stamp": stamp})))
                send_efforts(node, "humanoid", stamp=stamp)
            node.work()
            if not waiting:
                waiting.append((now + 0.3, node._stamp))
            now += 1e-3
            return followed

        followed = 0
        while follow() < 5:
            assert now < 1010.0
        assert not node._alone and simulated_robot.time < 1.0


def test_a_simulator_that_waits_reports_the_missing_command(ros_environment, monkeypatch):
    """A controller that answers with the stamp of another state is named, not waited for in silence."""
    now = 1000.0
    monkeypatch.setattr("multi_qp_ros.nodes.simulator_node.monotonic", lambda: now)
    with simulator(scenario="box", dt=0.01, lock_step=True, patience=60.0) as node:
        contacts = node._simulated_robot.contacts
        node._take_contacts(String(data=json.dumps({"contacts": contacts, "stamp": 0})))
        send_efforts(node, "humanoid")
        node.work()
        send_efforts(node, "humanoid", stamp=5_000_000)
        node.work()
        now += 1.0
        node.work()
        assert node._health.level is Level.WARN
        text = "waits for the answer to the state of 0.010000 s: humanoid/joint_commands (last one for 0.005000 s)"
        assert node._health.message == f"{text}, multi_qp/state"


def test_contacts_change_with_the_efforts_that_were_meant_for_them(ros_environment):
    """The messages come one after the other, in any order, with steps between them; one of the efforts may be lost."""
    with simulator(scenario="king") as node:
        simulated_robot = node._simulated_robot
        before = simulated_robot.contacts

        def send(contacts, stamp: int) -> None:
            node._take_contacts(String(data=json.dumps({"contacts": contacts, "stamp": stamp})))

        send(before[:-1], 5)
        for robot, stamp in (("front", 5), ("back", 4), ("king", 5)):
            send_efforts(node, robot, stamp=stamp)
            assert simulated_robot.contacts == before
        send_efforts(node, "back", stamp=6)
        assert simulated_robot.contacts == before[:-1]
        for robot in simulated_robot.robots:
            send_efforts(node, robot, stamp=7)
        send(before, 7)
        assert simulated_robot.contacts == before


SPOILT = {
    "29 efforts for 30 joints": lambda efforts: efforts[:-1],
    "an effort is not finite": lambda efforts: [float("nan"), *efforts[1:]],
}


def test_it_ends_on_a_signal(process):
    process.terminate()
    assert process.wait(60) == 0


def test_spoilt_bare_efforts_are_not_followed(start, graph):
    """By the wall clock, with what ros2_control takes: a refused array is as good as none."""
    slowly = {"dt": DT, "speed": 0.1}  # without effort it falls
    bare = {"scenario": "box", "command_interface": "effort_controller"}
    process = start("multi_qp_ros.nodes.simulator_node", **bare, **slowly)
    publisher = graph.node.create_publisher(Float64MultiArray, topics.effort_commands("humanoid"), COMMAND_QOS)
    graph.clear()
    motors = load_scenario("box").scene.na
    good = [0.0] * motors

    def send_until(efforts, node, text, level):
        def diagnosed():
            publisher.publish(Float64MultiArray(data=efforts))
            return graph.diagnosed(node, text, level)

        graph.until(diagnosed, what=text)
        graph.clear()

    send_until(good, "simulator", "", DiagnosticStatus.OK)
    for published, spoil in SPOILT.items():
        send_until(spoil(good), "simulator", f"braking (humanoid: {published})", DiagnosticStatus.ERROR)
        send_until(good, "simulator", "", DiagnosticStatus.OK)
    graph.node.destroy_publisher(publisher)
    process.terminate()
    assert process.wait(60) == 0
