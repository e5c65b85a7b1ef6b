"""Figures for the look of a motion: bent knees, arms held out, sitting down ([Mordatch2012] 7), and tilted trunks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_invariant.character import Character, Effector
from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene

#: Joints closer to each other than this are one point of a limb [m].
APART = 0.02


@dataclass(frozen=True)
class PostureFigures:
    """Figures of a motion; legs are the limbs of feet, arms those that begin at other joints.

    Attributes:
        knee: mean angle between the first two segments of legs in contact, 0 when stretched [rad]; NaN without one.
        arm: mean angle of the first segment of arms from hanging [rad]; NaN without arms.
        height: least height of the root above the lowest leg's patch, relative to that of the nominal posture.
        tilt: largest angle of a trunk from upright [rad].
    """

    knee: float
    arm: float
    height: float
    tilt: float


def posture_figures(
    scene: Scene, character: Character, q: Array, in_contact: NDArray[np.bool_], feet: Collection[str]
) -> PostureFigures:
    """Measure a motion.

    Args:
        scene: of the motion.
        character: its effectors.
        q: postures at even intervals, (m, nq).
        in_contact: whether each effector is in contact, (m, N).
        feet: names of the feet's effectors, see `feet_of`.
    """
    data, knees, hanging, heights, tilts = scene.model.createData(), [], [], [], []
    pin.framesForwardKinematics(scene.model, data, character.nominal)
    limbs = [(i, limb) for i, limb in enumerate(character.limbs) if len(_segments(data, limb)) > 1]  # not the back
    legs = [(i, limb) for i, limb in limbs if limb.name in feet]
    roots = {limb.joints[0] for _, limb in legs}  # a knee or toes are of a leg as well
    arms = [limb for _, limb in limbs if limb.joints[0] not in roots]
    trunks = [body.root for body in character.bodies[: len(character.names)]]

    def height() -> float:
        soles = [data.oMf[scene.surfaces[limb.surface].frame_id].translation[2] for _, limb in legs]
        return float(data.oMi[trunks[0]].translation[2] - min(soles))

    nominal = height()
    for m, posture in enumerate(q):
        pin.framesForwardKinematics(scene.model, data, posture)
        heights.append(height())
        tilts += [_angle(data.oMi[trunk].rotation[:, 2], np.array([0.0, 0.0, 1.0])) for trunk in trunks]
        for i, limb in legs:
            if in_contact[m, i]:
                first, second = _segments(data, limb)[:2]
                knees.append(_angle(first, second))
        hanging += [_angle(_segments(data, limb)[0], np.array([0.0, 0.0, -1.0])) for limb in arms]
    knee, arm = (float(np.mean(angles)) if angles else float("nan") for angles in (knees, hanging))
    return PostureFigures(knee, arm, min(heights) / nominal, max(tilts))


def _segments(data: pin.Data, limb: Effector) -> Array:
    """Return the vectors between the points of a limb at which it bends, (k, 3)."""
    points = [data.oMi[limb.joints[0]].translation]
    for joint in limb.joints[1:]:
        if np.linalg.norm(data.oMi[joint].translation - points[-1]) > APART:
            points.append(data.oMi[joint].translation)
    return np.diff(points, axis=0)


def _angle(a: Array, b: Array) -> float:
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))
