"""The world that follows the QP: how it steps, and what it does when nobody chose an acceleration."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.command import Command, Diagnostics, Status
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.relative_motion import relative_motion
from multi_qp_scene.scene import State
from multi_qp_simulator.integrator import Integrator

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
    force = -kinematics.N
    force[scene.actuated_v] += tau
    for name, wrench in outcome.wrenches.items():
        first, second = (scene.surfaces[surface] for surface in standing.spec.contacts[name].surfaces)
        motion = relative_motion(kinematics, first.frame_id, second.frame_id)
        force += motion.J.T @ wrench
        np.testing.assert_allclose(motion.J @ outcome.acceleration + motion.drift, -motion.twist / DT, atol=1e-8)
    np.testing.assert_allclose(kinematics.M @ outcome.acceleration, force, atol=1e-6)


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


def test_bonds_are_made_anew_after_each_good_tick(standing):
    """A contact that the controller has moved on from is not pulled back to where it was in an earlier fallback."""
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
