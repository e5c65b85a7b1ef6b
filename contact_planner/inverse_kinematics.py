"""Inverse kinematics: whole-body postures for given contacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.linalg.lapack import dposv

from contact_planner.body import CharacterModel, Limb
from multi_qp_scene.arrays import Array
from multi_qp_scene.equilibrium import EquilibriumRegion

_DAMPING = 1e-7  # of the contact rows, which fixed joints can make linearly dependent
_INSIDE = 1e-3  # [m] additional margin of the centre of mass inside its region
_PASSES = 4  # largest number of solves in which joints are fixed at their limits


@dataclass(frozen=True)
class IkSettings:
    """Settings of the inverse kinematics.

    Attributes:
        iterations: largest number of iterations.
        nominal_iterations: iterations with the cost towards the nominal configuration; later ones reduce contact
            errors only.
        position: tolerance of a contact's position [m].
        rotation: tolerance of a contact's orientation [rad].
        base: weight of the base in the distance from the nominal configuration, joints have 1 [1/m², 1/rad²].
        step: longest step of one joint in one iteration [rad].
        abort_distance: contact error after `nominal_iterations` iterations at which the search is aborted [m].
    """

    iterations: int = 20
    nominal_iterations: int = 7
    position: float = 2e-4
    rotation: float = 2e-3
    base: float = 10.0
    step: float = 0.5
    abort_distance: float = 0.1


class InverseKinematics:
    """Gauss-Newton search for the posture nearest to a nominal one under contacts, balance and joint limits.

    Each iteration solves min ‖x − w‖²_W subject to J x = e, with w the difference to the nominal configuration and e
    the errors of the contacts; joints at their limits are fixed. Rows for the centre of mass are added if the step
    would leave it outside its region.
    """

    def __init__(self, body: CharacterModel, settings: IkSettings | None = None) -> None:
        self.settings = settings or IkSettings()
        self._body = body
        self._inverse_weights = np.ones(body.model.nv)  # W⁻¹
        self._inverse_weights[:6] = 1.0 / self.settings.base
        self._lower, self._upper = body.lower[6:], body.upper[6:]

    def solve(
        self,
        q: Array,
        contacts: Mapping[str, pin.SE3],
        *,
        q_nominal: Array,
        region: EquilibriumRegion | None = None,
        margin: float = 0.0,
    ) -> Array | None:
        """Return a posture with its limbs at the contacts, or None.

        Args:
            q: initial guess, (nq,).
            contacts: placement of each limb's surface frame in the world, by limb.
            q_nominal: nominal configuration with its base pose, (nq,).
            region: region that must contain the centre of mass; no condition by default.
            margin: least distance inside it [m].
        """
        body, s = self._body, self.settings
        model, data = body.model, body.data
        limbs = [(body.limbs[name], pose) for name, pose in contacts.items()]
        rows = sum(3 if limb.surface.kind == "point" else 6 for limb, _ in limbs)
        J, e = np.empty((rows + 2, model.nv)), np.empty(rows + 2)
        q, best = q.copy(), np.inf
        for iteration in range(s.iterations):
            pin.computeJointJacobians(model, data, q)
            exact, worst = self._contacts(limbs, J, e)
            com = J_com = None
            if region is not None:
                J_com = pin.jacobianCenterOfMass(model, data, q, False)[:2]
                com = data.com[0][:2].copy()
                exact &= bool(region.margin(com) >= margin - 1e-4)
            if exact and iteration > 2:
                return q
            if iteration > s.nominal_iterations:
                if worst > s.abort_distance or worst > 0.9 * best and worst > 0.01:
                    return None
                best = worst
            to_nominal = pin.difference(model, q, q_nominal) if iteration < s.nominal_iterations else np.zeros(model.nv)
            step = self._step(q, J[:rows], e[:rows], to_nominal)
            if region is not None and com is not None and J_com is not None:
                com_next = com + J_com @ step
                if region.margin(com_next) < margin + 0.5 * _INSIDE:
                    J[rows:], e[rows:] = J_com, _project_into(region, com_next, margin + _INSIDE) - com
                    step = self._step(q, J, e, to_nominal)
            largest = np.abs(step).max()
            if largest > s.step:
                step *= s.step / largest
            q = pin.integrate(model, q, step)
            np.clip(q[7:], self._lower, self._upper, out=q[7:])
        return None

    def contact_jacobian(self, q: Array, contacts: Mapping[str, pin.SE3]) -> Array:
        """Return the Jacobian of the contact errors of limbs, (rows, nv), at q, (nq,)."""
        limbs = [(self._body.limbs[name], pose) for name, pose in contacts.items()]
        rows = sum(3 if limb.surface.kind == "point" else 6 for limb, _ in limbs)
        J, e = np.empty((rows, self._body.model.nv)), np.empty(rows)
        pin.computeJointJacobians(self._body.model, self._body.data, q)
        self._contacts(limbs, J, e)
        return J

    def _contacts(self, limbs: list[tuple[Limb, pin.SE3]], J: Array, e: Array) -> tuple[bool, float]:
        """Write the rows of the contacts; return whether all are within tolerance, and the largest distance [m]."""
        model, data, s = self._body.model, self._body.data, self.settings
        exact, worst, row = True, 0.0, 0
        for limb, pose in limbs:
            here = pin.updateFramePlacement(model, data, limb.frame_id)
            J_limb = pin.getFrameJacobian(model, data, limb.frame_id, pin.LOCAL)
            if limb.surface.kind == "point":
                error, count = here.rotation.T @ (pose.translation - here.translation), 3
            else:
                error, count = pin.log6(here.actInv(pose)).vector, 6
                exact &= bool(error[3:] @ error[3:] < s.rotation**2)
            distance = float(np.sqrt(error[:3] @ error[:3]))
            exact &= distance < s.position
            worst = max(worst, distance)
            J[row : row + count], e[row : row + count] = J_limb[:count], error
            row += count
        return exact, worst

    def _step(self, q: Array, J: Array, e: Array, to_nominal: Array) -> Array:
        """Return the step, with joints that would leave their range fixed at its limit."""
        inverse_weights, target = self._inverse_weights, to_nominal
        low, high = self._lower - q[7:], self._upper - q[7:]
        step = to_nominal
        for _ in range(_PASSES):
            weighted = J * inverse_weights
            A = weighted @ J.T
            A.flat[:: len(A) + 1] += _DAMPING
            _, x, info = dposv(A, e - J @ target)
            if info != 0:
                return target
            step = target + weighted.T @ x
            beyond = (step[6:] < low - 1e-9) | (step[6:] > high + 1e-9)
            if not beyond.any():
                break
            if inverse_weights is self._inverse_weights:
                inverse_weights, target = inverse_weights.copy(), to_nominal.copy()
            fixed = 6 + np.flatnonzero(beyond)
            inverse_weights[fixed] = 0.0
            target[fixed] = np.clip(step[fixed], low[fixed - 6], high[fixed - 6])
        return step


def _project_into(region: EquilibriumRegion, point: Array, margin: float) -> Array:
    """Return a point of a region near to one outside, (2,), by successive projection on its edges."""
    target, normals, offsets = point.copy(), region.A[:, :2], region.a - margin
    for _ in range(8):
        excess = normals @ target - offsets
        worst = int(np.argmax(excess))
        if excess[worst] <= 0.0:
            return target
        target -= excess[worst] * normals[worst]
    return region.centre
