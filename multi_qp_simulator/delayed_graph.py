"""The graph by the wall clock in one process and a time of its own: messages and answers take as long as one says."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from math import ceil, inf
from typing import Any

import numpy as np

from multi_qp_controller.command import Command, Status
from multi_qp_controller.ros.control_run import ControlRun
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.referee import Referee
from multi_qp_simulator.stand_in import LONGEST_LAG, StandIn, TorqueWorld

#: Grain of its time [s].
GRAIN = 5e-4
#: Physics steps a second at least, as the node's by default.
PHYSICS_RATE = 500.0

Delay = Callable[[np.random.Generator], float]


def about(typical: float) -> Delay:
    """Return a delay that is typically this long and now and then much longer [s]."""
    return lambda rng: float(0.7 * typical + rng.exponential(0.3 * typical))


@dataclass(frozen=True)
class Delays:
    """How long things take [s], each drawn anew; as on two slow cores with nothing else on them.

    Attributes:
        state: each message of a state.
        answer: each answer, from its beginning until it is sent.
        command: the commands of an answer.
    """

    state: Delay = about(8e-4)
    answer: Delay = about(3e-3)
    command: Delay = about(3e-4)


@dataclass(frozen=True)
class Stall:
    """What does not happen for a while.

    Attributes:
        length: how long [s].
        controller: whether the controller has no processor; what it is told waits.
        robots: whether the process that plays the robots has none: what is due passes when it goes on.
        states: whether states are lost on their way.
        commands: whether commands are.
    """

    length: float
    controller: bool = False
    robots: bool = False
    states: bool = False
    commands: bool = False


class DelayedGraph:
    """Controller and robots as their nodes are by the wall clock, but for messages and for the wall clock.

    Attributes:
        run: of the controller.
        stand_in: the robots.
        delays: of messages and answers.
        now: [s].
        statuses: of all answers.
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
    ) -> None:
        """Stand still.

        Args:
            load: loads the scenario, for each of both.
            dt: control period [s]; the scenario's if None.
            delays: of messages and answers; the usual ones if None.
            seed: of the delays.
            settings: of the controller's node that differ from what they are by default.
        """
        scenario, self._robots = load(), load()
        self.dt = scenario.spec.dt if dt is None else dt
        given = {"period": self.dt, "closed_loop": False, "solver": "", "formulation": "", "attended": False}
        # the deadline is of the machine's time, not of this one: in lock-step there is none
        given |= {"lock_step": True, "use_sim_time": False, "max_state_age": 5, "compensate_delay": True}
        self.run = ControlRun(scenario, given | (settings or {}), _judge)
        self._substeps = ceil(self.dt * PHYSICS_RATE - 1e-9)
        self.stand_in = StandIn(self._robots, TorqueWorld(self._robots), dt=self.dt, substeps=self._substeps)
        self.delays, self._rng, self._order = delays or Delays(), np.random.default_rng(seed), count()
        self._states: list[tuple[float, int, str, int, State]] = []
        self._commands: list[tuple[float, int, str | None, Any]] = []
        self.now = self.fastest = self._shown = self._due = 0.0
        self._grains = 0
        self._busy = self._frozen = self._deaf = self._mute = 0.0  # until when
        self.statuses: list[Status] = []

    @property
    def ended(self) -> bool:
        """Whether the run has ended, or the robots' state would not be finite."""
        return self.run.judge.ended is not None or self.stand_in.broken

    @property
    def phase(self) -> str:
        """Name of the controller's state."""
        return self.run.controller.machine.phase.name

    def stall(self, stall: Stall) -> None:
        """Let something stall from now on."""
        until = self.now + stall.length
        if stall.controller:
            self._busy = max(self._busy, until)
        if stall.robots:
            self._frozen = until
        if stall.states:
            self._deaf = until
        if stall.commands:
            self._mute = until

    def go(self, until: float) -> DelayedGraph:
        """Go on until a time [s], or until it has ended."""
        while self.now < until and not self.ended:
            self._grains += 1
            self.now = self._grains * GRAIN
            if self.now >= self._frozen:
                self._play()
            self._hear_states()
            if self.now >= self._busy:
                self._control()
        return self

    def _control(self) -> None:
        """Answer if it is time to, as the controller's node."""
        run, now = self.run, self.now
        if run.assembler.missing:
            return
        whole = run.whole
        due = run.pacer.due(fresh=whole)
        if now < due or run.silent(now) or not (whole or run.hearing.over(now, due)):
            return
        state, command, _ = run.answer_now(now)
        self._busy = now + self.delays.answer(self._rng)
        run.pacer.answered(now, self._busy, fresh=whole)
        run.judge.observe(state, command)
        self.statuses.append(command.diagnostics.status)
        self._send(command)
        run.controller.settle()

    def _send(self, command: Command) -> None:
        at, contacts = self._busy + self.delays.command(self._rng), self.run.contacts
        if at < self._mute:
            return
        for robot in self.stand_in.robots:
            tau = command.tau[self._robots.scene.subsystems[robot].actuated]
            heapq.heappush(self._commands, (at, next(self._order), robot, tau))
        heapq.heappush(self._commands, (at, next(self._order), None, contacts))

    def _hear_states(self) -> None:
        run, now = self.run, self.now
        assembler = run.assembler
        while self._states and self._states[0][0] <= now:
            _, _, topic, stamp, state = heapq.heappop(self._states)
            at = run.arrivals.measured(topic, stamp, now)
            if topic == assembler.topics[0]:
                run.pacer.heard(at)
            name, _, what = topic.partition("/")
            part = self._robots.scene.subsystems[name]
            if what == "odom":
                assembler.put_root(name, stamp, at, state.q[part.q_slice][:7], state.v[part.v_slice][:6])
            else:
                joints = assembler.joints[name]
                q, v = [state.q[joint.q_index] for joint in joints], [state.v[joint.v_index] for joint in joints]
                assembler.put_joints(name, stamp, at, [joint.name for joint in joints], q, v)

    def _play(self) -> None:
        """Let pass what is due and hear commands, as the simulator's node: late steps come before what is heard now."""
        if self.stand_in.started and self.now - self._due > GRAIN:
            self._pass()
        while self._commands and self._commands[0][0] <= self.now:
            _, _, robot, what = heapq.heappop(self._commands)
            if robot is None:
                self.stand_in.touch(what)
            else:
                self.stand_in.command(robot, what)
        if self.stand_in.started:
            self._pass()
        elif self._shown == 0.0 or self.now - self._shown >= self.dt:  # time begins with the first commands
            self._show()
            self._due = self.now

    def _pass(self) -> None:
        stand_in, whole = self.stand_in, False
        while self._due <= self.now + 1e-9 and not stand_in.broken:
            self.fastest = max(self.fastest, float(np.abs(stand_in.step().v).max()))
            self._due = max(self._due + stand_in.dt, self.now - LONGEST_LAG * self.dt)
            whole |= stand_in.steps % self._substeps == 0
        if whole:
            self._show()

    def _show(self) -> None:
        self._shown, state, stamp = self.now, self.stand_in.world.state, round(self.now * 1e9)
        if self.now < self._deaf:
            return
        for topic in self.run.assembler.topics:
            arrival = self.now + self.delays.state(self._rng)
            heapq.heappush(self._states, (arrival, next(self._order), topic, stamp, state))


def _judge(scenario: Scenario, controller: Any) -> Referee:
    return Referee(scenario, controller, backend="torques", duration=inf, patient=True)
