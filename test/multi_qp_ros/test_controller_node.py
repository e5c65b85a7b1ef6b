"""Controller node on a real graph with robots simulated by the test: commands, faults, recovery."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.msg import Log, Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, SetParameters

from multi_qp_controller import Controller

DT = 0.01
NODE = "multi_qp_controller"
OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
#: Ticks of `fallback.hold`, through which the last good torques are repeated.
HOLD = 5


@pytest.fixture(scope="module")
def process(start, graph):
    return start("multi_qp_ros.nodes.controller_node", scenario="no_such_scenario", dt=DT, lock_step=True)


@pytest.fixture(scope="module")
def configured(process, graph):
    """A wrong scenario is refused with a return to unconfigured, a right one is then taken."""
    assert not graph.transition("configure")
    value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value="box")
    request = SetParameters.Request(parameters=[Parameter(name="scenario", value=value)])
    assert graph.call(SetParameters, f"/{NODE}/set_parameters", request).results[0].successful
    assert graph.transition("configure")
    return process


@pytest.fixture
def robots(configured, graph, fake_robots):
    graph.clear()
    assert graph.transition("activate")
    yield fake_robots
    assert graph.transition("deactivate")


def test_it_starts_from_the_measured_state(robots):
    efforts, state = robots.begin()
    expected = Controller(robots.scenario, dt=DT).step(robots.state, 0.0)
    np.testing.assert_allclose(efforts, expected.tau, rtol=1e-9, atol=1e-9)
    assert state["status"] == "ok"
    assert state["contacts"] == ["left_foot", "right_foot", "box_on_table"]


def test_activation_starts_from_where_the_robots_are(robots):
    """Out of posture by 0.1 rad: the first torques are those that hold it, nearly; then they change smoothly."""
    scene, before = robots.scenario.scene, robots.state.q.copy()
    humanoid, model = scene.subsystems["humanoid"], scene.model
    arms = [name for name in scene.actuated_joint_names if "ELBOW" in name or "WRIST" in name]
    robots.state.q[[model.joints[model.getJointId(name)].idx_q for name in arms]] += 0.1
    try:
        published = np.array([robots.begin()[0], *(robots.ask(tick)[0] for tick in range(1, 20))])
        expected = Controller(robots.scenario, dt=DT).step(robots.state, 0.0)
    finally:
        robots.state.q[:] = before
    np.testing.assert_allclose(published[0], expected.tau[humanoid.actuated], rtol=1e-9, atol=1e-9)
    assert np.abs(expected.a).max() < 5.0  # rad/s²: nothing darts off
    assert (np.abs(np.diff(published, axis=0)) < 0.05 * scene.torque_limits[humanoid.actuated]).all()


def test_both_command_topics_have_the_same_efforts(robots, graph):
    robots.begin()
    efforts, _ = robots.ask(1)
    bare = graph.received["humanoid/effort_controller/commands"]
    graph.until(lambda: any(np.array_equal(message.data, efforts) for message in bare), what="the same numbers")


def test_a_repeated_state_gets_the_same_command(robots):
    first, _ = robots.begin()
    again, _ = robots.ask(0)
    np.testing.assert_array_equal(first, again)


def lose_a_joint(message):
    for field in ("name", "position", "velocity"):
        setattr(message, field, list(getattr(message, field))[1:])


def add_a_nan(message):
    message.velocity[3] = float("nan")


def shorten(message):
    message.position = message.position[:-2]


@pytest.mark.parametrize(
    "fault, published",
    [(lose_a_joint, "lacks"), (add_a_nan, "not finite"), (shorten, "positions")],
    ids=["a joint missing", "NaN", "an array of the wrong length"],
)
def test_a_spoilt_message_is_held_then_damped_and_recovered_from(robots, graph, fault, published):
    good, _ = robots.begin()
    good, _ = robots.ask(1)
    answers = [robots.ask(tick, edit=fault) for tick in range(2, 2 + HOLD + 3)]
    assert {state["status"] for _, state in answers} == {"fallback"}
    np.testing.assert_array_equal(answers[0][0], good)
    np.testing.assert_array_equal(answers[HOLD - 1][0], good)
    assert np.isfinite(answers[-1][0]).all()
    assert np.abs(answers[-1][0]).max() < 1e-6  # it is at rest: nothing to damp
    graph.until(lambda: graph.diagnosed(NODE, published, ERROR), what=published)
    graph.clear()
    _, state = robots.ask(20)
    assert state["status"] == "ok"
    graph.until(lambda: graph.diagnosed(NODE, "in state", OK), what="recovery")


def test_the_cause_of_a_fallback_is_logged_once_on_rosout(robots, graph):
    """An absurd speed gets no torque; the console and /rosout name the joint."""
    received = []
    subscription = graph.node.create_subscription(Log, "/rosout", received.append, 1000)
    joint = 7
    name = robots.joints[joint].name

    def published():
        return [log.msg for log in received if "velocity is 1e+06 rad/s" in log.msg]

    def speed_up(message):
        message.velocity[joint] = 1e6

    robots.begin()
    robots.ask(1)
    answers = [robots.ask(tick, edit=speed_up)[0] for tick in range(2, 2 + HOLD + 10)]
    message = graph.until(published, what="a log line")[0]
    assert f"humanoid/{name} velocity is 1e+06 rad/s, expected at most " in message
    assert answers[-1][robots.scenario.scene.actuated_joint_names.index(f"humanoid/{name}")] == 0.0
    graph.listen(0.2)
    assert len(published()) == 1
    graph.node.destroy_subscription(subscription)


def test_a_lost_topic_gives_a_fallback_once_it_is_too_old(robots, graph):
    robots.begin()
    for tick in range(1, 6):
        robots.send(tick, but=["box/odom"])
        graph.listen(0.02)
    assert all(state["stamp"] == 0 for state in graph.states())  # it waits, whatever of them has come through
    _, state = ask_until_answered(robots, graph, range(6, 1000))
    assert state["status"] == "fallback" and state["stamp"] >= 6 * DT * 1e9
    graph.until(lambda: graph.diagnosed(NODE, "box/odom is", ERROR), what="age")
    tick = round(state["stamp"] * 1e-9 / DT)
    robots.ask(tick + 1)  # answered before the late one is in
    assert robots.ask(tick + 2)[1]["status"] == "ok"


def ask_until_answered(robots, graph, ticks):
    """Say tick after tick without the box, until one is answered: some may get lost on the way."""
    for tick in ticks:
        robots.send(tick, but=["box/odom"])
        graph.listen(0.05)
        if any(state["stamp"] for state in graph.states()):
            break
    return robots.ask(tick, but=["box/odom"])


def test_an_outdated_message_is_passed_over(robots, graph):
    robots.begin()
    robots.ask(5)

    def counted():
        robots.send(3)
        return graph.diagnosed(NODE, "outdated_messages=")

    graph.until(counted, what="a count")
    assert robots.ask(6)[1]["status"] == "ok"


def test_a_target_with_nan_is_refused(robots, graph):
    robots.begin()
    publisher = graph.node.create_publisher(PoseStamped, "box/target/box", 10)
    graph.until(lambda: publisher.get_subscription_count(), what="a subscriber")
    message = PoseStamped()
    message.pose.position.x = float("nan")

    def refused():
        publisher.publish(message)
        return graph.diagnosed(NODE, "target 'box' was refused: it is not finite", WARN)

    graph.until(refused, what="a warning")
    assert robots.ask(1)[1]["status"] == "ok"


def test_deactivation_leaves_no_effort(robots, graph):
    assert np.abs(robots.begin()[0]).max() > 1.0
    graph.clear()
    assert graph.transition("deactivate")
    graph.until(lambda: any(state["status"] == "inactive" for state in graph.states()), what="inactive")
    received = graph.received["humanoid/joint_commands"]
    last = graph.until(lambda: [message for message in received if not any(message.effort)], what="zero efforts")[-1]
    assert len(last.effort) == robots.scenario.scene.na
    robots.send(1)
    graph.listen(0.2)
    assert received[-1] is last
    assert graph.transition("activate")


def test_markers_are_named_and_in_the_world(robots, graph):
    robots.begin()
    markers = graph.until(lambda: graph.received["multi_qp/markers"], what="markers")[-1].markers
    assert {"contact_forces", "friction_cones", "com", "support_polygon"} <= {marker.ns for marker in markers}
    assert {marker.header.frame_id for marker in markers} == {"world"}
    assert len({(marker.ns, marker.id) for marker in markers}) == len(markers)


def test_parameters_are_described_and_cannot_change_while_configured(configured, graph):
    request = DescribeParameters.Request(names=["max_state_age", "solver"])
    age, solver = graph.call(DescribeParameters, f"/{NODE}/describe_parameters", request).descriptors
    assert age.description and (age.integer_range[0].from_value, age.integer_range[0].to_value) == (1, 1000)
    assert "'daqp'" in solver.additional_constraints
    value = ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=7)
    request = SetParameters.Request(parameters=[Parameter(name="max_state_age", value=value)])
    assert not graph.call(SetParameters, f"/{NODE}/set_parameters", request).results[0].successful


def test_impedance_that_is_not_sent_is_announced(start_here, printed, tmp_path, graph):
    """Commands are torques alone; a scenario with joint impedance is run without it, and a warning says so."""
    file = tmp_path / "impedance.yaml"
    text = (Path(__file__).parent / "user.yaml").read_text("utf-8")
    file.write_text(f"{text}\nclosed_loop: {{impedance: {{stiffness: 0, damping: 10}}}}\n", "utf-8")
    node = start_here(
        "multi_qp_ros.nodes.controller_node", namespace="impedance", scenario=str(file), autostart=True, lock_step=True
    )
    graph.until(lambda: "closed_loop.impedance is not sent" in printed(node), what="the warning")
    assert node.poll() is None
