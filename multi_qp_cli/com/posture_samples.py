"""Random collision-free postures of a robot, from which the search of a posture on given contacts starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact

if TYPE_CHECKING:
    from multi_qp_cli.com.bodies import PosedRobot

_COM_WEIGHT = 4.0  # of squared errors of the centre of mass [m²] beside those of contact positions
_TURN_WEIGHT = 0.05  # [m²] of squared differences of rotation matrices


class PostureSamples:
    """Sampled postures with their centres of mass and surface poses, for retrieval by contacts and centre of mass."""

    def __init__(self, robot: PosedRobot, effectors: Sequence[str], count: int, seed: int = 0) -> None:
        """Draw postures; about a third of them are free of self-collisions.

        Args:
            robot: the robot.
            effectors: surfaces that can be in contact.
            count: number of configurations to draw.
            seed: of the random numbers.
        """
        random = np.random.default_rng(seed)
        free = [q for q in robot.random_configurations(random, count) if not robot.collides(q)]
        self._q = np.array(free)
        self._com = np.array([robot.com(q) for q in free])
        poses: dict[str, list[Array]] = {effector: [] for effector in effectors}
        for q in free:
            for effector, pose in robot.surface_poses(q, effectors).items():
                poses[effector].append(pose.homogeneous)
        self._poses = {effector: np.array(each) for effector, each in poses.items()}

    def near(self, contacts: Sequence[Contact], com: Array, count: int) -> Iterator[Array]:
        """Yield samples moved onto the first contact, (nq,), those first that fit the rest best.

        Args:
            contacts: poses of surfaces.
            com: desired centre of mass, (3,) [m].
            count: largest number of samples.
        """
        first, *others = contacts
        moves = first.pose.homogeneous @ np.linalg.inv(self._poses[first.effector])
        places = np.einsum("kij,kj->ki", moves[:, :3, :3], self._com) + moves[:, :3, 3]
        error = _COM_WEIGHT * ((places - com) ** 2).sum(axis=1)
        for contact in others:
            found = moves @ self._poses[contact.effector]
            error += ((found[:, :3, 3] - contact.pose.translation) ** 2).sum(axis=1)
            error += _TURN_WEIGHT * ((found[:, :3, :3] - contact.pose.rotation) ** 2).sum(axis=(1, 2))
        for k in np.argsort(error)[:count]:
            q = self._q[k].copy()
            q[:7] = pin.SE3ToXYZQUAT(pin.SE3(moves[k]) * pin.XYZQUATToSE3(q[:7]))
            yield q
