"""Plan of the rigid modes: its forces bring a rigid body to the target."""

from __future__ import annotations

import numpy as np
import pytest

from modal_control.rigid_plan import RigidWeights, force_map, plan_window, rigid_axes

DT, STEPS, MASS = 1.0 / 120.0, 24, 40.0
COM = np.array([0.02, -0.01, 0.6])
POINTS = np.array([[x, y, 0.0] for x in (-0.1, 0.1) for y in (-0.15, 0.15)])
INERTIA = np.array([[3.0, 0.1, 0.2], [0.1, 2.5, 0.0], [0.2, 0.0, 0.8]])


def planned(missed, weights, held):
    """Return the forces of each step, (STEPS, 4, 3), and the map of forces on the rigid modes."""
    by_force = force_map(POINTS, com=COM, mass=MASS, axes=rigid_axes(INERTIA))
    active = [np.arange(4)] * STEPS
    plan = plan_window(by_force, active, missed, dt=DT, weight=9.81 * MASS, weights=weights, start=None, held=held)
    assert plan.residual < 1e-6
    return plan.forces.reshape(STEPS, 4, 3), by_force


@pytest.mark.parametrize("held", [False, True])
def test_the_forces_reach_the_target(random, held):
    p, v = 0.02 * random.normal(size=6), 0.1 * random.normal(size=6)
    target_p, target_v = 0.02 * random.normal(size=6), 0.1 * random.normal(size=6)
    load = np.array([0.0, 0.0, -9.81 * np.sqrt(MASS), 0.0, 0.0, 0.0])
    T = STEPS * DT
    missed = np.concatenate([p + T * v + 0.5 * T**2 * load - target_p, v + T * load - target_v])
    weights = RigidWeights(position=10.0, rotation=10.0, rate=10.0, force=1e-7, friction=2.0)
    forces, by_force = planned(missed, weights, held)
    assert (np.hypot(forces[..., 0], forces[..., 1]) <= 2.0 * forces[..., 2] + 1e-9).all()
    for step in forces:  # the exact motion under these forces
        push = np.einsum("rpd,pd->r", by_force, step)
        if held:
            p, v = p + DT * v + 0.5 * DT**2 * (load + push), v + DT * (load + push)
        else:
            v = v + DT * push
            p, v = p + DT * v + 0.5 * DT**2 * load, v + DT * load
    np.testing.assert_allclose(p, target_p, atol=1e-4)
    np.testing.assert_allclose(v, target_v, atol=1e-4)


def test_a_body_at_rest_is_held_by_its_weight():
    T = STEPS * DT
    load = np.array([0.0, 0.0, -9.81 * np.sqrt(MASS), 0.0, 0.0, 0.0])
    missed = np.concatenate([0.5 * T**2 * load, T * load])
    forces, _ = planned(missed, RigidWeights(force=1e-4, feed_forward=True), held=True)
    np.testing.assert_allclose(forces[..., 2].sum(axis=1), 9.81 * MASS, rtol=1e-5)


def test_steps_without_contact_have_no_forces():
    by_force = force_map(POINTS, com=COM, mass=MASS, axes=rigid_axes(INERTIA))
    active = [np.arange(0)] * STEPS
    plan = plan_window(by_force, active, np.ones(12), dt=DT, weight=1.0, weights=RigidWeights(), start=None)
    assert plan.forces.shape == (0, 3)
