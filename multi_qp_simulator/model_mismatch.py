"""Model mismatch and disturbances: sensor noise, actuation delay, pushes, and random masses and friction."""

from __future__ import annotations

from collections import deque

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.schema.mismatch import MismatchSpec, PushSpec

#: Every source of randomness has its own stream, so that options do not affect each other's draws.
_STREAMS = {"world": 1, "senses": 2, "jitter": 3}


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the random generator of one source."""
    return np.random.default_rng([seed, _STREAMS[name]])


def random_masses(scenario: Scenario, mismatch: MismatchSpec) -> dict[str, float]:
    """Return a factor for the mass of each joint's body, by joint."""
    random, model = stream(scenario.seed, "world"), scenario.scene.model
    draws = random.uniform(-1.0, 1.0, model.njoints)
    return {model.names[k]: 1.0 + mismatch.mass_error * float(draws[k]) for k in range(1, model.njoints)}


def random_friction(scenario: Scenario, mismatch: MismatchSpec) -> dict[str, float]:
    """Return a factor for the friction of each contact."""
    random = stream(scenario.seed + 1_000_003, "world")
    draws = random.uniform(-1.0, 1.0, len(scenario.spec.contacts))
    return {
        name: 1.0 + mismatch.friction_error * float(draw)
        for name, draw in zip(scenario.spec.contacts, draws, strict=True)
    }


class Noise:
    """Noise of encoders, gyros and estimators."""

    def __init__(self, scene: Scene, mismatch: MismatchSpec, seed: int) -> None:
        self._model = scene.model
        self._random = stream(seed, "senses")
        self._on_q, self._on_v = np.zeros(scene.nv), np.zeros(scene.nv)
        for k in range(1, scene.model.njoints):
            joint = scene.model.joints[k]
            at = slice(joint.idx_v, joint.idx_v + joint.nv)
            if joint.nv == 6:
                self._on_q[at] = [mismatch.position_noise] * 3 + [0.0] * 3
                self._on_v[at] = [mismatch.speed_noise] * 3 + [mismatch.gyro_noise] * 3
            else:
                self._on_q[at], self._on_v[at] = mismatch.encoder_noise, mismatch.velocity_noise
        self.silent = not (self._on_q.any() or self._on_v.any())

    def add(self, state: State) -> State:
        """Return a noisy measurement of a state."""
        if self.silent:
            return state
        draws = self._random.standard_normal((2, len(self._on_v)))
        q = pin.integrate(self._model, state.q, self._on_q * draws[0])
        return State(q, state.v + self._on_v * draws[1])


class Motors:
    """Actuation delay and lag of torques; stepped with the physics.

    Attributes:
        prompt: whether there is neither delay nor lag.
    """

    def __init__(self, mismatch: MismatchSpec, motors: int, step: float) -> None:
        self._late: deque[Array] = deque([np.zeros(motors)] * round(mismatch.actuation_delay / step))
        self._share = step / (mismatch.actuation_lag + step)
        self._tau = np.zeros(motors)
        self._fresh = True
        self.prompt = not self._late and self._share == 1.0

    def follow(self, tau: Array) -> Array:
        """Return the torques applied in this physics step for the commanded `tau`, (na,) [N m]."""
        if self.prompt:
            return tau
        if self._fresh:  # the first command initialises the filters: the simulation starts in equilibrium
            self._late = deque([tau.copy()] * len(self._late))
            self._tau, self._fresh = tau.copy(), False
        self._late.append(tau)
        self._tau = self._tau + self._share * (self._late.popleft() - self._tau)
        return self._tau


class Pushes:
    """Pushes of a run, by state and time of the state machine."""

    def __init__(self, pushes: list[PushSpec]) -> None:
        self._pushes = pushes
        self._state = ""
        self._entered: dict[str, float] = {}

    def observe(self, state: str, time: float) -> None:
        """Process the state machine's state; a push starts at the first entry of its state."""
        if state != self._state:
            self._state = state
            self._entered.setdefault(state, time)

    def active(self, time: float) -> list[tuple[str, Array]]:
        """Return link and force of the active pushes, world axes, (3,) [N]."""
        return [(push.link, _force(push)) for push, begin in self._begun() if _acts(begin, push, time)]

    def mean(self, time: float, dt: float) -> list[tuple[str, Array]]:
        """Return link and mean force of the pushes from a time on for `dt`, world axes, (3,) [N]."""
        found = []
        for push, begin in self._begun():
            overlap = min(begin + push.duration, time + dt) - max(begin, time)
            if overlap > 1e-9:
                found.append((push.link, _force(push) * overlap / dt))
        return found

    def _begun(self) -> list[tuple[PushSpec, float]]:
        """Return the pushes with the times at which they begin; those of states that were not entered never do."""
        return [
            (push, push.at + (0.0 if push.state is None else self._entered.get(push.state, np.inf)))
            for push in self._pushes
        ]


def _acts(begin: float, push: PushSpec, time: float) -> bool:
    return begin <= time + 1e-9 < begin + push.duration


def _force(push: PushSpec) -> Array:
    direction = np.array(push.direction)
    return np.asarray(push.force * direction / np.linalg.norm(direction))
