"""Motion of a recorded skeleton: poses of its joints over time, and the landmarks of a person among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.files import read_bytes

#: Landmarks of a person, and the names that joints of common skeletons have, without case, blanks and underscores.
LANDMARKS: dict[str, tuple[str, ...]] = {
    "pelvis": ("hips", "root", "pelvis", "hip"),
    "chest": ("chest2", "spine2", "spine1", "chest", "thorax", "upperback"),
    "neck": ("neck", "neck1", "lowerneck"),
    **{
        f"{side}_{part}": tuple(name.format(side) for name in names)
        for side in ("left", "right")
        for part, names in {
            "hip": ("{}hip", "{}upleg", "{}thigh"),
            "knee": ("{}knee", "{}leg", "{}shin"),
            "ankle": ("{}ankle", "{}foot"),
            "shoulder": ("{}shoulder", "{}arm", "{}upperarm"),
            "elbow": ("{}elbow", "{}forearm", "{}lowerarm"),
            "wrist": ("{}wrist", "{}hand"),
        }.items()
    },
}
#: Landmarks that a skeleton may lack.
OPTIONAL: dict[str, tuple[str, ...]] = {
    f"{side}_toe": tuple(name.format(side) for name in ("{}toe", "{}toebase", "{}toes", "{}ball"))
    for side in ("left", "right")
}
#: Range of the length of a leg of a person [m], to notice other units.
LEG = 0.3, 1.4


@dataclass(frozen=True)
class SkeletonMotion:
    """Poses of a skeleton's joints.

    Attributes:
        names: of the joints.
        dt: time between two frames [s].
        positions: of the joints in the world, z up, (frames, joints, 3) [m].
        rotations: of the joints, (frames, joints, 3, 3).
        source: file it was read from.
    """

    names: tuple[str, ...]
    dt: float
    positions: Array
    rotations: Array
    source: str

    @property
    def duration(self) -> float:
        """Duration [s]."""
        return self.dt * (len(self.positions) - 1)

    def part(self, begin: float, end: float | None) -> SkeletonMotion:
        """Return the frames from `begin` to `end` [s], to the last one if it is None.

        Raises:
            MultiQpError: when the motion does not have these times.
        """
        last = self.duration if end is None else end
        if not 0.0 <= begin < last <= self.duration + 0.5 * self.dt:
            raise MultiQpError(
                f"{self.source}: expected 0 <= begin < end <= {self.duration:.2f} s, got {begin:g} to {last:g} s"
            )
        frames = slice(round(begin / self.dt), round(last / self.dt) + 1)
        return replace(self, positions=self.positions[frames], rotations=self.rotations[frames])

    def landmarks(self) -> dict[str, int]:
        """Return the joint of each landmark, and of those of `OPTIONAL` that there are.

        Raises:
            MultiQpError: when the skeleton lacks one.
        """
        plain = {name.lower().replace("_", "").replace(" ", "").split(":")[-1]: k for k, name in enumerate(self.names)}
        found = {}
        for landmark, candidates in (LANDMARKS | OPTIONAL).items():
            index = next((plain[name] for name in candidates if name in plain), None)
            if index is None:
                if landmark in OPTIONAL:
                    continue
                expected = ", ".join(candidates)
                raise MultiQpError(f"{self.source}: no joint is the {landmark.replace('_', ' ')} (expected {expected})")
            found[landmark] = index
        return found


def read_text(path: Path) -> str:
    """Return the text of a file of a motion.

    Raises:
        MultiQpError: when it cannot be read, is no text, or is too large.
    """
    try:
        return read_bytes(path, "motion_bytes").decode()
    except MultiQpError as error:
        raise MultiQpError(f"'{path}': {error}") from None
    except UnicodeDecodeError:
        raise MultiQpError(f"'{path}' is not a text file") from None


def chained(parents: Sequence[int], offsets: Array, root: Array, local: Array) -> tuple[Array, Array]:
    """Return positions, (n, j, 3), and rotations, (n, j, 3, 3), of all joints in the world.

    Args:
        parents: parent of each joint, before it; -1 for the root.
        offsets: of each joint in its parent's frame, (j, 3) [m].
        root: positions of the root, (n, 3) [m].
        local: rotation of each joint relative to its parent, (n, j, 3, 3).
    """
    positions, rotations = np.empty((*local.shape[:2], 3)), np.empty(local.shape)
    for k, parent in enumerate(parents):
        if parent < 0:
            positions[:, k], rotations[:, k] = root, local[:, k]
        else:
            positions[:, k] = positions[:, parent] + rotations[:, parent] @ offsets[k]
            rotations[:, k] = rotations[:, parent] @ local[:, k]
    return positions, rotations


def upright(positions: Array, rotations: Array) -> tuple[Array, Array]:
    """Return poses whose y axis is up with z up, x to z."""
    R = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    return positions @ R.T, R @ rotations
