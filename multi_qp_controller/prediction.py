"""Where a scene will be when a command takes effect: compensation of the delay between state and torque."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from math import ceil

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.bonded_dynamics import Bonds
from multi_qp_controller.contact import ActiveContact
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.motion_kernel import NO_SLIP_KINDS, no_slip_rows
from multi_qp_controller.motion_table import MotionTable
from multi_qp_scene.bundles import Bundle
from multi_qp_scene.forest import Forest
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene, State

Array = NDArray[np.float64]
_Rows = tuple[tuple[tuple[int, int], int], ...]

#: Longest step of the prediction [s].
LONGEST_STEP = 0.0125
#: Times that contacts are brought back to where they are held, at most; each leaves a tenth of what was left.
CORRECTIONS = 2
#: What is no further astray than this [m, rad] and [m/s, rad/s] is not brought back a second time.
NEAR, SLOW = 2e-5, 2e-3


class Predictor:
    """Predicts by the equation of motion, under the torques that act meanwhile, with contacts as bonds.

    Why it takes a model: in a closed chain that is squeezed (two hands on a box, four people under a litter) a force F
    along a link of length l turns into a torque F l sin(angle). Answered late by δ, the change of that angle acts as a
    negative damping F l δ on light joints, more than their tasks' damping can hold; and the velocity, by which no-slip
    rows and dampers are stated, changes within δ by as much as the last torques made it.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._made: _Places | None = None
        self._contacts: dict[_Rows, _Contacts] = {}

    def rehearse(self, scenario: Scenario) -> None:
        """Get ready for the contacts of all states of a scenario of this scene: nothing is made or loaded in a loop."""
        surfaces, state = self._scene.surfaces, self._scene.initial_state()
        for names in {tuple(phase.contacts) for phase in scenario.spec.states.values()}:
            pairs = [[surfaces[surface] for surface in scenario.spec.contacts[name].surfaces] for name in names]
            bonded = self._taken_up({(a.frame_id, b.frame_id): a.equality_rows for a, b in pairs})
            with suppress(np.linalg.LinAlgError):
                self._ahead(state, np.zeros(self._scene.na), bonded, LONGEST_STEP, 0.0)

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
            bonded = self._taken_up({contact.frames: contact.rows for contact in contacts})
            ahead = self._ahead(state, torque, bonded, delay, hold)
        except np.linalg.LinAlgError:
            return state
        return ahead if ahead.is_finite else state

    def _ahead(self, state: State, torque: Array, bonded: _Contacts, delay: float, hold: float) -> State:
        steps = max(ceil(delay / LONGEST_STEP - 1e-9), 1)
        dt, q, v, model = delay / steps, state.q, state.v, self._scene.model
        couplings, kinematics = self._scene.couplings, bonded.kinematics
        coupled = len(couplings)
        for step in range(steps):
            kinematics.update(state if step == 0 else State(q, v))
            J, still = bonded.measure(hold_here=step == 0)
            bonds = Bonds(kinematics, np.concatenate([couplings.J, J]) if coupled else J)
            before, held = v, hold if step == steps - 1 else 0.0
            if delay > 0.0:
                # their velocity dies out within the step
                rhs = still / dt - bonded.drift
                if coupled:
                    rhs = np.concatenate([couplings.rhs(kinematics.q, kinematics.v, dt), rhs])
                v = before + bonds.acceleration(torque, rhs)[0] * dt
            # the mean of both velocities, for a position that is exact to second order
            q = pin.integrate(model, q, (0.5 * dt) * before + (0.5 * dt + held) * v)
        return self._brought_back(q, v, bonded, bonds) if len(still) else State(q, v)

    def _brought_back(self, q: Array, v: Array, bonded: _Contacts, bonds: Bonds) -> State:
        """Return a state with the contacts where they are held, and at rest."""
        coupled = len(self._scene.couplings)
        for _ in range(CORRECTIONS):
            back, still = bonded.astray(q, v)
            near = np.abs(back).max() < NEAR and np.abs(still).max() < SLOW
            if coupled:
                still, back = (np.concatenate([np.zeros(coupled), change]) for change in (still, back))
            v = v + bonds.shift(still)
            q = pin.integrate(self._scene.model, q, bonds.shift(back))
            if near:
                break
        return State(q, v)

    def _taken_up(self, rows: dict[tuple[int, int], int]) -> _Contacts:
        """Return the geometry of contacts, with so many rows for each pair of frames."""
        if self._made is None:
            self._made = _Places(self._scene)
        key = tuple(rows.items())
        if key not in self._contacts:
            self._contacts[key] = _Contacts(self._made, rows)
        return self._contacts[key]


class _Places:
    """What pinocchio knows of two states: where a step begins, and where the prediction ends."""

    def __init__(self, scene: Scene) -> None:
        self.kinematics = Kinematics(scene)
        self.end = Forest(scene.model)


class _Contacts:
    """The relative motions of the contacts that are on: at the states of the prediction, and at its end.

    Attributes:
        kinematics: of where a step begins.
        drift: J̇v of each row when they were last measured.
    """

    def __init__(self, places: _Places, rows: dict[tuple[int, int], int]) -> None:
        self.kinematics, self._places, self._model = places.kinematics, places, places.kinematics.model
        self._now = MotionTable(self._model, self.kinematics.views, self.kinematics.data, rows)
        self._then = MotionTable(self._model, places.end.views, places.end.data, rows)
        counts = list(rows.values())
        self._counts = np.array(counts, dtype=np.intp)
        self._row = np.concatenate([np.zeros(0, np.intp), *(6 * k + np.arange(n) for k, n in enumerate(counts))])
        self._all = len(self._row) == 6 * len(rows)
        self._held = np.zeros((len(rows), 4, 4))
        self._back, self.drift = np.zeros(len(self._row)), np.zeros(len(self._row))
        rest, J = np.zeros((len(rows), 6)), self._then.J
        no_columns = np.zeros(len(rows) + 1, dtype=np.intp), self._row[:0]  # Jacobians are not asked for
        self._at_rest = Bundle(
            NO_SLIP_KINDS, self._held, self._then.X, rest, rest, self._counts, *no_columns, J, J, self._back
        )

    def measure(self, *, hold_here: bool) -> tuple[Array, Array]:
        """Return Jacobian, (m, nv), and what brings the contacts to rest, (m,), at the state of the kinematics."""
        table = self._now
        table.update()
        if hold_here:
            np.copyto(self._held, table.X)
        if self._all:  # rows of the table, as they are
            self.drift = table.drift.ravel()
            return table.J, -table.twist.ravel()
        self.drift = table.drift.ravel()[self._row]
        return table.J[self._row], -table.twist.ravel()[self._row]

    def astray(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return what brings contacts to the relative poses at which they are held, and to rest, (m,) each."""
        table = self._then
        self._places.end.place(q, v)
        self._places.end.views.refresh()
        table.update()
        no_slip_rows(1.0, self._at_rest.table)  # over 1 s: what is left of the rows is the error of the pose
        twist = table.twist.ravel()
        return self._back, -(twist if self._all else twist[self._row])
