"""Lifecycle node `multi_qp_controller`: subscribes to measured states and publishes joint torques."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, wraps
from time import monotonic, thread_time, time_ns
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from rclpy.clock import JumpHandle, JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from std_srvs.srv import Trigger

from motion_generation.standing import WAITING
from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_ros import parameters, process, topics
from multi_qp_ros.broadcast import Broadcast
from multi_qp_ros.command_output import CommandOutput
from multi_qp_ros.control_run import ControlRun, Monitor
from multi_qp_ros.controller_parameters import PARAMETERS
from multi_qp_ros.diagnostics import Level
from multi_qp_ros.generator_parameters import GeneratorParameters
from multi_qp_ros.health import Health
from multi_qp_ros.inputs import subscribe_forces, subscribe_states
from multi_qp_ros.raw_messages import Joints, Root
from multi_qp_ros.real_time import RealTime
from multi_qp_ros.recording.graph_recording import GraphRecording
from multi_qp_ros.run_end import publish_report
from multi_qp_ros.state_assembly import MessageStatus
from multi_qp_ros.state_intake import StateIntake
from multi_qp_ros.state_output import FootprintOutput
from multi_qp_ros.timing_log import TimingLog
from multi_qp_ros.user_requests import UserRequests
from multi_qp_ros.velocity_commands import command_warnings
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.run_monitor import RunMonitor, succeeded

if TYPE_CHECKING:
    from multi_qp_ros.plan_inputs import PlanInputs

#: Columns of the timing file: stamp of the state, time of the command [ns]; duration of the answer and of its parts
#: [s]; CPU time of the loop so far [s]; whether the command is a fallback.
TIMING = ("stamp", "sent", "answer", "tick", "prediction", "processor", "failed")
#: Diagnostics of a node that has not been active yet, or was deactivated.
NOT_ACTIVE = Level.STALE, "not active"
#: Name of the failing operation when no command could be computed for a state.
TICK = "tick"

Transition = Callable[[Any, LifecycleState], TransitionCallbackReturn]


def logged(transition: Transition) -> Transition:
    """Return a transition that logs an exception and returns ERROR; rclpy does not log it."""

    @wraps(transition)
    def run(self: ControllerNode, state: LifecycleState) -> TransitionCallbackReturn:
        try:
            return transition(self, state)
        except KeyboardInterrupt:  # the process ends
            return TransitionCallbackReturn.FAILURE
        except Exception as error:
            self.failed(transition.__name__, error)
            return TransitionCallbackReturn.ERROR

    return run


class ControllerNode(LifecycleNode):
    """Lifecycle node of the controller.

    Configuring loads and validates the scenario; activating starts from the measured state; zero efforts are published
    whenever `active` is left.

    Attributes:
        exit_status: exit status of the process, set when it is to end.
    """

    def __init__(self) -> None:
        super().__init__("multi_qp_controller", automatically_declare_parameters_from_overrides=True)
        parameters.declare(self, PARAMETERS, generators=True)
        self._configured = False
        self._parts: list[Any] = []
        self.add_on_set_parameters_callback(
            lambda given: parameters.refuse_changes(given, PARAMETERS, configured=self._configured)
        )
        self.exit_status: int | None = None
        self._active = False
        self._inactive = NOT_ACTIVE
        self._recording: GraphRecording | None = None
        self._plans: PlanInputs | None = None
        self._generator_parameters: GeneratorParameters | None = None
        self._health = Health(self, dt=1.0)
        self._jumped_back = 0.0
        self._jumps: JumpHandle | None = None
        self.create_service(Trigger, "~/reset", self._reset)
        self._autostart = bool(self.get_parameter("autostart").value)
        self._timing = TimingLog(self.get_parameter("timing").value, TIMING)
        self._permanent = {*self.publishers, *self.subscriptions}  # which are not of a scenario

    @logged
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load and validate the scenario; create publishers and subscriptions."""
        self._permanent = {*self.publishers, *self.subscriptions}
        try:
            self._settings = parameters.values(self, PARAMETERS)
            self._settings["use_sim_time"] = self.get_parameter("use_sim_time").value
            if self._settings["attended"]:
                self.get_logger().warning("the parameter 'attended' is deprecated: use 'interactive'")
                self._settings["interactive"] = True
            self._scenario = parameters.load(self._settings)
            if self._scenario.spec.closed_loop.impedance is not None:
                self.get_logger().warning("closed_loop.impedance is not sent: commands are torques alone")
            self._settings["period"] = parameters.control_period(self._settings, self._scenario)
            self._lock_step = bool(self._settings["lock_step"])
            file, log = self._settings["record"], self.get_logger()
            self._recording = GraphRecording(file, self._scenario, blocking=self._lock_step, log=log)
            self._generator_parameters = GeneratorParameters(self, self._scenario)
            self._parts.append(self._generator_parameters)
            self._begin()
            self._run.warm_up()
            rate, descriptions = (self._settings[name] for name in ("marker_rate", "descriptions"))
            self._broadcast = Broadcast(self, self._scenario, marker_rate=rate, descriptions=descriptions)
            self._parts.append(self._broadcast)
        except MultiQpError as error:
            self.get_logger().error(str(error))
            self._release()
            return TransitionCallbackReturn.FAILURE
        state_topics, takes = self._run.assembler.topics, (self._take_joints, self._take_root)
        states = subscribe_states(self, self._health, self._scenario.scene, state_topics, *takes)
        subscribe_forces(self, self._health, self._scenario, self._take_force)
        active, stamped = self._active_controller, self._settings["stamped_cmd_vel"]
        UserRequests(self, self._health, self._scenario, active, stamped_velocity=stamped)
        self._output = CommandOutput(self, self._scenario, every=self._lock_step)
        self._footprints = FootprintOutput(self, self._scenario)
        self._intake = StateIntake(
            self,
            self._health,
            states,
            self._output.efforts,
            lock_step=self._lock_step,
            simulated=bool(self._settings["use_sim_time"]),
        )
        self._parts.append(self._intake.watch)
        oldest = Duration(seconds=-self._settings["max_state_age"] * self._settings["period"])
        threshold = JumpThreshold(min_forward=None, min_backward=oldest, on_clock_change=False)
        self._jumps = self.get_clock().create_jump_callback(threshold, post_callback=self._clock_jumped)
        if self._scenario.spec.plan is not None:
            from multi_qp_ros.plan_inputs import PlanInputs  # slow to import, and needed by few scenes

            self._plans = PlanInputs(self, self._health, self._scenario, self._run.make_controller)
        self._configured = True
        return TransitionCallbackReturn.SUCCESS

    def _begin(self) -> None:
        self._run = ControlRun(self._scenario, self._settings, self._make_monitor)
        if self._recording is not None:
            self._recording.attach(self._run.controller)
        if self._generator_parameters is not None:
            self._generator_parameters.attach(self._run.controller)
        self._health.statistics.dt = self._run.controller.dt
        self._answered: int | None = None
        if self._plans is not None:
            self._plans.follower.begin()

    def _active_controller(self) -> Controller | None:
        return self._run.controller if self._active else None

    def _make_monitor(self, scenario: Scenario, controller: Controller) -> Monitor:
        longest = self._settings["duration"] or (math.inf if WAITING in scenario.spec.states else None)
        return RunMonitor(scenario, controller, backend="ros", duration=longest, wait_for_recovery=True)

    @logged
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start from the next measured state; nothing is commanded before it is received."""
        self._begin()
        self._intake.begin(self._run)
        self._last_tick, self._jumped_back = monotonic(), 0.0
        process.post_update()
        self._real_time = RealTime(self, lock_step=self._lock_step)
        self._real_time.begin()
        self._inactive = NOT_ACTIVE
        self._active = True
        self._health.set_status(Level.WARN, f"waiting for {', '.join(self._run.assembler.missing)}")
        return super().on_activate(state)

    @logged
    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Publish zero efforts."""
        self._send_zero_efforts()
        return super().on_deactivate(state)

    @logged
    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release the scenario and all publishers and subscriptions."""
        self._release()
        return super().on_cleanup(state)

    @logged
    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Publish zero efforts and release the scenario; the node cannot be configured again."""
        self._inactive = Level.STALE, "shut down"
        self._send_zero_efforts()
        self._release()
        return super().on_shutdown(state)

    @logged
    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Publish zero efforts and release the scenario after a transition that raised; the node can be configured."""
        self._inactive = Level.ERROR, f"a transition from '{state.label}' failed"
        self._send_zero_efforts()
        self._release()
        return super().on_error(state)

    def _send_zero_efforts(self) -> None:
        """Publish zero efforts last, even if other steps fail: effort interfaces hold the last command."""
        if self._active:
            self._attempt(lambda: self._output.rest(self._run.assembler.newest, self._run.contacts))
            self._active = False  # only now: if this is interrupted, `close` repeats it
            self._attempt(self._real_time.end)
            self._attempt(lambda: self._broadcast.clear(self._run.assembler.newest))
            if self._plans is not None:
                self._attempt(partial(self._plans.publish_status, active=False))
            if self._settings["exit_at_end"] and self.exit_status is None:  # the run was aborted
                self.exit_status = process.GOALS_MISSED
        self._health.set_status(*self._inactive)

    def _release(self) -> None:
        """Release the scenario and destroy all publishers and subscriptions."""
        if self._jumps is not None:
            self._attempt(self._jumps.unregister)
            self._jumps = None
        while self._parts:
            self._attempt(self._parts.pop().destroy)
        for one in {*self.publishers} - self._permanent:
            self._attempt(partial(self.destroy_publisher, one))
        for one in {*self.subscriptions} - self._permanent:
            self._attempt(partial(self.destroy_subscription, one))
        self._plans = self._generator_parameters = None
        self._configured = False
        if self._recording is not None:
            self._attempt(self._recording.close)

    def _attempt(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:
            self._health.failed("leaving 'active'", error)

    def _deactivate(self, level: Level, reason: str) -> None:
        """Leave `active` for a reason that is published in the diagnostics."""
        self._inactive = level, reason
        self.trigger_deactivate()
        self._send_zero_efforts()  # also if the transition failed

    def failed(self, doing: str, error: Exception) -> None:
        """Count and log an exception; an exception in the control loop deactivates the node."""
        self._health.failed(doing, error)
        if self._active and doing in (TICK, "work"):
            self._deactivate(Level.ERROR, f"deactivated: {doing} raised {type(error).__name__}: {error}")

    def close(self, reason: str, patience: float | None) -> None:
        """Deactivate if active, so that no effort remains applied."""
        if self._active:
            self._deactivate(Level.STALE, f"the process ends: {reason}")
        self._health.publish()
        self._attempt(self._timing.write)
        if self._recording is not None:
            self._attempt(partial(self._recording.close, patience=patience))
            if self._recording.failure and not self.exit_status:
                self.exit_status = process.BAD_INPUT

    def destroy_node(self) -> None:
        """Destroy the node."""
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()  # rclpy does not, and it holds the node's handle

    def _take_joints(self, subsystem: str, joints: Joints) -> None:
        if self._active:
            self._step_if_complete(self._intake.take_joints(self._run, subsystem, joints))

    def _take_root(self, subsystem: str, root: Root) -> None:
        if self._active:
            self._step_if_complete(self._intake.take_root(self._run, subsystem, root))

    def _step_if_complete(self, message_status: MessageStatus) -> None:
        if not self._lock_step:
            return
        assembler = self._run.assembler
        if not assembler.complete(assembler.clock) or self._run.contact_forces.awaited(assembler.newest * 1e-9):
            return
        if assembler.instant != self._answered:
            self._tick(monotonic())
        elif message_status is MessageStatus.REPEATED:  # the simulator still waits: the command was lost
            self._output.repeat()

    def _reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self._active
        response.message = "the run restarts from the measured state" if self._active else "not active"
        if self._active:
            self._restart("resets", "reset")
        return response

    def _clock_jumped(self, jump: TimeJump) -> None:
        self._jumped_back = -jump.delta.nanoseconds * 1e-9

    def _restart(self, count: str, why: str) -> None:
        """Restart the run from the measured state."""
        self._health.statistics.count(count)
        self.get_logger().warning(f"{why}: the run restarts from the measured state")
        self._begin()
        self._intake.begin(self._run, anew=self._lock_step)
        self._last_tick = monotonic()
        self._step_if_complete(MessageStatus.TAKEN)

    def _take_force(self, contact: str, force: float, stamp: int) -> None:
        if self._active:
            self._run.contact_forces.put(contact, force, stamp * 1e-9 if self._lock_step else monotonic())
            self._step_if_complete(MessageStatus.TAKEN)

    def work(self) -> float:
        """Do what is due between messages; return the time until something is due next [s]."""
        if self._autostart:
            self._start()
        now = monotonic()
        if self._active and self._jumped_back:
            why = self._intake.check_clock(now)
            if why is not None:
                back, self._jumped_back = self._jumped_back, 0.0
                if why:
                    self._health.refuse(topics.CLOCK, why)
                else:
                    self._restart("time_jumps", f"/clock jumped back by {back:.3f} s")
        if self._active and not self._lock_step and not self._run.assembler.missing:
            return self._work_in_real_time(now)
        self._report(now)
        if self._active:
            self._broadcast.pass_on()
        waits = self._active and not self._lock_step
        return min(self._health.due - now, self._run.rate_controller.dt) if waits else self._health.due - now

    def _work_in_real_time(self, now: float) -> float:
        """Real-time mode: compute a command if it is due; return the time until the next one is due [s]."""
        run = self._run
        whole = run.complete
        due = run.rate_controller.due(fresh=whole)
        if now < due:
            return due - now
        if run.silent(now):
            self._report(now)
            return run.rate_controller.dt
        if not whole and not run.catch_up.over(now, due):
            return run.catch_up.left(now)
        self._tick(now)
        self._report(now)  # takes 0.5 ms, which would delay the command if it came before the tick
        return run.rate_controller.due(fresh=run.complete) - monotonic()

    def _report(self, now: float) -> None:
        """Check the publishers in the graph, and publish diagnostics if they are due."""
        if self._active:
            self._intake.watch.look(now)
            if now >= self._health.due:
                self._intake.check(self._run, now, self._last_tick)
        self._health.publish_if_due(now)

    def _start(self) -> None:
        self._autostart = False
        for transition in (self.trigger_configure, self.trigger_activate):
            if transition() is not TransitionCallbackReturn.SUCCESS:
                self.exit_status = process.BAD_INPUT
                return

    def _tick(self, now: float) -> None:
        """Compute and publish the command for the present state at `now` (steady clock) [s], with the state's stamp."""
        run, stamp, fresh = self._run, self._run.assembler.newest, self._run.complete
        try:
            state, command, faults = (
                run.lock_step_command(stamp * 1e-9) if self._lock_step else run.wall_clock_command(now)
            )
            self._answered, self._last_tick = run.assembler.instant, now
            self._output.send(command, run.contacts, stamp)
        except Exception as error:
            self.failed(TICK, error)
            return
        sent = monotonic()
        run.rate_controller.answered(now, sent, fresh=fresh)
        failed = command.diagnostics.status is Status.FALLBACK
        times = sent - now, command.diagnostics.tick_ms * 1e-3, run.prediction_time, thread_time()
        self._timing.add(stamp, time_ns(), *times, failed)
        self._health.statistics.tick(now, sent)
        self._health.statistics.counts["missed_periods"] = run.rate_controller.missed
        self._update_health(command, faults)
        try:
            self._after_tick(state, command, stamp, now)
        except Exception as error:  # the control loop continues
            self.failed("after a tick", error)

    def _after_tick(self, state: State, command: Command, stamp: int, now: float) -> None:
        """Do the work that is outside the latency-critical path, after the command was sent."""
        run = self._run
        run.monitor.observe(state, command)
        self._footprints.publish(state, stamp)
        if self._recording is not None:
            self._recording.record(run.controller, command, stamp, state)
            self._health.statistics.counts["ticks_not_recorded"] = self._recording.lost
        self._broadcast.show(run.controller, command, stamp, now)
        if run.monitor.ended is not None and not run.end_reported:
            self._end()
        if self._plans is not None and command.diagnostics.status is not Status.FALLBACK:
            self._follow(self._plans, state)
        self._run.controller.post_update()  # last: monitor, recording and markers refer to the tick just computed

    def _follow(self, plans: PlanInputs, state: State) -> None:
        """Switch to the controller of a new plan, if there is one: its first state computes the next command."""
        controller = plans.controller_for(state, self._run.controller)
        if controller is None:
            return
        self._run.go_on_as(controller, self._make_monitor)
        if self._recording is not None:
            self._recording.attach(controller)

    def _update_health(self, command: Command, faults: list[str]) -> None:
        diagnostics = command.diagnostics
        self._health.statistics.count(f"ticks_{diagnostics.status}")
        failure = "" if self._recording is None else self._recording.failure
        failure = "; ".join(filter(None, [failure, command_warnings(self._run.controller)]))
        if diagnostics.status is Status.OK:
            message = f"in state '{diagnostics.state}'"
            self._health.set_status(*((Level.WARN, f"{message}; {failure}") if failure else (Level.OK, message)))
            return
        level = Level.ERROR if diagnostics.status is Status.FALLBACK else Level.WARN
        for fault in faults:
            self._health.log(fault)
        self._health.set_status(level, "; ".join([*faults, diagnostics.message]), logged=True)

    def _end(self) -> None:
        """Publish the report, once; without `exit_at_end` the controller continues in its last state."""
        self._run.end_reported = True
        report = self._run.monitor.report()
        well = succeeded(report)
        if self._recording is not None:
            report |= self._recording.report()
        written = publish_report(self, self._output.report, report, well=well, file=self._settings["report"])
        if self._settings["exit_at_end"]:
            status = process.SUCCESS if well else process.GOALS_MISSED
            self.exit_status = status if written else process.BAD_INPUT


def main() -> NoReturn:
    """Run the node."""
    np.seterr(invalid="ignore")  # the controller handles states with NaN
    process.run(ControllerNode)


if __name__ == "__main__":
    main()
