"""The integrator backend: its step, and its behaviour in a fallback."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.command import Command, Diagnostics, Status
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.dynamics.relative_motion import relative_motion
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scene import State
from multi_qp_scene.schema.mismatch import PushSpec
from multi_qp_simulator.integrator import Integrator
from multi_qp_simulator.runner import BACKENDS, make_backend

DT = 0.01


def command(scene, *, status=Status.OK, a=None, tau=None, wrenches=None) -> Command:
    return Command(
        time=0.0,
        tau=np.zeros(scene.na) if tau is None else tau,
        a=np.full(scene.nv, np.nan) if a is None else a,
        wrenches=wrenches or {},
        diagnostics=Diagnostics(status=status),
    )


def test_it_starts_where_the_scenario_does_at_rest(standing):
    world = Integrator(standing)
    np.testing.assert_array_equal(world.state.q, standing.scene.q0)
    assert not world.state.v.any()


def test_the_velocity_is_updated_first(standing):
    scene, world = standing.scene, Integrator(standing)
    rng = np.random.default_rng(0)
    start = State(scene.q0, 0.1 * rng.normal(size=scene.nv))
    a = rng.normal(size=scene.nv)
    wrenches = {"left_foot": np.arange(6.0)}
    world.state = start
    outcome = world.step(command(scene, a=a, wrenches=wrenches), DT)
    np.testing.assert_array_equal(outcome.acceleration, a)
    assert outcome.wrenches is wrenches
    np.testing.assert_allclose(world.state.v, start.v + a * DT)
    np.testing.assert_allclose(world.state.q, pin.integrate(scene.model, start.q, world.state.v * DT))


def unexplained(scenario, kinematics, tau, outcome):
    """Return M q̈ + N − S τ − Jᵀ w of a step, (nv,), whose contacts must hold."""
    scene = scenario.scene
    rest = kinematics.M @ outcome.acceleration + kinematics.N
    rest[scene.actuated_v] -= tau
    for name, wrench in outcome.wrenches.items():
        first, second = (scene.surfaces[surface] for surface in scenario.spec.contacts[name].surfaces)
        motion = relative_motion(kinematics, first.frame_id, second.frame_id)
        rest -= motion.J.T @ wrench
        np.testing.assert_allclose(motion.J @ outcome.acceleration + motion.drift, -motion.twist / DT, atol=1e-8)
    return rest


def test_in_a_fallback_the_contacts_of_the_last_command_hold(standing):
    """M q̈ + N = S τ + Jᵀ w and J q̈ + J̇ v = 0, whatever the torques."""
    scene, world = standing.scene, Integrator(standing)
    made = {"left_foot": np.zeros(6), "box_on_table": np.zeros(6)}
    world.step(command(scene, a=np.zeros(scene.nv), wrenches=made), DT)
    before = world.state
    tau = 5.0 * np.random.default_rng(1).normal(size=scene.na)
    outcome = world.step(command(scene, status=Status.FALLBACK, tau=tau), DT)
    assert set(outcome.wrenches) == set(made)

    kinematics = Kinematics(scene)
    kinematics.update(before)
    np.testing.assert_allclose(unexplained(standing, kinematics, tau, outcome), 0.0, atol=1e-6)


def test_in_a_fallback_of_the_first_tick_the_contacts_of_the_initial_state_hold(standing):
    world = Integrator(standing)
    outcome = world.step(command(standing.scene, status=Status.FALLBACK), DT)
    assert set(outcome.wrenches) == {"left_foot", "right_foot", "box_on_table"}
    box = standing.scene.subsystems["box"].v_slice
    np.testing.assert_allclose(outcome.acceleration[box], 0.0, atol=1e-9)
    weight = 9.81 * standing.scene.subsystems["box"].mass
    assert outcome.wrenches["box_on_table"][2] == pytest.approx(-weight), "the table pushes against the bottom's normal"


def test_in_a_fallback_without_contacts_everything_falls(standing):
    scene, world = standing.scene, Integrator(standing)
    world.step(command(scene, a=np.zeros(scene.nv)), DT)
    outcome = world.step(command(scene, status=Status.FALLBACK), DT)
    assert outcome.wrenches == {}
    data = scene.model.createData()
    pin.centerOfMass(scene.model, data, scene.q0, np.zeros(scene.nv), outcome.acceleration)
    np.testing.assert_allclose(data.acom[0], [0.0, 0.0, -9.81], atol=1e-9)


def test_a_push_acts_through_the_centre_of_mass_of_its_body_while_contacts_hold(standing):
    """M q̈ + N = S τ + Jᵀ w + push, with the power of the push from the velocity of the body's centre of mass."""
    scene = standing.scene
    push = PushSpec(link="humanoid/torso", direction=(0.6, 0.8, 0.0), force=50.0, duration=DT, at=0.0)
    mismatch = standing.spec.mismatch.model_copy(update={"pushes": [push]})
    pushed = replace(standing, spec=standing.spec.model_copy(update={"mismatch": mismatch}))
    world, kinematics = Integrator(pushed), Kinematics(scene)
    kinematics.update(world.state)
    made = {"left_foot": np.zeros(6), "right_foot": np.zeros(6), "box_on_table": np.zeros(6)}
    tau = 5.0 * np.random.default_rng(1).normal(size=scene.na)
    outcome = world.step(command(scene, a=np.zeros(scene.nv), tau=tau, wrenches=made), DT)
    rest = unexplained(standing, kinematics, tau, outcome)
    model, data, h = scene.model, scene.model.createData(), 1e-6
    body = model.frames[model.getFrameId("humanoid/torso")].parentJoint

    def place(v):
        pin.forwardKinematics(model, data, pin.integrate(model, scene.q0, h * v))
        return data.oMi[body].act(model.inertias[body].lever)

    for k in range(scene.nv):
        moved = (place(np.eye(scene.nv)[k]) - place(-np.eye(scene.nv)[k])) / (2.0 * h)
        assert rest[k] == pytest.approx(moved @ [30.0, 40.0, 0.0], abs=1e-4)
    later = world.step(replace(command(scene, a=np.zeros(scene.nv), wrenches=made), time=DT), DT)
    assert not later.acceleration.any()


def test_bonds_are_reset_after_each_valid_tick(standing):
    """A contact is not pulled back to its pose in an earlier fallback."""
    scene, world = standing.scene, Integrator(standing)
    made = {"box_on_table": np.zeros(6)}
    world.step(command(scene, a=np.zeros(scene.nv), wrenches=made), DT)
    world.step(command(scene, status=Status.FALLBACK), DT)
    box = standing.scene.subsystems["box"]
    moved = world.state.q.copy()
    moved[box.q_slice.start] += 0.05
    world.state = State(moved, np.zeros(scene.nv))
    world.step(command(scene, a=np.zeros(scene.nv), wrenches=made), DT)
    world.step(command(scene, status=Status.FALLBACK), DT)
    assert world.state.q[box.q_slice.start] == pytest.approx(moved[box.q_slice.start], abs=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("status", [Status.OK, Status.FALLBACK])
@pytest.mark.parametrize(
    "spoil, reason",
    [
        (lambda tau: tau * np.nan, "torque of humanoid/R_HIP_Y is nan"),
        (lambda tau: np.where(np.arange(len(tau)) == 3, np.inf, tau), "is inf"),
        (lambda tau: tau[1:], "torques of shape (29,), expected (30,)"),
        (lambda tau: ["full"] * len(tau), "are not numbers"),
    ],
)
def test_torques_that_no_motor_can_follow_are_refused(standing, backend, status, spoil, reason):
    scene, world = standing.scene, make_backend(backend, standing)
    before = world.state
    with pytest.raises(MultiQpError) as raised:
        world.step(command(scene, status=status, a=np.zeros(scene.nv), tau=spoil(np.zeros(scene.na))), DT)
    assert reason in str(raised.value)
    np.testing.assert_array_equal(world.state.q, before.q)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_state_is_set_from_numbers_only(standing, backend):
    scene, world = standing.scene, make_backend(backend, standing)
    world.state = State(scene.q0.tolist(), np.zeros(scene.nv, dtype=int))
    np.testing.assert_allclose(world.state.q, scene.q0, atol=1e-12)
    assert world.state.q.dtype == np.float64
    for wrong in (None, "home", State(scene.q0[1:], np.zeros(scene.nv)), State(scene.q0, [None] * scene.nv)):
        with pytest.raises(MultiQpError, match="invalid state: "):
            world.state = wrong


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_diverged_simulation_can_be_reset(standing, backend):
    scene, world = standing.scene, make_backend(backend, standing)
    still = command(scene, a=np.zeros(scene.nv))
    with np.errstate(invalid="ignore"):
        world.state = State(scene.q0, np.full(scene.nv, np.nan))
        world.step(still, DT)
    world.state = scene.initial_state()
    world.step(still, DT)
    assert world.state.is_finite
