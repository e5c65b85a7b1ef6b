"""What a person says to the controller, as messages; and what there is to say in a state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import Pose, PoseStamped
from numpy.typing import NDArray
from std_msgs.msg import Float64, String

from multi_qp_controller.fsm import commands_in
from multi_qp_controller.ros import topics
from multi_qp_controller.ros.conversions import WORLD, to_pose
from multi_qp_controller.ros.inputs import interactive_targets
from multi_qp_scene.scenario import Scenario

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Offer:
    """What a user can do in one state.

    Attributes:
        targets: task that follows it, by target; a target's marker has the task's name.
        commands: that a transition waits for.
    """

    targets: dict[str, str]
    commands: tuple[str, ...]


def offers(scenario: Scenario) -> dict[str, Offer]:
    """Return what a user can do in each state of a scenario, by name of the state."""
    made = {}
    for name, state in scenario.spec.states.items():
        tasks = {**scenario.spec.tasks, **state.tasks}
        found = ((getattr(getattr(task, "target", None), "interactive", None), key) for key, task in tasks.items())
        made[name] = Offer({target: key for target, key in found if target is not None}, commands_in(state))
    return made


class UserOutput:
    """The publishers of a user's targets, loads and commands."""

    def __init__(self, node: Any, scenario: Scenario) -> None:
        make, scene = node.create_publisher, scenario.name
        self._targets = {
            name: make(PoseStamped, topics.target(scene, name), topics.EVENT_QOS)
            for name in interactive_targets(scenario)
        }
        self._loads = {
            name: make(Float64, topics.target(scene, name), topics.EVENT_QOS) for name in scenario.scene.loads.masses
        }
        self._commands = make(String, topics.user_command(scene), topics.EVENT_QOS)

    @property
    def publishers(self) -> tuple[Any, ...]:
        """All of them."""
        return (*self._targets.values(), *self._loads.values(), self._commands)

    def move(self, name: str, position: Array) -> None:
        """Move a target to a position in the world, (3,) [m]; it does not turn."""
        self.pose(name, to_pose(position, np.zeros(4)))

    def pose(self, name: str, pose: Pose) -> None:
        """Give a target a pose in the world."""
        message = PoseStamped(pose=pose)
        message.header.frame_id = WORLD
        self._targets[name].publish(message)

    def weigh(self, name: str, mass: float) -> None:
        """Set a load [kg]."""
        self._loads[name].publish(Float64(data=mass))

    def give(self, name: str) -> None:
        """Give a command."""
        self._commands.publish(String(data=name))
