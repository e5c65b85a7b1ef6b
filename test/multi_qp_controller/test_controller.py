"""Controller: sizes and wrenches of the QP, equal commands, arguments, starts outside limits."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.command import Status
from multi_qp_controller.controller import Controller
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scene import State

DT = 0.01


@pytest.mark.parametrize("dt", [0.0, -0.01, np.nan, np.inf])
def test_time_step_must_be_positive(scenario, dt):
    with pytest.raises(MultiQpError, match="dt: expected "):
        Controller(scenario, dt=dt)


@pytest.mark.parametrize("option", [{"solver": "nonsense"}, {"formulation": "nonsense"}])
def test_error_for_unknown_name_lists_valid_names(scenario, option):
    with pytest.raises(MultiQpError, match="unknown .*nonsense.*(daqp|reduced)"):
        Controller(scenario, **option)


def test_problem_sizes_are_counted_as_in_vaillant2015(bench):
    diagnostics = bench.step().diagnostics
    assert (diagnostics.variables, diagnostics.equalities) == (42 + 30 + 48, 42 + 36)
    assert diagnostics.inequalities >= 30 + 30 + 48
    assert diagnostics.state == "stand"
    assert diagnostics.solver_status == "solved"
    assert 0.0 < diagnostics.solve_ms < diagnostics.tick_ms


def test_wrenches_equal_generators_times_multipliers(bench):
    command = bench.step()
    assert set(command.wrenches) == {"left_foot", "right_foot", "box_on_table"}
    for name, contact in bench.controller.contacts.items():
        forces = bench.controller.forces[name]
        assert (forces >= 0.0).all()
        np.testing.assert_allclose(contact.W @ forces, command.wrenches[name], atol=1e-9)


def test_two_controllers_return_equal_commands_bit_for_bit(box, make_bench):
    one, other = make_bench(box), make_bench(box)
    for _ in range(20):
        a, b = one.step(), other.step()
        assert (a.tau == b.tau).all()
        assert (a.a == b.a).all()


OUTSIDE = {
    "knee, lower": {"R_KNEE_P": ("lower", 0.05), "L_KNEE_P": ("lower", 0.05)},
    "elbows, upper": {"R_ELBOW_P": ("upper", 0.05), "L_ELBOW_P": ("upper", 0.05)},
    "elbow, lower": {"R_ELBOW_P": ("lower", 0.05)},
    "chest and neck": {"CHEST_P": ("lower", 0.05), "NECK_P": ("upper", 0.05), "NECK_Y": ("lower", 0.05)},
    "shoulder, wrists": {"L_SHOULDER_R": ("lower", 0.05), "L_WRIST_P": ("upper", 0.05), "R_WRIST_R": ("lower", 0.05)},
}


@pytest.mark.parametrize("dt", [0.005, 0.02])
@pytest.mark.parametrize("case", OUTSIDE)
def test_start_outside_joint_limits_recovers(box, case, dt):
    scene, limits = box.scene, box.scene.limits
    box.spec.states["stand"].transitions.clear()
    q, rows = scene.q0.copy(), []
    if "knee" in case:  # still upright: hips and ankles compensate the knees
        for joint in ("HIP_P", "ANKLE_P"):
            for side in "RL":
                q[scene.model.joints[scene.model.getJointId(f"humanoid/{side}_{joint}")].idx_q] = 0.034
    for joint, (side, by) in OUTSIDE[case].items():
        iq = scene.model.joints[scene.model.getJointId(f"humanoid/{joint}")].idx_q
        row = limits.q_index.tolist().index(iq)
        rows.append(row)
        q[iq] = limits.lower[row] - by if side == "lower" else limits.upper[row] + by
    controller, state = Controller(box, dt=dt), State(stood_up(scene, q), np.zeros(scene.nv))
    for step in range(round(1.5 / dt)):
        command = controller.step(state, step * dt)
        assert command.diagnostics.status is Status.OK, f"{step * dt:.3f} s: {command.diagnostics.message}"
        v = state.v + dt * command.a
        state = State(pin.integrate(scene.model, state.q, dt * v), v)
    angles = state.q[limits.q_index[rows]]
    assert (angles >= limits.lower[rows] - 1e-6).all()
    assert (angles <= limits.upper[rows] + 1e-6).all()


def stood_up(scene, q):
    """Move the base so that the right sole is at its initial pose; the left sole follows from the legs."""
    data, sole = scene.model.createData(), scene.frame_id("humanoid/right_sole")
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    initial = data.oMf[sole].copy()
    pin.framesForwardKinematics(scene.model, data, q)
    base = initial * data.oMf[sole].inverse() * pin.XYZQUATToSE3(q[:7])
    q = q.copy()
    q[:7] = pin.SE3ToXYZQUAT(base)
    return q
