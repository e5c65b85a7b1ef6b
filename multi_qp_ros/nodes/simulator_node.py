"""Node `simulator`: simulates the robots; subscribes to efforts, publishes joint states, odometry and the clock."""

from __future__ import annotations

from functools import partial
from math import ceil
from time import monotonic, time_ns
from typing import Any, NoReturn

from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray, String

from multi_qp_ros import conversions, parameters, process, topics
from multi_qp_ros.diagnostics import Level
from multi_qp_ros.health import Health
from multi_qp_ros.parameters import SCENARIO_PARAMETERS, NodeParameter
from multi_qp_ros.qos import COMMAND_QOS, EVENT_QOS, LATCHED_QOS, LATEST_QOS, OFFERED_STATE_QOS
from multi_qp_ros.raw_messages import JointReader, Joints
from multi_qp_ros.real_time import REAL_TIME_PARAMETERS, RealTime
from multi_qp_ros.scenario_node import ScenarioNode
from multi_qp_ros.state_output import ContactForceOutput, StateOutput
from multi_qp_ros.subscriptions import read_json, subscribe
from multi_qp_ros.timing_log import TimingLog
from multi_qp_scene.errors import MultiQpError
from multi_qp_simulator.simulated_robot import LONGEST_LAG, LONGEST_SILENCE, WORLDS, SimulatedRobot, make_world

NAMED, BARE = "joint_commands", "effort_controller"
PARAMETERS = (
    *SCENARIO_PARAMETERS,
    NodeParameter("backend", "integrator", "simulator backend", choices=tuple(WORLDS)),
    NodeParameter("speed", 1.0, "largest real-time factor; 0: as fast as possible", 0.0, 1000.0),
    NodeParameter("physics_rate", 500.0, "real-time mode: least number of physics steps per second", 1.0, 1e4),
    NodeParameter("watchdog_periods", 5, "periods without a command after which a robot brakes", 1, 1000),
    NodeParameter(
        "watchdog_time", LONGEST_SILENCE, "time after which it brakes, if it is above 1.5 periods [s]", 0.001, 60.0
    ),
    NodeParameter("command_interface", NAMED, "type of the commands of the robots", choices=(NAMED, BARE)),
    NodeParameter("patience", 0.5, "lock-step: how long to wait for a command before continuing [s]", 0.01, 60.0),
    *REAL_TIME_PARAMETERS,
    NodeParameter("timing", "", "file for the times of every command (npz) at the end of the process"),
)
#: Columns of the timing file: stamp of the state that a command is for, and time of its arrival [ns].
TIMING = ("stamp", "received")
#: Lock-step: a command that is late by no more than this multiple of `patience` shows that a controller is running.
LONGEST_LATENESS = 10
#: Lock-step: time without a command after which diagnostics and log report the missing topics [s].
LONG_WAIT = 0.8
#: Lock-step: time without a command after which the state is sent again [s]; states are best effort and may be lost.
RESEND_PERIOD = 0.05


class SimulatorNode(ScenarioNode):
    """Steps the simulated robots: in lock-step, once all have a command for the present state; else in real time.

    In real-time mode physics has its own rate: a command acts from its reception on and is held. States are published
    once per control period in both modes.
    """

    def __init__(self) -> None:
        super().__init__("simulator", PARAMETERS)
        settings = self._settings
        self._scene = self._scenario.scene
        self._dt = parameters.control_period(settings, self._scenario)
        self._lock_step, self._named = settings["lock_step"], settings["command_interface"] == NAMED
        if self._lock_step and not self._named:
            raise MultiQpError(f"lock_step needs the stamps of {NAMED}: command_interface cannot be '{BARE}'")
        self._speed, self._patience = settings["speed"], settings["patience"]
        self._substeps = 1 if self._lock_step else ceil(self._dt * settings["physics_rate"] - 1e-9)
        self._simulated_robot = SimulatedRobot(
            self._scenario,
            make_world(settings["backend"], self._scenario),
            dt=self._dt,
            substeps=self._substeps,
            watchdog_periods=settings["watchdog_periods"],
            watchdog_time=settings["watchdog_time"],
        )
        self._timing = TimingLog(settings["timing"], TIMING)
        self._answered: set[str] = set()
        self._mismatched: dict[str, int] = {}  # stamp of the last answer to another state, by topic [ns]
        self._applied: dict[str, int] = dict.fromkeys(self._simulated_robot.robots, 0)
        self._pending_contacts: tuple[list[str], int] | None = None
        self._alone = False
        self._spins_before_step = 0
        self._health = Health(self, dt=self._simulated_robot.dt)
        self._fault = ""
        self._offer()
        process.post_update()
        self._real_time = RealTime(self, lock_step=self._lock_step)
        self._real_time.begin()
        now = monotonic()
        self._due = self._shown = self._waiting_since = now

    def _offer(self) -> None:
        """Create publishers and subscriptions."""
        scene = self._scene
        self._clock_out = self.create_publisher(Clock, topics.CLOCK, OFFERED_STATE_QOS)
        self._forces_out = ContactForceOutput(self, self._scenario)
        self._states_out = StateOutput(self, scene)
        qos = COMMAND_QOS if self._lock_step else LATEST_QOS
        for robot in self._simulated_robot.robots:
            if self._named:
                take, read = partial(self._take_named, robot), JointReader().read
                subscribe(self, self._health, JointState, topics.joint_commands(robot), take, qos, read=read)
            else:
                take = partial(self._take_bare, robot)
                subscribe(self, self._health, Float64MultiArray, topics.effort_commands(robot), take, qos)
        state = topics.CONTROLLER_STATE
        subscribe(self, self._health, String, state, self._take_contacts, LATCHED_QOS)
        for load in scene.loads.masses:  # the controller subscribes to the same topics
            topic = topics.target(self._scenario.name, load)
            subscribe(self, self._health, Float64, topic, partial(self._take_load, load), EVENT_QOS)

    @property
    def _stamp(self) -> int:
        return round(self._simulated_robot.time * 1e9)

    def _take_named(self, robot: str, message: Joints) -> None:
        self._catch_up()
        if self._lock_step and not self._is_for_now(message.stamp):
            self._mismatched[topics.joint_commands(robot)] = message.stamp
            return
        self._timing.add(message.stamp, time_ns())
        self._try(self._simulated_robot.command, robot, message.effort, message.names)
        self._answered.add(robot)
        self._applied[robot] = message.stamp
        self._apply_contacts()

    def _take_bare(self, robot: str, message: Float64MultiArray) -> None:
        self._catch_up()
        self._try(self._simulated_robot.command, robot, message.data)

    def _take_contacts(self, message: String) -> None:
        state = read_json(message.data)
        contacts, stamp = state.get("contacts"), state.get("stamp")
        if not (isinstance(contacts, list) and all(isinstance(name, str) for name in contacts)):
            raise ValueError("expected `contacts`, a list of names")
        if not isinstance(stamp, int):
            raise ValueError("expected `stamp`, a time [ns]")
        self._catch_up()
        if self._lock_step and not self._is_for_now(stamp):
            self._mismatched[topics.CONTROLLER_STATE] = stamp
            return
        self._answered.add(topics.CONTROLLER_STATE)
        self._pending_contacts = contacts, stamp
        self._apply_contacts()

    def _apply_contacts(self) -> None:
        """Apply contacts together with the efforts of the same command.

        A contact released under the previous efforts would be torn off. Bare efforts have no stamp, and in lock-step no
        time passes before all commands are received.
        """
        if self._pending_contacts is None:
            return
        contacts, stamp = self._pending_contacts
        if self._lock_step or not self._named or min(self._applied.values(), default=stamp) >= stamp:
            self._pending_contacts = None
            self._try(self._simulated_robot.set_contacts, contacts)

    def _take_load(self, load: str, message: Float64) -> None:
        self._try(self._scene.loads.set_mass, load, message.data)

    def _is_for_now(self, stamp: int) -> bool:
        """Return whether a command is for the present state; one for a recent state shows that a controller is back."""
        behind = self._stamp - stamp
        if self._alone and 0 <= behind < LONGEST_LATENESS * self._patience * 1e9:
            # wait longer by its delay: a slow controller would otherwise be late each time and never be applied
            self._alone, self._waiting_since = False, monotonic() + behind * 1e-9
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
        """Step if a step is due; return the time until something is due next [s]."""
        now = monotonic()
        if not self._simulated_robot.started:
            self._due = max(self._due, now)  # time begins with the first commands
        if self._spins_before_step:
            self._spins_before_step -= 1
            return 0.0
        if self._is_ready(now):
            self._advance(now)
        elif now - self._shown >= self._repeat_after:
            self._show(now)
        self._health.set_status(*self._status())
        if now >= self._health.due:
            self._health.publish()
            self._fault = ""
        if self._lock_step and not self._has_answers:
            return RESEND_PERIOD
        if not self._simulated_robot.started or self._simulated_robot.broken:  # sleep: leave the CPU to other processes
            return max(0.0, self._shown + self._repeat_after - monotonic())
        return max(0.0, self._due - monotonic())

    @property
    def _repeat_after(self) -> float:
        """Time after which the same state is published again [s], short enough that it does not become too old."""
        if self._lock_step:
            return RESEND_PERIOD
        return 2.0 * self._dt if self._simulated_robot.started else self._dt

    def _catch_up(self) -> None:
        """Advance the simulation to the present before a message just received acts; not in lock-step.

        Not between messages that were queued together: they act from the same time on.
        """
        if not (self._lock_step or self._spins_before_step) and self._is_ready(now := monotonic()):
            self._advance(now)

    def _advance(self, now: float) -> None:
        """Take all steps that are due, without processing messages in between.

        After a stall, a command received now applies to the present: before or between the overdue steps it would act
        too early, and on one robot of several. All queued messages are then processed before the next step. The time
        that several steps take is dropped: otherwise physics would run faster than the clock, and commands act late,
        until it has caught up.
        """
        began = self._simulated_robot.steps
        whole = self._step(now)
        while self._due <= now and self._speed and not (self._lock_step or self._simulated_robot.broken):
            whole |= self._step(now)
            self._spins_before_step = len(self._simulated_robot.robots) + 2
        if not self._lock_step and self._simulated_robot.steps - began > self._substeps:
            self._due = max(self._due, monotonic())
        if whole:
            self._show(now)

    def _step(self, now: float) -> bool:
        """Take one physics step, and return whether it was the last one of a control period."""
        simulated_robot, began = self._simulated_robot, monotonic()
        simulated_robot.step()
        self._health.statistics.tick(began, monotonic())
        self._answered.clear()
        latest = now - (self._dt if self._lock_step else LONGEST_LAG * self._dt)
        self._due = max(self._due + simulated_robot.dt / self._speed, latest) if self._speed else now
        self._waiting_since = now
        return simulated_robot.steps % self._substeps == 0

    @property
    def _has_answers(self) -> bool:
        return len(self._answered) == len(self._simulated_robot.robots) + 1

    def _is_ready(self, now: float) -> bool:
        if now < self._due or self._simulated_robot.broken:
            return False
        if not self._lock_step:
            return self._simulated_robot.started
        if self._has_answers:
            return True
        # no commands: the simulation continues in real time, and the watchdogs brake the robots
        if self._simulated_robot.started and (self._alone or now - self._waiting_since > self._patience):
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
        self._forces_out.publish(self._simulated_robot.wrenches, stamp)
        self._states_out.publish(self._simulated_robot.world.state, stamp)

    def _status(self) -> tuple[Level, str]:
        silence = self._simulated_robot.timed_out
        if self._simulated_robot.broken:
            return Level.ERROR, "the next state is not finite: the simulation is stopped"
        if not self._simulated_robot.started:
            return Level.STALE, f"waits for the first commands: {self._lacking()}"
        if silence:
            reason = f" ({self._fault})" if self._fault else ""
            return Level.ERROR, f"no commands for {', '.join(silence)}: braking{reason}"
        if self._lock_step and not self._has_answers and monotonic() - self._waiting_since > LONG_WAIT:
            fault = f"; {self._fault}" if self._fault else ""
            return (
                Level.WARN,
                f"waits for the answer to the state of {self._stamp * 1e-9:.6f} s: {self._lacking()}{fault}",
            )
        return (Level.WARN, self._fault) if self._fault else (Level.OK, "")

    def _lacking(self) -> str:
        """Return the topics of the missing commands, and the stamps of those received instead."""
        if not self._lock_step:
            return ", ".join(self._simulated_robot.timed_out)
        robots = {robot: topics.joint_commands(robot) for robot in self._simulated_robot.robots}
        lacking = [topic for robot, topic in robots.items() if robot not in self._answered]
        if topics.CONTROLLER_STATE not in self._answered:
            lacking.append(topics.CONTROLLER_STATE)
        return ", ".join(
            f"{topic} (last one for {self._mismatched[topic] * 1e-9:.6f} s)" if topic in self._mismatched else topic
            for topic in lacking
        )

    def close(self, reason: str, patience: float | None) -> None:
        """Write the timing file and release the real-time settings."""
        self._health.end(reason)
        self._real_time.end()
        self._timing.write()


def main() -> NoReturn:
    """Run the node."""
    process.run(SimulatorNode)


if __name__ == "__main__":
    main()
