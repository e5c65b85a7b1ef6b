"""Simulation of the real-time graph in one process: messages and computations have prescribed, random delays."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from math import ceil, inf
from typing import Any

import numpy as np

from multi_qp_controller.command import Command, Status
from multi_qp_ros.control_run import ControlRun
from multi_qp_ros.node_table import PATIENT_SIMULATOR
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.run_monitor import RunMonitor
from multi_qp_simulator.simulated_robot import LONGEST_LAG, SimulatedRobot, make_world

#: Time step [s].
GRAIN = 5e-4
#: Least number of physics steps per second, the default of the simulator node.
PHYSICS_RATE = 500.0

Delay = Callable[[np.random.Generator], float]


def about(typical: float) -> Delay:
    """Return a delay with this mean [s]: 70 % constant, 30 % exponentially distributed."""
    return lambda rng: float(0.7 * typical + rng.exponential(0.3 * typical))


@dataclass(frozen=True)
class Delays:
    """Random delays [s]; the defaults are those of two slow, otherwise idle cores.

    Attributes:
        state: of each state message.
        answer: computation of a command, until it is sent.
        command: of the messages of a command.
    """

    state: Delay = about(8e-4)
    answer: Delay = about(3e-3)
    command: Delay = about(3e-4)


@dataclass(frozen=True)
class Stall:
    """Temporary loss of CPU time or messages.

    Attributes:
        length: duration [s].
        controller: whether the controller has no CPU time; its messages are queued.
        robots: whether the simulator has no CPU time; overdue steps are taken afterwards.
        states: whether state messages are lost.
        commands: whether command messages are lost.
    """

    length: float
    controller: bool = False
    robots: bool = False
    states: bool = False
    commands: bool = False


class DelayedGraph:
    """Controller and simulated robots with the timing of their real-time nodes, without messages and in simulated time.

    Attributes:
        run: run of the controller.
        simulated_robot: the robots.
        delays: delays of messages and computations.
        now: present time [s].
        statuses: status of each command.
        fastest: largest speed of any joint or base so far [rad/s, m/s].
    """

    def __init__(
        self,
        load: Callable[[], Scenario],
        *,
        dt: float | None = None,
        delays: Delays | None = None,
        seed: int = 0,
        settings: dict[str, Any] | None = None,
        backend: str = "integrator",
        walks: bool = False,
    ) -> None:
        """Begin with robots at rest.

        Args:
            load: loads the scenario; called once for the controller and once for the simulator.
            dt: control period [s]; the scenario's if None.
            delays: delays of messages and computations; the default ones if None.
            seed: seed of the delays.
            settings: settings of the controller node that differ from the defaults.
            backend: simulator backend.
            walks: whether the watchdogs are those of robots that walk dynamically.
        """
        scenario, self._robots = load(), load()
        self.dt = scenario.spec.dt if dt is None else dt
        given = {"period": self.dt, "closed_loop": False, "solver": "", "formulation": "", "interactive": False}
        # a deadline would be in wall-clock time, not in simulated time: lock-step has none
        given |= {"lock_step": True, "use_sim_time": False, "max_state_age": 5, "compensate_delay": True}
        self.run = ControlRun(scenario, given | (settings or {}), _make_monitor)
        self._substeps = ceil(self.dt * PHYSICS_RATE - 1e-9)
        world = make_world(backend, self._robots)
        watchdog: Any = PATIENT_SIMULATOR if walks else {}
        self.simulated_robot = SimulatedRobot(self._robots, world, dt=self.dt, substeps=self._substeps, **watchdog)
        self.delays, self._rng, self._order = delays or Delays(), np.random.default_rng(seed), count()
        self._states: list[tuple[float, int, str, int, State]] = []
        self._forces: list[tuple[float, int, dict[str, Any]]] = []
        self._commands: list[tuple[float, int, str | None, Any]] = []
        self.now = self.fastest = self._shown = self._due = 0.0
        self._grains = 0
        self._controller_busy_until = self._robots_stalled_until = self._states_lost_until = (
            self._commands_lost_until
        ) = 0.0  # until when
        self.statuses: list[Status] = []

    @property
    def ended(self) -> bool:
        """Whether the run has ended, or the robots' state would not be finite."""
        return self.run.monitor.ended is not None or self.simulated_robot.broken

    @property
    def phase(self) -> str:
        """Name of the controller's state."""
        return self.run.controller.machine.present.name

    def stall(self, stall: Stall) -> None:
        """Begin a stall now."""
        until = self.now + stall.length
        if stall.controller:
            self._controller_busy_until = max(self._controller_busy_until, until)
        if stall.robots:
            self._robots_stalled_until = until
        if stall.states:
            self._states_lost_until = until
        if stall.commands:
            self._commands_lost_until = until

    def go(self, until: float) -> DelayedGraph:
        """Advance until a time [s], or until the run has ended."""
        while self.now < until and not self.ended:
            self._grains += 1
            self.now = self._grains * GRAIN
            if self.now >= self._robots_stalled_until:
                self._simulate()
            self._receive_states()
            if self.now >= self._controller_busy_until:
                self._control()
        return self

    def _control(self) -> None:
        """Compute a command if it is due, as in the controller node."""
        run, now = self.run, self.now
        if run.assembler.missing:
            return
        whole = run.complete
        due = run.rate_controller.due(fresh=whole)
        if now < due or run.silent(now) or not (whole or run.catch_up.over(now, due)):
            return
        state, command, _ = run.wall_clock_command(now)
        self._controller_busy_until = now + self.delays.answer(self._rng)
        run.rate_controller.answered(now, self._controller_busy_until, fresh=whole)
        run.monitor.observe(state, command)
        self.statuses.append(command.diagnostics.status)
        self._send(command)
        run.controller.post_update()

    def _send(self, command: Command) -> None:
        at, contacts = self._controller_busy_until + self.delays.command(self._rng), self.run.contacts
        if at < self._commands_lost_until:
            return
        for robot in self.simulated_robot.robots:
            tau = command.tau[self._robots.scene.subsystems[robot].actuated]
            heapq.heappush(self._commands, (at, next(self._order), robot, tau))
        heapq.heappush(self._commands, (at, next(self._order), None, contacts))

    def _receive_states(self) -> None:
        run, now = self.run, self.now
        assembler = run.assembler
        while self._forces and self._forces[0][0] <= now:
            for contact, wrench in heapq.heappop(self._forces)[2].items():
                run.contact_forces.put(contact, -float(wrench[2]), now)
        while self._states and self._states[0][0] <= now:
            _, _, topic, stamp, state = heapq.heappop(self._states)
            at = run.arrivals.measured(topic, stamp, now)
            if topic == assembler.topics[0]:
                run.rate_controller.record_state(at)
            name, _, what = topic.partition("/")
            part = self._robots.scene.subsystems[name]
            if what == "odom":
                assembler.put_root(name, stamp, at, state.q[part.q_slice][:7], state.v[part.v_slice][:6])
            else:
                joints = assembler.joints[name]
                q, v = [state.q[joint.q_index] for joint in joints], [state.v[joint.v_index] for joint in joints]
                assembler.put_joints(name, stamp, at, [joint.name for joint in joints], q, v)

    def _simulate(self) -> None:
        """Take due steps and apply commands, as in the simulator node: overdue steps come before new commands."""
        if self.simulated_robot.started and self.now - self._due > GRAIN:
            self._take_steps()
        while self._commands and self._commands[0][0] <= self.now:
            _, _, robot, what = heapq.heappop(self._commands)
            if robot is None:
                self.simulated_robot.set_contacts(what)
            else:
                self.simulated_robot.command(robot, what)
        if self.simulated_robot.started:
            self._take_steps()
        elif self._shown == 0.0 or self.now - self._shown >= self.dt:  # time begins with the first commands
            self._show()
            self._due = self.now

    def _take_steps(self) -> None:
        simulated_robot, whole = self.simulated_robot, False
        while self._due <= self.now + 1e-9 and not simulated_robot.broken:
            self.fastest = max(self.fastest, float(np.abs(simulated_robot.step().v).max()))
            self._due = max(self._due + simulated_robot.dt, self.now - LONGEST_LAG * self.dt)
            whole |= simulated_robot.steps % self._substeps == 0
        if whole:
            self._show()

    def _show(self) -> None:
        self._shown, state, stamp = self.now, self.simulated_robot.world.state, round(self.now * 1e9)
        if self.now < self._states_lost_until:
            return
        if self.simulated_robot.wrenches is not None:
            arrival = self.now + self.delays.state(self._rng)
            heapq.heappush(self._forces, (arrival, next(self._order), self.simulated_robot.wrenches))
        for topic in self.run.assembler.topics:
            arrival = self.now + self.delays.state(self._rng)
            heapq.heappush(self._states, (arrival, next(self._order), topic, stamp, state))


def _make_monitor(scenario: Scenario, controller: Any) -> RunMonitor:
    return RunMonitor(scenario, controller, backend="torques", duration=inf, wait_for_recovery=True)
