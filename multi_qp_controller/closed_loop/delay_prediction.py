"""Delay compensation: prediction of the scene's state at the time when a command takes effect."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from math import ceil

import numpy as np
import pinocchio as pin

from multi_qp_controller.contacts.contact import ActiveContact
from multi_qp_controller.dynamics.constrained_dynamics import ConstrainedDynamics
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.dynamics.motion_kernel import NoSlipData, no_slip_rows
from multi_qp_controller.dynamics.motion_table import MotionTable
from multi_qp_scene.arrays import Array
from multi_qp_scene.kernel_data import KernelData
from multi_qp_scene.kinematic_trees import KinematicTrees
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene, State

_Rows = tuple[tuple[tuple[int, int], int], ...]

#: Longest step of the prediction [s].
LONGEST_STEP = 0.0125
#: Largest number of contact corrections; each reduces the remaining error to a tenth.
CORRECTIONS = 2
#: Contact errors up to these [m, rad] and [m/s, rad/s] are not corrected a second time.
NEAR, SLOW = 2e-5, 2e-3


class Predictor:
    """Predicts by the equation of motion, under the torques applied meanwhile, with contacts as rigid constraints.

    A model is needed: in a closed chain under internal force (two hands on a box, four people under a litter), a force
    F along a link of length l causes a torque F l sin(angle). With a delay δ, the change of that angle acts as a
    negative damping F l δ on light joints, more than the damping of their tasks; and the velocity in no-slip rows and
    dampers changes within δ as the last torques accelerate the scene.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._workspaces: _Workspaces | None = None
        self._contacts: dict[_Rows, _Contacts] = {}

    def warm_up(self, scenario: Scenario) -> None:
        """Allocate and compile for the contacts of all states of a scenario of this scene, before the control loop."""
        surfaces, state = self._scene.surfaces, self._scene.initial_state()
        for names in {tuple(phase.contacts) for phase in scenario.spec.states.values()}:
            pairs = [[surfaces[surface] for surface in scenario.spec.contacts[name].surfaces] for name in names]
            active = self._contacts_for({(a.frame_id, b.frame_id): a.equality_rows for a, b in pairs})
            with suppress(np.linalg.LinAlgError):
                self._predict(state, np.zeros(self._scene.na), active, LONGEST_STEP, 0.0)

    def predict(
        self, state: State, torque: Array, contacts: Iterable[ActiveContact], delay: float, *, hold: float = 0.0
    ) -> State:
        """Return the state after a delay.

        Contacts keep their present pose error. Otherwise the error of the prediction, about 0.1 mm, would appear as
        slip, which the QP corrects within one period; that fast motion is predicted with a larger error, and with a
        delay of three periods the torques would diverge until the robot falls.

        Args:
            state: measured state; finite.
            torque: torque applied during the delay, (na,) [N m].
            contacts: contacts active during the delay.
            delay: duration of the prediction [s].
            hold: additional time by which positions are extrapolated with the velocities [s]. A torque that is held
                for a period acts, on average, half a period after its start.

        Returns:
            The predicted state; the measured one where the prediction is not finite.
        """
        try:
            active = self._contacts_for({contact.frames: contact.rows for contact in contacts})
            ahead = self._predict(state, torque, active, delay, hold)
        except np.linalg.LinAlgError:
            return state
        return ahead if ahead.is_finite else state

    def _predict(self, state: State, torque: Array, active: _Contacts, delay: float, hold: float) -> State:
        steps = max(ceil(delay / LONGEST_STEP - 1e-9), 1)
        dt, q, v, model = delay / steps, state.q, state.v, self._scene.model
        couplings, kinematics = self._scene.couplings, active.kinematics
        coupled = len(couplings)
        for step in range(steps):
            kinematics.update(state if step == 0 else State(q, v))
            J, still = active.measure(hold_current=step == 0)
            constrained = ConstrainedDynamics(kinematics, np.concatenate([couplings.J, J]) if coupled else J)
            before, held = v, hold if step == steps - 1 else 0.0
            if delay > 0.0:
                # the contact velocity becomes zero within the step
                rhs = still / dt - active.drift
                if coupled:
                    rhs = np.concatenate([couplings.rhs(kinematics.q, kinematics.v, dt), rhs])
                v = before + constrained.acceleration(torque, rhs)[0] * dt
            # the mean of both velocities, for a position that is exact to second order
            q = pin.integrate(model, q, (0.5 * dt) * before + (0.5 * dt + held) * v)
        return self._project_contacts(q, v, active, constrained) if len(still) else State(q, v)

    def _project_contacts(self, q: Array, v: Array, active: _Contacts, constrained: ConstrainedDynamics) -> State:
        """Return a state with the contacts at their held relative poses, and at rest."""
        coupled = len(self._scene.couplings)
        for _ in range(CORRECTIONS):
            back, still = active.corrections(q, v)
            near = np.abs(back).max() < NEAR and np.abs(still).max() < SLOW
            if coupled:
                still, back = (np.concatenate([np.zeros(coupled), change]) for change in (still, back))
            v = v + constrained.shift(still)
            q = pin.integrate(self._scene.model, q, constrained.shift(back))
            if near:
                break
        return State(q, v)

    def _contacts_for(self, rows: dict[tuple[int, int], int]) -> _Contacts:
        """Return the cached contact geometry for a number of rows for each pair of frames."""
        if self._workspaces is None:
            self._workspaces = _Workspaces(self._scene)
        key = tuple(rows.items())
        if key not in self._contacts:
            self._contacts[key] = _Contacts(self._workspaces, rows)
        return self._contacts[key]


class _Workspaces:
    """Pinocchio data of two states: the start of a step, and the end of the prediction."""

    def __init__(self, scene: Scene) -> None:
        self.kinematics = Kinematics(scene)
        self.end = KinematicTrees(scene.model)


class _Contacts:
    """Relative motions of the active contacts: at the start of each prediction step, and at the end.

    Attributes:
        kinematics: kinematics at the start of a step.
        drift: J̇v of each row at the last `measure`.
    """

    def __init__(self, places: _Workspaces, rows: dict[tuple[int, int], int]) -> None:
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
        self._at_rest = KernelData(
            NoSlipData(
                made=self._held,
                X=self._then.X,
                twist=rest,
                drift=rest,
                rows=self._counts,
                starts=np.zeros(len(rows) + 1, dtype=np.intp),  # no columns: the Jacobian is not computed
                columns=self._row[:0],
                J=J,
                J_out=J,
                rhs=self._back,
            )
        )

    def measure(self, *, hold_current: bool) -> tuple[Array, Array]:
        """Return the Jacobian, (m, nv), and the velocity change that stops the contacts, (m,), at `kinematics`."""
        table = self._now
        table.update()
        if hold_current:
            np.copyto(self._held, table.X)
        if self._all:  # all rows of the table
            self.drift = table.drift.ravel()
            return table.J, -table.twist.ravel()
        self.drift = table.drift.ravel()[self._row]
        return table.J[self._row], -table.twist.ravel()[self._row]

    def corrections(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the changes of pose and velocity that restore the held relative poses at rest, (m,) each."""
        table = self._then
        self._places.end.place(q, v)
        self._places.end.views.refresh()
        table.update()
        no_slip_rows(1.0, self._at_rest.table)  # with dt = 1 s and zero velocity, the right-hand side is the pose error
        twist = table.twist.ravel()
        return self._back, -(twist if self._all else twist[self._row])
