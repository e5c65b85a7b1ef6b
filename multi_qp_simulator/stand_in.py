"""A stand-in for real robots: takes efforts, knows nothing of the QP, brakes when commands stop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.kinematics import Kinematics
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.backend import Outcome
from multi_qp_simulator.integrator import Integrator

Array = NDArray[np.float64]


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

    def braking(
        self, torque: Array, motors: NDArray[np.intp], contacts: Sequence[str], dt: float, *, time_constant: float
    ) -> Array:
        """Return torques, (na,) [N m], with which these motors slow their joints, q̈ = −q̇/T; others as given."""
        scene = self._scenario.scene
        if self._kinematics is None:
            self._kinematics = Kinematics(scene)
        kinematics = self._kinematics
        kinematics.update(self._state)
        braked = scene.actuated_v[motors]
        rows = [self._bond(name, kinematics).no_slip(dt) for name in contacts]
        J = np.concatenate([*(J for J, _ in rows), np.eye(scene.nv)[braked]])
        rhs = np.concatenate([*(r for _, r in rows), -self._state.v[braked] / time_constant])
        force = -kinematics.N
        driven = torque.copy()
        driven[motors] = 0.0
        force[scene.actuated_v] += driven
        free = np.linalg.solve(kinematics.M, force)
        weight = J @ np.linalg.solve(kinematics.M, J.T)
        driven[motors] = np.linalg.lstsq(weight, rhs - J @ free, rcond=1e-10)[0][-len(braked) :]
        return driven


class StandIn:
    """The robots of a scene, each with the watchdog that a real set-up needs, in one world.

    A robot that no command has reached for more than `watchdog_periods` steps brakes: its drives bring all joints to
    rest, q̈ = −q̇/T within their torque limits, with T the time constant of the scenario's fallback. Before the first
    command of all, the world stands still.

    Attributes:
        world: in which they are.
        broken: whether its state would not be finite; it then stays as it was.
        tick: steps so far.
        contacts: that are on.
    """

    def __init__(self, scenario: Scenario, *, dt: float, watchdog_periods: int) -> None:
        self.world = TorqueWorld(scenario)
        self.broken = False
        self.tick = 0
        self.contacts = tuple(scenario.spec.states[scenario.spec.initial_state].contacts)
        self._scenario, self._scene, self._dt, self._patience = scenario, scenario.scene, dt, watchdog_periods
        self._contact_names = frozenset(scenario.spec.contacts)
        self._tau = np.zeros(scenario.scene.na)
        robots = [s for s in scenario.scene.subsystems.values() if len(s.actuated)]
        self._motors = {
            s.name: [scenario.scene.actuated_joint_names[k].partition("/")[2] for k in s.actuated] for s in robots
        }
        self._heard: dict[str, int | None] = dict.fromkeys(self._motors)

    @property
    def robots(self) -> tuple[str, ...]:
        """The subsystems with motors."""
        return tuple(self._motors)

    @property
    def started(self) -> bool:
        """Whether each robot has had a command."""
        return all(tick is not None for tick in self._heard.values())

    @property
    def unheard(self) -> tuple[str, ...]:
        """The robots whose watchdog has come in."""
        return tuple(n for n, tick in self._heard.items() if tick is None or self.tick - tick > self._patience)

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
        self._heard[robot] = self.tick

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
        """Let one period pass and return the state after it."""
        self._scene.loads.advance(self.tick * self._dt)
        tau, late = self._tau, self.unheard
        if late:
            motors = np.concatenate([self._scene.subsystems[robot].actuated for robot in late])
            slowing = self._scenario.spec.fallback.time_constant
            tau = self.world.braking(tau, motors, self.contacts, self._dt, time_constant=slowing)
        limits = self._scene.torque_limits
        tau = np.clip(tau, -limits, limits)
        before = self.world.state
        self.world.advance(tau, self.contacts, self._dt)
        if not self.world.state.is_finite:
            self.broken, self.world.state = True, before
        self.tick += 1
        return self.world.state
