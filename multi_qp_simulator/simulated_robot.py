"""Simulated robots: apply commanded efforts, and brake when commands stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import ceil
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.command import Command, Diagnostics, Status
from multi_qp_controller.dynamics.constrained_dynamics import ConstrainedDynamics
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.backend import Outcome
from multi_qp_simulator.integrator import Integrator

#: Time without a command after which a robot brakes [s], and minimum number of control periods for a slightly late
#: command.
LONGEST_SILENCE, MIN_WATCHDOG_PERIODS = 0.05, 1.5
#: Largest period between updates of braking torques [s]: under constant torques the motion of a squeezed closed chain
#: grows by the factor e in 14 ms (`king`).
BRAKE_PERIOD = 0.01
#: Largest lag of the physics behind the wall clock [control periods].
LONGEST_LAG = 2


class TorqueWorld(Integrator):
    """Simulation of torques with contacts as rigid bonds while they are active.

    Bonds are bilateral: slip and lift-off are not simulated.
    """

    #: Whether the wrenches of an outcome are those that sensors would measure.
    measures_wrenches = False

    def advance(self, torque: Array, contacts: Sequence[str], dt: float) -> Outcome:
        """Simulate `dt` seconds under torques, (na,) [N m], with these contacts active."""
        self._made = tuple(contacts)
        self._bonds = {name: bond for name, bond in self._bonds.items() if name in self._made}
        return self._integrate(self._follow_torques(torque, dt), dt)

    def warm_up(self, dt: float) -> None:
        """Simulate a step with the contacts of each state, since computing a new friction cone takes 30 ms."""
        before, torque = self._state, np.zeros(self._scenario.scene.na)
        for contacts in {tuple(phase.contacts) for phase in self._scenario.spec.states.values()}:
            with suppress(np.linalg.LinAlgError):
                self.advance(torque, contacts, dt)
            self._state = before
            self.release()

    def release(self) -> None:
        """Reset the bonds: those of active contacts are created again in the next step."""
        self._bonds.clear()

    def braking(
        self, torque: Array, motors: NDArray[np.intp], contacts: Sequence[str], dt: float, *, time_constant: float
    ) -> Array:
        """Return torques, (na,) [N m], that decelerate the joints of these motors, q̈ = −q̇/T; others unchanged."""
        scene = self._scenario.scene
        kinematics = self._here()
        braked = scene.actuated_v[motors]
        rows = self._bonded(kinematics, tuple(contacts), dt)
        J = np.concatenate([rows.J, np.eye(scene.nv)[braked]])
        rhs = np.concatenate([rows.rhs, -self._state.v[braked] / time_constant])
        # added to the last torques, with which two hands squeeze a box: a closed chain has more motors than degrees of
        # freedom, and the requested decelerations may be inconsistent with its bonds
        driven = torque.copy()
        driven[motors] += ConstrainedDynamics(kinematics, J).smallest_forces(torque, rhs)[-len(braked) :]
        return driven


class EngineWorld:
    """Adapter of a physics engine, which detects contacts by itself, for `SimulatedRobot`.

    Only grasps use the contacts of the state machine, since they hold by more than friction.
    """

    measures_wrenches = True

    def __init__(self, engine: Any, scenario: Scenario) -> None:
        self._engine, self._model, self._na = engine, TorqueWorld(scenario), scenario.scene.na
        self._contacts = scenario.spec.states[scenario.spec.initial_state].all_contacts

    @property
    def state(self) -> State:
        """Current state."""
        return cast(State, self._engine.state)

    @state.setter
    def state(self, state: State) -> None:
        self._engine.state = state

    def advance(self, torque: Array, contacts: Sequence[str], dt: float) -> Outcome:
        """Simulate `dt` seconds under torques, (na,) [N m]."""
        wrenches = {name: np.zeros(6) for name in contacts}  # only the names are used
        command = Command(0.0, torque, np.zeros(len(self.state.v)), wrenches, Diagnostics(Status.OK))
        return cast(Outcome, self._engine.step(command, dt))

    def warm_up(self, dt: float) -> None:
        """Simulate a discarded step, so that compilation and loading do not delay the first one."""
        before = self.state
        self.advance(np.zeros(self._na), self._contacts, dt)
        self.state = before
        self._model.warm_up(dt)

    def braking(
        self, torque: Array, motors: NDArray[np.intp], contacts: Sequence[str], dt: float, *, time_constant: float
    ) -> Array:
        """Return braking torques from the equation of motion; see `TorqueWorld.braking`."""
        self._model.state = self.state
        self._model.release()  # bonds start at the current poses
        return self._model.braking(torque, motors, contacts, dt, time_constant=time_constant)


def _mujoco(scenario: Scenario) -> EngineWorld:
    from multi_qp_simulator.mujoco_world import MujocoBackend  # slow import, needed by this backend only

    return EngineWorld(MujocoBackend(scenario), scenario)


WORLDS: dict[str, Callable[[Scenario], TorqueWorld | EngineWorld]] = {"integrator": TorqueWorld, "mujoco": _mujoco}


def make_world(name: str, scenario: Scenario) -> TorqueWorld | EngineWorld:
    """Make a simulation by name, one of `WORLDS`.

    Raises:
        MultiQpError: if its dependencies are not installed.
    """
    try:
        return WORLDS[name](scenario)
    except ImportError as error:
        raise MultiQpError(f"backend '{name}' is not installed: {error}") from None


class SimulatedRobot:
    """The robots of a scene in one simulation, each with a watchdog as on a real set-up.

    Physics advances in fractions of the control period, under the last received commands. A robot without a command for
    more than `watchdog_periods` control periods, or for more than `watchdog_time`, brakes: its drives decelerate all
    joints, q̈ = −q̇/T within their torque limits, with T the time constant of the scenario's fallback. The simulation
    starts with the first command.

    Attributes:
        world: the simulation.
        broken: whether its next state would not be finite; it then remains unchanged.
        steps: number of steps so far.
        dt: duration of a step [s].
        contacts: active contacts.
        wrenches: measured wrenches, mean of the present control period, on the body of each contact's first surface, in
            its frame: force [N], then moment [N m]; None where the simulation does not measure them.
    """

    def __init__(
        self,
        scenario: Scenario,
        world: TorqueWorld | EngineWorld,
        *,
        dt: float,
        substeps: int = 1,
        watchdog_periods: int = 5,
        watchdog_time: float = LONGEST_SILENCE,
    ) -> None:
        """Set up at rest.

        Args:
            scenario: the scenario.
            world: the simulation.
            dt: control period [s].
            substeps: steps in a control period.
            watchdog_periods: control periods without a command after which a robot brakes.
            watchdog_time: time limit of this interval [s], unless shorter than `MIN_WATCHDOG_PERIODS` periods: after
                five periods of 33 ms a step can no longer be stabilised.
        """
        self.world = world
        self.broken = False
        self.steps, self.dt = 0, dt / substeps
        self.contacts = scenario.spec.states[scenario.spec.initial_state].all_contacts
        self.wrenches: dict[str, Array] | None = None
        self._substeps = substeps
        self._scenario, self._scene = scenario, scenario.scene
        longest = max(watchdog_time / self.dt, MIN_WATCHDOG_PERIODS * substeps)
        self._watchdog_steps = min(watchdog_periods * substeps, ceil(longest - 1e-9))  # in steps
        self._contact_names = frozenset(scenario.spec.contacts)
        self._tau = np.zeros(scenario.scene.na)
        robots = [s for s in scenario.scene.subsystems.values() if len(s.actuated)]
        self._motors = {
            s.name: [scenario.scene.actuated_joint_names[k].partition("/")[2] for k in s.actuated] for s in robots
        }
        self._last_command: dict[str, int | None] = dict.fromkeys(self._motors)
        self._brake_steps = max(1, min(substeps, int(BRAKE_PERIOD / self.dt + 1e-9)))  # in steps
        self._braking = np.zeros(scenario.scene.na)
        world.warm_up(self.dt)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.steps * self.dt

    @property
    def robots(self) -> tuple[str, ...]:
        """The subsystems with motors."""
        return tuple(self._motors)

    @property
    def started(self) -> bool:
        """Whether each robot has received a command."""
        return all(step is not None for step in self._last_command.values())

    @property
    def timed_out(self) -> tuple[str, ...]:
        """Robots with an expired watchdog."""
        return tuple(
            n for n, step in self._last_command.items() if step is None or self.steps - step > self._watchdog_steps
        )

    def _first_late(self, robot: str) -> int:
        last = self._last_command[robot]
        return 0 if last is None else last + self._watchdog_steps + 1

    def command(self, robot: str, efforts: Sequence[float], names: Sequence[str] | None = None) -> None:
        """Set efforts [N m] in the order of the robot's motors, or of `names`, from the next step on.

        Raises:
            ValueError: if they are not one finite number for each motor; they are then ignored.
        """
        motors = self._motors[robot]
        if len(efforts) != len(motors if names is None else names):
            expected = len(motors if names is None else names)
            raise ValueError(f"{robot}: {len(efforts)} efforts for {expected} joints")
        values = np.asarray(efforts, dtype=np.float64)
        if names is not None and list(names) != motors:
            if sorted(names) != sorted(motors):
                raise ValueError(f"{robot}: the joints are not the robot's motors")
            row = {name: k for k, name in enumerate(names)}
            values = values[[row[name] for name in motors]]
        if not np.isfinite(values).all():
            raise ValueError(f"{robot}: an effort is not finite")
        self._tau[self._scene.subsystems[robot].actuated] = values
        self._last_command[robot] = self.steps

    def set_contacts(self, contacts: Sequence[str]) -> None:
        """Set the active contacts.

        Raises:
            ValueError: if the scenario has no such contact.
        """
        unknown = [name for name in contacts if name not in self._contact_names]
        if unknown:
            raise ValueError(f"no contact '{unknown[0]}' in the scenario")
        self.contacts = tuple(contacts)

    def step(self) -> State:
        """Simulate one step and return the state after it."""
        self._scene.loads.advance(self.time)
        before = self.world.state
        try:
            self._measure(self.world.advance(self._driven(), self.contacts, self.dt))
            self.broken = not self.world.state.is_finite
        except np.linalg.LinAlgError:
            self.broken = True
        if self.broken:
            self.world.state = before
        self.steps += 1
        return self.world.state

    def _measure(self, outcome: Outcome) -> None:
        if not self.world.measures_wrenches:
            return
        done = self.steps % self._substeps
        before = self.wrenches if done and self.wrenches is not None else {}
        zero = np.zeros(6)
        self.wrenches = {
            name: (done * before.get(name, zero) + outcome.wrenches.get(name, zero)) / (done + 1)
            for name in self._contact_names
        }

    def _driven(self) -> Array:
        """Return the torques of the drives, (na,) [N m]."""
        limits, late = self._scene.torque_limits, self.timed_out
        tau = np.clip(self._tau, -limits, limits)
        if late:
            motors = np.concatenate([self._scene.subsystems[robot].actuated for robot in late])
            # not updated in each step: an update takes as long as several steps
            if self.steps % self._brake_steps == 0 or any(self.steps == self._first_late(robot) for robot in late):
                slowing = self._scenario.spec.fallback.time_constant
                self._braking = self.world.braking(tau, motors, self.contacts, self.dt, time_constant=slowing)
            change = np.zeros(len(tau))
            change[motors] = self._braking[motors] - tau[motors]
            # scaled as a whole: clipping single motors would accelerate light joints
            tau = tau + _within(tau, change, limits) * change
        return tau


def _within(tau: Array, change: Array, limits: Array) -> float:
    """Return the largest fraction of a change, at most 1, that keeps torques within their limits, all (na,) [N m]."""
    margin = np.where(change > 0.0, limits - tau, limits + tau)
    asked = np.abs(change)
    return float(np.min(np.divide(margin, asked, out=np.ones(len(tau)), where=asked > margin), initial=1.0))
