"""Another character in a refinement: motion of its surfaces and links, forces of it on surfaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from contact_invariant.optional_crocoddyl import crocoddyl
from contact_invariant.surroundings import TouchableRectangle
from multi_qp_scene.arrays import Array
from multi_qp_scene.pairs import WatchedPair


@dataclass(frozen=True)
class MovingFrame:
    """A frame of a link along its motion.

    Attributes:
        times: of the nodes, (M + 1,) [s].
        poses: in the world, (M + 1,).
    """

    times: Array
    poses: Sequence[pin.SE3]

    @cached_property
    def _twists(self) -> Array:
        """Twist in its own axes with which it comes to each node, (M + 1, 6)."""
        moved = [pin.log6(a.actInv(b)).vector for a, b in zip(self.poses[:-1], self.poses[1:], strict=True)]
        return np.vstack([np.zeros(6), np.array(moved) / np.diff(self.times)[:, None]])

    def twist(self, k: int) -> pin.Motion:
        """Return the twist in its own axes with which it comes to a node."""
        return pin.Motion(self._twists[k])

    def acceleration(self, k: int) -> pin.Motion:
        """Return its derivative from a node to the next, zero at the last one."""
        if k + 1 == len(self.times):
            return pin.Motion.Zero()
        return pin.Motion((self._twists[k + 1] - self._twists[k]) / (self.times[k + 1] - self.times[k]))


@dataclass(frozen=True)
class MovingSurface(MovingFrame):
    """A surface along the motion of its link, the frame of whose joint the face is in."""

    face: TouchableRectangle


@dataclass(frozen=True)
class MovingPiece(MovingFrame):
    """A piece of a link's collision geometry along its motion.

    Attributes:
        name: of the piece.
        shape: in this frame.
        before: poses in the simplified motion, (M + 1,).
        touches: joints of the refined character that it may touch, and keeps no distance from.
        dampers: of the QP, by the name of the refined character's piece.
    """

    name: str
    shape: coal.CollisionGeometry
    before: Sequence[pin.SE3]
    touches: frozenset[int] = frozenset()
    dampers: Mapping[str, WatchedPair] = field(default_factory=dict)

    def before_at(self, at: float) -> pin.SE3:
        """Return the pose of the simplified motion at a node, or between two."""
        k = int(at)
        return self.before[k] if at == k else pin.SE3.Interpolate(self.before[k], self.before[k + 1], at - k)


@dataclass(frozen=True)
class Load:
    """What another character does to a surface of a link.

    Attributes:
        frame: of the surface.
        poses: of the link's joint in the world at the nodes, on which the forces rely, (M + 1,).
        wrenches: on the link in the axes of its joint from each node on, (M + 1, 6) [N], [N m].
    """

    frame: int
    poses: Sequence[pin.SE3]
    wrenches: Array

    def forces(self, model: pin.Model, q: Array) -> Array:
        """Return the generalised forces for postures, (M + 1, nq) to (M + 1, nv)."""
        data, joint = model.createData(), model.frames[self.frame].parentJoint
        return np.array(
            [pin.computeJointJacobian(model, data, one, joint).T @ w for one, w in zip(q, self.wrenches, strict=True)]
        )


class LoadedActuation(crocoddyl.ActuationModelAbstract):
    """Torques of all joints but the root's, and given generalised forces."""

    def __init__(self, state: Any, load: Array) -> None:
        """Prepare for generalised forces, (nv,)."""
        super().__init__(state, state.nv - 6)
        self._load, self._map = load, np.eye(state.nv)[:, 6:]

    def calc(self, data: Any, x: Any, u: Any = None) -> None:
        """Compute the generalised forces."""
        data.tau = self._load if u is None else self._load + np.append(np.zeros(6), u)

    def calcDiff(self, data: Any, x: Any, u: Any = None) -> None:
        """Set their derivative with respect to the torques."""
        data.dtau_du = self._map
