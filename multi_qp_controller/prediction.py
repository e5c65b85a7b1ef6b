"""Where a scene will be when a command takes effect: compensation of the delay between state and torque."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.bonded_dynamics import Bonds
from multi_qp_controller.contact import ActiveContact
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.relative_motion import relative_motion
from multi_qp_scene.scene import Scene, State

Array = NDArray[np.float64]

#: Longest step of the prediction [s].
LONGEST_STEP = 0.0125
#: Times that contacts are brought back to where they are held; each leaves a tenth of what was left.
CORRECTIONS = 2


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
        self._data = scene.model.createData()

    def ahead(
        self, state: State, torque: Array, contacts: Iterable[ActiveContact], delay: float, *, hold: float = 0.0
    ) -> State:
        """Return the state after a delay.

        Contacts stay as far from where they were made as they are now. The prediction's own error, some 0.1 mm, would
        be taken for slipping, which the QP undoes within a period; so fast a motion is predicted still worse, and the
        torques, late by three periods, would build up to a fall.

        Args:
            state: as measured; finite.
            torque: that acts meanwhile, (na,) [N m].
            contacts: that are on meanwhile.
            delay: [s].
            hold: by which positions are moved on in addition, by the velocities [s]. A torque that is held for a period
                acts, on average, half a period later than it begins to.

        Returns:
            The state after it; as measured when that would not be finite.
        """
        try:
            ahead = self._ahead(state, torque, tuple(contacts), delay, hold)
        except np.linalg.LinAlgError:
            return state
        return ahead if ahead.is_finite else state

    def _ahead(
        self, state: State, torque: Array, contacts: tuple[ActiveContact, ...], delay: float, hold: float
    ) -> State:
        steps = ceil(delay / LONGEST_STEP - 1e-9)
        dt, ahead, model = delay / max(steps, 1), state, self._scene.model
        if self._kinematics is None:
            self._kinematics = Kinematics(self._scene)
        kinematics, couplings = self._kinematics, self._scene.couplings
        held: list[pin.SE3] = []
        for step in range(max(steps, 1)):
            kinematics.update(ahead)
            motions = [relative_motion(kinematics, *contact.frames) for contact in contacts]
            held = [pin.SE3(motion.X_B_A) for motion in motions] if step == 0 else held
            bonds = Bonds(kinematics, np.concatenate([couplings.J, *_of(contacts, [m.J for m in motions])]))
            if steps:
                # their velocity dies out within the step
                rhs = [couplings.rhs(kinematics.q, kinematics.v, dt)]
                rhs += _of(contacts, [-motion.twist / dt - motion.drift for motion in motions])
                v = ahead.v + bonds.acceleration(torque, np.concatenate(rhs))[0] * dt
                # the mean of both velocities, for a position that is exact to second order
                ahead = State(pin.integrate(model, ahead.q, 0.5 * (ahead.v + v) * dt), v)
        q, v, free = pin.integrate(model, ahead.q, ahead.v * hold), ahead.v, np.zeros(len(couplings.J))
        for _ in range(CORRECTIONS):
            back, still = self._astray(q, v, contacts, held)
            v = v + bonds.shift(np.concatenate([free, *still]))
            q = pin.integrate(model, q, bonds.shift(np.concatenate([free, *back])))
        return State(q, v)

    def _astray(
        self, q: Array, v: Array, contacts: tuple[ActiveContact, ...], held: list[pin.SE3]
    ) -> tuple[list[Array], list[Array]]:
        """Return what brings contacts to the relative poses at which they are held, and to rest, (rows,) of each."""
        model, data = self._scene.model, self._data
        pin.forwardKinematics(model, data, q, v)
        back, still = [], []
        for contact, pose in zip(contacts, held, strict=True):
            first, second = contact.frames
            X_first_second = pin.updateFramePlacement(model, data, first).actInv(
                pin.updateFramePlacement(model, data, second)
            )
            astray = X_first_second.act(pose)
            back.append(astray.translation if contact.rows == 3 else pin.log6(astray).vector)
            twist = X_first_second.act(pin.getFrameVelocity(model, data, second, pin.LOCAL))
            still.append((twist - pin.getFrameVelocity(model, data, first, pin.LOCAL)).vector)
        return back, _of(contacts, still)


def _of(contacts: tuple[ActiveContact, ...], values: list[Array]) -> list[Array]:
    """Return the rows that each contact has, of values with six."""
    return [value[: contact.rows] for contact, value in zip(contacts, values, strict=True)]
