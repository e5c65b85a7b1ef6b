"""Stiffness of the joints from a reference motion: springs that supply as much of its torques as they can.

The wish of [Jain2011], section 9: the motion should resemble that of the body vibrating with its springs.
"""

from __future__ import annotations

import numpy as np

from modal_control.character import ModalCharacter
from modal_control.reference import Reference
from multi_qp_scene.arrays import Array

#: Stiffness relative to that of the character: least and largest one.
LEAST, MOST = 1.0, 5.0
#: Largest distance of the relaxed angle from the mean one [rad].
FARTHEST = 0.5


def reference_torques(character: ModalCharacter, reference: Reference, dt: float) -> Array:
    """Return the joint torques of a motion, with the least contact forces at its planted points, (n, joints) [N m]."""
    torques = np.zeros((len(reference), len(character.rest)))
    for k in range(len(reference)):
        dynamics = character.linearise(reference.q[k])
        before, after = max(k - 1, 0), min(k + 1, len(reference) - 1)
        acceleration = (reference.v[after] - reference.v[before]) / (dt * max(after - before, 1))
        spring = character.stiffness.copy()
        spring[6:] *= reference.q[k][7:] - character.rest
        load = dynamics.M @ acceleration - dynamics.b - spring  # M q̈ and gravity
        planted = np.flatnonzero(reference.planted(k)[character.surface_of_point])
        J = dynamics.J[planted].reshape(-1, len(load))
        forces = np.linalg.lstsq(J[:, :6].T, load[:6], rcond=None)[0] if len(planted) else np.zeros(0)
        torques[k] = (load - J.T @ forces)[6:]
    return torques


def fitted_springs(angles: Array, torques: Array, nominal: Array) -> tuple[Array, Array]:
    """Return stiffness, (joints,) [N m/rad], and relaxed angles, (joints,) [rad], by least squares over a motion.

    Args:
        angles: of the joints over time, (n, joints) [rad].
        torques: that move them, (n, joints) [N m].
        nominal: stiffness within `LEAST` to `MOST` times which the result is, (joints,) [N m/rad].
    """
    beside = angles - angles.mean(axis=0)
    spread = (beside**2).sum(axis=0)
    slope = -(beside * torques).sum(axis=0) / np.maximum(spread, 1e-9)
    stiffness = np.clip(slope, LEAST * nominal, MOST * nominal)
    return stiffness, angles.mean(axis=0) + np.clip(torques.mean(axis=0) / stiffness, -FARTHEST, FARTHEST)
