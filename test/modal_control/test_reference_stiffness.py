"""Springs that supply the torques of a motion."""

from __future__ import annotations

import numpy as np

from modal_control.reference import Reference
from modal_control.reference_stiffness import FARTHEST, MOST, fitted_springs, reference_torques


def test_springs_of_a_motion_are_found():
    angles = np.stack([np.sin(np.linspace(0.0, 6.0, 50)), np.cos(np.linspace(0.0, 6.0, 50))], axis=1)
    stiffness, relaxed = np.array([3.0, 8.0]), angles.mean(axis=0) + [0.2, -0.1]
    found, rest = fitted_springs(angles, -stiffness * (angles - relaxed), np.array([2.0, 5.0]))
    np.testing.assert_allclose(found, stiffness)
    np.testing.assert_allclose(rest, relaxed)
    found, rest = fitted_springs(angles, -100.0 * (angles - angles.mean(axis=0) - 3.0), np.array([2.0, 5.0]))
    np.testing.assert_allclose(found, MOST * np.array([2.0, 5.0]))
    np.testing.assert_allclose(rest, angles.mean(axis=0) + FARTHEST)


def test_torques_of_a_posture_at_rest_hold_its_weight(character, squat):
    """The base, without motors, needs no force beside those of the contacts."""
    q = squat.q[216]
    still = Reference(np.array([q, q]), np.zeros((2, len(q) - 1)), np.ones((2, 2), dtype=bool))
    torques = reference_torques(character, still, 1.0 / 120.0)[0]
    dynamics = character.linearise(q)
    gravity = -dynamics.b - character.stiffness * np.append(np.zeros(6), q[7:] - character.rest)
    J = dynamics.J.reshape(-1, len(gravity))
    forces = np.linalg.lstsq(J[:, :6].T, gravity[:6], rcond=None)[0]
    np.testing.assert_allclose(J[:, :6].T @ forces, gravity[:6], atol=1e-8)
    np.testing.assert_allclose(torques + (J.T @ forces)[6:], gravity[6:], atol=1e-8)
    assert np.abs(torques).max() > 5.0
