"""Retargeted motions within the dynamics and limits of the full model."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.recorded_costs import SPEED, TORQUE
from contact_invariant.recorded_dynamics import FeasibleMotions
from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError

SOLES = "humanoid/left_sole", "humanoid/right_sole"


def test_a_scene_of_several_moving_bodies_is_refused():
    with pytest.raises(MultiQpError, match="expected one robot"):
        FeasibleMotions(load_scenario("acrobats").scene, "humanoid", SOLES)


@pytest.mark.slow
def test_a_body_that_leaves_the_ground_falls_freely_within_its_limits():
    """A reference whose base goes straight up and down while the feet are in the air becomes a jump."""
    scene, dt, n = load_scenario("stand").scene, 1.0 / 60.0, 78
    contacts = np.ones((n, 2), dtype=bool)
    contacts[45:57] = False  # 0.2 s in the air
    q = np.tile(scene.q0, (n, 1))
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    places = [data.oMf[scene.surfaces[sole].frame_id].copy() for sole in SOLES]
    found = FeasibleMotions(scene, "humanoid", SOLES).solve(q, contacts, [[X] * n for X in places], dt)
    assert found.failure is None and found.defect == 0.0
    assert found.speed < 1.05 * SPEED and found.torque < 1.05 * TORQUE
    assert len(found.q) == len(found.times) == len(found.contacts) == 2 * n - 1
    com = np.array([pin.centerOfMass(scene.model, data, row).copy() for row in found.q])
    flight = np.flatnonzero(~found.contacts.any(axis=1))
    rate = np.diff(com, axis=0) / found.times[1]
    acceleration = np.diff(rate[flight[0] : flight[-1] + 1], axis=0) / found.times[1]
    np.testing.assert_allclose(acceleration, np.tile([0.0, 0.0, -9.81], (len(acceleration), 1)), atol=0.4)
    for k in (*range(flight[0]), *range(flight[-1] + 1, len(com))):
        pin.framesForwardKinematics(scene.model, data, found.q[k])
        for X, sole in zip(places, SOLES, strict=True):
            assert np.abs(data.oMf[scene.surfaces[sole].frame_id].translation[2] - X.translation[2]) < 3e-3
