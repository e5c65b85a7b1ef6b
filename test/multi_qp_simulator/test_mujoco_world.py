"""The MuJoCo backend against pinocchio: bodies, joints, frames and forces."""

from __future__ import annotations

import math

import coal
import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.dynamics.relative_motion import relative_motion
from multi_qp_scene.resources import scenario_names
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.mujoco_world import MujocoBackend
from multi_qp_simulator.mujoco_world.coordinates_kernel import principal_axes
from multi_qp_simulator.mujoco_world.shapes import add_shape, is_ground
from multi_qp_simulator.mujoco_world.world import WorldOptions, build_world
from multi_qp_simulator.runner import make_backend, make_controller

SCENES = ("box", "door", "valve", "lever", "funambulist", "sword", "king", "acrobats")


def unconstrained(name):
    """Return a model without contacts, limits, welds and dry friction, at a random state, and that state."""
    scenario = load_scenario(name)
    backend = make_backend("mujoco", scenario)
    backend.world.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    random = np.random.default_rng(3)
    scene = scenario.scene
    q = pin.integrate(scene.model, scene.q0, 0.3 * random.standard_normal(scene.nv))
    backend.state = State(q, random.standard_normal(scene.nv))
    return scenario, backend, backend.state


@pytest.mark.parametrize("name", SCENES)
def test_mass_matrix_bias_and_state_are_pinocchios(name):
    scenario, backend, state = unconstrained(name)
    scene = scenario.scene
    T = backend.coordinates.jacobian(state.q)
    M = np.zeros((scene.nv, scene.nv))
    mujoco.mj_fullM(backend.world, backend.data, M)
    data = scene.model.createData()
    pin.computeAllTerms(scene.model, data, state.q, state.v)
    bias = T.T @ (backend.data.qfrc_bias + M @ backend.coordinates.drift(state))
    assert T.T @ M @ T == pytest.approx(data.M, rel=1e-9, abs=1e-9)
    assert bias == pytest.approx(data.nle, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["box", "valve", "lever", "king"])
def test_the_same_torques_give_the_same_acceleration(name):
    """Passive springs and dampers included; the door's dry friction is a constraint in MuJoCo, so it is not here."""
    scenario, backend, state = unconstrained(name)
    scene = scenario.scene
    tau = np.random.default_rng(1).standard_normal(scene.na)
    kinematics = Kinematics(scene)
    kinematics.update(state)
    force = -kinematics.N
    force[scene.actuated_v] += tau
    backend.data.ctrl[:] = tau
    mujoco.mj_forward(backend.world, backend.data)
    T, drift = backend.coordinates.jacobian(state.q), backend.coordinates.drift(state)
    acceleration = np.linalg.solve(T, backend.data.qacc - drift)
    assert acceleration == pytest.approx(np.linalg.solve(kinematics.M, force), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["valve", "acrobats"])
def test_every_joint_frame_is_where_pinocchio_has_it(name):
    scenario, backend, state = unconstrained(name)
    model = scenario.scene.model
    data = model.createData()
    pin.forwardKinematics(model, data, state.q)
    for k in range(1, model.njoints):
        body = backend.data.body(f"{model.names[k]}#body")
        assert body.xpos == pytest.approx(data.oMi[k].translation, abs=1e-9)
        assert body.xmat.reshape(3, 3) == pytest.approx(data.oMi[k].rotation, abs=1e-9)


def test_motors_are_in_the_order_of_tau_with_their_limits():
    scenario = load_scenario("sword")
    world = make_backend("mujoco", scenario).world
    assert [world.actuator(k).name for k in range(world.nu)] == list(scenario.scene.actuated_joint_names)
    assert world.actuator_ctrlrange[:, 1] == pytest.approx(scenario.scene.torque_limits)


def test_free_fall_and_momentum():
    """Without contacts, gravity alone changes the momentum of everything, whatever the motors do."""
    scenario, backend, state = unconstrained("box")
    model, data = scenario.scene.model, scenario.scene.model.createData()
    before = pin.computeCentroidalMomentum(model, data, state.q, state.v).vector.copy()
    height = pin.centerOfMass(model, data, state.q, state.v)[2]
    rate = float(data.vcom[0][2])
    backend.world.opt.timestep = 1e-5
    backend.data.ctrl[:] = 0.1
    for _ in range(1000):
        mujoco.mj_step(backend.world, backend.data)
    after = backend.coordinates.to_scene(backend.data.qpos, backend.data.qvel)
    now = pin.computeCentroidalMomentum(model, data, after.q, after.v).vector
    mass = pin.computeTotalMass(model)
    assert now[:3] - before[:3] == pytest.approx([0.0, 0.0, -9.81 * mass * 0.01], abs=1e-3)
    assert now[3:] == pytest.approx(before[3:], abs=1e-3)
    fallen = pin.centerOfMass(model, data, after.q)[2] - height
    assert fallen == pytest.approx(rate * 0.01 - 9.81 * 0.01**2 / 2.0, abs=1e-6)


@pytest.mark.parametrize("name", ["box", "funambulist"])
def test_contact_and_weld_forces_satisfy_the_equation_of_motion(name):
    """M q̈ + N = S τ + Σ Jᵀ w, with q̈ and the wrenches from MuJoCo and all else from pinocchio."""
    scenario = load_scenario(name)
    scene = scenario.scene
    backend, controller = MujocoBackend(scenario), make_controller(scenario, "mujoco")
    for tick in range(60):
        command = controller.step(backend.state, tick * controller.dt)
        outcome = backend.step(command, controller.dt)
    mujoco.mj_forward(backend.world, backend.data)
    state = backend.state
    touch = backend.touch
    touch.begin(tuple(command.wrenches))
    touch.add(backend.data, 0.0)
    wrenches = touch.wrenches(tuple(command.wrenches), backend.data)
    assert set(wrenches) == set(outcome.wrenches) == set(controller.contacts)
    kinematics = Kinematics(scene)
    kinematics.update(state)
    T, drift = backend.coordinates.jacobian(state.q), backend.coordinates.drift(state)
    force = kinematics.M @ np.linalg.solve(T, backend.data.qacc - drift) + kinematics.N
    force[scene.actuated_v] -= backend.data.ctrl
    largest = np.abs(force).max()
    for contact, wrench in wrenches.items():
        first, second = (scene.surfaces[s] for s in scenario.spec.contacts[contact].surfaces)
        force -= relative_motion(kinematics, first.frame_id, second.frame_id).J.T @ wrench
    assert np.abs(force).max() < 1e-3 * largest


def test_a_standing_body_is_pushed_up():
    """A sole's +z points out of the body, down: the ground's force is along -z and equals the weight."""
    scenario = load_scenario("box")
    backend, controller = MujocoBackend(scenario), make_controller(scenario, "mujoco")
    for tick in range(40):
        outcome = backend.step(controller.step(backend.state, tick * controller.dt), controller.dt)
    assert outcome.wrenches["box_on_table"][2] == pytest.approx(-3.0 * 9.81, rel=1e-3)
    feet = outcome.wrenches["left_foot"][2] + outcome.wrenches["right_foot"][2]
    assert feet == pytest.approx(-39.0 * 9.81, rel=1e-2)


def test_loads_have_the_same_weight_in_simulation_and_model():
    scenario, backend, state = unconstrained("funambulist")
    scene = scenario.scene
    scene.loads.set_mass("left_weight", 4.5)
    scene.loads.advance(1.0)
    backend._update_load_inertias()
    backend.state = state
    M = np.zeros((scene.nv, scene.nv))
    mujoco.mj_fullM(backend.world, backend.data, M)
    T = backend.coordinates.jacobian(state.q)
    data = scene.model.createData()
    pin.computeAllTerms(scene.model, data, state.q, state.v)
    assert T.T @ M @ T == pytest.approx(data.M, rel=1e-9, abs=1e-9)
    assert scene.loads.masses["left_weight"] > 2.5


@given(
    moments=st.tuples(*[st.floats(0.01, 10.0)] * 3) | st.just((1.0, 1.0, 1.0)),
    turn=st.tuples(*[st.floats(-3.0, 3.0)] * 3) | st.sampled_from([(0.0, 0.0, 0.0), (math.pi, 0.0, 0.0)]),
)
def test_principal_axes_give_the_inertia_back(moments, turn):
    R = pin.exp3(np.array(turn))
    inertia = R @ np.diag(moments) @ R.T
    found, quaternion = np.zeros(3), np.zeros(4)
    principal_axes(inertia, found, quaternion)
    w, x, y, z = quaternion
    axes = pin.Quaternion(w, x, y, z).toRotationMatrix()
    assert np.allclose(axes @ np.diag(found) @ axes.T, inertia, atol=1e-12)


def test_all_shipped_scenarios_have_a_world():
    assert set(SCENES) <= set(scenario_names())


def test_a_hand_too_far_from_the_handle_closes_on_nothing():
    scenario = load_scenario("door")
    backend = MujocoBackend(scenario)
    backend.touch.hold(backend.data, ("grasp",))
    assert not backend.data.eq_active.any()


def test_the_initial_hold_of_a_bar_is_a_weld_and_opens():
    scenario = load_scenario("funambulist")
    backend = MujocoBackend(scenario)
    backend.touch.hold(backend.data, ("left_hand", "right_hand"))
    assert backend.data.eq_active.sum() == 2
    backend.touch.hold(backend.data, ("left_hand",))
    assert backend.data.eq_active.sum() == 1


def sole_on(below, *, aligned):
    """Return a model of a fixed box and a free one, a sole, that rests on it."""
    spec = mujoco.MjSpec()
    for name, size, free in (("below", below, False), ("sole", (0.22, 0.11, 0.04), True)):
        body = spec.worldbody.add_body(name=name)
        if free:
            body.add_freejoint()
        item = pin.GeometryObject(name, 0, pin.SE3.Identity(), coal.Box(*size))
        add_shape(spec, body, item, pin.SE3.Identity(), aligned=aligned and free)
    return spec.compile()


SHOULDER, GROUND = (0.146, 0.33, 0.06), (20.0, 20.0, 0.06)


@pytest.mark.parametrize(
    "below, aligned, least", [(SHOULDER, True, 3), (SHOULDER, False, 1), (GROUND, True, 3), (GROUND, False, 3)]
)
def test_an_aligned_sole_touches_at_all_corners(below, aligned, least):
    """MuJoCo's box collision fails this: in some poses it returns a single point on an edge. On ground, both pass."""
    world = sole_on(below, aligned=aligned)
    data, random, fewest = mujoco.MjData(world), np.random.default_rng(0), 9
    for _ in range(300):
        x, y = random.normal([-0.03, 0.115], [0.02, 0.003])
        data.qpos[:3] = x, y, 0.05 - 1e-4
        mujoco.mju_euler2Quat(data.qpos[3:], [*random.uniform(-1e-4, 1e-4, 2), random.normal(-0.26, 0.05)], "xyz")
        mujoco.mj_kinematics(world, data)
        mujoco.mj_comPos(world, data)
        mujoco.mj_collision(world, data)
        fewest = min(fewest, data.ncon)
    assert fewest >= 3 if least == 3 else fewest == 1


def test_only_wide_level_fixed_boxes_are_ground():
    turned, up = pin.SE3(pin.utils.rotate("z", 0.3), np.ones(3)), pin.SE3(np.eye(3), np.array([1.0, 2.0, 3.0]))
    for shape, joint, placement, expected in (
        (coal.Box(20.0, 20.0, 0.2), 0, up, True),
        (coal.Box(20.0, 20.0, 0.2), 0, turned, True),
        (coal.Box(20.0, 20.0, 0.2), 1, up, False),
        (coal.Box(20.0, 9.0, 0.2), 0, up, False),
        (coal.Box(20.0, 20.0, 0.2), 0, pin.SE3(pin.utils.rotate("x", 0.01), np.zeros(3)), False),
        (coal.Cylinder(20.0, 0.2), 0, up, False),
    ):
        item = pin.GeometryObject("floor", joint, placement, shape)
        assert is_ground(item) == expected
    world = build_world(load_scenario("box"), WorldOptions())
    assert world.geom("ground/ground_link_0").type == mujoco.mjtGeom.mjGEOM_PLANE
    assert world.geom("ground/ground_link_0").pos == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    assert (world.geom_type == mujoco.mjtGeom.mjGEOM_PLANE).sum() == 1
