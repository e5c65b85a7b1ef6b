"""Subscriptions of the controller node to the requests of its user: targets, loads, velocities and commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from geometry_msgs.msg import PointStamped, PoseStamped
from std_msgs.msg import Float64, String

from motion_generation.state_parts import HALT
from multi_qp_controller.controller import Controller
from multi_qp_ros import conversions, topics, velocity_commands
from multi_qp_ros.footprint import walking_robots
from multi_qp_ros.health import Health
from multi_qp_ros.qos import EVENT_QOS
from multi_qp_ros.subscriptions import subscribe
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario


class UserRequests:
    """Subscriptions whose messages are passed to the active controller; those that it refuses are reported."""

    def __init__(
        self,
        node: Any,
        health: Health,
        scenario: Scenario,
        controller: Callable[[], Controller | None],
        *,
        stamped_velocity: bool,
    ) -> None:
        """Create the subscriptions.

        Args:
            node: the subscribing node.
            health: diagnostics of the node.
            scenario: scenario with the targets, loads and commands.
            controller: returns the controller, None while the node is not active.
            stamped_velocity: whether velocity commands are TwistStamped, not Twist.
        """
        self._node, self._health, self._scenario, self._controller = node, health, scenario, controller
        add = partial(subscribe, node, health, qos=EVENT_QOS)
        for name in interactive_targets(scenario):
            topic = topics.target(scenario.name, name)
            add(PoseStamped, topic, partial(self._try, name, self._take_pose))
            topic = topics.target_point(scenario.name, name)
            add(PointStamped, topic, partial(self._try, name, self._take_point))
        for name in scenario.scene.loads.masses:
            add(Float64, topics.target(scenario.name, name), partial(self._try, name, self._take_load))
        add(String, topics.user_command(scenario.name), self._take_command)
        kind = velocity_commands.message_type(stamped=stamped_velocity)
        for robot in walking_robots(scenario):
            add(kind, topics.cmd_vel(robot), partial(self._take_velocity, robot))

    def _try(self, name: str, take: Callable[[str, Any], None], message: Any) -> None:
        """Pass on a message for a target or a load, and report it if it is refused."""
        try:
            take(name, message)
        except ValueError as error:
            self._health.statistics.count("refused_targets")
            self._health.warn(f"target '{name}' was refused: {error}")

    def _take_pose(self, name: str, message: PoseStamped) -> None:
        self._move_target(name, *conversions.read_target(message))

    def _take_point(self, name: str, message: PointStamped) -> None:
        self._move_target(name, conversions.read_point(message), None)

    def _move_target(self, name: str, position: Array, rotation: Array | None) -> None:
        controller = self._controller()
        if controller is None or name not in controller.targets:
            raise ValueError("the present state has no such target")
        controller.set_target(name, position, rotation)

    def _take_load(self, name: str, message: Float64) -> None:
        if self._controller() is None:
            raise ValueError("the controller is not active")
        self._scenario.scene.loads.set_mass(name, message.data)

    def _take_velocity(self, robot: str, message: Any) -> None:
        """Pass a velocity command to the walking generator of a robot."""
        now = int(self._node.get_clock().now().nanoseconds)
        velocity, age = velocity_commands.read_command(message, robot, now)
        controller = self._controller()
        if controller is None:
            raise ValueError("not active")
        generator = velocity_commands.walkers(controller).get(robot)
        if generator is None:
            raise ValueError(f"'{robot}' does not walk in the present state")
        timeout = generator.velocity.limits.timeout
        if age > timeout:
            raise ValueError(f"its stamp is {age:.3f} s old; commands time out after {timeout:g} s")
        generator.command(*velocity)
        controller.interactive = True  # a user who pauses may go on

    def _take_command(self, message: String) -> None:
        controller = self._controller()
        if controller is None:
            raise ValueError(f"command {message.data[:60]!r}: the controller is not active")
        try:
            controller.command(message.data)
        except MultiQpError:
            # the contact planner may halt a plan that has just ended
            if self._scenario.spec.plan is None or message.data != HALT:
                raise


def interactive_targets(scenario: Scenario) -> list[str]:
    """Return the names of all targets of a scenario that a user can move in some state."""
    spec = scenario.spec
    tasks: list[Any] = list(spec.tasks.values())
    for state in spec.states.values():
        tasks += state.tasks.values()
    names = (getattr(getattr(task, "target", None), "interactive", None) for task in tasks)
    return list(dict.fromkeys(name for name in names if name is not None))
