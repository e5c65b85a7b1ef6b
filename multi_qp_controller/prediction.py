"""Where a scene will be when a command takes effect: compensation of the delay between state and torque."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.bonded_dynamics import bonded_acceleration
from multi_qp_controller.contact import ActiveContact
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.relative_motion import relative_motion
from multi_qp_scene.scene import Scene, State

Array = NDArray[np.float64]

#: Longest step of the prediction [s].
LONGEST_STEP = 0.0125


class Predictor:
    """Predicts by the equation of motion, under the torques that act meanwhile, with contacts as bonds.

    Why it takes a model: in a closed chain that is squeezed (two hands on a box, four people under a litter) a force F
    along a link of length l turns into a torque F l sin(angle). Answered late by δ, the change of that angle acts as a
    negative damping F l δ on light joints, more than their tasks' damping can hold; and the velocity, by which no-slip
    rows and dampers are stated, changes within δ by as much as the last torques made it.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._kinematics: Kinematics | None = None

    def ahead(self, state: State, torque: Array, contacts: Iterable[ActiveContact], delay: float) -> State:
        """Return the state after a delay.

        Args:
            state: as measured; finite.
            torque: that acts meanwhile, (na,) [N m].
            contacts: that are on meanwhile.
            delay: [s].

        Returns:
            The state after it; as measured when that would not be finite.
        """
        steps = ceil(delay / LONGEST_STEP - 1e-9)
        if steps <= 0:
            return state
        contacts, dt, ahead = tuple(contacts), delay / steps, state
        try:
            for _ in range(steps):
                v = ahead.v + self._acceleration(ahead, torque, contacts, dt) * dt
                # the mean of both velocities, for a position that is exact to second order
                ahead = State(pin.integrate(self._scene.model, ahead.q, 0.5 * (ahead.v + v) * dt), v)
        except np.linalg.LinAlgError:
            return state
        return ahead if ahead.is_finite else state

    def _acceleration(self, state: State, torque: Array, contacts: tuple[ActiveContact, ...], dt: float) -> Array:
        if self._kinematics is None:
            self._kinematics = Kinematics(self._scene)
        kinematics, couplings = self._kinematics, self._scene.couplings
        kinematics.update(state)
        J, rhs = [couplings.J], [couplings.rhs(kinematics.q, kinematics.v, dt)]
        for contact in contacts:
            motion = relative_motion(kinematics, contact.first.frame_id, contact.second.frame_id)
            J.append(motion.J[: contact.rows])
            # its velocity dies out within the step; the pose that it is held at is not asked for: nothing shall jump
            rhs.append((-motion.twist / dt - motion.drift)[: contact.rows])
        return bonded_acceleration(kinematics, torque, np.concatenate(J), np.concatenate(rhs))[0]

    def coast(self, state: State, time: float) -> State:
        """Return the state with its positions moved on by its velocities for a time [s]; velocities stay.

        A torque that is held for a period acts, on average, half a period later than it begins to.
        """
        return State(pin.integrate(self._scene.model, state.q, state.v * time), state.v)
