"""The node `multi_qp_controller`: states in, torques out, as a lifecycle node."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from time import monotonic, thread_time, time_ns

import numpy as np
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.ros import conversions, ending, parameters, process
from multi_qp_controller.ros.broadcast import Broadcast
from multi_qp_controller.ros.command_output import CommandOutput
from multi_qp_controller.ros.control_run import ControlRun, Judge
from multi_qp_controller.ros.controller_parameters import PARAMETERS
from multi_qp_controller.ros.diagnostics import Level
from multi_qp_controller.ros.health import Health
from multi_qp_controller.ros.inputs import Inputs
from multi_qp_controller.ros.plan_inputs import PlanInputs
from multi_qp_controller.ros.real_time import RealTime
from multi_qp_controller.ros.state_assembly import Receipt
from multi_qp_controller.ros.timing_log import TimingLog
from multi_qp_controller.ros.wire import Joints
from multi_qp_controller.standing import WAITING
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.bags.graph_recording import GraphRecording
from multi_qp_simulator.referee import Referee, succeeded

#: Of the file of times: the state's stamp, when it was answered [ns]; how long the answer and its parts took [s]; the
#: processor time of the loop until then [s]; whether the answer is a fallback.
TIMING = ("stamp", "sent", "answer", "tick", "prediction", "processor", "failed")


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
        self._active = False
        self._recording: GraphRecording | None = None
        self._plans: PlanInputs | None = None
        self._health = Health(self, dt=1.0)
        self._autostart = bool(self.get_parameter("autostart").value)
        self._timing = TimingLog(self.get_parameter("timing").value, TIMING)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load and validate the scenario; listen."""
        try:
            self._settings = parameters.values(self, PARAMETERS)
            self._settings["use_sim_time"] = self.get_parameter("use_sim_time").value
            self._scenario = parameters.load(self._settings)
            self._settings["period"] = parameters.control_period(self._settings, self._scenario)
            self._lock_step = bool(self._settings["lock_step"])
            self._recording = GraphRecording(self._settings["record"], self._scenario, patient=self._lock_step)
            self._begin()
            self._run.warm_up()
            rate, descriptions = (self._settings[name] for name in ("marker_rate", "descriptions"))
            self._broadcast = Broadcast(self, self._scenario, marker_rate=rate, descriptions=descriptions)
        except MultiQpError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        self._inputs = Inputs(self, self._scenario, self._run.assembler.topics, self)
        self._output = CommandOutput(self, self._scenario, every=self._lock_step)
        if self._scenario.spec.plan is not None:
            self._plans = PlanInputs(self, self._scenario, self._run.make_controller, self._health.warn)
        self._configured = True
        return TransitionCallbackReturn.SUCCESS

    def _begin(self) -> None:
        self._run = ControlRun(self._scenario, self._settings, self._make_judge)
        if self._recording is not None:
            self._recording.attach(self._run.controller)
        self._health.statistics.dt = self._run.controller.dt
        self._answered: int | None = None
        if self._plans is not None:
            self._plans.follower.begin()

    def _make_judge(self, scenario: Scenario, controller: Controller) -> Judge:
        longest = self._settings["duration"] or (math.inf if WAITING in scenario.spec.states else None)
        return Referee(scenario, controller, backend="ros", duration=longest, patient=True)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start from the next measured state; before it has come, nothing is commanded."""
        self._begin()
        process.settle()
        self._real_time = RealTime(self, lock_step=self._lock_step)
        self._real_time.begin()
        self._active = True
        self._health.tell(Level.WARN, f"waiting for {', '.join(self._run.assembler.missing)}")
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Leave zero efforts: an effort interface keeps the last ones for ever."""
        self._active = False
        self._real_time.end()
        self._output.rest(self._run.assembler.newest, self._run.contacts)
        self._broadcast.clear(self._run.assembler.newest)
        if self._plans is not None:
            self._plans.tell(active=False)
        self._health.tell(Level.STALE, "not active")
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the scenario."""
        self._inputs.destroy()
        self._output.destroy()
        if self._plans is not None:
            self._plans.destroy()
            self._plans = None
        self._broadcast.destroy()
        self._configured = False
        if self._recording is not None:
            self._recording.close(self.get_logger())
        return TransitionCallbackReturn.SUCCESS

    def close(self) -> None:
        """Deactivate, if need be, so that no effort stays behind."""
        if self._active:
            self.trigger_deactivate()
        self._timing.write()
        if self._recording is not None:
            self._recording.close(self.get_logger())

    def take_joints(self, subsystem: str, joints: Joints) -> None:
        """Take in a joint state."""

        def put() -> Receipt:
            at, assembler = self._arrival(f"{subsystem}/joint_states", joints.stamp), self._run.assembler
            return assembler.put_joints(subsystem, joints.stamp, at, joints.names, joints.position, joints.velocity)

        self._took(put)

    def take_root(self, subsystem: str, stamp: int, pose: conversions.Array, twist: conversions.Array) -> None:
        """Take in odometry."""

        def put() -> Receipt:
            at = self._arrival(f"{subsystem}/odom", stamp)
            return self._run.assembler.put_root(subsystem, stamp, at, pose, twist)

        self._took(put)

    def _arrival(self, topic: str, stamp: int) -> float | None:
        """Return when a message of a stamp [ns] was measured, by our clock [s]; None in lock-step."""
        if self._lock_step:
            return None
        measured = self._run.arrivals.measured(topic, stamp, monotonic())
        if topic == self._run.assembler.topics[0]:
            self._run.pacer.heard(measured)
        return measured

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
        if self._lock_step:
            self._answer_when_settled(receipt)

    def _answer_when_settled(self, receipt: Receipt) -> None:
        assembler = self._run.assembler
        newest = assembler.newest
        if not assembler.settled(assembler.clock):
            return
        if newest != self._answered:
            self._tick(monotonic())
        elif receipt is Receipt.REPEATED:  # the world still waits: the answer was lost
            self._output.repeat()

    def take_target(self, name: str, position: conversions.Array, rotation: conversions.Array | None) -> None:
        """Move a target."""
        if not self._active or name not in self._run.controller.targets:
            raise ValueError("the present state has no such target")
        self._run.controller.set_target(name, position, rotation)

    def take_load(self, name: str, mass: float) -> None:
        """Change a load."""
        if not self._active:
            raise ValueError("the controller is not active")
        self._scenario.scene.loads.set_mass(name, mass)

    def refuse_target(self, name: str, reason: str) -> None:
        """Tell of a target that could not be taken."""
        self._health.statistics.count("refused_targets")
        self._health.warn(f"target '{name}' was refused: {reason}")

    def take_command(self, name: str) -> None:
        """Pass a user's command on."""
        if self._active:
            self._run.controller.command(name)

    def work(self) -> float:
        """Do what is due between messages; return for how long nothing will be [s]."""
        if self._autostart:
            self._start()
        now = monotonic()
        if self._active and not self._lock_step and not self._run.assembler.missing:
            return self._keep_pace(now)
        self._health.publish_if_due(now)
        if self._active:
            self._broadcast.pass_on()
        waits = self._active and not self._lock_step
        return min(self._health.due - now, self._run.pacer.dt) if waits else self._health.due - now

    def _keep_pace(self, now: float) -> float:
        """By the wall clock: answer if it is time to; return for how long it will not be [s]."""
        run = self._run
        whole = run.whole
        due = run.pacer.due(fresh=whole)
        if now < due:
            return due - now
        if run.silent(now):
            self._health.publish_if_due(now)
            return run.pacer.dt
        if not whole and not run.hearing.over(now, due):
            return run.hearing.left(now)
        self._tick(now)
        self._health.publish_if_due(now)  # half a millisecond: while a state is on its way it would delay the answer
        return run.pacer.due(fresh=run.whole) - monotonic()

    def _start(self) -> None:
        self._autostart = False
        for transition in (self.trigger_configure, self.trigger_activate):
            if transition() is not TransitionCallbackReturn.SUCCESS:
                self.exit_status = process.BAD_INPUT
                return

    def _tick(self, now: float) -> None:
        """Answer the present state, at `now` by the steady clock [s]; the answer carries the state's stamp."""
        run, stamp, fresh = self._run, self._run.assembler.newest, self._run.whole
        state, command, faults = run.answer_in_step(stamp * 1e-9) if self._lock_step else run.answer_now(now)
        self._answered = stamp
        self._output.send(command, run.contacts, stamp)
        sent = monotonic()
        run.pacer.answered(now, sent, fresh=fresh)
        failed = command.diagnostics.status is Status.FALLBACK
        times = sent - now, command.diagnostics.tick_ms * 1e-3, run.prediction_time, thread_time()
        self._timing.add(stamp, time_ns(), *times, failed)
        self._health.statistics.tick(now, sent)
        self._health.statistics.counts["missed_periods"] = run.pacer.missed
        self._tell(command, faults)
        run.judge.observe(state, command)
        if self._recording is not None:
            self._recording.record(run.controller, command, stamp, state)
        self._broadcast.show(run.controller, command, stamp, now)
        if run.judge.ended is not None and not run.told_end:
            self._end()
        if self._plans is not None and command.diagnostics.status is not Status.FALLBACK:
            self._follow(self._plans, state)
        self._run.controller.settle()  # last: who watches looks at the tick that was answered

    def _follow(self, plans: PlanInputs, state: State) -> None:
        """Take up a plan, if there is one to take up now: the next state is answered by its first state."""
        controller = plans.controller_for(state, self._run.controller)
        if controller is None:
            return
        self._run.go_on_as(controller, self._make_judge)
        if self._recording is not None:
            self._recording.attach(controller)

    def _tell(self, command: Command, faults: list[str]) -> None:
        diagnostics = command.diagnostics
        self._health.statistics.count(f"ticks_{diagnostics.status}")
        if diagnostics.status is Status.OK:
            self._health.tell(Level.OK, f"in state '{diagnostics.state}'")
            return
        level = Level.WARN if diagnostics.status is Status.RELAXED else Level.ERROR
        self._health.tell(level, "; ".join([*faults, diagnostics.message]))

    def _end(self) -> None:
        """Report, once; whoever does not end with the run goes on in its last state."""
        self._run.told_end = True
        report = self._run.judge.report()
        well = succeeded(report)
        ending.tell(self, self._output.report, report, well=well, file=self._settings["report"])
        if self._settings["exit_at_end"]:
            self.exit_status = process.SUCCESS if well else process.GOALS_MISSED


def main() -> int:
    """Run the node."""
    np.seterr(invalid="ignore")  # a state with NaN is an answerable fault here
    return process.run(ControllerNode)


if __name__ == "__main__":
    sys.exit(main())
