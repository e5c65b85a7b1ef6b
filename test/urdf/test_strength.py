from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

G = 9.81
DEEP_SQUAT = {"HIP_P": -1.35, "KNEE_P": 2.2, "ANKLE_P": -0.85, "SHOULDER_P": -1.0}


def both_sides(angles: dict[str, float]) -> dict[str, float]:
    return {f"{side}_{joint}": angle for joint, angle in angles.items() for side in "LR"}


def worst_ratio(humanoid, limits: str, torques: dict[str, float]) -> float:
    bounds = humanoid.file["effort_limits"][limits]
    return max(abs(torque) / bounds[joint] for joint, torque in torques.items())


def held(humanoid, mass: float, friction: float | None = None) -> dict[str, np.ndarray]:
    """Forces on the two hands by an object that hangs from them, or is pressed between the palms."""
    press = 0.5 * mass * G / friction if friction else 0.0
    return {
        "l_gripper": np.array([0.0, press, -0.5 * mass * G]),
        "r_gripper": np.array([0.0, -press, -0.5 * mass * G]),
    }


def test_the_effort_sets_are_complete_and_positive(humanoid):
    sets = humanoid.file["effort_limits"]
    assert list(sets) == ["animation", "robot", "superhuman"]
    for limits in sets.values():
        assert set(limits) == set(humanoid.joints)
        assert min(limits.values()) > 0
    for joint in humanoid.joints:
        urdf = humanoid.model.effortLimit[humanoid.model.joints[humanoid.model.getJointId(joint)].idx_v]
        assert sets["robot"][joint] == urdf
        assert sets["animation"][joint] > urdf


@pytest.mark.parametrize("posture", ["standing", "half_sitting", "ready"])
@pytest.mark.parametrize("feet", [["l_sole", "r_sole"], ["l_sole"], ["r_sole"]])
def test_robot_stands_on_two_feet_and_on_one(humanoid, posture, feet):
    q = humanoid.standing_on_soles(humanoid.file["postures"][posture])
    assert worst_ratio(humanoid, "robot", humanoid.static_torques(q, {}, feet)) < 0.7


def test_robot_squats_deeply(humanoid):
    q = humanoid.standing_on_soles(both_sides(DEEP_SQUAT))
    sole = humanoid.surface(q, "left_sole").translation
    assert abs(pin.centerOfMass(humanoid.model, humanoid.data, q)[0] - sole[0]) < 0.1
    assert worst_ratio(humanoid, "robot", humanoid.static_torques(q, {}, ["l_sole", "r_sole"])) < 0.5


@pytest.mark.parametrize("mass", [3.0, 5.0])
def test_robot_holds_a_box_between_its_palms(humanoid, mass):
    q = humanoid.standing_on_soles(humanoid.file["postures"]["ready"])
    loads = held(humanoid, mass, friction=0.5)
    assert worst_ratio(humanoid, "robot", humanoid.static_torques(q, loads, ["l_sole", "r_sole"])) < 0.75


@pytest.mark.parametrize("posture", ["standing", "half_sitting", "ready"])
def test_strong_person_carries_thirty_kilograms(humanoid, posture):
    q = humanoid.standing_on_soles(humanoid.file["postures"][posture])
    torques = humanoid.static_torques(q, held(humanoid, 30.0), ["l_sole", "r_sole"])
    assert worst_ratio(humanoid, "animation", torques) < 0.75


def test_strong_person_lifts_thirty_kilograms_from_a_squat(humanoid):
    q = humanoid.standing_on_soles(both_sides(DEEP_SQUAT))
    torques = humanoid.static_torques(q, held(humanoid, 30.0), ["l_sole", "r_sole"])
    assert worst_ratio(humanoid, "animation", torques) < 0.9
