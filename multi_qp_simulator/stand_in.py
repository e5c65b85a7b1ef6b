"""A stand-in for real robots: takes efforts, knows nothing of the QP, brakes when commands stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import ceil
from typing import Any, cast

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.bonded_dynamics import Bonds
from multi_qp_controller.command import Command, Diagnostics, Status
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.backend import Outcome
from multi_qp_simulator.integrator import Integrator

Array = NDArray[np.float64]

#: After how long without a command a robot brakes at any rate [s]; but not before so many control periods, for a
#: command that is a little late.
LONGEST_SILENCE, SHORTEST_PATIENCE = 0.05, 1.5
#: Drives that brake look at their joints at least this often [s]: under constant torques motion of a squeezed closed
#: chain grows by the factor e in 14 ms (`king`).
BRAKES_AGAIN = 0.01
#: By the wall clock: how far physics may fall behind it before it lets time pass by [control periods].
LONGEST_LAG = 2


class TorqueWorld(Integrator):
    """Follows torques alone; contacts are bonds, from the moment they are on until they are off.

    A bond pulls as well as it pushes: this world tells nothing of slipping or lifting off.
    """

    def advance(self, torque: Array, contacts: Sequence[str], dt: float) -> Outcome:
        """Let `dt` seconds pass under torques, (na,) [N m], with these contacts on."""
        self._made = tuple(contacts)
        self._bonds = {name: bond for name, bond in self._bonds.items() if name in self._made}
        outcome = self._follow_torques(torque, dt)
        v = self._state.v + outcome.acceleration * dt
        self._state = State(pin.integrate(self._model, self._state.q, v * dt), v)
        return outcome

    def rehearse(self, dt: float) -> None:
        """Take a step in the contacts of each state: a new cone takes 30 ms, and a graph does not wait."""
        before, torque = self._state, np.zeros(self._scenario.scene.na)
        for contacts in {tuple(phase.contacts) for phase in self._scenario.spec.states.values()}:
            with suppress(np.linalg.LinAlgError):
                self.advance(torque, contacts, dt)
            self._state = before
            self.release()

    def release(self) -> None:
        """Forget where bonds were made: those that are on are made anew at the next step."""
        self._bonds.clear()

    def braking(
        self, torque: Array, motors: NDArray[np.intp], contacts: Sequence[str], dt: float, *, time_constant: float
    ) -> Array:
        """Return torques, (na,) [N m], with which these motors slow their joints, q̈ = −q̇/T; others as given."""
        scene = self._scenario.scene
        kinematics = self._here()
        braked = scene.actuated_v[motors]
        rows = self._bonded(kinematics, tuple(contacts), dt)
        J = np.concatenate([rows.J, np.eye(scene.nv)[braked]])
        rhs = np.concatenate([rows.rhs, -self._state.v[braked] / time_constant])
        # beside the last torques, with which two hands still squeeze a box: a closed chain has more motors than ways to
        # move, and what all of them are to do may contradict its bonds
        driven = torque.copy()
        driven[motors] += Bonds(kinematics, J).smallest_forces(torque, rhs)[-len(braked) :]
        return driven


class EngineWorld:
    """A physics engine as `StandIn` needs a world: it finds out by itself what touches.

    Only hands are told of contacts: what they hold is held by more than friction.
    """

    def __init__(self, engine: Any, scenario: Scenario) -> None:
        self._engine, self._model, self._na = engine, TorqueWorld(scenario), scenario.scene.na
        self._contacts = tuple(scenario.spec.states[scenario.spec.initial_state].contacts)

    @property
    def state(self) -> State:
        """The present state."""
        return cast(State, self._engine.state)

    @state.setter
    def state(self, state: State) -> None:
        self._engine.state = state

    def advance(self, torque: Array, contacts: Sequence[str], dt: float) -> Outcome:
        """Let `dt` seconds pass under torques, (na,) [N m]."""
        wrenches = {name: np.zeros(6) for name in contacts}  # it takes names, not forces
        command = Command(0.0, torque, np.zeros(len(self.state.v)), wrenches, Diagnostics(Status.OK))
        return cast(Outcome, self._engine.step(command, dt))

    def rehearse(self, dt: float) -> None:
        """Take a step that nobody sees: what is made or loaded at the first one shall not delay it."""
        before = self.state
        self.advance(np.zeros(self._na), self._contacts, dt)
        self.state = before
        self._model.rehearse(dt)

    def braking(
        self, torque: Array, motors: NDArray[np.intp], contacts: Sequence[str], dt: float, *, time_constant: float
    ) -> Array:
        """Return torques as drives make them that know of the equation of motion; see `TorqueWorld`."""
        self._model.state = self.state
        self._model.release()  # what has moved meanwhile is not to be pulled back
        return self._model.braking(torque, motors, contacts, dt, time_constant=time_constant)


def _mujoco(scenario: Scenario) -> EngineWorld:
    from multi_qp_simulator.mujoco_world import MujocoBackend  # takes long to import, and only this world needs it

    return EngineWorld(MujocoBackend(scenario), scenario)


WORLDS: dict[str, Callable[[Scenario], TorqueWorld | EngineWorld]] = {"integrator": TorqueWorld, "mujoco": _mujoco}


def make_world(name: str, scenario: Scenario) -> TorqueWorld | EngineWorld:
    """Make a world by name, one of `WORLDS`.

    Raises:
        MultiQpError: when what it needs is not installed.
    """
    try:
        return WORLDS[name](scenario)
    except ImportError as error:
        raise MultiQpError(f"backend '{name}' is not installed: {error}") from None


class StandIn:
    """The robots of a scene, each with the watchdog that a real set-up needs, in one world.

    Physics goes on in steps that are a fraction of the control period, under the commands last heard. A robot that no
    command has reached for more than `watchdog_periods` control periods, or for more than `watchdog_time`, brakes: its
    drives bring all joints to rest, q̈ = −q̇/T within their torque limits, with T the time constant of the scenario's
    fallback. Before the first command of all, the world stands still.

    Attributes:
        world: in which they are.
        broken: whether its state would not be finite; it then stays as it was.
        steps: so far.
        dt: duration of a step [s].
        contacts: that are on.
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
        """Stand still.

        Args:
            scenario: whose robots.
            world: in which they are.
            dt: control period [s].
            substeps: steps in it.
            watchdog_periods: control periods without a command after which a robot brakes.
            watchdog_time: after which it brakes at any rate [s], if it is longer than `SHORTEST_PATIENCE` periods: in
                five periods of 33 ms somebody who steps is far from where any torque could catch him.
        """
        self.world = world
        self.broken = False
        self.steps, self.dt = 0, dt / substeps
        self.contacts = tuple(scenario.spec.states[scenario.spec.initial_state].contacts)
        self._scenario, self._scene = scenario, scenario.scene
        longest = max(watchdog_time / self.dt, SHORTEST_PATIENCE * substeps)
        self._patience = min(watchdog_periods * substeps, ceil(longest - 1e-9))  # in steps
        self._contact_names = frozenset(scenario.spec.contacts)
        self._tau = np.zeros(scenario.scene.na)
        robots = [s for s in scenario.scene.subsystems.values() if len(s.actuated)]
        self._motors = {
            s.name: [scenario.scene.actuated_joint_names[k].partition("/")[2] for k in s.actuated] for s in robots
        }
        self._heard: dict[str, int | None] = dict.fromkeys(self._motors)
        self._between_brakes = max(1, min(substeps, int(BRAKES_AGAIN / self.dt + 1e-9)))  # in steps
        self._braking = np.zeros(scenario.scene.na)
        world.rehearse(self.dt)

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
        """Whether each robot has had a command."""
        return all(step is not None for step in self._heard.values())

    @property
    def unheard(self) -> tuple[str, ...]:
        """The robots whose watchdog has come in."""
        return tuple(n for n, step in self._heard.items() if step is None or self.steps - step > self._patience)

    def _first_late(self, robot: str) -> int:
        heard = self._heard[robot]
        return 0 if heard is None else heard + self._patience + 1

    def command(self, robot: str, efforts: Sequence[float], names: Sequence[str] | None = None) -> None:
        """Take efforts [N m] in the order of the robot's motors, or of `names`; they act from the next step on.

        Raises:
            ValueError: when they are not one finite number for each motor; they are then not followed.
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
        self._heard[robot] = self.steps

    def touch(self, contacts: Sequence[str]) -> None:
        """Take note of which contacts are on.

        Raises:
            ValueError: when the scenario has no such contact.
        """
        unknown = [name for name in contacts if name not in self._contact_names]
        if unknown:
            raise ValueError(f"no contact '{unknown[0]}' in the scenario")
        self.contacts = tuple(contacts)

    def step(self) -> State:
        """Let one step pass and return the state after it."""
        self._scene.loads.advance(self.time)
        before = self.world.state
        try:
            self.world.advance(self._driven(), self.contacts, self.dt)
            self.broken = not self.world.state.is_finite
        except np.linalg.LinAlgError:
            self.broken = True
        if self.broken:
            self.world.state = before
        self.steps += 1
        return self.world.state

    def _driven(self) -> Array:
        """Return what the drives make of the commands, (na,) [N m]."""
        limits, late = self._scene.torque_limits, self.unheard
        tau = np.clip(self._tau, -limits, limits)
        if late:
            motors = np.concatenate([self._scene.subsystems[robot].actuated for robot in late])
            # not in each step: it costs several, and physics must not fall behind
            if self.steps % self._between_brakes == 0 or any(self.steps == self._first_late(robot) for robot in late):
                slowing = self._scenario.spec.fallback.time_constant
                self._braking = self.world.braking(tau, motors, self.contacts, self.dt, time_constant=slowing)
            change = np.zeros(len(tau))
            change[motors] = self._braking[motors] - tau[motors]
            # all of it or all a little less: a light joint is torn about by what is left where others have their limits
            tau = tau + _within(tau, change, limits) * change
        return tau


def _within(tau: Array, change: Array, limits: Array) -> float:
    """Return how much of a change, 1 at most, keeps torques within their limits, all (na,) [N m]."""
    room = np.where(change > 0.0, limits - tau, limits + tau)
    asked = np.abs(change)
    return float(np.min(np.divide(room, asked, out=np.ones(len(tau)), where=asked > room), initial=1.0))
