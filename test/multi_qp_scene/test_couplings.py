"""Couplings of two joints of any type: position errors and projection onto the coupling."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_scene.couplings import Couplings
from multi_qp_scene.mimic import Mimic
from multi_qp_scene.scalar_joint import ScalarJoint

HINGE, WHEEL = pin.JointModelRX, pin.JointModelRUBX


def coupled(kind, leader_kind, multiplier, offset=0.1):
    """Return a model of a leader and a mimicking joint, their coupling, and both joints."""
    model = pin.Model()
    model.addJoint(0, leader_kind(), pin.SE3.Identity(), "leader")
    model.addJoint(0, kind(), pin.SE3.Identity(), "follower")
    couplings = Couplings(model, {"follower": Mimic("leader", multiplier, offset)})
    return model, couplings, ScalarJoint.of(model, "leader"), ScalarJoint.of(model, "follower")


@pytest.mark.parametrize("multiplier", [-1.0, 0.0, 0.4, 2.0, 1.0 / 3.0, 2.5])
@pytest.mark.parametrize("leader_kind", [HINGE, WHEEL])
@pytest.mark.parametrize("kind", [HINGE, WHEEL])
def test_the_error_is_the_same_after_any_number_of_turns(kind, leader_kind, multiplier):
    """Full turns of both joints do not change the evaluated error."""
    model, couplings, leader, follower = coupled(kind, leader_kind, multiplier)
    for angle in np.linspace(-20.0, 20.0, 41):
        q = pin.neutral(model)
        leader.set_angle(q, angle)
        follower.set_angle(q, multiplier * angle + 0.1 + 0.01)
        assert couplings.error(q)[0] == pytest.approx(0.01, abs=1e-12)


@pytest.mark.parametrize("ratio", [math.pi, 1.0001])
def test_couplings_with_undetermined_angles_constrain_velocities_only(ratio):
    """For two continuous joints with an irrational ratio, (cos, sin) do not determine the error."""
    model, couplings, leader, follower = coupled(WHEEL, WHEEL, ratio)
    q, v = pin.neutral(model), np.array([0.5, 0.2])
    leader.set_angle(q, 1.0)
    np.testing.assert_array_equal(couplings.error(q), [0.0])
    np.testing.assert_allclose(couplings.rhs(q, v, 0.01), (0.5 * ratio - 0.2) / 0.01)


def test_rows():
    model, couplings, leader, follower = coupled(HINGE, HINGE, -2.0)
    assert couplings.names == ("follower",) and len(couplings) == 1
    assert couplings.v_index.tolist() == [follower.v_index]
    assert couplings.J[0, follower.v_index] == 1.0
    assert couplings.J[0, leader.v_index] == 2.0


@pytest.mark.parametrize("kind", [HINGE, WHEEL])
def test_one_step_corrects_position_and_velocity_errors(kind):
    """With v⁺ = v + q̈ Δt, then q⁺ = q ⊕ v⁺ Δt, any q̈ that solves the row is deadbeat."""
    model, couplings, leader, follower = coupled(kind, kind, 2.0)
    q, v, dt = pin.neutral(model), np.array([0.7, -0.3]), 0.01
    leader.set_angle(q, 3.0)
    follower.set_angle(q, 6.0)
    a = np.linalg.pinv(couplings.J) @ couplings.rhs(q, v, dt) + np.array([1.0, 2.0]) * 0.4  # plus null space
    after = v + a * dt
    assert abs(couplings.error(pin.integrate(model, q, after * dt))[0]) < 1e-12


def test_put_in_place():
    model, couplings, leader, follower = coupled(WHEEL, HINGE, -3.0, offset=0.2)
    q = pin.neutral(model)
    leader.set_angle(q, 0.9)
    couplings.put_in_place(q)
    assert leader.angle(q) == 0.9
    assert follower.angle(q) == pytest.approx(-2.5)


def test_none():
    couplings = Couplings(pin.buildSampleModelManipulator(), {})
    q, v = np.zeros(6), np.ones(6)
    assert len(couplings) == 0 and couplings.J.shape == (0, 6)
    assert couplings.error(q).shape == couplings.rhs(q, v, 0.01).shape == couplings.v_index.shape == (0,)
