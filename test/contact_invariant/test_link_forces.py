"""Derivatives of the dynamics where several contacts are on one link."""

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.character_builder import character_of
from contact_invariant.contact_schedule import Span
from contact_invariant.link_forces import LinkForces
from contact_invariant.refinement import GAINS, Refiner
from contact_invariant.refinement_costs import Guess
from contact_invariant.surroundings import surroundings_of
from multi_qp_scene.scenario import load_scenario

STEP = 1e-6


@pytest.fixture(scope="module")
def lying():
    """Return the model of a node in which palms and the toes of a foot, two points, bear, its state and torques."""
    scenario = load_scenario("get_up_from_belly")
    scene, character = scenario.scene, character_of(scenario)
    q, data = scene.q0, scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, q)
    spans = [
        Span(i, 0, 1, "ground/floor", data.oMf[scene.surfaces[e.surface].frame_id].copy(), np.array([0.0, 0.0, 1.0]))
        for i, e in enumerate(character.effectors)
        if "hand" in e.name or "left_toes" in e.name
    ]
    assert len(spans) == 4
    none, rest = np.ones((1, len(character.effectors)), bool), np.zeros((2, scene.nv))
    guess = Guess(np.array([0.0, 0.02]), np.tile(q, (2, 1)), rest, spans, none, set(), set())
    refiner = Refiner(scenario, character, surroundings_of(scene, "humanoid"))
    model = refiner._models(guess, np.full(2, 0.02), GAINS, refiner._no_costs)[0]
    x = np.concatenate([q, np.zeros(scene.nv)])
    return model, x, model.quasiStatic(model.createData(), x)


def error_of_derivatives(model, x, u, *, added):
    """Return the largest difference of the derivative of the next state from finite differences."""
    state, data, moved = model.state, model.createData(), model.createData()
    model.calc(data, x, u)
    if added:
        LinkForces(model, data).add()
    model.calcDiff(data, x, u)
    found = []
    for one in STEP * np.eye(state.ndx):
        model.calc(moved, state.integrate(x, one), u)
        forward = np.array(moved.xnext)
        model.calc(moved, state.integrate(x, -one), u)
        found.append(state.diff(np.array(moved.xnext), forward) / (2.0 * STEP))
    return np.abs(np.array(data.Fx) - np.array(found).T).max()


def test_derivatives_are_those_of_finite_differences_once_forces_are_added(lying):
    assert error_of_derivatives(*lying, added=True) < 1e-4
    assert error_of_derivatives(*lying, added=False) > 0.01  # else crocoddyl adds them up, and `LinkForces` may go
