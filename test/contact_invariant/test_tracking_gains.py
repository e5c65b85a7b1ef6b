"""Gains along a motion of the full model: what they predict, and that deviations decay."""

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.character_builder import character_of
from contact_invariant.contact_schedule import Span
from contact_invariant.refinement import HELD_GAINS, Refiner
from contact_invariant.refinement_costs import Guess, torque_limits_of
from contact_invariant.surroundings import surroundings_of
from contact_invariant.tracking_gains import tracking_gains
from multi_qp_scene.scenario import load_scenario

STEP, NODES = 0.02, 3


@pytest.fixture(scope="module")
def standing():
    """Return models, state and torques of a quadruped that stands on two feet of a diagonal, and its gains."""
    scenario = load_scenario("quadruped_walk")
    scene, character = scenario.scene, character_of(scenario)
    q, data = scene.q0, scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, q)
    up = np.array([0.0, 0.0, 1.0])
    spans = [
        Span(i, 0, NODES - 1, "ground/floor", data.oMf[scene.surfaces[character.effectors[i].surface].frame_id], up)
        for i in (0, 3)
    ]
    postures, rest = np.tile(q, (NODES, 1)), np.zeros((NODES, scene.nv))
    guess = Guess(STEP * np.arange(NODES), postures, rest, spans, np.ones((NODES - 1, 4), bool), set(), set())
    refiner = Refiner(scenario, character, surroundings_of(scene, "quadruped"))
    models = refiner._models(guess, np.full(NODES, STEP), HELD_GAINS, refiner._no_costs)
    x = np.concatenate([q, np.zeros(scene.nv)])
    u = models[0].quasiStatic(models[0].createData(), x)
    weight = 9.81 * character.mass
    gains = tracking_gains(models, [x] * NODES, [u] * (NODES - 1), limits=torque_limits_of(scene), weight=weight)
    return models[0], x, u, gains


def acceleration(model, x, u):
    data = model.createData()
    model.calc(data, x, u)
    return np.array(data.differential.xout)


def torques(model, x, u, wanted):
    """Return the torques whose accelerations are nearest to those wanted."""
    start = acceleration(model, x, u)
    slopes = np.array([acceleration(model, x, u + one) - start for one in np.eye(len(u))]).T  # affine in the torques
    return u + np.linalg.lstsq(slopes, wanted - start, rcond=None)[0]


def test_accelerations_of_the_gains_are_those_of_some_torques(standing):
    model, x, u, gains = standing
    state, rng = model.state, np.random.default_rng(0)
    assert gains.shape == (NODES, state.nv, 2 * state.nv)
    start = acceleration(model, x, u)
    for _ in range(5):
        dx = 1e-4 * rng.normal(size=state.ndx)
        wanted, there = gains[0] @ dx, state.integrate(x, dx)
        got = acceleration(model, there, torques(model, there, u, start + wanted)) - start
        np.testing.assert_allclose(got, wanted, atol=2e-3 * np.abs(wanted).max())


def test_a_body_on_two_feet_comes_back(standing):
    model, x, u, gains = standing
    state, start = model.state, acceleration(standing[0], x, u)
    data = model.createData()
    model.calc(data, x, u)
    J = np.array(data.differential.multibody.contacts.Jc)[: model.differential.contacts.nc]
    speed = np.linalg.svd(J)[2][len(J) :].T @ np.full(state.nv - len(J), 0.02)  # the feet stay
    there, sizes = state.integrate(x, np.append(np.zeros(state.nv), speed)), []
    for _ in range(400):
        dx = state.diff(x, there)
        sizes.append(np.abs(dx).max())
        model.calc(data, there, torques(model, there, u, start + gains[0] @ dx))
        there = np.array(data.xnext)
    assert sizes[-1] < 0.05 * max(sizes)
