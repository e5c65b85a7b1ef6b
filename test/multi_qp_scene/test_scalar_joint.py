"""Indices of a joint in q and v, and its angle."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_scene.scalar_joint import ScalarJoint


@pytest.fixture(scope="module")
def model() -> pin.Model:
    model = pin.Model()
    for name, joint in (("hinge", pin.JointModelRX()), ("wheel", pin.JointModelRUBX()), ("slide", pin.JointModelPZ())):
        model.addJoint(model.njoints - 1, joint, pin.SE3.Identity(), name)
    return model


@pytest.mark.parametrize(("name", "q_index", "v_index", "continuous"), [
    ("hinge", 0, 0, False), ("wheel", 1, 1, True), ("slide", 3, 2, False),
])  # fmt: skip
def test_indices(model, name, q_index, v_index, continuous):
    assert ScalarJoint.of(model, name) == ScalarJoint(q_index, v_index, continuous)


@pytest.mark.parametrize("name", ["hinge", "wheel", "slide"])
def test_an_angle_reads_back_as_it_was_set(model, name):
    joint, q = ScalarJoint.of(model, name), pin.neutral(model)
    joint.set_angle(q, -2.5)
    assert joint.angle(q) == pytest.approx(-2.5)
    assert pin.isNormalized(model, q)


def test_setting_one_joint_does_not_change_others(model):
    q = pin.neutral(model)
    ScalarJoint.of(model, "hinge").set_angle(q, 0.4)
    ScalarJoint.of(model, "wheel").set_angle(q, 2.0)
    np.testing.assert_allclose(q, [0.4, np.cos(2.0), np.sin(2.0), 0.0])


def test_only_differences_of_a_continuous_joint_are_wrapped(model):
    assert ScalarJoint.of(model, "wheel").difference(3.0, -3.0) == pytest.approx(6.0 - math.tau)
    assert ScalarJoint.of(model, "hinge").difference(3.0, -3.0) == 6.0
