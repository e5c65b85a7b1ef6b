"""The node `simulator`: plays the robots; takes efforts, publishes joint states, odometry and the clock."""

from __future__ import annotations

import json
import sys
from functools import partial
from math import ceil
from time import monotonic, time_ns
from typing import Any

from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray, String

from multi_qp_controller.ros import conversions, parameters, process, topics
from multi_qp_controller.ros.diagnostics import Level
from multi_qp_controller.ros.health import Health
from multi_qp_controller.ros.parameters import SCENARIO_PARAMETERS, ParameterSpec
from multi_qp_controller.ros.real_time import REAL_TIME_PARAMETERS, RealTime
from multi_qp_controller.ros.state_output import StateOutput
from multi_qp_controller.ros.timing_log import TimingLog
from multi_qp_controller.ros.wire import JointReader
from multi_qp_scene.errors import MultiQpError
from multi_qp_simulator.stand_in import LONGEST_LAG, LONGEST_SILENCE, WORLDS, StandIn, make_world

NAMED, BARE = "joint_commands", "effort_controller"
PARAMETERS = (
    *SCENARIO_PARAMETERS,
    ParameterSpec("backend", "integrator", "who plays the world", choices=tuple(WORLDS)),
    ParameterSpec("speed", 1.0, "simulated seconds a second at most; 0: as fast as it goes", 0.0, 1000.0),
    ParameterSpec("physics_rate", 500.0, "by the wall clock: least number of physics steps a second", 1.0, 1e4),
    ParameterSpec("watchdog_periods", 5, "periods without a command after which a robot brakes", 1, 1000),
    ParameterSpec(
        "watchdog_time", LONGEST_SILENCE, "and time after which it does, if it is above 1.5 periods [s]", 0.001, 60.0
    ),
    ParameterSpec("command_interface", NAMED, "which commands the robots take", choices=(NAMED, BARE)),
    ParameterSpec("patience", 0.5, "lock-step: how long to wait for an answer before going on [s]", 0.01, 60.0),
    *REAL_TIME_PARAMETERS,
    ParameterSpec("timing", "", "file for the times of every command (npz) at the end of the process"),
)
#: Of the file of times: stamp of the state that a command answers, and when the command was there [ns].
TIMING = ("stamp", "heard")
#: Lock-step: an answer that is no later than so many times the patience says that somebody is there.
LONGEST_LATENESS = 10
#: Lock-step: after so long without an answer the state is sent again [s]; state is best effort and may be lost.
RESEND_PERIOD = 0.05


class SimulatorNode(Node):
    """Steps the stand-in: in lock-step, when each robot has its answer to the present state; else by the wall clock.

    By the wall clock physics has a rate of its own: commands act from the moment they are heard, and are held. States
    are published once a control period all the same.

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
        self._dt = parameters.control_period(settings, self._scenario)
        self._lock_step, self._named = settings["lock_step"], settings["command_interface"] == NAMED
        if self._lock_step and not self._named:
            raise MultiQpError(f"lock_step needs the stamps of {NAMED}: command_interface cannot be '{BARE}'")
        self._speed, self._patience = settings["speed"], settings["patience"]
        self._substeps = 1 if self._lock_step else ceil(self._dt * settings["physics_rate"] - 1e-9)
        self._stand_in = StandIn(
            self._scenario,
            make_world(settings["backend"], self._scenario),
            dt=self._dt,
            substeps=self._substeps,
            watchdog_periods=settings["watchdog_periods"],
            watchdog_time=settings["watchdog_time"],
        )
        self._timing = TimingLog(settings["timing"], TIMING)
        self._answered: set[str] = set()
        self._followed: dict[str, int] = dict.fromkeys(self._stand_in.robots, 0)
        self._meant: tuple[list[str], int] | None = None
        self._alone = False
        self._rounds_to_hear = 0
        self._health = Health(self, dt=self._stand_in.dt)
        self._fault = ""
        self._offer()
        process.settle()
        self._real_time = RealTime(self, lock_step=self._lock_step)
        self._real_time.begin()
        now = monotonic()
        self._due = self._shown = self._asked = now

    def _offer(self) -> None:
        """Make publishers and subscriptions."""
        scene = self._scene
        self._clock_out = self.create_publisher(Clock, topics.CLOCK, topics.STATE_QOS)
        self._states_out = StateOutput(self, scene)
        heard = topics.COMMAND_QOS if self._lock_step else topics.HEARD_QOS
        for robot in self._stand_in.robots:
            if self._named:
                take = partial(self._take_named, robot, JointReader())
                self.create_subscription(JointState, topics.joint_commands(robot), take, heard, raw=True)
            else:
                take = partial(self._take_bare, robot)
                self.create_subscription(Float64MultiArray, topics.effort_commands(robot), take, heard)
        self.create_subscription(String, topics.CONTROLLER_STATE, self._take_contacts, topics.LATCHED_QOS)
        for load in scene.loads.masses:  # somebody puts weights on, and tells everybody
            topic = topics.target(self._scenario.name, load)
            self.create_subscription(Float64, topic, partial(self._take_load, load), topics.EVENT_QOS)

    @property
    def _stamp(self) -> int:
        return round(self._stand_in.time * 1e9)

    def _take_named(self, robot: str, reader: JointReader, data: bytes) -> None:
        said = reader.read(data)
        self._catch_up()
        if self._lock_step and not self._is_for_now(said.stamp):
            return
        self._timing.add(said.stamp, time_ns())
        self._try(self._stand_in.command, robot, said.effort, said.names)
        self._answered.add(robot)
        self._followed[robot] = said.stamp
        self._touch_as_meant()

    def _take_bare(self, robot: str, message: Float64MultiArray) -> None:
        self._catch_up()
        self._try(self._stand_in.command, robot, message.data)

    def _take_contacts(self, message: String) -> None:
        try:
            state = json.loads(message.data)
            contacts, stamp = [str(name) for name in state["contacts"]], int(state["stamp"])
        except (ValueError, KeyError, TypeError) as error:
            self._refuse(f"{topics.CONTROLLER_STATE} was not understood: {error!r}")
            return
        self._catch_up()
        if self._lock_step and not self._is_for_now(stamp):
            return
        self._answered.add(topics.CONTROLLER_STATE)
        self._meant = contacts, stamp
        self._touch_as_meant()

    def _touch_as_meant(self) -> None:
        """Take up contacts with the efforts of the same answer: a foot let go under those of before is torn away.

        Bare efforts have no stamp, and in lock-step nothing passes before all are there.
        """
        if self._meant is None:
            return
        contacts, stamp = self._meant
        if self._lock_step or not self._named or min(self._followed.values(), default=stamp) >= stamp:
            self._meant = None
            self._try(self._stand_in.touch, contacts)

    def _take_load(self, load: str, message: Float64) -> None:
        self._try(self._scene.loads.set_mass, load, message.data)

    def _is_for_now(self, stamp: int) -> bool:
        """Return whether an answer is for the present state; one for a recent state says that somebody is back."""
        behind = self._stamp - stamp
        if self._alone and 0 <= behind < LONGEST_LATENESS * self._patience * 1e9:
            # who is late is waited for by that much longer, or would be late each time and never be followed
            self._alone, self._asked = False, monotonic() + behind * 1e-9
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
        if not self._stand_in.started:
            self._due = max(self._due, now)  # time begins with the first commands
        if self._rounds_to_hear:
            self._rounds_to_hear -= 1
            return 0.0
        if self._is_ready(now):
            self._go_on(now)
        elif now - self._shown >= self._repeat_after:
            self._show(now)
        self._health.tell(*self._status())
        if now >= self._health.due:
            self._health.publish()
            self._fault = ""
        if self._lock_step and not self._has_answers:
            return RESEND_PERIOD
        if not self._stand_in.started or self._stand_in.broken:  # nothing is due: who waits leaves the core to others
            return max(0.0, self._shown + self._repeat_after - monotonic())
        return max(0.0, self._due - monotonic())

    @property
    def _repeat_after(self) -> float:
        """After how long the same state is told again [s]; by the wall clock one that is told less often is too old."""
        if self._lock_step:
            return RESEND_PERIOD
        return 2.0 * self._dt if self._stand_in.started else self._dt

    def _catch_up(self) -> None:
        """Let the time pass that is due before what is heard now acts; in lock-step time waits for what is heard.

        Not between messages that have waited together: they act from the same moment on.
        """
        if not (self._lock_step or self._rounds_to_hear) and self._is_ready(now := monotonic()):
            self._go_on(now)

    def _go_on(self, now: float) -> None:
        """Let the time pass that is due, with nothing heard meanwhile.

        After a stall a command that is heard now is for now: before or between steps of the past it would act before
        its time, on one robot of several. And all that waits is heard before what is due by then. The time that many
        steps take passes by: else physics would go faster than the clock, and answers act late, until it has caught up.
        """
        began = self._stand_in.steps
        whole = self._step(now)
        while self._due <= now and self._speed and not (self._lock_step or self._stand_in.broken):
            whole |= self._step(now)
            self._rounds_to_hear = len(self._stand_in.robots) + 2
        if not self._lock_step and self._stand_in.steps - began > self._substeps:
            self._due = max(self._due, monotonic())
        if whole:
            self._show(now)

    def _step(self, now: float) -> bool:
        """Take one step, and return whether it was the last one of a control period."""
        stand_in, began = self._stand_in, monotonic()
        stand_in.step()
        self._health.statistics.tick(began, monotonic())
        self._answered.clear()
        latest = now - (self._dt if self._lock_step else LONGEST_LAG * self._dt)
        self._due = max(self._due + stand_in.dt / self._speed, latest) if self._speed else now
        self._asked = now
        return stand_in.steps % self._substeps == 0

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
        stamp = self._stamp
        if self._lock_step:
            self._clock_out.publish(Clock(clock=conversions.to_stamp(stamp)))
        else:
            stamp = time_ns()
        self._states_out.publish(self._stand_in.world.state, stamp)

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
        """Write what was asked for: a world without a clock is at rest."""
        self._real_time.end()
        self._timing.write()


def main() -> int:
    """Run the node."""
    return process.run(SimulatorNode)


if __name__ == "__main__":
    sys.exit(main())
