"""Whole-body postures for given contacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from contact_planner.body import Body
from multi_qp_scene.equilibrium import SupportRegion

Array = NDArray[np.float64]


@dataclass(frozen=True)
class IkSettings:
    """How a posture is searched.

    Attributes:
        iterations: at most.
        position: tolerance of a contact's place [m].
        rotation: tolerance of a contact's orientation [rad].
        posture: weight of the joints' distance from the liked posture, against 1 for contacts [1/rad²].
        base: weight of the base's distance from where the path has it [1/m², 1/rad²].
        step: longest step of one joint in one iteration [rad].
    """

    iterations: int = 40
    position: float = 2e-4
    rotation: float = 2e-3
    posture: float = 2e-3
    base: float = 2e-2
    step: float = 0.35


class InverseKinematics:
    """Gauss-Newton on contacts, centre of mass, base and posture, with joint limits as an active set.

    Contacts count most, so at the solution they hold to the tolerance; the rest is traded off by its weights.
    """

    def __init__(self, body: Body, settings: IkSettings | None = None) -> None:
        self.settings = settings or IkSettings()
        self._body = body
        nv = body.model.nv
        self._H, self._g = np.empty((nv, nv)), np.empty(nv)
        self._diagonal = np.full(nv, self.settings.posture)
        self._diagonal[:6] = self.settings.base
        self._J = np.zeros((6, nv))

    def solve(
        self,
        q: Array,
        contacts: Mapping[str, pin.SE3],
        *,
        liked: Array,
        region: SupportRegion | None = None,
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
        q = q.copy()
        limbs = [(body.limbs[name], pose) for name, pose in contacts.items()]
        factor = 1.0  # of the weights of what is only liked; they fade so that contacts end up exact
        for iteration in range(s.iterations):
            pin.computeJointJacobians(model, data, q)
            pin.updateFramePlacements(model, data)
            H, g = self._H, self._g
            H[:] = 0.0
            wish = pin.difference(model, q, liked)
            np.multiply(self._diagonal, factor, out=g)
            H[np.diag_indices_from(H)] = g + 1e-7
            g *= wish
            exact = True
            for limb, pose in limbs:
                here = data.oMf[limb.frame_id]
                if limb.surface.kind == "point":
                    error = here.rotation.T @ (pose.translation - here.translation)
                    J = pin.getFrameJacobian(model, data, limb.frame_id, pin.LOCAL)[:3]
                    exact &= bool(np.linalg.norm(error) < s.position)
                else:
                    error = pin.log6(here.actInv(pose)).vector
                    J = pin.getFrameJacobian(model, data, limb.frame_id, pin.LOCAL)
                    exact &= bool(np.linalg.norm(error[:3]) < s.position and np.linalg.norm(error[3:]) < s.rotation)
                H += J.T @ J
                g += J.T @ error
            inside = True
            if region is not None:
                com = pin.centerOfMass(model, data, q, False)
                inside = self._pull_com(region, margin, com, q)
            if exact and inside and iteration > 2:
                return q
            step = self._step(q)
            q = pin.integrate(model, q, step)
            np.clip(q[7:], model.lowerPositionLimit[7:], model.upperPositionLimit[7:], out=q[7:])
            if iteration > 8:
                factor *= 0.6
        return None

    def _pull_com(self, region: SupportRegion, margin: float, com: Array, q: Array) -> bool:
        """Add the pull of the centre of mass back into the region; return whether it is inside."""
        if region.margin(com) >= margin - 1e-4:
            return True
        A, b = region.normals, region.offsets - margin - 1e-3
        target = com[:2].copy()
        for _ in range(8):  # projection onto the region by turns; it is convex
            over = A @ target - b
            worst = int(np.argmax(over))
            if over[worst] <= 0:
                break
            target -= over[worst] * A[worst]
        else:
            target = region.centre
        J = pin.jacobianCenterOfMass(self._body.model, self._body.data, q)[:2]
        self._H += J.T @ J
        self._g += J.T @ (target - com[:2])
        return False

    def _step(self, q: Array) -> Array:
        body, s = self._body, self.settings
        nv = body.model.nv
        free = np.ones(nv, dtype=bool)
        step = np.zeros(nv)
        joint_q = q[7:]
        at_lower = np.concatenate([np.zeros(6, bool), joint_q <= body.lower[6:] + 1e-9])
        at_upper = np.concatenate([np.zeros(6, bool), joint_q >= body.upper[6:] - 1e-9])
        for _ in range(3):
            index = np.flatnonzero(free)
            _, x, info = dposv(self._H[np.ix_(index, index)], self._g[index])
            if info != 0:
                return step
            step[:] = 0.0
            step[index] = x
            pressed = free & ((at_lower & (step < 0)) | (at_upper & (step > 0)))
            if not pressed.any():
                break
            free &= ~pressed
        step[~free] = 0.0
        largest = np.abs(step).max()
        if largest > s.step:
            step *= s.step / largest
        return step
