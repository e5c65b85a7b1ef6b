"""Publishers of goals and subscriptions to plans and measured states, for tests of the planning graph."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from std_msgs.msg import String
from trajectory_msgs.msg import MultiDOFJointTrajectory

from multi_qp_ros import topics
from multi_qp_ros.node_table import node_table, planning_nodes
from multi_qp_ros.qos import EVENT_QOS, LATCHED_QOS, STATE_QOS

SCENE = Path(__file__).with_name("one_step.yaml")
PLANNER = "contact_planner"
UP, FURTHER = (0.24, 0.0, 0.77), (0.4, 0.0, 0.77)
#: How long anything may take [s]: kernels may have to be compiled, on a machine that has other things to do.
PATIENCE = 280.0


class Wires:
    """Starts planner, com_trajectory, controller and simulator, and stores their messages."""

    def __init__(self, graph, start) -> None:
        graph.clear()  # the last words of those that ran before
        self.graph, self.start, self.node = graph, start, graph.node
        self.statuses: list[dict] = []
        self.plans: list[MultiDOFJointTrajectory] = []
        self.odometry: list[Odometry] = []
        make = self.node.create_subscription
        self.subscriptions = [
            make(String, topics.PLAN_STATUS, lambda m: self.statuses.append(json.loads(m.data)), LATCHED_QOS),
            make(MultiDOFJointTrajectory, topics.CONTACT_SEQUENCE, self.plans.append, LATCHED_QOS),
            make(Odometry, topics.odom("humanoid"), self.odometry.append, STATE_QOS),
        ]
        self.goals = self.node.create_publisher(PoseStamped, topics.goal("one_step"), EVENT_QOS)
        table = node_table(
            str(SCENE), speed=2.0, controller={"marker_rate": 0.0}, **planning_nodes(True, goal="none", headless=False)
        )
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
        return self.statuses[-1] if self.statuses else {}

    @property
    def place(self) -> np.ndarray:
        p = self.odometry[-1].pose.pose.position
        return np.array([p.x, p.y, p.z])

    def visited(self) -> list[str]:
        return list(dict.fromkeys(state["state"] for state in self.graph.states() if "state" in state))

    def close(self) -> None:
        """Take back what was made, so that another graph can follow."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(30)
        for subscription in self.subscriptions:
            self.node.destroy_subscription(subscription)
        self.node.destroy_publisher(self.goals)
