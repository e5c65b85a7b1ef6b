"""Elimination by subsystems: its band factorisation, and its answers where subsystems share contacts and tasks."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_cli.benches.crowd import load_crowd
from multi_qp_controller import contact_rows as contact_rows_module
from multi_qp_controller.blocks import direct
from multi_qp_controller.blocks.active_kernel import _append, _shrink
from multi_qp_controller.blocks.direct import HURRIED_CHANGES
from multi_qp_controller.blocks.linear_kernel import backward_band, factorise_band, forward_band
from multi_qp_controller.command import Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.formulations import make_formulation
from multi_qp_controller.kinematics import Group, Kinematics
from multi_qp_controller.qp import make_solver
from multi_qp_scene import load_scenario
from multi_qp_scene.jit import COMPILED
from multi_qp_scene.pinocchio_views import JointViews
from multi_qp_scene.scene import State


def python(kernel):
    """Return the Python function behind a kernel."""
    return getattr(kernel, "py_func", kernel)


@pytest.mark.parametrize("border", [9, 7])
def test_a_quasi_definite_band_with_a_border_is_solved(border):
    random, size, width = np.random.default_rng(3), 9, 3
    K = np.zeros((size, size))
    for j in range(size):
        for i in range(j + 1, size):
            if i - j < width or i >= border:
                K[j, i] = K[i, j] = random.normal()
    K += np.diag(np.where(np.arange(size) % 2, -20.0, 20.0))
    last = np.array([min(j + width, border) if j < border else size for j in range(size)])
    b = random.normal(size=size)
    S, x = np.triu(K), b.copy()
    assert python(factorise_band)(S, last, border)
    python(forward_band)(S, last, border, x)
    python(backward_band)(S, last, border, x)
    np.testing.assert_allclose(K @ x, b, atol=1e-12)


@pytest.mark.skipif(not COMPILED, reason="the solver by subsystems is compiled")
@pytest.mark.parametrize("kind", ["chain", "tower"])
def test_a_crowd_that_shares_contacts_and_a_task_is_answered_as_by_full(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(contact_rows_module, "NULL_FORCE_COST", 1e-12)
    people = ["person_1", "person_2"]
    target = {"offset": [0.0, 0.02, 0.0]}
    shared = {"type": "com", "subsystems": people, "axes": ["x", "y"], "target": target, "weight": 50}
    apart = {"type": "pose", "frame": "person_1/torso", "relative_to": "person_2/torso", "weight": 5}
    tasks = {"together": shared, "apart": apart | {"target": {"frame": "entry", "position": [0.0, 0.01, 0.0]}}}
    tasks |= {f"{name}_posture": {"type": "posture", "subsystem": name, "weight": 1} for name in people}
    controller = Controller(load_crowd(kind, 2, tmp_path, tasks=tasks))
    state = controller.scenario.scene.initial_state()
    command = controller.step(state, 0.0)
    assert command.diagnostics.status is Status.OK, command.diagnostics.message
    made = make_formulation("full", controller.statement)
    made.prepare()
    exact = made.recover(make_solver("quadprog").solve(made.build()).x)
    for value, expected in ((command.a, exact.acceleration), (command.tau, exact.torque)):
        assert np.abs(value - expected).max() < 1e-6 * max(1.0, np.abs(expected).max())


def test_views_of_all_joints_show_what_pinocchio_computed_last():
    scene = load_scenario("box").scene
    data, random = scene.model.createData(), np.random.default_rng(1)
    views = JointViews(data)
    v, a = random.normal(size=scene.nv), random.normal(size=scene.nv)
    pin.centerOfMass(scene.model, data, scene.q0, v, a)
    views.refresh()
    for k in range(scene.model.njoints):
        np.testing.assert_array_equal(views.poses[k, 9:], data.oMi[k].translation)
        np.testing.assert_array_equal(views.poses[k, :9], data.oMi[k].rotation.ravel("F"))
        np.testing.assert_array_equal(views.twists[k], data.v[k].vector)
        np.testing.assert_array_equal(views.drifts[k], data.a[k].vector)
        np.testing.assert_array_equal(views.coms[k], data.com[k])


def test_the_inertia_is_that_of_the_composite_rigid_bodies():
    scenario = load_scenario("box")
    kinematics, scene = Kinematics(scenario.scene), scenario.scene
    v = np.random.default_rng(1).normal(size=scene.nv)
    kinematics.update(State(scene.q0, v))
    data = scene.model.createData()
    np.testing.assert_allclose(kinematics.M, pin.crba(scene.model, data, scene.q0), atol=1e-12)
    group = Group.of(scene, ["humanoid", "box"])
    mass = sum(inertia.mass for inertia in list(scene.model.inertias)[1:])
    pin.centerOfMass(scene.model, data, scene.q0, v, np.zeros(scene.nv))
    assert group.mass(kinematics) == pytest.approx(mass)
    np.testing.assert_allclose(group.com(kinematics), data.com[0], atol=1e-12)
    np.testing.assert_allclose(group.com_velocity(kinematics), data.vcom[0], atol=1e-12)
    np.testing.assert_allclose(group.com_drift(kinematics), data.acom[0], atol=1e-9)


def test_the_factor_of_active_rows_follows_every_change():
    random, n = np.random.default_rng(5), 7
    C = random.normal(size=(n, 9))
    T, R, rows = C @ C.T, np.zeros((n, n)), []
    for k in range(n):
        R[k, k] = np.sqrt(python(_append)(T, R, k))
        rows.append(k)
    for gone in (3, 5, 0, 3):
        python(_shrink)(gone, len(rows), R)
        del rows[gone]
        k = len(rows)
        np.testing.assert_allclose(np.tril(R[:k, :k]), np.linalg.cholesky(T[np.ix_(rows, rows)]), atol=1e-12)


@pytest.mark.skipif(not COMPILED, reason="the solver by subsystems is compiled")
def test_in_a_hurry_a_hopeless_tick_is_over_after_so_many_changes_of_active_rows(monkeypatch):
    scenario = load_scenario("box")
    controller = Controller(scenario, deadline=1e3)
    state, limits, blocks = (
        scenario.scene.initial_state(),
        controller.statement.joint_limits,
        controller.formulation.blocks,
    )
    assert controller.step(state, 0.0).diagnostics.status is Status.OK
    update, solve, changes = limits.update, blocks.solve, []
    knee = scenario.scene.actuated_v[scenario.scene.actuated_joint_names.index("humanoid/L_KNEE_P")]

    def ask(q, v):
        update(q, v)
        limits.lower[knee], limits.upper[knee] = 2e5, 2e5 + 1.0

    def counted(*arguments, **settings):
        solved = solve(*arguments, **settings)
        changes.append(solved.solution.iterations)
        return solved

    monkeypatch.setattr(limits, "update", ask)
    monkeypatch.setattr(blocks, "solve", counted)
    command = controller.step(state, controller.dt)
    assert command.diagnostics.status in (Status.RELAXED, Status.FALLBACK)
    assert 0 < sum(changes) <= HURRIED_CHANGES[1]
    monkeypatch.undo()
    assert controller.step(state, 2 * controller.dt).diagnostics.status is Status.OK


@pytest.mark.skipif(not COMPILED, reason="the solver by subsystems is compiled")
def test_every_state_is_laid_out_before_the_first_tick(monkeypatch):
    controller = Controller(load_scenario("box"))
    blocks, late = controller.formulation.blocks, []
    monkeypatch.setattr(direct, "Plan", lambda *_, **__: late.append(controller.machine.phase.name))
    controller.rehearse()
    assert blocks._known and not late
