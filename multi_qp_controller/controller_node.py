"""The node `multi_qp_controller`: states in, torques out, as a lifecycle node."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.formulations import FORMULATIONS
from multi_qp_controller.observe import take_snapshot
from multi_qp_controller.qp import solver_names
from multi_qp_controller.ros import conversions, parameters, process, topics
from multi_qp_controller.ros.command_output import CommandOutput
from multi_qp_controller.ros.diagnostics import Level
from multi_qp_controller.ros.health import Health
from multi_qp_controller.ros.markers import MarkerMaker
from multi_qp_controller.ros.parameters import SCENARIO_PARAMETERS, ParameterSpec
from multi_qp_controller.ros.state_assembly import Receipt, StateAssembler
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_simulator.referee import Referee

PARAMETERS = (
    *SCENARIO_PARAMETERS,
    ParameterSpec("solver", "", "QP solver; empty: the scenario's, else the fastest", choices=("", *solver_names())),
    ParameterSpec("formulation", "", "how the QP is written", choices=("", *FORMULATIONS)),
    ParameterSpec("max_state_age", 5, "periods after which a state is too old to answer", 1, 1000),
    ParameterSpec("marker_rate", 20.0, "markers a second; 0: none", 0.0, 200.0),
    ParameterSpec("attended", False, "somebody is there to move targets and give commands"),
    ParameterSpec("autostart", False, "configure and activate at once"),
    ParameterSpec("duration", 0.0, "longest time of a run [s]; 0: the scenario's", 0.0, 1e6),
    ParameterSpec(
        "exit_at_end", False, "end the process with the run; its exit status says whether the goals were met"
    ),
    ParameterSpec("report", "", "file for the report (JSON) at the end of the run"),
)


class ControllerNode(LifecycleNode):
    """Configure loads and validates; activate starts from the measured state; deactivate leaves zero efforts.

    Attributes:
        exit_status: set when the process shall end.
    """

    def __init__(self) -> None:
        super().__init__("multi_qp_controller", automatically_declare_parameters_from_overrides=True)
        parameters.declare(self, PARAMETERS)
        self._configured = False
        self.add_on_set_parameters_callback(
            lambda given: parameters.refuse_changes(given, PARAMETERS, configured=self._configured)
        )
        self.exit_status: int | None = None
        self._entities: list[tuple[Callable[[Any], Any], Any]] = []
        self._active = False
        self._health = Health(self, dt=1.0)
        self._autostart = bool(self.get_parameter("autostart").value)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load and validate the scenario; listen."""
        try:
            self._configure()
        except MultiQpError as error:
            self.get_logger().error(str(error))
            self._release()
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def _configure(self) -> None:
        self._settings = parameters.values(self, PARAMETERS)
        self._scenario = scenario = parameters.load(self._settings)
        self._lock_step = bool(self._settings["lock_step"])
        self._begin()
        for name in self._assembler.topics:
            subsystem, kind = name.split("/")
            message, take = {
                "joint_states": (JointState, self._take_joints),
                "odom": (Odometry, self._take_root),
            }[kind]
            self._listen(message, name, partial(take, subsystem), topics.STATE_QOS)
        for name in _interactive_targets(scenario):
            topic = topics.target(scenario.name, name)
            self._listen(PoseStamped, topic, partial(self._take_target, name), topics.EVENT_QOS)
        self._listen(String, topics.user_command(scenario.name), self._take_command, topics.EVENT_QOS)
        self._output = CommandOutput(self, scenario)
        self._configured = True

    def _listen(self, message: Any, topic: str, callback: Callable[[Any], None], qos: Any) -> None:
        subscription = self.create_subscription(message, topic, callback, qos)
        self._entities.append((self.destroy_subscription, subscription))

    def _begin(self) -> None:
        """Make everything that belongs to one run: nothing of an earlier one is left."""
        settings, scenario = self._settings, self._scenario
        scenario.scene.loads.reset()
        self._controller = Controller(
            scenario,
            dt=settings["dt"] or None,
            solver=settings["solver"] or None,
            formulation=settings["formulation"] or None,
        )
        self._controller.attended = settings["attended"]
        dt = self._controller.dt
        self._assembler = StateAssembler(scenario.scene, max_age=settings["max_state_age"] * dt, period=dt)
        self._referee = Referee(scenario, self._controller, backend="ros", duration=settings["duration"] or None)
        self._health.statistics.dt = dt
        self._markers = MarkerMaker()
        self._zero: float | None = None
        self._answered: int | None = None
        self._next_tick = self._next_markers = 0.0
        self._told_end = False

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start from the next measured state; before it has come, nothing is commanded."""
        self._begin()
        self._active = True
        self._health.tell(Level.WARN, f"waiting for {', '.join(self._assembler.missing)}")
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Leave zero efforts: an effort interface keeps the last ones for ever."""
        self._active = False
        self._output.rest(self._now(), tuple(self._controller.contacts))
        self._health.tell(Level.STALE, "not active")
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the scenario."""
        self._release()
        return TransitionCallbackReturn.SUCCESS

    def _release(self) -> None:
        for destroy, entity in self._entities:
            destroy(entity)
        self._entities.clear()
        if self._configured:
            self._output.destroy()
        self._configured = False

    # -- messages in

    def _take_joints(self, subsystem: str, message: JointState) -> None:
        def put() -> Receipt:
            stamp, at = self._arrival(message)
            return self._assembler.put_joints(subsystem, stamp, at, message.name, message.position, message.velocity)

        self._took(put)

    def _take_root(self, subsystem: str, message: Odometry) -> None:
        def put() -> Receipt:
            pose = conversions.pose_array(message.pose.pose)
            stamp, at = self._arrival(message)
            return self._assembler.put_root(subsystem, stamp, at, pose, conversions.twist_array(message.twist.twist))

        self._took(put)

    def _arrival(self, message: Any) -> tuple[int, float | None]:
        return conversions.from_stamp(message.header.stamp), None if self._lock_step else monotonic()

    def _took(self, put: Callable[[], Receipt]) -> None:
        if not self._active:
            return
        receipt = put()
        if receipt is Receipt.JUMPED_BACK:
            self._health.statistics.count("time_jumps")
            self.get_logger().warning("time jumped back: the run starts anew from the measured state")
            self._begin()
            receipt = put()
        if receipt is Receipt.OUTDATED:
            self._health.statistics.count("outdated_messages")
        if not self._lock_step:
            return
        newest = self._assembler.newest
        if not self._assembler.settled(self._assembler.clock):
            return
        if newest != self._answered:
            self._tick(newest * 1e-9, newest)
        elif receipt is Receipt.REPEATED:  # the world still waits: the answer was lost
            self._output.repeat()

    def _take_target(self, name: str, message: PoseStamped) -> None:
        try:
            position, rotation = conversions.read_target(message)
            if not self._active or name not in self._controller.targets:
                raise ValueError("the present state has no such target")
            self._controller.set_target(name, position, rotation)
        except ValueError as error:
            self._health.statistics.count("refused_targets")
            self._health.warn(f"target '{name}' was refused: {error}")

    def _take_command(self, message: String) -> None:
        if self._active:
            self._controller.command(message.data)

    # -- ticks

    def work(self) -> float:
        """Do what is due between messages; return for how long nothing will be [s]."""
        if self._autostart:
            self._start()
        now = monotonic()
        self._health.publish_if_due(now)
        if not self._active or self._lock_step:
            return self._health.due - now
        if now >= self._next_tick:
            if not self._assembler.missing:
                self._tick(now, self._now())
            # a late tick is not made up for
            self._next_tick = max(self._next_tick + self._controller.dt, now)
        return self._next_tick - monotonic()

    def _start(self) -> None:
        self._autostart = False
        for transition in (self.trigger_configure, self.trigger_activate):
            if transition() is not TransitionCallbackReturn.SUCCESS:
                self.exit_status = process.BAD_INPUT
                return

    def _now(self) -> int:
        return self._assembler.newest if self._lock_step else int(self.get_clock().now().nanoseconds)

    def _tick(self, now: float, stamp: int) -> None:
        """Answer the state at `now` [s]; the answer carries the stamp [ns]."""
        began = monotonic()
        if self._zero is None:
            self._zero = now
        state, faults = self._assembler.state(self._assembler.clock if self._lock_step else now)
        time = now - self._zero
        self._controller.scenario.scene.loads.advance(time)
        command = self._controller.step(state, time)
        self._answered = stamp
        self._output.send(command, tuple(self._controller.contacts), stamp)
        self._health.statistics.tick(began, monotonic())
        self._judge(command, faults)
        self._referee.observe(state, command)
        rate = self._settings["marker_rate"]
        if rate and now >= self._next_markers and command.diagnostics.status is not Status.FALLBACK:
            self._next_markers = now + 1.0 / rate
            snapshot = take_snapshot(self._controller, command)
            self._output.markers.publish(self._markers.markers(snapshot, stamp))
        if self._referee.ended is not None and not self._told_end:
            self._end()

    def _judge(self, command: Command, faults: list[str]) -> None:
        diagnostics = command.diagnostics
        self._health.statistics.count(f"ticks_{diagnostics.status}")
        if diagnostics.status is Status.OK:
            self._health.tell(Level.OK, f"in state '{diagnostics.state}'")
            return
        level = Level.WARN if diagnostics.status is Status.RELAXED else Level.ERROR
        self._health.tell(level, "; ".join([*faults, diagnostics.message]))

    def _end(self) -> None:
        """Report, once; whoever does not end with the run goes on in its last state."""
        self._told_end = True
        report = self._referee.report()
        text = json.dumps(report, indent=2, allow_nan=False)
        self._output.report.publish(String(data=text))
        self.get_logger().info(f"{report['ended']}; {_verdict(self._referee)}")
        if self._settings["report"]:
            try:
                Path(self._settings["report"]).write_text(text + "\n", encoding="utf-8")
            except OSError as error:
                self.get_logger().error(f"cannot write the report: {error}")
        if self._settings["exit_at_end"]:
            self.exit_status = process.SUCCESS if self._referee.succeeded else process.GOALS_MISSED

    def close(self) -> None:
        """Deactivate, if need be, so that no effort stays behind."""
        if self._active:
            self.trigger_deactivate()


def _verdict(referee: Referee) -> str:
    return "all goals were reached" if referee.succeeded else "not all goals were reached"


def _interactive_targets(scenario: Scenario) -> list[str]:
    spec = scenario.spec
    tasks: list[Any] = list(spec.tasks.values())
    for state in spec.states.values():
        tasks += state.tasks.values()
    names = (getattr(getattr(task, "target", None), "interactive", None) for task in tasks)
    return list(dict.fromkeys(name for name in names if name is not None))


def main() -> int:
    """Run the node."""
    np.seterr(invalid="ignore")  # a state with NaN is an answerable fault here
    return process.run(ControllerNode)


if __name__ == "__main__":
    sys.exit(main())
