"""Whole-body postures for given contacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from contact_planner.body import Body, Limb
from multi_qp_scene.equilibrium import EquilibriumRegion

Array = NDArray[np.float64]

_DAMPING = 1e-7  # of the contact rows, which joints at their limits can leave dependent on one another
_INSIDE = 1e-3  # how much further inside its region the centre of mass is sent than it has to be [m]
_PASSES = 4  # with joints at their limits held


@dataclass(frozen=True)
class IkSettings:
    """How a posture is searched.

    Attributes:
        iterations: at most.
        liking: iterations that also go towards the liked posture; those after them only make good what is left.
        position: tolerance of a contact's place [m].
        rotation: tolerance of a contact's orientation [rad].
        base: weight of the base's distance from the liked one, against 1 for a joint's [1/m², 1/rad²].
        step: longest step of one joint in one iteration [rad].
        hopeless: a contact is given up that is so far off after `liking` iterations [m].
    """

    iterations: int = 20
    liking: int = 7
    position: float = 2e-4
    rotation: float = 2e-3
    base: float = 10.0
    step: float = 0.5
    hopeless: float = 0.1


class InverseKinematics:
    """Gauss-Newton: as near to the liked posture as contacts, centre of mass and joint limits allow.

    Each iteration solves min ‖x − w‖²_W subject to J x = e, with w the way to the liked posture, e the errors of the
    contacts, and joints that press against their limits held. Rows for the centre of mass come in where the step would
    leave it outside its region.
    """

    def __init__(self, body: Body, settings: IkSettings | None = None) -> None:
        self.settings = settings or IkSettings()
        self._body = body
        self._ease = np.ones(body.model.nv)  # W⁻¹
        self._ease[:6] = 1.0 / self.settings.base
        self._lower, self._upper = body.lower[6:], body.upper[6:]

    def solve(
        self,
        q: Array,
        contacts: Mapping[str, pin.SE3],
        *,
        liked: Array,
        region: EquilibriumRegion | None = None,
        margin: float = 0.0,
    ) -> Array | None:
        """Return a posture with its limbs at the contacts, or None.

        Args:
            q: where the search begins, (nq,).
            contacts: placement of each limb's surface frame in the world, by limb.
            liked: posture and base pose to stay near, (nq,).
            region: where the centre of mass has to be, if anywhere.
            margin: how far inside it [m].
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
            if iteration > s.liking:
                if worst > s.hopeless or worst > 0.9 * best and worst > 0.01:
                    return None
                best = worst
            wish = pin.difference(model, q, liked) if iteration < s.liking else np.zeros(model.nv)
            step = self._step(q, J[:rows], e[:rows], wish)
            if region is not None and com is not None and J_com is not None:
                there = com + J_com @ step
                if region.margin(there) < margin + 0.5 * _INSIDE:
                    J[rows:], e[rows:] = J_com, _drawn_in(region, there, margin + _INSIDE) - com
                    step = self._step(q, J, e, wish)
            largest = np.abs(step).max()
            if largest > s.step:
                step *= s.step / largest
            q = pin.integrate(model, q, step)
            np.clip(q[7:], self._lower, self._upper, out=q[7:])
        return None

    def _contacts(self, limbs: list[tuple[Limb, pin.SE3]], J: Array, e: Array) -> tuple[bool, float]:
        """Fill in the rows of the contacts; return whether all of them hold, and the largest distance [m]."""
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
            away = float(np.sqrt(error[:3] @ error[:3]))
            exact &= away < s.position
            worst = max(worst, away)
            J[row : row + count], e[row : row + count] = J_limb[:count], error
            row += count
        return exact, worst

    def _step(self, q: Array, J: Array, e: Array, wish: Array) -> Array:
        """Return the step, with joints that would leave their range held at its end."""
        ease, target = self._ease, wish
        low, high = self._lower - q[7:], self._upper - q[7:]
        step = wish
        for _ in range(_PASSES):
            weighted = J * ease
            A = weighted @ J.T
            A.flat[:: len(A) + 1] += _DAMPING
            _, x, info = dposv(A, e - J @ target)
            if info != 0:
                return target
            step = target + weighted.T @ x
            beyond = (step[6:] < low - 1e-9) | (step[6:] > high + 1e-9)
            if not beyond.any():
                break
            if ease is self._ease:
                ease, target = ease.copy(), wish.copy()
            held = 6 + np.flatnonzero(beyond)
            ease[held] = 0.0
            target[held] = np.clip(step[held], low[held - 6], high[held - 6])
        return step


def _drawn_in(region: EquilibriumRegion, point: Array, margin: float) -> Array:
    """Return a point of a region near to one outside, (2,): projected on its edges by turns."""
    target, normals, offsets = point.copy(), region.A[:, :2], region.a - margin
    for _ in range(8):
        over = normals @ target - offsets
        worst = int(np.argmax(over))
        if over[worst] <= 0.0:
            return target
        target -= over[worst] * normals[worst]
    return region.centre
