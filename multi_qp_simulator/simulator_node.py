"""The node `simulator`: plays the robots; takes efforts, publishes joint states, odometry and the clock."""

from __future__ import annotations

import json
import sys
from functools import partial
from time import monotonic
from typing import Any

from nav_msgs.msg import Odometry
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from multi_qp_controller.ros import conversions, parameters, process, topics
from multi_qp_controller.ros.diagnostics import Level
from multi_qp_controller.ros.health import Health
from multi_qp_controller.ros.parameters import SCENARIO_PARAMETERS, ParameterSpec
from multi_qp_controller.ros.state_assembly import joints_of
from multi_qp_scene.errors import MultiQpError
from multi_qp_simulator.stand_in import StandIn

NAMED, BARE = "joint_commands", "effort_controller"
PARAMETERS = (
    *SCENARIO_PARAMETERS,
    ParameterSpec("backend", "integrator", "who plays the world", choices=("integrator",)),
    ParameterSpec("speed", 1.0, "simulated seconds a second at most; 0: as fast as it goes", 0.0, 1000.0),
    ParameterSpec("watchdog_periods", 5, "periods without a command after which a robot brakes", 1, 1000),
    ParameterSpec("command_interface", NAMED, "which commands the robots take", choices=(NAMED, BARE)),
    ParameterSpec("patience", 0.5, "lock-step: how long to wait for an answer before going on [s]", 0.01, 60.0),
)
#: Lock-step: after so long without an answer the state is sent again [s]; state is best effort and may be lost.
RESEND_PERIOD = 0.05


class SimulatorNode(Node):
    """Steps the stand-in: in lock-step, when each robot has its answer to the present state; else by the wall clock.

    Attributes:
        exit_status: never set: the node goes on until a signal ends it.
    """

    def __init__(self) -> None:
        super().__init__("simulator", automatically_declare_parameters_from_overrides=True)
        parameters.declare(self, PARAMETERS, read_only=True)
        settings = parameters.values(self, PARAMETERS)
        self.exit_status: int | None = None
        self._scenario = parameters.load(settings)
        self._scene = self._scenario.scene
        self._dt = settings["dt"] or self._scenario.spec.dt
        self._lock_step, self._named = settings["lock_step"], settings["command_interface"] == NAMED
        if self._lock_step and not self._named:
            raise MultiQpError(f"lock_step needs the stamps of {NAMED}: command_interface cannot be '{BARE}'")
        self._speed, self._patience = settings["speed"], settings["patience"]
        self._stand_in = StandIn(self._scenario, dt=self._dt, watchdog_periods=settings["watchdog_periods"])
        self._joints = {name: joints_of(self._scene, s) for name, s in self._scene.subsystems.items()}
        self._answered: set[str] = set()
        self._alone = False
        self._health = Health(self, dt=self._dt)
        self._fault = ""
        self._offer()
        now = monotonic()
        self._due = self._shown = self._asked = now

    def _offer(self) -> None:
        """Make publishers and subscriptions."""
        scene = self._scene
        self._clock_out = self.create_publisher(Clock, topics.CLOCK, topics.STATE_QOS)
        self._joint_outputs = {
            name: self.create_publisher(JointState, topics.joint_states(name), topics.STATE_QOS)
            for name, joints in self._joints.items()
            if joints
        }
        self._odometry_outputs = {
            s.name: self.create_publisher(Odometry, topics.odom(s.name), topics.STATE_QOS)
            for s in scene.subsystems.values()
            if s.floating
        }
        for robot in self._stand_in.robots:
            if self._named:
                take = partial(self._take_named, robot)
                self.create_subscription(JointState, topics.joint_commands(robot), take, topics.COMMAND_QOS)
            else:
                take = partial(self._take_bare, robot)
                self.create_subscription(Float64MultiArray, topics.effort_commands(robot), take, topics.COMMAND_QOS)
        self.create_subscription(String, topics.CONTROLLER_STATE, self._take_contacts, topics.LATCHED_QOS)

    @property
    def _stamp(self) -> int:
        return round(self._stand_in.tick * self._dt * 1e9)

    def _take_named(self, robot: str, message: JointState) -> None:
        stamp = conversions.from_stamp(message.header.stamp)
        if self._lock_step and not self._is_for_now(stamp):
            return
        self._try(self._stand_in.command, robot, message.effort, message.name)
        self._answered.add(robot)

    def _take_bare(self, robot: str, message: Float64MultiArray) -> None:
        self._try(self._stand_in.command, robot, message.data)

    def _take_contacts(self, message: String) -> None:
        try:
            state = json.loads(message.data)
            contacts, stamp = [str(name) for name in state["contacts"]], int(state["stamp"])
        except (ValueError, KeyError, TypeError) as error:
            self._refuse(f"{topics.CONTROLLER_STATE} was not understood: {error!r}")
            return
        if self._lock_step and not self._is_for_now(stamp):
            return
        self._try(self._stand_in.touch, contacts)
        self._answered.add(topics.CONTROLLER_STATE)

    def _is_for_now(self, stamp: int) -> bool:
        """Return whether an answer is for the present state; one for a recent state says that somebody is back."""
        behind = self._stamp - stamp
        if self._alone and 0 <= behind < self._patience * 1e9:
            self._alone, self._asked = False, monotonic()
        return behind == 0

    def _try(self, take: Any, *arguments: Any) -> None:
        try:
            take(*arguments)
        except ValueError as error:
            self._refuse(str(error))

    def _refuse(self, fault: str) -> None:
        self._health.statistics.count("refused_messages")
        self._fault = fault

    def work(self) -> float:
        """Step if it is time to; return for how long nothing will be due [s]."""
        now = monotonic()
        if self._is_ready(now):
            began = monotonic()
            self._stand_in.step()
            self._health.statistics.tick(began, monotonic())
            self._answered.clear()
            self._due = max(self._due + self._dt / self._speed, now - self._dt) if self._speed else now
            self._asked = now
            self._show(now)
        elif now - self._shown >= (RESEND_PERIOD if self._lock_step or not self._stand_in.started else self._dt):
            self._show(now)
        self._health.tell(*self._status())
        if now >= self._health.due:
            self._health.publish()
            self._fault = ""
        if self._lock_step and not self._has_answers:
            return RESEND_PERIOD
        return max(0.0, self._due - monotonic())

    @property
    def _has_answers(self) -> bool:
        return len(self._answered) == len(self._stand_in.robots) + 1

    def _is_ready(self, now: float) -> bool:
        if now < self._due or self._stand_in.broken:
            return False
        if not self._lock_step:
            return self._stand_in.started
        if self._has_answers:
            return True
        # nobody answers: the world goes on, at the pace of the wall clock, and the watchdogs come in
        if self._stand_in.started and (self._alone or now - self._asked > self._patience):
            self._due = max(self._due, now) if self._alone else now
            self._alone = True
            return now - self._shown >= self._dt
        return False

    def _show(self, now: float) -> None:
        """Publish clock and state."""
        self._shown = now
        stamp = self._stamp if self._lock_step else self._wall_stamp()
        state = self._stand_in.world.state
        self._clock_out.publish(Clock(clock=conversions.to_stamp(self._stamp)))
        for name, publisher in self._joint_outputs.items():
            publisher.publish(conversions.joint_state(self._joints[name], state, stamp))
        for name, publisher in self._odometry_outputs.items():
            publisher.publish(conversions.odometry(self._scene.subsystems[name], state, stamp))

    def _wall_stamp(self) -> int:
        return int(self.get_clock().now().nanoseconds)

    def _status(self) -> tuple[Level, str]:
        unheard = self._stand_in.unheard
        if self._stand_in.broken:
            return Level.ERROR, "the state would not be finite: the world stands still"
        if not self._stand_in.started:
            return Level.STALE, "waits for the first commands"
        if unheard:
            reason = f" ({self._fault})" if self._fault else ""
            return Level.ERROR, f"no commands for {', '.join(unheard)}: braking{reason}"
        return (Level.WARN, self._fault) if self._fault else (Level.OK, "")

    def close(self) -> None:
        """Nothing: a world without a clock is at rest."""


def main() -> int:
    """Run the node."""
    return process.run(SimulatorNode)


if __name__ == "__main__":
    sys.exit(main())
