"""Linearisation at a pose: mass matrix, loads and Jacobians in coordinates along the world's axes."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from modal_control.character import ModalCharacter, displaced, displacement
from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError


@pytest.fixture
def pose(character, squat, random):
    """A pose in the squat, turned about an oblique axis."""
    step = np.concatenate([[0.3, -0.2, 0.1], [0.4, -0.3, 1.1], random.uniform(-0.2, 0.2, character.model.nv - 6)])
    return displaced(squat.q[240], step)


def potential(character, q):
    """Return the energy of gravity and springs [J]."""
    model = character.model
    data = model.createData()
    springs = 0.5 * character.stiffness[6:] @ (q[7:] - character.rest) ** 2
    return pin.computePotentialEnergy(model, data, q) + springs


def test_displacements_are_inverse(pose, random):
    step = random.uniform(-0.5, 0.5, len(pose) - 1)
    np.testing.assert_allclose(displacement(pose, displaced(pose, step)), step, atol=1e-12)


def test_the_load_is_the_gradient_of_the_energy(character, pose):
    b, h = character.linearise(pose).b, 1e-5
    for k in range(len(b)):
        step = h * np.eye(len(b))[k]
        slope = (potential(character, displaced(pose, step)) - potential(character, displaced(pose, -step))) / (2 * h)
        assert -slope == pytest.approx(b[k], abs=1e-5)


def test_the_mass_matrix_gives_the_kinetic_energy(character, pose, random):
    dynamics, v, h = character.linearise(pose), random.uniform(-1.0, 1.0, character.model.nv), 1e-6
    local = pin.difference(character.model, pose, displaced(pose, h * v)) / h
    energy = pin.computeKineticEnergy(character.model, character.model.createData(), pose, local)
    assert 0.5 * v @ dynamics.M @ v == pytest.approx(energy, rel=1e-5)


def test_point_jacobians_are_derivatives(character, pose, random):
    step = 1e-5 * random.uniform(-1.0, 1.0, character.model.nv)
    ahead, behind = (character.linearise(displaced(pose, sign * step)).points for sign in (1.0, -1.0))
    np.testing.assert_allclose(0.5 * (ahead - behind), character.linearise(pose).J @ step, atol=1e-10)


def test_stiffness_is_the_mass_that_a_joint_carries(character):
    model = character.model
    data = model.createData()
    pin.forwardKinematics(model, data, pin.neutral(model))
    shoulder = model.getJointId("humanoid/L_SHOULDER_P")
    arm = [k for k in range(shoulder, model.njoints) if shoulder in model.supports[k]]
    assert character.stiffness[model.joints[shoulder].idx_v] == pytest.approx(sum(model.inertias[k].mass for k in arm))
    assert (character.stiffness[:6] == 0.0).all()


def test_a_scene_of_several_robots_is_an_error():
    scene = load_scenario("king").scene
    with pytest.raises(MultiQpError, match="one robot with a floating base"):
        ModalCharacter(scene, [], scene.q0)
