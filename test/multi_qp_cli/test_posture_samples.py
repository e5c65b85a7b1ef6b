"""Search of postures for given contacts and centres of mass, as in table 4 of [Tonneau2018]."""

import numpy as np
import pytest

from multi_qp_cli.com.bodies import REACHED, PosedRobot
from multi_qp_cli.com.posture_samples import PostureSamples

HANDS_AND_FEET = ("left_sole", "right_palm")


@pytest.fixture(scope="module")
def robot():
    return PosedRobot("humanoid")


@pytest.fixture(scope="module")
def samples(robot):
    return PostureSamples(robot, HANDS_AND_FEET, 400)


def drawn(robot, seed, effectors):
    random = np.random.default_rng(seed)
    while (found := robot.contacts(random, effectors)) is None:
        pass
    return found


def test_samples_are_on_the_first_contact_and_ordered_by_the_rest(robot, samples):
    contacts, q = drawn(robot, 1, HANDS_AND_FEET)
    com = robot.com(q)
    errors = []
    for near in samples.near(contacts, com, 20):
        poses = robot.surface_poses(near, HANDS_AND_FEET)
        assert poses["left_sole"].isApprox(contacts[0].pose, 1e-6)
        assert not robot.collides(near)
        turn = poses["right_palm"].rotation - contacts[1].pose.rotation
        way = poses["right_palm"].translation - contacts[1].pose.translation
        errors.append(4.0 * np.sum((robot.com(near) - com) ** 2) + way @ way + 0.05 * np.sum(turn**2))
    assert errors == sorted(errors) and len(errors) == 20


def test_a_posture_is_found_where_one_exists_and_satisfies_all(robot, samples):
    found = 0
    for seed in range(4):
        contacts, q = drawn(robot, seed, HANDS_AND_FEET)  # a posture with this centre of mass exists
        com = robot.com(q)
        posture = robot.reach_from(samples.near(contacts, com, 12), contacts, com)
        if posture is None:
            continue
        found += 1
        assert np.linalg.norm(robot.com(posture) - com) <= REACHED
        for contact, pose in zip(contacts, robot.surface_poses(posture, HANDS_AND_FEET).values(), strict=True):
            assert np.linalg.norm(pose.translation - contact.pose.translation) <= 2.0 * REACHED
        assert not robot.collides(posture)
    assert found >= 3


def test_a_centre_of_mass_out_of_reach_has_no_posture(robot, samples):
    contacts, q = drawn(robot, 0, HANDS_AND_FEET[:1])
    far = robot.com(q) + [0.0, 0.0, 2.0]
    assert robot.reach_from(samples.near(contacts, far, 3), contacts, far) is None
