"""What a body would like to be like along a path of its base: which posture, and so where its limbs end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_planner.body import Body
from multi_qp_scene.contact_sequence import Contact

Array = NDArray[np.float64]

#: Contacts whose surface lies within this of how the liked posture has it tell how high the base would be: a cosine.
_ALIKE = 0.7
#: The base is at most this much higher or lower than its path [m].
_HEIGHT = 0.25


@dataclass(frozen=True, eq=False)
class Wish:
    """A posture that is liked, as far as contacts allow.

    Attributes:
        q: with the base at the origin, (nq,).
        homes: where each limb's surface is then, in the base's frame.
    """

    q: Array
    homes: Mapping[str, pin.SE3]

    def placed(self, X_world_base: pin.SE3, contacts: Mapping[str, Contact]) -> Array:
        """Return the posture with its base over a place, as high as contacts would have it, (nq,)."""
        q = self.q.copy()
        q[:7] = pin.SE3ToXYZQUAT(X_world_base)
        R = X_world_base.rotation
        heights = [
            contact.pose.translation[2] - R[2] @ home.translation
            for limb, contact in contacts.items()
            if (R @ (home := self.homes[limb]).rotation[:, 2]) @ contact.pose.rotation[:, 2] > _ALIKE
        ]
        if heights:
            height = sum(heights) / len(heights)
            q[2] = min(max(height, q[2] - _HEIGHT), q[2] + _HEIGHT)
        return q


def wish_for(body: Body, joints: Array) -> Wish:
    """Return the wish for a posture, joint angles (nq - 7,)."""
    q = body.with_base(np.concatenate([np.zeros(7), joints]), pin.SE3.Identity())
    body.place(q)
    return Wish(q, {name: body.surface_pose(limb).copy() for name, limb in body.limbs.items()})


def base_over(wish: Wish, contacts: Mapping[str, Contact], tilt: Array, X_world_base: pin.SE3) -> pin.SE3:
    """Return the pose of the base whose limbs' homes are nearest to contacts, in the plane, and as high as these.

    Args:
        wish: has the homes.
        contacts: at least one.
        tilt: orientation of the base in the liked posture, its heading being zero, (3, 3).
        X_world_base: where the base is; its heading stays where one contact alone does not say it.
    """
    homes = np.array([tilt @ wish.homes[limb].translation for limb in contacts])
    places = np.array([contact.pose.translation for contact in contacts.values()])
    middle, centre = homes.mean(axis=0), places.mean(axis=0)
    a, b = (homes - middle)[:, :2], (places - centre)[:, :2]
    yaw = np.arctan2(np.sum(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]), np.sum(a * b))
    if len(homes) == 1:
        yaw = pin.rpy.matrixToRpy(X_world_base.rotation @ tilt.T)[2]
    turn = pin.utils.rotate("z", float(yaw))
    return pin.SE3(turn @ tilt, centre - turn @ middle)


class Guide:
    """A path of the base, with a wish for each pose of it.

    Attributes:
        poses: in the world.
    """

    def __init__(self, body: Body, poses: Sequence[pin.SE3], first: Array, last: Array) -> None:
        """Make the wishes: joints go from those of the posture liked at first, (nq - 7,), to those of the last."""
        self.poses = tuple(poses)
        if np.array_equal(first, last):
            self._wishes = [wish_for(body, last)] * len(self.poses)
        else:
            shares = np.linspace(0.0, 1.0, len(self.poses))
            self._wishes = [wish_for(body, first + share * (last - first)) for share in shares]

    @property
    def end(self) -> int:
        """Number of the last pose."""
        return len(self.poses) - 1

    @cached_property
    def ways(self) -> tuple[Array | None, ...]:
        """Where the base goes at each pose: unit vectors in its own frame, (3,); None where it stays."""
        found: list[Array | None] = []
        for k, pose in enumerate(self.poses):
            way = self.poses[min(k + 1, self.end)].translation - self.poses[max(k - 1, 0)].translation
            length = float(np.linalg.norm(way))
            found.append(pose.rotation.T @ way / length if length > 1e-6 else None)
        return tuple(found)

    def wish(self, number: int) -> Wish:
        """Return what is liked at a pose of the path."""
        return self._wishes[number]

    def liked(self, number: int, contacts: Mapping[str, Contact]) -> Array:
        """Return the liked posture at a pose of the path, as high as contacts would have it, (nq,)."""
        return self._wishes[number].placed(self.poses[number], contacts)
