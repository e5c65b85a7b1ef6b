"""Checks of stamps, frames, names and publishers of the measured state by the controller node, on a real graph."""

from __future__ import annotations

import time

import numpy as np
import pytest
import ros_messages
from conftest import DT, PERIOD
from diagnostic_msgs.msg import DiagnosticStatus
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Log, Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from std_msgs.msg import String
from std_srvs.srv import Trigger

from multi_qp_controller import Controller
from multi_qp_ros import conversions, topics
from multi_qp_ros.qos import COMMAND_QOS, EVENT_QOS, STATE_QOS

NODE = "multi_qp_controller"
OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
HOUR = 3600 * 1_000_000_000
#: Ticks until the box scene's second state.
REACHING = 60


@pytest.fixture(scope="module")
def process(start, graph):
    settings = {"scenario": "box", "dt": DT, "lock_step": True, "marker_rate": 0.0, "descriptions": False}
    process = start("multi_qp_ros.nodes.controller_node", **settings)
    assert graph.transition("configure")
    return process


@pytest.fixture(scope="module")
def console(graph):
    """What was logged, as texts."""
    published: list[str] = []
    graph.node.create_subscription(Log, "/rosout", lambda message: published.append(message.msg), 100)
    return published


@pytest.fixture
def robots(process, graph, console, fake_robots):
    graph.clear()
    console.clear()
    assert graph.transition("activate")
    yield fake_robots
    assert graph.transition("deactivate")


def later(topic: str, by: int):
    """Return an edit that stamps one topic later than the others by so much [ns]."""

    def edit(messages) -> None:
        stamp = conversions.from_stamp(messages[topic].header.stamp) + by
        messages[topic].header.stamp = conversions.to_stamp(stamp)

    return edit


def run(robots, ticks: int) -> dict:
    """Let a run go on for so many ticks, and return the last state of the controller."""
    robots.begin()
    for tick in range(1, ticks + 1):
        _, state = robots.ask(tick)
    return state


def logged(graph, console, text: str) -> None:
    graph.until(lambda: any(text in published for published in console), what=f"a log line with {text!r}")


def test_a_stamp_an_hour_ahead_is_refused_and_the_run_continues(robots, graph, console):
    assert run(robots, REACHING)["state"] == "reach"
    only = [topic for topic in robots.outputs if topic != "humanoid/odom"]
    robots.send(REACHING, but=only, edit_all=later("humanoid/odom", HOUR))
    graph.until(lambda: graph.diagnosed(NODE, "3600.000 s ahead of those of the other topics"), what="a refusal")
    logged(graph, console, "humanoid/odom was refused: its stamp of 3600.600000 s is 3600.000 s ahead")
    for tick in range(REACHING + 1, REACHING + 4):
        _, state = robots.ask(tick)
        assert (state["state"], state["status"]) == ("reach", "ok")


def test_a_first_stamp_that_is_wrong_does_not_keep_the_run_from_its_start(robots, graph):
    graph.until(lambda: all(out.get_subscription_count() for out in robots.outputs.values()), what="the controller")
    only = [topic for topic in robots.outputs if topic != "humanoid/odom"]
    for _ in range(3):
        robots.send(0, but=only, edit_all=later("humanoid/odom", HOUR))
        graph.listen(0.05)
    assert robots.begin()[1]["status"] == "ok"


def test_stamps_that_go_back_are_outdated_until_the_run_is_reset(robots, graph, console):
    assert run(robots, REACHING)["state"] == "reach"
    for _ in range(5):
        robots.send(0)
        graph.listen(0.05)
    assert graph.states()[-1]["stamp"] == REACHING * PERIOD  # no answer, and no new run
    text = f"its stamps went back by 0.600 s; if the robots were restarted, call /{NODE}/reset"
    graph.until(lambda: graph.diagnosed(NODE, text), what="a reason")
    graph.until(lambda: graph.diagnosed(NODE, "outdated_messages="), what="a count")
    logged(graph, console, text)
    assert robots.ask(REACHING + 1)[1]["state"] == "reach"
    robots.send(0)
    graph.listen(0.1)
    answer = graph.call(Trigger, f"/{NODE}/reset", Trigger.Request())
    assert answer.success, answer.message
    efforts, state = robots.ask(0)
    assert state["state"] == "stand"
    expected = Controller(robots.scenario, dt=DT).step(robots.state, 0.0)
    np.testing.assert_allclose(efforts, expected.tau, rtol=1e-9, atol=1e-9)
    graph.until(lambda: graph.diagnosed(NODE, "resets="), what="a count")


def test_a_reset_of_an_inactive_controller_is_refused(process, graph):
    answer = graph.call(Trigger, f"/{NODE}/reset", Trigger.Request())
    assert (answer.success, answer.message) == (False, "not active")


def test_a_time_jump_of_all_topics_is_accepted(robots):
    """As after a pause of the controller: the world has gone on alone."""
    assert run(robots, 5)["status"] == "ok"
    _, state = robots.ask(500)
    assert state["status"] == "ok"


@pytest.mark.parametrize("by", [1_000, -1_000, PERIOD // 3])
def test_stamps_of_one_instant_need_not_be_the_same(robots, by):
    edit, after = later("humanoid/odom", by), max(by, 0)
    robots.begin()
    for tick in range(1, 5):
        _, state = robots.ask(tick, answer=tick * PERIOD + after, edit_all=edit)
        assert state["status"] == "ok"


def test_missing_inputs_are_reported_within_two_seconds(robots, graph, console):
    robots.begin()
    graph.clear()
    robots.send(1, edit_all=later("humanoid/odom", 7 * PERIOD // 10))
    began = time.monotonic()
    text = "waiting for the state of 0.017000 s: humanoid/joint_states of 0.010000 s, box/odom of 0.010000 s"
    graph.until(lambda: graph.diagnosed(NODE, text, ERROR), what="a reason")
    logged(graph, console, text)
    assert time.monotonic() - began < 10.0  # 2 s, on a machine that others use
    assert robots.ask(2)[1]["status"] == "ok"
    graph.until(lambda: graph.diagnosed(NODE, "in state", OK), what="recovery")


def test_a_topic_without_messages_is_named_with_similar_topics(robots, graph, console):
    elsewhere = graph.node.create_publisher(Odometry, "/lab/box/odom", STATE_QOS)
    kept = robots.outputs.pop("box/odom")
    graph.node.destroy_publisher(kept)
    try:
        graph.until(lambda: not graph.node.count_publishers("/box/odom"), what="no publisher")
        text = "; no publisher; /lab/box/odom is in another namespace)"

        def named():
            robots.send(0, but=["box/odom"])
            published = graph.diagnosed(NODE, text, WARN)
            return published and published.message.startswith("waiting for box/odom (")

        graph.until(named, what=text)
        logged(graph, console, text)
    finally:
        robots.outputs["box/odom"] = graph.node.create_publisher(Odometry, topics.odom("box"), COMMAND_QOS)
        graph.node.destroy_publisher(elsewhere)


def test_one_stamp_with_two_states_gets_one_command(robots, graph):
    """A world whose stamps stay at zero must not be driven by the answer to its first state for ever."""
    robots.begin()
    graph.clear()

    def move(messages) -> None:
        messages["box/odom"].pose.pose.position.x += 0.001

    def named():
        robots.send(0, but=["humanoid/odom", "humanoid/joint_states"], edit_all=move)
        return graph.diagnosed(NODE, "box/odom: its stamp stays at 0.000000 s while its data change")

    graph.until(named, what="a reason")
    assert not graph.received["humanoid/joint_commands"]


def name_twice(messages) -> None:
    message = messages["humanoid/joint_states"]
    for field in ("name", "position", "velocity"):
        values = list(getattr(message, field))
        setattr(message, field, [*values, values[0]])


def prefix_names(messages) -> None:
    message = messages["humanoid/joint_states"]
    message.name = [f"lab/{name}" for name in message.name]


@pytest.mark.parametrize(
    ("edit", "published"),
    [(name_twice, "more than once"), (prefix_names, "instead")],
    ids=["a joint twice", "names with a prefix"],
)
def test_wrong_names_give_a_fallback_and_are_reported(robots, graph, console, edit, published):
    run(robots, 1)
    assert robots.ask(2, edit_all=edit)[1]["status"] == "fallback"
    graph.until(lambda: graph.diagnosed(NODE, published, ERROR), what=published)
    logged(graph, console, published)
    assert robots.ask(3)[1]["status"] == "ok"


def test_joints_that_are_unknown_are_ignored_and_named_once(robots, graph, console):
    def add(messages) -> None:
        message = messages["humanoid/joint_states"]
        message.name, message.position = [*message.name, "gripper"], [*message.position, 1.0]
        message.velocity, message.effort = [*message.velocity, 0.0], [1.0]

    run(robots, 1)
    assert robots.ask(2, edit_all=add)[1]["status"] == "ok"
    logged(graph, console, "names joints that the subsystem does not have; they are ignored: 'gripper'")
    logged(graph, console, "efforts; efforts are ignored")


def set_frame(messages) -> None:
    messages["humanoid/odom"].header.frame_id = "map"


def set_child(messages) -> None:
    messages["humanoid/odom"].child_frame_id = "world"


@pytest.mark.parametrize(
    ("edit", "published"),
    [
        (set_frame, "its pose is in the frame 'map', expected 'world'"),
        (set_child, "its twist is in the frame 'world', expected the root link"),
    ],
    ids=["frame_id", "child_frame_id"],
)
def test_odometry_in_another_frame_is_refused(robots, graph, console, edit, published):
    run(robots, 1)
    graph.clear()

    def named():
        robots.send(2, edit_all=edit)
        return graph.diagnosed(NODE, f"humanoid/odom: {published}")

    graph.until(named, what=published)
    logged(graph, console, published)
    assert not any(state["stamp"] == 2 * PERIOD for state in graph.states())
    graph.until(lambda: graph.diagnosed(NODE, "waiting for the state of 0.020000 s: humanoid/odom", ERROR), what="why")
    assert robots.ask(2)[1]["status"] == "ok"


def test_a_command_without_a_transition_is_refused(robots, graph, console):
    robots.begin()
    publisher = graph.node.create_publisher(String, topics.user_command("box"), EVENT_QOS)
    graph.until(publisher.get_subscription_count, what="a subscriber")
    publisher.publish(String(data="nonsense" * 1000))
    graph.until(lambda: graph.diagnosed(NODE, "unknown command 'nonsense", WARN), what="a refusal")
    logged(graph, console, "unknown command 'nonsense")
    assert max(map(len, console)) < 1000


def test_the_clock_cannot_be_changed_while_configured(robots, graph):
    value = ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=True)
    request = SetParameters.Request(parameters=[Parameter(name="use_sim_time", value=value)])
    result = graph.call(SetParameters, f"/{NODE}/set_parameters", request).results[0]
    assert not result.successful and "configured" in result.reason
    assert robots.begin()[1]["status"] == "ok"


def test_two_publishers_that_send_one_state_are_named_and_not_followed(robots, graph, console):
    import rclpy

    other = rclpy.create_node("intruder", context=graph.context)
    publisher = other.create_publisher(Odometry, topics.odom("box"), COMMAND_QOS)
    subsystem = robots.scenario.scene.subsystems["box"]
    wrong = robots.scenario.scene.initial_state()
    wrong.q[subsystem.q_slice][:1] += 1.0
    run(robots, 2)
    tick = iter(range(3, 100_000))

    def listed():
        assert robots.ask(next(tick))[1]["status"] == "ok"
        return graph.diagnosed(NODE, "box/odom has 2 publishers", WARN)

    def excluded():
        k = next(tick)
        publisher.publish(ros_messages.odometry(subsystem, wrong, k * PERIOD - PERIOD // 2))
        return robots.ask(k)[1]["status"] == "fallback"

    try:
        graph.until(listed, what="a warning while the other one is idle")
        graph.until(excluded, what="a fallback")
        graph.until(lambda: excluded() and graph.diagnosed(NODE, "box/odom has 2 publishers", ERROR), what="an error")
        logged(graph, console, "box/odom has 2 publishers")
        assert any("/intruder" in text and "/tester" in text for text in console)
    finally:
        other.destroy_node()
    graph.until(lambda: robots.ask(next(tick))[1]["status"] == "ok", what="recovery")
