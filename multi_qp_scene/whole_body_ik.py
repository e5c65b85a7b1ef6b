"""Whole-body inverse kinematics of one subsystem: frame placements, centre of mass, joint limits, clearance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene
from multi_qp_scene.separation import Separation

_STEP = 0.4  # [rad or m] largest change of an entry of v in one iteration
_MARGIN = 0.01  # [rad] minimum distance from joint limits
_PASSES = 4
OVERSHOT = 2.0  # error beside the least one of all iterations from which that is returned
_POSTURE = 3e-3  # weight of the nominal posture, relative to that of a surface


@dataclass(frozen=True)
class Placement:
    """Desired placement of a frame.

    Attributes:
        frame_id: index in the scene's model.
        pose: pose in the world.
        turns: whether its orientation is free, as for a point contact.
        weight: of its error, beside those of other placements where not all can be reached.
    """

    frame_id: int
    pose: pin.SE3
    turns: bool = False
    weight: float = 1.0


@dataclass(frozen=True)
class IkSolution:
    """Result of inverse kinematics.

    Attributes:
        q: configuration of the whole scene, (nq,).
        contact_error: largest position [m] or orientation [rad] error of a frame.
        com_error: position error of the centre of mass [m]; 0 if it is free.
        overlap: largest violation of the clearance of collision pairs [m]; 0 if there is none.
    """

    q: Array
    contact_error: float
    com_error: float
    overlap: float = 0.0


class WholeBodyIk:
    """Damped Gauss-Newton method with joint limits; suited to trajectories by warm starts.

    Source: generalised inverse kinematics, [Tonneau2018] section 7.2.

    Attributes:
        limited: index in q of each joint that has limits, (k,).
    """

    def __init__(self, scene: Scene, subsystem: str, *, apart: Separation | None = None) -> None:
        """Prepare for a subsystem with a floating base.

        Args:
            scene: the scene.
            subsystem: name of the subsystem.
            apart: collision pairs with a minimum distance; none if left out.
        """
        self._apart = apart
        self._model = scene.model
        self._data = scene.model.createData()
        part = scene.subsystems[subsystem]
        self._root = part.root_joints[0]
        self._columns = np.arange(part.v_slice.start, part.v_slice.stop)
        limits = scene.limits
        own = (limits.v_index >= part.v_slice.start) & (limits.v_index < part.v_slice.stop)
        self._q_index = self.limited = limits.q_index[own]
        self._own = limits.v_index[own] - part.v_slice.start
        margin = np.minimum(_MARGIN, 0.1 * (limits.upper[own] - limits.lower[own]))
        self._lower, self._upper = limits.lower[own] + margin, limits.upper[own] - margin

    def solve(
        self,
        q: Array,
        placements: Sequence[Placement],
        *,
        com: Array | None = None,
        com_weight: Array | float = 1.0,
        rest: Array | None = None,
        within: tuple[Array, Array] | None = None,
        iterations: int = 80,
        tolerance: float = 1e-4,
    ) -> IkSolution:
        """Find a posture.

        Args:
            q: initial configuration, (nq,).
            placements: desired placements of frames.
            com: desired centre of mass of the subsystem, (3,) [m]; free if left out.
            com_weight: of its error, also (3,), beside those of placements.
            rest: nominal posture, (nq,); that of `q` if left out.
            within: least and largest values of the joints of `limited`, besides their limits, (k,) each.
            iterations: maximum number of iterations.
            tolerance: termination threshold of the errors [m, rad].
        """
        q = np.array(q, dtype=float)
        rest = q.copy() if rest is None else rest
        bounds = self._lower, self._upper
        if within is not None:
            bounds = np.clip(within[0], *bounds), np.clip(within[1], *bounds)
        here = found = IkSolution(q, np.inf, np.inf, np.inf)
        cost = least = np.inf
        for k in range(iterations + 1):
            rows, errors, contact_error, com_error = self._errors(q, placements, com, com_weight)
            overlap = 0.0
            if self._apart is not None:
                gradients, lacks = self._apart.rows(q)
                overlap = float(lacks.max(initial=0.0))
                rows, errors = np.vstack([rows, gradients[:, self._columns]]), np.concatenate([errors, lacks])
            here, cost = IkSolution(q, contact_error, com_error, overlap), float(np.linalg.norm(errors))
            if (max(contact_error, com_error) < tolerance and overlap <= 0.0) or k == iterations:
                break
            if cost < least:
                found, least = here, cost
            pull = _POSTURE if k < iterations // 2 else 0.1 * _POSTURE
            q = self._moved(q, rows, errors, rest, pull, bounds)
        return found if OVERSHOT * least < cost else here  # near stretched limbs steps overshoot, also the last one

    def _moved(
        self, q: Array, rows: Array, errors: Array, rest: Array, pull: float, bounds: tuple[Array, Array]
    ) -> Array:
        lower, upper = bounds
        back = pull * pin.difference(self._model, q, rest)[self._columns]
        back[:6] = 0.0  # no nominal pose of the base
        H = rows.T @ rows
        H[np.diag_indices_from(H)] += pull**2
        g = rows.T @ errors + pull * back
        step, free = np.zeros(len(g)), np.ones(len(g), dtype=bool)
        for _ in range(_PASSES):  # joints at their limits are fixed, and the step of the others is recomputed
            step[:] = 0.0
            step[free] = np.linalg.solve(H[np.ix_(free, free)], g[free])
            wanted = q[self._q_index] + step[self._own]
            beyond = self._own[(wanted < lower - 1e-9) & (q[self._q_index] <= lower + 1e-6)]
            above = self._own[(wanted > upper + 1e-9) & (q[self._q_index] >= upper - 1e-6)]
            if not free[beyond].any() and not free[above].any():
                break
            free[beyond] = free[above] = False
        change = np.zeros(self._model.nv)
        change[self._columns] = step
        change *= min(1.0, _STEP / max(float(np.abs(change).max()), 1e-12))
        q = pin.integrate(self._model, q, change)
        q[self._q_index] = np.clip(q[self._q_index], lower, upper)
        return np.asarray(q)

    def _errors(
        self, q: Array, placements: Sequence[Placement], com: Array | None, com_weight: Array | float
    ) -> tuple[Array, Array, float, float]:
        """Return the rows of the Jacobian, the errors to correct, and the largest errors."""
        model, data = self._model, self._data
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        rows, errors, contact_error, com_error = [], [], 0.0, 0.0
        for placement in placements:
            frame = placement.frame_id
            if placement.turns:
                J = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)[:3]
                error = placement.pose.translation - data.oMf[frame].translation
            else:
                J = pin.getFrameJacobian(model, data, frame, pin.LOCAL)
                error = pin.log6(data.oMf[frame].actInv(placement.pose)).vector
            contact_error = max(contact_error, float(np.abs(error).max()))
            rows.append(placement.weight * J[:, self._columns])
            errors.append(placement.weight * error)
        if com is not None:
            pin.centerOfMass(model, data, q, True)
            error = com - data.oMi[self._root].act(data.com[self._root])  # before the Jacobian, which modifies the data
            J = pin.jacobianSubtreeCenterOfMass(model, data, self._root)
            com_error = float(np.linalg.norm(error))
            rows.append(np.broadcast_to(com_weight, 3)[:, None] * J[:, self._columns])
            errors.append(com_weight * error)
        return np.vstack(rows), np.concatenate(errors), contact_error, com_error
