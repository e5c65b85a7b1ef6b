"""Compiled table of relative motions against pinocchio, pair by pair."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.contacts.contact import ActiveContact
from multi_qp_controller.dynamics.motion_kernel import NoSlipData, no_slip_rows
from multi_qp_controller.dynamics.motion_table import MotionTable
from multi_qp_controller.dynamics.relative_motion import single_motion
from multi_qp_scene.kernel_data import KernelData

PAIRS = (
    ("humanoid/right_palm", "box/bottom"),
    ("humanoid/left_sole", "ground/floor"),
    ("humanoid/left_palm", "humanoid/right_palm"),
    ("box/bottom", None),
)


@pytest.mark.parametrize("seed", range(4))
def test_every_pair_agrees_with_pinocchio(lab, scene, seed):
    kinematics = lab.kinematics(scene, lab.random_state(scene, seed))
    named = [tuple(None if n is None else _frame(scene, n) for n in pair) for pair in PAIRS]
    table = MotionTable(kinematics.model, kinematics.views, kinematics.data, named)
    kinematics.update(lab.random_state(scene, seed + 100))  # the table must follow its data
    table.update()
    for pair in named:
        k, expected = table.index[pair], single_motion(kinematics, *pair)
        np.testing.assert_allclose(table.X[k], expected.X_B_A.homogeneous, atol=1e-13)
        np.testing.assert_allclose(table.J[6 * k : 6 * k + 6], expected.J, atol=1e-13)
        np.testing.assert_allclose(table.twist[k], expected.twist, atol=1e-12)
        np.testing.assert_allclose(table.drift[k], expected.drift, atol=1e-11)


@pytest.mark.parametrize("angle", [0.0, 1e-6, 1e-3, 0.4, 2.5])
def test_stacked_no_slip_rows_agree_with_each_contact(lab, scene, angle):
    first, second = scene.surfaces["humanoid/right_palm"], scene.surfaces["box/bottom"]
    before = lab.random_state(scene, 1)
    kinematics = lab.kinematics(scene, before)
    contact = ActiveContact("grip", first, second, friction=0.5, kinematics=kinematics)
    turned = np.zeros(scene.nv)
    turned[scene.subsystems["box"].v_slice] = angle * np.array([0.1, -0.2, 0.3, 0.8, -0.6, 0.1])
    kinematics.update(type(before)(pin.integrate(scene.model, before.q, turned), before.v))
    contact.update(kinematics)
    J, rhs = lab.no_slip(contact, 0.01)
    table = MotionTable(kinematics.model, kinematics.views, kinematics.data, [contact.frames])
    table.update()
    made = contact.X_second_first.homogeneous[None]
    J_all, rhs_all = np.zeros((6, scene.nv)), np.zeros(6)
    rows = np.array([6], dtype=np.intp)
    motions = table.X, table.twist, table.drift, rows, *table.columns(1), table.J
    data = KernelData(NoSlipData(made, *motions, J_all, rhs_all))
    no_slip_rows(0.01, data.table)
    np.testing.assert_allclose(J_all, J, atol=1e-13)
    np.testing.assert_allclose(rhs_all, rhs, rtol=1e-9, atol=1e-8)


def _frame(scene, name):
    return scene.surfaces[name].frame_id
