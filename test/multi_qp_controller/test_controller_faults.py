"""Controller with invalid states and times: fallback, recovery, log lines."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_controller.command import Status
from multi_qp_controller.take_snapshot import take_snapshot
from multi_qp_scene import load_scenario
from multi_qp_scene.scene import State

DT = 0.01


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["q", "v"])
def test_non_finite_state_is_reported_with_joint_name(bench, where, value):
    bench.step()
    iq, iv = bench.index("humanoid/R_KNEE_P")
    command = bench.step(bench.corrupted(value=value, **({"q": iq} if where == "q" else {"v": iv})))
    assert command.diagnostics.status is Status.FALLBACK
    what = "position" if where == "q" else "velocity"
    assert command.diagnostics.message == f"invalid state: humanoid/R_KNEE_P {what} is not finite ({value})"
    assert np.isfinite(command.tau).all()
    assert np.isnan(command.a).all()
    assert command.wrenches == {}


def test_report_names_free_flyer_axes_and_limits_the_number_of_joints(bench):
    state = bench.corrupted(v=slice(0, 12))
    message = bench.controller.step(state, 0.0).diagnostics.message
    assert message.startswith(
        "invalid state: humanoid/root_joint x velocity is not finite (nan); humanoid/root_joint y"
    )
    assert message.endswith("and 7 more")


def test_fallback_holds_then_damps_then_recovers(bench):
    for _ in range(5):
        good = bench.step()
    moving = State(bench.state.q.copy(), bench.state.v.copy())
    iq, _ = bench.index("humanoid/L_ELBOW_P")
    moving.q[iq] = np.nan
    moving.v[bench.scene.actuated_v] = np.linspace(-3.0, 3.0, bench.scene.na)
    hold = bench.scenario.spec.fallback.hold
    for k in range(15):
        tau = bench.step(moving).tau
        if k * DT < hold - 1e-9:
            np.testing.assert_array_equal(tau, good.tau)
            continue
        speed = moving.v[bench.scene.actuated_v]
        assert (tau * speed <= 0.0).all()
        assert (np.abs(tau) <= bench.scene.torque_limits).all()
        assert np.abs(tau).max() > 0.0
    recovered = bench.step()
    assert recovered.diagnostics.status is Status.OK
    assert recovered.diagnostics.message == ""
    assert (np.abs(recovered.tau - good.tau) < 0.05 * bench.scene.torque_limits).all()


def test_damping_torque_is_within_torque_limits(bench):
    bench.step()
    blind = bench.corrupted(q=20)
    blind.v[bench.scene.actuated_v] = 20.0  # more than the motors' limits allow to brake
    for _ in range(10):
        tau = bench.step(blind).tau
    assert (np.abs(tau) <= bench.scene.torque_limits).all()
    assert (tau == -bench.scene.torque_limits).any()


def test_invalid_first_state_returns_zero_torque(box, make_bench):
    bench = make_bench(box)
    command = bench.step(bench.corrupted(q=9))
    assert command.diagnostics.status is Status.FALLBACK
    assert not command.tau.any()
    assert bench.step().diagnostics.status is Status.OK


@pytest.mark.parametrize("first", [True, False])
def test_non_finite_time_returns_fallback_for_one_tick(bench, first):
    if not first:
        bench.step()
    command = bench.controller.step(bench.state, np.nan)
    assert command.diagnostics.status is Status.FALLBACK
    assert command.diagnostics.message == "the time is nan"
    assert np.isfinite(command.tau).all()
    assert bench.step().diagnostics.status is Status.OK


@pytest.mark.parametrize("missing", ["q", "v"])
def test_state_of_wrong_size_returns_fallback(bench, missing):
    good = bench.step()
    state = State(bench.state.q[:-1], bench.state.v) if missing == "q" else State(bench.state.q, bench.state.v[:-1])
    for _ in range(10):
        command = bench.step(state)
        assert command.diagnostics.status is Status.FALLBACK
        assert "wrong size" in command.diagnostics.message
        assert command.tau.shape == good.tau.shape
        assert np.isfinite(command.tau).all()
    assert bench.step().diagnostics.status is Status.OK


def test_fallback_is_logged_once_for_each_cause(bench, caplog):
    bench.step()
    iv = bench.index("humanoid/R_KNEE_P")[1]
    for k in range(10):
        bench.step(bench.corrupted(v=iv, value=1e6 + k))
        bench.step()
    bench.step(bench.corrupted(v=0))
    knee, base = (record.message for record in caplog.records)
    assert knee.startswith("fallback in state 'stand': invalid state: humanoid/R_KNEE_P velocity is 1e+06 rad/s")
    assert "root_joint x velocity is not finite" in base


def test_after_post_update_queries_refer_to_the_last_step(box, make_bench):
    """Forces and snapshots use the contacts of the last step, also when `post_update` changes them."""
    bench, changes = make_bench(load_scenario("box")), 0
    while bench.controller.machine.present.name != "lift":
        command = bench.step()
        contacts, forces = dict(bench.controller.contacts), bench.controller.forces
        snapshot = take_snapshot(bench.controller, command)
        bench.controller.post_update()
        changes += list(bench.controller.qp_data.contacts.contacts) != list(contacts.values())
        assert bench.controller.contacts == contacts
        again = take_snapshot(bench.controller, command)
        for name, force in bench.controller.forces.items():
            np.testing.assert_array_equal(force, forces[name])
        assert [contact.name for contact in again.contacts] == [contact.name for contact in snapshot.contacts]
        for one, other in zip(again.contacts, snapshot.contacts, strict=True):
            np.testing.assert_array_equal(one.forces, other.forces)
            np.testing.assert_array_equal(one.points, other.points)
        assert {target.name for target in again.targets} == {target.name for target in snapshot.targets}
    assert changes == 1  # palm contacts made, table contact broken


@pytest.mark.parametrize("formulation", ["condensed", "reduced"])
def test_snapshot_of_a_fallback_in_the_first_tick_has_the_initial_configuration(box, formulation, make_bench):
    bench = make_bench(box, formulation=formulation)
    snapshot = take_snapshot(bench.controller, bench.step(bench.corrupted(q=9)))
    np.testing.assert_array_equal(snapshot.q, bench.scene.q0)
    assert snapshot.status == "fallback"
    assert np.isfinite(snapshot.com_total).all()
