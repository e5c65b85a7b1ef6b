"""Separation of bodies that are too close: gradients are derivatives, and inverse kinematics separates the bodies."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from com_trajectory.equilibrium import equilibrium_region
from com_trajectory.kinematics.sampled_robot import SampledRobot
from multi_qp_cli.com.bodies import BoxObstacle, PosedRobot
from multi_qp_scene.resources import model_path
from multi_qp_scene.separation import Separation
from multi_qp_scene.sequence_file import load_contact_sequence


@pytest.fixture(scope="module")
def robot():
    return SampledRobot(model_path("humanoid"))


def test_gradients_of_distances_are_derivatives(robot):
    rng = np.random.default_rng(3)
    wide = Separation(robot.model, robot.geometry, clearance=0.03)
    compared = 0
    for joints in robot.draw(rng, 12):
        q = robot.configuration(0.4 * joints)
        rows, lacks = wide.rows(q)
        way = rng.normal(size=robot.model.nv)
        ahead, behind = (wide.rows(pin.integrate(robot.model, q, step * way))[1] for step in (1e-6, -1e-6))
        if len(ahead) != len(lacks) or len(behind) != len(lacks):
            continue
        apart = lacks < 0.029  # the nearest points of overlapping bodies are discontinuous
        np.testing.assert_allclose((behind - ahead)[apart] / 2e-6, (rows @ way)[apart], atol=2e-3)
        compared += int(apart.sum())
    assert compared > 20


def test_a_body_steps_out_of_a_block():
    beside = BoxObstacle((0.1, 0.4, 0.6), pin.SE3(np.eye(3), np.array([0.12, 0.0, 0.9])))
    bodies, free = PosedRobot("humanoid", [beside]), PosedRobot("humanoid")
    contacts = load_contact_sequence("level_walking").phases[0].contacts
    there = free.reach(contacts, None, free.rest)
    assert bodies.collides(there)
    moved = bodies.reach(contacts, None, there, tries=0)
    assert moved is not None and not bodies.collides(moved)


@pytest.mark.parametrize("name", ["chair", "twister"])
def test_sequences_with_hands_have_postures(name):
    """Every phase has a posture at its centre of mass, within the joint limits and free of self-collisions."""
    bodies = PosedRobot("humanoid", [BoxObstacle((6.0, 6.0, 0.1), pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.053])))])
    q, last = bodies.rest, None
    for phase in load_contact_sequence(name).phases:
        com = phase.com["walker"]
        start, last = com if last is None else last, com
        for share in np.linspace(0.0, 1.0, 5):  # along the polyline
            crouched = q + [0.0, 0.0, -0.3, *[0.0] * (len(q) - 3)]
            place = start + share * (com - start)
            q = bodies.reach(phase.contacts, place, q, also=(bodies.rest, crouched))
            assert q is not None, phase.contacts
        np.testing.assert_allclose(bodies.com(q), com, atol=5e-3)
        assert not bodies.collides(q)
        assert equilibrium_region(phase.contacts).margin(com) > 1e-3
