"""What lies between a controller and the true world: sensors, motors, pushes, and a world that is not the model."""

from __future__ import annotations

from collections import deque

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.schema.reality import PushSpec, RealitySpec

Array = NDArray[np.float64]

#: Each source of randomness has its own stream, so that one option does not change what another draws.
_STREAMS = {"world": 1, "senses": 2, "jitter": 3}


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the random numbers of one source."""
    return np.random.default_rng([seed, _STREAMS[name]])


def random_masses(scenario: Scenario, reality: RealitySpec) -> dict[str, float]:
    """Return a factor for the mass of each joint's body, by joint."""
    random, model = stream(scenario.seed, "world"), scenario.scene.model
    draws = random.uniform(-1.0, 1.0, model.njoints)
    return {model.names[k]: 1.0 + reality.mass_error * float(draws[k]) for k in range(1, model.njoints)}


def random_friction(scenario: Scenario, reality: RealitySpec) -> dict[str, float]:
    """Return a factor for the friction of each contact."""
    random = stream(scenario.seed + 1_000_003, "world")
    draws = random.uniform(-1.0, 1.0, len(scenario.spec.contacts))
    return {
        name: 1.0 + reality.friction_error * float(draw)
        for name, draw in zip(scenario.spec.contacts, draws, strict=True)
    }


class Noise:
    """What encoders, gyros and estimators add to the true state."""

    def __init__(self, scene: Scene, reality: RealitySpec, seed: int) -> None:
        self._model = scene.model
        self._random = stream(seed, "senses")
        self._on_q, self._on_v = np.zeros(scene.nv), np.zeros(scene.nv)
        for k in range(1, scene.model.njoints):
            joint = scene.model.joints[k]
            at = slice(joint.idx_v, joint.idx_v + joint.nv)
            if joint.nv == 6:
                self._on_q[at] = [reality.position_noise] * 3 + [0.0] * 3
                self._on_v[at] = [reality.speed_noise] * 3 + [reality.gyro_noise] * 3
            else:
                self._on_q[at], self._on_v[at] = reality.encoder_noise, reality.velocity_noise
        self.silent = not (self._on_q.any() or self._on_v.any())

    def add(self, state: State) -> State:
        """Return a noisy measurement of a state."""
        if self.silent:
            return state
        draws = self._random.standard_normal((2, len(self._on_v)))
        q = pin.integrate(self._model, state.q, self._on_q * draws[0])
        return State(q, state.v + self._on_v * draws[1])


class Motors:
    """Torques that come late and not at once; stepped with the physics.

    Attributes:
        prompt: whether they are neither.
    """

    def __init__(self, reality: RealitySpec, motors: int, step: float) -> None:
        self._late: deque[Array] = deque([np.zeros(motors)] * round(reality.actuation_delay / step))
        self._share = step / (reality.actuation_lag + step)
        self._tau = np.zeros(motors)
        self._fresh = True
        self.prompt = not self._late and self._share == 1.0

    def follow(self, tau: Array) -> Array:
        """Return the torques that act in this physics step when `tau` is asked for, (na,) [N m]."""
        if self.prompt:
            return tau
        if self._fresh:  # motors are not switched on by the first command: the world begins in equilibrium
            self._late = deque([tau.copy()] * len(self._late))
            self._tau, self._fresh = tau.copy(), False
        self._late.append(tau)
        self._tau = self._tau + self._share * (self._late.popleft() - self._tau)
        return self._tau


class Pushes:
    """The pushes of a run, by the state machine's state and time."""

    def __init__(self, pushes: list[PushSpec]) -> None:
        self._pushes = pushes
        self._state = ""
        self._entered: dict[str, float] = {}

    def observe(self, state: str, time: float) -> None:
        """Take note of the state machine's state; a push comes when its state is entered for the first time."""
        if state != self._state:
            self._state = state
            self._entered.setdefault(state, time)

    def active(self, time: float) -> list[tuple[str, Array]]:
        """Return link and force, world axes, (3,) [N], of what pushes now."""
        found: list[tuple[str, Array]] = []
        for push in self._pushes:
            start = 0.0 if push.state is None else self._entered.get(push.state, np.inf)
            if start + push.at <= time + 1e-9 < start + push.at + push.duration:
                direction = np.array(push.direction)
                found.append((push.link, push.force * direction / np.linalg.norm(direction)))
        return found
