"""Whole-body feasibility of a centre-of-mass trajectory: inverse kinematics and collisions of the root.

The polytopes of [Tonneau2018] 4.2 cover neither: they are computed for each effector alone, without obstacles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from com_trajectory.trajectory import ComTrajectory
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.geometry_data import geometry_data
from multi_qp_scene.scene import Scene
from multi_qp_scene.whole_body_ik import Placement, WholeBodyIk

#: Minimum mass fraction of the bodies of the root, as [Tonneau2018] 7.2 calls the trunk.
ROOT_SHARE = 0.15
#: Tolerated penetration of the root, beyond which moving limbs cannot avoid it [m]. [Tonneau2018] 7.2.
PENETRATION = 0.05
#: Tolerance of inverse kinematics [m, rad].
REACHED = 0.005
_SAMPLES = 4  # samples of each phase


@dataclass(frozen=True)
class Fault:
    """An instant without a feasible motion.

    Attributes:
        kind: "unreachable" or "collision".
        time: [s].
        phase: index of the phase.
        amount: penetration, or largest error of the contacts and the centre of mass [m].
        normal: normal of the obstacle, away from it, (3,); zero for an unreachable posture.
        what: names of the bodies or the phase, for messages.
    """

    kind: str
    time: float
    phase: int
    amount: float
    normal: Array
    what: str


@dataclass(frozen=True)
class WholeBodyResult:
    """Result of the whole-body check of a trajectory.

    Attributes:
        fault: the first one, or None.
        faults: number of infeasible instants.
        postures: configuration of the scene at the end of each phase, (nq,) each.
    """

    fault: Fault | None
    faults: int
    postures: tuple[Array, ...]


class WholeBodyCheck:
    """Check of trajectories of one subsystem by inverse kinematics."""

    def __init__(self, scene: Scene, subsystem: str, *, penetration: float = PENETRATION) -> None:
        """Set up for a scene; penetrations of the root up to `penetration` [m] are ignored."""
        self._scene = scene
        self._ik = WholeBodyIk(scene, subsystem)
        first = scene.subsystems[subsystem].q_slice.start
        self._base = slice(first, first + 3)
        self._penetration = penetration
        self._geometry = _root_geometry(scene, subsystem)
        self._data = scene.model.createData()
        self._geometry_data = geometry_data(self._geometry)
        for request in self._geometry_data.distanceRequests:
            request.enable_signed_distance = True

    def check(self, trajectory: ComTrajectory, q: Array) -> WholeBodyResult:
        """Follow a trajectory from a configuration of the scene, (nq,)."""
        first: Fault | None = None
        faults, postures, rest = 0, [], q
        starts = np.concatenate([[0.0], trajectory.phase_ends[:-1]])
        for number, planned in enumerate(trajectory.phases):
            placements = self.placements(planned.phase.contacts)
            for time in np.linspace(starts[number], trajectory.phase_ends[number], _SAMPLES):
                com = trajectory.position(time)
                found = self._ik.solve(q, placements, com=com, rest=rest, iterations=40)
                missed = max(found.contact_error, found.com_error)
                fault = None
                if missed > REACHED:
                    label = planned.phase.name or f"number {number + 1}"
                    fault = Fault("unreachable", float(time), number, missed, np.zeros(3), f"phase {label}")
                else:
                    q = found.q
                    fault = self.collision(q, float(time), number)
                faults += fault is not None
                first = first or fault
            postures.append(q)
        return WholeBodyResult(first, faults, tuple(postures))

    def placements(self, contacts: Sequence[Contact]) -> list[Placement]:
        """Return the inverse-kinematics targets of contacts."""
        surfaces = self._scene.surfaces
        return [Placement(surfaces[c.surface].frame_id, c.pose, turns=c.kind == "point") for c in contacts]

    def reach(self, contacts: Sequence[Contact], q: Array, com: Array | None = None) -> tuple[Array, float]:
        """Return a configuration of the scene on these contacts near `q`, (nq,), and its largest error."""
        found = self._ik.solve(q, self.placements(contacts), com=com, iterations=150, tolerance=1e-7)
        return found.q, max(found.contact_error, found.com_error)

    def carried(self, q: Array, way: Array) -> Array:
        """Return a configuration with the subsystem's base translated, (3,) [m]."""
        moved = q.copy()
        moved[self._base] += way
        return moved

    def collision(self, q: Array, time: float, phase: int) -> Fault | None:
        """Return the largest penetration of the root at a configuration, (nq,), at a time [s] of a phase, or None."""
        pin.forwardKinematics(self._scene.model, self._data, q)
        pin.updateGeometryPlacements(self._scene.model, self._data, self._geometry, self._geometry_data)
        worst: Fault | None = None
        for k, pair in enumerate(self._geometry.collisionPairs):
            pin.computeDistance(self._geometry, self._geometry_data, k)
            result = self._geometry_data.distanceResults[k]
            depth = -result.min_distance
            if depth > self._penetration and (worst is None or depth > worst.amount):
                names = " and ".join(self._geometry.geometryObjects[i].name for i in (pair.first, pair.second))
                # coal's normal goes from the first body, the root, to the second
                worst = Fault("collision", time, phase, depth, -np.array(result.normal), names)
        return worst


def _root_geometry(scene: Scene, subsystem: str) -> pin.GeometryModel:
    """Return the collision geometry with the pairs of the root's pieces and those of the environment."""
    part, model = scene.subsystems[subsystem], scene.model
    own = [k for k in range(1, model.njoints) if part.v_slice.start <= model.joints[k].idx_v < part.v_slice.stop]
    heavy = {k for k in own if model.inertias[k].mass >= ROOT_SHARE * part.mass} | set(part.root_joints)
    geometry = scene.collision_model.copy()
    geometry.removeAllCollisionPairs()
    pieces = list(enumerate(geometry.geometryObjects))
    for i, item in pieces:
        if item.parentJoint not in heavy:
            continue
        for j, other in pieces:
            if other.parentJoint == 0:
                geometry.addCollisionPair(pin.CollisionPair(i, j))
    return geometry
