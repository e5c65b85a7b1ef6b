"""One step of modal-space control: contact forces and actuation of a window, [Jain2011] section 5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from modal_control.actuation import high_actuation, low_actuation
from modal_control.character import LinearDynamics, ModalCharacter, displacement
from modal_control.modes import Modes, modes_of
from modal_control.reference import StepReference
from modal_control.responses import free_response, impulse_response
from modal_control.rigid_plan import RigidWeights, plan_window
from multi_qp_scene.arrays import Array


@dataclass(frozen=True)
class ControlSettings:
    """Window and weights; the defaults are those of [Jain2011] section 7, on modes of mass 1.

    Attributes:
        window: n, number of steps of the plan.
        dt: time step Δt [s].
        threshold: ω² below which a mode is low [1/s²].
        planned: instead, the first of the modes that are planned as low ones, after the rigid ones, and their number.
        rigid: W₁ to W₃, the friction, and whether W₃ and W₆ weight the deviation from the forces that carry the weight,
            and from the actuation that holds the reference at rest.
        low_position: w₄.
        low_rate: w₅.
        impulse: W₆.
        correction: W_a.
        unit_modes: whether w₄ to W₆ and W_a weight low modes of length 1, whose masses mᵢ differ as in (2), instead of
            mass 1.
        low_window: number of steps over which the low modes are planned, if that is less than the window of the contact
            forces; in the paper both are the same.
    """

    window: int = 16
    dt: float = 1.0 / 120.0
    threshold: float = 100.0
    rigid: RigidWeights = RigidWeights()
    low_position: float = 0.5
    low_rate: float = 2.0
    impulse: float = 5e-3
    correction: float = 1e-3
    planned: tuple[int, int] | None = None
    unit_modes: bool = False
    low_window: int | None = None


class Plan(NamedTuple):
    """Forces of the present step.

    Attributes:
        forces: of each point in contact, (k, 3) [N].
        actuation: impulses of the joints by the low modes, (nv,) [N m s].
        residual: of the contact forces' dual problem.
    """

    forces: Array
    actuation: Array
    residual: float


class ModalControl:
    """Plans of consecutive steps; keeps the multipliers of the last contact problem as a start.

    Attributes:
        settings: window and weights.
    """

    def __init__(self, character: ModalCharacter, reference: StepReference, settings: ControlSettings) -> None:
        self.settings = settings
        self._character, self._reference = character, reference
        self._multipliers: Array | None = None

    def plan(self, step: int, dynamics: LinearDynamics, modes: Modes, v: Array, touching: NDArray[np.intp]) -> Plan:
        """Return contact forces and actuation of low modes of the present step, (12) to (21).

        Args:
            step: index in the reference.
            dynamics: at the present configuration, or at that of the reference during the reaction time.
            modes: of these dynamics.
            v: the velocity with it, (nv,).
            touching: points in contact now, (k,).
        """
        s, n = self.settings, self.settings.window
        load, rates = modes.Phi.T @ dynamics.b, modes.inverse @ v
        free, target = self._end(step, n, dynamics, modes, rates, load)
        active = [touching, *(self._planned_points(step + k) for k in range(1, n))]
        r = modes.rigid
        found = plan_window(
            np.einsum("vr,pdv->rpd", modes.Phi[:, r], dynamics.J),
            active,
            np.concatenate([free[0, r] - target[r, 0], free[1, r] - target[r, 1]]),
            dt=s.dt,
            weight=-float(dynamics.b[2]),
            weights=s.rigid,
            start=self._multipliers,
            bilateral=self._character.held if self._character.held.any() else None,
        )
        self._multipliers, forces = found.multipliers, found.forces
        m = n if s.low_window is None else min(n, s.low_window)
        impulses, first = np.zeros((m, len(v))), 0
        for k, points in enumerate(active[:m]):
            pushed = np.einsum("pd,pdv->v", forces[first : first + len(points)], dynamics.J[points])
            impulses[k] = s.dt * modes.Phi.T @ pushed
            first += len(points)
        if m < n:
            free, target = self._end(step, m, dynamics, modes, rates, load)
        actuation = self._low_actuation(step, dynamics, modes, free, target, impulses, load)
        low = modes.low
        joints = modes.inverse[low].T @ actuation[0]
        return Plan(forces[: len(touching)], joints, found.residual)

    def _end(
        self, step: int, n: int, dynamics: LinearDynamics, modes: Modes, rates: Array, load: Array
    ) -> tuple[Array, Array]:
        """Return state of the modes in n steps without forces, (2, nv), and that of the reference, (nv, 2)."""
        target_q, target_v = self._reference.state(step + n)
        target = modes.inverse @ np.stack([displacement(dynamics.q, target_q), target_v], axis=1)
        return free_response(np.zeros(len(load)), rates, load, modes.squares, n * self.settings.dt), target

    def _planned_points(self, step: int) -> NDArray[np.intp]:
        """Return the points in contact at a step of the reference."""
        return np.flatnonzero(self._reference.planted(step)[self._character.surface_of_point])

    def _low_actuation(
        self,
        step: int,
        dynamics: LinearDynamics,
        modes: Modes,
        free: Array,
        target: Array,
        impulses: Array,
        load: Array,
    ) -> Array:
        """Return the impulses of low modes over their window, (n, low), (17) to (21).

        Args:
            step: index in the reference.
            dynamics: at the present configuration.
            modes: of these dynamics.
            free: state at the end without forces, (2, nv).
            target: that of the reference, (nv, 2).
            impulses: of the contact forces on all modes, (n, nv).
            load: constant forces on the modes, (nv,).
        """
        s, low, n = self.settings, modes.low, len(impulses)
        given = impulses[:, low]
        A, rate = impulse_response(modes.squares[low], s.dt * np.arange(n, 0, -1, dtype=np.float64))
        if s.rigid.feed_forward:
            places = np.array(
                [
                    modes.inverse[low] @ displacement(dynamics.q, self._reference.configuration(step + k))
                    for k in range(n)
                ]
            )
            holding = s.dt * (modes.squares[low] * places - load[low]) - given
            given = given + holding
        reached = free[:, low] + np.stack([np.sum(A * given, axis=0), np.sum(rate * given, axis=0)])
        # p' = l p, I' = I / l and A' = l² A in the coordinates of modes of another length l
        scale = modes.lengths[low] if s.unit_modes else np.ones(given.shape[1])
        found = scale * low_actuation(
            scale**2 * A,
            scale**2 * rate,
            scale * (target[low, 0] - reached[0]),
            scale * (target[low, 1] - reached[1]),
            weights=(s.low_position, s.low_rate),
            effort=s.impulse,
        )
        return found + holding if s.rigid.feed_forward else found

    def high_actuation(self, step: int, dynamics: LinearDynamics, modes: Modes, v: Array, impulses: Array) -> Array:
        """Return the impulse of each high mode of this step, (22).

        Args:
            step: index in the reference.
            dynamics: at the present configuration.
            modes: of these dynamics.
            v: present velocity, (nv,).
            impulses: of all modes by contact forces, (nv,).
        """
        s, h = self.settings, modes.high
        target = modes.inverse[h] @ displacement(dynamics.q, self._reference.configuration(step + 1))
        load, rates = modes.Phi[:, h].T @ dynamics.b, modes.inverse[h] @ v
        free = free_response(np.zeros(len(load)), rates, load, modes.squares[h], s.dt)[0]
        response = impulse_response(modes.squares[h], np.array([s.dt]))[0][0]
        return high_actuation(response, target - free - response * impulses[h])

    def linearised(self, q: Array) -> tuple[LinearDynamics, Modes]:
        """Return dynamics and modes at a configuration."""
        dynamics = self._character.linearise(q)
        return dynamics, modes_of(dynamics, threshold=self.settings.threshold, planned=self.settings.planned)
