"""Goals, plans and who carries them out, on the real graph: planner, com_trajectory, controller, simulator."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from std_msgs.msg import String
from trajectory_msgs.msg import MultiDOFJointTrajectory

from multi_qp_controller.ros import topics
from multi_qp_controller.ros.node_table import node_table, planning_nodes

SCENE = Path(__file__).with_name("one_step.yaml")
PLANNER = "contact_planner"
UP, DOWN = (0.24, 0.0, 0.77), (0.0, 0.0, 0.72)
WARN = DiagnosticStatus.WARN
#: How long anything may take [s]: kernels may have to be compiled, on a machine that has other things to do.
PATIENCE = 240.0


class Wires:
    """What a person has: goals to give, and the controller's and the robot's own words."""

    def __init__(self, graph, start) -> None:
        self.graph, self.start, self.node = graph, start, graph.node
        self.told: list[dict] = []
        self.plans: list[MultiDOFJointTrajectory] = []
        self.odometry: list[Odometry] = []
        make = self.node.create_subscription
        self.subscriptions = [
            make(String, topics.PLAN_STATUS, lambda m: self.told.append(json.loads(m.data)), topics.LATCHED_QOS),
            make(MultiDOFJointTrajectory, topics.CONTACT_SEQUENCE, self.plans.append, topics.LATCHED_QOS),
            make(Odometry, topics.odom("humanoid"), self.odometry.append, topics.STATE_QOS),
        ]
        self.goals = self.node.create_publisher(PoseStamped, topics.goal("one_step"), topics.EVENT_QOS)
        table = node_table(str(SCENE), speed=4.0, **planning_nodes(True, goal="none", headless=False))
        self.nodes = {node.name: node for node in table}
        self.processes = {name: self.run(name) for name in self.nodes}

    def run(self, name: str) -> subprocess.Popen:
        node = self.nodes[name]
        return self.start(node.module, **node.parameters)

    def give(self, place, *, frame="world") -> None:
        """Give a goal to a planner that is there."""
        self.graph.until(lambda: self.goals.get_subscription_count() == 1, PATIENCE, "the planner's ears")
        message = PoseStamped()
        message.header.frame_id = frame
        position = message.pose.position
        position.x, position.y, position.z = place
        self.goals.publish(message)

    def until(self, holds, what: str):
        return self.graph.until(holds, PATIENCE, what)

    @property
    def status(self) -> dict:
        return self.told[-1] if self.told else {}

    @property
    def place(self) -> np.ndarray:
        p = self.odometry[-1].pose.pose.position
        return np.array([p.x, p.y, p.z])

    def visited(self) -> list[str]:
        return list(dict.fromkeys(state["state"] for state in self.graph.states() if "state" in state))


@pytest.fixture(scope="module")
def wires(graph, start):
    made = Wires(graph, start)
    made.until(lambda: made.status.get("waiting") and made.status["standing"], "a controller that waits")
    yield made
    for subscription in made.subscriptions:
        graph.node.destroy_subscription(subscription)
    graph.node.destroy_publisher(made.goals)


@pytest.mark.parametrize(
    ("place", "frame", "said"),
    [
        ((math.nan, 0.0, 0.7), "world", "the goal was refused: it is not finite"),
        ((0.2, 0.0, 0.7), "map", "the goal was refused: it is in the frame 'map'"),
        ((0.5, 0.0, 0.02), "world", "no plan: the goal is not possible for the base: the trunk hits something"),
        ((0.5, 0.0, 3.0), "world", "no plan: the goal is not possible for the base: 0 of the limbs"),
    ],
)
def test_a_goal_that_cannot_be_is_diagnosed_and_nobody_moves(wires, place, frame, said):
    wires.graph.forget()
    wires.give(place, frame=frame)
    wires.until(lambda: wires.graph.diagnosed(PLANNER, said, WARN), said)
    assert not wires.plans and wires.status["waiting"]


def test_a_planner_that_dies_in_the_middle_does_no_harm_and_one_that_comes_back_plans(wires):
    wires.graph.forget()
    wires.give(UP)
    wires.processes[PLANNER].kill()
    wires.processes[PLANNER].wait()
    wires.graph.forget()
    wires.graph.until(lambda: len(wires.graph.states()) > 20, PATIENCE, "answers")
    assert {state["status"] for state in wires.graph.states()} == {"ok"}
    if wires.status["waiting"]:  # else it was as quick as that
        wires.processes[PLANNER] = wires.run(PLANNER)
        wires.until(lambda: wires.graph.diagnosed(PLANNER, "waits for a goal"), "a planner")
        wires.give(UP)
    wires.until(lambda: wires.status["plan"], "a plan that is followed")


def test_who_is_sent_up_the_step_stands_on_it(wires):
    wires.until(lambda: wires.status["plan"] and wires.status["standing"], "the end of the plan")
    wires.graph.listen(0.2)
    np.testing.assert_allclose(wires.place[:2], UP[:2], atol=0.05)
    assert wires.place[2] == pytest.approx(UP[2], abs=0.02)
    states = wires.graph.states()
    assert {state["status"] for state in states} == {"ok"}
    assert wires.visited()[-1] == "done"
    assert set(states[-1]["contacts"]) == {"left_sole_on_step_top", "right_sole_on_step_top"}
    assert wires.plans[-1].joint_names[-1].endswith("_on_step_top")
