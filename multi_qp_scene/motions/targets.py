"""Where the landmarks of a robot would be in the posture of a person."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.motions.contacts import SIDES

LIMBS = (("hip", "knee"), ("knee", "ankle"), ("shoulder", "elbow"), ("elbow", "wrist"))


class LandmarkTargets:
    """Places of the landmarks of a robot, with the directions of a person's limbs and the lengths of its own.

    Attributes:
        leg: length of a leg of the robot [m].
        ankle_height: of an ankle over its level sole [m].
    """

    def __init__(self, nominal: Mapping[str, pin.SE3]) -> None:
        """Take the lengths from the poses of the robot's landmarks in its nominal posture, upright, heading along x."""
        self._nominal = nominal
        self.leg = sum(self.length("left", a, b) for a, b in LIMBS[:2])
        self.ankle_height = float(nominal["left_ankle"].translation[2] - nominal["left_sole"].translation[2])

    def length(self, side: str, a: str, b: str) -> float:
        """Return the length of a limb of the robot [m]."""
        ends = self._nominal[f"{side}_{a}"].translation, self._nominal[f"{side}_{b}"].translation
        return float(np.linalg.norm(ends[1] - ends[0]))

    def at(
        self, points: Mapping[str, Array], k: int, scale: float, shift: Array | None = None
    ) -> dict[str, Array | pin.SE3]:
        """Return the place of each landmark at a frame; of base and chest, the pose.

        Args:
            points: places of the person's landmarks, (n, 3) each [m].
            k: the frame.
            scale: length of the robot's legs over that of the person's.
            shift: of all places, (3,) [m].
        """
        here, found = self._nominal, {}
        pelvis = _frame(points["left_hip"][k] - points["right_hip"][k], points["chest"][k] - points["pelvis"][k])
        trunk = _frame(
            points["left_shoulder"][k] - points["right_shoulder"][k], points["neck"][k] - points["pelvis"][k]
        )
        middle = 0.5 * (here["left_hip"].translation + here["right_hip"].translation)
        center = scale * 0.5 * (points["left_hip"][k] + points["right_hip"][k])
        center[2] += self.ankle_height
        center += 0.0 if shift is None else shift
        base = pin.SE3(pelvis @ here["base"].rotation, center + pelvis @ (here["base"].translation - middle))
        chest = base.act(here["base"].actInv(here["chest"]))
        found["base"], found["chest"] = base, pin.SE3(trunk @ here["chest"].rotation, chest.translation)
        upper = found["chest"]
        for side in SIDES:
            place = {f"{side}_hip": base.act(here["base"].actInv(here[f"{side}_hip"].translation))}
            place[f"{side}_shoulder"] = upper.act(here["chest"].actInv(here[f"{side}_shoulder"].translation))
            for a, b in LIMBS:
                start, along = place[f"{side}_{a}"], points[f"{side}_{b}"][k] - points[f"{side}_{a}"][k]
                place[f"{side}_{b}"] = start + self.length(side, a, b) * along / np.linalg.norm(along)
            found |= place
        return found


def heading(points: Mapping[str, Array], k: int) -> float:
    """Return the direction in which the hips face at a frame [rad]."""
    left = points["left_hip"][k] - points["right_hip"][k]
    return float(np.arctan2(-left[0], left[1]))


def _frame(left: Array, up: Array) -> Array:
    """Return the rotation whose y axis is along `left` and whose z axis is near `up`, (3, 3)."""
    y = left / np.linalg.norm(left)
    x = np.cross(y, up)
    x /= np.linalg.norm(x)
    return np.column_stack([x, y, np.cross(x, y)])
