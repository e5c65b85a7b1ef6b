"""Place on the ground where a motion is carried out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array


def placement_on(recorded: Sequence[pin.SE3], present: Sequence[pin.SE3]) -> pin.SE3:
    """Return the displacement on the ground that brings the surfaces of a motion nearest to where they are.

    The places of the surfaces count, and their headings: with one surface, both are met.

    Args:
        recorded: poses of the surfaces in the motion, at least one.
        present: poses of the same surfaces now.
    """
    before, after = (np.array([X.translation[:2] for X in poses]) for poses in (recorded, present))
    own, other = before - before.mean(axis=0), after - after.mean(axis=0)
    # the angle of least squares; headings weigh as points 0.1 m ahead
    sine = float(np.sum(own[:, 0] * other[:, 1] - own[:, 1] * other[:, 0]))
    cosine = float(np.sum(own * other))
    for X, Y in zip(recorded, present, strict=True):
        turn = _heading(Y) - _heading(X)
        sine, cosine = sine + 0.01 * math.sin(turn), cosine + 0.01 * math.cos(turn)
    angle = math.atan2(sine, cosine)
    R = pin.utils.rotate("z", angle)
    shift = after.mean(axis=0) - (R[:2, :2] @ before.mean(axis=0))
    return pin.SE3(R, np.append(shift, 0.0))


def _heading(X: pin.SE3) -> float:
    return math.atan2(float(X.rotation[1, 0]), float(X.rotation[0, 0]))


def numbers_of(X: pin.SE3) -> Array:
    """Return x, y [m] and heading [rad] of a displacement on the ground, (3,)."""
    return np.array([X.translation[0], X.translation[1], _heading(X)])


def displacement_of(numbers: Array) -> pin.SE3:
    """Return the displacement on the ground of x, y [m] and heading [rad]."""
    return pin.SE3(pin.utils.rotate("z", float(numbers[2])), np.array([numbers[0], numbers[1], 0.0]))
