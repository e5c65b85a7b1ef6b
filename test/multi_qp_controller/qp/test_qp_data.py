"""QP of a tick in scenes with missing tasks or redundant contacts: solvable and physical."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from multi_qp_controller.constraints import Bound
from multi_qp_controller.contacts.rows import multipliers
from multi_qp_controller.controller import Controller
from multi_qp_controller.dynamics.kinematics import Group
from multi_qp_controller.qp import QPProblem, make_solver
from multi_qp_scene.errors import ArgumentError
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.scene import State

GRAVITY = 9.81
BOTH = ("full", "reduced")


def without_tasks(scenario, keep=()):
    """Drop all tasks of the first state but those named."""
    state = scenario.spec.states["stand"]
    for name in list(scenario.spec.tasks):
        if name not in keep:
            del scenario.spec.tasks[name]
    state.tasks.clear()
    state.transitions.clear()


def first_tick(scenario, **options):
    controller = Controller(scenario, dt=0.005, **options)
    command = controller.step(scenario.scene.initial_state(), 0.0)
    assert command.diagnostics.status == "ok", command.diagnostics.message
    assert command.diagnostics.dynamics_residual < 1e-9
    return controller, command


@pytest.fixture(scope="module")
def standing():
    return first_tick(load_scenario("box"))


def ground_force(controller, command, names):
    """Return the sum of the forces of these contacts, world frame, (3,)."""
    total = np.zeros(3)
    for name in names:
        contact = controller.contacts[name]
        total += controller.kinematics.pose(contact.first.frame_id).rotation @ command.wrenches[name][:3]
    return total


def weight_and_inertia(scenario, controller, command, subsystem):
    """Return m (c̈ − g), the required external force on a subsystem, world frame, (3,)."""
    scene = scenario.scene
    group, J = Group.of(scene, [subsystem]), np.zeros((3, scene.nv))
    group.com_jacobian(controller.kinematics, J)
    acceleration = J @ command.a + group.com_drift(controller.kinematics)
    return mass_of(scene, subsystem) * (acceleration + [0.0, 0.0, GRAVITY])


def mass_of(scene, subsystem):
    names = scene.model.names
    return sum(i.mass for i, name in zip(scene.model.inertias, names, strict=True) if name.startswith(f"{subsystem}/"))


@pytest.mark.parametrize("formulation", BOTH)
def test_without_tasks_the_solution_is_physical(box, formulation):
    """Regularisation alone: least torques and accelerations that satisfy the contacts."""
    without_tasks(box)
    controller, command = first_tick(box, formulation=formulation)
    assert controller.tasks == {}
    for subsystem, contacts in (("humanoid", ["left_foot", "right_foot"]), ("box", ["box_on_table"])):
        needed = weight_and_inertia(box, controller, command, subsystem)
        np.testing.assert_allclose(ground_force(controller, command, contacts), needed, atol=1e-6)
    for contact in controller.contacts.values():
        np.testing.assert_allclose(contact.motion.J @ command.a + contact.motion.drift, np.zeros(6), atol=1e-8)


def test_standing_still_the_feet_carry_the_weight(box):
    box.spec.states["stand"].transitions.clear()
    controller, state, dt = Controller(box, dt=0.01), box.scene.initial_state(), 0.01
    for step in range(250):
        command = controller.step(state, step * dt)
        v = state.v + dt * command.a
        state = State(pin.integrate(box.scene.model, state.q, dt * v), v)
    assert np.abs(state.v).max() < 2e-3
    feet = ground_force(controller, command, ["left_foot", "right_foot"])
    np.testing.assert_allclose(feet, [0.0, 0.0, mass_of(box.scene, "humanoid") * GRAVITY], atol=1.0)
    table = ground_force(controller, command, ["box_on_table"])
    np.testing.assert_allclose(table, [0.0, 0.0, mass_of(box.scene, "box") * GRAVITY], atol=1e-6)


@pytest.mark.parametrize("formulation", BOTH)
def test_the_contacts_carry_weight_and_inertia(box, formulation):
    controller, command = first_tick(box, formulation=formulation)
    for subsystem, contacts in (("humanoid", ["left_foot", "right_foot"]), ("box", ["box_on_table"])):
        needed = weight_and_inertia(box, controller, command, subsystem)
        np.testing.assert_allclose(ground_force(controller, command, contacts), needed, atol=1e-6)


@pytest.mark.parametrize("formulation", BOTH)
def test_duplicate_contacts_share_the_force(box, formulation):
    without_tasks(box, keep=["posture"])
    for name, spec in list(box.spec.contacts.items()):
        if name in ("left_foot", "right_foot"):
            box.spec.contacts[f"{name}_again"] = spec.model_copy()
    box.spec.states["stand"].contacts.extend(["left_foot_again", "right_foot_again"])
    controller, command = first_tick(box, formulation=formulation)
    assert len(controller.contacts) == 5
    feet = [name for name in controller.contacts if "foot" in name]
    needed = weight_and_inertia(box, controller, command, "humanoid")
    np.testing.assert_allclose(ground_force(controller, command, feet), needed, atol=1e-5)
    # equal shares have the least cost
    np.testing.assert_allclose(command.wrenches["left_foot"], command.wrenches["left_foot_again"], atol=0.05)


@pytest.mark.parametrize("solver", ["daqp", "piqp_sparse", "proxqp", "quadprog", "eiquadprog"])
def test_every_solver_handles_redundant_contacts(box, solver):
    box.spec.contacts["again"] = box.spec.contacts["left_foot"].model_copy()
    box.spec.states["stand"].contacts.extend(["again"])
    controller, command = first_tick(box, solver=solver)
    needed = weight_and_inertia(box, controller, command, "humanoid")
    feet = ground_force(controller, command, ["left_foot", "right_foot", "again"])
    np.testing.assert_allclose(feet, needed, atol=1e-3)


def test_redundant_contacts_change_neither_acceleration_nor_sums(box):
    plain = first_tick(box)[1]
    box.spec.contacts["again"] = box.spec.contacts["left_foot"].model_copy()
    box.spec.states["stand"].contacts.extend(["again"])
    doubled = first_tick(box)[1]
    np.testing.assert_allclose(doubled.a, plain.a, atol=2e-2)


@pytest.mark.parametrize("formulation", BOTH)
def test_a_task_of_weight_zero_costs_nothing_but_is_measured(box, formulation):
    plain = first_tick(box, formulation=formulation)[1]
    box.spec.tasks["upright"] = box.spec.tasks["upright"].model_copy(update={"weight": 0.0})
    box.spec.states["stand"].tasks["idle"] = (
        box.spec.states["stand"].tasks["posture"].model_copy(update={"weight": 0.0, "posture": "ready"})
    )
    controller, command = first_tick(box, formulation=formulation)
    assert controller.tasks["idle"].error > 0.1
    box.spec.tasks["upright"] = box.spec.tasks["upright"].model_copy(update={"weight": 20.0})
    again = first_tick(box, formulation=formulation)[1]
    np.testing.assert_allclose(again.a, plain.a, atol=1e-9)
    assert np.abs(command.a - plain.a).max() > 1e-6 or controller.tasks["upright"].error < 1e-6


def test_a_character_without_a_task_stays_solvable(workshop):
    """Two arms, one of which has no task: it stays slow, the other one moves."""
    limit = '<limit lower="-2" upper="2" velocity="5" effort="60"/>'
    workshop.chain("arm", [{"extra": limit}, {"extra": limit}])
    scenario = workshop.load(
        subsystems={"busy": {"model": "arm"}, "idle": {"model": "arm", "pose": {"xyz": [2, 0, 0]}}},
        tasks={"posture": {"type": "posture", "subsystem": "busy", "posture": {"joint0": 0.5}, "stiffness": 20}},
    )
    _, command = first_tick(scenario)
    assert command.a[0] == pytest.approx(20 * 0.5, rel=1e-2)
    # the least cost of the idle one balances acceleration and torque
    assert np.abs(command.a[2:]).max() < 1.0


def test_torques_are_limited(box):
    """A task that exceeds the motor torques: limits hold, the status stays ok."""
    controller, _ = first_tick(box)
    posture = box.spec.states["stand"].tasks["posture"]
    box.spec.states["stand"].tasks["posture"] = posture.model_copy(update={"stiffness": 1e5, "posture": "ready"})
    controller, command = first_tick(box)
    limits = box.scene.torque_limits
    assert (np.abs(command.tau) <= limits * (1 + 1e-9)).all()
    assert (np.abs(command.tau) > 0.99 * limits).any()


def sparse(entries):
    forces_on_edges = np.zeros(16)
    forces_on_edges[list(entries)] = list(entries.values())
    return forces_on_edges


@settings(max_examples=30, deadline=None)
@given(forces_on_edges=arrays(float, 16, elements=st.floats(0.0, 50.0)))
@example(forces_on_edges=sparse({0: 2.0, 5: 1.0, 13: 2.0}))
@example(forces_on_edges=sparse({0: 1.0}))  # an edge of the cone, where Λ is unique
@example(forces_on_edges=np.zeros(16))
def test_multipliers_have_the_least_norm(standing, forces_on_edges):
    """Against a QP solver: min ½‖Λ‖² s.t. W Λ = w, Λ ≥ 0."""
    controller, _ = standing
    rows = controller.qp_data.contacts
    foot, where = rows.contacts[0], rows.row_slices[0]
    reactions = controller.reactions.copy()
    wrench = reactions[where] = foot.W @ forces_on_edges
    found = multipliers(rows.contacts, reactions)[foot.name]
    assert (found >= 0.0).all()
    scale = max(1.0, np.abs(wrench).max())
    np.testing.assert_allclose(foot.W @ found, wrench, atol=1e-11 * scale)
    assert np.linalg.norm(found) <= np.linalg.norm(forces_on_edges) * (1 + 1e-9)
    expected = make_solver("daqp").solve(
        QPProblem(
            H=np.eye(16), g=np.zeros(16), A=foot.W, b=wrench, C=np.zeros((0, 16)), l=np.zeros(0), u=np.zeros(0),
            lb=np.zeros(16), ub=np.full(16, np.inf),
        )
    )  # fmt: skip
    assert expected.found, expected.message
    np.testing.assert_allclose(found, expected.x, atol=1e-7 * scale)


def test_multipliers_of_an_impossible_wrench_have_the_nearest_one(standing):
    controller, _ = standing
    rows = controller.qp_data.contacts
    foot, where = rows.contacts[0], rows.row_slices[0]
    reactions = np.zeros_like(controller.reactions)
    reactions[where] = foot.W @ np.ones(16) + [500.0, 0.0, 0.0, 0.0, 0.0, 0.0]  # beyond friction
    found = multipliers(rows.contacts, reactions)[foot.name]
    error = foot.W @ found - reactions[where]
    assert (found >= 0.0).all()
    assert (foot.W.T @ error >= -1e-7 * 500.0).all()  # no ray reduces the error
    assert abs(error @ foot.W @ found) < 1e-7 * 500.0**2


def test_a_straight_push_is_shared_evenly(standing):
    controller, _ = standing
    rows = controller.qp_data.contacts
    reactions = np.zeros_like(controller.reactions)
    reactions[rows.row_slices[0]][2] = -200.0
    found = multipliers(rows.contacts, reactions)[rows.contacts[0].name]
    np.testing.assert_allclose(found, found.mean(), rtol=0.3)  # the ankle is not above the middle of the sole
    corners = (rows.contacts[0].W[:3] * found).reshape(3, 4, 4).sum(axis=2)
    np.testing.assert_allclose(corners[:2], 0.0, atol=1.0)


@pytest.mark.parametrize("formulation", BOTH)
def test_friction_cones_hold_under_a_hard_pull(box, formulation):
    balance = box.spec.states["stand"].tasks["balance"]
    target = balance.target.model_copy(update={"offset": (0.5, 0.5, 0.0), "duration": None})
    box.spec.states["stand"].tasks["balance"] = balance.model_copy(
        update={"stiffness": 100.0, "weight": 1e4, "target": target}
    )
    controller, command = first_tick(box, formulation=formulation)
    for name in ("left_foot", "right_foot"):
        assert (controller.forces[name] >= -1e-8).all()
        fx, fy, fz = command.wrenches[name][:3]  # +z is into the ground: it pushes along -z
        assert fz <= 1e-9  # one foot is about to lift
        assert np.hypot(fx, fy) <= -0.7 * fz + 1e-9
        x, y = np.abs(controller.contacts[name].first.points).max(axis=0)[:2]
        mx, my = command.wrenches[name][3:5]
        assert abs(mx) <= -y * fz + 1e-8  # the centre of pressure is on the sole
        assert abs(my) <= -x * fz + 1e-8


@pytest.mark.parametrize("formulation", BOTH)
def test_moving_states_stay_consistent(scenario, lab, formulation):
    """From a state with velocities: contacts come to rest within the tick, as in (20)."""
    scene = scenario.scene
    controller = Controller(scenario, dt=0.01, formulation=formulation)
    controller.step(scene.initial_state(), 0.0)
    v = 0.02 * np.random.default_rng(1).uniform(-1, 1, scene.nv)
    command = controller.step(State(scene.q0.copy(), v), 0.01)
    assert command.diagnostics.status == "ok"
    for contact in controller.contacts.values():
        after = contact.motion.twist + 0.01 * (contact.motion.J @ command.a + contact.motion.drift)
        np.testing.assert_allclose(after, np.zeros(6), atol=1e-9)


@pytest.mark.parametrize("kind", ["revolute", "continuous"])
def test_passive_joints_resist(workshop, lab, kind):
    """A spring, a damper and friction of unactuated joints enter the dynamics as in (12)."""
    workshop.chain(
        "door",
        [{"type": kind, "axis": "0 0 1", "extra": '<limit lower="-4" upper="4" effort="0" velocity="9"/>'}],
        passive_joints={"joint0": {"stiffness": 8.0, "rest": 0.2, "damping": 3.0, "friction": 0.5}},
    )
    scenario = workshop.load(subsystems={"door": {"model": "door"}})
    scene, angle = scenario.scene, 1.1
    assert scene.na == 0
    q = np.array([angle] if kind == "revolute" else [np.cos(angle), np.sin(angle)])
    state = State(q, np.array([1.0]))
    kinematics = lab.kinematics(scene, state)
    command = Controller(scenario).step(state, 0.0)
    resisting = 8.0 * (angle - 0.2) + 3.0 * 1.0 + 0.5
    assert command.diagnostics.status == "ok", command.diagnostics.message
    assert command.a[0] == pytest.approx(-resisting / kinematics.M[0, 0], rel=1e-9)


@pytest.mark.parametrize("kind", ["revolute", "continuous"])
def test_dynamics_of_the_urdf_resist_too(workshop, lab, kind):
    limit = '<limit lower="-4" upper="4" effort="0" velocity="9"/><dynamics damping="2" friction="0.3"/>'
    workshop.chain("valve", [{"type": kind, "axis": "0 0 1", "extra": limit}])
    scenario = workshop.load(subsystems={"valve": {"model": "valve"}})
    state = State(scenario.scene.q0, np.array([-1.5]))
    command = Controller(scenario).step(state, 0.0)
    assert command.a[0] == pytest.approx((2 * 1.5 + 0.3) / lab.kinematics(scenario.scene, state).M[0, 0], rel=1e-9)


class BaseLimit(Bound):
    """|q̈| <= most for the floating base of the box scene's humanoid, whose entries have no other limit."""

    def __init__(self, scene, most):
        self.limited, self.most = np.zeros(scene.nv, dtype=bool), most
        self.limited[scene.subsystems["humanoid"].v_slice.start + np.arange(6)] = True

    def update(self, kinematics, lower, upper):
        lower[self.limited], upper[self.limited] = -self.most, self.most


@pytest.mark.parametrize("options", [{}, {"solver": "daqp"}, {"formulation": "reduced"}])
def test_a_bound_added_on_entries_without_limits_holds(options):
    scenario = load_scenario("box")
    controller, state = Controller(scenario, **options), scenario.scene.initial_state()
    bound = BaseLimit(scenario.scene, most=1e-3)
    assert not controller.qp_data.limited[bound.limited].any()
    controller.qp_data.add_bound(bound)
    most = 0.0
    for tick in range(0, 40, 10):  # the state is constant, so the task errors grow
        command = controller.step(state, tick * controller.dt)
        assert command.diagnostics.status == "ok", command.diagnostics.message
        most = max(most, np.abs(command.a[bound.limited]).max())
    assert most == pytest.approx(1e-3, rel=1e-5)
    with pytest.raises(ArgumentError, match="before the first tick"):
        controller.qp_data.add_bound(bound)
