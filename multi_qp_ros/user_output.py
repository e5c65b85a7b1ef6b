"""Outputs of user input (targets, loads, commands, settings), and the inputs available in each state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import Pose, PoseStamped
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from std_msgs.msg import Float64, String

from multi_qp_ros import topics
from multi_qp_ros.conversions import WORLD, to_pose
from multi_qp_ros.generator_parameters import settings_of
from multi_qp_ros.node_table import CONTROLLER
from multi_qp_ros.qos import EVENT_QOS
from multi_qp_ros.user_requests import interactive_targets
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario


@dataclass(frozen=True)
class UserInputs:
    """User inputs available in one state.

    Attributes:
        targets: name of the following task by target; the marker of a target has the name of the task.
        commands: commands that are conditions of transitions.
    """

    targets: dict[str, str]
    commands: tuple[str, ...]


def user_inputs(scenario: Scenario) -> dict[str, UserInputs]:
    """Return the available user inputs by state of a scenario."""
    made = {}
    for name, state in scenario.spec.states.items():
        tasks = {**scenario.spec.tasks, **state.tasks}
        found = ((getattr(getattr(task, "target", None), "interactive", None), key) for key, task in tasks.items())
        made[name] = UserInputs({target: key for target, key in found if target is not None}, state.commands)
    return made


class UserOutput:
    """Publishers of interactive targets, loads and commands, and client of the controller's parameters."""

    def __init__(self, node: Any, scenario: Scenario) -> None:
        make, scene = node.create_publisher, scenario.name
        self._targets = {
            name: make(PoseStamped, topics.target(scene, name), EVENT_QOS) for name in interactive_targets(scenario)
        }
        self._loads = {
            name: make(Float64, topics.target(scene, name), EVENT_QOS) for name in scenario.scene.loads.masses
        }
        self._commands = make(String, topics.user_command(scene), EVENT_QOS)
        self._node = node
        self._settings = AsyncParameterClient(node, CONTROLLER) if settings_of(scenario) else None

    @property
    def publishers(self) -> tuple[Any, ...]:
        """All publishers."""
        return (*self._targets.values(), *self._loads.values(), self._commands)

    def move(self, name: str, position: Array) -> None:
        """Move a target to a position in the world, (3,) [m]; its rotation is unchanged."""
        self.pose(name, to_pose(position, np.zeros(4)))

    def pose(self, name: str, pose: Pose) -> None:
        """Set the pose of a target in the world."""
        message = PoseStamped(pose=pose)
        message.header.frame_id = WORLD
        self._targets[name].publish(message)

    def weigh(self, name: str, mass: float) -> None:
        """Set a load [kg]."""
        self._loads[name].publish(Float64(data=mass))

    def give(self, name: str) -> None:
        """Publish a command."""
        self._commands.publish(String(data=name))

    def adjust(self, name: str, value: float) -> None:
        """Set a parameter of the controller node; without an effect while there is none."""
        if self._settings is not None and self._settings.services_are_ready():
            future = self._settings.set_parameters([Parameter(name, Parameter.Type.DOUBLE, value)])
            future.add_done_callback(self._report)

    def _report(self, future: Any) -> None:
        for result in future.result().results:
            if not result.successful:
                self._node.get_logger().warning(f"a setting was not changed: {result.reason}")
