"""Surfaces of another character in a refinement: the motion of those that are touched, the forces on those that are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pinocchio as pin

from contact_invariant.optional_crocoddyl import crocoddyl
from contact_invariant.surroundings import TouchableRectangle
from multi_qp_scene.arrays import Array


@dataclass(frozen=True)
class MovingSurface:
    """A surface along the motion of its link.

    Attributes:
        face: in the frame of the link's joint.
        times: of the nodes, (M + 1,) [s].
        poses: of that frame in the world, (M + 1,).
    """

    face: TouchableRectangle
    times: Array
    poses: Sequence[pin.SE3]

    @cached_property
    def _twists(self) -> Array:
        """Twist of the link in its own axes with which it comes to each node, (M + 1, 6)."""
        moved = [pin.log6(a.actInv(b)).vector for a, b in zip(self.poses[:-1], self.poses[1:], strict=True)]
        return np.vstack([np.zeros(6), np.array(moved) / np.diff(self.times)[:, None]])

    def twist(self, k: int) -> pin.Motion:
        """Return the twist of the link in its own axes with which it comes to a node."""
        return pin.Motion(self._twists[k])

    def acceleration(self, k: int) -> pin.Motion:
        """Return its derivative from a node to the next, zero at the last one."""
        if k + 1 == len(self.times):
            return pin.Motion.Zero()
        return pin.Motion((self._twists[k + 1] - self._twists[k]) / (self.times[k + 1] - self.times[k]))


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
