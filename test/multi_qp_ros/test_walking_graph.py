"""Velocity commands, odometry and measured contact forces of a walking robot."""

from __future__ import annotations

import signal
from time import monotonic, sleep

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Twist, TwistStamped, WrenchStamped
from nav_msgs.msg import Odometry

from multi_qp_ros import conversions, topics
from multi_qp_ros.contact_forces import ContactForces, measured_contacts
from multi_qp_ros.delayed_graph import DelayedGraph, Stall
from multi_qp_ros.node_table import PATIENT_CONTROLLER, node_table
from multi_qp_ros.qos import EVENT_QOS, STATE_QOS
from multi_qp_ros.velocity_commands import read_command
from multi_qp_scene import load_scenario

NODE = "multi_qp_controller"


@pytest.fixture(scope="module")
def walker(start, graph):
    """A humanoid in MuJoCo that walks as it is commanded: its odometry, and the forces of its feet."""
    for node in node_table("walk", backend="mujoco", speed=0.0, walks=True, controller={"marker_rate": 0.0}):
        start(node.module, **node.parameters)
    received: dict[str, list] = {"odom": [], "left_foot": [], "right_foot": []}
    node = graph.node
    node.create_subscription(Odometry, topics.base_odom("humanoid"), received["odom"].append, STATE_QOS)
    for foot in ("left_foot", "right_foot"):
        topic = topics.contact_force("humanoid", foot)
        node.create_subscription(WrenchStamped, topic, received[foot].append, STATE_QOS)
    publisher = node.create_publisher(TwistStamped, topics.cmd_vel("humanoid"), EVENT_QOS)
    graph.until(lambda: publisher.get_subscription_count() and received["odom"], what="a walking robot")
    return publisher, received


def command(vx=0.0, vy=0.0, wz=0.0):
    message = TwistStamped()
    message.twist.linear.x, message.twist.linear.y, message.twist.angular.z = vx, vy, wz
    return message


def test_a_robot_walks_as_commanded_and_stops_when_commands_do(walker, graph):
    publisher, received = walker

    def walked(distance):
        publisher.publish(command(vx=0.4))
        odometry = received["odom"]
        return odometry[-1].pose.pose.position.x - odometry[0].pose.pose.position.x > distance

    def lifted_and_loaded(foot):
        forces = [-message.wrench.force.z for message in received[foot]]
        return bool(forces) and min(forces) < 1.0 and max(forces) > 300.0

    def walks():
        # states are best effort: a busy machine receives few of those of one step
        fast = max(message.twist.twist.linear.x for message in received["odom"]) > 0.3
        return walked(0.25) and fast and lifted_and_loaded("left_foot") and lifted_and_loaded("right_foot")

    graph.until(walks, what="steps of both feet at more than 0.3 m/s")
    publisher.publish(command(vx=9.0))
    graph.until(lambda: graph.diagnosed(NODE, "reduced from (9.00, 0.00, 0.00)", DiagnosticStatus.WARN), what="a limit")
    publisher.publish(command(vx=float("nan")))
    graph.until(lambda: graph.diagnosed(NODE, "humanoid/cmd_vel: velocity command: vx = nan"), what="a refusal")
    graph.until(
        lambda: graph.diagnosed(NODE, "no velocity command for 'humanoid'", DiagnosticStatus.WARN), what="silence"
    )
    received["odom"].clear()

    def at_rest():
        last = [abs(message.twist.twist.linear.x) for message in received["odom"][-60:]]
        return len(last) == 60 and max(last) < 0.03

    graph.until(at_rest, what="a robot at rest")


def test_commands_of_both_types_are_read():
    assert read_command(command(0.1, 0.2, 0.3), "humanoid", 5) == ((0.1, 0.2, 0.3), 0.0)
    message = Twist()
    message.linear.x = 0.5
    assert read_command(message, "humanoid", 5) == ((0.5, 0.0, 0.0), 0.0)


@pytest.mark.parametrize("frame", ["", "base_link", "humanoid/base_footprint"])
def test_a_stamp_gives_the_age_of_a_command(frame):
    message = command(0.1)
    message.header.stamp, message.header.frame_id = conversions.to_stamp(3_000_000_000), frame
    assert read_command(message, "humanoid", 3_250_000_000)[1] == pytest.approx(0.25)
    with pytest.raises(ValueError, match=r"2\.000 s ahead"):
        read_command(message, "humanoid", 1_000_000_000)


def test_a_command_in_another_frame_is_refused():
    message = command(0.1)
    message.header.frame_id = "map"
    with pytest.raises(ValueError, match="'map', expected 'base_footprint'"):
        read_command(message, "humanoid", 0)


def test_forces_are_used_while_those_of_all_contacts_are_up_to_date():
    forces = ContactForces(["left", "right"], max_age=0.02)
    assert forces.forces(0.0) is None and not forces.lost(0.0) and not forces.awaited(1.0)
    forces.put("left", 10.0, 1.0)
    assert forces.forces(1.0) is None
    forces.put("right", 0.0, 1.005)
    assert forces.forces(1.005) == {"left": 10.0, "right": 0.0}
    assert forces.awaited(1.005) and not forces.awaited(1.0)
    assert forces.forces(1.021) is None and forces.lost(1.021) == ["left"]


def test_forces_are_measured_where_a_generator_makes_contacts():
    assert measured_contacts(load_scenario("walk")) == {
        "left_foot": "humanoid/left_sole",
        "right_foot": "humanoid/right_sole",
    }
    assert not measured_contacts(load_scenario("box"))


def walk_with_stalls(duration, *, vx, every, stall, pitch=0.6):
    """Walk by the wall clock of a simulated graph; return it."""
    settings = {"closed_loop": True, **PATIENT_CONTROLLER}
    parameters = {"foot.pitch": pitch}
    graph = DelayedGraph(
        lambda: load_scenario("walk", parameters=parameters), settings=settings, backend="mujoco", walks=True
    )
    due = 1.0
    while graph.now < duration and not graph.ended:
        for generator in graph.run.controller.generators.values():
            generator.command(vx, 0.0, 0.0)
        if graph.now >= due:
            graph.stall(stall)
            due += every
        graph.go(graph.now + 0.1)
    return graph


@pytest.mark.parametrize(
    ("kind", "speed", "duration"),
    [
        ("controller", 0.4, 2.0),
        pytest.param("controller", 0.4, 60.0, marks=pytest.mark.slow),
        pytest.param("controller", 0.8, 60.0, marks=pytest.mark.slow),
        pytest.param("robots", 0.8, 60.0, marks=pytest.mark.slow),
        pytest.param("states", 0.4, 60.0, marks=pytest.mark.slow),
        pytest.param("commands", 0.8, 60.0, marks=pytest.mark.slow),
    ],
)
def test_a_walk_tolerates_stalls_of_50_ms(kind, speed, duration):
    # at 0.8 m/s, soles have to be level to withstand stalls of the controller
    pitch = 0.0 if (kind, speed) == ("controller", 0.8) else 0.6
    graph = walk_with_stalls(duration, vx=speed, every=1.03, stall=Stall(0.05, **{kind: True}), pitch=pitch)
    x, _, z = graph.simulated_robot.world.state.q[:3]
    assert z > 0.55 and x > 0.88 * speed * (duration - 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("stalls", [False, True])
def test_a_robot_walks_for_a_minute_of_wall_clock(start_here, graph, stalls):
    """With stalls, the process of the controller is stopped for 50 ms every second; needs two cores of its own."""
    nodes = {
        node.name: start_here(node.module, **node.parameters)
        for node in node_table("walk", backend="mujoco", speed=1.0, walks=True, controller={"marker_rate": 0.0})
    }
    received: list[Odometry] = []
    node = graph.node
    node.create_subscription(Odometry, topics.base_odom("humanoid"), received.append, STATE_QOS)
    publisher = node.create_publisher(TwistStamped, topics.cmd_vel("humanoid"), EVENT_QOS)
    graph.until(lambda: publisher.get_subscription_count() and received, what="a walking robot")
    begun = received[-1].pose.pose.position.x
    end, due = monotonic() + 60.0, monotonic() + 2.0
    while monotonic() < end:
        publisher.publish(command(vx=0.4))
        graph.listen(0.1)
        if stalls and monotonic() > due:
            nodes[NODE].send_signal(signal.SIGSTOP)
            sleep(0.05)
            nodes[NODE].send_signal(signal.SIGCONT)
            due += 1.0
    x = [message.pose.pose.position.x for message in received]
    last = x[-1] - x[-400]  # of 2 s: the odometry is that of the footprint, whose height tells nothing of a fall
    assert x[-1] - begun > 0.35 * 58.0 and 0.6 < last < 1.0
