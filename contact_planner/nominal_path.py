"""Nominal configurations along a path of the base, and the nominal placements of the limbs that follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin

from contact_planner.body import CharacterModel
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact

#: Contacts define the height of the base if the cosine between their normal and the nominal one is above this.
_SIMILAR_NORMAL = 0.7
#: Largest difference in height between the base and its path [m].
_MAX_HEIGHT_CHANGE = 0.25


@dataclass(frozen=True, eq=False)
class NominalConfiguration:
    """A nominal configuration and the placements of the limbs in it.

    Attributes:
        q: with the base at the origin, (nq,).
        homes: nominal placement of each limb's surface in the frame of the base.
    """

    q: Array
    homes: Mapping[str, pin.SE3]

    def placed(self, X_world_base: pin.SE3, contacts: Mapping[str, Contact]) -> Array:
        """Return the configuration with its base at a pose, its height adapted to the contacts, (nq,)."""
        q = self.q.copy()
        q[:7] = pin.SE3ToXYZQUAT(X_world_base)
        R = X_world_base.rotation
        heights = [
            contact.pose.translation[2] - R[2] @ home.translation
            for limb, contact in contacts.items()
            if (R @ (home := self.homes[limb]).rotation[:, 2]) @ contact.pose.rotation[:, 2] > _SIMILAR_NORMAL
        ]
        if heights:
            height = sum(heights) / len(heights)
            q[2] = min(max(height, q[2] - _MAX_HEIGHT_CHANGE), q[2] + _MAX_HEIGHT_CHANGE)
        return q


def nominal_configuration(body: CharacterModel, joints: Array) -> NominalConfiguration:
    """Return the nominal configuration for joint angles (nq - 7,)."""
    q = body.with_base(np.concatenate([np.zeros(7), joints]), pin.SE3.Identity())
    body.place(q)
    return NominalConfiguration(q, {name: body.surface_pose(limb).copy() for name, limb in body.limbs.items()})


def base_over(
    nominal: NominalConfiguration, contacts: Mapping[str, Contact], tilt: Array, X_world_base: pin.SE3
) -> pin.SE3:
    """Return the pose of the base that fits the nominal placements of the limbs to their contacts best.

    A least-squares fit of position and heading.

    Args:
        nominal: nominal placements.
        contacts: at least one.
        tilt: orientation of the base in the nominal configuration at zero heading, (3, 3).
        X_world_base: present pose of the base, whose heading is kept if there is one contact only.
    """
    homes = np.array([tilt @ nominal.homes[limb].translation for limb in contacts])
    places = np.array([contact.pose.translation for contact in contacts.values()])
    middle, centre = homes.mean(axis=0), places.mean(axis=0)
    a, b = (homes - middle)[:, :2], (places - centre)[:, :2]
    yaw = np.arctan2(np.sum(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]), np.sum(a * b))
    if len(homes) == 1:
        yaw = pin.rpy.matrixToRpy(X_world_base.rotation @ tilt.T)[2]
    turn = pin.utils.rotate("z", float(yaw))
    return pin.SE3(turn @ tilt, centre - turn @ middle)


class NominalPath:
    """A path of the base with a nominal configuration at each pose.

    Attributes:
        poses: X_world_base along the path.
    """

    def __init__(self, body: CharacterModel, poses: Sequence[pin.SE3], first: Array, last: Array) -> None:
        """Interpolate the nominal joint angles from `first` to `last`, (nq - 7,) [rad]."""
        self.poses = tuple(poses)
        if np.array_equal(first, last):
            self._nominal = [nominal_configuration(body, last)] * len(self.poses)
        else:
            shares = np.linspace(0.0, 1.0, len(self.poses))
            self._nominal = [nominal_configuration(body, first + share * (last - first)) for share in shares]

    @property
    def end(self) -> int:
        """Index of the last pose."""
        return len(self.poses) - 1

    @cached_property
    def directions(self) -> tuple[Array | None, ...]:
        """Direction of motion at each pose: unit vectors in the frame of the base, (3,); None if it is at rest."""
        directions: list[Array | None] = []
        for k, pose in enumerate(self.poses):
            motion = self.poses[min(k + 1, self.end)].translation - self.poses[max(k - 1, 0)].translation
            length = float(np.linalg.norm(motion))
            directions.append(pose.rotation.T @ motion / length if length > 1e-6 else None)
        return tuple(directions)

    def nominal(self, number: int) -> NominalConfiguration:
        """Return the nominal configuration at a pose of the path."""
        return self._nominal[number]

    def nominal_q(self, number: int, contacts: Mapping[str, Contact]) -> Array:
        """Return the nominal configuration at a pose of the path, its height adapted to the contacts, (nq,)."""
        return self._nominal[number].placed(self.poses[number], contacts)
